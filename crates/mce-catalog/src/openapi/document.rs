//! A document as a whole: its version, what all of its parts share while they are read, and putting the result together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::body::BinaryFields;
use super::files::{File, Files, Shelf};
use super::parse::parse;
use super::reference::{Node, References};
use super::type_name::{TypeTable, rename};
use super::{CompileError, Document, Load, Origin, Overlay, Problem, Skipped, prose, type_cycle};
use crate::function::{Function, SecurityScheme, Target, Types};
use crate::pagination;

/// Problems that are kept.
const MAX_PROBLEMS: usize = 500;
/// A document of more bytes is large.
const LARGE: usize = 4 << 20;
/// Nodes that even a small document may become, and as many more as it has bytes. References let a small document become a
/// large one, so there must be an end.
const MIN_NODES: usize = 1_000_000;

/// A version of the specification, as far as versions are read differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    Swagger2,
    V30,
    V31,
    V32,
}

impl Version {
    /// Whether keywords beside `$ref` in a schema hold. (OpenAPI 3.1 takes JSON Schema 2020-12.)
    pub(super) const fn has_siblings(self) -> bool {
        matches!(self, Self::V31 | Self::V32)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Swagger2 => "2.0",
            Self::V30 => "3.0",
            Self::V31 => "3.1",
            Self::V32 => "3.2",
        }
    }

    fn of(top: &Node<'_>) -> Result<Self, CompileError> {
        let Some(members) = top.object() else {
            let is_markup = top.value.as_str().is_some_and(|text| text.starts_with('<'));
            let message = if is_markup {
                "it is a web page, or XML"
            } else {
                "the top level is no object"
            };
            return Err(CompileError::NotOpenApi {
                message: message.to_owned(),
            });
        };
        let declared = |key: &str| match members.get(key) {
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            // `openapi: 3.0` without quotes is a number in YAML.
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        match (declared("openapi"), declared("swagger")) {
            (Some(version), _) => match version.as_bytes() {
                [b'3', b'.', b'0', ..] | [b'3'] => Ok(Self::V30),
                [b'3', b'.', b'1', ..] => Ok(Self::V31),
                [b'3', b'.', ..] => Ok(Self::V32),
                _ => Err(CompileError::Version {
                    version: prose::quote(&version),
                }),
            },
            (None, Some(version)) if version == "2" || version.starts_with("2.") => Ok(Self::Swagger2),
            (None, Some(version)) => Err(CompileError::Version {
                version: prose::quote(&version),
            }),
            (None, None) => match declared("swaggerVersion") {
                Some(version) => Err(CompileError::Version {
                    version: prose::quote(&version),
                }),
                None => Err(CompileError::NotOpenApi {
                    message: other_kind(members).map_or_else(
                        || "neither `openapi` nor `swagger` is there".to_owned(),
                        |kind| format!("it is {kind}"),
                    ),
                }),
            },
        }
    }
}

/// What a document of another kind is.
fn other_kind(members: &serde_json::Map<String, Value>) -> Option<&'static str> {
    let has = |key: &str| members.contains_key(key);
    let kinds = [
        (has("asyncapi"), "an AsyncAPI document"),
        (has("discoveryVersion"), "a Google Discovery document"),
        (has("info") && has("item"), "a Postman collection"),
        (
            has("overlay") && has("actions"),
            "an overlay, which `overlay` in the settings names",
        ),
        (has("mcpServers"), "the configuration of an MCP client"),
    ];
    kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind))
}

/// What the parts of a document share while they are read.
pub(super) struct Reader<'a> {
    pub(super) version: Version,
    pub(super) main: &'a File,
    pub(super) origin: &'a Origin,
    pub(super) references: References<'a>,
    pub(super) types: TypeTable<'a>,
    pub(super) finished_types: Types,
    pub(super) security_schemes: BTreeMap<String, SecurityScheme>,
    /// Patterns already looked at, and whether a validator takes them.
    pub(super) patterns: BTreeMap<String, bool>,
    /// Files in bodies, by the schema's place.
    pub(super) binary_fields: BTreeMap<(usize, String), BinaryFields>,
    /// References to maps of properties that are being followed.
    pub(super) maps_followed: usize,
    /// Why operations have no base URL, with the place.
    pub(super) without_server: Vec<(String, String)>,
    problems: BTreeSet<Problem>,
    dropped_problems: usize,
    nodes_left: usize,
}

impl<'a> Reader<'a> {
    /// Notes what is wrong at `node`, and what was done about it.
    pub(super) fn problem(&mut self, node: &Node<'a>, message: &str) {
        self.problem_at(node.place(), message.to_owned());
    }

