//! A canary in every kind of secret, an API and an MCP server that say all they were given in every form they know, and every way
//! out of the program: what people and models are shown, logs, files. No canary is in any of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use mce_test::{FakeAnswer, FakeApi, ReceivedRequest};
use serde_json::{Value, json};

use crate::project::Project;

/// Each secret by its kind. All have characters that some encoding changes.
const CANARIES: [(&str, &str); 21] = [
    ("static", "canary+static/0a1b=2c3d"),
    ("jwt", "eyCanaryJwt.0a1b2c3d-4e5f.sig_0x9y"),
    ("basic", "canary basic&pass\u{f6}rd"),
    ("client_secret", "canary/client+secret=77"),
    ("access_token", "canary.access+token/1234"),
    ("keycloak_secret", "canary%keycloak%secret9"),
    ("session_password", "canary\"session\\password"),
    ("session_cookie", "canarySession0123456789abc"),
    ("session_token", "canary.session.token-42"),
    ("key_header", "canary-key-header-5151"),
    ("key_query", "canary key/query?&=#5252"),
    ("key_cookie", "canary-key-cookie-5353"),
    ("scheme_basic", "canary:scheme:basic:5454"),
    ("extra_header", "canary-extra-header-5555"),
    ("url_password", "canary-url-password-5656"),
    ("stdio_env", "canary stdio env 5757"),
    ("stdio_argument", "canary-stdio-argument-5858"),
    ("mcp_header", "canary-mcp-header-5959"),
    ("file", "canary-from-a-file-6060"),
    ("command", "canary-from-a-command-6161"),
    ("http_token", "canary-http-token-6262-long-enough"),
];

