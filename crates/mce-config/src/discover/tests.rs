//! Discovery as its users see it: files of other programs in a directory, servers and report out.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::load::tests::{Bench, bench};
use crate::{HttpServer, HttpTransport, Origin, Secret, ServerSettings, StdioServer};

fn server<'s>(settings: &'s crate::Settings, name: &str) -> &'s ServerSettings {
    settings.server(name).unwrap_or_else(|| panic!("`{name}` is not there"))
}

fn stdio(server: &ServerSettings) -> &StdioServer {
    match &server.origin {
        Origin::McpStdio(stdio) => stdio,
        other => panic!("{other:?}"),
    }
}

fn http(server: &ServerSettings) -> &HttpServer {
    match &server.origin {
        Origin::McpHttp(http) => http,
        other => panic!("{other:?}"),
    }
}

/// Names with what each runs.
fn servers(bench: &Bench) -> Vec<String> {
    let servers = bench.load().0.servers;
    servers.iter().map(|server| format!("{} {}", server.name, target(server))).collect()
}

fn target(server: &ServerSettings) -> &str {
    match &server.origin {
        Origin::OpenApi(_) => "openapi",
        Origin::McpStdio(stdio) => &stdio.command,
        Origin::McpHttp(http) => &http.url,
        Origin::Recipes(_) => "recipes",
    }
}

fn notes(bench: &Bench) -> Vec<String> {
    bench.load().1.notes.iter().map(|note| bench.relative(note)).collect()
}

