//! What MCP servers and programs ask of the client and tell it, for every pair of eras and in both languages.

use std::time::Duration;

use mce_test::fake_mcp_server;
use serde_json::{Value, json};

use crate::person::{ClientEra, Connected, ERAS, Person, until};
use crate::project::Project;

/// The fake server in either era, as `aged` and `fresh`.
pub(crate) fn project() -> Project {
    let server = |era: &str| {
        let (command, args) = fake_mcp_server(&json!({"era": era}));
        format!("    command: {command}\n    args: {}\n", json!(args))
    };
    let project = Project::empty();
    let config = format!("servers:\n  aged:\n{}  fresh:\n{}", server("legacy"), server("modern"));
    project.write("mce.yaml", &config);
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

/// A program that calls a tool without arguments.
fn program(language: &str, server: &str, tool: &str) -> String {
    if language == "python" {
        format!("from {server}.functions import {tool}\nresult = {tool}()")
    } else {
        format!("import {{ {server} }} from 'mce:servers';\nexport default await {server}.{tool}();")
    }
}

const LANGUAGES: [&str; 2] = ["python", "typescript"];
const SERVERS: [&str; 2] = ["aged", "fresh"];

#[tokio::test]
async fn every_question_reaches_the_client_that_caused_it_in_its_own_form() {
    let project = project();
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        for (language, server) in LANGUAGES.iter().flat_map(|language| SERVERS.map(|server| (*language, server))) {
            let case = format!("{era:?} {language} {server}");
            let answer = client.run(language, &program(language, server, "elicitation")).await;
            assert_eq!(
                answer["data"],
                json!({"action": "accept", "content": {"name": "Ann"}}),
                "{case}: {answer}"
            );
            let asked = client.asked();
            let asked = asked.iter().find(|asked| *asked != "roots").unwrap();
            assert_eq!(
                (&asked["message"], &asked["requestedSchema"]["type"]),
                (&json!("Who?"), &json!("object")),
                "{case}"
            );
            let answer = client.run(language, &program(language, server, "sampling")).await;
            assert_eq!(answer["data"]["content"]["text"], "you said: hi", "{case}: {answer}");
            assert_eq!(client.asked().pop().unwrap()["maxTokens"], 5, "{case}");
            let answer = client.run(language, &program(language, server, "roots")).await;
            assert_eq!(answer["data"]["roots"][0]["uri"], "file:///work", "{case}: {answer}");
        }
    }
    // Each question is on record, and so is that it was answered.
    let audit = std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap();
    for (server, method) in SERVERS
        .iter()
        .flat_map(|server| [(server, "elicitation/create"), (server, "sampling/createMessage")])
    {
        let what = format!(r#""function":"{server}","operation":"{method}""#);
        let lines: Vec<&str> = audit.lines().filter(|line| line.contains(&what)).collect();
        let answered = lines
            .iter()
            .filter(|line| line.contains(r#""event":"outcome""#) && line.contains(r#""ok":true"#));
        assert_eq!((lines.len(), answered.count()), (4 * ERAS.len(), 2 * ERAS.len()), "{what}");
        assert!(
            lines.iter().all(|line| !line.contains("Who?") && !line.contains("Ann")),
            "{lines:?}"
        );
    }
}

#[tokio::test]
async fn a_client_that_cannot_is_an_error_that_says_what_was_asked() {
    let project = project();
    for era in ERAS {
        let client = Person::unable().connect(&project, era).await;
        for language in LANGUAGES {
            // The fake server of before puts the error that it got into its answer.
            let answer = client.run(language, &program(language, "aged", "elicitation")).await;
            let said = answer["data"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert!(said.contains("cannot ask its user") && said.contains("`Who?`"), "{answer}");
            let answer = client.run(language, &program(language, "fresh", "sampling")).await;
            assert_eq!(
                (&answer["success"], &answer["error"]["type"]),
                (&json!(false), &json!("tool")),
                "{answer}"
            );
            let said = answer["error"]["message"].as_str().unwrap();
            assert!(said.contains("does not offer sampling") && said.contains("`hi`"), "{answer}");
            let answer = client.run(language, &program(language, "aged", "roots")).await;
            assert_eq!(answer["data"], json!({"roots": []}), "{answer}");
        }
    }
}

#[tokio::test]
async fn programs_written_for_code_executor_ask_the_model() {
    let project = project().with("MCE_SURFACE", "code-executor");
    let python = "import json\n# Read data\ndata = call_mcp_tool('mcp__aged__echo', {'path': './data.json'})\n\
        # Ask to summarize\nsummary = await llm.ask(f'Summarize this data: {data}')\nprint(summary)\n";
    let typescript = "const code = await callMCPTool('mcp__fresh__echo', { path: './auth.ts' });\n\
        const analysis = await llm.ask('Summarize this data: ' + JSON.stringify(code));\nconsole.log(analysis);";
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        for (tool, code, said) in [
            ("executePython", python, "{'path': './data.json'}"),
            ("executeTypescript", typescript, r#"{"path":"./auth.ts"}"#),
        ] {
            let arguments = |enabled: bool| json!({"code": code, "enableSampling": enabled, "maxSamplingRounds": 5});
            let result = client.call(tool, arguments(true)).await;
            let answer = result.structured_content.unwrap();
            assert_eq!(
                answer["output"],
                format!("you said: Summarize this data: {said}\n"),
                "{era:?} {answer}"
            );
            assert_eq!(answer["toolCallsMade"].as_array().unwrap().len(), 1, "{answer}");
            let metrics = &answer["samplingMetrics"];
            assert_eq!(
                (&metrics["totalRounds"], &metrics["quotaRemaining"]["rounds"]),
                (&json!(1), &json!(4)),
                "{answer}"
            );
            assert!(metrics["totalTokens"].as_u64().unwrap() > 3, "{answer}");
            let refused = client.call(tool, arguments(false)).await.structured_content.unwrap();
            assert!(
                refused["success"] == false && refused["samplingMetrics"].is_null(),
                "{era:?} {refused}"
            );
        }
    }
}

/// Asks twice at the same time, then once more with all that can be said.
fn asks_a_model(language: &str) -> &'static str {
    if language == "python" {
        "import asyncio\nfrom mce import llm\n\nasync def main():\n    both = await asyncio.gather(llm.ask('a'), llm.ask('b'))\n    \
         last = await llm.think([{'role': 'system', 'content': 's'}, {'role': 'user', 'content': 'c'}], 'm', 7, 'p')\n    \
         return [*both, last]\n"
    } else {
        "const both = await Promise.all([llm.ask('a'), llm.ask('b')]);\n\
         const last = await llm.think({ messages: [{ role: 'system', content: 's' }, { role: 'user', content: 'c' }], model: 'm', \
         maxTokens: 7, systemPrompt: 'p' });\nexport default [...both, last];"
    }
}

#[tokio::test]
async fn programs_ask_the_model_of_the_client_where_a_person_allows_it() {
    let forbidden = project();
    let allowed = project()
        .with("CODE_EXECUTOR_SAMPLING_ENABLED", "true")
        .with("CODE_EXECUTOR_MAX_SAMPLING_ROUNDS", "4");
    for era in ERAS {
        let client = Person::able().connect(&allowed, era).await;
        for language in LANGUAGES {
            let answer = client.run(language, asks_a_model(language)).await;
            assert_eq!(
                answer["data"],
                json!(["you said: a", "you said: b", "you said: c"]),
                "{era:?}: {answer}"
            );
            assert_eq!(
                (&answer["calls"][0]["function"], &answer["calls"][0]["count"]),
                (&json!("llm"), &json!(3))
            );
            let last = client.asked().pop().unwrap();
            assert_eq!((&last["maxTokens"], &last["systemPrompt"]), (&json!(7), &json!("p\n\ns")), "{last}");
            assert_eq!(last["modelPreferences"]["hints"][0]["name"], "m");
        }
        let many = "for n in range(9):\n    await llm.ask(str(n))";
        let answer = client.run("python", many).await;
        assert_eq!(
            (&answer["error"]["type"], &answer["error"]["line"]),
            (&json!("policy"), &json!(2)),
            "{answer}"
        );
        assert_eq!(client.asked().iter().filter(|asked| *asked != "roots").count(), 4);
        let unable = Person::unable().connect(&allowed, era).await;
        let answer = unable.run("python", "await llm.ask('a')").await;
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("does not offer MCP sampling"),
            "{answer}"
        );
        let client = Person::able().connect(&forbidden, era).await;
        let answer = client.run("typescript", "await llm.ask('a')").await;
        assert_eq!(answer["error"]["type"], "policy", "{answer}");
        assert!(
            answer["error"]["hint"].as_str().unwrap().contains("CODE_EXECUTOR_SAMPLING_ENABLED"),
            "{answer}"
        );
        assert!(client.asked().iter().all(|asked| *asked == "roots"));
    }
}

#[tokio::test]
async fn the_time_of_a_person_is_not_that_of_the_run() {
    let project = project().with("MCE_EXECUTION_TIMEOUT_SECONDS", "2");
    for era in ERAS {
        let client = Person::able().thinking(Duration::from_secs(3)).connect(&project, era).await;
        for server in SERVERS {
            let answer = client.run("python", &program("python", server, "elicitation")).await;
            assert_eq!(answer["success"], true, "{era:?} {server}: {answer}");
        }
        let answer = client.run("python", &program("python", "aged", "never")).await;
        assert_eq!(answer["error"]["type"], "timeout", "{answer}");
    }
}

#[tokio::test]
async fn a_person_who_does_not_answer_is_not_waited_for_for_ever() {
    let project = project().with("MCE_CLIENT_WAIT_SECONDS", "1");
    let client = Person::able()
        .thinking(Duration::from_mins(5))
        .connect(&project, ClientEra::Legacy)
        .await;
    let answer = client.run("python", &program("python", "fresh", "elicitation")).await;
    let said = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(said.contains("did not answer within 1 s") && said.contains("`Who?`"), "{said}");
}

#[tokio::test]
async fn runs_at_the_same_time_are_not_mixed() {
    let project = project();
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        let code = program("python", "fresh", "elicitation");
        let other = "from fresh.functions import echo\nresult = echo(a=1)";
        let (first, second, third) = tokio::join!(
            client.run("python", &code),
            client.run("python", &code),
            client.run("python", other)
        );
        assert_eq!(
            (&first["data"]["action"], &second["data"]["action"]),
            (&json!("accept"), &json!("accept"))
        );
        assert_eq!(third["data"], json!({"a": 1}));
        assert_eq!(client.asked().iter().filter(|asked| *asked != "roots").count(), 2);
    }
}

#[tokio::test]
async fn progress_comes_with_the_clients_own_token_and_grows() {
    let project = project();
    for era in ERAS {
        for server in SERVERS {
            let client = Person::able().connect(&project, era).await;
            let code =
                format!("from {server}.functions import progress\nimport time\nfor _ in range(3):\n    progress()\n    time.sleep(0.3)");
            client.run("python", &code).await;
            let told = &client.person.progress;
            until("all progress", || {
                told.lock().unwrap().last().is_some_and(|(progress, _)| *progress >= 6.0)
            })
            .await;
            let mut told = told.lock().unwrap().clone();
            // The client of this test looks at messages at the same time, in any order; `parked` reads them in theirs.
            told.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            assert!(told.is_sorted_by(|(one, _), (other, _)| one < other), "{told:?}");
            assert!(told.contains(&(6.0, Some(6.0))), "{told:?}");
        }
    }
}

#[tokio::test]
async fn a_long_run_tells_that_it_goes_on() {
    let project = project();
    let client = Person::able().connect(&project, ClientEra::Legacy).await;
    client.run("python", "import time\ntime.sleep(6)").await;
    assert!(!client.person.progress.lock().unwrap().is_empty());
}

async fn log(client: &Connected, server: &str, level: &str) {
    let code = format!("from {server}.functions import log\nlog(level='{level}', data='hello {level}')");
    let answer = client.run("python", &code).await;
    assert_eq!(answer["data"], "done", "{answer}");
}

#[tokio::test]
async fn logs_go_to_the_client_that_asked_for_them_else_to_our_log() {
    let project = project();
    let client = Person::able().connect(&project, ClientEra::Legacy).await;
    log(&client, "aged", "warning").await;
    let ours = || std::fs::read_to_string(project.file("stderr")).unwrap();
    until("our log has it", || ours().contains("hello warning")).await;
    let level: rmcp::model::ClientRequest =
        serde_json::from_value(json!({"method": "logging/setLevel", "params": {"level": "error"}})).unwrap();
    client.service.send_request(level).await.unwrap();
    log(&client, "aged", "warning").await;
    log(&client, "fresh", "error").await;
    let logs = &client.person.logs;
    until("the client has it", || logs.lock().unwrap().len() == 1).await;
    assert_eq!(logs.lock().unwrap()[0], ("fresh.fake".to_owned(), json!("hello error")));
    assert!(!ours().contains("hello error"));
}

/// How often the server has seen this method.
async fn seen(client: &Connected, server: &str, method: &str) -> usize {
    let code = format!("from {server}.functions import seen\nresult = [one['method'] for one in seen()].count('{method}')");
    let answer = client.run("python", &code).await;
    usize::try_from(answer["data"].as_u64().unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

#[tokio::test]
async fn cancelling_reaches_the_servers() {
    let project = project();
    for era in ERAS {
        for server in SERVERS {
            let client = Person::able().connect(&project, era).await;
            assert_eq!(seen(&client, server, "notifications/cancelled").await, 0);
            let code = program("python", server, "never");
            let waiting = tokio::time::timeout(Duration::from_secs(2), client.run("python", &code));
            assert!(waiting.await.is_err());
            let deadline = std::time::Instant::now() + Duration::from_secs(30);
            while seen(&client, server, "notifications/cancelled").await == 0 {
                assert!(std::time::Instant::now() < deadline, "{era:?} {server}: the server is not told");
            }
        }
    }
}

#[tokio::test]
async fn folders_are_told_to_servers_that_were_connected_before_they_were_known() {
    let project = project();
    let client = Person::able().connect(&project, ClientEra::Legacy).await;
    until("the folders are asked for", || {
        client.person.asked.lock().unwrap().contains(&json!("roots"))
    })
    .await;
    let answer = client.run("python", &program("python", "aged", "roots")).await;
    assert_eq!(answer["data"]["roots"][0]["uri"], "file:///work", "{answer}");
    // Once, by ourselves.
    assert_eq!(client.asked(), [Value::from("roots")]);
    client.service.notify_roots_list_changed().await.unwrap();
    until("they are asked for again", || {
        client.person.asked.lock().unwrap().contains(&json!("roots"))
    })
    .await;
}
