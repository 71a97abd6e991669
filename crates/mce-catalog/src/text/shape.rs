//! Types without a language: what a schema means to someone who writes a call or reads an answer.

use serde_json::Value;

/// A type. Names of records and unions are numbers of definitions.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Any,
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    Bytes,
    /// One of these values; booleans, integers and texts only. `is_open`: there are more than are listed.
    Literals {
        values: Vec<Value>,
        is_open: bool,
    },
    List(Box<Self>),
    /// Items by place, then any number of `rest`.
    Tuple {
        items: Vec<Self>,
        rest: Option<Box<Self>>,
    },
    /// An object whose keys are not known.
    Map(Box<Self>),
    Named(usize),
    Union(Vec<Self>),
}

impl Shape {
    /// A union without repetition, nesting and parts that change nothing; `null` comes last.
    pub(super) fn union(parts: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        let mut has_null = false;
        let mut waiting: Vec<Self> = parts.into_iter().rev().collect();
        while let Some(part) = waiting.pop() {
            match part {
                Self::Union(inner) => waiting.extend(inner.into_iter().rev()),
                Self::Any => return Self::Any,
                Self::Never => {}
                Self::Null => has_null = true,
                Self::Literals { values, is_open } => add_literals(&mut flat, values, is_open),
                Self::Boolean
                | Self::Integer
                | Self::Number
                | Self::Text
                | Self::Bytes
                | Self::List(_)
                | Self::Tuple { .. }
                | Self::Map(_)
                | Self::Named(_) => {
                    if !flat.contains(&part) {
                        flat.push(part);
                    }
                }
            }
        }
        if flat.contains(&Self::Number) {
            flat.retain(|part| *part != Self::Integer);
        }
        if has_null {
            flat.push(Self::Null);
        }
        match flat.len() {
            0 => Self::Never,
            1 => flat.pop().unwrap_or(Self::Never),
            _ => Self::Union(flat),
        }
    }

    /// Whether `null` is one of its values.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Self::Any | Self::Null => true,
            Self::Union(parts) => parts.iter().any(Self::is_nullable),
            Self::Never
            | Self::Boolean
            | Self::Integer
            | Self::Number
            | Self::Text
            | Self::Bytes
            | Self::Literals { .. }
            | Self::List(_)
            | Self::Tuple { .. }
            | Self::Map(_)
            | Self::Named(_) => false,
        }
    }

    /// Whether all values of its enumerations are listed.
    fn is_whole(&self) -> bool {
        match self {
            Self::Literals { is_open, .. } => !is_open,
            Self::Union(parts) => parts.iter().all(Self::is_whole),
            Self::List(inner) | Self::Map(inner) => inner.is_whole(),
            Self::Tuple { items, rest } => items.iter().chain(rest.as_deref()).all(Self::is_whole),
            Self::Any
            | Self::Never
            | Self::Null
            | Self::Boolean
            | Self::Integer
            | Self::Number
            | Self::Text
            | Self::Bytes
            | Self::Named(_) => true,
        }
    }

    /// Whether a text, number or boolean is one of its values, so far as that is known without its definitions.
    pub(super) fn takes(&self, value: &Value) -> bool {
        match self {
            Self::Any => value.is_string() || value.is_number() || value.is_boolean(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::Literals { values, is_open } => values.contains(value) || (*is_open && value.is_string()),
            Self::Union(parts) => parts.iter().any(|part| part.takes(value)),
            Self::Never | Self::Null | Self::Bytes | Self::List(_) | Self::Tuple { .. } | Self::Map(_) | Self::Named(_) => false,
        }
    }

    /// Calls `visit` with the number of each definition that it names, in the order of the text.
    pub(super) fn each_name(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Named(number) => visit(*number),
            Self::List(inner) | Self::Map(inner) => inner.each_name(visit),
            Self::Union(parts) => parts.iter().for_each(|part| part.each_name(visit)),
            Self::Tuple { items, rest } => items.iter().chain(rest.as_deref()).for_each(|part| part.each_name(visit)),
            Self::Any
            | Self::Never
            | Self::Null
            | Self::Boolean
            | Self::Integer
            | Self::Number
            | Self::Text
            | Self::Bytes
            | Self::Literals { .. } => {}
        }
    }
}

fn add_literals(flat: &mut Vec<Shape>, new: Vec<Value>, new_is_open: bool) {
    let known = flat.iter_mut().find_map(|part| match part {
        Shape::Literals { values, is_open } => Some((values, is_open)),
        Shape::Any
        | Shape::Never
        | Shape::Null
        | Shape::Boolean
        | Shape::Integer
        | Shape::Number
        | Shape::Text
        | Shape::Bytes
        | Shape::List(_)
        | Shape::Tuple { .. }
        | Shape::Map(_)
        | Shape::Named(_)
        | Shape::Union(_) => None,
    });
    match known {
        Some((values, is_open)) => {
            for value in new {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            *is_open |= new_is_open;
        }
        None => flat.push(Shape::Literals {
            values: new,
            is_open: new_is_open,
        }),
    }
}

/// A type with a name of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Definition {
    /// An identifier in both languages, unique in a text.
    pub(super) name: String,
    pub(super) content: Content,
    /// One line about it, or empty.
    pub(super) note: String,
}

impl Definition {
    /// Whether it has all that the schema says: long enumerations and records with very many properties have not.
    pub(super) fn is_whole(&self) -> bool {
        match &self.content {
            Content::Record { unnamed_fields, .. } => *unnamed_fields == 0,
            Content::Alias(shape) => shape.is_whole(),
            Content::Missing => false,
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Record {
        fields: Vec<Field>,
        /// The type of properties beside the fields, where the schema gives one.
        others: Option<Shape>,
        /// How many fields there are beyond those, which are too many.
        unnamed_fields: usize,
    },
    Alias(Shape),
    /// Not among the types at hand.
    Missing,
}

impl Content {
    /// Calls `visit` with the number of each definition that it names.
    pub(super) fn each_name(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Record { fields, others, .. } => fields
                .iter()
                .map(|field| &field.shape)
                .chain(others)
                .for_each(|shape| shape.each_name(visit)),
            Self::Alias(shape) => shape.each_name(visit),
            Self::Missing => {}
        }
    }
}

/// A property of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
    /// One line about it, or empty.
    pub(super) note: String,
}
