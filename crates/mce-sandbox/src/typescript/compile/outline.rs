//! What a program's text says about itself, without running it: its inputs, and the functions that it uses.

use std::collections::BTreeSet;

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    ArrayExpressionElement, BindingPattern, CallExpression, Declaration, Expression, IdentifierReference, ImportDeclarationSpecifier,
    ObjectPropertyKind, Program, PropertyKey, Statement, StaticMemberExpression, TSLiteral, TSType, TSTypeAnnotation, TSTypeName,
    VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::{Scoping, SemanticBuilder, SymbolId};
use oxc::syntax::operator::UnaryOperator;
use serde_json::{Map, Number, Value, json};

use super::facts::SERVERS;
use super::{Refusal, parse, refuse_errors};
use crate::outline::{Input, Outline};

/// Functions that call others by a text.
const BY_NAME: [&str; 2] = ["callFunction", "callMCPTool"];
/// Functions by which a program reaches what it does not name.
const OPEN: [&str; 1] = ["fetch"];
/// Bytes of a value that is told.
const DEFAULT_BYTES: usize = 2_000;

/// Reads a program.
///
/// # Errors
///
/// [`crate::ErrorKind::Syntax`].
pub(in crate::typescript) fn outline(source: &str) -> Result<Outline, Refusal> {
    let allocator = Allocator::default();
    let program = parse(&allocator, source)?;
    let analysed = SemanticBuilder::new().with_check_syntax_error(true).build(&program);
    refuse_errors(&analysed.diagnostics, source)?;
    let scoping = analysed.semantic.into_scoping();
    let mut uses = Uses {
        scoping: &scoping,
        servers: servers(&program),
        found: Vec::new(),
        by_name: 0,
        named: 0,
        bare: 0,
        is_open: false,
    };
    uses.visit_program(&program);
    let is_open = uses.is_open || uses.by_name > uses.named || uses.bare > 0;
    let mut seen = BTreeSet::new();
    uses.found.retain(|name| seen.insert(name.clone()));
    Ok(Outline {
        about: String::new(),
        inputs: inputs(&program, &scoping).map(|(input, _)| input).collect(),
        functions: uses.found,
        open: is_open,
    })
}

/// A program's inputs, each with where its name begins in the text.
pub(super) fn inputs<'p>(program: &'p Program<'_>, scoping: &'p Scoping) -> impl Iterator<Item = (Input, u32)> + 'p {
    let declarations = program.body.iter().filter_map(|statement| match statement {
        Statement::VariableDeclaration(declaration) => Some(declaration),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::VariableDeclaration(declaration) => Some(declaration),
            _ => None,
        },
        _ => None,
    });
    let declarators = declarations
        .filter(|declaration| !declaration.declare)
        .flat_map(|declaration| &declaration.declarations);
    declarators.filter_map(|declarator| Some((input(declarator, scoping)?, declarator.span.start)))
}

/// Whether a variable is a bigint, by its type or by its value.
pub(super) fn is_bigint(declarator: &VariableDeclarator<'_>) -> bool {
    let has_type = |annotated: &TSTypeAnnotation<'_>| matches!(annotated.type_annotation, TSType::TSBigIntKeyword(_));
    declarator.type_annotation.as_ref().is_some_and(|annotated| has_type(annotated))
        || declarator.init.as_ref().is_some_and(|init| bigint(init).is_some())
}

fn short_integer(digits: &str) -> Option<Value> {
    let unsigned = || digits.parse::<u64>().ok().map(Value::from);
    digits.parse::<i64>().ok().map(Value::from).or_else(unsigned)
}

/// The digits of a bigint that is written out.
fn bigint(expression: &Expression<'_>) -> Option<String> {
    match expression {
        Expression::BigIntLiteral(literal) => Some(literal.value.to_string()),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => match &unary.argument {
            Expression::BigIntLiteral(literal) => Some(format!("-{}", literal.value)),
            _ => None,
        },
        Expression::TSAsExpression(cast) => bigint(&cast.expression),
        Expression::TSSatisfiesExpression(cast) => bigint(&cast.expression),
        _ => None,
    }
}

