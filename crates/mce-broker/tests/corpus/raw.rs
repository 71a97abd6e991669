//! Documents as they stand, read without the catalog: files, references, operations and what each declares.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use serde_json::Value;

const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
const MAX_HOPS: usize = 32;

/// All files of a document.
pub(crate) struct Files {
    main: PathBuf,
    values: BTreeMap<PathBuf, Value>,
}

/// A place in a document.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    files: &'a Files,
    file: &'a Path,
    pub(crate) value: &'a Value,
}

/// An operation as the document has it.
pub(crate) struct Operation<'a> {
    pub(crate) method: String,
    /// The key of the Paths Object without its fragment.
    pub(crate) template: String,
    pub(crate) node: Node<'a>,
    pub(crate) parameters: Vec<Parameter<'a>>,
}

/// A Parameter Object behind its references.
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) place: String,
    pub(crate) is_required: bool,
    pub(crate) node: Node<'a>,
}

impl Parameter<'_> {
    /// Whether this is the bearer token of the operation, declared again.
    fn repeats_the_token(&self) -> bool {
        let description = self.node.text("description").unwrap_or_default().to_lowercase();
        ["token", "access_token"].contains(&self.name.to_lowercase().as_str()) && description.contains("authentication token")
    }
}

impl Files {
    /// Reads a document and the files that it refers to.
    pub(crate) fn read(main: &Path) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        let mut waiting = vec![main.to_owned()];
        while let Some(path) = waiting.pop() {
            if values.contains_key(&path) {
                continue;
            }
            let value = match fs::read(&path) {
                Ok(bytes) => parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?,
                Err(_) if path != main => continue,
                Err(error) => return Err(error.to_string()),
            };
            let mut found = Vec::new();
            collect_references(&value, &mut found);
            let further = found.iter().filter_map(|reference| other_file(&path, reference));
            waiting.extend(further);
            values.insert(path, value);
        }
        Ok(Self {
            main: main.to_owned(),
            values,
        })
    }

    pub(crate) fn top(&self) -> Node<'_> {
        Node {
            files: self,
            file: &self.main,
            value: &self.values[&self.main],
        }
    }

    pub(crate) fn is_swagger2(&self) -> bool {
        self.top().value.get("swagger").is_some()
    }

    /// The operations by `METHOD /path`.
    pub(crate) fn operations(&self) -> BTreeMap<String, Operation<'_>> {
        let mut operations = BTreeMap::new();
        for (path, item) in self.top().get("paths").map(Node::members).unwrap_or_default() {
            let resolved = item.resolve();
            let items = if std::ptr::eq(item.value, resolved.value) {
                vec![item]
            } else {
                vec![item, resolved]
            };
            for item in items {
                let plain = item
                    .members()
                    .into_iter()
                    .filter(|(key, _)| METHODS.contains(&key.to_lowercase().as_str()));
                let plain = plain.map(|(key, node)| (key.to_uppercase(), node));
                let others = item.get("additionalOperations").map(Node::members).unwrap_or_default();
                let others = others.into_iter().map(|(key, node)| (key.to_owned(), node));
                for (method, node) in plain.chain(others) {
                    let operation = Operation::new(&method, path, item, node.resolve());
                    operations.entry(format!("{method} {path}")).or_insert(operation);
                }
            }
        }
        operations
    }
}

