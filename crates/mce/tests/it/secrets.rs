//! Secrets from files, commands and the keyring: read when they are needed, sent to the API, seen nowhere else.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::http::Server;
use crate::project::{Ended, Project, shop_document};
use crate::real_servers::installed;

const CALL: &[&str] = &["call", "shop.get_item", "--json", r#"{"id": "7"}"#];

/// The server `shop` whose token is this, and a command `give` that writes down that it ran.
fn project(api: &FakeApi, token: &str, give: &str) -> Project {
    let project = Project::empty();
    project.write("shop.json", &shop_document().to_string());
    project.write(
        "mce.yaml",
        &format!(
            "secrets:\n  given: {{command: [./give, it]}}\n  kept: {{keyring: {{service: shop, account: ann}}}}\n\
             servers:\n  shop:\n    openapi: ./shop.json\n    base_url: {}/v1\n    auth: {{type: jwt, token: {token}}}\n",
            api.origin()
        ),
    );
    project.write(
        "give",
        &format!("#!/bin/sh\necho ran >> {}\n{give}\n", project.file("ran").display()),
    );
    std::fs::set_permissions(project.file("give"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

fn runs(project: &Project) -> usize {
    std::fs::read_to_string(project.file("ran")).map_or(0, |text| text.lines().count())
}

/// The call is made with this token, which the API says again and nobody hears.
fn check_sent(api: &FakeApi, call: impl FnOnce() -> Ended, token: &str) {
    api.take_requests();
    api.answer_next(FakeAnswer::json(200, json!({"name": format!("you sent {token}")}).to_string()));
    let ended = call();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(
        api.take_requests()[0].header("authorization"),
        Some(format!("Bearer {token}").as_str())
    );
    assert!(
        ended.out.contains("you sent [redacted]") && !format!("{ended:?}").contains(token),
        "{ended:?}"
    );
}

#[test]
fn a_command_gives_a_secret_when_it_is_first_needed() {
    let api = FakeApi::start();
    for token in ["'${secret:given}'", "{command: [./give, it]}"] {
        let project = project(&api, token, "echo given-by-a-command-77");
        let shown = project.run(&["config", "show"]).out;
        assert!(shown.contains("*** from the command `"), "{shown}");
        assert_eq!(runs(&project), 0, "{token}");
        check_sent(&api, || project.run(CALL), "given-by-a-command-77");
        let code = "from shop.functions import get_item\nresult = [get_item(id='7')['name'], get_item(id='8')['name']]";
        project.write("two.py", code);
        for _ in 0..2 {
            api.answer_next(FakeAnswer::json(200, r#"{"name": "x"}"#));
        }
        let ended = project.run(&["exec", "two.py"]);
        assert_eq!((ended.code, runs(&project)), (0, 2), "once for each process: {ended:?}");
    }
}

#[test]
fn a_command_that_gives_nothing_is_told_without_what_it_said() {
    let api = FakeApi::start();
    for (give, told) in [
        ("echo half-a-secret; echo hidden-words >&2; exit 3", "failed (exit status: 3)"),
        ("true", "printed nothing"),
        ("head -c 70000 /dev/zero", "printed more than 65536 bytes"),
    ] {
        let project = project(&api, "'${secret:given}'", give);
        let ended = project.run(CALL);
        let text = format!("{ended:?}");
        assert!(ended.code != 0 && text.contains(told), "{give}: {text}");
        assert!(!text.contains("half-a-secret") && !text.contains("hidden-words"), "{text}");
        assert!(api.take_requests().is_empty());
    }
}

const BUS: &str = r#"<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth><policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>"#;

#[test]
fn the_keyring_of_the_desktop_gives_a_secret() {
    let api = FakeApi::start();
    let project = project(&api, "'${secret:kept}'", "");
    if !["dbus-run-session", "gnome-keyring-daemon", "secret-tool"]
        .iter()
        .all(|name| is_there(name))
    {
        eprintln!("NOT RUN: the keyring needs gnome-keyring, libsecret-tools and dbus-daemon (Debian)");
        return;
    }
    std::fs::create_dir_all(project.file("home")).unwrap();
    // A bus that starts nothing by itself: who asks before the keyring is there would have another one started, which is locked.
    project.write("bus.conf", BUS);
    let script = "printf 'pw\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1\n\
        for try in $(seq 200); do\n\
        printf kept-in-a-keyring-55 | secret-tool store --label=test service shop username ann && break\n\
        sleep 0.05\ndone\nexec \"$@\"";
    let in_session = |project: &Project| {
        let command = project.command(CALL);
        #[expect(clippy::disallowed_methods, reason = "a program of the tests")]
        let mut session = Command::new("dbus-run-session");
        session
            .arg(format!("--config-file={}", project.file("bus.conf").display()))
            .args(["--", "sh", "-c", script, "sh"])
            .arg(command.get_program())
            .args(command.get_args());
        session.current_dir(project.path()).env_clear().stdin(Stdio::null());
        session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ended::of(session.output().unwrap())
    };
    check_sent(&api, || in_session(&project), "kept-in-a-keyring-55");
    // Nobody listens without a session.
    let ended = project.run(CALL);
    assert!(
        ended.code != 0 && ended.err.contains("`secret-tool`") && ended.err.contains("service `shop`"),
        "{ended:?}"
    );
}

fn is_there(program: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "where programs of the tests are")]
    let path = std::env::var("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[test]
fn an_mcp_server_gets_secrets_from_files_and_commands() {
    let Some(installed) = installed() else { return };
    let project = Project::empty();
    let program = installed.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let config = json!({
        "secrets": {"given": {"command": ["echo", "given-by-a-command-77"]}},
        "servers": {"everything": {"command": "node", "args": [program, "stdio"],
            "env": {"A": "${secret:given}", "B": {"file": "./token"}, "C": "plain words of nobody"}}},
    });
    project.write("token", "from-a-file-66");
    project.write("mce.yaml", &config.to_string());
    assert_eq!(project.run(&["compile"]).code, 0);
    let ended = project.run(&["call", "everything.get_env", "--json", "{}"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let env: Value = ended.json();
    assert_eq!((&env["A"], &env["B"]), (&json!("[redacted]"), &json!("[redacted]")), "{env}");
    assert_eq!(env["C"], "plain words of nobody");
}

#[test]
fn no_secret_is_read_for_what_a_rule_forbids() {
    let api = FakeApi::start();
    let project = project(&api, "'${secret:given}'", "echo given-by-a-command-77");
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write(
        "mce.yaml",
        &format!("{config}policies:\n  - {{server: shop, function: get_item, decide: deny}}\n"),
    );
    let error = project.run(CALL).error();
    assert_eq!(error["type"], "policy", "{error}");
    assert_eq!((runs(&project), api.requests().len()), (0, 0), "{error}");
}

#[test]
fn no_secret_is_read_to_compile_by_a_way_that_needs_none() {
    let api = FakeApi::start();
    let project = project(&api, "'${secret:given}'", "exit 3");
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write("mce.yaml", &format!("{config}    tls: {{verify: false}}\n"));
    let ended = project.run(&["compile"]);
    assert_eq!((ended.code, runs(&project)), (0, 0), "{ended:?}");
}

#[test]
fn a_proxy_from_a_command_is_read_when_something_is_fetched() {
    let api = FakeApi::start();
    let project = project(&api, "'${secret:given}'", "exit 3");
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    let config = format!("{config}    proxy: '${{secret:given}}'\n");
    project.write("mce.yaml", &config);
    let ended = project.run(&["compile"]);
    assert_eq!((ended.code, runs(&project)), (0, 0), "{ended:?}");
    project.write("mce.yaml", &config.replace("./shop.json", &format!("{}/shop.json", api.origin())));
    let ended = project.run(&["compile"]);
    assert_eq!((ended.code, runs(&project)), (1, 1), "{ended:?}");
    assert!(format!("{ended:?}").contains("a secret of `shop` cannot be read"), "{ended:?}");
    assert!(api.requests().is_empty());
}

#[test]
fn a_secret_of_two_lines_is_an_error_that_names_its_setting() {
    let api = FakeApi::start();
    let project = project(&api, "'${secret:given}'", "printf 'first-line-91\\nsecond-line-92'");
    let ended = project.run(CALL);
    let message = ended.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("`servers.shop.auth.token` holds a line break"), "{ended:?}");
    assert!(!format!("{ended:?}").contains("-line-9") && api.requests().is_empty(), "{ended:?}");
}

#[test]
fn the_token_of_clients_is_given_by_a_command() {
    let project = Project::empty();
    project.write("mce.yaml", "http_token: {command: [echo, token-of-a-command-5]}\n");
    let server = Server::start(project);
    assert_eq!(server.status_with("Bearer token-of-a-command-5"), 200);
    assert_eq!(server.status_with("Bearer token-of-a-command-6"), 401);
    let project = Project::empty();
    project.write("mce.yaml", "http_token: {command: [printf, 'a\\nb']}\n");
    let ended = project.run(&["serve", "--transport", "http", "--port", "0"]);
    assert!(ended.code == 1 && ended.err.contains("`http_token` cannot be read"), "{ended:?}");
}

#[test]
fn serving_says_aloud_whose_certificate_nobody_checks() {
    let project = Project::empty().with("MCE_LOG_LEVEL", "error");
    project.write(
        "mce.yaml",
        "servers: {far: {url: 'https://far.invalid/mcp', tls: {verify: false}}}\n",
    );
    let ended = project.run(&["serve"]);
    let said = ended
        .err
        .lines()
        .filter(|line| line.starts_with('{') && line.contains("ANYBODY"))
        .count();
    assert!(said == 1 && ended.err.contains("servers.far.tls.verify"), "{ended:?}");
}