fn input(declarator: &VariableDeclarator<'_>, scoping: &Scoping) -> Option<Input> {
    let BindingPattern::BindingIdentifier(name) = &declarator.id else {
        return None;
    };
    let is_mutated = name.symbol_id.get().is_some_and(|symbol| scoping.symbol_is_mutated(symbol));
    if is_mutated || name.name == "result" || name.name.starts_with(['_', '$']) {
        return None;
    }
    let annotated = declarator.type_annotation.as_ref();
    let digits = declarator.init.as_ref().and_then(bigint);
    let value = match (&declarator.init, &digits) {
        // One of more than 64 bits is told in words, since readers of JSON round it.
        (_, Some(digits)) => short_integer(digits),
        (Some(init), None) => Some(written(init)?),
        (None, None) => None,
    };
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
    // What is filled later begins empty.
    if annotated.is_none() && digits.is_none() && value.as_ref().is_none_or(is_empty) {
        return None;
    }
    let by_type = annotated.and_then(|annotated| schema_of(&annotated.type_annotation));
    let mut schema = by_type.unwrap_or_else(|| match (&digits, &value) {
        (Some(_), _) => json!({"type": "integer"}),
        (None, Some(value)) => schema_of_value(value),
        (None, None) => json!({}),
    });
    let required = declarator.init.is_none();
    let default = value.map(|value| ("default", value));
    let default = default.or_else(|| digits.map(|digits| ("description", format!("by default {digits}").into())));
    if let (Some((key, told)), Some(members)) = (
        default.filter(|(_, told)| told.to_string().len() <= DEFAULT_BYTES),
        schema.as_object_mut(),
    ) {
        members.insert(key.to_owned(), told);
    }
    Some(Input {
        name: name.name.to_string(),
        schema,
        required,
    })
}

/// The value that is written out, as JSON has it.
fn written(expression: &Expression<'_>) -> Option<Value> {
    match expression {
        Expression::StringLiteral(text) => Some(text.value.as_str().into()),
        Expression::BooleanLiteral(literal) => Some(literal.value.into()),
        Expression::NullLiteral(_) => Some(Value::Null),
        Expression::NumericLiteral(number) => number_of(number.value),
        Expression::TemplateLiteral(template) => template.single_quasi().map(|text| text.as_str().into()),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => match &unary.argument {
            Expression::NumericLiteral(number) => number_of(-number.value),
            _ => None,
        },
        Expression::TSAsExpression(cast) => written(&cast.expression),
        Expression::TSSatisfiesExpression(cast) => written(&cast.expression),
        Expression::ArrayExpression(array) => array.elements.iter().map(element).collect(),
        Expression::ObjectExpression(object) => object
            .properties
            .iter()
            .map(member)
            .collect::<Option<Map<_, _>>>()
            .map(Value::Object),
        _ => None,
    }
}

fn element(element: &ArrayExpressionElement<'_>) -> Option<Value> {
    element.as_expression().and_then(written)
}

fn member(property: &ObjectPropertyKind<'_>) -> Option<(String, Value)> {
    let ObjectPropertyKind::ObjectProperty(property) = property else {
        return None;
    };
    let name = match &property.key {
        PropertyKey::StaticIdentifier(name) => name.name.to_string(),
        PropertyKey::StringLiteral(text) => text.value.to_string(),
        _ => return None,
    };
    (!property.computed && !property.method).then_some(())?;
    Some((name, written(&property.value)?))
}

fn number_of(number: f64) -> Option<Value> {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        let whole = number as i64;
        return Some(whole.into());
    }
    Number::from_f64(number).map(Value::Number)
}

