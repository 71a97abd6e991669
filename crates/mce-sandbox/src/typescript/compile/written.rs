//! What a program's text writes out, as JSON.

use std::collections::BTreeMap;

use oxc::ast::ast::{
    ArrayExpression, ArrayExpressionElement, BindingPattern, Expression, ObjectExpression, ObjectPropertyKind, VariableDeclarator,
};
use oxc::semantic::{Scoping, SymbolId};
use serde_json::{Map, Value};

use super::facts::{constant, literal, property_name};

/// What is written deeper is not looked at.
const MAX_DEPTH: usize = 30;

/// A value as far as it is written out; null where it is not known.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::typescript) struct Written {
    pub(in crate::typescript) value: Value,
    /// JSON Pointers (RFC 6901): of what is not known, and of objects and lists that may have more than is written.
    pub(in crate::typescript) unknown: Vec<String>,
}

impl Written {
    fn known(value: Value) -> Self {
        let unknown = Vec::new();
        Self { value, unknown }
    }

    fn unknown() -> Self {
        Self {
            value: Value::Null,
            unknown: vec![String::new()],
        }
    }

    /// Takes what is not known in a part of it.
    fn take(&mut self, part: Self, name: &str) -> Value {
        let place = pointer(name);
        self.unknown.extend(part.unknown.iter().map(|rest| format!("/{place}{rest}")));
        part.value
    }
}

/// Reads expressions.
#[derive(Debug)]
pub(super) struct Writer<'s> {
    scoping: &'s Scoping,
    /// Constants that are read once: nobody changes what they stand for.
    constants: BTreeMap<SymbolId, Written>,
}

impl<'s> Writer<'s> {
    pub(super) const fn new(scoping: &'s Scoping) -> Self {
        let constants = BTreeMap::new();
        Self { scoping, constants }
    }

    /// Remembers a constant.
    pub(super) fn note(&mut self, declarator: &VariableDeclarator<'_>) {
        let (BindingPattern::BindingIdentifier(name), Some(value)) = (&declarator.id, &declarator.init) else {
            return;
        };
        if let Some(symbol) = constant(name, self.scoping)
            && self.scoping.get_resolved_references(symbol).count() == 1
        {
            let written = self.read(value, 0);
            self.constants.insert(symbol, written);
        }
    }

    /// The value of an expression.
    pub(super) fn read(&self, expression: &Expression<'_>, depth: usize) -> Written {
        let expression = expression.get_inner_expression();
        if let Some(value) = literal(expression) {
            return Written::known(value);
        }
        match expression {
            Expression::NullLiteral(_) => Written::known(Value::Null),
            Expression::ArrayExpression(list) if depth < MAX_DEPTH => self.list(list, depth),
            Expression::ObjectExpression(object) if depth < MAX_DEPTH => self.object(object, depth).unwrap_or_else(Written::unknown),
            Expression::Identifier(name) => {
                let reference = name.reference_id.get().map(|id| self.scoping.get_reference(id));
                let symbol = reference.and_then(oxc::semantic::Reference::symbol_id);
                let known = symbol.and_then(|symbol| self.constants.get(&symbol));
                known.cloned().unwrap_or_else(Written::unknown)
            }
            _ => Written::unknown(),
        }
    }

    fn list(&self, list: &ArrayExpression<'_>, depth: usize) -> Written {
        let mut written = Written::known(Value::Null);
        let mut items = Vec::new();
        for item in &list.elements {
            let part = match item {
                // Nobody knows the places of what follows.
                ArrayExpressionElement::SpreadElement(_) => {
                    written.unknown.push(String::new());
                    break;
                }
                item => item
                    .as_expression()
                    .map_or_else(Written::unknown, |item| self.read(item, depth + 1)),
            };
            let item = written.take(part, &items.len().to_string());
            items.push(item);
        }
        written.value = Value::Array(items);
        written
    }

    /// `None` for one whose members are not plain data.
    fn object(&self, object: &ObjectExpression<'_>, depth: usize) -> Option<Written> {
        let mut written = Written::known(Value::Null);
        let mut members = Map::new();
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    let is_function = matches!(
                        property.value,
                        Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_)
                    );
                    if property.computed || property.method || is_function || !property.kind.eq(&oxc::ast::ast::PropertyKind::Init) {
                        return None;
                    }
                    let name = property_name(&property.key).filter(|name| name != "__proto__")?;
                    // A member that is undefined is none.
                    if matches!(&property.value, Expression::Identifier(value) if value.name == "undefined") {
                        continue;
                    }
                    let place = format!("/{}", pointer(&name));
                    written.unknown.retain(|known| {
                        known
                            .strip_prefix(&place)
                            .is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/'))
                    });
                    let value = written.take(self.read(&property.value, depth + 1), &name);
                    members.insert(name, value);
                }
                // It may replace what stands before it.
                ObjectPropertyKind::SpreadProperty(_) => {
                    written.unknown = members.keys().map(|name| format!("/{}", pointer(name))).collect();
                    written.unknown.push(String::new());
                    members.values_mut().for_each(|value| *value = Value::Null);
                }
            }
        }
        written.value = Value::Object(members);
        Some(written)
    }
}

/// A name as a part of a JSON Pointer.
pub(in crate::typescript) fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
