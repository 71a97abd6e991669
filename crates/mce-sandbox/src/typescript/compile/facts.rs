//! What a program's text says about itself: imports, direct calls of servers' functions, names.

use std::collections::{BTreeMap, BTreeSet};

use oxc::ast::ast::{
    Argument as Given, BindingIdentifier, BindingPattern, CallExpression, Expression, IdentifierReference, ImportDeclaration,
    ImportDeclarationSpecifier, MemberExpression, ObjectPropertyKind, Program, PropertyKey, Statement, UnaryOperator, VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::{Scoping, SymbolId};
use oxc::span::{GetSpan as _, Span};
use oxc::syntax::symbol::SymbolFlags;
use serde_json::Value;

use super::line_of;
use super::noted::HERE;
use super::uses::{Unguarded, Use, Uses};
use super::written::{Writer, Written};

/// The module of helpers, and the one of them that calls functions of servers itself.
const HELPERS: &str = "mce";
const PAGINATE: &str = "paginate";

/// The module of all servers.
pub(in crate::typescript) const SERVERS: &str = "mce:servers";

/// What a text uses and defines.
#[derive(Debug)]
pub(in crate::typescript) struct Facts {
    /// Modules that are imported.
    pub(in crate::typescript) imports: Vec<Import>,
    /// Calls of functions of what may be servers, with arguments as far as they are written out.
    pub(in crate::typescript) calls: Vec<Call>,
    /// What is done with the values of calls.
    pub(in crate::typescript) uses: Vec<Use>,
    /// Names that the text uses and does not define.
    pub(in crate::typescript) free: BTreeSet<String>,
    /// Those of them that are used where nothing guards them.
    pub(in crate::typescript) unguarded: Vec<Unguarded>,
    /// Those of them that it assigns.
    pub(in crate::typescript) written: Vec<String>,
    /// Top-level names that it defines.
    pub(in crate::typescript) defined: Vec<String>,
    /// A top-level value `main`.
    pub(in crate::typescript) has_main: bool,
    /// A top-level value `result`.
    pub(in crate::typescript) has_result: bool,
    /// A default export that the text has itself.
    pub(in crate::typescript) has_own_default: bool,
}

/// An import declaration.
#[derive(Debug)]
pub(in crate::typescript) struct Import {
    pub(in crate::typescript) module: String,
    /// What is imported by name.
    pub(in crate::typescript) names: Vec<String>,
    pub(in crate::typescript) line: u32,
}

/// A call `server.function(...)`.
#[derive(Debug)]
pub(in crate::typescript) struct Call {
    pub(in crate::typescript) receiver: Receiver,
    pub(in crate::typescript) function: String,
    pub(in crate::typescript) arguments: Arguments,
    pub(in crate::typescript) line: u32,
    /// Where it begins in the text, which tells calls apart.
    pub(in crate::typescript) start: u32,
}

/// What the called function is a member of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::typescript) enum Receiver {
    /// A server that was imported, by its own name.
    Imported(String),
    /// A name that the text does not define: perhaps a server.
    Free(String),
}

/// The arguments of a call.
#[derive(Debug)]
pub(in crate::typescript) enum Arguments {
    /// None at all.
    None,
    /// One object, written out: its members, and whether there may be others.
    Object { members: Vec<Argument>, is_open: bool },
    /// One that is certainly no object, or more than one.
    Wrong,
    /// Known only when the program runs.
    Unknown,
}

/// A member of the object of arguments.
#[derive(Debug)]
pub(in crate::typescript) struct Argument {
    pub(in crate::typescript) name: String,
    /// Its value, if it is a literal.
    pub(in crate::typescript) literal: Option<Value>,
    /// The type of a value that is written out, by its name in JSON.
    pub(in crate::typescript) kind: Option<&'static str>,
    /// Its value as far as it is written out.
    pub(in crate::typescript) written: Written,
}