const ECHO_SERVER: &str = r#"
import base64, json, os, sys, urllib.parse
print("starting with", dict(os.environ), sys.argv, file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, answer = message.get("method"), {}
    said = json.dumps({"environment": dict(os.environ), "arguments": sys.argv})
    forms = [said, base64.b64encode(os.environ.get("CANARY", "").encode()).decode(), urllib.parse.quote(os.environ.get("CANARY", ""))]
    if method == "initialize":
        answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": said}, "instructions": said}
    elif method == "tools/list":
        answer = {"tools": [{"name": name, "description": "Says " + said, "inputSchema": {"type": "object"}} for name in ("say", "fail", "die")]}
    elif method == "tools/call":
        if message["params"]["name"] == "die": sys.exit(said)
        answer = {"content": [{"type": "text", "text": form} for form in forms], "isError": message["params"]["name"] == "fail"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
"#;

fn canary(kind: &str) -> &'static str {
    CANARIES.iter().find(|(known, _)| *known == kind).unwrap().1
}

/// The forms in which a text may come out.
fn forms(text: &str) -> Vec<String> {
    let quoted = json!(text).to_string();
    let mut escaped = String::new();
    for character in text.encode_utf16() {
        write!(escaped, "\\u{character:04x}").unwrap();
    }
    let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    vec![
        text.to_owned(),
        quoted.trim_matches('"').to_owned(),
        escaped,
        encoded.clone(),
        encoded.replace('+', "%20"),
        encoded.to_lowercase(),
        BASE64_STANDARD.encode(text),
        BASE64_STANDARD.encode(text).trim_end_matches('=').to_owned(),
        BASE64_URL_SAFE_NO_PAD.encode(text),
    ]
}

fn find(place: &str, bytes: &[u8], found: &mut Vec<String>) {
    for (kind, text) in CANARIES {
        for form in forms(text) {
            if let Some(at) = bytes.windows(form.len()).position(|window| window == form.as_bytes()) {
                let around = &bytes[at.saturating_sub(60)..bytes.len().min(at + 80)];
                found.push(format!("{kind} as `{form}` in {place}: …{}…", String::from_utf8_lossy(around)));
            }
        }
    }
}

/// Says the whole request in many forms; logs in whoever asks.
fn echo(request: &ReceivedRequest) -> FakeAnswer {
    let said = format!("{} {:?} {}", request.target, request.headers, request.text());
    match request.target.split('?').next().unwrap() {
        "/token" | "/realms/r/protocol/openid-connect/token" => {
            let token = json!({"access_token": canary("access_token"), "token_type": "Bearer", "expires_in": 3600, "echo": said});
            return FakeAnswer::json(200, token.to_string());
        }
        "/login" => {
            let token = json!({"token": canary("session_token"), "echo": said});
            let cookie = format!("JSESSIONID={}; Path=/; HttpOnly", canary("session_cookie"));
            return FakeAnswer::json(200, token.to_string()).with_header("set-cookie", &cookie);
        }
        "/broken-token" | "/broken-login" => {
            return FakeAnswer::json(400, json!({"error": "invalid_client", "error_description": said}).to_string());
        }
        _ => {}
    }
    let values: Vec<&str> = request.headers.iter().map(|(_, value)| value.as_str()).collect();
    let body = json!({
        "said": said,
        "values": values,
        "base64": values.iter().map(|value| BASE64_STANDARD.encode(value)).collect::<Vec<_>>(),
        "encoded": values.iter().map(|value| url::form_urlencoded::byte_serialize(value.as_bytes()).collect()).collect::<Vec<String>>(),
        "tokens": values.iter().flat_map(|value| value.split([' ', '=', ';', ':'])).map(|part| BASE64_STANDARD.encode(part)).collect::<Vec<_>>(),
    });
    let status = if request.target.contains("fail") {
        422
    } else if request.target.contains("refuse") {
        401
    } else {
        200
    };
    let answer = FakeAnswer::json(status, body.to_string());
    let printable: String = said.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(2000).collect();
    answer
        .with_header("x-echo", &printable)
        .with_header("link", &format!("<{}&page=2>; rel=\"next\"", request.target))
}

fn document() -> Value {
    let answer = json!({"200": {"description": "said", "content": {"application/json": {"schema": {"type": "object"}}}}});
    let parameters =
        json!([{"name": "q", "in": "query", "schema": {"type": "string"}}, {"name": "n", "in": "query", "schema": {"type": "integer"}}]);
    let operation = |id: &str| json!({"operationId": id, "parameters": parameters, "responses": answer});
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Echo", "version": "1"},
        "security": [{"header": [], "query": [], "cookie": []}, {"basic": []}, {}],
        "paths": {
            "/say": {"get": operation("say"), "post": operation("say_more")},
            "/fail": {"get": operation("fail")},
            "/refuse": {"get": operation("refuse"), "post": operation("refuse_more")},
        },
        "components": {"securitySchemes": {
            "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "query": {"type": "apiKey", "in": "query", "name": "key"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "key"},
            "basic": {"type": "http", "scheme": "basic"},
        }},
    })
}

/// Where a person keeps secrets; the search leaves it out.
fn write_secrets(project: &Project) {
    let mut variables = String::new();
    for (kind, text) in CANARIES {
        writeln!(variables, "C_{}={}", kind.to_uppercase(), json!(text)).unwrap();
    }
    project.write("secrets/.env", &variables);
    project.write("secrets/token", canary("file"));
    project.write(
        "secrets/print.sh",
        &format!("#!/bin/sh\necho noise-on-stderr >&2\nprintf %s '{}'\n", canary("command")),
    );
}

