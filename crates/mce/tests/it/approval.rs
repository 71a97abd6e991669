//! Calls that a person has to allow: in the client of either era, or later by a command.

use std::collections::BTreeSet;
use std::time::Duration;

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::person::{ERAS, Person};
use crate::policy::project;
use crate::project::Project;

const DELETE: &str = "from shop.functions import delete_item\nresult = delete_item(id='7')";

fn deletes(api: &FakeApi) -> usize {
    api.requests().iter().filter(|request| request.method == "DELETE").count()
}

fn api() -> FakeApi {
    let api = FakeApi::start();
    api.answer_with(|request| match request.method.as_str() {
        "DELETE" => FakeAnswer::empty(204),
        _ => FakeAnswer::json(200, "{}"),
    });
    api
}

#[tokio::test]
async fn a_person_is_asked_in_the_client_with_what_is_really_called() {
    let api = api();
    let project = project(&api, "");
    for era in ERAS {
        let client = Person::able().deciding("allow once").connect(&project, era).await;
        let before = deletes(&api);
        let answer = client.run("python", DELETE).await;
        assert_eq!(answer["success"], true, "{era:?} {answer}");
        let asked = client.asked();
        let asked: Vec<_> = asked.iter().filter(|asked| *asked != "roots").collect();
        let message = asked[0]["message"].as_str().unwrap();
        for part in [
            "server: shop",
            "function: shop.delete_item (destructive)",
            "operation: DELETE /items/{id}",
            &format!("\nhost: {}\n", api.origin().replace("http://", "")),
            r#"arguments: {"id":"7"}"#,
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains(&api.origin()) && !message.contains("shop-token"), "{message}");
        // Once is once.
        let code = "import { time_ } from 'mce:servers';\nexport default await time_.dropAll({ name: 'a\\nserver: safe' });";
        client.run("typescript", code).await;
        client.run("python", DELETE).await;
        let asked = client.asked();
        assert_eq!(asked.len(), 2, "{era:?} {asked:?}");
        assert!(!asked[0]["message"].as_str().unwrap().contains("\nserver: safe"), "{asked:?}");
        assert_eq!(deletes(&api), before + 2);
        let denying = Person::able().deciding("deny").connect(&project, era).await;
        let answer = denying.run("python", DELETE).await;
        assert_eq!(
            (&answer["error"]["type"], deletes(&api)),
            (&json!("policy"), before + 2),
            "{answer}"
        );
        // Another form is no yes.
        let other = Person::able().connect(&project, era).await;
        assert_eq!(other.run("python", DELETE).await["error"]["type"], "policy");
        assert_eq!(deletes(&api), before + 2);
    }
}

#[tokio::test]
async fn parallel_calls_ask_once_each_and_others_go_on_while_the_clock_stands_still() {
    let api = api();
    let project = project(&api, "").with("MCE_EXECUTION_TIMEOUT_SECONDS", "2");
    let code = "import asyncio\nfrom shop.aio import delete_item, get_item\n\nasync def main():\n    \
        return await asyncio.gather(*[delete_item(id=str(n)) for n in range(3)], get_item(id='9'))\n";
    for era in ERAS {
        api.take_requests();
        let person = Person::able().deciding("allow once").thinking(Duration::from_secs(3));
        let client = person.connect(&project, era).await;
        let answer = client.run("python", code).await;
        assert_eq!(answer["success"], true, "{era:?} {answer}");
        let asked: BTreeSet<String> = client
            .asked()
            .iter()
            .filter_map(|asked| asked["message"].as_str().map(str::to_owned))
            .collect();
        assert_eq!((asked.len(), deletes(&api)), (3, 3), "{era:?} {asked:?}");
        assert_eq!(api.requests()[0].method, "GET", "it did not wait");
    }
}

