//! Our side of connections to MCP servers, as the client that the conformance suite of MCP looks at: `conformance_client URL`.
//! It lists the tools, calls each, and logs in where that is wanted; the authorization servers of the suite ask nobody.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mce_broker::{
    ClientAbilities, ClientAnswer, ClientRequest, ClientRequestKind, ClientRequests, Login, LoginNeed, LoginWay, ToolCall, UpstreamError,
    Upstreams,
};
use mce_config::env::{Environment, snapshot};
use mce_config::{LoadOptions, Secret, Settings, load};
use serde_json::{Map, Value, json};

/// Logins in a row.
const MAX_LOGINS: usize = 3;
/// What the suite takes for our document.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";

type Failed = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let environment = snapshot();
    let url = std::env::args().next_back().ok_or("no URL")?;
    let folder = std::env::temp_dir().join(format!("mce-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = run(&environment, &url, folder.clone()).await;
    std::fs::remove_dir_all(folder)?;
    done
}

async fn run(environment: &Environment, url: &str, folder: PathBuf) -> Result<(), Failed> {
    let context = environment.get("MCP_CONFORMANCE_CONTEXT").map_or("{}", String::as_str);
    let context: Value = serde_json::from_str(context)?;
    let settings = settings(environment, &context, url, folder)?;
    let client: Arc<dyn ClientRequests> = Arc::new(Person);
    let upstreams = Upstreams::with_client(&settings, &client);
    let mut logins = 0;
    let tools = loop {
        match upstreams.list_tools("s").await {
            Ok(list) => break list.tools,
            Err(error) => log_in(&upstreams, error, &mut logins).await?,
        }
    };
    for call in calls(&context, &tools) {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = call.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
        loop {
            let call = ToolCall {
                server: "s",
                tool: name,
                arguments: arguments.clone(),
                client: Some(&client),
            };
            match upstreams.call_tool(call).await {
                // A tool that fails is no failure of the client.
                Ok(_) | Err(UpstreamError::Refused { .. }) => break,
                Err(error) => log_in(&upstreams, error, &mut logins).await?,
            }
        }
    }
    upstreams.close().await;
    Ok(())
}

fn settings(environment: &Environment, context: &Value, url: &str, folder: PathBuf) -> Result<Settings, Failed> {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let era = match environment.get("MCP_CONFORMANCE_PROTOCOL_VERSION").map(String::as_str) {
        Some(version) if version >= "2026-07-28" => "modern",
        Some(_) | None => "legacy",
    };
    let server = json!({"servers": {"s": {"url": url, "era": era}}});
    std::fs::write(folder.join("mce.yaml"), server.to_string())?;
    let (mut settings, _) = load(&LoadOptions {
        config_file: None,
        env_file: None,
        working_dir: folder,
        environment: BTreeMap::from([("MCE_DISCOVER".to_owned(), "false".to_owned())]),
        arguments: BTreeMap::new(),
    })?;
    let server = settings.servers.first_mut().ok_or("no server")?;
    server.upstream.oauth.client_id = text("client_id");
    server.upstream.oauth.client_secret = text("client_secret").map(Secret::new);
    server.upstream.oauth.client_metadata_url = Some(CLIENT_METADATA_URL.to_owned());
    Ok(settings)
}

/// Those that the suite asks for, else one of each tool.
fn calls(context: &Value, tools: &[Value]) -> Vec<Value> {
    match context
        .get("toolCalls")
        .or_else(|| context.get("tool_calls"))
        .and_then(Value::as_array)
    {
        Some(calls) => calls.clone(),
        None => tools.iter().map(|tool| call_of(tool, tools)).collect(),
    }
}

fn call_of(tool: &Value, tools: &[Value]) -> Value {
    let mut arguments = arguments(tool.get("inputSchema"));
    // One scenario wants to have the schema of its first tool back.
    if let (Some(schema), Some(first)) = (
        arguments.get_mut("schema"),
        tools.first().and_then(|first| first.get("inputSchema")),
    ) {
        *schema = first.clone();
    }
    json!({"name": tool.get("name"), "arguments": arguments})
}

/// A value for each property.
fn arguments(schema: Option<&Value>) -> Map<String, Value> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => json!("test"),
    };
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), schema.get("default").cloned().unwrap_or_else(|| value(schema))))
        .collect()
}

/// Logs in if that is what the error asks for, and not for ever.
async fn log_in(upstreams: &Upstreams, error: UpstreamError, logins: &mut usize) -> Result<(), Failed> {
    let wants_login = match &error {
        UpstreamError::Unauthorized { need, .. } => *need != LoginNeed::Configured,
        _ => false,
    };
    if !wants_login || *logins == MAX_LOGINS {
        return Err(error.into());
    }
    *logins += 1;
    let Login::Browser(login) = upstreams.begin_login("s", LoginWay::Any).await? else {
        return Err("it has no place for browsers".into());
    };
    let answer = browse(login.url().as_str()).await?;
    login.finish(&answer).await?;
    Ok(())
}

/// Where a browser would be sent to.
#[expect(clippy::disallowed_methods, reason = "a browser is no part of the product")]
async fn browse(url: &str) -> Result<String, Failed> {
    let browser = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()?;
    let answer = browser.get(url).send().await?;
    let location = answer
        .headers()
        .get("location")
        .ok_or("the authorization server redirects nowhere")?;
    Ok(location.to_str()?.to_owned())
}

/// Somebody who agrees to what is proposed.
#[derive(Debug)]
struct Person;

impl ClientRequests for Person {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities {
            roots: true,
            sampling: true,
            elicitation_form: true,
            elicitation_url: false,
        }
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        Box::pin(async move {
            let content = arguments(request.params.get("requestedSchema"));
            Ok(match request.kind {
                ClientRequestKind::Elicitation => json!({"action": "accept", "content": content}),
                ClientRequestKind::Sampling => {
                    json!({"role": "assistant", "model": "none", "content": {"type": "text", "text": "an answer"}})
                }
                ClientRequestKind::Roots => json!({"roots": []}),
            })
        })
    }
}
