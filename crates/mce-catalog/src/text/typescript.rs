//! Shapes and definitions in TypeScript.

use super::{
    Language,
    definitions::{Detail, cut_fields},
    identifier::is_typescript,
    literal::{literal, text_literal},
    shape::{Content, Definition, Shape},
};

/// A type.
pub(super) fn annotation(shape: &Shape, name: &dyn Fn(usize) -> String) -> String {
    let inner = |shape: &Shape| annotation(shape, name);
    match shape {
        Shape::Any => "any".to_owned(),
        Shape::Never => "never".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Integer | Shape::Number => "number".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Bytes => "Uint8Array".to_owned(),
        Shape::Literals { values, is_open } => {
            let listed: Vec<String> = values.iter().map(|value| literal(value, Language::TypeScript)).collect();
            let open = if *is_open { " | string" } else { "" };
            format!("{}{open}", listed.join(" | "))
        }
        Shape::List(item) => item_list(item, name),
        Shape::Tuple { items, rest } => {
            let rest = rest.iter().map(|rest| format!("...{}", item_list(rest, name)));
            format!("[{}]", items.iter().map(inner).chain(rest).collect::<Vec<_>>().join(", "))
        }
        Shape::Map(value) => format!("{{ [key: string]: {} }}", inner(value)),
        Shape::Named(number) => name(*number),
        Shape::Union(parts) => parts.iter().map(inner).collect::<Vec<_>>().join(" | "),
    }
}

fn item_list(item: &Shape, name: &dyn Fn(usize) -> String) -> String {
    let text = annotation(item, name);
    if matches!(item, Shape::Union(_) | Shape::Literals { .. }) {
        format!("({text})[]")
    } else {
        format!("{text}[]")
    }
}

/// The statement that defines a type; ends with a line break.
pub(super) fn definition(definition: &Definition, detail: Detail, name: &dyn Fn(usize) -> String) -> String {
    let comment = |note: &str| {
        if note.is_empty() || !detail.has_notes {
            String::new()
        } else {
            format!(" // {note}")
        }
    };
    match &definition.content {
        Content::Missing => String::new(),
        Content::Alias(shape) => format!(
            "type {} = {};{}\n",
            definition.name,
            annotation(shape, name),
            comment(&definition.note)
        ),
        Content::Record {
            fields,
            others,
            unnamed_fields,
        } => {
            let (shown, cut) = cut_fields(fields, detail);
            let mut lines = vec![format!("interface {} {{{}", definition.name, comment(&definition.note))];
            lines.extend(shown.into_iter().map(|field| {
                let mark = if field.is_required { "" } else { "?" };
                format!(
                    "  {}{mark}: {};{}",
                    key(&field.key),
                    annotation(&field.shape, name),
                    comment(&field.note)
                )
            }));
            lines.extend(
                others
                    .as_ref()
                    .map(|others| format!("  // any other key: {}", annotation(others, name))),
            );
            lines.extend(cut.map(|cut| format!("  // {cut}")));
            lines.extend((*unnamed_fields > 0).then(|| format!("  // {unnamed_fields} further properties")));
            lines.push("}\n".to_owned());
            lines.join("\n")
        }
    }
}

/// The name of a property in a type.
pub(super) fn key(name: &str) -> String {
    if is_typescript(name) { name.to_owned() } else { text_literal(name) }
}
