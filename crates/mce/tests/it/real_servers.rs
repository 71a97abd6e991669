//! Nine MCP servers that others wrote behind one `mce serve`, as `scripts/install-mcp-servers` installs them: all listed, each
//! called from Python and from TypeScript, three of them together in one program.

use std::path::Path;
use std::time::Duration;

pub(crate) use mce_test::installed_servers as installed;
use mce_test::{FakeAnswer, FakeApi, git_repository};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::Project;

/// What is in the page, and in a file.
const MARK: &str = "Sesquipedalian";

/// Debian's browser; `None`, and a word about it, if it is not installed.
fn chromium() -> Option<&'static str> {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("NOT RUN: calls of the Playwright server, which need Debian's package `chromium`");
    }
    found
}

/// A server, how many tools it has, and a call of each language with a part of its answer.
struct Server {
    name: &'static str,
    entry: Value,
    tools: usize,
    python: String,
    typescript: String,
    part: &'static str,
}

/// Where things are that servers are about.
struct Place<'a> {
    folder: &'a Path,
    work: &'a str,
    /// Of a page.
    address: String,
}

impl Place<'_> {
    fn node(&self, program: &str, args: &[&str]) -> Value {
        let program = self.folder.join("node_modules").join(program);
        let all: Vec<&str> = std::iter::once(program.to_str().unwrap()).chain(args.iter().copied()).collect();
        json!({"command": "node", "args": all})
    }

    fn official(&self, name: &str, args: &[&str]) -> Value {
        self.node(&format!("@modelcontextprotocol/server-{name}/dist/index.js"), args)
    }

    fn python(&self, environment: &str, name: &str, args: &[&str]) -> Value {
        json!({"command": self.folder.join(environment).join("bin").join(name), "args": args})
    }
}

fn server(name: &'static str, entry: Value, tools: usize, [python, typescript]: [&str; 2], part: &'static str) -> Server {
    Server {
        name,
        entry,
        tools,
        python: python.to_owned(),
        typescript: typescript.to_owned(),
        part,
    }
}

fn node_servers(place: &Place<'_>) -> Vec<Server> {
    let Place { work, address, .. } = place;
    let mut memory = place.official("memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": format!("{work}/memory.json")});
    let browser = [
        "--headless",
        "--no-sandbox",
        "--isolated",
        "--executable-path",
        chromium().unwrap_or("chromium"),
    ];
    vec![
        server(
            "everything",
            place.official("everything", &["stdio"]),
            16,
            ["everything.echo(message='hi')", "everything.echo({ message: 'hi' })"],
            "Echo: hi",
        ),
        server(
            "files",
            place.official("filesystem", &[work]),
            14,
            [
                &format!("files.read_text_file(path='{work}/notes.txt')"),
                &format!("files.readTextFile({{ path: '{work}/notes.txt' }})"),
            ],
            MARK,
        ),
        server(
            "memory",
            memory,
            9,
            [
                "memory.create_entities(entities=[{'name': 'Ann', 'entityType': 'person', 'observations': ['is here']}])",
                "memory.readGraph()",
            ],
            "Ann",
        ),
        server(
            "thinking",
            place.official("sequential-thinking", &[]),
            1,
            [
                "thinking.sequentialthinking(thought='x', next_thought_needed=False, thought_number=1, total_thoughts=1)",
                "thinking.sequentialthinking({ thought: 'x', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 })",
            ],
            "thoughtNumber",
        ),
        server(
            "browser",
            place.node("@playwright/mcp/cli.js", &browser),
            25,
            [
                &format!("(browser.browser_navigate(url='{address}'), browser.browser_snapshot())[1]"),
                &format!("browser.browserNavigate({{ url: '{address}' }}).then(() => browser.browserSnapshot())"),
            ],
            MARK,
        ),
    ]
}

fn python_servers(place: &Place<'_>) -> Vec<Server> {
    let Place { work, address, .. } = place;
    vec![
        server(
            "git",
            place.python("python", "mcp-server-git", &["--repository", work]),
            12,
            [
                &format!("git.git_log(repo_path='{work}')"),
                &format!("git.gitLog({{ repoPath: '{work}' }})"),
            ],
            "first",
        ),
        server(
            "clock",
            place.python("python", "mcp-server-time", &["--local-timezone", "UTC"]),
            2,
            [
                "clock.get_current_time(timezone='Europe/Oslo')",
                "clock.getCurrentTime({ timezone: 'Europe/Oslo' })",
            ],
            "Europe/Oslo",
        ),
        server(
            "database",
            place.python("old-python", "mcp-server-sqlite", &["--db-path", &format!("{work}/db.sqlite")]),
            6,
            [
                "database.read_query(query='SELECT 40 + 2 AS n')",
                "database.readQuery({ query: 'SELECT 40 + 2 AS n' })",
            ],
            "42",
        ),
        server(
            "web",
            place.python("python", "mcp-server-fetch", &["--allow-private-ips", "--ignore-robots-txt"]),
            1,
            [
                &format!("web.fetch(url='{address}')"),
                &format!("web.fetch({{ url: '{address}' }})"),
            ],
            MARK,
        ),
    ]
}

