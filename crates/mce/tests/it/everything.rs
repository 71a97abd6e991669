//! The reference server asks for all that the protocol knows: through us, by programs of both languages, for clients of both
//! eras, over pipes and over HTTP.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;

use mce_test::HttpServerProcess;
use serde_json::{Value, json};

use crate::person::{ClientEra, Connected, ERAS, Person, until};
use crate::project::Project;
use crate::real_servers::installed;

const PYTHON: &str = "\
from everything.functions import trigger_sampling_request, trigger_elicitation_request, trigger_url_elicitation, get_roots_list
result = [
    trigger_sampling_request(prompt='hello', max_tokens=9),
    trigger_elicitation_request(),
    trigger_url_elicitation(url='https://example.com/pay', message='Pay here'),
    get_roots_list(),
]";

const TYPESCRIPT: &str = "\
import { everything } from 'mce:servers';
export default [
  await everything.triggerSamplingRequest({ prompt: 'hello', maxTokens: 9 }),
  await everything.triggerElicitationRequest(),
  await everything.triggerUrlElicitation({ url: 'https://example.com/pay', message: 'Pay here' }),
  await everything.getRootsList(),
];";

fn project(server: &Value) -> Project {
    let project = Project::empty();
    let config = json!({"servers": {"everything": server}});
    project.write("mce.yaml", &config.to_string());
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

fn over_pipes(program: &Path) -> Project {
    project(&json!({"command": "node", "args": [program, "stdio"]}))
}

async fn check_questions(client: &Connected, language: &str, code: &str) {
    let answer = client.run(language, code).await;
    let data = answer["data"].to_string();
    assert_eq!(answer["success"], true, "{language}: {answer}");
    for part in ["you said: Resource trigger-sampling-request context: hello", "Ann", "file:///work"] {
        assert!(data.contains(part), "{language}: `{part}` is missing in {data}");
    }
    let asked = client.asked();
    let has = |pointer: &str, value: Value| asked.iter().any(|asked| asked.pointer(pointer) == Some(&value));
    assert!(has("/maxTokens", json!(9)), "{asked:?}");
    assert!(has("/url", json!("https://example.com/pay")), "{asked:?}");
    assert!(has("/requestedSchema/type", json!("object")), "{asked:?}");
}

#[tokio::test]
async fn all_that_the_reference_server_asks_is_answered() {
    let Some(folder) = installed() else {
        return;
    };
    let project = over_pipes(&folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"));
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        check_questions(&client, "python", PYTHON).await;
        check_questions(&client, "typescript", TYPESCRIPT).await;
        let unable = Person::unable().connect(&project, era).await;
        for (tool, part) in [
            ("trigger_sampling_request(prompt='hello')", "does not offer sampling"),
            ("trigger_elicitation_request()", "cannot ask its user"),
        ] {
            let answer = unable.run("python", &format!("from everything.functions import *\n{tool}")).await;
            assert_eq!(answer["error"]["type"], "tool", "{era:?}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_page_that_must_be_seen_first_is_shown_and_the_call_made_again() {
    let Some(folder) = installed() else {
        return;
    };
    let project = over_pipes(&folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"));
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        let code = "from everything.functions import trigger_url_elicitation\n\
            result = trigger_url_elicitation(url='https://example.com/pay', elicitation_id='one', error_path=True)";
        let answer = client.run("python", code).await;
        assert_eq!(answer["success"], true, "{era:?}: {answer}");
        assert!(client.asked().iter().any(|asked| asked["url"] == "https://example.com/pay"));
        let unable = Person::unable().connect(&project, era).await;
        let answer = unable.run("python", code).await;
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("cannot ask its user"),
            "{era:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn its_progress_and_its_logs_come_through() {
    let Some(folder) = installed() else {
        return;
    };
    let project = over_pipes(&folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"));
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        let code = "from everything.functions import trigger_long_running_operation\n\
            trigger_long_running_operation(duration=1, steps=4)\ntrigger_long_running_operation(duration=1, steps=4)";
        assert_eq!(client.run("python", code).await["success"], true);
        let mut told = client.person.progress.lock().unwrap().clone();
        // The client of this test looks at messages at the same time, in any order; `parked` reads them in theirs.
        told.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        assert!(told.is_sorted_by(|(one, _), (other, _)| one < other), "{told:?}");
        assert!(told.len() >= 6 && told.iter().any(|(progress, _)| *progress > 4.0), "{told:?}");
    }
    let client = Person::able().connect(&project, ClientEra::Legacy).await;
    let level: rmcp::model::ClientRequest =
        serde_json::from_value(json!({"method": "logging/setLevel", "params": {"level": "debug"}})).unwrap();
    client.service.send_request(level).await.unwrap();
    client
        .run(
            "python",
            "from everything.functions import toggle_simulated_logging\ntoggle_simulated_logging()",
        )
        .await;
    let logs = &client.person.logs;
    until("a log message", || {
        logs.lock().unwrap().iter().any(|(logger, _)| logger.starts_with("everything"))
    })
    .await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a program of the tests")]
async fn over_http_too() {
    let Some(folder) = installed() else {
        return;
    };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let program = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let mut server = std::process::Command::new("node");
    server
        .arg(program)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null());
    server.stdout(Stdio::null()).stderr(Stdio::null());
    let _server = HttpServerProcess::of(server.spawn().unwrap(), port);
    until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    let project = project(&json!({"url": format!("http://127.0.0.1:{port}/mcp")}));
    for era in ERAS {
        let client = Person::able().connect(&project, era).await;
        check_questions(&client, "python", PYTHON).await;
    }
}
