//! The audit log as the program leaves it, however it ends, and what `mce audit` tells of it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mce_broker::verify_audit;
use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::Project;

/// Moments at which a call is killed, from its process's start to after its end.
const MOMENTS: u32 = 100;

const NEW_ITEM: &str = r#"{"body": {"name": "chair"}}"#;

fn records(project: &Project) -> Vec<Value> {
    let text = std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn found(project: &Project, filter: &[&str]) -> Vec<Value> {
    let ended = project.run(&[&["audit", "search", "--json"], filter].concat());
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_event<'a>(records: &'a [Value], event: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["event"] == event).collect()
}

fn wait_for_request(api: &FakeApi) {
    while api.requests().is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn a_log_that_is_put_back_to_what_it_was_is_found_also_when_it_goes_on() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let call = || assert_eq!(project.run(&["call", "shop.create_item", "--json", NEW_ITEM]).code, 0);
    call();
    for file in ["audit.jsonl", "audit.head"] {
        std::fs::copy(project.file("data").join(file), project.file(file)).unwrap();
    }
    call();
    call();
    for file in ["audit.jsonl", "audit.head"] {
        std::fs::copy(project.file(file), project.file("data").join(file)).unwrap();
    }
    for _ in 0..2 {
        let found = project.run(&["audit", "verify", "--json"]);
        assert_eq!((found.code, found.json()["faults"].as_array().unwrap().len()), (1, 1), "{found:?}");
        call();
    }
}

#[test]
fn a_log_that_is_removed_whole_is_missed() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let call = || assert_eq!(project.run(&["call", "shop.create_item", "--json", NEW_ITEM]).code, 0);
    let verify = || project.run(&["audit", "verify", "--json"]);
    call();
    assert_eq!(verify().json()["faults"], json!([]));
    for file in ["audit.jsonl", "audit.head"] {
        std::fs::remove_file(project.file("data").join(file)).unwrap();
    }
    let missed = verify();
    assert_eq!(
        (missed.code, &missed.json()["faults"][0]["what"]),
        (1, &json!("lines 1 to 1 of the log are missing"))
    );
    // What is written then does not make it good.
    call();
    call();
    let missed = verify();
    assert_eq!(
        (missed.code, &missed.json()["faults"][0]["what"]),
        (1, &json!("lines 1 to 1 of the log are missing"))
    );
    assert_eq!(of_event(&records(&project), "log")[0]["what"], "missing");
    // Nor does a log that was written elsewhere.
    let other = Project::shop(&api);
    for _ in 0..4 {
        assert_eq!(other.run(&["call", "shop.create_item", "--json", NEW_ITEM]).code, 0);
    }
    for file in ["audit.jsonl", "audit.head"] {
        std::fs::copy(other.file("data").join(file), project.file("data").join(file)).unwrap();
    }
    let replaced = verify().json();
    assert!(
        replaced["faults"][0]["what"]
            .as_str()
            .unwrap()
            .contains("another line of this number"),
        "{replaced}"
    );
    // Not even when it goes on.
    call();
    let replaced = verify();
    assert_eq!(replaced.code, 1);
    let what = replaced.json()["faults"][0]["what"].to_string();
    assert!(what.contains("another log was put in the place of this one"), "{what}");
    // Another place is another log.
    let elsewhere = project.with("MCE_AUDIT_LOG_PATH", "elsewhere.jsonl");
    assert_eq!(elsewhere.run(&["audit", "verify", "--json"]).json()["faults"], json!([]));
}