/// Reads a program whose names have been resolved.
pub(super) fn collect(program: &Program<'_>, scoping: &Scoping, source: &str, has_own_default: bool) -> Facts {
    let mut imports = Vec::new();
    let mut servers = BTreeMap::new();
    let mut namespaces = BTreeSet::new();
    let mut paginators = BTreeSet::new();
    for statement in &program.body {
        match statement {
            Statement::ImportDeclaration(import) if import.import_kind.is_value() => {
                imports.push(read_import(import, source));
                if import.source.value == SERVERS {
                    bind_servers(import, &mut servers, &mut namespaces);
                } else if import.source.value == HELPERS {
                    let named = import.specifiers.iter().flatten();
                    paginators.extend(named.filter_map(|named| match named {
                        ImportDeclarationSpecifier::ImportSpecifier(named) if named.imported.name() == PAGINATE => {
                            named.local.symbol_id.get()
                        }
                        _ => None,
                    }));
                }
            }
            Statement::ExportFromDeclaration(export) => imports.push(Import {
                module: export.source.value.to_string(),
                names: Vec::new(),
                line: line_of(source, export.span.start as usize),
            }),
            _ => {}
        }
    }
    let mut calls = Calls {
        scoping,
        source,
        servers,
        namespaces,
        paginators,
        functions: BTreeMap::new(),
        writer: Writer::new(scoping),
        found: Vec::new(),
    };
    calls.visit_program(program);
    let found = calls.found;
    let uses = Uses::of(program, scoping, source);
    let unguarded = uses.unguarded();
    let unresolved = scoping.root_unresolved_references();
    let is_written = |ids: &[oxc::syntax::reference::ReferenceId]| ids.iter().any(|&id| scoping.get_reference(id).is_write());
    let written = unresolved
        .iter()
        .filter(|(_, ids)| is_written(ids))
        .map(|(name, _)| name.to_string());
    let bindings = scoping.get_bindings(scoping.root_scope_id());
    let is_value = |id: SymbolId| scoping.symbol_flags(id).intersects(SymbolFlags::Value);
    let has = |wanted: &str| bindings.iter().any(|(name, &id)| name.as_str() == wanted && is_value(id));
    Facts {
        imports,
        calls: found,
        uses: uses.found,
        unguarded,
        free: unresolved.keys().map(ToString::to_string).collect(),
        written: written.collect(),
        defined: bindings.keys().map(ToString::to_string).collect(),
        has_main: has("main"),
        has_result: has("result"),
        has_own_default,
    }
}

fn read_import(import: &ImportDeclaration<'_>, source: &str) -> Import {
    let names = import.specifiers.iter().flatten().filter_map(|specifier| match specifier {
        ImportDeclarationSpecifier::ImportSpecifier(named) if named.import_kind.is_value() => Some(named.imported.name().to_string()),
        _ => None,
    });
    Import {
        module: import.source.value.to_string(),
        names: names.collect(),
        line: line_of(source, import.span.start as usize),
    }
}

fn bind_servers(import: &ImportDeclaration<'_>, servers: &mut BTreeMap<SymbolId, String>, namespaces: &mut BTreeSet<SymbolId>) {
    for specifier in import.specifiers.iter().flatten() {
        let symbol = specifier.local().symbol_id.get();
        match (specifier, symbol) {
            (ImportDeclarationSpecifier::ImportSpecifier(named), Some(symbol)) => {
                servers.insert(symbol, named.imported.name().to_string());
            }
            (_, Some(symbol)) => {
                namespaces.insert(symbol);
            }
            (_, None) => {}
        }
    }
}

/// Finds calls.
struct Calls<'s> {
    scoping: &'s Scoping,
    source: &'s str,
    /// Local names of imported servers.
    servers: BTreeMap<SymbolId, String>,
    /// Local names of all servers together.
    namespaces: BTreeSet<SymbolId>,
    /// Local names of `paginate`.
    paginators: BTreeSet<SymbolId>,
    /// Constants that were taken out of a server, with what they are there.
    functions: BTreeMap<SymbolId, (Receiver, String)>,
    writer: Writer<'s>,
    found: Vec<Call>,
}