#[tokio::test]
async fn always_is_a_rule_of_its_own_that_no_denial_heeds() {
    let api = api();
    let denying = "policies:\n- {name: not eight, when: {/id: 8}, decide: deny}\n";
    let project = project(&api, denying);
    let client = Person::able()
        .deciding("allow this function always")
        .connect(&project, ERAS[0])
        .await;
    client.run("python", DELETE).await;
    client.asked();
    assert_eq!(client.run("python", &DELETE.replace('7', "9")).await["success"], true);
    assert!(client.asked().is_empty());
    assert_eq!(client.run("python", &DELETE.replace('7', "8")).await["error"]["type"], "policy");
    let kept = project.run(&["policy", "list", "--json"]).json()["always"].clone();
    assert_eq!(
        (&kept[0]["function"], &kept[0]["client"]),
        (&json!("shop.delete_item"), &json!("person")),
        "{kept}"
    );
    let check = || {
        let arguments = [
            "policy",
            "check",
            "shop.delete_item",
            "--json",
            "{\"id\": \"7\"}",
            "--client",
            "person",
        ];
        project.run(&arguments).json()["decision"].clone()
    };
    assert_eq!(check(), "allow");
    assert_eq!(project.run(&["policy", "forget", "shop.delete_item"]).code, 0);
    assert_eq!(check(), "ask");
    client.run("python", DELETE).await;
    assert_eq!(client.asked().len(), 1);
    assert_eq!(
        project.run(&["policy", "forget", "shop.get_item", "--json"]).error()["type"],
        "argument"
    );
    assert_eq!(deletes(&api), 3);
}

#[tokio::test]
async fn what_a_client_cannot_show_waits_for_the_terminal() {
    let api = api();
    let project = project(&api, "policies:\n- {effect: write, decide: ask}\n");
    let client = Person::able().deciding("allow once").connect(&project, ERAS[0]).await;
    let code = "from shop.functions import create_item\n\
        result = create_item(body={'name': 'a'} | {f'k{n}': 'v' * 99 for n in range(90)})";
    let id = waiting(&client.run("python", code).await);
    assert!(client.asked().iter().all(|asked| asked == "roots"), "it was shown in part");
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    assert_eq!(client.run("python", code).await["success"], true);
}

#[tokio::test]
async fn nobody_who_does_not_answer_in_time_has_said_yes() {
    let api = api();
    let project = project(&api, "").with("MCE_APPROVAL_SECONDS", "1");
    let person = Person::able().deciding("allow once").thinking(Duration::from_mins(5));
    let client = person.connect(&project, ERAS[0]).await;
    let answer = client.run("python", DELETE).await;
    assert_eq!(answer["error"]["type"], "policy", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("within 1 s"), "{answer}");
    assert_eq!(deletes(&api), 0);
}

fn serve(project: &Project) -> Client {
    Client::initialize(project, "2025-11-25").0
}

