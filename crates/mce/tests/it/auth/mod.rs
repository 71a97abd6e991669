//! Logins at MCP servers, with an authorization server that others wrote.

mod api_people;
mod device;
mod providers;
mod scopes;
mod ways;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mce_test::{FakeApi, OAuthServer};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Ended, Project, shop_document};

/// A project with the server `notes`, and further lines of its entry.
fn project(server: &OAuthServer, more: &str) -> Project {
    let project = Project::empty().with("BROWSER", &OAuthServer::browser());
    project.write("mce.yaml", &format!("servers:\n  Notes:\n    url: {}\n{more}", server.url));
    project
}

fn log_in(project: &Project) -> Value {
    log_in_to(project, "notes")
}

fn log_in_to(project: &Project, server: &str) -> Value {
    let ended = project.run(&["auth", "login", server, "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.json()
}

fn logged_in(behaviour: &Value, more: &str) -> Option<(OAuthServer, Project)> {
    let server = OAuthServer::start(behaviour)?;
    let project = project(&server, more);
    log_in(&project);
    Some((server, project))
}

fn call(project: &Project, tool: &str) -> Ended {
    project.run(&["call", &format!("notes.{tool}"), "--json", "{}"])
}

fn file_of_login(project: &Project) -> PathBuf {
    let files = std::fs::read_dir(project.file("data/logins")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|end| end == "json")).unwrap()
}

/// What the kept login holds.
fn kept(project: &Project) -> Value {
    let file = file_of_login(project);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        std::fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777,
        0o700
    );
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_person_logs_in_and_programs_use_it_until_they_log_out() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = project(&server, "");
    let refused = project.run(&["compile", "--json"]);
    assert!(refused.out.contains("run `mce auth login notes`"), "{refused:?}");
    assert_eq!(
        project.run(&["auth", "status", "--json"]).json(),
        json!([{"server": "notes", "logged_in": false}])
    );

    let login = log_in(&project);
    assert_eq!(
        (&login["issuer"], &login["renewable"], &login["functions"]),
        (&json!(server.issuer), &json!(true), &json!(3))
    );
    let told = server.told();
    assert_eq!(
        (&told["registrations"], &told["grants"]),
        (&json!(1), &json!(["authorization_code"]))
    );
    assert!(told["resources"].as_array().unwrap().iter().all(|one| *one == server.url), "{told}");
    assert_eq!(kept(&project)["resource"], server.url);

    let answer = call(&project, "whoami");
    assert_eq!(answer.json()["who"], "ann", "{answer:?}");
    let status = project.run(&["auth", "status", "notes", "--json"]).json();
    assert_eq!((&status[0]["logged_in"], &status[0]["wanted_scopes"]), (&json!(true), &json!([])));

    let ended = project.run(&["auth", "logout", "NOTES", "--json"]);
    assert_eq!(ended.json()["was_logged_in"], true, "{ended:?}");
    assert_eq!(server.told()["revocations"], 1);
    let refused = call(&project, "whoami");
    assert_eq!(refused.error()["hint"], "run `mce auth login notes`", "{refused:?}");
}

