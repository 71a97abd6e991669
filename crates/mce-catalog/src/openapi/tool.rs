//! The tools of an MCP server to functions: a tool's arguments are the properties of its `inputSchema`, which may be of any
//! draft of JSON Schema. (MCP 2025-11-25, Tools.)

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::document::{Reader, Version};
use super::files::{Files, Shelf};
use super::parameter::name_all;
use super::prose;
use super::reference::Node;
use super::{Document, NoFurtherFiles, Origin, Skipped};
use crate::function::{Effect, Function, Location, Parameter, ParameterEncoding, Target, ToolTarget, Types};
use crate::names::{self, OperationKey};
use crate::pointer::{escape, unescape};
use crate::{pagination, schema};

/// Tools that are read of one server.
const MAX_TOOLS: usize = 20_000;
/// Characters of a tool's name. (MCP 2026-07-28 asks for 128 at most.)
const MAX_NAME: usize = 256;
/// Characters of a description: of a tool it is often all that there is to read.
const MAX_DESCRIPTION: usize = 4_000;
/// Members of a tool that are schemas.
const SCHEMAS: [&str; 2] = ["inputSchema", "outputSchema"];
/// Arguments of one tool.
const MAX_ARGUMENTS: usize = 1_000;

/// Reads the tools that an MCP server lists. Each becomes a function or is listed as skipped, under its own name.
pub fn read_tools(tools: Vec<Value>) -> Document {
    let bytes: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    let (mut listed, mut skipped) = by_name(tools);
    let written: BTreeMap<String, String> = listed.iter().map(|(name, tool)| (name.clone(), tool.to_string())).collect();
    let shared = hoist_definitions(&mut listed);
    let origin = Origin::File("/tools".into());
    let shelf = Shelf::default();
    let list = json!({"components": {"schemas": shared}, "tools": listed});
    let (files, main) = Files::new(&shelf, list, &origin, &NoFurtherFiles);
    let top = Node::top(main);
    let mut reader = Reader::new(Version::V31, files, main, &origin, bytes);
    let functions = reader.tools(&top, &mut skipped);
    let mut document = reader.into_document(&top, functions, skipped);
    "mcp".clone_into(&mut document.version);
    let wholes = pagination::Wholes::new(&document.types);
    for function in &mut document.functions {
        if let Target::Tool(tool) = &mut function.target {
            tool.definition = written.get(&tool.name).cloned().unwrap_or_default();
        }
        set_parameters(function, &document.types);
        function.pagination = pagination::detect(function, &wholes);
    }
    document
}

/// The tools by name, and those that cannot be called by one.
fn by_name(tools: Vec<Value>) -> (Map<String, Value>, Vec<Skipped>) {
    let mut listed = Map::new();
    let mut skipped = Vec::new();
    for (index, tool) in tools.into_iter().enumerate() {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_name = !name.is_empty() && name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control);
        let reason = if index >= MAX_TOOLS {
            format!("the server has more than {MAX_TOOLS} tools")
        } else if !is_name {
            format!("its name is missing, longer than {MAX_NAME} characters, or has control characters")
        } else if listed.contains_key(&name) {
            "the server lists this name twice".to_owned()
        } else {
            listed.insert(name, tool);
            continue;
        };
        skipped.push(Skipped {
            operation: prose::quote(&name),
            pointer: format!("/tools/{index}"),
            reason,
        });
    }
    (listed, skipped)
}

/// Takes out the definitions that all tools which have them have alike, and makes all references start from the top of
/// what is read; in a tool they start from its own schema.
fn hoist_definitions(tools: &mut Map<String, Value>) -> Map<String, Value> {
    let mut shared: BTreeMap<String, Option<Value>> = BTreeMap::new();
    for schema in tools.values().flat_map(|tool| SCHEMAS.iter().filter_map(|key| tool.get(*key))) {
        for (name, definition) in members(schema, "$defs") {
            shared
                .entry(name)
                .and_modify(|known| {
                    known.take_if(|known| *known != definition);
                })
                .or_insert(Some(definition));
        }
    }
    // What leads to something that differs, differs.
    let mut shared: BTreeMap<String, Value> = shared
        .into_iter()
        .filter_map(|(name, definition)| Some((name, definition?)))
        .collect();
    loop {
        let before = shared.len();
        let names: BTreeSet<String> = shared.keys().cloned().collect();
        shared.retain(|_, definition| is_closed(definition, &names));
        if shared.len() == before {
            break;
        }
    }
    for (name, tool) in tools.iter_mut() {
        for key in SCHEMAS {
            if let Some(schema) = tool.get_mut(key) {
                let own = format!("#/tools/{}/{key}", escape(name));
                redirect(schema, &own, &|definition| shared.contains_key(definition));
            }
        }
    }
    let mut hoisted: Map<String, Value> = shared.clone().into_iter().collect();
    for schema in hoisted.values_mut() {
        redirect(schema, "#", &|definition| shared.contains_key(definition));
    }
    hoisted
}