fn schema_of_value(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(_) => json!({"type": "number"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Object(_) => json!({"type": "object"}),
        Value::Array(items) => {
            let mut schemas = items.iter().map(schema_of_value);
            match schemas.next() {
                Some(first) if schemas.all(|schema| schema == first) => json!({"type": "array", "items": first}),
                Some(_) | None => json!({"type": "array"}),
            }
        }
    }
}

/// The schema of a type, if it is one of the plain ones; that of any value is empty.
fn schema_of(written: &TSType<'_>) -> Option<Value> {
    let named = |name: &str| Some(json!({"type": name}));
    match written {
        TSType::TSBooleanKeyword(_) => named("boolean"),
        TSType::TSNullKeyword(_) => named("null"),
        TSType::TSNumberKeyword(_) => named("number"),
        TSType::TSBigIntKeyword(_) => named("integer"),
        TSType::TSAnyKeyword(_) | TSType::TSUnknownKeyword(_) => Some(json!({})),
        TSType::TSStringKeyword(_) => named("string"),
        TSType::TSObjectKeyword(_) | TSType::TSTypeLiteral(_) => named("object"),
        TSType::TSParenthesizedType(inner) => schema_of(&inner.type_annotation),
        TSType::TSArrayType(array) => Some(array_of(schema_of(&array.element_type))),
        TSType::TSLiteralType(literal) => Some(json!({"enum": [literal_of(&literal.literal)?]})),
        TSType::TSTypeReference(reference) => {
            let TSTypeName::IdentifierReference(name) = &reference.type_name else {
                return None;
            };
            let first = reference.type_arguments.as_ref().and_then(|given| given.params.first());
            match name.name.as_str() {
                "Array" | "ReadonlyArray" => Some(array_of(first.and_then(schema_of))),
                "Record" => named("object"),
                _ => None,
            }
        }
        TSType::TSUnionType(union) => Some(any_of(&union.types.iter().map(schema_of).collect::<Option<Vec<_>>>()?)),
        _ => None,
    }
}

fn array_of(items: Option<Value>) -> Value {
    items.map_or_else(|| json!({"type": "array"}), |items| json!({"type": "array", "items": items}))
}

fn literal_of(literal: &TSLiteral<'_>) -> Option<Value> {
    match literal {
        TSLiteral::BooleanLiteral(literal) => Some(literal.value.into()),
        TSLiteral::NumericLiteral(number) => number_of(number.value),
        TSLiteral::StringLiteral(text) => Some(text.value.as_str().into()),
        _ => None,
    }
}

fn any_of(schemas: &[Value]) -> Value {
    if schemas.iter().any(|schema| schema.as_object().is_some_and(Map::is_empty)) {
        return json!({});
    }
    let all = |key: &str| -> Option<Vec<Value>> { schemas.iter().map(|schema| schema.get(key).cloned()).collect() };
    if let Some(values) = all("enum") {
        let values: Vec<Value> = values.iter().filter_map(Value::as_array).flatten().cloned().collect();
        return json!({"enum": values});
    }
    match all("type") {
        Some(types)
            if schemas
                .iter()
                .all(|schema| schema.as_object().is_some_and(|members| members.len() == 1)) =>
        {
            json!({"type": types})
        }
        _ => json!({"anyOf": schemas}),
    }
}

/// Local names of servers that are imported, with the servers' own; none for all servers together.
fn servers(program: &Program<'_>) -> Vec<(SymbolId, Option<String>)> {
    let mut servers = Vec::new();
    for statement in &program.body {
        let Statement::ImportDeclaration(import) = statement else {
            continue;
        };
        for specifier in import.specifiers.iter().flatten().filter(|_| import.source.value == SERVERS) {
            let name = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => Some(named.imported.name().to_string()),
                _ => None,
            };
            servers.extend(specifier.local().symbol_id.get().map(|symbol| (symbol, name)));
        }
    }
    servers
}

/// Finds functions.
struct Uses<'s> {
    scoping: &'s Scoping,
    servers: Vec<(SymbolId, Option<String>)>,
    found: Vec<String>,
    /// How often functions of [`BY_NAME`] are meant, and how often they are called with a text that is written out.
    by_name: usize,
    named: usize,
    /// How often a server is used without one of its functions being named.
    bare: usize,
    is_open: bool,
}

