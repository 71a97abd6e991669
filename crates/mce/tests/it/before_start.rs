//! Arguments that a program writes out are held against their schemas before it starts: nothing has happened then. What is not
//! known is never found wrong.

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::Project;

const VERSION: &str = "2025-11-25";

fn document() -> Value {
    let answer = json!({"200": {"description": "as asked"}});
    let line = json!({"type": "object", "required": ["sku"], "additionalProperties": false,
        "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}});
    let shapes: Vec<Value> = [("circle", "radius"), ("square", "side")]
        .into_iter()
        .map(|(kind, size)| json!({"type": "object", "required": ["kind", size], "properties": {"kind": {"const": kind}, size: {"type": "number"}}}))
        .collect();
    let order = json!({"type": "object", "required": ["lines"], "additionalProperties": false,
        "properties": {
            "lines": {"type": "array", "minItems": 1, "items": line},
            "ship_to": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "country": {"enum": ["NO", "SE"]}}},
            "shape": {"oneOf": shapes},
            "gift": {"type": "boolean"},
        },
        "if": {"required": ["gift"], "properties": {"gift": {"const": true}}}, "then": {"required": ["ship_to"]}});
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": {
            "/orders": {
                "get": {"operationId": "listOrders", "responses": answer, "parameters": [
                    {"name": "per_page", "in": "query", "schema": {"type": "integer", "maximum": 100}},
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}]},
                "post": {"operationId": "createOrder", "responses": answer,
                    "requestBody": {"required": true, "content": {"application/json": {"schema": order}}}},
            },
            "/orders/{id}": {"patch": {"operationId": "changeOrder", "responses": answer,
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/merge-patch+json": {"schema": order}}}}},
            "/files": {"post": {"operationId": "addFile", "responses": answer, "requestBody": {"content": {
                "application/json": {"schema": {"type": "object", "required": ["url"]}},
                "multipart/form-data": {"schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}}}}}},
        },
    })
}

fn shop() -> (FakeApi, Project) {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("shop.json", &document().to_string());
    let compiled = project.run(&["compile"]);
    assert_eq!(compiled.code, 0, "{compiled:?}");
    (api, project)
}

/// All findings of programs that must not have done anything.
fn findings(client: &mut Client, api: &FakeApi, language: &str, code: &str) -> Vec<(u64, String)> {
    let before = api.requests().len();
    let arguments = json!({"code": code, "language": language, "description": "a program with faults"});
    let (answer, _) = client.call("execute_code", arguments);
    assert_eq!(api.requests().len(), before, "{code}\n{answer}");
    let error = &answer["error"];
    let also = error["also"].as_array().cloned().unwrap_or_default();
    [error.clone()]
        .iter()
        .chain(&also)
        .map(|found| {
            let message = found["message"].as_str().unwrap_or_else(|| panic!("{code}\n{answer}")).to_owned();
            (found["line"].as_u64().unwrap_or_default(), message)
        })
        .collect()
}

#[test]
fn what_is_wrong_within_arguments_is_found_before_anything_is_sent() {
    let (api, project) = shop();
    let (mut client, _) = Client::initialize(&project, VERSION);
    let cases = [
        (
            r#"{"lines": [{"sku": "A", "cuont": 1}]}"#,
            "`body.lines[0]`: `cuont` is not allowed",
        ),
        (
            r#"{"lines": [{"sku": "A", "count": 0}]}"#,
            "`body.lines[0].count`: `0` is less than 1",
        ),
        (r#"{"lines": []}"#, "`body.lines`: fewer than 1 items"),
        ("{}", "`body`: member `lines` is missing"),
        (
            r#"{"lines": [{"sku": "A"}], "ship_to": {"country": "DK"}}"#,
            "`body.ship_to`: member `city` is missing",
        ),
        (
            r#"{"lines": [{"sku": X}], "ship_to": {"city": X, "country": "DK"}}"#,
            "`body.ship_to.country`: `DK` is not one of",
        ),
        (
            r#"{"lines": X, "shape": {"kind": "cirle", "radius": 2}}"#,
            "`body.shape`: fits none of 2 alternatives",
        ),
        (r#"{"lines": "A"}"#, "`body.lines`: expected array, got the string"),
    ];
    for (body, wanted) in cases {
        let python = format!(
            "from shop.functions import create_order\nX = input\ncreate_order(\n  body={})",
            body.replace('X', "str(X)")
        );
        let typescript = format!("const X: any = Math.random();\nawait shop.createOrder({{ body: {body} }})");
        for (language, code, line) in [("python", python, 3), ("typescript", typescript, 2)] {
            let found = findings(&mut client, &api, language, &code);
            assert!(found[0].0 == line && found[0].1.contains(wanted), "{code}\n{found:?}");
        }
    }
    let python =
        "from shop.functions import list_orders, create_order\nlist_orders(per_page=1000, tags=[1])\ncreate_order(body={'line': []})";
    let typescript = "await shop.listOrders({ perPage: 1000, tags: [1] });\nawait shop.createOrder({ body: { line: [] } })";
    for (language, code, first) in [("python", python, 2), ("typescript", typescript, 1)] {
        let mut found = findings(&mut client, &api, language, code);
        found.sort();
        assert_eq!(
            found.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
            [first, first, first + 1],
            "{found:?}"
        );
        assert!(
            found[0].1.contains("`1000` is greater than 100") && found[1].1.contains("[0]`: expected string"),
            "{found:?}"
        );
        assert!(
            found[2].1.contains("`line` is not allowed") && found[2].1.contains("`lines` is missing"),
            "{found:?}"
        );
    }
    // A function that was taken out of its server, or that stands for all of them.
    let star = findings(
        &mut client,
        &api,
        "python",
        "from shop.functions import *\nlist_orders(per_page='x')",
    );
    assert_eq!(star[0].0, 2, "{star:?}");
    for code in [
        "const { listOrders: all } = shop;\nawait all({ perPage: 1000 })",
        "//\nawait shop['listOrders']({ perPage: 1000 })",
    ] {
        let found = findings(&mut client, &api, "typescript", code);
        assert_eq!(found[0].0, 2, "{code}\n{found:?}");
    }
}

#[test]
fn what_is_not_known_is_not_found_wrong() {
    let (api, project) = shop();
    let (mut client, _) = Client::initialize(&project, VERSION);
    let python = "
from shop.functions import create_order, change_order, add_file, list_orders
unknown = {'lines': [{'sku': 'A'}], 'gift': False}
create_order(body={**unknown})
create_order(body={'line': 1, **unknown} if False else unknown)
create_order(body={'lines': [*unknown['lines']]})
create_order(body={'lines': [{'sku': str(1), 'count': int('2')}], 'gift': bool(0)})
create_order(body={'lines': unknown['lines'], 'shape': {'kind': str('circle'), 'radius': 2}})
create_order(body={'lines': unknown['lines'], 'ship_to': dict(city='Oslo')})
create_order(body={'lines': ({'sku': 'A'},)})
body = {'lines': []}
body['lines'].append({'sku': 'A'})
create_order(body=body)
change_order('1', body={'lines': [{'sku': 'A'}], 'ship_to': None})
add_file(body={'file': {'base64': 'AAAA'}})
list_orders(per_page=None, tags=[f'{unknown}'])
many = 1000
globals()['many'] = 10
list_orders(per_page=many)
result = 'done'
";
    let typescript = "
const unknown: any = { lines: [{ sku: 'A' }], gift: false };
const create = shop.createOrder;
await shop.createOrder({ body: { ...unknown } });
await shop.createOrder({ body: { lines: [...unknown.lines] } });
await shop.createOrder({ body: { lines: [{ sku: String(1), count: Number('2') }], gift: Boolean(0) } });
await create({ body: { lines: unknown.lines, shape: { kind: String('circle'), radius: 2 } } });
await shop.createOrder({ body: { lines: unknown.lines, shipTo: undefined, gift: undefined } });
const body: any = { lines: [] };
body.lines.push({ sku: 'A' });
await shop.createOrder({ body });
await shop.changeOrder({ id: '1', body: { lines: [{ sku: 'A' }], ship_to: null } });
await shop.addFile({ body: { file: { base64: 'AAAA' } } });
await shop.listOrders({ perPage: undefined, tags: [`${unknown}`] });
export default 'done';
";
    for (language, code) in [("python", python), ("typescript", typescript)] {
        let before = api.requests().len();
        let (answer, _) = client.call(
            "execute_code",
            json!({"code": code, "language": language, "description": "a program without faults"}),
        );
        assert_eq!(answer["data"], json!("done"), "{language}: {answer}");
        assert!(api.requests().len() >= before + 9);
    }
}

#[test]
fn a_call_of_which_very_much_is_not_known_is_left_to_itself() {
    let (api, project) = shop();
    let (mut client, _) = Client::initialize(&project, VERSION);
    for (unknown, sent) in [(300, 0), (301, 1)] {
        api.take_requests();
        let items = "dict(sku='A'), ".repeat(unknown);
        let answer = client.run(&format!(
            "from shop.functions import create_order, list_orders\nlist_orders()\ncreate_order(body={{'line': 1, 'lines': [{items}]}})"
        ));
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("`line` is not allowed"),
            "{answer}"
        );
        assert_eq!(api.take_requests().len(), sent, "{unknown} parts are not known");
    }
}

#[test]
fn an_input_that_replaces_what_is_written_is_not_read_as_written() {
    let (_api, project) = shop();
    let (mut client, _) = Client::initialize(&project, VERSION);
    let code = "from shop.functions import create_order\norder = {'lines': [{'sku': 'A'}]}\ncreate_order(body=order)\nresult = 'done'";
    let answer = client.run(code);
    let arguments = json!({"cache_id": answer["cache_id"], "params": {"order": {"lines": []}}});
    let (answer, _) = client.call("run_cached_code", arguments);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("fewer than 1 items"),
        "{answer}"
    );
    let code = "from shop.functions import create_order\norder = {'lines': []}\ncreate_order(body=order)\nresult = 'done'";
    project.write("order.py", code);
    let ended = project.run(&["exec", "order.py", "--param", r#"order={"lines": [{"sku": "A"}]}"#, "--json"]);
    assert_eq!(ended.json()["data"], json!("done"), "{ended:?}");
}
