//! Functions as a worker needs them: names, the few values an argument may have, how pages follow.

use mce_catalog::function::{Advance, Function, Location, Pagination, Parameter, Target, Types};
use mce_catalog::{schema, text};
use mce_sandbox::{FunctionStub, Language, PaginationStub, ParameterStub, ResultStub};
use serde_json::Value;

use super::discovery::{name_in, text_language};

/// Literals that a stub carries at most; the check of more is the broker's.
const STUB_LITERALS: usize = 50;
/// Fields that a stub carries at most; of a value with more nothing is said.
const STUB_FIELDS: usize = 200;

/// The function in the program's language.
pub(super) fn stub(function: &Function, types: &Types, language: Language) -> FunctionStub {
    let parameters = function.parameters.iter().map(|parameter| ParameterStub {
        name: name_of(parameter, language).clone(),
        required: parameter.is_required,
        literals: literals(&parameter.schema, types),
        types: type_names(&parameter.schema, types),
        query: (parameter.location == Location::Query && is_one(&parameter.schema, types)).then(|| parameter.original.clone()),
        whole: is_type(&parameter.schema, types, "integer"),
    });
    let body = function.body.iter().map(|body| ParameterStub {
        name: "body".to_owned(),
        required: body.is_required,
        literals: None,
        types: None,
        query: None,
        whole: false,
    });
    let pagination = function.pagination.as_ref();
    FunctionStub {
        name: name_in(function, language).to_owned(),
        function: format!("{}.{}", function.server, function.python),
        parameters: parameters.chain(body).collect(),
        signature: text::signature(function, types, text_language(language)),
        pagination: pagination.map(|pagination| pagination_stub(pagination, &function.parameters, language)),
        open: matches!(&function.target, Target::Tool(tool) if tool.accepts_more),
        result: function.result.as_ref().and_then(|result| result_stub(result, types)),
    }
}

fn pagination_stub(pagination: &Pagination, parameters: &[Parameter], language: Language) -> PaginationStub {
    let (by, next, first) = match &pagination.advance {
        Advance::Links => ("links", None, None),
        Advance::Cursor { next, .. } => ("cursor", Some(next.clone()), None),
        Advance::LastItem { .. } => ("last_item", None, None),
        Advance::Page { first, .. } => ("page", None, Some(*first)),
        Advance::Offset { first, .. } => ("offset", None, Some(*first)),
    };
    PaginationStub {
        by,
        parameter: pagination.advance.parameter().map(|path| match path {
            // Properties of the body keep their names.
            [key] => vec![in_language(key, parameters, language)],
            _ => path.to_vec(),
        }),
        next,
        first,
        items: pagination.items.clone(),
    }
}

fn in_language(key: &str, parameters: &[Parameter], language: Language) -> String {
    let by_key = parameters.iter().find(|parameter| parameter.key == key);
    let parameter = by_key.or_else(|| parameters.iter().find(|parameter| parameter.original == key));
    parameter.map_or_else(|| key.to_owned(), |parameter| name_of(parameter, language).clone())
}

fn name_of(parameter: &Parameter, language: Language) -> &String {
    match language {
        Language::Python => &parameter.python,
        Language::TypeScript => &parameter.typescript,
    }
}

fn literals(schema: &Value, types: &Types) -> Option<Vec<Value>> {
    let schema = schema::resolve(schema, types)?;
    let values = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        (None, _) => return None,
    };
    let is_plain = |value: &Value| !value.is_array() && !value.is_object();
    (values.len() <= STUB_LITERALS && values.iter().all(is_plain)).then_some(values)
}

/// The types of a value, where the schema says them once and for all. What may be a file is none of them.
fn type_names(schema: &Value, types: &Types) -> Option<Vec<String>> {
    let schema = schema::resolve(schema, types)?;
    let is_file = schema.get("format").is_some_and(|format| format == "binary") || schema.get("contentMediaType").is_some();
    let names = match schema.get("type").filter(|_| !is_file)? {
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => return None,
    };
    (!names.is_empty()).then_some(names)
}

/// The fields of an answer, where it is one object or a list of them.
fn result_stub(schema: &Value, types: &Types) -> Option<ResultStub> {
    let schema = schema::merged(schema, types);
    let items = schema.get("items").map(|items| schema::merged(items, types));
    let object = items.as_ref().unwrap_or(&schema);
    let has_choice = |schema: &Value| ["anyOf", "oneOf", "if"].iter().any(|key| schema.get(key).is_some());
    let fields: Vec<String> = object.get("properties")?.as_object()?.keys().cloned().collect();
    let is_known = !has_choice(&schema) && !has_choice(object) && fields.len() <= STUB_FIELDS;
    is_known.then_some(ResultStub {
        list: items.is_some(),
        fields,
    })
}

/// Whether it is a text, a number or a boolean.
fn is_one(schema: &Value, types: &Types) -> bool {
    ["string", "integer", "number", "boolean"]
        .iter()
        .any(|kind| is_type(schema, types, kind))
}

fn is_type(schema: &Value, types: &Types, wanted: &str) -> bool {
    match schema::resolve(schema, types).and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        Some(_) | None => false,
    }
}
