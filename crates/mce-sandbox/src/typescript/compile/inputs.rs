//! Values that are given for a program's variables: all that is wrong with them is found before it starts.

use oxc::allocator::Allocator;
use oxc::ast::builder::AstBuilder;
use oxc::semantic::SemanticBuilder;
use serde_json::{Map, Value};

use super::{Refusal, contract, line_of, outline, parse};
use crate::ErrorKind;
use crate::outline::Input;
use crate::typescript::failure::{did_you_mean, similar};

/// How many names an error lists.
const LISTED: usize = 30;
/// How many values an error lists.
const VALUES: usize = 20;
/// Characters of a text that was given.
const GIVEN_CHARS: usize = 50;

/// What is wrong with these values. `has_all`: none may be missing that the text does not give.
///
/// # Errors
///
/// [`ErrorKind::Syntax`].
pub(in crate::typescript) fn faults(source: &str, params: &Map<String, Value>, has_all: bool) -> Result<Vec<Refusal>, Refusal> {
    let allocator = Allocator::default();
    let mut program = parse(&allocator, source)?;
    let scoping = SemanticBuilder::new().build(&program).semantic.into_scoping();
    let inputs: Vec<(Input, u32)> = outline::inputs(&program, &scoping).collect();
    let mut known = contract::replace_params(&mut program, &Map::new(), &AstBuilder::new(&allocator));
    // What a program answers is not given to it.
    known.retain(|name| name != "result");
    let (mut found, mut meant) = (Vec::new(), Vec::new());
    for (name, value) in params {
        if !known.contains(name) {
            meant.extend(similar(name, known.iter().map(String::as_str)));
            found.push(unknown(name, &known));
        } else if let Some((input, start)) = inputs.iter().find(|(input, _)| input.name == *name)
            && let Some(message) = misfit(&input.schema, value, name)
        {
            found.push(Refusal::new(
                ErrorKind::Argument,
                message,
                Some(line_of(source, *start as usize)),
                None,
            ));
        }
    }
    let is_missing = |name: &String| !params.contains_key(name) && !meant.contains(&name.as_str());
    let required = inputs.iter().filter(|(input, _)| has_all && input.required);
    let missing: Vec<(String, u32)> = required
        .filter(|(input, _)| is_missing(&input.name))
        .map(|(input, start)| (format!("`{}`", input.name), *start))
        .collect();
    if let Some((_, first)) = missing.first() {
        let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        let hint = "a variable that has a type and no value must be given one".to_owned();
        let message = format!("the program needs {}", names.join(", "));
        found.push(Refusal::new(
            ErrorKind::Argument,
            message,
            Some(line_of(source, *first as usize)),
            Some(hint),
        ));
    }
    Ok(found)
}

fn unknown(name: &str, known: &[String]) -> Refusal {
    let shown: Vec<String> = known.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let listed = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    let name: String = name.chars().take(100).collect();
    let message = format!("the program has no top-level variable `{name}`; it has: {listed}");
    Refusal::new(
        ErrorKind::Argument,
        message,
        None,
        did_you_mean(&name, known.iter().map(String::as_str)),
    )
}

/// What is wrong with a value by a schema of [`outline::inputs`], if anything.
fn misfit(schema: &Value, value: &Value, name: &str) -> Option<String> {
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = choices.iter().any(|choice| misfit(choice, value, name).is_none());
        return (!fits).then(|| format!("`{name}`: {} fits none of its types", got(value)));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let listed: Vec<String> = values.iter().take(VALUES).map(Value::to_string).collect();
        let told = || format!("`{name}`: expected one of {}, got {}", listed.join(", "), got(value));
        return (!values.iter().any(|one| is_same(one, value))).then(told);
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let fits = |wanted: &&str| match *wanted {
        "number" => value.is_number(),
        "integer" => is_whole(value),
        wanted => wanted == kind_of(value),
    };
    if !types.is_empty() && !types.iter().any(fits) {
        return Some(format!("`{name}`: expected {}, got {}", types.join(" or "), got(value)));
    }
    let items = schema.get("items")?;
    let given = value.as_array()?.iter().enumerate();
    given
        .map(|(index, item)| misfit(items, item, &format!("{name}[{index}]")))
        .find_map(|fault| fault)
}

fn is_same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| other.as_f64() == Some(number))
}

fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_whole(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn got(value: &Value) -> String {
    match (value, kind_of(value)) {
        (Value::String(text), _) => format!("the string `{}`", text.chars().take(GIVEN_CHARS).collect::<String>()),
        (Value::Null, kind) => kind.to_owned(),
        (_, kind @ ("array" | "object" | "integer")) => format!("an {kind}"),
        (_, kind) => format!("a {kind}"),
    }
}