/// A server for each kind of secret.
fn configured(api: &FakeApi) -> Project {
    let project = Project::empty();
    let origin = api.origin();
    write_secrets(&project);
    project.write("echo.json", &document().to_string());
    project.write("echo_server.py", ECHO_SERVER);
    let (host, port) = origin.trim_start_matches("http://").split_once(':').unwrap();
    let apis: BTreeMap<&str, String> = BTreeMap::from([
        ("fixed", "auth: {type: static, value: 'Bearer ${C_STATIC}'}".to_owned()),
        ("web_token", "auth: {type: jwt, token: '${C_JWT}'}".to_owned()),
        ("plain", "auth: {type: basic, username: ann, password: '${C_BASIC}'}".to_owned()),
        (
            "granted",
            format!("auth: {{type: oauth2, token_url: '{origin}/token', client_id: c, client_secret: '${{C_CLIENT_SECRET}}'}}"),
        ),
        (
            "not_granted",
            format!("auth: {{type: oauth2, token_url: '{origin}/broken-token', client_id: c, client_secret: '${{C_CLIENT_SECRET}}'}}"),
        ),
        (
            "cloak",
            format!("auth: {{type: keycloak, base_url: '{origin}', realm: r, client_id: c, client_secret: '${{C_KEYCLOAK_SECRET}}'}}"),
        ),
        (
            "session",
            format!("auth: {{type: session, login_url: '{origin}/login', username: ann, password: '${{C_SESSION_PASSWORD}}'}}"),
        ),
        (
            "session_token",
            format!(
                "auth: {{type: session, login_url: '{origin}/login', username: ann, password: '${{C_SESSION_PASSWORD}}', token_field: token}}"
            ),
        ),
        (
            "no_session",
            format!("auth: {{type: session, login_url: '{origin}/broken-login', username: ann, password: '${{C_SESSION_PASSWORD}}'}}"),
        ),
        (
            "keys",
            "credentials: {header: '${C_KEY_HEADER}', query: '${C_KEY_QUERY}', cookie: '${C_KEY_COOKIE}'}".to_owned(),
        ),
        (
            "scheme",
            "credentials: {basic: {username: ann, password: '${C_SCHEME_BASIC}'}}".to_owned(),
        ),
        ("extra", "extra_headers: {X-Api-Token: '${C_EXTRA_HEADER}'}".to_owned()),
        ("from_file", "auth: {type: jwt, token: '${file:secrets/token}'}".to_owned()),
        (
            "from_command",
            "auth: {type: jwt, token: {command: [sh, secrets/print.sh]}}".to_owned(),
        ),
    ]);
    let mut yaml = "servers:\n".to_owned();
    for (name, lines) in &apis {
        writeln!(yaml, "  {name}:\n    openapi: ./echo.json\n    base_url: {origin}\n    {lines}").unwrap();
    }
    writeln!(
        yaml,
        "  in_url:\n    openapi: ./echo.json\n    base_url: 'http://ann:${{C_URL_PASSWORD}}@{host}:{port}'"
    )
    .unwrap();
    writeln!(
        yaml,
        "  pipes:\n    command: python3\n    args: [-I, echo_server.py, '--token=${{C_STDIO_ARGUMENT}}']\n    env: {{CANARY: '${{C_STDIO_ENV}}'}}"
    )
    .unwrap();
    writeln!(
        yaml,
        "  remote:\n    url: {origin}/mcp\n    headers: {{X-Api-Key: '${{C_MCP_HEADER}}'}}"
    )
    .unwrap();
    yaml.push_str("http_token: '${C_HTTP_TOKEN}'\naudit_arguments: masked\n");
    project.write("mce.yaml", &yaml);
    project
}

const APIS: [&str; 15] = [
    "fixed",
    "web_token",
    "plain",
    "granted",
    "not_granted",
    "cloak",
    "session",
    "session_token",
    "no_session",
    "keys",
    "scheme",
    "extra",
    "from_file",
    "from_command",
    "in_url",
];

