//! How a function is called, in one line.

use serde_json::Value;

use super::{
    Language,
    literal::literal,
    python,
    shape::Shape,
    shaper::{Parts, Shaper},
    typescript,
};
use crate::{
    function::{Function, Parameter, Target, Types},
    schema,
};

/// A longer default is not written.
const MAX_DEFAULT_CHARS: usize = 40;

/// One line that says how a function is called: `get_item(id: str, *, limit: int = 10) -> Item`, or
/// `getItem(args: { id: string; limit?: number }): Promise<Item>`. Put `def` or `function` before it to declare it.
pub fn signature(function: &Function, types: &Types, language: Language) -> String {
    let mut shaper = Shaper::new(function, types);
    let parts = shaper.parts(function);
    write(function, &parts, types, language, &|number| shaper.name(number))
}

/// The signature from types that are known already.
pub(super) fn write(function: &Function, parts: &Parts, types: &Types, language: Language, name: &dyn Fn(usize) -> String) -> String {
    match language {
        Language::Python => python_line(function, parts, types, name),
        Language::TypeScript => typescript_line(function, parts, name),
    }
}

/// The type of the body as it is preferred.
pub(super) fn body_shape(parts: &Parts) -> &Shape {
    parts.bodies.first().unwrap_or(&Shape::Any)
}

/// Parameters that are needed, then the body if it is needed, then all that may be left out, by name only.
fn python_line(function: &Function, parts: &Parts, types: &Types, name: &dyn Fn(usize) -> String) -> String {
    let mut needed = Vec::new();
    let mut optional = Vec::new();
    for (parameter, shape) in function.parameters.iter().zip(&parts.parameters) {
        let text = python::annotation(shape, name);
        if parameter.is_required {
            needed.push(format!("{}: {text}", parameter.python));
        } else {
            optional.push(format!(
                "{}: {}",
                parameter.python,
                with_default(&text, shape, default(parameter, shape, types).as_deref())
            ));
        }
    }
    if let Some(body) = &function.body {
        let shape = body_shape(parts);
        let text = python::annotation(shape, name);
        if body.is_required {
            needed.push(format!("body: {text}"));
        } else {
            optional.push(format!("body: {}", with_default(&text, shape, None)));
        }
    }
    if !optional.is_empty() {
        needed.push("*".to_owned());
    }
    needed.append(&mut optional);
    if accepts_more(function) {
        needed.push("**more: Any".to_owned());
    }
    format!(
        "{}({}) -> {}",
        function.python,
        needed.join(", "),
        python::annotation(&parts.result, name)
    )
}

fn accepts_more(function: &Function) -> bool {
    matches!(&function.target, Target::Tool(tool) if tool.accepts_more)
}

fn with_default(text: &str, shape: &Shape, default: Option<&str>) -> String {
    match default {
        Some(default) => format!("{text} = {default}"),
        // A call may give `None` for what is left out only where the document says so.
        None if shape.is_nullable() => format!("{text} = None"),
        None => format!("{text} = ..."),
    }
}

/// A default of another type than its parameter is a fault of the document; the type is the better guess.
fn default(parameter: &Parameter, shape: &Shape, types: &Types) -> Option<String> {
    let is_listed = |schema: &Value, value: &Value| schema.get("enum").and_then(Value::as_array).is_some_and(|all| all.contains(value));
    let is_fit = |schema: &Value, value: &Value| shape.takes(value) || (value.is_string() && is_listed(schema, value));
    let find = |schema: &Value| schema.get("default").filter(|value| is_fit(schema, value)).cloned();
    let value = find(&parameter.schema).or_else(|| schema::resolve(&parameter.schema, types).and_then(find))?;
    Some(literal(&value, Language::Python)).filter(|text| text.chars().count() <= MAX_DEFAULT_CHARS)
}

fn typescript_line(function: &Function, parts: &Parts, name: &dyn Fn(usize) -> String) -> String {
    let mut members = Vec::new();
    let mut is_needed = false;
    let mut add = |key: &str, is_required: bool, shape: &Shape| {
        is_needed |= is_required;
        let mark = if is_required { "" } else { "?" };
        members.push(format!("{}{mark}: {}", typescript::key(key), typescript::annotation(shape, name)));
    };
    let (needed, optional): (Vec<_>, Vec<_>) = function
        .parameters
        .iter()
        .zip(&parts.parameters)
        .partition(|(parameter, _)| parameter.is_required);
    for (parameter, shape) in needed {
        add(&parameter.typescript, true, shape);
    }
    if let Some(body) = &function.body {
        add("body", body.is_required, body_shape(parts));
    }
    for (parameter, shape) in optional {
        add(&parameter.typescript, false, shape);
    }
    if accepts_more(function) {
        members.push("[more: string]: any".to_owned());
    }
    let result = typescript::annotation(&parts.result, name);
    if members.is_empty() {
        return format!("{}(): Promise<{result}>", function.typescript);
    }
    let mark = if is_needed { "" } else { "?" };
    format!(
        "{}(args{mark}: {{ {} }}): Promise<{result}>",
        function.typescript,
        members.join("; ")
    )
}
