//! Required arguments whose value the document itself gives: the only one that is allowed, or the default. A call may leave
//! them out, and what is sent is what the document says.

use serde_json::Value;

use super::set_default;
use crate::{
    function::{Function, Location, Parameter},
    view::{ArgumentPlace, FilledArgument},
};

/// The value that a required parameter has where a call does not give it.
fn assumed(parameter: &Parameter) -> Option<&Value> {
    // A default in a path would decide about which thing the call is.
    if !parameter.is_required || parameter.location == Location::Path {
        return None;
    }
    let schema = &parameter.schema;
    let listed = schema.get("enum").and_then(Value::as_array);
    let only = schema.get("const").or_else(|| listed.filter(|values| values.len() == 1)?.first());
    let value = only.or_else(|| schema.get("default"))?;
    let is_listed = listed.is_none_or(|values| values.contains(value));
    let is_of_type = match schema.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some(_) => false,
        None => only.is_some() && (value.is_string() || value.is_number() || value.is_boolean()),
    };
    Some(value).filter(|_| is_listed && is_of_type)
}

/// Adds what the document gives to what the settings fill in.
pub(crate) fn add_assumed(function: &Function, filled: &mut Vec<FilledArgument>) {
    for (index, parameter) in function.parameters.iter().enumerate() {
        let place = ArgumentPlace::Parameter(index);
        if let Some(value) = assumed(parameter).filter(|_| filled.iter().all(|known| known.place != place)) {
            filled.push(FilledArgument {
                place,
                json: value.to_string(),
                is_hidden: false,
            });
        }
    }
}

/// The function as it is shown: what the document gives may be left out.
pub(crate) fn show_assumed(mut function: Function) -> Function {
    for parameter in &mut function.parameters {
        if let Some(json) = assumed(parameter).map(Value::to_string) {
            set_default(parameter, &json);
        }
    }
    // Required ones stay first.
    function.parameters.sort_by_key(|parameter| !parameter.is_required);
    function
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::function::{ParameterEncoding, Style};

    #[test]
    fn only_what_a_document_gives_is_assumed() {
        let check = |schema: Value, is_required: bool, location: Location, expected: Option<Value>| {
            let parameter = Parameter {
                original: "p".to_owned(),
                key: "p".to_owned(),
                python: "p".to_owned(),
                typescript: "p".to_owned(),
                location,
                is_required,
                is_deprecated: false,
                description: String::new(),
                schema: schema.clone(),
                encoding: ParameterEncoding::Style {
                    style: Style::Form,
                    explode: true,
                    allow_reserved: false,
                },
            };
            assert_eq!(assumed(&parameter).cloned(), expected, "{schema}");
        };
        let version = || json!({"type": "string", "default": "2025-09-03"});
        check(version(), true, Location::Header, Some(json!("2025-09-03")));
        check(version(), false, Location::Header, None);
        check(version(), true, Location::Path, None);
        check(
            json!({"type": "string", "enum": ["list"]}),
            true,
            Location::Query,
            Some(json!("list")),
        );
        check(json!({"const": 3}), true, Location::Query, Some(json!(3)));
        check(json!({"type": "string", "enum": ["a", "b"]}), true, Location::Query, None);
        check(
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
            true,
            Location::Query,
            Some(json!("b")),
        );
        check(
            json!({"type": "string", "enum": ["a", "b"], "default": "c"}),
            true,
            Location::Query,
            None,
        );
        check(json!({"type": "integer", "default": "7"}), true, Location::Query, None);
        check(json!({"type": "array", "default": []}), true, Location::Query, None);
        check(json!({"type": "string"}), true, Location::Query, None);
    }
}
