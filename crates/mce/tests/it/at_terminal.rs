//! A person at a terminal, which is a real one (a pseudo-terminal of Python's): asked by `mce call` and by `mce approve`.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use mce_test::{FakeAnswer, FakeApi};
use serde_json::json;

use crate::client::Client;
use crate::policy::project;
use crate::project::Project;

/// Runs a command in a terminal of its own, which is passed through standard input and output.
const IN_TERMINAL: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A command at a terminal, and what is seen there so far.
struct Seen {
    child: Child,
    text: String,
}

impl Seen {
    #[expect(clippy::disallowed_methods, reason = "the test is who sits at the terminal")]
    fn start(project: &Project, args: &[&str]) -> Self {
        let inner = project.command(args);
        let mut command = Command::new("python3");
        command
            .args(["-c", IN_TERMINAL])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(project.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        Self {
            child,
            text: String::new(),
        }
    }

    /// Waits until the terminal shows this, `times` in all.
    #[track_caller]
    fn wait_for(&mut self, wanted: &str, times: usize) {
        let mut bytes = [0; 4096];
        while self.text.matches(wanted).count() < times {
            let read = self.child.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
            assert!(read > 0, "it ended without `{wanted}`: {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// What was seen, and the exit code, when it has ended by itself.
    fn end(mut self) -> (String, i32) {
        let mut rest = Vec::new();
        self.child.stdout.as_mut().unwrap().read_to_end(&mut rest).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (self.text.clone() + &String::from_utf8_lossy(&rest), code)
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        // Its terminal goes with it, and what runs there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn api() -> FakeApi {
    let api = FakeApi::start();
    api.answer_with(|request| match request.method.as_str() {
        "DELETE" => FakeAnswer::empty(204),
        _ => FakeAnswer::json(200, r#"{"name": "chair"}"#),
    });
    api
}

const PROMPT: &str = "anything else is a no:";

#[test]
fn what_is_too_long_for_a_client_is_shown_whole_at_the_terminal() {
    let api = api();
    let project = project(&api, "policies:\n- {name: careful, server: shop, decide: ask}\n");
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let code = "from shop.functions import create_item\n\
        result = create_item(body={'name': 'a', 'last': '\\x1b[2J' + 'y' * 900} | {f'k{n}': 'v' * 99 for n in range(90)})['name']";
    let waits = client.run(code);
    let id = waits["error"]["message"]
        .as_str()
        .unwrap()
        .split('`')
        .find(|part| part.starts_with("a_"))
        .unwrap()
        .to_owned();
    let listed = project.run(&["approve", "--list"]).out;
    assert!(
        listed.len() < 5_000 && listed.contains(&format!("more characters: `mce approve {id}`")),
        "{listed}"
    );
    let mut seen = Seen::start(&project, &["approve", &id]);
    seen.wait_for(PROMPT, 1);
    seen.types("y\n");
    let (text, code_of_it) = seen.end();
    assert_eq!(code_of_it, 0, "{text}");
    assert!(
        text.contains(&"y".repeat(900)) && text.contains("k89") && !text.contains("\u{1b}[2J"),
        "{text}"
    );
    assert_eq!(client.run(code)["data"], "chair");
}

#[test]
fn who_types_a_call_is_asked_at_the_terminal() {
    let api = api();
    let project = project(&api, "policies:\n- {name: careful, server: shop, decide: ask}\n");
    let call = |words: &[&str], typed: &str| {
        let mut seen = Seen::start(&project, words);
        seen.wait_for(PROMPT, 1);
        assert!(api.requests().is_empty(), "it was sent before somebody said yes");
        seen.types(typed);
        let (text, code) = seen.end();
        assert!(
            text.contains("function: shop.") && text.contains("asked by rule: careful"),
            "{text}"
        );
        (text, code, api.take_requests().len())
    };
    let get = ["call", "shop.get_item", "--id", "7"];
    let (text, code, sent) = call(&get, "y\n");
    assert!(text.contains(r#"arguments: {"id":"7"}"#) && text.contains("chair"), "{text}");
    assert_eq!((code, sent), (0, 1));
    for no in ["n\n", "\n", "yes please\n", "\u{4}"] {
        let (text, code, sent) = call(&get, no);
        assert_eq!((code, sent), (1, 0), "{no:?} {text}");
        assert!(text.contains("was not called"), "{text}");
    }
    project.write(
        "two.py",
        "from shop.functions import get_item, delete_item\nresult = [get_item(id='1')['name'], delete_item(id='2')]",
    );
    let mut seen = Seen::start(&project, &["exec", "two.py"]);
    for times in 1..=2 {
        seen.wait_for(PROMPT, times);
        seen.types("y\n");
    }
    let (text, code) = seen.end();
    assert_eq!((code, api.take_requests().len()), (0, 2), "{text}");
    // Always is for this function, and not asked again.
    assert_eq!(call(&get, "always\n").1, 0);
    let (text, code) = Seen::start(&project, &get).end();
    assert!(code == 0 && !text.contains(PROMPT), "{text}");
}

#[test]
fn what_is_typed_before_a_question_is_no_answer_to_it() {
    let api = api();
    let project = project(&api, "");
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let mut watching = Seen::start(&project, &["approve"]);
    watching.wait_for("Waiting for calls to ask about", 1);
    watching.types("y\n");
    // The terminal shows what it was given.
    watching.wait_for("y\r\n", 1);
    let delete = "from shop.functions import delete_item\nresult = delete_item(id='1')";
    assert_eq!(client.run(delete)["error"]["type"], "approval");
    watching.wait_for(PROMPT, 1);
    watching.types("n\n");
    watching.wait_for("`shop.delete_item`: ", 1);
    assert!(!watching.text.contains("allowed"), "{}", watching.text);
    assert_eq!(client.run(delete)["success"], false);
    assert!(api.requests().is_empty());
}

#[test]
fn an_answer_is_for_the_question_that_is_there_also_after_one_that_nobody_answered() {
    let api = api();
    let project = project(&api, "policies:\n- {function: delete_item, decide: ask}\n").with("MCE_APPROVAL_SECONDS", "3");
    let late =
        "from shop.functions import delete_item\ntry: delete_item(id='1')\nexcept Exception as e: print(e)\nresult = delete_item(id='2')";
    project.write("late.py", late);
    let mut seen = Seen::start(&project, &["exec", "late.py"]);
    seen.wait_for(PROMPT, 2);
    seen.types("y\n");
    let (text, code) = seen.end();
    let deleted: Vec<String> = api.requests().into_iter().map(|request| request.target).collect();
    assert_eq!((code, deleted), (0, vec!["/v1/items/2".to_owned()]), "{text}");
}

#[test]
fn whoever_watches_is_asked_about_each_call_that_comes() {
    let api = api();
    let project = project(&api, "");
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let delete = |id: &str| format!("from shop.functions import delete_item\nresult = delete_item(id='{id}')");
    let mut watching = Seen::start(&project, &["approve"]);
    watching.wait_for("Waiting for calls to ask about", 1);
    for (times, (id, typed, told, is_sent)) in [("1", "y\n", "allowed once", true), ("2", "no\n", "denied", false)]
        .into_iter()
        .enumerate()
    {
        assert_eq!(client.run(&delete(id))["error"]["type"], "approval");
        watching.wait_for(PROMPT, times + 1);
        assert!(
            watching.text.contains(&format!(r#"arguments: {{"id":"{id}"}}"#)),
            "{}",
            watching.text
        );
        watching.types(typed);
        watching.wait_for(told, 1);
        assert_eq!(client.run(&delete(id))["success"], is_sent);
    }
    assert_eq!(client.run(&delete("3"))["error"]["type"], "approval");
    watching.wait_for(PROMPT, 3);
    watching.types("always\n");
    watching.wait_for("allowed always", 1);
    assert!(client.run(&delete("3"))["success"] == true && client.run(&delete("4"))["success"] == true);
    assert_eq!(project.run(&["approve", "--list", "--json"]).json()[0]["state"], json!("denied"));
    let deleted: Vec<String> = api.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(deleted, ["/v1/items/1", "/v1/items/3", "/v1/items/4"]);
}