impl Calls<'_> {
    /// Remembers what a declaration takes out of a server.
    fn note_functions(&mut self, declarator: &VariableDeclarator<'_>) {
        let (BindingPattern::ObjectPattern(pattern), Some(value)) = (&declarator.id, &declarator.init) else {
            return;
        };
        let value = match value {
            // What `noted` has put around it.
            Expression::CallExpression(call) if call.callee.is_specific_id(HERE) => call.arguments.first().and_then(Given::as_expression),
            value => Some(value),
        };
        let Some(receiver) = value.and_then(|value| self.receiver(value)) else {
            return;
        };
        for property in &pattern.properties {
            let BindingPattern::BindingIdentifier(bound) = &property.value else {
                continue;
            };
            if let (Some(name), Some(symbol)) = (property.key.static_name(), constant(bound, self.scoping)) {
                self.functions.insert(symbol, (receiver.clone(), name.into_owned()));
            }
        }
    }

    /// The function that is called, and where its name stands.
    fn called(&self, callee: &Expression<'_>) -> Option<(Receiver, String, Span)> {
        if let Expression::Identifier(name) = callee {
            let (receiver, function) = self.functions.get(&self.symbol(name)?)?;
            return Some((receiver.clone(), function.clone(), name.span));
        }
        let member = callee.as_member_expression()?;
        let span = match member {
            MemberExpression::StaticMemberExpression(member) => member.property.span,
            other => other.span(),
        };
        Some((self.receiver(member.object())?, member.static_property_name()?.to_owned(), span))
    }

    fn symbol(&self, name: &IdentifierReference<'_>) -> Option<SymbolId> {
        self.scoping.get_reference(name.reference_id.get()?).symbol_id()
    }

    fn receiver(&self, object: &Expression<'_>) -> Option<Receiver> {
        match object {
            Expression::Identifier(name) => match self.symbol(name) {
                Some(symbol) => self.servers.get(&symbol).cloned().map(Receiver::Imported),
                None => Some(Receiver::Free(name.name.to_string())),
            },
            Expression::StaticMemberExpression(member) => match &member.object {
                Expression::Identifier(name) if self.namespaces.contains(&self.symbol(name)?) => {
                    Some(Receiver::Imported(member.property.name.to_string()))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl<'a> Visit<'a> for Calls<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        walk::walk_call_expression(self, call);
        if call.optional {
            return;
        }
        // The first call that `paginate(server.function, {...})` makes.
        let is_paged = matches!(&call.callee, Expression::Identifier(name) if self.symbol(name).is_some_and(|symbol| self.paginators.contains(&symbol)));
        let (called, arguments) = match call.arguments.as_slice() {
            [function, object @ Given::ObjectExpression(_), ..] if is_paged => (
                function.as_expression().and_then(|function| self.called(function)),
                std::slice::from_ref(object),
            ),
            arguments => (self.called(&call.callee), arguments),
        };
        if let Some((receiver, function, span)) = called {
            self.found.push(Call {
                receiver,
                function,
                arguments: read_arguments(arguments, &self.writer),
                line: line_of(self.source, span.start as usize),
                start: call.span.start,
            });
        }
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        walk::walk_variable_declarator(self, declarator);
        self.note_functions(declarator);
        self.writer.note(declarator);
    }
}

fn read_arguments(given: &[Given<'_>], writer: &Writer<'_>) -> Arguments {
    match given {
        [] => Arguments::None,
        [Given::ObjectExpression(object)] => {
            let mut is_open = false;
            let mut members = Vec::new();
            for property in &object.properties {
                match property {
                    ObjectPropertyKind::ObjectProperty(property) if !property.computed => match property_name(&property.key) {
                        Some(name) => members.push(Argument {
                            name,
                            literal: literal(&property.value),
                            kind: kind(&property.value),
                            written: writer.read(&property.value, 0),
                        }),
                        None => is_open = true,
                    },
                    _ => is_open = true,
                }
            }
            Arguments::Object { members, is_open }
        }
        [
            Given::StringLiteral(_)
            | Given::NumericLiteral(_)
            | Given::BooleanLiteral(_)
            | Given::ArrayExpression(_)
            | Given::TemplateLiteral(_),
        ] => Arguments::Wrong,
        [_] => Arguments::Unknown,
        [Given::SpreadElement(_), ..] | [_, Given::SpreadElement(_), ..] => Arguments::Unknown,
        _ => Arguments::Wrong,
    }
}

/// What a name binds, if that stays as it is.
pub(super) fn constant(name: &BindingIdentifier<'_>, scoping: &Scoping) -> Option<SymbolId> {
    name.symbol_id
        .get()
        .filter(|&symbol| scoping.symbol_flags(symbol).is_const_variable())
}

pub(super) fn property_name(key: &PropertyKey<'_>) -> Option<String> {
    match key {
        PropertyKey::StaticIdentifier(name) => Some(name.name.to_string()),
        PropertyKey::StringLiteral(text) => Some(text.value.to_string()),
        _ => None,
    }
}

/// The type of what is written out; a whole number is an integer.
fn kind(value: &Expression<'_>) -> Option<&'static str> {
    match value {
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => Some("string"),
        Expression::BooleanLiteral(_) => Some("boolean"),
        Expression::NumericLiteral(number) if number.value.fract() == 0.0 => Some("integer"),
        Expression::NumericLiteral(_) => Some("number"),
        Expression::ArrayExpression(_) => Some("array"),
        Expression::ObjectExpression(_) => Some("object"),
        _ => None,
    }
}

pub(super) fn literal(value: &Expression<'_>) -> Option<Value> {
    match value {
        Expression::StringLiteral(text) => Some(text.value.as_str().into()),
        Expression::TemplateLiteral(text) => text.single_quasi().map(|text| text.as_str().into()),
        Expression::BooleanLiteral(literal) => Some(literal.value.into()),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => match literal(&unary.argument)? {
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Some((-whole).into()),
                None => serde_json::Number::from_f64(-number.as_f64()?).map(Value::Number),
            },
            _ => None,
        },
        Expression::NumericLiteral(number) if number.value.fract() == 0.0 && number.value.abs() < 9e15 => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
            let whole = number.value as i64;
            Some(whole.into())
        }
        Expression::NumericLiteral(number) => serde_json::Number::from_f64(number.value).map(Value::Number),
        _ => None,
    }
}
