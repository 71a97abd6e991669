//! What servers ask of the client and tell it, in the form of either era.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mce_broker::{
    ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, Progress,
    ToolAnswer, ToolCall, UpstreamError,
};
use mce_config::{HttpServer, HttpTransport, Origin};
use mce_test::HttpServerProcess;
use serde_json::{Map, Value, json};

use crate::bench::{Bench, call, fake, text, until};

/// A client that can do all, and keeps what it was asked and told.
#[derive(Debug, Default)]
pub(crate) struct Client {
    name: &'static str,
    asked: Mutex<Vec<ClientRequest>>,
    pub(crate) told: Mutex<Vec<Progress>>,
    logged: Mutex<Vec<LogMessage>>,
    refuses: bool,
    /// It thinks so long.
    pause: Duration,
    since: Mutex<Option<Instant>>,
    has_waited: AtomicBool,
}

impl ClientRequests for Client {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities {
            elicitation_url: false,
            ..ClientAbilities::ALL
        }
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        assert_eq!(request.server, "s");
        let kind = request.kind;
        self.asked.lock().unwrap().push(request);
        *self.since.lock().unwrap() = Some(Instant::now());
        let refused = ClientRefusal {
            message: "not today".to_owned(),
        };
        let answer = match kind {
            _ if self.refuses => Err(refused),
            ClientRequestKind::Roots => Ok(json!({"roots": [{"uri": "file:///work", "name": "work"}]})),
            ClientRequestKind::Sampling => Ok(json!({
                "role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m", "stopReason": "endTurn"
            })),
            ClientRequestKind::Elicitation => Ok(json!({"action": "accept", "content": {"name": self.name}})),
        };
        Box::pin(async move {
            tokio::time::sleep(self.pause).await;
            answer
        })
    }

    fn waited(&self) -> Duration {
        let waited = self.since.lock().unwrap().map(|since| since.elapsed()).unwrap_or_default();
        if waited > Duration::ZERO {
            self.has_waited.store(true, Ordering::Relaxed);
        }
        waited.min(self.pause)
    }

    fn progress(&self, progress: Progress) {
        self.told.lock().unwrap().push(progress);
    }

    fn log_level(&self) -> Option<LogLevel> {
        Some(LogLevel::Warning)
    }

    fn log(&self, message: &LogMessage) -> bool {
        self.logged.lock().unwrap().push(message.clone());
        true
    }
}

pub(crate) fn client(name: &'static str) -> (Arc<Client>, Arc<dyn ClientRequests>) {
    let client = Arc::new(Client { name, ..Client::default() });
    (Arc::clone(&client), client)
}

async fn ask(bench: &Bench, client: &Arc<dyn ClientRequests>, tool: &str) -> Result<ToolAnswer, UpstreamError> {
    let call = ToolCall {
        client: Some(client),
        ..call(tool, json!({}))
    };
    bench.upstreams.call_tool(call).await
}

#[tokio::test]
async fn questions_reach_the_client_and_its_answers_the_server() {
    for era in ["legacy", "modern"] {
        let (client, requests) = client("Ann");
        let bench = Bench::new(&json!({"era": era}));
        for (tool, part) in [("roots", "file:///work"), ("sampling", "hello"), ("elicitation", "Ann")] {
            let answer = text(&ask(&bench, &requests, tool).await.unwrap());
            assert!(answer.contains(part), "{era} {tool}: {answer}");
        }
        let asked = client.asked.lock().unwrap().clone();
        let kinds: Vec<ClientRequestKind> = asked.iter().map(|asked| asked.kind).collect();
        let expected = [
            ClientRequestKind::Roots,
            ClientRequestKind::Sampling,
            ClientRequestKind::Elicitation,
        ];
        assert_eq!(kinds, expected);
        assert_eq!(asked[1].params["maxTokens"], 5);
        assert_eq!(asked[2].params["message"], "Who?");
        assert_eq!(asked[2].params["requestedSchema"]["properties"]["name"]["type"], "string");
    }
}

#[tokio::test]
async fn a_refusal_reaches_the_server_or_ends_the_call_and_says_what_was_asked() {
    let refusing: Arc<dyn ClientRequests> = Arc::new(Client {
        refuses: true,
        ..Client::default()
    });
    let legacy = Bench::new(&json!({"era": "legacy"}));
    let said = text(&ask(&legacy, &refusing, "sampling").await.unwrap());
    assert!(said.contains("not today (it asked a language model: `hi`)"), "{said}");
    let modern = Bench::new(&json!({"era": "modern"}));
    let error = ask(&modern, &refusing, "elicitation").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "MCP server `s` cannot go on: not today (it asked the user: `Who?`)"
    );
    // Where there is no client at all, too.
    let said = text(&legacy.call("elicitation", json!({})).await.unwrap());
    assert!(
        said.contains("does not offer this kind of elicitation) (it asked the user: `Who?`)"),
        "{said}"
    );
    assert_eq!(legacy.text("roots", json!({})).await, r#"{"roots": []}"#);
}