fn no_secret_is_shown(bench: &Bench, secret: &str) {
    let (settings, report) = bench.load();
    let shown: Vec<String> = report.shown.iter().map(|shown| format!("{}: {}", shown.key, shown.value)).collect();
    let texts = [
        shown.join("\n"),
        format!("{settings:?} {report:?}"),
        format!("{:?}", settings.servers.iter().map(|server| &server.origin).collect::<Vec<_>>()),
    ];
    for text in texts {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn each_client_has_its_files_and_its_words() {
    let entry = r#"{"command": "run", "args": ["a"], "env": {"K": "v"}}"#;
    let in_mcp_servers = format!(r#"{{"other": [1], "mcpServers": {{"x": {entry}}}}}"#);
    let vscode = format!("// comment\n{{\"inputs\": [], \"servers\": {{\"x\": {entry},}}}}");
    let codex = "model = 'm'\n[mcp_servers.x]\ncommand = 'run'\nargs = ['a']\n[mcp_servers.x.env]\nK = 'v'\n".to_owned();
    let opencode = r#"{"mcp": {"x": {"type": "local", "command": ["run", "a"], "environment": {"K": "v"}, "enabled": true}}}"#.to_owned();
    let opencode_2 =
        r#"{"mcp": {"timeout": {}, "servers": {"x": {"type": "local", "command": ["run", "a"], "environment": {"K": "v"}}}}}"#.to_owned();
    let zed = format!("{{\"theme\": \"One\", // dark\n\"context_servers\": {{\"x\": {entry}}}}}");
    let old_zed =
        r#"{"context_servers": {"x": {"source": "custom", "command": {"path": "run", "args": ["a"], "env": {"K": "v"}}}}}"#.to_owned();
    let goose = "extensions:\n  x: {name: x, type: stdio, cmd: run, args: [a], envs: {K: v}, enabled: true, available_tools: [], timeout: 300}\n  developer: {type: builtin, enabled: true}\n".to_owned();
    for (file, text, client) in [
        (".mcp.json", &in_mcp_servers, "claude-code"),
        ("home/.claude.json", &in_mcp_servers, "claude-code"),
        ("home/.config/Claude/claude_desktop_config.json", &in_mcp_servers, "claude-desktop"),
        (
            "home/Library/Application Support/Claude/claude_desktop_config.json",
            &in_mcp_servers,
            "claude-desktop",
        ),
        (".cursor/mcp.json", &in_mcp_servers, "cursor"),
        ("home/.cursor/mcp.json", &in_mcp_servers, "cursor"),
        (".vscode/mcp.json", &vscode, "vscode"),
        ("home/.config/Code/User/mcp.json", &vscode, "vscode"),
        ("home/Library/Application Support/Code/User/mcp.json", &vscode, "vscode"),
        (".windsurf/mcp_config.json", &in_mcp_servers, "windsurf"),
        ("home/.codeium/windsurf/mcp_config.json", &in_mcp_servers, "windsurf"),
        (".codex/config.toml", &codex, "codex"),
        ("home/.codex/config.toml", &codex, "codex"),
        (".gemini/settings.json", &in_mcp_servers, "gemini"),
        ("home/.gemini/settings.json", &in_mcp_servers, "gemini"),
        ("opencode.json", &opencode, "opencode"),
        ("home/.config/opencode/opencode.jsonc", &opencode_2, "opencode"),
        (".zed/settings.json", &zed, "zed"),
        ("home/.config/zed/settings.json", &old_zed, "zed"),
        ("home/.config/goose/config.yaml", &goose, "goose"),
    ] {
        let bench = bench(&[(file, text)], &[]);
        let (settings, report) = bench.load();
        let found = server(&settings, "x");
        let expected = StdioServer {
            command: "run".to_owned(),
            args: vec!["a".to_owned()],
            env: BTreeMap::from([("K".to_owned(), Secret::new("v"))]),
            cwd: Some(bench.directory.path().to_owned()),
        };
        assert!(*stdio(found) == expected, "{file}: {:?} {:?}", stdio(found).args, stdio(found).cwd);
        assert_eq!(found.entry.client, Some(client), "{file}");
        assert_eq!(found.entry.file.as_deref(), Some(bench.directory.path().join(file).as_path()));
        assert!(report.warnings.is_empty(), "{file}: {:?}", report.warnings);
        let kind = bench.shown("servers.x.kind");
        assert!(
            kind.starts_with(&format!("mcp stdio, found in the configuration of {client} <- {file}: ")),
            "{kind}"
        );
    }
}

#[test]
fn directories_in_variables_are_respected() {
    let json = r#"{"mcpServers": {"x": {"command": "run"}}}"#;
    let toml = "[mcp_servers.x]\ncommand = 'run'";
    for (variable, file, text) in [
        ("CLAUDE_CONFIG_DIR", "there/.claude.json", json),
        ("CODEX_HOME", "there/config.toml", toml),
        ("XDG_CONFIG_HOME", "there/Claude/claude_desktop_config.json", json),
    ] {
        let mut bench = bench(&[(file, text)], &[]);
        assert!(servers(&bench).is_empty(), "{file}");
        let there = bench.directory.path().join("there").display().to_string();
        bench.options.environment.insert(variable.to_owned(), there);
        assert_eq!(servers(&bench), ["x run"], "{file}");
    }
}

#[test]
fn servers_with_a_url_are_read_in_every_spelling() {
    for (entry, transport) in [
        (r#"{"url": "https://h/mcp"}"#, HttpTransport::Auto),
        (r#"{"type": "http", "url": "https://h/mcp"}"#, HttpTransport::Auto),
        (r#"{"type": "streamable-http", "url": "https://h/mcp"}"#, HttpTransport::Streamable),
        (r#"{"type": "streamableHttp", "url": "https://h/mcp"}"#, HttpTransport::Streamable),
        (r#"{"type": "streamable_http", "uri": "https://h/mcp"}"#, HttpTransport::Streamable),
        (r#"{"type": "sse", "url": "https://h/mcp"}"#, HttpTransport::Sse),
        (r#"{"transport": "sse", "url": "https://h/mcp"}"#, HttpTransport::Sse),
        (r#"{"type": "remote", "url": "https://h/mcp"}"#, HttpTransport::Auto),
        (r#"{"httpUrl": "https://h/mcp"}"#, HttpTransport::Streamable),
        (r#"{"serverUrl": "https://h/mcp"}"#, HttpTransport::Auto),
    ] {
        let expected = HttpServer {
            url: "https://h/mcp".to_owned(),
            transport,
        };
        let text = format!(r#"{{"mcpServers": {{"x": {entry}}}}}"#);
        let found = bench(&[(".mcp.json", &text)], &[]).load().0;
        assert!(*http(server(&found, "x")) == expected, "{entry}");
        // JSON is YAML, and our own file takes the same words.
        let text = format!(r#"{{"servers": {{"x": {entry}}}}}"#);
        let bench = bench(&[("mce.yaml", &text)], &[]);
        assert!(*http(server(&bench.load().0, "x")) == expected, "{entry}");
        assert!(bench.warnings().is_empty(), "{entry}: {:?}", bench.warnings());
    }
}

#[test]
fn variables_are_read_as_each_client_writes_them() {
    let json = |value: &str| format!(r#"{{"mcpServers": {{"x": {{"command": "run", "args": ["{value}"]}}}}}}"#);
    let vscode = |value: &str| json(value).replace("mcpServers", "servers");
    let opencode = |value: &str| format!(r#"{{"mcp": {{"x": {{"type": "local", "command": ["run", "{value}"]}}}}}}"#);
    for (file, text, expected, missing) in [
        (".mcp.json", json("${A}-${NO:-d}-$A"), "a-d-$A", ""),
        (".mcp.json", json("${CLAUDE_PROJECT_DIR}/x"), "DIR/x", ""),
        (
            ".cursor/mcp.json",
            json("${env:A} ${workspaceFolder}/${userHome}"),
            "a DIR/DIR/home",
            "",
        ),
        (".vscode/mcp.json", vscode("${input:key}"), "${input:key}", "input:key"),
        (".gemini/settings.json", json("$A"), "a", ""),
        (".gemini/settings.json", json("%A%/x"), "a/x", ""),
        ("opencode.json", opencode("{env:A}"), "a", ""),
        ("opencode.json", opencode("{file:/k}"), "${file:/k}", "file:/k"),
        (".windsurf/mcp_config.json", json("${env:NO}"), "${NO}", "NO"),
    ] {
        let bench = bench(&[(file, &text)], &[("A", "a")]);
        let settings = bench.load().0;
        let server = server(&settings, "x");
        let directory = bench.directory.path().display().to_string();
        assert_eq!(stdio(server).args, [expected.replace("DIR", &directory)], "{text}");
        let found: Vec<&str> = server.unresolved.iter().map(|unresolved| unresolved.variable.as_str()).collect();
        assert_eq!(found.join(" "), missing, "{text}");
    }
}

#[test]
fn what_only_a_client_knows_is_told_with_what_to_do() {
    let text = r#"{"servers": {"x": {"command": "a", "env": {"K": "${input:key}"}}}}"#;
    let (settings, _) = bench(&[(".vscode/mcp.json", text)], &[]).load();
    let [unresolved] = settings.servers[0].unresolved.as_slice() else {
        panic!()
    };
    let expected = "VS Code asks a person for it; write the server in `mce.yaml`, with a `${VAR}` in its place";
    assert_eq!(
        (unresolved.key.as_str(), unresolved.advice().as_str()),
        ("servers.x.env.K", expected)
    );
}

#[test]
fn secrets_of_codex_and_goose_are_taken_from_the_environment() {
    let codex = "[mcp_servers.x]\nurl = 'https://h/mcp'\nbearer_token_env_var = 'TOKEN'\nhttp_headers = {A = 'b'}\nenv_http_headers = {X-Key = 'KEY'}\n[mcp_servers.y]\ncommand = 'run'\nenv_vars = ['KEY', {name = 'TOKEN'}]\n";
    let goose = "extensions: {z: {type: stdio, cmd: run, args: [z], env_keys: [KEY, NO], enabled: true}}";
    let files = [("home/.codex/config.toml", codex), ("home/.config/goose/config.yaml", goose)];
    let bench = bench(&files, &[("TOKEN", "s3cr3t-token"), ("KEY", "s3cr3t-key")]);
    let settings = bench.load().0;
    let headers: BTreeMap<&str, &str> = server(&settings, "x")
        .extra_headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.text()))
        .collect();
    let expected = [("A", "b"), ("Authorization", "Bearer s3cr3t-token"), ("X-Key", "s3cr3t-key")];
    assert_eq!(headers, BTreeMap::from(expected));
    let env = |name: &str| -> Vec<String> {
        let env = &stdio(server(&settings, name)).env;
        env.iter().map(|(name, value)| format!("{name}={}", value.text())).collect()
    };
    assert_eq!(env("y"), ["KEY=s3cr3t-key", "TOKEN=s3cr3t-token"]);
    assert_eq!(env("z"), ["KEY=s3cr3t-key", "NO=${NO}"]);
    assert_eq!(server(&settings, "z").unresolved[0].variable, "NO");
    no_secret_is_shown(&bench, "s3cr3t");
}

#[test]
fn what_clients_know_of_a_login_is_taken_over() {
    let claude =
        r#"{"mcpServers": {"a": {"type": "http", "url": "https://h/a", "oauth": {"clientId": "c", "callbackPort": 8123, "x": 1}}}}"#;
    let cursor =
        r#"{"mcpServers": {"b": {"url": "https://h/b", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:KEY}", "scopes": ["r", "w"]}}}}"#;
    let opencode = r#"{"mcp": {"c": {"type": "remote", "url": "https://h/c", "oauth": false},
        "d": {"type": "remote", "url": "https://h/d", "oauth": {"clientId": "c", "scope": "r w"}}}}"#;
    let gemini = r#"{"mcpServers": {"e": {"httpUrl": "https://h/e", "oauth": {"enabled": true, "clientId": "c", "redirectUri": "http://localhost:7/x"}}}}"#;
    let bench = bench(
        &[
            (".mcp.json", claude),
            (".cursor/mcp.json", cursor),
            ("opencode.json", opencode),
            (".gemini/settings.json", gemini),
        ],
        &[("KEY", "s3cr3t-key")],
    );
    let (settings, report) = bench.load();
    let oauth = |name: &str| &server(&settings, name).upstream.oauth;
    for name in ["a", "b", "d", "e"] {
        assert_eq!((oauth(name).client_id.as_deref(), oauth(name).is_off), (Some("c"), false), "{name}");
    }
    assert_eq!(oauth("a").redirect_uri.as_deref(), Some("http://localhost:8123/callback"));
    assert_eq!(oauth("b").client_secret.as_ref().unwrap().text(), "s3cr3t-key");
    assert_eq!(
        (&oauth("b").scopes, &oauth("d").scopes),
        (&vec!["r".to_owned(), "w".to_owned()], &oauth("b").scopes)
    );
    assert!(oauth("c").is_off);
    assert_eq!(oauth("e").redirect_uri.as_deref(), Some("http://localhost:7/x"));
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    no_secret_is_shown(&bench, "s3cr3t");
}

#[test]
fn times_are_in_the_unit_of_their_client() {
    let json = |value: &str| format!(r#"{{"mcpServers": {{"x": {{"command": "run", {value}}}}}}}"#);
    let zed = |value: &str| format!(r#"{{"context_servers": {{"x": {{"command": "run", {value}}}}}}}"#);
    let opencode = |value: &str| format!(r#"{{"mcp": {{"x": {{"command": ["run"], {value}}}}}}}"#);
    let goose = |value: u32| format!("extensions: {{x: {{cmd: run, type: stdio, timeout: {value}}}}}");
    let day = 86_400;
    for (file, text, start, call) in [
        (".mcp.json", json("\"timeout\": 600000"), 60, 600),
        (".mcp.json", json("\"timeout\": 1"), 60, 1),
        (".gemini/settings.json", json("\"timeout\": 2500"), 60, 3),
        (".gemini/settings.json", json("\"timeout\": 1e300"), 60, day),
        (".cursor/mcp.json", json("\"timeout\": 5"), 60, 120),
        (".zed/settings.json", zed("\"timeout\": 60000"), 60, 60),
        (".zed/settings.json", zed("\"timeout\": 90"), 60, 90),
        ("opencode.json", opencode("\"timeout\": 5000"), 5, 120),
        (
            "opencode.json",
            opencode("\"timeout\": {\"startup\": 7000, \"request\": 8000}"),
            7,
            8,
        ),
        (
            ".codex/config.toml",
            "[mcp_servers.x]\ncommand = 'run'\nstartup_timeout_sec = 2.5\ntool_timeout_sec = 40".to_owned(),
            3,
            40,
        ),
        ("home/.config/goose/config.yaml", goose(300), 60, 300),
        ("home/.config/goose/config.yaml", goose(0), 60, day),
        (
            "mce.yaml",
            "servers: {x: {command: run, timeout: 30, start_timeout: 5}}".to_owned(),
            5,
            30,
        ),
    ] {
        let settings = bench(&[(file, &text)], &[]).load().0;
        let upstream = &server(&settings, "x").upstream;
        let expected = (Duration::from_secs(start), Duration::from_secs(call));
        assert_eq!((upstream.start_timeout, upstream.call_timeout), expected, "{file} {text}");
    }
}

#[test]
fn lists_of_tools_become_rules_of_the_view() {
    let gemini = r#"{"mcpServers": {"x": {"command": "run", "includeTools": ["a", "b(ls)"], "excludeTools": ["c"]}, "none": {"command": "n", "includeTools": []}}}"#;
    let codex = "[mcp_servers.y]\ncommand = 'r'\nenabled_tools = ['a', 'b']\ndisabled_tools = ['c']\n";
    let bench = bench(&[(".gemini/settings.json", gemini), (".codex/config.toml", codex)], &[]);
    let settings = bench.load().0;
    for name in ["x", "y"] {
        let view = &server(&settings, name).view;
        let operations = |selectors: &[crate::FunctionSelector]| -> Vec<String> {
            selectors.iter().filter_map(|selector| selector.operation.clone()).collect()
        };
        assert_eq!(
            (operations(&view.include), operations(&view.exclude)),
            (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()])
        );
    }
    assert_eq!(notes(&bench), [".gemini/settings.json:1: mcpServers.none: it allows no tool"]);
}

#[test]
fn env_files_are_read_beneath_env() {
    let text = r#"{"servers": {"x": {"command": "run", "envFile": "${workspaceFolder}/.env.mcp", "env": {"A": "own", "N": null}}}}"#;
    let files = [(".vscode/mcp.json", text), (".env.mcp", "A=file\nB=s3cr3t\n")];
    let bench1 = bench(&files, &[]);
    let settings = bench1.load().0;
    let env: Vec<String> = stdio(server(&settings, "x"))
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", value.text()))
        .collect();
    assert_eq!(env, ["A=own", "B=s3cr3t"]);
    no_secret_is_shown(&bench1, "s3cr3t");
    let missing = bench(&files[..1], &[]);
    assert!(servers(&missing).is_empty());
    assert_eq!(
        missing.warnings(),
        [".vscode/mcp.json:1: servers.x: the server is left out: failed to read `.env.mcp`"]
    );
}

#[test]
fn the_order_is_ours_then_named_then_project_then_person() {
    let mcp = |name: &str, command: &str| format!(r#"{{"mcpServers": {{"{name}": {{"command": "{command}"}}}}}}"#);
    let local = |directory: &Path| {
        let directory = serde_json::to_string(directory).unwrap();
        format!(
            r#"{{"mcpServers": {{"x": {{"command": "user"}}, "u": {{"command": "u"}}}}, "projects": {{{directory}: {{"mcpServers": {{"x": {{"command": "local"}}}}}}}}}}"#
        )
    };
    let (named, project, cursor) = (mcp("x", "named"), mcp("x", "project"), mcp("x", "cursor"));
    let files: [(&str, &str); 6] = [
        ("mce.yaml", "servers: {x: {command: ours}}"),
        ("config/swaggers.yaml", "servers: [{name: x, swagger_url: x.yaml}]"),
        ("named.json", &named),
        ("home/.claude.json", "LOCAL"),
        (".mcp.json", &project),
        ("home/.cursor/mcp.json", &cursor),
    ];
    for (first, expected) in [
        (0, "ours"),
        (1, "openapi"),
        (2, "named"),
        (3, "local"),
        (4, "project"),
        (5, "cursor"),
    ] {
        let bench = bench(&files[first..], &[("MCP_CONFIG_PATH", if first <= 2 { "named.json" } else { "" })]);
        if first <= 3 {
            fs_err::write(bench.directory.path().join("home/.claude.json"), local(bench.directory.path())).unwrap();
        }
        let found = servers(&bench);
        assert_eq!(found[0], format!("x {expected}"));
        assert_eq!(found.len(), if first <= 3 { 2 } else { 1 }, "{found:?}");
        // Those that are hidden by one of the same name are no reason for a warning, only for a note.
        assert!(bench.warnings().iter().all(|warning| warning.starts_with("config/swaggers.yaml")));
    }
}

#[test]
fn project_files_are_found_upwards_and_their_servers_start_there() {
    let text = r#"{"mcpServers": {"x": {"command": "run"}}}"#;
    for (files, directory, expected) in [
        (vec![".mcp.json", "a/b/keep"], "a/b", true),
        (vec!["a/.mcp.json", "a/b/keep"], "a/b", true),
        (vec!["a/.git/keep", ".mcp.json", "a/b/keep"], "a/b", false),
        (vec!["a/.git/keep", "a/.mcp.json", "a/b/keep"], "a/b", true),
        (vec!["home/.mcp.json", "home/p/keep"], "home/p", false),
        (vec!["home/.mcp.json"], "home", true),
    ] {
        let written: Vec<(&str, &str)> = files.iter().map(|file| (*file, text)).collect();
        let mut bench = bench(&written, &[]);
        bench.options.working_dir = bench.directory.path().join(directory);
        let settings = bench.load().0;
        assert_eq!(!settings.servers.is_empty(), expected, "{files:?}");
        if expected {
            let file = settings.servers[0].entry.file.clone().unwrap();
            assert_eq!(stdio(&settings.servers[0]).cwd.as_deref(), file.parent(), "{files:?}");
        }
    }
}

#[test]
fn a_path_to_a_program_is_relative_to_where_it_is_started() {
    let text = |command: &str, cwd: &str| format!(r#"{{"mcpServers": {{"x": {{"command": "{command}"{cwd}}}}}}}"#);
    for (command, cwd, expected) in [
        ("./bin/x", "", "DIR/bin/x"),
        ("bin/x", r#", "cwd": "sub""#, "DIR/sub/bin/x"),
        ("~/x", "", "DIR/home/x"),
        ("/opt/x", "", "/opt/x"),
        ("npx", "", "npx"),
        ("${NO}/x", "", "${NO}/x"),
    ] {
        let mut bench = bench(&[(".mcp.json", &text(command, cwd)), ("a/keep", "")], &[]);
        bench.options.working_dir = bench.directory.path().join("a");
        let settings = bench.load().0;
        let directory = bench.directory.path().display().to_string();
        assert_eq!(stdio(server(&settings, "x")).command, expected.replace("DIR", &directory));
    }
}

#[test]
fn a_server_in_several_files_is_one_and_all_files_are_told() {
    let one = r#"{"mcpServers": {"docs": {"command": "npx", "args": ["docs"], "env": {"K": "${K}"}}, "far": {"url": "https://h/mcp"}}}"#;
    let two = r#"{"mcpServers": {"Docs": {"command": "npx", "args": ["docs"]}, "remote": {"serverUrl": "https://h/mcp/"}}}"#;
    let bench1 = bench(&[(".mcp.json", one), ("home/.codeium/mcp_config.json", two)], &[("K", "k")]);
    assert_eq!(servers(&bench1), ["docs npx", "far https://h/mcp"]);
    assert_eq!(
        bench1.shown("servers.docs.also_in"),
        "home/.codeium/mcp_config.json <- .mcp.json: mcpServers.docs"
    );
    assert_eq!(
        bench1.shown("servers.far.also_in"),
        "home/.codeium/mcp_config.json <- .mcp.json: mcpServers.far"
    );
    assert!(bench1.warnings().is_empty() && notes(&bench1).is_empty());
    // The same command for another account is another server.
    let other = two
        .replace("\"Docs\"", "\"docs2\"")
        .replace("[\"docs\"]", "[\"docs\"], \"env\": {\"K\": \"other\"}");
    let bench2 = bench(&[(".mcp.json", one), ("home/.codeium/mcp_config.json", &other)], &[("K", "k")]);
    assert_eq!(servers(&bench2), ["docs npx", "far https://h/mcp", "docs2 npx"]);
    // Two of one file are both meant.
    let twice = r#"{"mcpServers": {"a": {"command": "npx"}, "b": {"command": "npx"}}}"#;
    assert_eq!(servers(&bench(&[(".mcp.json", twice)], &[])), ["a npx", "b npx"]);
}

#[test]
fn servers_whose_names_are_alike_in_code_are_told() {
    let one = r#"{"mcpServers": {"my-docs": {"command": "a"}, "my docs": {"command": "b"}}}"#;
    let bench = bench(&[(".mcp.json", one)], &[]);
    assert_eq!(servers(&bench), ["my_docs a"]);
    let expected = ".mcp.json:1: mcpServers.my docs: the server is left out: servers `my-docs` and `my docs` are both named `my_docs` in code; rename one of them";
    assert_eq!(bench.warnings(), [expected]);
}

#[test]
fn disabled_servers_are_left_out() {
    let claude = |directory: &Path| {
        let directory = serde_json::to_string(directory).unwrap();
        format!(r#"{{"projects": {{{directory}: {{"disabledMcpjsonServers": ["refused"]}}}}}}"#)
    };
    let project = r#"{"mcpServers": {"off": {"command": "a", "disabled": true}, "refused": {"command": "b"}, "hidden": {"command": "c"}, "on": {"command": "d", "disabled": false}}}"#;
    let user = r#"{"mcpServers": {"off": {"command": "e"}}}"#;
    let files = [
        ("mce.yaml", "servers: {hidden: {enabled: false}}"),
        (".mcp.json", project),
        ("home/.cursor/mcp.json", user),
        ("home/.claude.json", ""),
    ];
    let bench = bench(&files, &[]);
    fs_err::write(bench.directory.path().join("home/.claude.json"), claude(bench.directory.path())).unwrap();
    // What is off for Claude Code may be on for Cursor.
    assert_eq!(servers(&bench), ["on d", "off e"]);
    let expected = [
        ".mcp.json:1: mcpServers.off: it is disabled",
        ".mcp.json:1: mcpServers.refused: it is disabled",
        ".mcp.json:1: mcpServers.hidden: it is disabled in our own file",
    ];
    assert_eq!(notes(&bench), expected);
    assert!(bench.warnings().is_empty());
}

#[test]
fn servers_that_a_client_is_told_not_to_use_are_left_out() {
    let project = r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}}}"#;
    let gemini = r#"{"mcpServers": {"d": {"command": "d"}, "e": {"command": "e"}}, "mcp": {"excluded": ["d", "a"]}}"#;
    let files = [
        (".mcp.json", project),
        (".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["a", "e"]}"#),
        (
            "home/.claude/settings.json",
            r#"{"disabledMcpjsonServers": ["b"], "enabledMcpjsonServers": ["c"]}"#,
        ),
        ("home/.gemini/settings.json", gemini),
    ];
    assert_eq!(servers(&bench(&files, &[])), ["c c", "e e"]);
}

#[test]
fn our_own_entry_is_left_out_under_any_name() {
    let text = r#"{"mcpServers": {"gateway": {"command": "${DIR}/mce", "args": ["serve"]}, "old": {"command": "npx", "args": ["-y", "code-executor-mcp"]}, "files": {"command": "npx", "args": ["files"]}}}"#;
    let files = [(".mcp.json", text), ("mce.yaml", "servers: {me: {command: mce, args: [serve]}}")];
    let bench = bench(&files, &[("DIR", "/opt")]);
    assert_eq!(servers(&bench), ["files npx"]);
    let expected = [
        ".mcp.json:1: mcpServers.gateway: it starts this program itself",
        ".mcp.json:1: mcpServers.old: it starts this program itself",
    ];
    assert_eq!(notes(&bench), expected);
    assert_eq!(
        bench.warnings(),
        ["mce.yaml:1: servers.me: server `me` starts this program itself; it is left out"]
    );
}

#[test]
fn the_running_program_is_recognised_by_its_file() {
    let own = std::env::current_exe().unwrap();
    let text = serde_json::json!({"mcpServers": {"anything": {"command": own, "args": ["--x"]}}}).to_string();
    let bench = bench(&[(".mcp.json", &text)], &[]);
    assert!(servers(&bench).is_empty());
}

#[test]
fn discovery_can_be_switched_off_or_to_single_clients() {
    let text = |name: &str| format!(r#"{{"mcpServers": {{"{name}": {{"command": "run", "args": ["{name}"]}}}}}}"#);
    let (claude, cursor, named) = (text("claude"), text("cursor"), text("named"));
    let files = [
        (".mcp.json", claude.as_str()),
        (".cursor/mcp.json", &cursor),
        ("named.json", &named),
    ];
    for (yaml, variables, expected) in [
        ("", vec![], vec!["claude", "cursor"]),
        ("discover: true", vec![], vec!["claude", "cursor"]),
        ("discover: false", vec![], vec![]),
        ("discover: []", vec![], vec![]),
        ("discover: [cursor]", vec![], vec!["cursor"]),
        ("discover: [Claude_Code]", vec![], vec!["claude"]),
        (
            "discover: false",
            vec![("MCE_DISCOVER", "claude-code,cursor")],
            vec!["claude", "cursor"],
        ),
        ("", vec![("MCE_DISCOVER", "false")], vec![]),
        (
            "discover: false",
            vec![("MCP_CONFIG_PATH", "named.json:.mcp.json")],
            vec!["named", "claude"],
        ),
    ] {
        let mut files = files.to_vec();
        files.push(("mce.yaml", yaml));
        let bench = bench(&files, &variables);
        let names: Vec<String> = bench.load().0.servers.into_iter().map(|server| server.name).collect();
        assert_eq!(names, expected, "{yaml} {variables:?}");
    }
    let wrong = bench(&[("mce.yaml", "discover: [emacs]")], &[]);
    let error = crate::load(&wrong.options).unwrap_err().to_string();
    assert!(error.contains("expected `true`, `false`, or one of `claude-code`, "), "{error}");
}

#[test]
fn broken_files_of_others_are_warnings_with_file_and_line() {
    let big = format!("{{\"x\": \"{}\"}}", "a".repeat(17 << 20));
    let files = [
        (".mcp.json", "{\n \"mcpServers\": {\"x\": hunter2}}"),
        (".cursor/mcp.json", "{\"mcpServers\": [1]}"),
        (".codex/config.toml", "a = 1\nb = hunter2"),
        (
            ".gemini/settings.json",
            "{\"mcpServers\": {\"x\": 1,\n \"y\": {\"command\": [[\"a\"]]}, \"z\": {\"url\": \"unix:///s\"},\n \"\": {}, \"ok\": {\"command\": \"ok\"}}}",
        ),
        (".zed/settings.json", &big),
        ("home/.config/goose/config.yaml", "extensions: {a: *hunter2}"),
    ];
    let bench = bench(&files, &[("MCP_CONFIG_PATH", "no.json")]);
    assert_eq!(servers(&bench), ["ok ok"]);
    let expected = [
        "environment MCP_CONFIG_PATH: `no.json` is no file",
        "home/.config/goose/config.yaml:1: `*` refers to an anchor that is not defined",
        ".mcp.json:2: the text is not valid JSON",
        ".cursor/mcp.json:1: mcpServers: expected a mapping of server names, found a list",
        ".codex/config.toml:2: the text is not valid TOML",
        ".gemini/settings.json:1: mcpServers.x: expected a mapping with `command` or `url`, found a text",
        ".gemini/settings.json:3: a server's name is empty, too long or has control characters; it is left out",
        "`.zed/settings.json` has more than 16777216 bytes",
        ".gemini/settings.json:2: mcpServers.y.command: the server is left out: expected a command, found a list",
        ".gemini/settings.json:2: mcpServers.z.url: the server is left out: expected an absolute http(s) URL, found `unix:///s`",
    ];
    let found: Vec<String> = bench
        .warnings()
        .iter()
        .map(|text| text.replace(".zed/settings.json: `", "`"))
        .collect();
    assert_eq!(found, expected);
    no_secret_is_shown(&bench, "hunter2");
}

#[test]
fn secrets_in_arguments_urls_headers_and_variables_are_not_shown() {
    let text = r#"{"mcpServers": {
        "a": {"command": "npx --token hunter2hunter2", "args": ["--api-key", "hunter2hunter2", "--header", "Authorization: Bearer hunter2hunter2", "-e", "MY_TOKEN=hunter2hunter2", "${S}", "hunter2hunter2hunter2"], "env": {"K": "hunter2hunter2"}},
        "b": {"url": "https://u:hunter2hunter2@h/mcp/hunter2hunter2hunter2?api_key=hunter2hunter2", "headers": {"Authorization": "hunter2hunter2", "X-A": "hunter2hunter2"}}
    }}"#;
    let bench = bench(&[(".mcp.json", text)], &[("S", "hunter2hunter2")]);
    assert_eq!(bench.load().0.servers.len(), 2);
    no_secret_is_shown(&bench, "hunter2hunter2");
}

#[test]
fn files_with_many_servers_are_cut() {
    let entries: Vec<String> = (0..700).map(|n| format!(r#""s{n}": {{"command": "c{n}"}}"#)).collect();
    let text = format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "));
    let bench = bench(&[(".mcp.json", &text)], &[]);
    assert_eq!(bench.load().0.servers.len(), 500);
    assert_eq!(
        bench.warnings(),
        [".mcp.json:1: mcpServers: has 700 servers, of which only the first 500 are read"]
    );
}

/// Files in the order in which they count.
const ORDER: [&str; 6] = [
    "named.json",
    ".mcp.json",
    ".cursor/mcp.json",
    "home/.claude.json",
    "home/.cursor/mcp.json",
    "home/.codeium/mcp_config.json",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each file has some of the servers `s0` to `s4`, each with a command of its own.
    #[test]
    fn the_first_file_that_has_a_name_wins(has in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 5), 6)) {
        let mut files = Vec::new();
        let mut expected: BTreeMap<String, String> = BTreeMap::new();
        for (file, has) in ORDER.iter().zip(&has) {
            let names = (0..5).filter(|n| has[*n]);
            let mut entries = serde_json::Map::new();
            for n in names {
                let command = format!("{}#{n}", file.replace('/', "-"));
                entries.insert(format!("s{n}"), serde_json::json!({"command": command}));
                expected.entry(format!("s{n}")).or_insert(command);
            }
            files.push((*file, serde_json::json!({"mcpServers": entries}).to_string()));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
        let bench = bench(&files, &[("MCP_CONFIG_PATH", "named.json")]);
        let (settings, report) = bench.load();
        let found: BTreeMap<String, String> = settings.servers.iter().map(|server| (server.name.clone(), target(server).to_owned())).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(report.warnings.is_empty());
    }

    /// Whatever stands in the files of others, loading succeeds.
    #[test]
    fn no_file_of_others_is_the_end(
        text in prop_oneof![
            "\\PC{0,200}",
            "[\\[\\]{}\":,a-z0-9\n]{0,200}",
            "\\{\"(mcpServers|servers|mcp|projects)\": \\{\"x\": (\\{\"(command|url|args|env|type|timeout|disabled|envFile|includeTools)\": (1|true|null|\"a\"|\\[1\\]|\\{\"a\": 1\\}|\"\\$\\{A\\}\")\\}|null|1)\\}\\}",
        ],
        index in 0..9_usize,
    ) {
        let file = [
            ".mcp.json", ".vscode/mcp.json", ".codex/config.toml", "opencode.json", ".gemini/settings.json", "home/.claude.json",
            "home/.config/goose/config.yaml", "home/.config/zed/settings.json", "named.yaml",
        ][index];
        let bench = bench(&[(file, &text)], &[("MCP_CONFIG_PATH", "named.yaml")]);
        prop_assert!(crate::load(&bench.options).is_ok());
    }

    #[test]
    fn deep_files_are_refused_and_not_followed(depth in 1..60_000_usize, index in 0..3_usize) {
        let (file, open, close) = [
            (".mcp.json", "{\"mcpServers\":", "}"),
            (".codex/config.toml", "[", "]"),
            ("home/.config/goose/config.yaml", "{a: ", "}"),
        ][index];
        let start = if index == 1 { "a = " } else { "" };
        let text = format!("{start}{}{}", open.repeat(depth), close.repeat(depth));
        let bench = bench(&[(file, &text)], &[]);
        prop_assert!(crate::load(&bench.options).is_ok());
    }
}
