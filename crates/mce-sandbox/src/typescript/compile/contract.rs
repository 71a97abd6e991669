//! The program contract on the syntax tree: inputs take the place of initial values, calls of `main` are recorded, and the
//! last expression becomes the default export.

use std::collections::BTreeSet;

use oxc::allocator::{Allocator, ArenaBox, ArenaVec, TakeIn as _};
use oxc::ast::ast::{
    Argument, ArrowFunctionExpression, AssignmentTarget, BindingPattern, Class, ExportDefaultDeclaration, ExportDefaultDeclarationKind,
    Expression, ExpressionStatement, ForInStatement, ForOfStatement, ForStatement, Function, ObjectProperty, Program, Statement,
    TSModuleBlock, VariableDeclaration, VariableDeclarator,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::span::SPAN;
use oxc::syntax::scope::ScopeFlags;
use serde_json::{Map, Value};

use super::outline::is_bigint;

/// The global that holds the inputs.
const PARAMS: &str = "__mce_params__";

/// The global that records calls of `main`.
const CALLED: &str = "__mce_called__";

/// Makes integers bigints, where the variable that they are given for is one.
const BIGINT: &str = "BigInt";

/// Rewrites a program. True if it has a default export of its own.
pub(super) fn apply<'a>(program: &mut Program<'a>, params: &Map<String, Value>, allocator: &'a Allocator) -> bool {
    let builder = AstBuilder::new(allocator);
    if !params.is_empty() {
        replace_params(program, params, &builder);
    }
    Calls { builder: &builder }.visit_program(program);
    let has_own_default = program
        .body
        .iter()
        .any(|statement| matches!(statement, Statement::ExportDefaultDeclaration(_)));
    if !has_own_default {
        export_last(program, allocator, &builder);
    }
    has_own_default
}

/// Makes the last expression the default export.
fn export_last<'a>(program: &mut Program<'a>, allocator: &'a Allocator, builder: &AstBuilder<'a>) {
    let (span, expression) = match program.body.last_mut() {
        Some(Statement::ExpressionStatement(last)) => (last.span, last.expression.take_in(&allocator)),
        // A text alone is read as a directive.
        None => match program.directives.pop() {
            Some(last) => (last.span, Expression::StringLiteral(ArenaBox::new_in(last.expression, &allocator))),
            None => return,
        },
        Some(_) => return,
    };
    program.body.pop();
    let default = ExportDefaultDeclaration::boxed(span, ExportDefaultDeclarationKind::from(expression), builder);
    program.body.push(Statement::ExportDefaultDeclaration(default));
}

/// Wraps `main` wherever its value is taken: it may be called there, or be passed on to be called.
struct Calls<'b, 'a> {
    builder: &'b AstBuilder<'a>,
}

impl<'a> VisitMut<'a> for Calls<'_, 'a> {
    fn visit_expression(&mut self, expression: &mut Expression<'a>) {
        walk_mut::walk_expression(self, expression);
        let Expression::Identifier(name) = expression else { return };
        if name.name != "main" {
            return;
        }
        let span = name.span;
        let called = Expression::new_identifier(span, CALLED, self.builder);
        let main = Argument::from(Expression::new_identifier(span, "main", self.builder));
        let arguments = ArenaVec::from_array_in([main], self.builder);
        *expression = Expression::new_call_expression(span, called, None, arguments, false, self.builder);
    }

    fn visit_object_property(&mut self, property: &mut ObjectProperty<'a>) {
        // `{ main }` names the property as well.
        property.shorthand &= !matches!(&property.value, Expression::Identifier(name) if name.name == "main");
        walk_mut::walk_object_property(self, property);
    }
}

/// Gives variables the values of `params`, and gives the names of all top-level variables, in the order of the text.
pub(super) fn replace_params<'a>(program: &mut Program<'a>, params: &Map<String, Value>, builder: &AstBuilder<'a>) -> Vec<String> {
    let mut inputs = Inputs {
        params,
        waiting: params.keys().map(String::as_str).collect(),
        known: Vec::new(),
        builder,
    };
    inputs.visit_program(program);
    inputs.known
}

/// Finds top-level variables and gives those that wait their value.
struct Inputs<'b, 'a> {
    params: &'b Map<String, Value>,
    waiting: BTreeSet<&'b str>,
    /// In the order of the text.
    known: Vec<String>,
    builder: &'b AstBuilder<'a>,
}

