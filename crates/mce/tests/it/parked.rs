//! Calls that wait for a client without server requests: what it gets, and how its state is used and misused.

use mce_test::fake_mcp_server;
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::Project;

fn project() -> Project {
    project_of("legacy")
}

fn project_of(era: &str) -> Project {
    let (command, args) = fake_mcp_server(&json!({"era": era}));
    let project = Project::empty();
    project.write(
        "mce.yaml",
        &format!("servers:\n  time:\n    command: {command}\n    args: {}\n", json!(args)),
    );
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

fn client(project: &Project) -> Client {
    let mut client = Client::stateless(project, "2026-07-28");
    client.set_meta(
        "io.modelcontextprotocol/clientCapabilities",
        json!({"elicitation": {}, "sampling": {}}),
    );
    client
}

const CODE: &str = "from time_.functions import echo, elicitation, seen\necho(n='before')\nanswer = elicitation()\n\
    result = [answer, [one for one in seen() if one['method'] == 'tools/call' and one['params']['name'] == 'echo']]";

fn call(code: &str) -> Value {
    json!({"name": "execute_code", "arguments": {"code": code, "description": "test"}})
}

fn ask(client: &mut Client, code: &str) -> Value {
    let asked = client.request("tools/call", call(code));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    asked
}

/// The same request with an answer.
fn retry(code: &str, asked: &Value, answer: &Value) -> Value {
    let mut request = call(code);
    let keys = asked["inputRequests"].as_object().unwrap().keys();
    request["requestState"] = asked["requestState"].clone();
    request["inputResponses"] = keys.map(|key| (key.clone(), answer.clone())).collect();
    request
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"name": "Ann"}})
}

fn text(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))).unwrap()
}

#[track_caller]
fn refused(result: &Value, part: &str) {
    assert_eq!(result["code"], -32602, "{result}");
    assert!(result["message"].as_str().unwrap().contains(part), "{result}");
}

#[test]
fn a_call_goes_on_where_it_waited_and_nothing_is_done_twice() {
    let project = project();
    let mut client = client(&project);
    let asked = ask(&mut client, CODE);
    let (_, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Who?"))
    );
    let done = client.request("tools/call", retry(CODE, &asked, &accepted()));
    let answer = text(&done);
    assert_eq!(answer["data"][0], accepted(), "{answer}");
    assert_eq!(answer["data"][1].as_array().unwrap().len(), 1, "{answer}");
    // The state has done its work.
    refused(&client.request("tools/call", retry(CODE, &asked, &accepted())), "was used before");
}

#[test]
fn a_state_is_good_for_its_own_request_only() {
    let project = project();
    let mut client = client(&project);
    let asked = ask(&mut client, CODE);
    let other = format!("{CODE}\n");
    refused(
        &client.request("tools/call", retry(&other, &asked, &accepted())),
        "not made by this server for this request",
    );
    let mut forged = retry(CODE, &asked, &accepted());
    let state = forged["requestState"].as_str().unwrap().to_owned();
    forged["requestState"] = format!("{state}A").into();
    refused(&client.request("tools/call", forged.clone()), "not made by this server");
    forged["requestState"] = "x".into();
    refused(&client.request("tools/call", forged.clone()), "not made by this server");
    forged.as_object_mut().unwrap().remove("requestState");
    refused(&client.request("tools/call", forged), "without their `requestState`");
    // A state of another process: its key was another.
    let mut stranger = self::client(&project);
    refused(
        &stranger.request("tools/call", retry(CODE, &asked, &accepted())),
        "not made by this server",
    );
    // None of that has spoiled it.
    let done = client.request("tools/call", retry(CODE, &asked, &accepted()));
    assert_eq!(text(&done)["success"], true, "{done}");
}