fn project(folder: &Path, api: &FakeApi) -> (Project, Vec<Server>) {
    api.answer_with(|_| FakeAnswer::new(200, "text/html", format!("<html><body><h1>{MARK}</h1></body></html>")));
    let project = Project::empty().with("MCE_EXECUTION_TIMEOUT_SECONDS", "100");
    project.write("work/notes.txt", &format!("{MARK}, apple, pear"));
    let work = project.file("work").canonicalize().unwrap();
    git_repository(&work);
    let place = Place {
        folder,
        work: work.to_str().unwrap(),
        address: format!("{}/page", api.origin()),
    };
    let mut servers = node_servers(&place);
    servers.extend(python_servers(&place));
    let entries: serde_json::Map<String, Value> = servers
        .iter()
        .map(|server| (server.name.to_owned(), server.entry.clone()))
        .collect();
    // The server says of each page that is opened that it destroys, and this client can ask nobody.
    project.write(
        "mce.yaml",
        "policies:\n- {server: browser, function: browser_navigate, decide: allow}\n",
    );
    // As people have them.
    project.write(".mcp.json", &json!({"mcpServers": entries}).to_string());
    (project, servers)
}

fn run(client: &mut Client, code: &str, language: &str) -> Value {
    client
        .call("execute_code", json!({"code": code, "description": "test", "language": language}))
        .0
}

#[test]
fn nine_servers_at_once_are_listed_and_called_from_both_languages() {
    let Some(folder) = installed() else { return };
    let api = FakeApi::start();
    let (project, servers) = project(&folder, &api);
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    // Nothing was compiled: tools are listed in the background, and what takes longer than a request waits is said.
    let listed = loop {
        let listed = client.call("list_servers", json!({})).0;
        if !listed.to_string().contains("starting") {
            break listed;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    for server in &servers {
        let found = listed["servers"].as_array().unwrap().iter().find(|one| one["name"] == server.name);
        assert_eq!(found.unwrap()["functions"], server.tools, "{}: {listed}", server.name);
    }
    let called = servers.iter().filter(|server| server.name != "browser" || chromium().is_some());
    for server in called {
        let imports = format!("import {0}.functions as {0}\n", server.name);
        let python = run(&mut client, &format!("{imports}result = {}\n", server.python), "python");
        assert!(python["data"].to_string().contains(server.part), "{}: {python}", server.name);
        let code = format!(
            "import {{ {} }} from 'mce:servers';\nexport default await {};\n",
            server.name, server.typescript
        );
        let typescript = run(&mut client, &code, "typescript");
        assert!(
            typescript["data"].to_string().contains(server.part),
            "{}: {typescript}",
            server.name
        );
    }
    let together = format!(
        "from files.functions import read_text_file\nfrom database.functions import create_table, write_query, read_query\n\
         from memory.functions import create_entities, open_nodes\n\
         words = read_text_file(path='{}/notes.txt')['content'].split(', ')\n\
         create_table(query='CREATE TABLE words (word TEXT, size INTEGER)')\n\
         for word in words:\n    write_query(query=f\"INSERT INTO words VALUES ('{{word}}', {{len(word)}})\")\n\
         longest = str(read_query(query='SELECT word FROM words ORDER BY size DESC LIMIT 1'))\n\
         create_entities(entities=[{{'name': 'longest', 'entityType': 'word', 'observations': [longest]}}])\n\
         result = open_nodes(names=['longest'])['entities'][0]['observations']\n",
        project.file("work").canonicalize().unwrap().display()
    );
    let answer = run(&mut client, &together, "python");
    assert!(answer["data"][0].as_str().unwrap().contains(MARK), "{answer}");
    let calls: Vec<&Value> = answer["calls"].as_array().unwrap().iter().map(|group| &group["function"]).collect();
    assert_eq!(calls.len(), 6, "{calls:?}");
}