#[test]
fn a_call_that_is_killed_at_any_moment_leaves_a_log_that_tells_what_is_unknown() {
    let api = FakeApi::start();
    // Many files, so that some processes are killed while they begin one.
    let project = Project::shop(&api).with("MCE_AUDIT_MAX_BYTES", "4096");
    // So long that many moments lie between intent and outcome.
    api.answer_with(|_| {
        std::thread::sleep(Duration::from_millis(20));
        FakeAnswer::json(201, r#"{"name": "chair"}"#)
    });
    let call = || {
        let mut command = project.command(&["call", "shop.create_item", "--json", NEW_ITEM]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    // Twice what the slowest of some takes: where the machine is busy, some must come to their end all the same.
    let taken = (0..5).map(|_| {
        let started = Instant::now();
        assert!(call().status().unwrap().success());
        started.elapsed()
    });
    let usual = taken.max().unwrap() * 2;
    for moment in 0..MOMENTS {
        let mut child = call().spawn().unwrap();
        std::thread::sleep(usual * moment / MOMENTS);
        child.kill().unwrap();
        child.wait().unwrap();
        let report = verify_audit(&project.file("data/audit.jsonl"), &project.file("data")).unwrap();
        assert_eq!(report.faults, [], "moment {moment}");
    }
    let records = found(&project, &[]);
    let (intents, outcomes) = (of_event(&records, "intent").len(), of_event(&records, "outcome").len());
    let sent = api.requests().len();
    let unknown = found(&project, &["--failed"]);
    let unknown = unknown.iter().filter(|record| record["outcome"] == "unknown").count();
    // What was sent is on record; what has no outcome is said to be unknown.
    assert!(outcomes <= sent && sent <= intents, "{outcomes} {sent} {intents}");
    assert_eq!(unknown, intents - outcomes, "{unknown}");
    assert!(unknown > 0 && outcomes > 5, "{unknown} {outcomes}");
    let verified = project.run(&["audit", "verify"]);
    assert_eq!(
        (verified.code, verified.out.contains("all as they were written")),
        (0, true),
        "{verified:?}"
    );
}

#[test]
fn a_call_goes_on_until_its_process_is_gone_and_then_nobody_knows_what_became_of_it() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    api.answer_next(FakeAnswer::silence());
    let code = "from shop.functions import create_item\ncreate_item(body={'name': 'chair'})\n";
    client.ask(
        "tools/call",
        json!({"name": "execute_code", "arguments": {"code": code, "description": "writes"}}),
    );
    wait_for_request(&api);
    assert_eq!(found(&project, &["--failed"]), Vec::<Value>::new());
    let open: Vec<Value> = found(&project, &[]);
    assert_eq!(
        open.iter().map(|record| &record["outcome"]).collect::<Vec<_>>(),
        ["under way", "under way"]
    );
    client.kill();
    let unknown = found(&project, &["--failed"]);
    let events: Vec<_> = unknown.iter().map(|record| (&record["event"], &record["outcome"])).collect();
    let (started, intent, unknown_word) = (json!("started"), json!("intent"), json!("unknown"));
    assert_eq!(events, [(&started, &unknown_word), (&intent, &unknown_word)]);
    let told = project.run(&["audit", "tail", "-n", "1"]);
    assert!(told.out.contains("shop.create_item"), "{told:?}");
    let told = project.run(&["audit", "search", "--failed", "--function", "shop.*"]);
    assert!(told.out.contains("OUTCOME UNKNOWN"), "{told:?}");
    assert_eq!(project.run(&["audit", "verify", "--json"]).json()["faults"], json!([]));
}

#[test]
fn runs_are_on_record_from_whom_they_are_also_those_that_are_refused_before_they_run() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let mut client = Client::stateless(&project, "2026-07-28");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    client.set_meta("traceparent", json!(trace));
    client.run("from shop.functions import get_item\nget_item(id='7')\nresult = 1");
    client.run("def (");
    client.run("from shop.functions import nothing_of_the_kind");
    client.call("run_cached_code", json!({"cache_id": "00000000", "params": {}}));
    client.close();
    let records = records(&project);
    let runs = of_event(&records, "ended");
    let ends: Vec<_> = runs
        .iter()
        .map(|record| (&record["ok"], &record["error"]["type"], &record["calls"]))
        .collect();
    let (yes, no, none) = (json!(true), json!(false), json!(0));
    assert_eq!(
        ends,
        [
            (&yes, &Value::Null, &json!(1)),
            (&no, &json!("syntax"), &none),
            (&no, &json!("argument"), &none)
        ],
        "{records:#?}"
    );
    let started = of_event(&records, "started");
    assert_eq!((started.len(), of_event(&records, "refused").len()), (3, 1));
    let intent = of_event(&records, "intent")[0];
    for record in [started[0], intent] {
        assert_eq!((&record["asker"], &record["client"]), (&json!("model"), &json!("test")));
        assert_eq!(record["correlation"], format!("trace:{trace}"));
        assert_eq!(record["run"], runs[0]["run"]);
        assert_eq!(record["code_sha256"].as_str().map(str::len), Some(64));
    }
    assert_eq!(found(&project, &["--run", runs[1]["run"].as_str().unwrap()]).len(), 2);
}

#[test]
fn records_are_found_by_time_and_what_is_no_time_or_kind_is_refused() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    assert_eq!(project.run(&["call", "shop.get_item", "id=7"]).code, 1);
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "7"]).code, 0);
    let today = found(&project, &[])[0]["time"]
        .as_str()
        .unwrap()
        .split('T')
        .next()
        .unwrap()
        .to_owned();
    for (filter, is_found) in [
        (&["--since", "1h"][..], true),
        (&["--until", "1h"], false),
        (&["--since", &today, "--until", &today], true),
        (&["--since", "2999-01-01"], false),
        (&["--since", "2020-01-01T00:00:00+01:00"], true),
        (&["--event", "intent"], true),
    ] {
        assert_eq!(!found(&project, filter).is_empty(), is_found, "{filter:?}");
    }
    for (option, value, told) in [
        ("--since", "yesterday", "`2h`"),
        ("--since", "30/11/2026", "`2026-01-31`"),
        ("--until", "garbage", "`7d`"),
        ("--event", "intents", "possible values: intent, outcome"),
    ] {
        let refused = project.run(&["audit", "search", option, value]);
        assert_eq!((refused.code, refused.err.contains(told)), (2, true), "{refused:?}");
    }
}

