//! What servers ask of the client, in the form of either era.

use std::sync::{Arc, Mutex};

use mce_broker::{ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, ToolCall, Upstreams};
use mce_config::Origin;
use serde_json::{Map, Value, json};

use crate::bench::{fake, settings, text};

/// A client that can do all, and keeps what it was asked.
#[derive(Debug, Default)]
struct Client {
    asked: Mutex<Vec<(ClientRequestKind, Value)>>,
    refuses: bool,
}

impl ClientRequests for Client {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities {
            roots: true,
            sampling: true,
            elicitation_form: true,
            elicitation_url: true,
        }
    }

    fn answer<'a>(&'a self, request: ClientRequest<'a>) -> ClientAnswer<'a> {
        assert_eq!(request.server, "s");
        self.asked.lock().unwrap().push((request.kind, request.params));
        let refused = ClientRefusal {
            message: "not today".to_owned(),
        };
        let answer = match request.kind {
            _ if self.refuses => Err(refused),
            ClientRequestKind::Roots => Ok(json!({"roots": [{"uri": "file:///work", "name": "work"}]})),
            ClientRequestKind::Sampling => Ok(json!({
                "role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m", "stopReason": "endTurn"
            })),
            ClientRequestKind::Elicitation => Ok(json!({"action": "accept", "content": {"name": "Ann"}})),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn call(tool: &str) -> ToolCall<'_> {
    ToolCall {
        server: "s",
        tool,
        arguments: Map::new(),
        progress: None,
    }
}

#[tokio::test]
async fn requests_reach_the_client_and_its_answers_the_server() {
    for era in ["legacy", "modern"] {
        let client = Arc::new(Client::default());
        let (settings, _folder) = settings(Origin::McpStdio(fake(&json!({"era": era}))), |_| {});
        let upstreams = Upstreams::with_client(&settings, &(Arc::clone(&client) as Arc<dyn ClientRequests>));
        for (tool, part) in [("roots", "file:///work"), ("sampling", "hello"), ("elicitation", "Ann")] {
            let answer = text(&upstreams.call_tool(call(tool)).await.unwrap());
            assert!(answer.contains(part), "{era} {tool}: {answer}");
        }
        let asked = client.asked.lock().unwrap().clone();
        let kinds: Vec<ClientRequestKind> = asked.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                ClientRequestKind::Roots,
                ClientRequestKind::Sampling,
                ClientRequestKind::Elicitation
            ]
        );
        assert_eq!(asked[1].1["maxTokens"], 5);
        assert_eq!(asked[2].1["message"], "Who?");
        assert_eq!(asked[2].1["requestedSchema"]["properties"]["name"]["type"], "string");
    }
}

#[tokio::test]
async fn a_refusal_reaches_the_server_or_ends_the_call() {
    let refusing = |era: &str| {
        let client: Arc<dyn ClientRequests> = Arc::new(Client {
            refuses: true,
            ..Client::default()
        });
        let (settings, folder) = settings(Origin::McpStdio(fake(&json!({"era": era}))), |_| {});
        (Upstreams::with_client(&settings, &client), folder)
    };
    let (legacy, _folder) = refusing("legacy");
    assert!(text(&legacy.call_tool(call("sampling")).await.unwrap()).contains("not today"));
    let (modern, _folder) = refusing("modern");
    let error = modern.call_tool(call("sampling")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "MCP server `s` needs a language model, which the client of this server cannot give"
    );
}