/// Whether all references of a definition lead to these definitions.
fn is_closed(schema: &Value, names: &BTreeSet<String>) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| match value {
            Value::String(text) if key == "$ref" => definition_in(text).is_some_and(|(name, _)| names.contains(&name)),
            other => is_closed(other, names),
        }),
        Value::Array(items) => items.iter().all(|item| is_closed(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The definition that a reference leads to, and where in it.
fn definition_in(reference: &str) -> Option<(String, &str)> {
    let rest = reference.strip_prefix("#/$defs/")?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (name, path) = rest.split_at_checked(end)?;
    Some((unescape(name), path))
}

/// Makes references to shared definitions lead to these, and all others into the schema at `own`.
fn redirect(schema: &mut Value, own: &str, is_shared: &dyn Fn(&str) -> bool) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(text) if key == "$ref" => match definition_in(text) {
                        Some((name, path)) if is_shared(&name) => *text = format!("#/components/schemas/{}{path}", escape(&name)),
                        _ if text == "#" || text.starts_with("#/") => *text = format!("{own}{}", text.trim_start_matches('#')),
                        _ => {}
                    },
                    other => redirect(other, own, is_shared),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, own, is_shared)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl<'a> Reader<'a> {
    fn tools(&mut self, top: &Node<'a>, skipped: &mut Vec<Skipped>) -> Vec<Function> {
        let list = top.get("tools");
        let tools: Vec<(&str, Node<'a>)> = list.iter().flat_map(|tools| tools.members().collect::<Vec<_>>()).collect();
        let keys: Vec<OperationKey<'_>> = tools
            .iter()
            .map(|(name, _)| OperationKey {
                method: "",
                path: name,
                operation_id: Some(name),
            })
            .collect();
        let mut functions = Vec::new();
        for ((original, tool), name) in tools.iter().zip(names::functions(&keys)) {
            let function = self.tool(original, tool).and_then(|function| {
                let too_large = "the tools become too large".to_owned();
                // The limit is on all schemas together, so what was made of this one may be incomplete.
                if self.is_exhausted() { Err(too_large) } else { Ok(function) }
            });
            match function {
                Ok(function) => functions.push(Function {
                    python: name.python,
                    typescript: name.typescript,
                    ..function
                }),
                Err(reason) => skipped.push(Skipped {
                    operation: (*original).to_owned(),
                    pointer: tool.place(),
                    reason,
                }),
            }
        }
        functions
    }

    /// The function of a tool, without its names and arguments.
    ///
    /// # Errors
    ///
    /// Why it cannot be called.
    fn tool(&mut self, name: &str, tool: &Node<'a>) -> Result<Function, String> {
        let needs_task = tool.get("execution").and_then(|execution| execution.text("taskSupport")) == Some("required");
        if needs_task {
            return Err("it can only be called as a task".to_owned());
        }
        let input = match tool.get("inputSchema").filter(|schema| !schema.value.is_null()) {
            Some(schema) if schema.value.is_object() => self.schema(&schema),
            Some(_) => return Err("its `inputSchema` is no object".to_owned()),
            None => json!({"type": "object"}),
        };
        let result = tool
            .get("outputSchema")
            .filter(|schema| schema.value.is_object())
            .map(|schema| self.schema(&schema));
        let annotations = tool.get("annotations");
        let hints = |key: &str| annotations.as_ref().and_then(|annotations| annotations.flag(key)) == Some(true);
        let title = tool
            .text("title")
            .or_else(|| annotations.as_ref().and_then(|annotations| annotations.text("title")));
        let description = tool.text("description").filter(|text| !text.trim().is_empty());
        Ok(Function {
            server: String::new(),
            operation: name.to_owned(),
            operation_id: None,
            python: String::new(),
            typescript: String::new(),
            effect: match (hints("readOnlyHint"), hints("destructiveHint")) {
                (true, _) => Effect::Read,
                (false, true) => Effect::Destructive,
                (false, false) => Effect::Write,
            },
            summary: description.map_or_else(
                || prose::line(title.unwrap_or_default(), 120),
                |text| prose::first_sentence(text, 120),
            ),
            description: prose::paragraphs(description.unwrap_or_default(), MAX_DESCRIPTION),
            tags: Vec::new(),
            is_deprecated: false,
            parameters: Vec::new(),
            body: None,
            result,
            errors: BTreeMap::new(),
            pagination: None,
            target: Target::Tool(ToolTarget {
                name: name.to_owned(),
                accepts_more: false,
                input,
                definition: String::new(),
            }),
        })
    }
}

/// Makes the properties of a tool's schema its parameters: those of the schema itself, then those of its alternatives, which
/// are then optional.
fn set_parameters(function: &mut Function, types: &Types) {
    let Target::Tool(tool) = &mut function.target else { return };
    let whole = schema::merged(&tool.input, types);
    let mut properties: Map<String, Value> = members(&whole, "properties");
    let own = properties.len();
    for alternative in ["anyOf", "oneOf"].iter().filter_map(|key| whole.get(*key)?.as_array()).flatten() {
        for (name, schema) in members(&schema::merged(alternative, types), "properties") {
            add_alternative(&mut properties, name, schema, own);
        }
    }
    let required: BTreeSet<&str> = whole.as_object().into_iter().flat_map(schema::required).collect();
    tool.accepts_more = match whole.get("additionalProperties") {
        None => properties.is_empty() && whole.get("properties").is_none(),
        Some(more) => *more != Value::Bool(false),
    };
    let mut parameters: Vec<Parameter> = properties
        .into_iter()
        .take(MAX_ARGUMENTS)
        .map(|(name, schema)| parameter(&name, schema, required.contains(name.as_str())))
        .collect();
    parameters.sort_by_key(|parameter| !parameter.is_required);
    name_all(&mut parameters, false);
    function.parameters = parameters;
}

fn members(schema: &Value, key: &str) -> Map<String, Value> {
    schema.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// A property that several alternatives have may be any of them. `own` properties of the schema itself come first and stay.
fn add_alternative(properties: &mut Map<String, Value>, name: String, schema: Value, own: usize) {
    let Some(position) = properties.keys().position(|known| *known == name) else {
        properties.insert(name, schema);
        return;
    };
    let Some(known) = properties.get_mut(&name).filter(|known| position >= own && **known != schema) else {
        return;
    };
    match known.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(several) if several.contains(&schema) => {}
        Some(several) => several.push(schema),
        None => *known = json!({"anyOf": [known.clone(), schema]}),
    }
}

fn parameter(name: &str, mut schema: Value, is_required: bool) -> Parameter {
    // Said once, beside the name.
    let description = schema
        .as_object_mut()
        .and_then(|members| members.shift_remove("description"))
        .and_then(|text| text.as_str().map(str::to_owned));
    Parameter {
        original: name.to_owned(),
        key: String::new(),
        python: String::new(),
        typescript: String::new(),
        location: Location::Argument,
        is_required,
        is_deprecated: schema.get("deprecated") == Some(&Value::Bool(true)),
        description: prose::line(&description.unwrap_or_default(), 500),
        schema,
        encoding: ParameterEncoding::Content {
            media_type: "application/json".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(tool: Value) -> (Function, Types) {
        let mut document = read_tools(vec![tool]);
        assert_eq!((document.skipped.len(), document.problems.len()), (0, 0), "{document:?}");
        (document.functions.remove(0), document.types)
    }

    fn arguments(function: &Function) -> Vec<(&str, &str, bool)> {
        let parameters = function.parameters.iter();
        parameters
            .map(|one| (one.key.as_str(), one.python.as_str(), one.is_required))
            .collect()
    }

    fn accepts_more(function: &Function) -> bool {
        matches!(&function.target, Target::Tool(tool) if tool.accepts_more)
    }

    #[test]
    fn arguments_are_the_properties_of_the_schema_required_ones_first() {
        let (function, _) = only(
            json!({"name": "read-File.v2", "title": "Reads", "annotations": {"readOnlyHint": true},
            "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["filePath"],
                "properties": {"head": {"type": "integer", "description": "lines"}, "filePath": {"type": "string"}, "body": {}}}}),
        );
        assert_eq!(
            (function.python.as_str(), function.typescript.as_str()),
            ("read_file_v2", "readFileV2")
        );
        assert_eq!((function.operation.as_str(), function.summary.as_str()), ("read-File.v2", "Reads"));
        assert_eq!(function.effect, Effect::Read);
        assert_eq!(
            arguments(&function),
            [("filePath", "file_path", true), ("head", "head", false), ("body", "body", false)]
        );
        let head = &function.parameters[1];
        assert_eq!((head.description.as_str(), &head.schema), ("lines", &json!({"type": "integer"})));
        assert!(!accepts_more(&function));
    }

    #[test]
    fn effects_follow_the_annotations_and_are_writes_without() {
        for (annotations, effect) in [
            (json!(null), Effect::Write),
            (json!({"readOnlyHint": false}), Effect::Write),
            (json!({"readOnlyHint": true, "destructiveHint": true}), Effect::Read),
            (json!({"destructiveHint": true}), Effect::Destructive),
            (json!({"destructiveHint": false}), Effect::Write),
        ] {
            let (function, _) = only(json!({"name": "x", "inputSchema": {"type": "object"}, "annotations": annotations}));
            assert_eq!(function.effect, effect, "{annotations}");
        }
    }

    #[test]
    fn what_a_schema_does_not_name_may_be_sent_where_it_says_so_or_names_nothing() {
        for (schema, expected) in [
            (json!({"type": "object"}), true),
            (json!({"type": "object", "properties": {}}), false),
            (json!({"type": "object", "additionalProperties": false}), false),
            (json!({"type": "object", "properties": {"a": {}}}), false),
            (json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {}}), true),
            (
                json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
                true,
            ),
        ] {
            let (function, _) = only(json!({"name": "x", "inputSchema": schema}));
            assert_eq!(accepts_more(&function), expected, "{schema}");
        }
    }

    #[test]
    fn alternatives_give_optional_arguments_which_may_be_any_of_their_types() {
        let (function, _) = only(json!({"name": "x", "inputSchema": {"type": "object", "required": ["kind"],
            "properties": {"kind": {"type": "string"}},
            "anyOf": [{"properties": {"id": {"type": "integer"}, "kind": {"const": "a"}}, "required": ["id"]},
                {"properties": {"id": {"type": "string"}, "all": {"type": "boolean"}}}]}}));
        assert_eq!(
            arguments(&function),
            [("kind", "kind", true), ("id", "id", false), ("all", "all", false)]
        );
        assert_eq!(function.parameters[0].schema, json!({"type": "string"}));
        assert_eq!(
            function.parameters[1].schema,
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]})
        );
    }

    #[test]
    fn definitions_that_are_alike_are_one_type_and_others_are_named_after_their_tool() {
        let tool = |name: &str, other: &str| {
            json!({"name": name, "inputSchema": {"type": "object",
                "properties": {"a": {"$ref": "#/$defs/Same"}, "b": {"$ref": "#/$defs/Other"}, "c": {"$ref": "#/$defs/Leads"}, "d": {"$ref": "#"}},
                "$defs": {"Same": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Same"}}},
                    "Other": {"type": "object", "properties": {"y": {"type": other}}},
                    "Leads": {"type": "object", "properties": {"z": {"$ref": "#/$defs/Other"}}}}}})
        };
        let document = read_tools(vec![tool("one", "string"), tool("two", "integer")]);
        assert_eq!(document.problems, []);
        let names: Vec<&str> = document.types.keys().map(String::as_str).collect();
        assert_eq!(names, ["One", "OneLeads", "OneOther", "Same", "Two", "TwoLeads", "TwoOther"]);
        let alone = read_tools(vec![tool("one", "string")]);
        let names: Vec<&str> = alone.types.keys().map(String::as_str).collect();
        assert_eq!(names, ["Leads", "One", "Other", "Same"]);
    }

    #[test]
    fn a_tool_that_cannot_be_called_is_listed_with_its_reason() {
        let document = read_tools(vec![
            json!({"name": "a", "inputSchema": {"type": "object"}}),
            json!({"name": "a", "inputSchema": {"type": "object"}}),
            json!({"inputSchema": {"type": "object"}}),
            json!({"name": "t", "inputSchema": {}, "execution": {"taskSupport": "required"}}),
            json!({"name": "s", "inputSchema": 7}),
            json!({"name": "n"}),
            json!({"name": "x\u{0}y"}),
            json!(null),
        ]);
        let names: Vec<&str> = document.functions.iter().map(|function| function.operation.as_str()).collect();
        assert_eq!(names, ["a", "n"]);
        let reasons: Vec<(&str, bool)> = document
            .skipped
            .iter()
            .map(|skipped| (skipped.operation.as_str(), skipped.reason.is_empty()))
            .collect();
        assert_eq!(reasons.len(), 6, "{reasons:?}");
        assert_eq!(document.operations, 8);
        assert!(reasons.iter().all(|(_, is_empty)| !is_empty));
    }

    #[test]
    fn the_place_of_a_tool_in_the_list_changes_nothing() {
        let one = json!({"name": "getItem", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/definitions/A"}},
            "definitions": {"A": {"type": "object", "properties": {"b": {"type": "string"}}}}}});
        let two = json!({"name": "other", "inputSchema": {"type": "object"}});
        let first = read_tools(vec![one.clone(), two.clone()]);
        let last = read_tools(vec![two, one]);
        assert_eq!(first.functions.first(), last.functions.last());
        assert_eq!(first.types, last.types);
        assert_eq!(first.types.keys().collect::<Vec<_>>(), ["GetItemA"]);
    }
}
