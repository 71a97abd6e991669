//! How values of direct calls are used, and names that no program has: what the check before the start looks at besides calls.

use std::collections::{BTreeMap, BTreeSet};

use oxc::ast::ast::{
    BindingPattern, CallExpression, Expression, ForOfStatement, IdentifierReference, IfStatement, Program, StaticMemberExpression,
    TryStatement, UnaryExpression, UnaryOperator, VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::{Scoping, SymbolId};
use oxc::span::{GetSpan as _, Span};

use super::facts::constant;
use super::line_of;
use super::noted::HERE;

/// Members that a promise has itself.
const OF_PROMISES: [&str; 3] = ["then", "catch", "finally"];

/// A use of the value of a call, by the call's place in the text.
#[derive(Debug)]
pub(in crate::typescript) struct Use {
    /// Where the call of the function begins.
    pub(in crate::typescript) call: u32,
    pub(in crate::typescript) what: Used,
    pub(in crate::typescript) line: u32,
}

/// What is done with a value.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::typescript) enum Used {
    /// A field of the awaited value.
    Field(String),
    /// The promise itself, as if it were the value.
    Unawaited,
}

/// A name that the text uses and does not define, at its first use that nothing guards.
#[derive(Debug)]
pub(in crate::typescript) struct Unguarded {
    pub(in crate::typescript) name: String,
    pub(in crate::typescript) line: u32,
}

/// Finds uses. Whatever stands in a `try` with a handler is left alone.
pub(super) struct Uses<'s> {
    scoping: &'s Scoping,
    source: &'s str,
    /// Constants, with the call whose value they are and whether it is awaited.
    constants: BTreeMap<SymbolId, (u32, bool)>,
    /// Names of which the text asks whether they are there.
    asked: BTreeSet<String>,
    is_guarded: bool,
    is_in_branch: bool,
    pub(super) found: Vec<Use>,
    unguarded: BTreeMap<String, u32>,
}

impl<'s> Uses<'s> {
    pub(super) fn of(program: &Program<'_>, scoping: &'s Scoping, source: &'s str) -> Self {
        let mut uses = Self {
            scoping,
            source,
            constants: BTreeMap::new(),
            asked: BTreeSet::new(),
            is_guarded: false,
            is_in_branch: false,
            found: Vec::new(),
            unguarded: BTreeMap::new(),
        };
        uses.visit_program(program);
        uses
    }

    /// Names that the text uses and does not define, without those that it asks for first.
    pub(super) fn unguarded(&self) -> Vec<Unguarded> {
        let names = self.unguarded.iter().filter(|(name, _)| !self.asked.contains(*name));
        let found = names.map(|(name, &line)| Unguarded { name: name.clone(), line });
        found.collect()
    }

    fn line(&self, span: Span) -> u32 {
        line_of(self.source, span.start as usize)
    }

    /// The call whose value an expression is, and whether it is awaited.
    fn call_of(&self, value: &Expression<'_>) -> Option<(u32, bool)> {
        match value {
            // What `noted` has put around it.
            Expression::CallExpression(call) if call.callee.is_specific_id(HERE) => self.call_of(call.arguments.first()?.as_expression()?),
            Expression::CallExpression(call) => Some((call_start(call)?, false)),
            Expression::AwaitExpression(awaited) => match &awaited.argument {
                Expression::CallExpression(call) => Some((call_start(call)?, true)),
                _ => None,
            },
            Expression::Identifier(name) => {
                let symbol = self.scoping.get_reference(name.reference_id.get()?).symbol_id()?;
                self.constants.get(&symbol).copied()
            }
            _ => None,
        }
    }

    fn tell(&mut self, call: u32, what: Used, span: Span) {
        if !self.is_guarded {
            let line = self.line(span);
            self.found.push(Use { call, what, line });
        }
    }

    fn use_as_value(&mut self, value: &Expression<'_>) {
        if let Some((call, false)) = self.call_of(value) {
            self.tell(call, Used::Unawaited, value.span());
        }
    }
}

/// Where a call of a member begins, which tells calls apart.
fn call_start(call: &CallExpression<'_>) -> Option<u32> {
    matches!(call.callee, Expression::StaticMemberExpression(_)).then_some(call.span.start)
}

impl<'a> Visit<'a> for Uses<'_> {
    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        walk::walk_variable_declarator(self, declarator);
        let Some(value) = &declarator.init else { return };
        match &declarator.id {
            BindingPattern::BindingIdentifier(name) => {
                if let (Some(symbol), Some(call)) = (constant(name, self.scoping), self.call_of(value)) {
                    self.constants.insert(symbol, call);
                }
            }
            BindingPattern::ObjectPattern(pattern) => match self.call_of(value) {
                Some((call, true)) if pattern.rest.is_none() => {
                    for property in &pattern.properties {
                        // One with a default is not expected to be there.
                        if let (Some(name), false) = (property.key.static_name(), property.value.is_assignment_pattern()) {
                            self.tell(call, Used::Field(name.into_owned()), property.span);
                        }
                    }
                }
                Some((call, false)) => self.tell(call, Used::Unawaited, value.span()),
                Some(_) | None => {}
            },
            BindingPattern::ArrayPattern(_) => self.use_as_value(value),
            BindingPattern::AssignmentPattern(_) => {}
        }
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        if !statement.r#await {
            self.use_as_value(&statement.right);
        }
        walk::walk_for_of_statement(self, statement);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        walk::walk_static_member_expression(self, member);
        let name = member.property.name.as_str();
        match self.call_of(&member.object) {
            // An optional one is not expected to be there.
            Some((call, true)) if !member.optional => self.tell(call, Used::Field(name.to_owned()), member.property.span),
            Some((call, false)) if !OF_PROMISES.contains(&name) => self.tell(call, Used::Unawaited, member.property.span),
            Some(_) | None => {}
        }
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        if let (UnaryOperator::Typeof, Expression::Identifier(name)) = (unary.operator, &unary.argument) {
            self.asked.insert(name.name.to_string());
            return;
        }
        walk::walk_unary_expression(self, unary);
    }

    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        let is_free = |id| self.scoping.get_reference(id).symbol_id().is_none();
        if !self.is_guarded && !self.is_in_branch && name.reference_id.get().is_some_and(is_free) {
            let line = self.line(name.span);
            self.unguarded.entry(name.name.to_string()).or_insert(line);
        }
    }

    fn visit_if_statement(&mut self, statement: &IfStatement<'a>) {
        self.visit_expression(&statement.test);
        let was = std::mem::replace(&mut self.is_in_branch, true);
        self.visit_statement(&statement.consequent);
        if let Some(alternate) = &statement.alternate {
            self.visit_statement(alternate);
        }
        self.is_in_branch = was;
    }

    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        let was = self.is_guarded;
        self.is_guarded |= statement.handler.is_some();
        self.visit_block_statement(&statement.block);
        self.is_guarded = was;
        if let Some(handler) = &statement.handler {
            self.visit_catch_clause(handler);
        }
        if let Some(finalizer) = &statement.finalizer {
            self.visit_block_statement(finalizer);
        }
    }
}
