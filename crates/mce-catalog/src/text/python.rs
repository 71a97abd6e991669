//! Shapes and definitions in Python 3.10.

use super::{
    Language,
    definitions::{Detail, cut_fields},
    identifier::is_python_field,
    literal::{literal, text_literal},
    shape::{Content, Definition, Field, Shape},
};

/// A type as an annotation.
pub(super) fn annotation(shape: &Shape, name: &dyn Fn(usize) -> String) -> String {
    let inner = |shape: &Shape| annotation(shape, name);
    match shape {
        Shape::Any => "Any".to_owned(),
        Shape::Never => "Never".to_owned(),
        Shape::Null => "None".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::Integer => "int".to_owned(),
        Shape::Number => "float".to_owned(),
        Shape::Text => "str".to_owned(),
        Shape::Bytes => "bytes".to_owned(),
        Shape::Literals { values, is_open } => {
            let listed: Vec<String> = values.iter().map(|value| literal(value, Language::Python)).collect();
            let open = if *is_open { " | str" } else { "" };
            format!("Literal[{}]{open}", listed.join(", "))
        }
        Shape::List(item) => format!("list[{}]", inner(item)),
        // A tuple of unknown length has one type of items.
        Shape::Tuple { items, rest: Some(rest) } => {
            let all = Shape::union(items.iter().cloned().chain([(**rest).clone()]).collect());
            format!("list[{}]", inner(&all))
        }
        Shape::Tuple { items, rest: None } => format!("tuple[{}]", items.iter().map(inner).collect::<Vec<_>>().join(", ")),
        Shape::Map(value) => format!("dict[str, {}]", inner(value)),
        Shape::Named(number) => name(*number),
        Shape::Union(parts) => parts.iter().map(inner).collect::<Vec<_>>().join(" | "),
    }
}

/// The statement that defines a type; ends with a line break.
pub(super) fn definition(definition: &Definition, detail: Detail, name: &dyn Fn(usize) -> String) -> String {
    let note = comment(if detail.has_notes { &definition.note } else { "" });
    match &definition.content {
        Content::Missing => String::new(),
        Content::Alias(shape) => {
            let mut refers_to_itself = false;
            shape.each_name(&mut |number| refers_to_itself |= name(number) == definition.name);
            let kind = if refers_to_itself { ": TypeAlias" } else { "" };
            format!("{}{kind} = {}{note}\n", definition.name, annotation(shape, name))
        }
        Content::Record {
            fields,
            others,
            unnamed_fields,
        } => {
            let others = others.as_ref().map(|shape| annotation(shape, name));
            let is_class = fields.iter().all(|field| is_python_field(&field.key)) && !hides_a_type(&definition.content, fields, name);
            let (shown, cut) = cut_fields(fields, detail);
            let mut lines = vec![if is_class {
                format!("class {}(TypedDict):{note}", definition.name)
            } else {
                format!("{0} = TypedDict(\"{0}\", {{{note}", definition.name)
            }];
            for field in &shown {
                let note = comment(if detail.has_notes { &field.note } else { "" });
                let annotation = field_type(field, name);
                lines.push(if is_class {
                    format!("    {}: {annotation}{note}", field.key)
                } else {
                    format!("    {}: {annotation},{note}", text_literal(&field.key))
                });
            }
            lines.extend((shown.is_empty() && is_class).then(|| "    pass".to_owned()));
            lines.extend(others.map(|others| format!("    # any other key: {others}")));
            lines.extend(cut.map(|cut| format!("    # {cut}")));
            lines.extend((*unnamed_fields > 0).then(|| format!("    # {unnamed_fields} further properties")));
            lines.extend((!is_class).then(|| "})".to_owned()));
            lines.join("\n") + "\n"
        }
    }
}

/// In a class, a property that has the name of a type would be taken for the type by the annotations that follow.
fn hides_a_type(content: &Content, fields: &[Field], name: &dyn Fn(usize) -> String) -> bool {
    let mut hides = false;
    content.each_name(&mut |number| {
        let name = name(number);
        hides |= fields.iter().any(|field| field.key == name);
    });
    hides
}

fn field_type(field: &Field, name: &dyn Fn(usize) -> String) -> String {
    let text = annotation(&field.shape, name);
    if field.is_required { text } else { format!("NotRequired[{text}]") }
}

/// Notes are one line without characters that end a line.
fn comment(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!("  # {note}") }
}
