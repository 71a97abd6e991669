//! What operations become.
#![expect(clippy::needless_pass_by_value, reason = "the values are written in place")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::function::{Advance, BodyFormat, EventItem, Function, HttpTarget, Location, OAuthPlaces, ParameterEncoding, Style};

/// Files of a document by name, and what was asked for.
#[derive(Default)]
struct Memory {
    files: BTreeMap<&'static str, &'static str>,
    asked: RefCell<Vec<Origin>>,
}

impl Load for Memory {
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError> {
        self.asked.borrow_mut().push(reference.clone());
        let name = match reference {
            Origin::File(path) => path.strip_prefix("/d").unwrap().to_str().unwrap().to_owned(),
            Origin::Url(url) => url.path().to_owned(),
        };
        self.files
            .get(name.as_str())
            .map(|text| text.as_bytes().to_vec())
            .ok_or_else(|| LoadError("not found".to_owned()))
    }
}

fn file() -> Origin {
    Origin::File("/d/openapi.yaml".into())
}

fn read_text(text: &str) -> Document {
    read(text.as_bytes(), &file(), &NoFurtherFiles).unwrap()
}

fn read_value(value: &Value) -> Document {
    read_text(&value.to_string())
}

/// A document of OpenAPI 3.1 with one operation.
fn one(operation: Value) -> Document {
    read_value(&json!({"openapi": "3.1.0", "paths": {"/a/{id}": {"post": operation}}}))
}

fn function(document: &Document) -> &Function {
    document.functions.first().unwrap_or_else(|| panic!("{:?}", document.skipped))
}

fn http(function: &Function) -> &HttpTarget {
    let Target::Http(http) = &function.target else {
        panic!("{function:?}")
    };
    http
}

#[test]
fn parameters_are_merged_synthesised_and_sorted() {
    let document = read_text(
        "
openapi: 3.0.3
paths:
  /a/{id}/{other}:
    parameters:
      - {name: q, in: query, schema: {type: string}}
      - {name: id, in: path, required: true, schema: {type: integer}, description: of the path}
    get:
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}, description: of the operation}
        - {name: gone, in: path, required: true, schema: {type: string}}
        - {name: Accept, in: header, schema: {type: string}}
        - {name: X-Must, in: header, required: true, schema: {type: string}}
        - {name: z, in: nowhere}
",
    );
    let function = function(&document);
    let names: Vec<_> = function
        .parameters
        .iter()
        .map(|it| (it.original.as_str(), it.is_required))
        .collect();
    assert_eq!(names, [("other", true), ("id", true), ("X-Must", true), ("q", false)]);
    assert_eq!(function.parameters[1].description, "of the operation");
    let problems: Vec<_> = document.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[test]
fn parameters_have_the_styles_of_their_places() {
    let check = |parameter: Value, expected: (Style, bool, bool)| {
        let document = one(json!({ "parameters": [parameter] }));
        let parameter = function(&document)
            .parameters
            .iter()
            .find(|it| it.original != "id")
            .unwrap_or(&function(&document).parameters[0])
            .clone();
        let (style, explode, allow_reserved) = expected;
        assert_eq!(
            parameter.encoding,
            ParameterEncoding::Style {
                style,
                explode,
                allow_reserved
            }
        );
    };
    check(json!({"name": "q", "in": "query"}), (Style::Form, true, false));
    check(
        json!({"name": "q", "in": "query", "explode": false, "allowReserved": true}),
        (Style::Form, false, true),
    );
    check(
        json!({"name": "q", "in": "query", "style": "pipeDelimited"}),
        (Style::PipeDelimited, false, false),
    );
    check(
        json!({"name": "q", "in": "query", "style": "deepObject", "explode": true}),
        (Style::DeepObject, true, false),
    );
    check(json!({"name": "q", "in": "header", "style": "form"}), (Style::Simple, false, false));
    check(json!({"name": "q", "in": "cookie"}), (Style::Form, true, false));
    check(
        json!({"name": "id", "in": "path", "style": "matrix", "explode": true}),
        (Style::Matrix, true, false),
    );
}

