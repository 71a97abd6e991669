//! Names and documents that lead into private networks. The names stand in a file of hosts that only the program sees.

use std::process::Command;

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::project::{Ended, Project, shop_document};

/// A public name of a private place, and one of a cloud's service for credentials.
const HOSTS: &str = "127.0.0.1 localhost\n127.0.0.1 api.example.com\n169.254.169.254 metadata.example.com\n127.0.0.1 nas.local\n";

/// The program where these hosts are known.
#[expect(clippy::disallowed_methods, reason = "tests start the program as a person does")]
fn run(project: &Project, args: &[&str]) -> Ended {
    project.write("hosts", HOSTS);
    let program = project.command(args);
    let mut command = Command::new("unshare");
    // Of root too: a mount is made, which the machine must not keep.
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command
        .args(["mount --bind \"$0\" /etc/hosts && exec \"$@\""])
        .arg(project.file("hosts"));
    command.arg(program.get_program()).args(program.get_args());
    command.env_clear().current_dir(project.path());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ended::of(command.output().unwrap())
}

fn port(api: &FakeApi) -> String {
    api.origin().rsplit(':').next().unwrap().to_owned()
}

fn project(server: &str) -> Project {
    let project = Project::empty();
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &format!("servers:\n  shop:\n    openapi: ./shop.json\n{server}"));
    project
}

fn call(project: &Project) -> Result<Value, Value> {
    assert_eq!(run(project, &["compile"]).code, 0);
    let ended = run(project, &["call", "shop.get_item", "--json", "{\"id\": \"1\"}"]);
    if ended.code == 0 { Ok(ended.json()) } else { Err(ended.error()) }
}

#[test]
fn a_public_name_leads_into_a_private_network_only_where_that_was_meant() {
    let api = FakeApi::start();
    let at = |host: &str, more: &str| project(&format!("    base_url: http://{host}:{}\n{more}", port(&api)));
    let refused = call(&at("api.example.com", "")).unwrap_err();
    assert_eq!(
        (&refused["type"], &refused["message"]),
        (&json!("policy"), &json!("`api.example.com` leads to a private address"))
    );
    assert!(refused["hint"].as_str().unwrap().contains("allow_private: true"), "{refused}");
    assert!(api.take_requests().is_empty());

    for meant in [
        at("api.example.com", "    allow_private: true\n"),
        at("api.example.com", "").with("MCE_SHOP_ALLOW_PRIVATE", "true"),
        at("api.example.com", "").with("MCE_ALLOWED_DOMAINS", "127.0.0.1"),
        at("nas.local", ""),
        at("localhost", ""),
    ] {
        call(&meant).unwrap();
        assert_eq!(api.take_requests().len(), 1);
    }
    let refused = call(&at("metadata.example.com", "    allow_private: true\n")).unwrap_err();
    assert_eq!(refused["type"], "policy", "{refused}");
}

#[test]
fn what_only_a_document_names_is_public() {
    let api = FakeApi::start();
    let hosts = [
        "nas.local",
        "10.0.0.1",
        "167772161",
        "0xa.1",
        "012.0.0.1",
        "0.0.0.0",
        "[::]",
        "[::ffff:10.0.0.1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "metadata.example.com",
        "api.example.com",
    ];
    for host in hosts {
        let project = project("");
        let mut document = shop_document();
        document["servers"] = json!([{"url": format!("http://{host}:{}", port(&api))}]);
        project.write("shop.json", &document.to_string());
        let refused = call(&project).unwrap_err();
        assert_eq!(refused["type"], "policy", "{host}: {refused}");
    }
    assert!(api.take_requests().is_empty());
}

#[test]
fn only_a_file_names_this_machine() {
    let api = FakeApi::start();
    for host in ["127.0.0.1", "localhost", "2130706433"] {
        let mut document = shop_document();
        document["servers"] = json!([{"url": format!("http://{host}:{}", port(&api))}]);
        let project = project("");
        project.write("shop.json", &document.to_string());
        call(&project).unwrap();
        assert_eq!(api.take_requests().len(), 1);
        // The same document at another host: what serves it is not this machine for whoever wrote it.
        let other = FakeApi::start();
        let text = document.to_string();
        other.answer_with(move |_| FakeAnswer::new(200, "application/json", text.clone()));
        let place = format!("http://nas.local:{}/shop.json", port(&other));
        project.write("mce.yaml", &format!("servers:\n  shop:\n    openapi: {place}\n"));
        let refused = call(&project).unwrap_err();
        assert_eq!(refused["type"], "policy", "{host}: {refused}");
    }
    assert!(api.take_requests().is_empty());
}

#[test]
fn documents_and_mcp_servers_are_not_looked_for_in_private_networks() {
    let api = FakeApi::start();
    let project = Project::empty();
    let place = format!("http://api.example.com:{}", port(&api));
    project.write(
        "mce.yaml",
        &format!("servers:\n  shop:\n    openapi: {place}/openapi.json\n  tools:\n    url: {place}/mcp\n"),
    );
    let ended = run(&project, &["compile", "--json"]);
    let servers = ended.json()["servers"].to_string();
    assert!(servers.contains("leads to `127.0.0.1`, which is no public address"), "{servers}");
    assert!(servers.contains("MCE_TOOLS_ALLOW_PRIVATE=true"), "{servers}");
    assert!(api.take_requests().is_empty());
}