/// Programs of both languages that look at whatever a call gives, raises or leaves behind.
fn programs(server: &str) -> [(&'static str, String); 3] {
    let python = format!(
        "import traceback\nimport {server}.functions as s\nfrom mce import call_function\nseen = []\nfor name in ('say', 'say_more', 'fail', 'refuse', 'refuse_more'):\n    f = getattr(s, name)\n    \
         for call in (lambda: f(q='x'), lambda: vars(f.with_headers(q='x')), lambda: call_function('{server}.' + name, {{'q': 1}})):\n        try:\n            value = call()\n            print(value)\n            seen.append(str(value)[:3000])\n        \
         except Exception as e:\n            print(e, getattr(e, 'body', None), traceback.format_exc())\n            seen.append(repr(vars(e)))\nresult = seen"
    );
    let typescript = format!(
        "const seen: any[] = [];\nfor (const f of [{server}.say, {server}.sayMore, {server}.fail, {server}.refuse]) {{ try {{ const v = await f({{ q: 'x' }}); console.log(v); seen.push(v); }} catch (e: any) {{ console.log(e); seen.push([String(e), e.body, e.stack]); }} }}\nexport default seen;"
    );
    [
        ("python", python),
        ("typescript", typescript),
        ("python", format!("from {server}.functions import fail\nfail(q='x')")),
    ]
}

/// All requests at once to `mce serve`, and everything that it wrote.
fn serve(project: &Project, requests: &[Value]) -> (Vec<u8>, Vec<u8>) {
    let mut command = project.command(&["--env-file", "secrets/.env", "serve"]);
    command.env("MCE_LOG_LEVEL", "trace").env("MCE_DEBUG", "true");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut all = Vec::new();
    for request in requests {
        writeln!(stdin, "{request}").unwrap();
        while request.get("id").is_some() {
            let start = all.len();
            assert!(stdout.read_until(b'\n', &mut all).unwrap() > 0, "it ended: {request}");
            let message: Value = serde_json::from_slice(&all[start..]).unwrap();
            if message["id"] == request["id"] {
                break;
            }
        }
    }
    drop(stdin);
    stdout.read_to_end(&mut all).unwrap();
    child.wait().unwrap();
    (all, log.join().unwrap())
}

fn conversation() -> Vec<Value> {
    let mut requests = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let mut ask = |method: &str, params: Value| {
        let id = requests.len();
        requests.push(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    };
    ask("tools/list", json!({}));
    let tool = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    ask("tools/call", tool("list_servers", json!({})));
    ask(
        "tools/call",
        tool("search_functions", json!({"query": "say fail die", "limit": 50})),
    );
    for server in APIS {
        ask(
            "tools/call",
            tool(
                "get_functions",
                json!({"functions": [{"server_name": server, "function_name": "say"}]}),
            ),
        );
        for (language, code) in programs(server) {
            let arguments = json!({"code": code, "description": "echo", "language": language, "max_result_bytes": 1_000_000});
            ask("tools/call", tool("execute_code", arguments));
        }
        ask(
            "tools/call",
            tool("execute_code", json!({"code": programs(server)[0].1, "description": "a handle"})),
        );
    }
    ask(
        "tools/call",
        tool(
            "get_functions",
            json!({"functions": [{"server_name": "pipes", "function_name": "say"}]}),
        ),
    );
    for name in ["say", "fail", "die", "say"] {
        let code = format!("from mce import call_function\nresult = call_function('pipes.{name}', {{}})");
        ask("tools/call", tool("execute_code", json!({"code": code, "description": "a tool"})));
    }
    ask(
        "tools/call",
        tool(
            "execute_code",
            json!({"code": "from mce import call_function\ncall_function('remote.x', {})", "description": "no server"}),
        ),
    );
    ask(
        "tools/call",
        tool(
            "execute_code",
            json!({"code": "import os\nresult = [dict(os.environ), open('/proc/self/environ').read()]", "description": "environment"}),
        ),
    );
    ask("resources/list", json!({}));
    ask("prompts/list", json!({}));
    requests
}

/// Every file but those in which a person wrote the secrets.
fn search_files(folder: &Path, found: &mut Vec<String>) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("secrets") {
                files += search_files(&path, found);
            }
        } else if let Ok(bytes) = std::fs::read(&path) {
            find(&path.display().to_string(), &bytes, found);
            files += 1;
        }
    }
    files
}

