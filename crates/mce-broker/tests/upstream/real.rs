//! MCP servers that others wrote, as `scripts/install-mcp-servers` installs them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use mce_broker::{ToolCall, UpstreamStatus};
use mce_config::{Era, HttpServer, HttpTransport, Origin, Secret, StdioServer};
use mce_test::{HttpServerProcess, git_repository, installed_servers as installed};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::asking::client;
use crate::bench::{Bench, call, text};

fn node(folder: &Path, server: &str) -> PathBuf {
    folder.join("node_modules/@modelcontextprotocol").join(server).join("dist/index.js")
}

fn stdio(command: &str, args: &[&str], env: &[(&str, &str)]) -> Origin {
    Origin::McpStdio(StdioServer {
        command: command.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
            .collect::<BTreeMap<_, _>>(),
        cwd: None,
    })
}

/// A server, how many tools it has, one call, and a part of the answer.
struct Expected<'a> {
    origin: Origin,
    tools: usize,
    call: (&'a str, Value),
    part: &'a str,
    eras: &'a [Era],
}

async fn check(expected: Expected<'_>) {
    for era in expected.eras {
        let bench = Bench::of(expected.origin.clone(), |server| server.upstream.era = *era);
        let list = bench.upstreams.list_tools("s").await.unwrap();
        let (tool, arguments) = &expected.call;
        assert_eq!(list.tools.len(), expected.tools, "{tool} {era:?}");
        assert!(!list.title.is_empty());
        let answer = bench.call(tool, arguments.clone()).await.unwrap();
        assert!(!answer.is_error, "{tool} {era:?}: {answer:?}");
        let all = Value::from(answer.content).to_string();
        assert!(all.contains(expected.part), "{tool} {era:?}: {all}");
        bench.upstreams.close().await;
    }
}

#[tokio::test]
async fn servers_of_node_work() {
    let Some(folder) = installed() else {
        return;
    };
    let files = TempDir::new().unwrap();
    let path = files.path().canonicalize().unwrap();
    std::fs::write(path.join("hello.txt"), "hello there").unwrap();
    let memory = path.join("memory.json");
    let program = |server: &str| node(&folder, server).to_str().unwrap().to_owned();
    let path = path.to_str().unwrap();
    check(Expected {
        origin: stdio("node", &[&program("server-filesystem"), path], &[]),
        tools: 14,
        call: ("read_text_file", json!({"path": format!("{path}/hello.txt")})),
        part: "hello there",
        eras: &[Era::Auto],
    })
    .await;
    let entity = json!({"entities": [{"name": "Ann", "entityType": "person", "observations": ["is here"]}]});
    check(Expected {
        origin: stdio(
            "node",
            &[&program("server-memory")],
            &[("MEMORY_FILE_PATH", memory.to_str().unwrap())],
        ),
        tools: 9,
        call: ("create_entities", entity),
        part: "Ann",
        eras: &[Era::Auto],
    })
    .await;
    let thought = json!({"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1});
    check(Expected {
        origin: stdio("node", &[&program("server-sequential-thinking")], &[]),
        tools: 1,
        call: ("sequentialthinking", thought),
        part: "thoughtNumber",
        eras: &[Era::Auto],
    })
    .await;
}

#[tokio::test]
async fn servers_of_python_work() {
    let Some(folder) = installed() else {
        return;
    };
    let work = TempDir::new().unwrap();
    git_repository(work.path());
    let path = work.path().to_str().unwrap();
    let program = |environment: &str, name: &str| folder.join(environment).join("bin").join(name).to_str().unwrap().to_owned();
    check(Expected {
        origin: stdio(&program("python", "mcp-server-git"), &["--repository", path], &[]),
        tools: 12,
        call: ("git_log", json!({"repo_path": path})),
        part: "first",
        eras: &[Era::Auto, Era::Modern],
    })
    .await;
    check(Expected {
        origin: stdio(&program("python", "mcp-server-time"), &["--local-timezone", "UTC"], &[]),
        tools: 2,
        call: ("get_current_time", json!({"timezone": "Europe/Oslo"})),
        part: "Europe/Oslo",
        eras: &[Era::Auto, Era::Modern],
    })
    .await;
    let database = work.path().join("db.sqlite");
    check(Expected {
        origin: stdio(
            &program("old-python", "mcp-server-sqlite"),
            &["--db-path", database.to_str().unwrap()],
            &[],
        ),
        tools: 6,
        call: ("read_query", json!({"query": "SELECT 40 + 2 AS n"})),
        part: "42",
        eras: &[Era::Auto],
    })
    .await;
}

/// All that the reference server shows, whatever way it is reached.
async fn check_everything(bench: &Bench) {
    let names = bench.tool_names().await;
    assert!(names.len() >= 10 && names.contains(&"echo".to_owned()), "{names:?}");
    assert_eq!(bench.text("echo", json!({"message": "hi"})).await, "Echo: hi");
    let image = bench.call("get-tiny-image", json!({})).await.unwrap();
    assert!(
        image
            .content
            .iter()
            .any(|block| block["type"] == "image" && block["data"].is_string()),
        "{image:?}"
    );
    let structured = bench.call("get-structured-content", json!({"location": "New York"})).await.unwrap();
    assert!(structured.structured.unwrap()["temperature"].is_number());
    let (client, requests) = client("Ann");
    let arguments: Map<String, Value> = serde_json::from_value(json!({"duration": 0.4, "steps": 2})).unwrap();
    let long = bench.upstreams.call_tool(ToolCall {
        arguments,
        client: Some(&requests),
        ..call("trigger-long-running-operation", json!({}))
    });
    assert!(text(&long.await.unwrap()).contains("completed"));
    assert!(!client.told.lock().unwrap().is_empty());
    let UpstreamStatus::Connected { name, .. } = bench.state().status else {
        panic!("not connected");
    };
    assert!(name.contains("everything"));
}

#[tokio::test]
async fn the_reference_server_works_over_stdio() {
    let Some(folder) = installed() else {
        return;
    };
    let program = node(&folder, "server-everything");
    let bench = Bench::of(stdio("node", &[program.to_str().unwrap(), "stdio"], &[]), |_| {});
    check_everything(&bench).await;
    bench.upstreams.close().await;
}

async fn over_http(mode: &str, path: &str, transport: HttpTransport) {
    let Some(folder) = installed() else {
        return;
    };
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let program = node(&folder, "server-everything");
    let mut command = mce_jail::command("/usr/bin/env", Path::new("/"));
    command
        .args(["node", program.to_str().unwrap(), mode])
        .env("PORT", port.to_string());
    command.envs(mce_config::env::snapshot().get_key_value("PATH")).stdin(Stdio::null());
    let server = mce_jail::with_lasting_parent(move || command.spawn()).unwrap().unwrap();
    let _server = HttpServerProcess::of(server, port);
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        tokio::task::yield_now().await;
    }
    let url = format!("http://127.0.0.1:{port}{path}");
    let bench = Bench::of(Origin::McpHttp(HttpServer { url, transport }), |_| {});
    check_everything(&bench).await;
    bench.upstreams.close().await;
}

#[tokio::test]
async fn the_reference_server_works_over_streamable_http() {
    over_http("streamableHttp", "/mcp", HttpTransport::Auto).await;
}

#[tokio::test]
async fn the_reference_server_works_over_http_with_sse() {
    over_http("sse", "/sse", HttpTransport::Auto).await;
}