#[test]
fn what_somebody_changed_is_found_and_told_where() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_AUDIT_MAX_BYTES", "4096");
    project.write(
        "p.py",
        "from shop.functions import get_item\n[get_item(id=str(n)) for n in range(20)]",
    );
    assert_eq!(project.run(&["exec", "p.py"]).code, 0);
    let verified = project.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let files = std::fs::read_dir(project.file("data")).unwrap();
    let mut full: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("audit-20"))
        .collect();
    full.sort();
    let text = std::fs::read_to_string(&full[1]).unwrap();
    std::fs::write(&full[1], text.replacen("get_item", "put_item", 1)).unwrap();
    let verified = project.run(&["audit", "verify"]);
    assert_eq!(verified.code, 1, "{verified:?}");
    assert!(verified.out.contains(&format!("{}:", full[1].display())), "{verified:?}");
}

/// A process that is alone with a file system of 64 KiB at `full`.
#[expect(clippy::disallowed_methods, reason = "tests start the program as a person does")]
fn with_small_disk(project: &Project) -> Command {
    std::fs::create_dir_all(project.file("full")).unwrap();
    let serve = project.command(&["serve"]);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg(r#"mount -t tmpfs -o size=64k small full && exec "$0" "$@""#);
    command
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(project.path())
        .env_clear();
    command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Calls a function as a tool. Gives whether it worked, and what it said.
fn call(client: &mut Client, name: &str, arguments: &Value) -> (bool, String) {
    let result = client.request("tools/call", json!({"name": name, "arguments": arguments}));
    (result["isError"] == false, result.to_string())
}

#[test]
fn a_full_disk_stops_what_writes_and_not_what_reads_and_says_so() {
    let api = FakeApi::start();
    // No program is run: whoever is root in a namespace alone cannot make jails.
    let project = Project::shop(&api)
        .with("MCE_AUDIT_LOG_PATH", "full/audit.jsonl")
        .with("MCE_SURFACE", "direct");
    let mut client = Client::of(with_small_disk(&project));
    client.shake_hands("2025-11-25");
    let read = |client: &mut Client| call(client, "shop__get_item", &json!({"id": "7"}));
    let write = |client: &mut Client| call(client, "shop__create_item", &json!({"body": {"name": "chair"}}));
    let first = read(&mut client);
    assert!(first.0, "{first:?}");
    // The disk as the process sees it.
    let disk = format!("/proc/{}/root{}", client.process_id(), project.file("full").display());
    let ballast = format!("{disk}/ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap_err();
    // There is room in the last page that the log has.
    let refused = (0..20).map(|_| write(&mut client)).find(|(is_good, _)| !is_good);
    let (_, words) = refused.unwrap();
    assert!(words.contains("policy") && words.contains("audit log"), "{words}");
    let sent = api.requests().len();
    assert!(read(&mut client).0);
    assert_eq!(api.requests().len(), sent + 1);
    std::fs::remove_file(&ballast).unwrap();
    assert!(write(&mut client).0);
    let log = format!("{disk}/audit.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains(r#""what":"unrecorded","lines":"#), "{text}");
    let report = verify_audit(log.as_ref(), project.path()).unwrap();
    assert_eq!((report.faults.len(), report.unrecorded > 0), (0, true), "{report:?}");
    client.close();
}