#[test]
fn no_secret_leaves_by_any_way() {
    let api = FakeApi::start();
    api.answer_with(echo);
    let project = configured(&api);
    let mut found = Vec::new();
    let mut run = |args: &[&str]| {
        let all: Vec<&str> = ["--env-file", "secrets/.env"].iter().chain(args).copied().collect();
        let ended = project.run(&all);
        find(
            &format!("`mce {}`", args.join(" ")),
            format!("{}{}", ended.out, ended.err).as_bytes(),
            &mut found,
        );
        ended
    };
    assert!(run(&["compile", "--json"]).out.contains("\"fixed\""));
    run(&["compile"]);
    for args in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["functions", "--json"],
        &["search", "say", "--json"],
        &["doctor", "--json"],
        &["doctor"],
        &["auth", "status", "--json"],
    ] {
        run(args);
    }
    for server in APIS {
        for function in ["say", "fail", "refuse"] {
            run(&["call", &format!("{server}.{function}"), "--json", "{\"q\": \"x\"}"]);
        }
        run(&["call", &format!("{server}.say"), "--json", "{\"n\": \"no number\"}"]);
    }
    for tool in ["say", "fail", "die"] {
        run(&["call", &format!("pipes.{tool}"), "--json", "{}"]);
    }
    run(&["call", "remote.x", "--json", "{}"]);
    let sent = api.take_requests();
    let is_sent = |text: &str| {
        sent.iter()
            .any(|request| request.headers.iter().any(|(_, value)| value.contains(text)))
    };
    for kind in [
        "static",
        "jwt",
        "access_token",
        "session_cookie",
        "session_token",
        "key_header",
        "key_cookie",
        "extra_header",
        "mcp_header",
        "file",
        "command",
    ] {
        assert!(is_sent(canary(kind)), "the API never got `{kind}`, so that nothing was tried");
    }

    let (out, log) = serve(&project, &conversation());
    assert!(String::from_utf8_lossy(&out).contains("[redacted]"), "nothing was said again");
    find("stdout of `mce serve`", &out, &mut found);
    find("stderr of `mce serve`", &log, &mut found);
    for args in [
        &["audit", "tail", "-n", "1000", "--json"][..],
        &["audit", "search", "--failed"],
        &["audit", "verify"],
    ] {
        let ended = project.run(&["--env-file", "secrets/.env"].iter().chain(args).copied().collect::<Vec<_>>());
        find(
            &format!("`mce {}`", args.join(" ")),
            format!("{}{}", ended.out, ended.err).as_bytes(),
            &mut found,
        );
    }
    assert!(search_files(project.path(), &mut found) > 3);
    found.truncate(30);
    assert!(found.is_empty(), "{} secrets came out:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_wrong_configuration_names_no_secret() {
    let api = FakeApi::start();
    let mut found = Vec::new();
    for (from, to) in [
        ("type: jwt, token:", "type: jwtt, token:"),
        ("type: basic, username: ann, password:", "type: basic, username: [ann], password:"),
        ("client_id: c,", "client_idd: c,"),
        ("login_url: '", "login_url: 'nonsense "),
        ("'http://ann:${C_URL_PASSWORD}@", "'http//ann:${C_URL_PASSWORD}@"),
        ("X-Api-Token: '", "'X Api Token': '"),
        ("audit_arguments: masked", "audit_arguments: '${C_STATIC}'"),
        ("X-Api-Key: '${C_MCP_HEADER}'", "X-Api-Key: {a: '${C_MCP_HEADER}'}"),
    ] {
        let project = configured(&api);
        let yaml = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
        assert!(yaml.contains(from), "{from}");
        project.write("mce.yaml", &yaml.replace(from, to));
        for args in [
            &["config", "show"][..],
            &["compile", "--json"],
            &["call", "fixed.say", "--json", "{}"],
        ] {
            let ended = project.run(&["--env-file", "secrets/.env"].iter().chain(args).copied().collect::<Vec<_>>());
            find(
                &format!("{to}: `mce {}`", args.join(" ")),
                format!("{}{}", ended.out, ended.err).as_bytes(),
                &mut found,
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