impl Uses<'_> {
    fn server(&self, name: &IdentifierReference<'_>) -> Option<&Option<String>> {
        let symbol = self.scoping.get_reference(name.reference_id.get()?).symbol_id()?;
        self.servers.iter().find(|(known, _)| *known == symbol).map(|(_, server)| server)
    }

    /// `server`, or `all.server`; the name of what the text does not define may be one.
    fn server_of(&self, object: &Expression<'_>) -> Option<String> {
        match object {
            Expression::Identifier(name) => {
                if let Some(server) = self.server(name) {
                    return server.clone();
                }
                let reference = self.scoping.get_reference(name.reference_id.get()?);
                reference.symbol_id().is_none().then(|| name.name.to_string())
            }
            Expression::StaticMemberExpression(member) => match &member.object {
                Expression::Identifier(name) => self.server(name)?.is_none().then(|| member.property.name.to_string()),
                _ => None,
            },
            _ => None,
        }
    }
}

impl<'a> Visit<'a> for Uses<'_> {
    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if let Some(server) = self.server_of(&member.object) {
            self.found.push(format!("{server}.{}", member.property.name));
            return;
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let (Expression::Identifier(name), Some(first)) = (&call.callee, call.arguments.first())
            && BY_NAME.contains(&name.name.as_str())
            && let Some(Value::String(text)) = first.as_expression().and_then(written)
        {
            self.found.push(text);
            self.named += 1;
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        self.by_name += usize::from(BY_NAME.contains(&name.name.as_str()));
        self.is_open |= OPEN.contains(&name.name.as_str());
        self.bare += usize::from(self.server(name).is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_variables_that_are_set_once_to_what_is_written_out() {
        let source = r#"
            import { shop as store } from "mce:servers";
            export const month = 5, city = "Oslo";
            const whole = 5n, owed: bigint = -12345678901234567890123n;
            let anything: any, more: unknown | null = 1;
            const ratio: number = -1.5;
            let limit: number | null = null;
            let since: string;
            const state: "open" | "closed" = "open";
            const tags = ["a", "b"];
            const rows = [];
            let total = 0;
            const made = `a${month}`;
            const _own = 1;
            for (const tag of tags) total += 1;
            const orders = await store.listOrders({ month });
            await callFunction("weather:GET /a", {});
            paginate(weather.listDays, {});
            const result = orders;
        "#;
        let Outline {
            inputs, functions, open, ..
        } = outline(source).unwrap();
        let told: Vec<_> = inputs
            .iter()
            .map(|input| (input.name.as_str(), input.schema.to_string(), input.required))
            .collect();
        let expected = [
            ("month", r#"{"type":"number","default":5}"#, false),
            ("city", r#"{"type":"string","default":"Oslo"}"#, false),
            ("whole", r#"{"type":"integer","default":5}"#, false),
            (
                "owed",
                r#"{"type":"integer","description":"by default -12345678901234567890123"}"#,
                false,
            ),
            ("anything", "{}", true),
            ("more", r#"{"default":1}"#, false),
            ("ratio", r#"{"type":"number","default":-1.5}"#, false),
            ("limit", r#"{"type":["number","null"],"default":null}"#, false),
            ("since", r#"{"type":"string"}"#, true),
            ("state", r#"{"enum":["open","closed"],"default":"open"}"#, false),
            ("tags", r#"{"type":"array","items":{"type":"string"},"default":["a","b"]}"#, false),
        ];
        assert_eq!(told, expected.map(|(name, schema, required)| (name, schema.to_owned(), required)));
        assert_eq!(functions, ["shop.listOrders", "weather:GET /a", "weather.listDays"]);
        assert!(!open);
    }

    #[test]
    fn what_may_use_more_than_it_names_is_open() {
        for (source, is_open) in [
            ("callFunction(name, {})", true),
            ("fetch('https://a.test')", true),
            ("import { shop } from 'mce:servers'; shop[name]()", true),
            ("import * as all from 'mce:servers'; all.shop.getItem({})", false),
            ("shop.getItem({})", false),
        ] {
            assert_eq!(outline(source).unwrap().open, is_open, "{source}");
        }
        assert!(outline("const = 1").is_err());
    }
}