#[test]
fn what_is_no_answer_is_an_error_for_the_program() {
    let project = project();
    let mut client = client(&project);
    let code = "from time_.functions import elicitation\nresult = elicitation()";
    for answer in [json!({"action": "perhaps"}), json!(1)] {
        let asked = ask(&mut client, code);
        let done = client.request("tools/call", retry(code, &asked, &answer));
        assert!(
            text(&done)["data"]["message"].as_str().unwrap().contains("is no result of"),
            "{done}"
        );
    }
    let asked = ask(&mut client, code);
    let mut without = retry(code, &asked, &accepted());
    without["inputResponses"] = json!({});
    let done = client.request("tools/call", without);
    assert!(
        text(&done)["data"]["message"].as_str().unwrap().contains("without an answer"),
        "{done}"
    );
}

#[test]
fn a_state_expires_and_its_run_ends() {
    let project = project_of("modern")
        .with("MCE_CLIENT_WAIT_SECONDS", "3")
        .with("MCE_MAX_WAITING_CALLS", "1");
    let mut client = client(&project);
    let code = "from time_.functions import elicitation\nresult = elicitation()";
    let asked = ask(&mut client, code);
    // There is place for one.
    let other = client.request("tools/call", call(code));
    assert!(
        text(&other)["error"]["message"].as_str().unwrap().contains("too many calls wait"),
        "{other}"
    );
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let next = loop {
        let next = client.request("tools/call", call(code));
        if next["resultType"] == "input_required" {
            break next;
        }
        assert!(std::time::Instant::now() < deadline, "the place does not become free");
    };
    refused(&client.request("tools/call", retry(code, &asked, &accepted())), "has expired");
    let done = client.request("tools/call", retry(code, &next, &accepted()));
    assert_eq!(text(&done)["success"], true, "{done}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn questions_of_the_same_moment_come_together() {
    let project = project().with("MCE_SAMPLING_ENABLED", "true");
    let mut client = client(&project);
    let code =
        "import asyncio\nfrom mce import llm\n\nasync def main():\n    return await asyncio.gather(*[llm.ask(str(n)) for n in range(5)])";
    let asked = ask(&mut client, code);
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 5, "{asked}");
    let answer = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}});
    let done = client.request("tools/call", retry(code, &asked, &answer));
    assert_eq!(text(&done)["data"], json!(["yes", "yes", "yes", "yes", "yes"]), "{done}");
}

#[test]
fn progress_and_logs_come_with_the_request_that_is_open() {
    let project = project();
    let mut client = client(&project);
    let code = "import time\nfrom time_.functions import elicitation, log, progress\nprogress()\ntime.sleep(0.5)\nelicitation()\nprogress()\n\
        log(level='error', data=1)\nlog(level='info', data=2)\ntime.sleep(0.5)";
    client.set_meta("progressToken", json!("first"));
    let asked = ask(&mut client, code);
    client.set_meta("progressToken", json!("second"));
    client.set_meta("io.modelcontextprotocol/logLevel", json!("warning"));
    client.request("tools/call", retry(code, &asked, &accepted()));
    let of = |method: &'static str| {
        client
            .notices
            .iter()
            .filter(move |notice| notice["method"] == method)
            .map(|notice| &notice["params"])
    };
    let told: Vec<_> = of("notifications/progress")
        .map(|params| (params["progressToken"].clone(), params["progress"].clone()))
        .collect();
    assert_eq!(told.first().unwrap().0, "first", "{told:?}");
    let of_second = told.iter().filter(|(token, _)| *token == "second");
    assert!(
        of_second
            .map(|(_, progress)| progress.as_f64().unwrap())
            .is_sorted_by(|one, other| one < other),
        "{told:?}"
    );
    assert_eq!(*told.last().unwrap(), (json!("second"), json!(4.0)), "{told:?}");
    let logs: Vec<_> = of("notifications/message").collect();
    assert_eq!(logs, [&json!({"level": "error", "logger": "time_.fake", "data": 1})]);
}

#[test]
fn a_server_that_ends_leaves_no_call_behind() {
    let project = project();
    let mut client = client(&project);
    ask(&mut client, CODE);
    assert_eq!(client.close(), Some(0));
}
