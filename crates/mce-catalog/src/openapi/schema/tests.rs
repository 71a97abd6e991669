//! What schemas become.
#![expect(clippy::needless_pass_by_value, reason = "the values are written in place")]

use serde_json::{Value, json};

use crate::openapi::{Document, NoFurtherFiles, Origin, read};

/// A document of a version with these components, whose only function has a body of the first of them.
fn document(version: &str, schemas: Value) -> Document {
    let first = schemas.as_object().and_then(|schemas| schemas.keys().next()).unwrap().clone();
    let document = json!({
        "openapi": version,
        "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {
            "schema": {"type": "array", "items": {"$ref": format!("#/components/schemas/{first}")}}
        }}}}}},
        "components": {"schemas": schemas},
    });
    read(
        document.to_string().as_bytes(),
        &Origin::File("/d/openapi.json".into()),
        &NoFurtherFiles,
    )
    .unwrap()
}

#[track_caller]
fn check(version: &str, schema: Value, expected: Value) {
    let document = document(version, json!({"X": schema, "Other": {"type": "string"}}));
    assert_eq!(document.types["X"], expected, "{:?}", document.problems);
    assert_eq!(document.problems, []);
}

/// As [`check`], with one problem that contains `problem`.
#[track_caller]
fn check_problem(schema: Value, expected: Value, problem: &str) {
    let document = document("3.1.0", json!({"X": schema}));
    assert_eq!(document.types["X"], expected);
    assert!(
        document.problems.len() == 1 && document.problems[0].message.contains(problem),
        "{:?}",
        document.problems
    );
}

#[test]
fn each_spelling_of_nullable_admits_null() {
    check(
        "3.0.3",
        json!({"type": "string", "nullable": true}),
        json!({"type": ["string", "null"]}),
    );
    check(
        "3.0.3",
        json!({"type": "string", "x-nullable": true}),
        json!({"type": ["string", "null"]}),
    );
    check("3.1.0", json!({"type": ["string", "null"]}), json!({"type": ["string", "null"]}));
    check(
        "3.0.3",
        json!({"type": "string", "enum": ["a", null]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        "3.0.3",
        json!({"type": "string", "nullable": true, "enum": ["a"]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        "3.0.3",
        json!({"allOf": [{"$ref": "#/components/schemas/Other"}], "nullable": true, "description": "d"}),
        json!({"description": "d", "anyOf": [{"allOf": [{"$ref": "#/$defs/Other"}]}, {"type": "null"}]}),
    );
    check(
        "3.0.3",
        json!({"type": "object", "properties": {"a": {"$ref": "#/components/schemas/Other", "nullable": true, "maxLength": 1}}}),
        json!({"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/$defs/Other"}, {"type": "null"}]}}}),
    );
}

