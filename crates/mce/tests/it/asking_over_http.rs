//! The same over HTTP, where one program serves several clients: each is asked what its own calls cause.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mce_broker::{
    ClientAbilities, ClientAnswer, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, Progress, ToolCall, Upstreams,
};
use mce_config::LoadOptions;
use serde_json::{Value, json};

use crate::asking::project;
use crate::http::Server;
use crate::project::Project;

#[derive(Debug, Default)]
struct Person {
    name: &'static str,
    asked: Mutex<Vec<ClientRequestKind>>,
    progress: Mutex<Vec<f64>>,
    logs: Mutex<Vec<Value>>,
}

impl ClientRequests for Person {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities::ALL
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        self.asked.lock().unwrap().push(request.kind);
        let answer = match request.kind {
            ClientRequestKind::Roots => json!({"roots": [{"uri": format!("file:///{}", self.name)}]}),
            ClientRequestKind::Sampling => json!({"role": "assistant", "content": {"type": "text", "text": self.name}, "model": "m"}),
            ClientRequestKind::Elicitation => json!({"action": "accept", "content": {"name": self.name}}),
        };
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(answer)
        })
    }

    fn progress(&self, progress: Progress) {
        self.progress.lock().unwrap().push(progress.progress);
    }

    fn log_level(&self) -> Option<LogLevel> {
        Some(LogLevel::Error)
    }

    fn log(&self, message: &LogMessage) -> bool {
        self.logs.lock().unwrap().push(message.data.clone());
        true
    }
}

/// A client of its own, with a connection of its own.
struct Client {
    person: Arc<Person>,
    requests: Arc<dyn ClientRequests>,
    upstreams: Upstreams,
}

impl Client {
    fn new(name: &'static str, server: &Server, era: &str) -> Self {
        let project = Project::empty();
        let url = format!("http://127.0.0.1:{}/mcp", server.port);
        project.write("mce.yaml", &json!({"servers": {"gate": {"url": url, "era": era}}}).to_string());
        let options = LoadOptions {
            config_file: None,
            env_file: None,
            working_dir: project.path().to_owned(),
            environment: std::collections::BTreeMap::default(),
            arguments: std::collections::BTreeMap::default(),
        };
        let person = Arc::new(Person { name, ..Person::default() });
        let requests: Arc<dyn ClientRequests> = Arc::<Person>::clone(&person);
        let (settings, _) = mce_config::load(&options).unwrap();
        Self {
            upstreams: Upstreams::with_client(&settings, &requests),
            person,
            requests,
        }
    }

    async fn run(&self, code: &str) -> Value {
        let arguments = json!({"code": code, "description": "test"}).as_object().cloned().unwrap();
        let call = ToolCall {
            server: "gate",
            tool: "execute_code",
            arguments,
            client: Some(&self.requests),
        };
        let answer = self.upstreams.call_tool(call).await.unwrap();
        serde_json::from_str(answer.content[0]["text"].as_str().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn each_client_is_asked_what_its_own_calls_cause() {
    let server = Server::start(project().with("MCE_SAMPLING_ENABLED", "true"));
    for era in ["legacy", "modern"] {
        let (ann, bob) = (Client::new("Ann", &server, era), Client::new("Bob", &server, era));
        for upstream in ["fresh", "aged"] {
            let code = format!(
                "from {upstream}.functions import elicitation, roots, sampling\n\
                 result = [sampling()['content']['text'], elicitation()['content']['name'], await llm.ask('x')]"
            );
            // Whose question it is, a server of before does not say: it is asked for one, then for the other.
            ann.run(&code).await;
            let (first, second) = tokio::join!(ann.run(&code), bob.run(&code));
            assert_eq!(first["data"], json!(["Ann", "Ann", "Ann"]), "{era} {upstream}: {first}");
            assert_eq!(second["data"], json!(["Bob", "Bob", "Bob"]), "{era} {upstream}: {second}");
        }
        let folders = "from fresh.functions import roots\nresult = roots()['roots'][0]['uri']";
        assert_eq!(ann.run(folders).await["data"], "file:///Ann");
        assert_eq!(bob.run(folders).await["data"], "file:///Bob");
        assert!(!ann.person.asked.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn progress_and_logs_go_to_the_client_whose_call_it_is() {
    let server = Server::start(project());
    for era in ["legacy", "modern"] {
        let (ann, bob) = (Client::new("Ann", &server, era), Client::new("Bob", &server, era));
        bob.run("result = 1").await;
        let code = "import time\nfrom fresh.functions import log, progress\nprogress()\nlog(level='error', data='mine')\ntime.sleep(0.5)";
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        // Which log messages it wants, a client of before says beside its first call.
        while !ann.person.logs.lock().unwrap().contains(&json!("mine")) {
            assert!(std::time::Instant::now() < deadline, "{era}: no log message");
            ann.run(code).await;
        }
        assert!(!ann.person.progress.lock().unwrap().is_empty(), "{era}");
        assert!(
            bob.person.progress.lock().unwrap().is_empty() && bob.person.logs.lock().unwrap().is_empty(),
            "{era}"
        );
    }
}

#[tokio::test]
async fn a_client_that_goes_ends_its_calls_at_the_servers() {
    let server = Server::start(project());
    for era in ["legacy", "modern"] {
        let client = Client::new("Ann", &server, era);
        let seen = "from aged.functions import seen\nresult = [one['method'] for one in seen()].count('notifications/cancelled')";
        let before = client.run(seen).await["data"].as_u64().unwrap();
        let waiting = client.run("from aged.functions import never\nnever()");
        assert!(tokio::time::timeout(Duration::from_secs(2), waiting).await.is_err());
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while client.run(seen).await["data"].as_u64().unwrap() == before {
            assert!(std::time::Instant::now() < deadline, "{era}: the server is not told");
        }
    }
}