impl<'a> Node<'a> {
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        self.value
            .get(key)
            .filter(|value| !value.is_null())
            .map(|value| Self { value, ..self })
    }

    pub(crate) fn text(self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    pub(crate) fn flag(self, key: &str) -> Option<bool> {
        match self.value.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn members(self) -> Vec<(&'a str, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members.map(|(key, value)| (key.as_str(), Self { value, ..self })).collect()
    }

    pub(crate) fn items(self) -> Vec<Self> {
        let items = self.value.as_array().into_iter().flatten();
        items.map(|value| Self { value, ..self }).collect()
    }

    /// What is behind a chain of references; the last place that is known where it breaks.
    pub(crate) fn resolve(self) -> Self {
        let mut here = self;
        for _ in 0..MAX_HOPS {
            match here.text("$ref").and_then(|reference| here.target(reference)) {
                Some(next) => here = next,
                None => break,
            }
        }
        here
    }

    fn target(self, reference: &str) -> Option<Self> {
        let (name, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let (file, mut value) = if name.is_empty() {
            self.files.values.get_key_value(self.file)?
        } else {
            self.files.values.get_key_value(&other_file(self.file, reference)?)?
        };
        for step in pointer.split('/').skip(1) {
            let step = percent_decode_str(step).decode_utf8().ok()?.replace("~1", "/").replace("~0", "~");
            value = match value {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                other => other.get(&step)?,
            };
        }
        Some(Self { file, value, ..self })
    }

    pub(crate) fn top(self) -> Self {
        self.files.top()
    }
}

impl<'a> Operation<'a> {
    fn new(method: &str, path: &str, item: Node<'a>, node: Node<'a>) -> Self {
        let mut parameters: Vec<Parameter<'a>> = Vec::new();
        for list in [item, node].into_iter().filter_map(|holder| holder.get("parameters")) {
            for declared in list.items().into_iter().map(Node::resolve) {
                let (Some(name), Some(place)) = (declared.text("name"), declared.text("in")) else {
                    continue;
                };
                let place = place.to_lowercase();
                let is_same = |other: &Parameter<'_>| {
                    other.place == place && (other.name == name || (place == "header" && other.name.eq_ignore_ascii_case(name)))
                };
                parameters.retain(|other| !is_same(other));
                parameters.push(Parameter {
                    name,
                    is_required: declared.flag("required") == Some(true) || place == "path",
                    place,
                    node: declared,
                });
            }
        }
        let template = path.split('#').next().unwrap_or_default();
        Self {
            method: method.to_owned(),
            template: if template.starts_with('/') {
                template.to_owned()
            } else {
                format!("/{template}")
            },
            node,
            parameters,
        }
    }

    /// Whether a credential of the operation is sent as this parameter.
    pub(crate) fn is_credential(&self, parameter: &Parameter<'_>) -> bool {
        let top = self.node.top();
        let security = self.node.get("security").or_else(|| top.get("security"));
        let schemes = top
            .get("securityDefinitions")
            .or_else(|| top.get("components").and_then(|components| components.get("securitySchemes")));
        let requirements = security.map(Node::items).unwrap_or_default();
        requirements.into_iter().flat_map(Node::members).any(|(scheme, _)| {
            let Some(scheme) = schemes.and_then(|schemes| schemes.get(scheme)).map(Node::resolve) else {
                return false;
            };
            let is_key = scheme.text("in") == Some(parameter.place.as_str())
                && scheme.text("name").is_some_and(|name| name.eq_ignore_ascii_case(parameter.name));
            let is_bearer = matches!(scheme.text("type"), Some("oauth2" | "openIdConnect")) || scheme.text("scheme") == Some("bearer");
            is_key || (is_bearer && parameter.repeats_the_token())
        })
    }

    /// Media types of Swagger 2.0, the operation's or the document's.
    pub(crate) fn media_types(&self, key: &str) -> Vec<&'a str> {
        let list = self.node.get(key).or_else(|| self.node.top().get(key));
        let items = list.map(Node::items).unwrap_or_default();
        items.into_iter().filter_map(|item| item.value.as_str()).collect()
    }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    let (text, _) = match bytes {
        [0xFF, 0xFE, ..] => encoding_rs::UTF_16LE.decode_with_bom_removal(bytes),
        [0xFE, 0xFF, ..] => encoding_rs::UTF_16BE.decode_with_bom_removal(bytes),
        _ => encoding_rs::UTF_8.decode_with_bom_removal(bytes),
    };
    if let Ok(value) = serde_json::from_str(&text) {
        return Ok(value);
    }
    let options = serde_saphyr::options! {
        budget: None,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        null_as_string: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false
    };
    serde_saphyr::from_str_with_options(&text, options).map_err(|error| error.to_string())
}

fn collect_references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(
                members
                    .get("$ref")
                    .and_then(Value::as_str)
                    .filter(|reference| !reference.starts_with('#')),
            );
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

fn other_file(from: &Path, reference: &str) -> Option<PathBuf> {
    let name = reference
        .split('#')
        .next()
        .filter(|name| !name.is_empty() && !name.contains("://"))?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    let mut path = PathBuf::new();
    for component in from.parent()?.join(&*name).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    Some(path)
}
