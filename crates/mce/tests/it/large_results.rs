//! Values that are too large for an answer, in both languages: handles, resources, other notations, logs.

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::Project;
use crate::serve::tokens;

const PROGRAMS: [(&str, &str); 2] = [
    (
        "python",
        "print('\\n'.join(f'line {n}' for n in range(3000)))\nresult = {'total': 500, 'items': [{'id': n, 'name': f'item {n}'} for n in range(500)], 'big': 2**70}",
    ),
    (
        "typescript",
        "console.log(Array.from({ length: 3000 }, (_, n) => `line ${n}`).join('\\n'));\n\
         export default { total: 500, items: Array.from({ length: 500 }, (_, n) => ({ id: n, name: `item ${n}` })), big: 2n ** 70n };",
    ),
];

#[expect(clippy::needless_pass_by_value, reason = "so that tests can write `json!` in place")]
fn run(client: &mut Client, language: &str, code: &str, more: Value) -> Value {
    let mut arguments = json!({"code": code, "description": "large", "language": language});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call("execute_code", arguments).0
}

#[test]
fn a_large_value_becomes_a_handle_that_is_loaded_and_read_in_parts() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    for (language, code) in PROGRAMS {
        let answer = run(&mut client, language, code, json!({}));
        assert!(answer.get("data").is_none() && answer["success"] == true, "{answer}");
        let handle = &answer["handle"];
        assert_eq!(handle["counts"], json!({"/items": 500}));
        assert_eq!(
            handle["shape"],
            "{total: integer, items: [{id: integer, name: string}], big: number}"
        );
        assert_eq!(handle["preview"]["items"].as_array().unwrap().last().unwrap()["id"], 499);
        assert!(
            handle["preview"]["big"].is_string() && handle["bytes"].as_u64().unwrap() > 10_000,
            "{handle}"
        );
        assert!(handle.to_string().len() < 2500, "{handle}");
        let logs = answer["logs"].as_str().unwrap();
        assert!(
            logs.len() < 9000
                && logs.starts_with("line 0\n")
                && logs.contains("bytes of logs are left out")
                && logs.trim_end().ends_with("line 2999")
        );

        let id = handle["id"].as_str().unwrap();
        // What the handle says is a program as it stands.
        let code = handle["code"].as_str().unwrap();
        assert!(code.contains(id) && tokens(code) <= 50, "{code}");
        let last = match language {
            "python" => "result = [len(value['items']), str(value['big'])]",
            _ => "export default [value.items.length, String(value.big)];",
        };
        let loaded = run(&mut client, language, &format!("{code}\n{last}"), json!({}));
        assert_eq!(loaded["data"], json!([500, "1180591620717411303424"]), "{loaded}");
        let mut read = |query: &str| {
            let uri = format!("{}{query}", handle["resource"].as_str().unwrap());
            client.request("resources/read", json!({"uri": uri}))
        };
        let part = read("?path=/items&from=498")["contents"][0]["text"].clone();
        assert_eq!(
            part,
            json!([{"id": 498, "name": "item 498"}, {"id": 499, "name": "item 499"}]).to_string()
        );
        assert!(read("")["contents"][0]["text"].as_str().unwrap().contains("1180591620717411303424"));
        assert!(
            read("?path=/nope")["message"]
                .as_str()
                .unwrap()
                .contains("there is nothing at `nope`")
        );
    }
    let unknown = client.request("resources/read", json!({"uri": "mce://results/r_0"}));
    assert!(unknown["message"].as_str().unwrap().contains("has expired"), "{unknown}");
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "mce://results/{id}{?path,from,count}"
    );
}

#[test]
fn the_limit_can_be_set_for_a_call_and_is_checked() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    for (language, code) in PROGRAMS {
        let whole = run(&mut client, language, code, json!({"max_result_bytes": 100_000}));
        assert_eq!(whole["data"]["items"].as_array().unwrap().len(), 500);
    }
    let small = run(&mut client, "python", "result = 'x' * 300", json!({"max_result_bytes": 256}));
    assert_eq!(small["handle"]["bytes"], 302, "{small}");
    let wrong = run(&mut client, "python", "result = 1", json!({"max_result_bytes": 5}));
    assert!(wrong.to_string().contains("`max_result_bytes` is 256 to 1048576, not 5"), "{wrong}");
    let cached = small["cache_id"].clone();
    let again = client
        .call("run_cached_code", json!({"cache_id": cached, "max_result_bytes": 1000}))
        .0;
    assert_eq!(again["data"], "x".repeat(300));
}

#[test]
fn uniform_lists_name_their_fields_once_where_that_is_wanted() {
    let project = Project::shop(&FakeApi::start()).with("MCE_RESULT_FORMAT", "auto");
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    for (language, code) in [
        ("python", "result = [{'id': n, 'name': 'a'} for n in range(20)]"),
        (
            "typescript",
            "export default Array.from({ length: 20 }, (_, id) => ({ id, name: 'a' }))",
        ),
    ] {
        let arguments = json!({"code": code, "description": "uniform", "language": language});
        let answer = client.request("tools/call", json!({"name": "execute_code", "arguments": arguments}));
        let blocks = answer["content"].as_array().unwrap();
        let told: Value = serde_json::from_str(blocks[0]["text"].as_str().unwrap()).unwrap();
        assert!(told["format"] == "toon" && told.get("data").is_none(), "{told}");
        assert!(blocks[1]["text"].as_str().unwrap().starts_with("[20]{id,name}:\n"), "{answer}");
    }
    assert_eq!(client.run("result = {'a': 1}")["data"], json!({"a": 1}));
}