/// The id of the approval that a run waits for.
#[track_caller]
fn waiting(answer: &Value) -> String {
    assert_eq!(answer["error"]["type"], "approval", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    let id = message.split('`').find(|part| part.starts_with("a_")).unwrap().to_owned();
    assert!(
        answer["error"]["hint"].as_str().unwrap().contains(&format!("mce approve {id}")),
        "{answer}"
    );
    id
}

#[test]
fn a_call_that_waits_is_approved_by_a_command_for_exactly_itself_once() {
    let api = api();
    let project = project(&api, "");
    let mut client = serve(&project);
    let id = waiting(&client.run(DELETE));
    assert_eq!(waiting(&client.run(DELETE)), id, "the same call waits once");
    let listed = project.run(&["approve", "--list", "--json"]).json();
    assert_eq!(
        (&listed[0]["function"], &listed[0]["arguments"]),
        (&json!("shop.delete_item"), &json!(r#"{"id":"7"}"#))
    );
    assert_eq!(listed[0]["host"], api.origin().replace("http://", ""));
    // Without a terminal nothing is said by saying nothing.
    assert_eq!(project.run(&["approve", &id]).code, 1);
    drop(client);
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    assert_eq!(project.run(&["approve", &id, "--yes", "--json"]).error()["type"], "argument");
    // It outlives the server, and fits no other call and no other client.
    let mut client = serve(&project);
    let other = waiting(&client.run(&DELETE.replace('7', "8")));
    assert_ne!(other, id);
    let mut stranger = Client::stateless(&project, "2026-07-28");
    stranger.set_meta("io.modelcontextprotocol/clientInfo", json!({"name": "stranger", "version": "1"}));
    assert_ne!(waiting(&stranger.run(DELETE)), id);
    assert_eq!(deletes(&api), 0);
    assert_eq!(client.run(DELETE)["success"], true);
    assert_ne!(waiting(&client.run(DELETE)), id);
    assert_eq!(deletes(&api), 1);
    assert_eq!(project.run(&["approve", &other, "--deny"]).code, 0);
    let answer = client.run(&DELETE.replace('7', "8"));
    assert_eq!(answer["error"]["type"], "policy", "{answer}");
    let last = waiting(&client.run(DELETE));
    assert_eq!(project.run(&["approve", &last, "--always"]).code, 0);
    assert!(client.run(DELETE)["success"] == true && client.run(&DELETE.replace('7', "6"))["success"] == true);
    let audit = std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap();
    assert!(
        audit.contains(&format!("\"approval\":\"{id}\"")) && audit.contains("\"approval\":\"always\""),
        "{audit}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(project.file("data/approvals.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn calls_that_were_made_before_are_told_only_where_there_are_some() {
    let api = api();
    let project = project(&api, "policies:\n- {function: create_item, decide: allow}\n");
    let mut client = serve(&project);
    let mut is_told = |before: &str| {
        let answer = client.run(&DELETE.replace("result", &format!("{before}\nresult")));
        waiting(&answer);
        answer["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("calls before this one were made")
    };
    assert!(!is_told("") && !is_told("from shop.functions import get_item\nget_item(id='1')"));
    assert!(is_told("from shop.functions import create_item\ncreate_item(body={'name': 'a'})"));
}

#[test]
fn the_same_object_in_another_order_is_the_same_call() {
    let api = api();
    let project = project(&api, "policies:\n- {effect: write, decide: ask}\n");
    let mut client = serve(&project);
    let create = |body: &str| format!("from shop.functions import create_item\nresult = create_item(body={body})");
    let id = waiting(&client.run(&create("{'name': 'a', 'price': 12345678901234567}")));
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    assert_ne!(waiting(&client.run(&create("{'price': 12345678901234568, 'name': 'a'}"))), id);
    assert_eq!(client.run(&create("{'price': 12345678901234567, 'name': 'a'}"))["success"], true);
    let sent = api.requests();
    assert_eq!(
        sent[0].body, br#"{"price":12345678901234567,"name":"a"}"#,
        "it is sent as it was written"
    );
}

#[test]
fn a_yes_is_used_only_by_a_call_that_is_sent() {
    let api = api();
    let busy = "    functions:\n      createItem: {rate: 1/day}\n      deleteItem: {rate: 1/day}\n";
    let rules = "policies:\n- {name: once, effect: write, decide: allow, budget: {per_day: 2}}\n";
    let project = project(&api, &format!("{rules}call_timeout_seconds: 1\nbreaker_failures: 1\n"));
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write(
        "mce.yaml",
        &config.replace("  time:\n", &format!("{busy}  time:\n    concurrency: 1\n")),
    );
    let mut client = serve(&project);
    // The rate: the second call is approved and refused as busy, and its yes is there for the next process.
    let eight = DELETE.replace('7', "8");
    for code in [DELETE, &eight] {
        let id = waiting(&client.run(code));
        assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    }
    assert_eq!(client.run(DELETE)["success"], true);
    for _ in 0..2 {
        assert_eq!(client.run(&eight)["error"]["type"], "busy");
    }
    let state = || project.run(&["approve", "--list", "--json"]).json()[0]["state"].clone();
    assert_eq!((state(), deletes(&api)), (json!("approved"), 1));
    // A budget counts what is sent, too.
    let create = "from shop.functions import create_item\nresult = create_item(body={'name': 'a'})";
    assert_eq!(client.run(create)["success"], true);
    assert_eq!(client.run(create)["error"]["type"], "busy");
    drop(client);
    let mut client = serve(&project);
    assert_eq!(client.run(create)["success"], true);
    assert_eq!(client.run(create)["error"]["type"], "policy");
    // A server that is left alone after a failure takes no yes either.
    api.answer_next(FakeAnswer::empty(500));
    assert_eq!(
        client.run("from shop.functions import get_item\nget_item(id='1')")["error"]["type"],
        "api"
    );
    assert!(client.run(&eight)["error"]["message"].as_str().unwrap().contains("left alone"));
    assert_eq!(state(), "approved");
    drop(client);
    let mut client = serve(&project);
    assert_eq!(client.run(&eight)["success"], true);
    waiting(&client.run(&eight));
    assert_eq!(deletes(&api), 2);
}

#[test]
fn a_yes_waits_for_a_place_at_an_mcp_server() {
    let api = api();
    let project = project(&api, "policies:\n- {function: mcp__time__echo, decide: ask}\n");
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write(
        "mce.yaml",
        &config.replace("  time:\n", "  time:\n    concurrency: 1\n    timeout: 2\n"),
    );
    let mut client = serve(&project);
    let echo = "from time_.functions import echo\nresult = echo(name='a')";
    let id = waiting(&client.run(echo));
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    // The first two calls hold the place for two seconds each.
    let busy = "import asyncio\nfrom time_.aio import never, echo\n\nasync def after(seconds, call):\n    \
        await asyncio.sleep(seconds)\n    await call\n\nasync def main():\n    \
        calls = [never(), after(1, never()), after(1.5, echo(name='a'))]\n    \
        return [str(error) for error in await asyncio.gather(*calls, return_exceptions=True)]\n";
    let answer = client.run(busy);
    assert!(answer["data"][2].as_str().unwrap().contains("is busy"), "{answer}");
    let listed = project.run(&["approve", "--list", "--json"]).json();
    assert_eq!(listed[0]["state"], "approved", "{answer}");
    let answer = client.run(echo);
    assert_eq!(answer["success"], true, "{answer}");
    waiting(&client.run(echo));
}

#[tokio::test]
async fn a_yes_that_was_just_given_is_kept_where_the_call_is_not_sent() {
    let api = api();
    let project = project(&api, "call_timeout_seconds: 1\n");
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write(
        "mce.yaml",
        &config.replace("  time:\n", "    functions:\n      deleteItem: {rate: 1/day}\n  time:\n"),
    );
    for era in ERAS {
        let before = deletes(&api);
        let client = Person::able().deciding("allow once").connect(&project, era).await;
        client.run("python", DELETE).await;
        assert_eq!(client.run("python", DELETE).await["error"]["type"], "busy");
        assert_eq!(client.run("python", DELETE).await["error"]["type"], "busy");
        let asked = client.asked().iter().filter(|asked| *asked != "roots").count();
        assert_eq!((asked, deletes(&api)), (2, before + 1), "{era:?}");
        drop(client);
        let client = Person::able().deciding("deny").connect(&project, era).await;
        assert_eq!(client.run("python", DELETE).await["success"], true, "{era:?}");
        assert_eq!(client.run("python", DELETE).await["error"]["type"], "policy");
        assert_eq!(deletes(&api), before + 2);
    }
}

#[test]
fn an_approval_is_used_once_by_all_processes_together() {
    let api = api();
    let project = project(&api, "");
    let mut clients: Vec<Client> = (0..4).map(|_| serve(&project)).collect();
    let id = waiting(&clients[0].run(DELETE));
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    let call = json!({"name": "execute_code", "arguments": {"code": DELETE, "description": "test"}});
    let asked: Vec<u64> = clients.iter_mut().map(|client| client.ask("tools/call", call.clone())).collect();
    for (client, id) in clients.iter_mut().zip(asked) {
        client.wait(id);
    }
    assert_eq!(deletes(&api), 1);
}

#[test]
fn approvals_expire_and_can_be_switched_off() {
    let api = api();
    let project = project(&api, "").with("MCE_APPROVAL_SECONDS", "1");
    let mut client = serve(&project);
    let id = waiting(&client.run(DELETE));
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while project.run(&["approve", "--list", "--json"]).json() != json!([]) {
        assert!(std::time::Instant::now() < deadline, "it does not expire");
    }
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 1);
    let project = project.with("MCE_APPROVAL_SECONDS", "0");
    let answer = serve(&project).run(DELETE);
    assert_eq!(answer["error"]["type"], "policy", "{answer}");
    assert!(
        answer["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("- {server: shop, function: delete_item, decide: allow}"),
        "{answer}"
    );
    assert_eq!(deletes(&api), 0);
}

#[test]
fn functions_that_are_tools_ask_too() {
    let api = api();
    let project = project(&api, "").with("MCE_SURFACE", "direct");
    let mut client = serve(&project);
    let (answer, is_error) = client.call("shop__delete_item", json!({"id": "7"}));
    assert!(is_error, "{answer}");
    let id = waiting(&answer);
    assert_eq!(project.run(&["approve", &id, "--yes"]).code, 0);
    let done = client.request("tools/call", json!({"name": "shop__delete_item", "arguments": {"id": "7"}}));
    assert_ne!(done["isError"], true, "{done}");
    assert_eq!(deletes(&api), 1);
}

#[test]
fn what_a_person_starts_is_allowed_unless_a_rule_asks() {
    let api = api();
    let asking = project(&api, "policies:\n- {name: careful, effect: destructive, decide: ask}\n");
    let call = ["call", "shop.delete_item", "--json", r#"{"id": "7"}"#];
    let error = asking.run(&call).error();
    assert_eq!(error["type"], "policy", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("before `careful`"), "{error}");
    assert_eq!(deletes(&api), 0);
    assert_eq!(project(&api, "").run(&call).code, 0);
    assert_eq!(deletes(&api), 1);
}
