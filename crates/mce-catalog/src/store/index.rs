//! The search index: which words of a function go into which column, and how they are read back.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use rusqlite::{CachedStatement, Transaction, params};
use serde_json::Value;

use super::{FunctionKey, Store, StoreError};
use crate::{
    function::{Function, Target, Types},
    schema,
    search::words::{indexed_words, name_words, split},
};

/// Words of descriptions after this many say little about the function.
const MAX_DESCRIPTION_WORDS: usize = 80;
/// Words of parameters and properties.
const MAX_PARAMETER_WORDS: usize = 400;
/// How deep the names of a body's properties are looked up.
const MAX_PROPERTY_DEPTH: usize = 2;
/// How deep descriptions and values of properties count.
const MAX_DESCRIBED_DEPTH: usize = 2;

/// One word in one column of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) function: FunctionKey,
    pub(crate) column: Column,
}

/// The columns of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The function's names.
    Name,
    /// The path of the operation up to its resource.
    Path,
    /// What the operation is about: the last segment of its path that is no parameter, or the name of a tool.
    Resource,
    /// The tags.
    Tags,
    /// The summary.
    Summary,
    /// The description, from its start.
    Description,
    /// Names and descriptions of parameters, names of body properties, values of their enumerations.
    Parameters,
}

impl Column {
    fn from_name(name: &str) -> Self {
        match name {
            "name" => Self::Name,
            "path" => Self::Path,
            "resource" => Self::Resource,
            "tags" => Self::Tags,
            "summary" => Self::Summary,
            "description" => Self::Description,
            _ => Self::Parameters,
        }
    }
}

/// The words of one function, by column.
#[derive(Debug, Default)]
pub(super) struct Words {
    columns: [Vec<String>; 7],
    /// How many words the function's name has.
    pub(super) in_name: u32,
    /// How many words its resource has.
    pub(super) in_resource: u32,
}

/// Writes the index of one document.
pub(super) struct Indexer<'a> {
    insert: CachedStatement<'a>,
}

/// Finds the words of the functions of one document.
pub(super) struct WordReader<'a> {
    types: &'a Types,
    texts: Texts,
}

/// The words of texts that came before: the same parameters and properties come again and again.
#[derive(Debug, Default)]
struct Texts {
    prose: RefCell<BTreeMap<String, Rc<[Rc<str>]>>>,
    names: RefCell<BTreeMap<String, Rc<[Rc<str>]>>>,
}

impl Texts {
    fn prose(&self, text: &str) -> Rc<[Rc<str>]> {
        remembered(&self.prose, text, indexed_words)
    }

    fn name(&self, text: &str) -> Rc<[Rc<str>]> {
        remembered(&self.names, text, name_words)
    }
}

fn remembered(known: &RefCell<BTreeMap<String, Rc<[Rc<str>]>>>, text: &str, split: fn(&str) -> Vec<String>) -> Rc<[Rc<str>]> {
    if let Some(words) = known.borrow().get(text) {
        return Rc::clone(words);
    }
    let words: Rc<[Rc<str>]> = split(text).into_iter().map(Rc::from).collect();
    known.borrow_mut().insert(text.to_owned(), Rc::clone(&words));
    words
}

impl<'a> Indexer<'a> {
    pub(super) fn new(transaction: &'a Transaction<'_>) -> rusqlite::Result<Self> {
        let insert = transaction.prepare_cached(
            "INSERT INTO catalog_search (rowid, name, path, resource, tags, summary, description, parameters)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        Ok(Self { insert })
    }

    pub(super) fn insert(&mut self, key: FunctionKey, words: &Words) -> rusqlite::Result<()> {
        let [name, path, resource, tags, summary, description, parameters] = words.columns.each_ref().map(|column| column.join(" "));
        self.insert
            .execute(params![key, name, path, resource, tags, summary, description, parameters])
            .map(drop)
    }
}

impl<'a> WordReader<'a> {
    pub(super) fn new(types: &'a Types) -> Self {
        Self {
            types,
            texts: Texts::default(),
        }
    }