#[test]
fn keywords_of_older_drafts_become_those_of_2020_12() {
    check(
        "3.0.3",
        json!({"type": "number", "minimum": 1, "exclusiveMinimum": true}),
        json!({"type": "number", "exclusiveMinimum": 1}),
    );
    check(
        "3.0.3",
        json!({"type": "number", "maximum": 1, "exclusiveMaximum": false}),
        json!({"type": "number", "maximum": 1}),
    );
    check(
        "3.1.0",
        json!({"type": "number", "exclusiveMinimum": 2}),
        json!({"type": "number", "exclusiveMinimum": 2}),
    );
    check(
        "3.0.3",
        json!({"type": "array", "items": [{"type": "string"}]}),
        json!({"type": "array", "prefixItems": [{"type": "string"}]}),
    );
    check(
        "3.0.3",
        json!({"type": "array", "maxItems": 1e9, "minItems": 0.0}),
        json!({"type": "array", "maxItems": 1_000_000_000, "minItems": 0}),
    );
    check(
        "3.1.0",
        json!({"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
        json!({"type": "object", "dependentSchemas": {"c": {"required": ["d"]}}, "dependentRequired": {"a": ["b"]}}),
    );
}

#[test]
fn what_a_reader_needs_stays_and_the_rest_goes() {
    check(
        "3.0.3",
        json!({"type": "string", "description": " a\n b ", "default": "x", "deprecated": true, "readOnly": true, "writeOnly": false,
               "example": "e", "xml": {}, "externalDocs": {}, "title": "T", "x-y": 1, "format": "uuid"}),
        json!({"type": "string", "format": "uuid", "description": "a b", "deprecated": true, "readOnly": true, "default": "x"}),
    );
    check(
        "3.1.0",
        json!({"$id": "http://evil.example/x", "$schema": "http://evil.example/s", "$anchor": "a", "$comment": "c", "type": "string"}),
        json!({"type": "string"}),
    );
}

#[test]
fn types_are_inferred_where_only_one_can_be_meant() {
    check(
        "3.0.3",
        json!({"properties": {"a": {}}}),
        json!({"type": "object", "properties": {"a": {}}}),
    );
    check(
        "3.0.3",
        json!({"items": {"type": "string"}}),
        json!({"type": "array", "items": {"type": "string"}}),
    );
    check(
        "3.0.3",
        json!({"anyOf": [{"required": ["a"]}]}),
        json!({"anyOf": [{"required": ["a"]}]}),
    );
    check(
        "3.0.3",
        json!({"type": "string", "enum": [1, true, "a", "a"]}),
        json!({"type": "string", "enum": ["1", "true", "a"]}),
    );
    check(
        "3.0.3",
        json!({"type": "integer", "enum": ["1"]}),
        json!({"type": "integer", "enum": [1]}),
    );
    check(
        "3.1.0",
        json!({"contentMediaType": "image/png"}),
        json!({"contentMediaType": "image/png", "type": "string", "format": "binary"}),
    );
}

#[test]
fn what_a_validator_would_refuse_is_left_out() {
    check_problem(json!({"type": "strang"}), json!({}), "no type");
    check_problem(
        json!({"type": "string", "pattern": "("}),
        json!({"type": "string"}),
        "regular expression",
    );
    check_problem(json!({"type": "string", "minLength": -1}), json!({"type": "string"}), "minLength");
    check_problem(json!({"type": "object", "properties": 1}), json!({"type": "object"}), "properties");
    check_problem(
        json!({"type": "object", "properties": {"a": 1}}),
        json!({"type": "object", "properties": {"a": true}}),
        "no schema",
    );
    check_problem(json!({"enum": []}), json!({}), "enum");
}

#[test]
fn a_discriminator_is_kept_for_readers() {
    let schemas = json!({
        "X": {"oneOf": [{"$ref": "#/components/schemas/Cat"}], "discriminator": {"propertyName": "kind", "mapping": {"c": "Cat", "d": "#/components/schemas/Dog", "e": "Nope"}}},
        "Cat": {"type": "object"},
        "Dog": {"type": "object"},
    });
    let expected = json!({"propertyName": "kind", "mapping": {"c": "#/$defs/Cat", "d": "#/$defs/Dog"}});
    let document = document("3.0.3", schemas);
    assert_eq!(document.types["X"]["discriminator"], expected);
    assert!(document.types.contains_key("Dog"));
}

#[test]
fn references_lead_through_aliases_files_pointers_and_definitions() {
    let schemas = json!({
        "X": {"type": "object", "properties": {
            "alias": {"$ref": "#/components/schemas/Alias"},
            "deep": {"$ref": "#/components/schemas/Target/properties/a~1b"},
            "local": {"$ref": "#/$defs/inner"},
            "self": {"$ref": "#/components/schemas/X"},
            "both": {"$ref": "#/components/schemas/Target", "maxProperties": 1},
        }, "$defs": {"inner": {"type": "integer"}}},
        "Alias": {"$ref": "#/components/schemas/Target"},
        "Target": {"type": "object", "properties": {"a/b": {"type": "string"}}},
    });
    let document = document("3.1.0", schemas);
    assert_eq!(document.problems, []);
    let properties = &document.types["X"]["properties"];
    assert_eq!(properties["alias"], json!({"$ref": "#/$defs/Target"}));
    assert_eq!(properties["deep"], json!({"$ref": "#/$defs/TargetAB"}));
    assert_eq!(document.types["TargetAB"], json!({"type": "string"}));
    assert_eq!(properties["local"], json!({"$ref": "#/$defs/XInner"}));
    assert_eq!(properties["self"], json!({"$ref": "#/$defs/X"}));
    assert_eq!(properties["both"], json!({"$ref": "#/$defs/Target", "maxProperties": 1}));
}

#[test]
fn references_that_lead_nowhere_are_anything() {
    let schemas = json!({"X": {"type": "array", "items": {"$ref": "#/components/schemas/Nope"}}});
    let document = document("3.0.3", schemas);
    assert_eq!(document.types["X"], json!({"type": "array", "items": {}}));
    assert!(
        document.problems[0]
            .message
            .contains("`#/components/schemas/Nope` leads to nothing")
    );
}

#[test]
fn references_that_multiply_end() {
    // Each one leads through two more of the next: 2^40 in all.
    let mut schemas = serde_json::Map::new();
    schemas.insert(
        "X".to_owned(),
        json!({"type": "array", "items": {"$ref": "#/components/schemas/L0/p/p"}}),
    );
    for level in 0..40 {
        schemas.insert(
            format!("L{level}"),
            json!({"$ref": format!("#/components/schemas/L{}/p/p", level + 1)}),
        );
    }
    let mut end = json!({});
    for _ in 0..80 {
        end = json!({ "p": end });
    }
    schemas.insert("L40".to_owned(), end);
    let document = document("3.0.3", Value::Object(schemas));
    assert!(document.types.contains_key("X"));
}

#[test]
fn references_to_maps_of_properties_are_followed_and_end() {
    let schemas = json!({
        "X": {"type": "object", "properties": {"$ref": "#/components/schemas/Other/properties"}},
        "Other": {"type": "object", "properties": {"a": {"type": "string"}}},
    });
    let expected = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(document("3.0.3", schemas).types["X"], expected);
    let circle = json!({"X": {"type": "object", "properties": {"$ref": "#/components/schemas"}}});
    assert!(document("3.0.3", circle).problems[0].message.contains("properties are left out"));
}

#[test]
fn choices_beside_a_list_are_those_of_its_items() {
    let items = json!({"type": "string", "enum": ["a", "b"]});
    check(
        "3.0.3",
        json!({"type": "array", "enum": ["a", "b"], "items": {"type": "string"}}),
        json!({"type": "array", "items": items}),
    );
    let of_lists = json!({"type": "array", "enum": [["a"], []]});
    check("3.0.3", of_lists.clone(), of_lists);
}

#[test]
fn a_closed_object_admits_what_it_requires() {
    check(
        "3.0.3",
        json!({"type": "object", "required": ["a", "b"], "properties": {"a": {}}, "additionalProperties": false}),
        json!({"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": true}, "additionalProperties": false}),
    );
    let open = json!({"type": "object", "required": ["b"], "properties": {"a": {}}});
    check("3.0.3", open.clone(), open);
}