    pub(super) fn problem_at(&mut self, pointer: String, message: String) {
        let problem = Problem { pointer, message };
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.insert(problem);
        } else if !self.problems.contains(&problem) {
            self.dropped_problems += 1;
        }
    }

    /// Takes nodes from what this document may become; false if there are none left.
    pub(super) fn spend(&mut self, nodes: usize) -> bool {
        let left = self.nodes_left.checked_sub(nodes);
        self.nodes_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether the document became larger than it may.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.nodes_left == 0
    }
}

/// Reads a document; see [`super::read`].
pub(super) fn read(bytes: &[u8], origin: &Origin, load: &dyn Load, overlays: &[Overlay]) -> Result<Document, CompileError> {
    let (mut value, mut problems) = parse(bytes)?;
    for overlay in overlays {
        problems.extend(overlay.apply(&mut value));
    }
    let shelf = Shelf::default();
    let (files, main) = Files::new(&shelf, value, origin, load);
    let top = Node::top(main);
    let mut reader = Reader::new(Version::of(&top)?, files, main, origin, bytes.len());
    for problem in problems {
        reader.problem_at(problem.pointer, problem.message);
    }
    reader.security_schemes = reader.read_security_schemes(&top);
    let (functions, skipped) = reader.operations(&top);
    let document = reader.into_document(&top, functions, skipped);
    if bytes.len() > LARGE {
        // To give back the memory of a large document takes long, and nobody has to wait for it. Without a thread it is
        // given back here.
        drop(std::thread::Builder::new().spawn(move || drop(shelf)));
    }
    Ok(document)
}

impl<'a> Reader<'a> {
    /// A reader of the document `main`, which has so many bytes.
    pub(super) fn new(version: Version, files: Files<'a>, main: &'a File, origin: &'a Origin, bytes: usize) -> Self {
        let top = Node::top(main);
        Self {
            version,
            main,
            origin,
            references: References::new(files),
            types: TypeTable::new(&top),
            finished_types: Types::new(),
            security_schemes: BTreeMap::new(),
            patterns: BTreeMap::new(),
            binary_fields: BTreeMap::new(),
            maps_followed: 0,
            without_server: Vec::new(),
            problems: BTreeSet::new(),
            dropped_problems: 0,
            nodes_left: MIN_NODES.saturating_add(bytes),
        }
    }

    pub(super) fn into_document(mut self, top: &Node<'a>, mut functions: Vec<Function>, skipped: Vec<Skipped>) -> Document {
        self.finish_types();
        let mut types = std::mem::take(&mut self.finished_types);
        for name in type_cycle::cut(&mut types) {
            let message = format!("the type `{name}` contains itself; the inner one is taken for anything");
            self.problem_at("/components/schemas".to_owned(), message);
        }
        let renames = self.types.renames();
        if !renames.is_empty() {
            types = types
                .into_iter()
                .map(|(name, schema)| (renames.get(&name).cloned().unwrap_or(name), schema))
                .collect();
            for schema in types.values_mut().chain(functions.iter_mut().flat_map(schemas)) {
                rename(schema, &renames);
            }
        }
        let wholes = pagination::Wholes::new(&types);
        for function in &mut functions {
            function.pagination = pagination::detect(function, &wholes);
        }
        self.mark_elsewhere(top, &mut functions);
        let has_base_url = |function: &Function| matches!(&function.target, Target::Http(http) if http.base_url.is_some());
        if functions.iter().any(has_base_url) {
            // If no function has one, `Document::needs_base_url` tells it.
            for (pointer, message) in std::mem::take(&mut self.without_server) {
                self.problem_at(pointer, format!("{message}; `base_url` must be configured"));
            }
        }
        let (files, file_problems) = self.references.files.into_read();
        self.problems.extend(file_problems);
        let mut problems: Vec<Problem> = self.problems.into_iter().collect();
        if self.dropped_problems > 0 {
            problems.push(Problem {
                pointer: String::new(),
                message: format!("{} more problems are not listed", self.dropped_problems),
            });
        }
        let info = top.get("info");
        let text = |key: &str| info.as_ref().and_then(|info| info.text(key)).unwrap_or_default();
        Document {
            title: prose::line(text("title"), 120),
            version: self.version.as_str().to_owned(),
            description: prose::paragraphs(text("description"), 1000),
            operations: functions.len() + skipped.len(),
            functions,
            types,
            security_schemes: self.security_schemes,
            skipped,
            problems,
            files,
        }
    }
}

/// All schemas of a function.
fn schemas(function: &mut Function) -> impl Iterator<Item = &mut Value> {
    let parameters = function.parameters.iter_mut().map(|parameter| &mut parameter.schema);
    let bodies = function
        .body
        .iter_mut()
        .flat_map(|body| &mut body.variants)
        .map(|variant| &mut variant.schema);
    let whole = match &mut function.target {
        Target::Tool(tool) => Some(&mut tool.input),
        Target::Http(_) => None,
    };
    parameters.chain(bodies).chain(&mut function.result).chain(whole)
}