impl<'a> Inputs<'_, 'a> {
    /// The name is that of an input that has not been placed yet.
    fn take(&mut self, name: &str) -> bool {
        if !self.known.iter().any(|known| known == name) {
            self.known.push(name.to_owned());
        }
        self.waiting.remove(name)
    }

    fn param(&self, name: &str) -> Expression<'a> {
        let params = Expression::new_identifier(SPAN, PARAMS, self.builder);
        let key = Expression::new_string_literal(SPAN, oxc::str::Str::from_str_in(name, self.builder), None, self.builder);
        Expression::new_computed_member_expression(SPAN, params, key, false, self.builder)
    }

    /// The same as a bigint, if it is an integer.
    fn bigint_param(&self, name: &str) -> Expression<'a> {
        let param = self.param(name);
        let is_whole = |number: f64| number.fract() == 0.0;
        if !self.params.get(name).and_then(Value::as_f64).is_some_and(is_whole) {
            return param;
        }
        let bigint = Expression::new_identifier(SPAN, BIGINT, self.builder);
        let arguments = ArenaVec::from_array_in([Argument::from(param)], self.builder);
        Expression::new_call_expression(SPAN, bigint, None, arguments, false, self.builder)
    }

    /// Renames what a pattern binds if it is an input, which then gets a variable of its own.
    fn rename_in(&mut self, pattern: &mut BindingPattern<'a>, own: &mut Vec<String>) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                if self.take(name.name.as_str()) {
                    own.push(name.name.to_string());
                    name.name = oxc::str::Ident::from_str_in(&format!("__mce_unused_{}", name.name), self.builder);
                }
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &mut object.properties {
                    property.shorthand = false;
                    self.rename_in(&mut property.value, own);
                }
                if let Some(rest) = &mut object.rest {
                    self.rename_in(&mut rest.argument, own);
                }
            }
            BindingPattern::ArrayPattern(array) => {
                for element in array.elements.iter_mut().flatten() {
                    self.rename_in(element, own);
                }
                if let Some(rest) = &mut array.rest {
                    self.rename_in(&mut rest.argument, own);
                }
            }
            BindingPattern::AssignmentPattern(assignment) => self.rename_in(&mut assignment.left, own),
        }
    }
}

impl<'a> VisitMut<'a> for Inputs<'_, 'a> {
    fn visit_variable_declaration(&mut self, declaration: &mut VariableDeclaration<'a>) {
        if declaration.declare {
            return;
        }
        let mut own = Vec::new();
        for declarator in &mut declaration.declarations {
            if let BindingPattern::BindingIdentifier(name) = &declarator.id {
                let name = name.name;
                if self.take(name.as_str()) {
                    let value = if is_bigint(declarator) {
                        self.bigint_param(name.as_str())
                    } else {
                        self.param(name.as_str())
                    };
                    declarator.init = Some(value);
                    declarator.definite = false;
                }
            } else {
                self.rename_in(&mut declarator.id, &mut own);
            }
        }
        for name in own {
            let id = BindingPattern::new_binding_identifier(SPAN, oxc::str::Ident::from_str_in(&name, self.builder), self.builder);
            let value = self.param(&name);
            let declarator = VariableDeclarator::new(SPAN, id, None, Some(value), false, self.builder);
            declaration.declarations.push(declarator);
        }
    }

    /// A variable without a declaration.
    fn visit_expression_statement(&mut self, statement: &mut ExpressionStatement<'a>) {
        if let Expression::AssignmentExpression(assignment) = &mut statement.expression
            && assignment.operator.is_assign()
            && let AssignmentTarget::AssignmentTargetIdentifier(target) = &assignment.left
        {
            let name = target.name;
            if self.take(name.as_str()) {
                assignment.right = self.param(name.as_str());
            }
        }
    }

    fn visit_for_statement(&mut self, statement: &mut ForStatement<'a>) {
        self.visit_statement(&mut statement.body);
    }

    fn visit_for_in_statement(&mut self, statement: &mut ForInStatement<'a>) {
        self.visit_statement(&mut statement.body);
    }

    fn visit_for_of_statement(&mut self, statement: &mut ForOfStatement<'a>) {
        self.visit_statement(&mut statement.body);
    }

    // What is inside these is no top-level variable.
    fn visit_function(&mut self, _: &mut Function<'a>, _: ScopeFlags) {}
    fn visit_arrow_function_expression(&mut self, _: &mut ArrowFunctionExpression<'a>) {}
    fn visit_class(&mut self, _: &mut Class<'a>) {}
    fn visit_ts_module_block(&mut self, _: &mut TSModuleBlock<'a>) {}
}