#[test]
fn parameters_of_one_name_have_keys_by_place() {
    let document = one(json!({
        "parameters": [{"name": "id", "in": "query"}, {"name": "body", "in": "query"}],
        "requestBody": {"content": {"application/json": {}}},
    }));
    let keys: Vec<_> = function(&document)
        .parameters
        .iter()
        .map(|it| (it.key.as_str(), it.python.as_str()))
        .collect();
    assert_eq!(keys, [("id", "id"), ("id (query)", "id_query"), ("body (query)", "body_query")]);
}

#[test]
fn a_parameter_with_content_is_sent_as_its_media_type() {
    let document =
        one(json!({"parameters": [{"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}]}));
    let parameter = &function(&document).parameters[1];
    assert_eq!(
        parameter.encoding,
        ParameterEncoding::Content {
            media_type: "application/json".to_owned()
        }
    );
    assert_eq!(parameter.schema, json!({"type": "object"}));
}

#[test]
fn a_parameter_that_is_a_credential_is_no_argument() {
    let document = read_value(&json!({
        "openapi": "3.0.3",
        "security": [{"key": []}, {}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}, "o": {"type": "oauth2"}, "m": {"type": "mutualTLS"},
            "shared": {"type": "http", "scheme": "SharedKey"}, "digest": {"type": "http", "scheme": "Digest"}}},
        "paths": {"/a": {
            "get": {"parameters": [{"name": "x-key", "in": "header", "required": true}, {"name": "X-Key", "in": "query"}]},
            "put": {"security": [], "parameters": [{"name": "X-Key", "in": "header"}]},
            "post": {"security": [{"o": ["chat:write", "a b", "chat:write", 7]}, {"o": ["other"], "key": []}], "parameters": [
                {"name": "token", "in": "header", "required": true, "description": "Authentication token. Requires scope: `chat:write`"},
                {"name": "token", "in": "query", "description": "the device's token"},
            ]},
        }},
    }));
    let originals = |function: &Function| {
        function
            .parameters
            .iter()
            .map(|it| (it.original.clone(), it.location))
            .collect::<Vec<_>>()
    };
    assert_eq!(originals(&document.functions[0]), [("X-Key".to_owned(), Location::Query)]);
    assert_eq!(originals(&document.functions[1]), [("X-Key".to_owned(), Location::Header)]);
    assert_eq!(originals(&document.functions[2]), [("token".to_owned(), Location::Query)]);
    assert_eq!(http(&document.functions[0]).security, [vec!["key".to_owned()], vec![]]);
    assert_eq!(http(&document.functions[1]).security, Vec::<Vec<String>>::new());
    assert!(http(&document.functions[0]).scopes.is_empty());
    assert_eq!(
        http(&document.functions[2]).scopes,
        [("o".to_owned(), vec!["chat:write".to_owned()])].into()
    );
    assert_eq!(document.security_schemes["o"], SecurityScheme::OAuth2(OAuthPlaces::default()));
    assert_eq!(document.security_schemes["m"], SecurityScheme::MutualTls);
    assert_eq!(document.security_schemes["shared"], SecurityScheme::Http("SharedKey".to_owned()));
    assert_eq!(document.security_schemes["digest"], SecurityScheme::Digest);
}

#[test]
fn the_places_of_logins_are_kept_as_the_document_has_them() {
    let flows = json!({
        "clientCredentials": {"tokenUrl": "/token", "scopes": {}},
        "authorizationCode": {"authorizationUrl": "https://a.example/login", "tokenUrl": "https://a.example/token", "scopes": {"b": "", "a": ""}},
        "deviceAuthorization": {"deviceAuthorizationUrl": "https://a.example/device", "tokenUrl": "x".repeat(3000), "scopes": {"c": ""}},
        "implicit": {"authorizationUrl": "https://a.example/login", "scopes": {}},
    });
    let scheme = |version: Value, schemes: Value| {
        let document = read_value(
            &json!({"openapi": version, "info": {"title": "t", "version": "1"}, "paths": {}, "components": {"securitySchemes": schemes}}),
        );
        document.security_schemes["s"].clone()
    };
    assert_eq!(
        scheme(json!("3.2.0"), json!({"s": {"type": "oauth2", "flows": flows}})),
        SecurityScheme::OAuth2(OAuthPlaces {
            client: Some("/token".to_owned()),
            code: Some(("https://a.example/login".to_owned(), "https://a.example/token".to_owned())),
            device: None,
            scopes: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        })
    );
    let swagger = json!({"s": {"type": "oauth2", "flow": "application", "tokenUrl": "https://a.example/token", "scopes": {"a": ""}}});
    let document =
        read_value(&json!({"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": {}, "securityDefinitions": swagger}));
    let SecurityScheme::OAuth2(places) = &document.security_schemes["s"] else {
        panic!()
    };
    assert_eq!(
        (places.client.as_deref(), places.code.as_ref()),
        (Some("https://a.example/token"), None)
    );
    let found = json!({"s": {"type": "openIdConnect", "openIdConnectUrl": "https://a.example/.well-known/openid-configuration"}});
    assert!(matches!(scheme(json!("3.1.0"), found), SecurityScheme::OpenIdConnect(url) if url.starts_with("https://a.example/")));
    let place = "https://a.example/.well-known/oauth-authorization-server";
    let found = json!({"s": {"type": "oauth2", "flows": {}, "oauth2MetadataUrl": place}});
    assert_eq!(scheme(json!("3.2.0"), found), SecurityScheme::OpenIdConnect(place.to_owned()));
    let flows = json!({"clientCredentials": {"tokenUrl": "/token", "scopes": {}}});
    let found = json!({"s": {"type": "oauth2", "flows": flows, "oauth2MetadataUrl": place}});
    assert!(matches!(scheme(json!("3.2.0"), found), SecurityScheme::OAuth2(_)));
}

#[test]
fn bodies_prefer_json_unless_a_file_is_required() {
    let check = |content: Value, expected: &[(&str, BodyFormat)]| {
        let document = one(json!({"requestBody": {"content": content}}));
        let body = function(&document).body.as_ref().unwrap();
        let variants: Vec<_> = body.variants.iter().map(|it| (it.media_type.as_str(), it.format)).collect();
        assert_eq!(variants, expected);
        assert!(!body.is_required);
    };
    let files = json!({"schema": {"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}, "required": ["f"]}});
    check(
        json!({"text/plain": {}, "multipart/form-data": {}, "application/x-www-form-urlencoded": {}, "application/vnd.a+json": {}}),
        &[
            ("application/vnd.a+json", BodyFormat::Json),
            ("application/x-www-form-urlencoded", BodyFormat::Form),
            ("multipart/form-data", BodyFormat::Multipart),
            ("text/plain", BodyFormat::Text),
        ],
    );
    check(
        json!({"application/json": {}, "multipart/form-data": files}),
        &[
            ("multipart/form-data", BodyFormat::Multipart),
            ("application/json", BodyFormat::Json),
        ],
    );
    check(
        json!({"*/*": {"schema": {"type": "string", "format": "binary"}}}),
        &[("application/octet-stream", BodyFormat::Binary)],
    );
    check(
        json!({"application/json": {"schema": {"type": "string", "format": "binary"}}}),
        &[("application/json", BodyFormat::Binary)],
    );
    check(
        json!({"application/pdf": {"schema": {"type": "object"}}}),
        &[("application/pdf", BodyFormat::Binary)],
    );
    check(
        json!({"application/vnd.own": {"schema": {"type": "object"}}}),
        &[("application/vnd.own", BodyFormat::Json)],
    );
    check(json!({"applicationjson;v=1": {}}), &[("application/json", BodyFormat::Json)]);
}

#[test]
fn forms_are_objects_and_texts_of_own_types_are_sent_as_they_stand() {
    let variant = |media_type: &str, schema: Value| {
        let document = one(json!({"requestBody": {"content": {media_type: {"schema": schema}}}}));
        let variant = &function(&document).body.as_ref().unwrap().variants[0];
        (variant.format, variant.schema.clone())
    };
    let file = json!({"type": "string", "format": "binary"});
    for media_type in ["multipart/form-data", "application/x-www-form-urlencoded"] {
        assert_eq!(
            variant(media_type, file.clone()).1,
            json!({"type": "object", "additionalProperties": file})
        );
        assert_eq!(variant(media_type, json!({})).1, json!({"type": "object"}));
    }
    let odd = json!({"type": "string", "properties": {"file": {"type": "string"}}});
    assert_eq!(variant("plain/text", odd).0, BodyFormat::Binary);
}

#[test]
fn results_join_all_successes() {
    let check = |responses: Value, expected: Option<Value>| {
        let document = one(json!({ "responses": responses }));
        assert_eq!(function(&document).result, expected);
    };
    let json_of = |schema: Value| json!({"description": "d", "content": {"application/json": {"schema": schema}}});
    check(json!({"200": json_of(json!({"type": "string"}))}), Some(json!({"type": "string"})));
    check(
        json!({"200": json_of(json!({"type": "string"})), "204": {}, "404": json_of(json!({"type": "integer"}))}),
        Some(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
    );
    check(
        json!({"2xx": json_of(json!({"type": "string"})), "default": json_of(json!({}))}),
        Some(json!({"type": "string"})),
    );
    check(
        json!({"default": json_of(json!({"type": "string"}))}),
        Some(json!({"type": "string"})),
    );
    check(json!({"200": {"content": {"text/csv": {}}}}), Some(json!({"type": "string"})));
    check(
        json!({"200": {"content": {"image/png": {}}}}),
        Some(json!({"type": "string", "format": "binary"})),
    );
    check(json!({"200": {"description": "ok"}}), None);
}

#[test]
fn answers_are_asked_for_with_json_first() {
    let document = one(json!({"responses": {
        "200": {"content": {"application/pdf": {}, "application/json": {}}},
        "404": {"description": "not there", "content": {"application/problem+json": {}}},
    }}));
    assert_eq!(
        http(function(&document)).accepts,
        ["application/json", "application/pdf", "application/problem+json"]
    );
    assert_eq!(
        function(&document).errors,
        BTreeMap::from([("404".to_owned(), "not there".to_owned())])
    );
}

#[test]
fn streamed_answers_are_lists_of_items() {
    let check = |content: Value, result: Value, item: EventItem| {
        let document = one(json!({"responses": {"200": {"content": content}}}));
        assert_eq!(function(&document).result, Some(result), "{content}");
        assert_eq!(http(function(&document)).event_item, item, "{content}");
    };
    let number = json!({"type": "integer"});
    let list = |items: Value| json!({"type": "array", "items": items});
    for kind in [
        "application/x-ndjson",
        "application/jsonl",
        "application/json-seq",
        "application/stream+json; a=b",
    ] {
        check(json!({kind: {"itemSchema": number}}), list(number.clone()), EventItem::Untold);
    }
    let events = "text/event-stream";
    check(json!({events: {}}), list(json!(true)), EventItem::Untold);
    check(
        json!({events: {"schema": {"type": "string"}}}),
        list(json!(true)),
        EventItem::Untold,
    );
    check(json!({events: {"schema": number}}), list(number.clone()), EventItem::Data);
    check(
        json!({events: {"schema": number}, "application/json": {"schema": {"type": "string"}}}),
        json!({"anyOf": [{"type": "string"}, list(number.clone())]}),
        EventItem::Data,
    );
    let event = |data: Value| json!({"type": "object", "properties": {"event": {"type": "string"}, "data": data}});
    let text = json!({"type": "string"});
    check(
        json!({events: {"itemSchema": event(text.clone())}}),
        list(event(text)),
        EventItem::EventWithText,
    );
    let encoded = json!({"type": "string", "contentMediaType": "application/json", "contentSchema": number});
    check(
        json!({events: {"itemSchema": event(encoded.clone())}}),
        list(event(number.clone())),
        EventItem::Event,
    );
    check(
        json!({events: {"itemSchema": {"oneOf": [event(encoded)]}}}),
        list(json!({"oneOf": [event(number)]})),
        EventItem::Event,
    );
}

#[test]
fn the_address_of_the_next_page_is_where_the_document_says() {
    let check = |pageable: Value, expected: Option<(&str, &str)>| {
        let document = one(json!({"x-ms-pageable": pageable, "responses": {}}));
        let found = function(&document).pagination.clone();
        let found = found.map(|pagination| (pagination.advance, pagination.items));
        let expected = expected.map(|(next, items)| {
            let next = vec![next.to_owned()];
            (Advance::Cursor { parameter: None, next }, Some(vec![items.to_owned()]))
        });
        assert_eq!(found, expected, "{pageable}");
    };
    check(
        json!({"nextLinkName": "odata.nextLink", "itemName": "values"}),
        Some(("odata.nextLink", "values")),
    );
    check(json!({"nextLinkName": "nextLink"}), Some(("nextLink", "value")));
    check(json!({"nextLinkName": null}), None);
}

#[test]
fn functions_at_other_hosts_than_the_first_server_are_marked() {
    let check = |servers: Value, expected: [bool; 3]| {
        let own = |url: &str| json!({"get": {"servers": [{"url": url}]}});
        let paths = json!({"/a": own("https://x.example/v2"), "/b": own("https://y.example"), "/c": own("https://x.example:8443")});
        let document = json!({"openapi": "3.0.3", "paths": paths, "servers": servers});
        let document = read(document.to_string().as_bytes(), &file(), &NoFurtherFiles).unwrap();
        let found: Vec<_> = document.functions.iter().map(|function| http(function).is_elsewhere).collect();
        assert_eq!(found, expected, "{servers}");
    };
    check(
        json!([{"url": "https://x.example/v1"}, {"url": "https://y.example"}]),
        [false, true, true],
    );
    check(json!([]), [false, true, true]);
    check(json!([{"url": "https://z.example"}]), [true, true, true]);
}

#[test]
fn base_urls_come_from_the_nearest_servers() {
    let check = |servers: Value, origin: &Origin, expected: Option<&str>| {
        let document = json!({"openapi": "3.0.3", "paths": {"/a": {"get": {}}}, "servers": servers});
        let document = read(document.to_string().as_bytes(), origin, &NoFurtherFiles).unwrap();
        assert_eq!(http(function(&document)).base_url.as_deref(), expected);
        assert_eq!(document.needs_base_url(), expected.is_none());
    };
    let url = Origin::Url(Url::parse("https://h.example/specs/v1/openapi.json").unwrap());
    check(
        json!([{"url": "https://{h}/v1/", "variables": {"h": {"default": "x.example"}}}]),
        &file(),
        Some("https://x.example/v1"),
    );
    check(json!([{"url": "https://{h}/"}]), &file(), None);
    check(json!([{"url": "/api"}]), &file(), None);
    check(json!([{"url": "../api"}]), &url, Some("https://h.example/specs/api"));
    check(json!([]), &url, Some("https://h.example"));
    check(json!([{"url": "file:///etc"}]), &url, None);
    check(
        json!([{"url": "https://u:p@x.example/a?b#c"}]),
        &file(),
        Some("https://x.example/a"),
    );
}

#[test]
fn swagger_says_things_in_its_own_way() {
    let document = read_text(
        "
swagger: '2.0'
host: h.example
basePath: /v1/
schemes: [http, https]
consumes: [application/xml, application/json]
paths:
  /a:
    post:
      parameters:
        - {name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}
        - {name: tags, in: query, type: array, items: {type: string}, collectionFormat: pipes}
      responses: {200: {description: ok, schema: {type: file}}}
    put:
      consumes: []
      parameters:
        - {name: f, in: formData, type: file, required: true}
        - {name: t, in: formData, type: array, items: {type: string}, collectionFormat: multi}
definitions:
  Pet: {type: object, properties: {id: {type: integer, exclusiveMinimum: true, minimum: 0}}}
",
    );
    let [post, put] = document.functions.as_slice() else {
        panic!("{:?}", document.skipped)
    };
    assert_eq!(http(post).base_url.as_deref(), Some("https://h.example/v1"));
    assert_eq!(
        post.parameters[0].encoding,
        ParameterEncoding::Style {
            style: Style::PipeDelimited,
            explode: false,
            allow_reserved: false
        }
    );
    let body = post.body.as_ref().unwrap();
    assert_eq!(
        body.variants.iter().map(|it| it.format).collect::<Vec<_>>(),
        [BodyFormat::Json, BodyFormat::Text]
    );
    assert!(body.is_required);
    assert_eq!(post.result, Some(json!({"type": "string", "format": "binary"})));
    assert_eq!(
        document.types["Pet"]["properties"]["id"],
        json!({"type": "integer", "exclusiveMinimum": 0})
    );
    let form = put.body.as_ref().unwrap();
    assert_eq!(form.variants[0].format, BodyFormat::Multipart);
    assert_eq!(form.variants[0].schema["required"], json!(["f"]));
    assert_eq!(form.variants[0].encoding["t"].explode, Some(true));
}

#[test]
fn operations_that_cannot_be_known_are_skipped_and_the_rest_lives() {
    let document = read_value(&json!({"openapi": "3.2.0", "paths": {
        "/a": {"get": {"parameters": [{"$ref": "#/nope"}]}, "put": 1, "post": {"requestBody": {"$ref": "#/nope"}}, "query": {}},
        "/b": {"additionalOperations": {"BAD METHOD": {}, "COPY": {}}},
        "x-c": {"get": {}},
    }}));
    let skipped: Vec<_> = document
        .skipped
        .iter()
        .map(|it| (it.operation.as_str(), it.pointer.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            ("GET /a", "/paths/~1a/get"),
            ("PUT /a", "/paths/~1a/put"),
            ("POST /a", "/paths/~1a/post"),
            ("BAD METHOD /b", "/paths/~1b/additionalOperations/BAD METHOD")
        ]
    );
    let functions: Vec<_> = document.functions.iter().map(|it| it.operation.as_str()).collect();
    assert_eq!(functions, ["QUERY /a", "COPY /b"]);
    assert_eq!(document.operations, 6);
}

#[test]
fn further_files_are_read_once_and_only_below_the_document() {
    let text = "
openapi: 3.0.3
paths:
  /a:
    get: {parameters: [{$ref: 'p/params.yaml#/id'}, {$ref: './p/params.yaml#/q'}]}
    put: {parameters: [{$ref: '../secret.yaml#/x'}]}
  /b:
    $ref: p/b.yaml
";
    let params = "id: {name: id, in: query, schema: {$ref: 'types.yaml#/Id'}}\nq: {name: q, in: query, schema: {$ref: '../openapi.yaml#/paths/~1a'}}";
    let memory = Memory {
        files: BTreeMap::from([
            ("p/params.yaml", params),
            ("p/types.yaml", "Id: {type: integer}"),
            ("p/b.yaml", "get: {}"),
        ]),
        ..Memory::default()
    };
    let document = read(text.as_bytes(), &file(), &memory).unwrap();
    assert_eq!(document.functions.len(), 2, "{:?}", document.skipped);
    assert_eq!(document.functions[0].parameters[0].schema, json!({"$ref": "#/$defs/Id"}));
    assert!(
        document.skipped[0].reason.contains("`../secret.yaml#/x` is not followed"),
        "{:?}",
        document.skipped
    );
    assert_eq!(memory.asked.borrow().len(), 3);
    assert_eq!(document.files.len(), 3);
    assert_eq!(document.files[1].sha256.len(), 64);
}

#[test]
fn an_operation_more_renames_no_other() {
    let with = |paths: Value| read_value(&json!({ "openapi": "3.0.3", "paths": paths }));
    let get = |id: &str| json!({"get": {"operationId": id}});
    let before = with(json!({"/b": get("list"), "/c": get("list")}));
    let after = with(json!({"/z": get("list"), "/b": get("list"), "/c": get("list"), "/d": get("other")}));
    for function in &before.functions {
        let same = after.functions.iter().find(|it| it.operation == function.operation).unwrap();
        assert_eq!((&same.python, &same.typescript), (&function.python, &function.typescript));
    }
}

#[test]
fn a_small_document_that_becomes_a_large_one_ends() {
    let many: Vec<Value> = (0..900)
        .map(|n| json!({"name": format!("p{n}"), "in": "query", "schema": {"type": "string", "enum": ["a", "b", "c"]}}))
        .collect();
    let paths: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| (format!("/{n}"), json!({"$ref": "#/components/pathItems/a"})))
        .collect();
    let document =
        read_value(&json!({"openapi": "3.1.0", "paths": paths, "components": {"pathItems": {"a": {"parameters": many, "get": {}}}}}));
    assert_eq!(document.operations, 20_000);
    assert!(document.skipped.last().unwrap().reason.contains("too large"));
}

#[test]
fn documents_that_are_none_are_refused_with_the_place() {
    let check = |bytes: &[u8], message: &str| {
        let error = read(bytes, &file(), &NoFurtherFiles).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    check(b"", "empty");
    check(b"# nothing\n", "empty");
    check(b"{\"openapi\": \"3.0.0\",, }", "JSON");
    check(b"openapi: 3.0.0\na:\n\tb: 1\n", "line 3");
    check(b"openapi: 9.1\n", "9.1");
    check(b"a: 1\n", "neither `openapi` nor `swagger`");
    check(b"- 1\n", "top level");
    check(b"abc\n\xe4\n", "line 2");
    check(b"<!DOCTYPE html><html><body>Not found</body></html>", "a web page");
    check(b"\x1f\x8b\x08\x00", "compressed (gzip)");
    check(b"PK\x03\x04abc", "compressed (zip)");
    check(b"\xff\xfe\x00\x00{\x00\x00\x00", "UTF-8 or UTF-16");
    check(b"{\x00\x00\x00}\x00\x00\x00", "UTF-8 or UTF-16");
    check(b"{\"swaggerVersion\": \"1.2\"}", "`1.2` is not a version");
    check(b"asyncapi: 2.6.0\ninfo: {}\n", "it is an AsyncAPI document");
    check(b"{\"info\": {}, \"item\": []}", "it is a Postman collection");
    check(
        b"openapi: 3.0.0\npaths: {}\n---\nopenapi: 3.0.0\n",
        "a second YAML document begins here, and only one is read (line 4",
    );
    check(b"openapi: 3.0.0\nx: *gone\n", "line 2");
    check(b"openapi: 3.0.0\nx: &a [*a]\n", "deep");
    check(b"openapi: 3.0.0\nx: \x00\n", "line 2");
    check(b"openapi: 3.0.0\npaths:\n  /a: {<<: 5}\n", "line 3");
    check(b"{\"openapi\": \"3.0.0\",\n \"x\": \"\\ud800\"}", "line 2");
    check(b"{\"openapi\": \"3.0.0\"}\n}", "line 2");
    check("[".repeat(100_000).as_bytes(), "deep");
    check(format!("{{\"a\": {}", "[".repeat(100_000)).as_bytes(), "deep");
    check((0..2_000).map(|n| " ".repeat(n) + "a:\n").collect::<String>().as_bytes(), "deep");
}

#[test]
fn documents_are_read_in_each_encoding() {
    let text = "{\"openapi\": \"3.0.3\", \"info\": {\"title\": \"größe\"}, \"paths\": {}}";
    let utf16 = |to: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to).collect::<Vec<u8>>();
    let with_mark = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
    for bytes in [
        text.as_bytes().to_vec(),
        with_mark(b"\xEF\xBB\xBF", text.as_bytes().to_vec()),
        with_mark(b"\xFF\xFE", utf16(u16::to_le_bytes)),
        with_mark(b"\xFE\xFF", utf16(u16::to_be_bytes)),
        utf16(u16::to_le_bytes),
    ] {
        assert_eq!(read(&bytes, &file(), &NoFurtherFiles).unwrap().title, "größe");
    }
}

#[test]
fn yaml_is_read_as_version_1_2() {
    let document = read_text(
        "openapi: 3.0\ninfo: {title: NO}\npaths:\n  /a:\n    get:\n      tags: [on, 0755, 1_000, ~, 12:30]\n      responses: {200: {description: yes}}\n",
    );
    assert_eq!(document.title, "NO");
    assert_eq!(function(&document).tags, ["on", "0755", "1_000", "12:30"]);
}

#[test]
fn repeated_keys_are_told() {
    for text in [
        "{\"openapi\": \"3.0.3\", \"paths\": {}, \"paths\": {\"/a\": {\"get\": {}}}}",
        "openapi: 3.0.3\npaths: {}\npaths: {/a: {get: {}}}\n",
    ] {
        let document = read_text(text);
        assert_eq!(document.operations, 1);
        assert!(
            document.problems[0].message.contains("duplicate key `paths`"),
            "{:?}",
            document.problems
        );
    }
}