#[tokio::test]
async fn servers_with_initialize_are_told_all_and_others_what_this_client_can() {
    let (_, requests) = client("Ann");
    for (era, expected) in [
        (
            "legacy",
            json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}),
        ),
        ("modern", json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}}})),
    ] {
        let bench = Bench::new(&json!({"era": era}));
        let seen: Vec<Value> = serde_json::from_str(&text(&ask(&bench, &requests, "seen").await.unwrap())).unwrap();
        let mut told = seen.iter().filter_map(|message| {
            let meta = &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            [&message["params"]["capabilities"], meta]
                .into_iter()
                .find(|found| found.is_object())
        });
        assert_eq!(told.next_back(), Some(&expected), "{era}");
        let level = &seen.last().unwrap()["params"]["_meta"]["io.modelcontextprotocol/logLevel"];
        assert_eq!(level, &if era == "modern" { json!("warning") } else { Value::Null });
    }
}

#[tokio::test]
async fn a_question_waits_until_it_is_clear_whose_it_is() {
    let bench = Bench::new(&json!({}));
    bench.upstreams.connect("s").await.unwrap();
    let ((ann, for_ann), (bob, for_bob)) = (client("Ann"), client("Bob"));
    let mut other = Box::pin(ask(&bench, &for_bob, "never"));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut other).await.is_err());
    let mut asking = Box::pin(ask(&bench, &for_ann, "elicitation"));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut asking).await.is_err());
    assert!(ann.asked.lock().unwrap().is_empty() && bob.asked.lock().unwrap().is_empty());
    drop(other);
    assert!(text(&asking.await.unwrap()).contains("Ann"));
    assert!(bob.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn two_that_are_asked_at_once_are_not_mixed() {
    let bench = Bench::new(&json!({}));
    bench.upstreams.connect("s").await.unwrap();
    let ((_, for_ann), (_, for_bob)) = (client("Ann"), client("Bob"));
    let (first, second) = tokio::join!(ask(&bench, &for_ann, "elicitation"), ask(&bench, &for_bob, "elicitation"));
    // Whether both were asked at once is chance.
    for (said, name) in [(text(&first.unwrap()), "Ann"), (text(&second.unwrap()), "Bob")] {
        assert!(
            said.contains("several calls are under way") || said.contains(name),
            "{name}: {said}"
        );
    }
    // Now it is known that the server asks.
    for _ in 0..5 {
        let (first, second) = tokio::join!(ask(&bench, &for_ann, "elicitation"), ask(&bench, &for_bob, "elicitation"));
        let (first, second) = (text(&first.unwrap()), text(&second.unwrap()));
        assert!(first.contains("Ann") && second.contains("Bob"), "{first} {second}");
    }
}

#[tokio::test]
async fn over_streamable_http_each_question_belongs_to_its_call() {
    let server = HttpServerProcess::fake_mcp(&json!({"http": "events"}));
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let transport = HttpTransport::Auto;
    let bench = Bench::of(Origin::McpHttp(HttpServer { url, transport }), |_| {});
    let ((_, for_ann), (_, for_bob)) = (client("Ann"), client("Bob"));
    bench.upstreams.connect("s").await.unwrap();
    for _ in 0..3 {
        let (first, second) = tokio::join!(ask(&bench, &for_ann, "elicitation"), ask(&bench, &for_bob, "elicitation"));
        let (first, second) = (text(&first.unwrap()), text(&second.unwrap()));
        assert!(first.contains("Ann") && second.contains("Bob"), "{first} {second}");
    }
}

#[tokio::test]
async fn the_time_of_the_user_is_not_that_of_the_call() {
    for era in ["legacy", "modern"] {
        let bench = Bench::with(&json!({"era": era}), |server| {
            server.upstream.call_timeout = Duration::from_millis(500);
        });
        bench.upstreams.connect("s").await.unwrap();
        let slow = Arc::new(Client {
            pause: Duration::from_secs(1),
            ..Client::default()
        });
        let requests: Arc<dyn ClientRequests> = Arc::<Client>::clone(&slow);
        assert!(ask(&bench, &requests, "elicitation").await.is_ok(), "{era}");
        assert!(slow.has_waited.load(Ordering::Relaxed));
        let error = ask(&bench, &requests, "never").await.unwrap_err();
        assert!(matches!(error, UpstreamError::NotInTime { .. }), "{error}");
    }
}

#[tokio::test]
async fn progress_and_logs_reach_the_client_of_the_call_without_secrets() {
    let bench = Bench::of(Origin::McpStdio(fake(&json!({}))), |server| {
        server.extra_headers = vec![("X-Key".to_owned(), mce_config::Secret::new("the-secret-key-1"))];
    });
    let ((ann, for_ann), (bob, for_bob)) = (client("Ann"), client("Bob"));
    assert_eq!(text(&ask(&bench, &for_ann, "progress").await.unwrap()), "done");
    // Notifications are handled beside the answers.
    until("the last report", || ann.told.lock().unwrap().len() == 2).await;
    let last = ann.told.lock().unwrap().last().unwrap().clone();
    assert_eq!(
        (last.progress, last.total, last.message.as_deref()),
        (2.0, Some(2.0), Some("step 2"))
    );
    assert!(bob.told.lock().unwrap().is_empty());
    let arguments: Map<String, Value> = serde_json::from_value(json!({"level": "error", "data": {"key": "the-secret-key-1"}})).unwrap();
    let log = ToolCall {
        client: Some(&for_bob),
        arguments,
        ..call("log", json!({}))
    };
    bench.upstreams.call_tool(log).await.unwrap();
    until("the log", || bob.logged.lock().unwrap().len() == 1).await;
    let logged = bob.logged.lock().unwrap()[0].clone();
    assert_eq!((logged.level, logged.logger.as_deref()), (LogLevel::Error, Some("fake")));
    assert_eq!(logged.data, json!({"key": "[redacted]"}));
}