    pub(super) fn words(&self, function: &Function) -> Words {
        let mut name = name_words(&function.typescript);
        for other in function.operation_id.iter().flat_map(|id| name_words(id)) {
            if !name.contains(&other) {
                name.push(other);
            }
        }
        let mut description = indexed_words(&function.description);
        description.truncate(MAX_DESCRIPTION_WORDS);
        let literal = match &function.target {
            Target::Http(target) => literal_path(&target.path),
            Target::Tool(_) => String::new(),
        };
        let (path, resource) = resource(&literal).unwrap_or(("", &function.typescript));
        let tags = function.tags.iter().flat_map(|tag| indexed_words(tag)).collect();
        let count = |name: &str| u32::try_from(split(name).len()).unwrap_or(u32::MAX);
        Words {
            in_name: count(&function.typescript),
            in_resource: count(resource),
            columns: [
                name,
                name_words(path),
                name_words(resource),
                tags,
                indexed_words(&function.summary),
                description,
                self.parameter_words(function),
            ],
        }
    }

    fn parameter_words(&self, function: &Function) -> Vec<String> {
        let mut found = Found::default();
        for parameter in &function.parameters {
            found.add(&self.texts.name(&parameter.original));
            found.add(&self.texts.prose(&parameter.description));
            self.add_values(&parameter.schema, &mut found);
        }
        if let Some(body) = &function.body {
            found.add(&self.texts.prose(&body.description));
            for variant in body.variants.iter().take(1) {
                self.property_words(&variant.schema, &mut found, 0);
            }
        }
        found.words.iter().map(|word| String::from(&**word)).collect()
    }

    /// Names of properties, those of the outer object first.
    fn property_words(&self, schema: &Value, found: &mut Found, depth: usize) {
        if depth > MAX_PROPERTY_DEPTH || found.is_full() {
            return;
        }
        let Some(schema) = schema::resolve(schema, self.types) else {
            return;
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            found.add(&self.texts.name(name));
            if depth < MAX_DESCRIBED_DEPTH {
                self.add_values(property, found);
                if let Some(description) = property.get("description").and_then(Value::as_str) {
                    found.add(&self.texts.prose(description));
                }
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for part in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.property_words(part, found, depth + 1);
            }
        }
        for property in properties.into_iter().flat_map(serde_json::Map::values).chain(schema.get("items")) {
            self.property_words(property, found, depth + 1);
        }
    }

    fn add_values(&self, schema: &Value, found: &mut Found) {
        for value in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
            if let Some(value) = value.as_str() {
                found.add(&self.texts.name(value));
            }
        }
    }
}

/// The last segment of a path that has words, and what stands before it.
fn resource(literal: &str) -> Option<(&str, &str)> {
    let path = literal.trim_end_matches(|c: char| !c.is_alphanumeric());
    let resource = path.rsplit('/').next().filter(|segment| !segment.is_empty())?;
    Some((path.strip_suffix(resource).unwrap_or_default(), resource))
}

/// A path template without its parameters, whose names are among the parameters.
fn literal_path(path: &str) -> String {
    let mut is_parameter = false;
    let mut literal = String::new();
    for c in path.chars() {
        match c {
            '{' => is_parameter = true,
            '}' => is_parameter = false,
            _ if is_parameter => {}
            _ => literal.push(c),
        }
    }
    literal
}

/// Words once each, as many as fit.
#[derive(Debug, Default)]
struct Found {
    words: Vec<Rc<str>>,
    seen: BTreeSet<Rc<str>>,
}

impl Found {
    fn add(&mut self, words: &[Rc<str>]) {
        for word in words {
            if !self.is_full() && self.seen.insert(Rc::clone(word)) {
                self.words.push(Rc::clone(word));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.words.len() >= MAX_PARAMETER_WORDS
    }
}

impl Store {
    /// Where a word occurs.
    pub(crate) fn postings(&self, word: &str) -> Result<Vec<Posting>, StoreError> {
        self.read("the index", |connection| {
            let mut statement = connection.prepare_cached("SELECT doc, col FROM temp.catalog_posting WHERE term = ?1")?;
            let rows = statement.query_map([word], |row| {
                Ok(Posting {
                    function: row.get(0)?,
                    column: Column::from_name(row.get_ref(1)?.as_str()?),
                })
            })?;
            rows.collect()
        })
    }

    /// All words of the index with the number of functions that have them.
    pub(crate) fn vocabulary(&self) -> Result<Vec<(String, u32)>, StoreError> {
        self.read("the index", |connection| {
            let mut statement = connection.prepare_cached("SELECT term, doc FROM catalog_words")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
    }
}
