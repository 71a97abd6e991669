//! Places that the engine does not note by itself: of a pattern that is taken apart, of a loop over what is no list, and of
//! a thrown value that is no error. A call of the guest before it, or around it, notes them and changes nothing.
//!
//! The engine's code for a pattern stands before that of the value which is taken apart, so a call around the value is not
//! enough.

use oxc::allocator::{Allocator, ArenaVec, TakeIn as _};
use oxc::ast::ast::{
    Argument, AssignmentTarget, BindingPattern, Declaration, Expression, ForOfStatement, ForStatementLeft, Program, Statement,
    ThrowStatement, VariableDeclaration,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::span::{GetSpan as _, Span};

/// The global that gives back its argument.
pub(super) const HERE: &str = "__mce_here__";

/// The global that notes where a value was thrown, and gives it back.
const THROWN: &str = "__mce_thrown__";

/// Puts the calls into a program.
pub(super) fn apply<'a>(program: &mut Program<'a>, allocator: &'a Allocator) {
    let builder = AstBuilder::new(allocator);
    let mut places = Places {
        allocator,
        builder: &builder,
    };
    places.visit_program(program);
}

struct Places<'b, 'a> {
    allocator: &'a Allocator,
    builder: &'b AstBuilder<'a>,
}

impl<'a> Places<'_, 'a> {
    fn call(&self, name: &'static str, span: Span, argument: Option<Expression<'a>>) -> Expression<'a> {
        let callee = Expression::new_identifier(span, name, self.builder);
        let mut arguments = ArenaVec::new_in(&self.allocator);
        arguments.extend(argument.map(Argument::from));
        Expression::new_call_expression(span, callee, None, arguments, false, self.builder)
    }

    fn wrap(&self, name: &'static str, value: &mut Expression<'a>) {
        let argument = value.take_in(&self.allocator);
        *value = self.call(name, argument.span(), Some(argument));
    }
}

impl<'a> VisitMut<'a> for Places<'_, 'a> {
    fn visit_statements(&mut self, statements: &mut ArenaVec<'a, Statement<'a>>) {
        walk_mut::walk_statements(self, statements);
        if !statements.iter().any(|statement| pattern_of(statement).is_some()) {
            return;
        }
        let noted = statements.take_in(&self.allocator);
        for statement in noted {
            if let Some(span) = pattern_of(&statement) {
                let call = self.call(HERE, span, None);
                statements.push(Statement::new_expression_statement(span, call, self.builder));
            }
            statements.push(statement);
        }
    }

    fn visit_expression(&mut self, expression: &mut Expression<'a>) {
        walk_mut::walk_expression(self, expression);
        let Expression::AssignmentExpression(assignment) = expression else {
            return;
        };
        let is_pattern = matches!(
            assignment.left,
            AssignmentTarget::ObjectAssignmentTarget(_) | AssignmentTarget::ArrayAssignmentTarget(_)
        );
        if is_pattern && can_fail(&assignment.right) {
            let span = assignment.span;
            let call = self.call(HERE, span, None);
            let both = ArenaVec::from_array_in([call, expression.take_in(&self.allocator)], self.builder);
            *expression = Expression::new_sequence_expression(span, both, self.builder);
        }
    }

    fn visit_for_of_statement(&mut self, statement: &mut ForOfStatement<'a>) {
        walk_mut::walk_for_of_statement(self, statement);
        if can_fail(&statement.right) {
            self.wrap(HERE, &mut statement.right);
        }
    }

    fn visit_throw_statement(&mut self, statement: &mut ThrowStatement<'a>) {
        walk_mut::walk_throw_statement(self, statement);
        if !matches!(statement.argument, Expression::NewExpression(_)) {
            self.wrap(THROWN, &mut statement.argument);
        }
    }
}

/// Where a statement takes something apart by a pattern.
fn pattern_of(statement: &Statement<'_>) -> Option<Span> {
    match statement {
        Statement::VariableDeclaration(declaration) => pattern_in(declaration, false),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::VariableDeclaration(declaration) => pattern_in(declaration, false),
            _ => None,
        },
        Statement::ForOfStatement(statement) => match &statement.left {
            ForStatementLeft::VariableDeclaration(declaration) => pattern_in(declaration, true),
            _ => None,
        },
        Statement::LabeledStatement(labeled) => pattern_of(&labeled.body),
        _ => None,
    }
}

fn pattern_in(declaration: &VariableDeclaration<'_>, is_loop: bool) -> Option<Span> {
    let is_pattern = |pattern: &BindingPattern<'_>| matches!(pattern, BindingPattern::ObjectPattern(_) | BindingPattern::ArrayPattern(_));
    let mut declarators = declaration.declarations.iter();
    let found = declarators.find(|declarator| is_pattern(&declarator.id) && (is_loop || declarator.init.is_some()))?;
    (!declaration.declare).then_some(found.span)
}

/// A list that is written out can always be taken apart as one.
fn can_fail(value: &Expression<'_>) -> bool {
    !matches!(value, Expression::ArrayExpression(_))
}