#[test]
fn tokens_come_back_nowhere() {
    let Some((_server, project)) = logged_in(&json!({}), "") else {
        return;
    };
    let kept = kept(&project);
    let token = &kept["credentials"]["token_response"];
    let secrets = [token["access_token"].as_str().unwrap(), token["refresh_token"].as_str().unwrap()];
    let project = project.with("MCE_LOG_LEVEL", "debug");
    let answer = call(&project, "echo_token");
    assert_eq!(answer.json()["token"], "[redacted]", "{answer:?}");
    let mut texts = vec![answer.out, answer.err];
    for args in [
        &["config", "show"][..],
        &["auth", "status"],
        &["auth", "status", "--json"],
        &["doctor"],
        &["functions", "notes", "--json"],
    ] {
        let ended = project.run(args);
        texts.extend([ended.out, ended.err]);
    }
    texts.push(std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap());
    for (secret, text) in secrets.iter().flat_map(|secret| texts.iter().map(move |text| (secret, text))) {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn a_token_that_is_not_taken_any_more_is_renewed_once_for_all_calls() {
    let Some((server, project)) = logged_in(&json!({}), "") else {
        return;
    };
    server.control(&json!({"refuse": true}));
    project.write(
        "p.py",
        "from notes.aio import whoami\nimport asyncio\nresult = await asyncio.gather(*[whoami() for _ in range(8)])\n",
    );
    // Two processes at the same time.
    let both: Vec<_> = (0..2)
        .map(|_| {
            let mut command = project.command(&["exec", "p.py", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in both {
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(answer["data"].as_array().map(Vec::len), Some(8), "{answer}");
    }
    assert_eq!(server.told()["grants"], json!(["authorization_code", "refresh_token"]));
}

#[test]
fn a_token_is_renewed_before_it_ends() {
    let Some((server, project)) = logged_in(&json!({}), "") else {
        return;
    };
    let mut grant = kept(&project);
    let received = &mut grant["credentials"]["token_received_at"];
    // It was made an hour ago, and lasts as long.
    *received = json!(received.as_u64().unwrap() - 3600);
    std::fs::write(file_of_login(&project), grant.to_string()).unwrap();
    assert_eq!(call(&project, "whoami").json()["who"], "ann");
    let told = server.told();
    assert_eq!(
        (&told["grants"], &told["failures"]),
        (&json!(["authorization_code", "refresh_token"]), &json!([]))
    );
    assert_eq!(call(&project, "whoami").json()["who"], "ann");
    assert_eq!(server.told()["grants"], told["grants"]);
}

#[test]
fn a_login_that_was_ended_elsewhere_is_forgotten_and_told() {
    let Some((server, project)) = logged_in(&json!({}), "") else {
        return;
    };
    server.control(&json!({"revoke": true}));
    let refused = call(&project, "whoami");
    assert_eq!(
        refused.error()["message"],
        "MCP server `notes` wants a new login: it has ended the last one",
        "{refused:?}"
    );
    assert_eq!(refused.error()["hint"], "run `mce auth login notes`");
    assert_eq!(kept(&project)["credentials"], Value::Null);
    assert_eq!(server.told()["failures"], json!(["invalid_grant"]));
    // It is not asked for again.
    assert_eq!(call(&project, "whoami").error()["hint"], "run `mce auth login notes`");
    assert_eq!(server.told()["failures"], json!(["invalid_grant"]));
    log_in(&project);
    assert_eq!(call(&project, "whoami").json()["who"], "ann");
}

#[test]
fn a_client_that_is_not_known_any_more_registers_again_at_the_next_login() {
    let Some((server, project)) = logged_in(&json!({}), "") else {
        return;
    };
    server.control(&json!({"refuse": true, "forget": true}));
    let refused = call(&project, "whoami");
    let message = refused.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("does not know this client any more"), "{refused:?}");
    log_in(&project);
    assert_eq!(call(&project, "whoami").json()["who"], "ann");
    assert_eq!(server.told()["registrations"], 2);
}

#[test]
fn rights_that_a_call_lacks_are_asked_for_at_the_next_login() {
    let Some((server, project)) = logged_in(&json!({}), "") else {
        return;
    };
    let refused = call(&project, "write_note");
    assert_eq!(
        refused.error()["message"],
        "MCP server `notes` wants a login with more rights: `notes:write`",
        "{refused:?}"
    );
    let status = project.run(&["auth", "status", "--json"]).json();
    assert_eq!(status[0]["wanted_scopes"], json!(["notes:write"]));
    log_in(&project);
    let scope = call(&project, "write_note").json()["scope"].as_str().unwrap().to_owned();
    assert!(scope.contains("notes:read") && scope.contains("notes:write"), "{scope}");
    assert_eq!(server.told()["calls"], json!(["write_note"]));
}

#[test]
fn a_client_that_was_registered_before_is_used_with_its_secret() {
    let Some(server) = OAuthServer::start(&json!({"registers": false})) else {
        return;
    };
    let none = project(&server, "").run(&["auth", "login", "notes", "--json"]);
    assert_eq!(none.code, 1);
    let error = none.error();
    assert!(
        error["message"].as_str().unwrap().contains("has no registration of clients"),
        "{none:?}"
    );
    assert!(error["hint"].as_str().unwrap().contains("`client_id` below `oauth`"), "{none:?}");

    let more = "    oauth: {client_id: known-client, client_secret: \"${NOTES_SECRET}\", scopes: [\"notes:read\"]}\n";
    let project = project(&server, more).with("NOTES_SECRET", "known-client-secret-4711");
    assert_eq!(log_in(&project)["logged_in"], true);
    server.control(&json!({"refuse": true}));
    assert_eq!(call(&project, "whoami").json()["scope"], "notes:read");
    let told = server.told();
    assert_eq!(
        (&told["registrations"], &told["grants"]),
        (&json!(0), &json!(["authorization_code", "refresh_token"]))
    );
    let shown = project.run(&["config", "show"]);
    assert!(
        shown.out.contains("known-client") && !shown.out.contains("known-client-secret"),
        "{shown:?}"
    );

    let wrong = project.with("NOTES_SECRET", "another-secret-4711");
    let refused = wrong.run(&["auth", "login", "notes", "--json"]);
    assert!(
        refused.error()["message"].as_str().unwrap().contains("`invalid_client`"),
        "{refused:?}"
    );
}

/// Begins a login with the URL pasted; gives what the program ended with.
fn paste(project: &Project, answer: impl FnOnce(&str) -> String) -> Ended {
    let mut child = project
        .command(&["auth", "login", "notes", "--no-browser", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", answer(said["url"].as_str().unwrap())).unwrap();
    let mut err = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut err).unwrap();
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err,
    }
}

/// Where the browser is sent at last.
#[expect(clippy::disallowed_methods, reason = "a program of the tests")]
fn end_of(url: &str) -> String {
    let browser = OAuthServer::browser();
    let (program, script) = browser.split_once(' ').unwrap();
    let output = Command::new(program).args([script, "--stop", url]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_url_at_which_a_browser_ended_can_be_pasted() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = project(&server, "");
    let ended = paste(&project, end_of);
    assert_eq!(ended.json()["logged_in"], true, "{ended:?}");

    let wrong = paste(&project, |url| end_of(url).replace("iss=http", "iss=https"));
    let message = wrong.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("comes from another authorization server"), "{wrong:?}");
    let other = paste(&project, |url| end_of(url).replace("state=", "state=x"));
    assert_eq!(
        other.error()["message"],
        "this is no answer to this login: it belongs to another login",
        "{other:?}"
    );
    // Somebody else's answer at the port of this login is told at once, and ends nothing.
    let called = paste(&project, |url| {
        let url: url::Url = url.parse().unwrap();
        let back = url.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1;
        let back: url::Url = back.parse().unwrap();
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", back.port().unwrap())).unwrap();
        write!(stream, "GET {}?code=x&state=other HTTP/1.1\r\nHost: x\r\n\r\n", back.path()).unwrap();
        std::io::Read::read_to_string(&mut stream, &mut String::new()).unwrap();
        end_of(url.as_str())
    });
    assert_eq!(called.json()["logged_in"], true, "{called:?}");
    assert!(called.err.contains("it belongs to another login"), "{called:?}");
    // The old login is as it was.
    assert_eq!(project.run(&["auth", "status", "--json"]).json()[0]["logged_in"], true);
}

#[test]
fn a_person_who_is_not_let_in_is_told_so() {
    let Some(server) = OAuthServer::start(&json!({"denies": true})) else {
        return;
    };
    let ended = project(&server, "").run(&["auth", "login", "notes", "--json"]);
    assert_eq!(
        ended.error()["message"],
        format!("`{}` did not let you in: `access_denied`: Ann said no", server.issuer),
        "{ended:?}"
    );
}

#[test]
fn servers_that_want_no_login_are_told_apart() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let more = "    headers: {Authorization: \"Bearer ${T}\"}\n  Files:\n    command: x\n  Off:\n    url: http://127.0.0.1:1/mcp\n    oauth: false\n";
    let project = project(&server, more).with("T", "a-token-of-mine");
    for (name, part) in [
        ("notes", "a credential is configured for it"),
        ("files", "it is not reached over HTTP"),
        ("off", "its `oauth` is `false`"),
        ("nobody", "there is no server `nobody`"),
    ] {
        let ended = project.run(&["auth", "login", name, "--json"]);
        assert!(ended.error()["message"].as_str().unwrap().contains(part), "{ended:?}");
    }
    let refused = project.run(&["compile", "--server", "notes", "--json"]);
    assert!(
        refused.out.contains("does not accept the credential that is configured"),
        "{refused:?}"
    );
}

#[test]
fn serving_goes_on_without_a_login_and_takes_one_that_is_made_meanwhile() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = project(&server, "");
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let listed = client.call("list_servers", json!({})).0;
    assert_eq!(listed["servers"][0]["error"], "MCP server `notes` wants a login", "{listed}");
    assert_eq!(listed["servers"][0]["hint"], "run `mce auth login notes`");
    let doctor = project.run(&["doctor"]);
    assert!(doctor.out.contains("run `mce auth login notes`"), "{doctor:?}");
    log_in(&project);
    let program = "from notes.functions import whoami\nresult = whoami()['who']";
    assert_eq!(client.run(program)["data"], "ann");
    server.control(&json!({"revoke": true}));
    let refused = client.run(program);
    assert_eq!(refused["error"]["hint"], "run `mce auth login notes`", "{refused}");
    log_in(&project);
    let answer = client.run(program);
    assert_eq!(answer["data"], "ann", "{answer}");
}

#[test]
fn an_api_is_called_with_the_token_of_client_credentials() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let api = FakeApi::start();
    let project = Project::empty().with("MACHINE_SECRET", "machine-secret-0815");
    project.write("shop.json", &shop_document().to_string());
    let entry = |secret: &str| {
        let login = format!(
            "{{type: oauth2, token_url: {}/token, client_id: machine, client_secret: {secret}}}",
            server.issuer
        );
        format!(
            "servers:\n  shop:\n    openapi: ./shop.json\n    base_url: {}\n    auth: {login}\n",
            api.origin()
        )
    };
    project.write("mce.yaml", &entry("\"${MACHINE_SECRET}\""));
    assert_eq!(project.run(&["compile"]).code, 0);
    project.write(
        "p.py",
        "from shop.functions import get_item\nresult = [get_item(id=str(n)) for n in range(5)]\n",
    );
    let ended = project.run(&["exec", "p.py", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let requests = api.take_requests();
    let fields: std::collections::BTreeSet<_> = requests.iter().map(|request| request.header("authorization").unwrap()).collect();
    assert_eq!((requests.len(), fields.len()), (5, 1));
    assert!(fields.first().unwrap().starts_with("Bearer "), "{fields:?}");
    assert_eq!(server.told()["grants"], json!(["client_credentials"]));

    project.write("mce.yaml", &entry("not-the-secret"));
    let error = project.run(&["call", "shop.get_item", "--json", r#"{"id": "5"}"#]).error();
    assert_eq!(error["type"], "api", "{error}");
    assert!(error["message"].as_str().unwrap().contains("invalid_client"), "{error}");
    assert!(
        !error.to_string().contains("not-the-secret") && !error.to_string().contains("127.0.0.1"),
        "{error}"
    );
    assert!(api.requests().is_empty());
}
