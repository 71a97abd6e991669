//! `mce setup` writes into the files of clients, which keep all else that they have.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Ended, Project};

const CLAUDE: &str = "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\"docs\": {\"command\": \"npx\", \"env\": {\"KEY\": \"${KEY}\"}}},\n  \"projects\": {}\n}\n";
const CODEX: &str = "model = \"x\" # the best\n\n[mcp_servers.docs]\ncommand = \"npx\"\n\n[features]\ncode_mode = true\n";
const GOOSE: &str = "# mine\nextensions:\n  docs:\n    cmd: npx\n    type: stdio\n    enabled: true\nGOOSE_MODEL: x\n";
const ZED: &str = "// Zed\n{\n  \"theme\": \"One\", // dark\n}\n";

/// A home with the files of four clients.
fn home() -> Project {
    let project = Project::empty();
    project.write("home/.claude.json", CLAUDE);
    project.write("home/.codex/config.toml", CODEX);
    project.write("home/.config/goose/config.yaml", GOOSE);
    project.write("home/.config/zed/settings.json", ZED);
    project.write("mce.yaml", "discover: false\n");
    project
}

fn text(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.file(name)).unwrap()
}

fn outcomes(ended: &Ended) -> Vec<String> {
    let report = ended.json();
    let all = report.as_array().unwrap().iter();
    all.map(|one| {
        format!(
            "{} {} {}",
            one["client"].as_str().unwrap(),
            one["outcome"].as_str().unwrap(),
            one["surface"]
        )
    })
    .collect()
}

#[test]
fn entries_are_put_changed_and_taken_out_and_all_else_stays() {
    let project = home();
    let dry = project.run(&["setup", "--all", "--dry-run", "--json"]);
    let expected = [
        "claude-code added \"auto\"",
        "codex added \"direct\"",
        "zed added \"auto\"",
        "goose added \"auto\"",
    ];
    assert_eq!((dry.code, outcomes(&dry)), (0, expected.map(str::to_owned).to_vec()), "{dry:?}");
    assert_eq!(
        (text(&project, "home/.claude.json"), text(&project, "home/.codex/config.toml")),
        (CLAUDE.into(), CODEX.into())
    );

    let put = project.run(&["setup", "--all", "--json"]);
    assert_eq!((put.code, outcomes(&put)), (0, expected.map(str::to_owned).to_vec()), "{put:?}");
    let claude = text(&project, "home/.claude.json");
    let entry = serde_json::from_str::<Value>(&claude).unwrap()["mcpServers"]["mce"].clone();
    let config = project.path().canonicalize().unwrap().join("mce.yaml");
    assert_eq!(
        (&entry["type"], &entry["args"]),
        (&json!("stdio"), &json!(["serve", "--surface", "auto", "--config", config]))
    );
    assert_eq!(entry["env"], json!({"MCE_DATA_DIR": project.file("data")}));
    assert!(
        claude.starts_with("{\n  \"numStartups\": 7,\n")
            && claude.contains("\"docs\": {\"command\": \"npx\", \"env\": {\"KEY\": \"${KEY}\"}}"),
        "{claude}"
    );
    // Not beside the file, and only for its owner.
    let kept = |report: &Ended| PathBuf::from(report.json()[0]["backup"].as_str().unwrap());
    let copy = kept(&put);
    assert!(copy.starts_with(project.file("data")), "{}", copy.display());
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), CLAUDE);
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let codex = text(&project, "home/.codex/config.toml");
    assert!(
        codex.starts_with("model = \"x\" # the best\n") && codex.contains("\n[mcp_servers.mce]\ncommand = "),
        "{codex}"
    );
    assert!(text(&project, "home/.config/zed/settings.json").contains("\"theme\": \"One\", // dark\n  \"context_servers\": {"));

    let again = project.run(&["setup", "--all", "--json"]);
    assert!(outcomes(&again).iter().all(|one| one.contains(" unchanged ")), "{again:?}");
    let other = project.run(&["setup", "claude-code", "--surface", "search", "--json"]);
    assert_eq!(outcomes(&other), ["claude-code changed \"search\""]);
    assert_eq!((kept(&other), std::fs::read_to_string(&copy).unwrap()), (copy, CLAUDE.to_owned()));

    let gone = project.run(&["setup", "--all", "--uninstall", "--json"]);
    assert!(outcomes(&gone).iter().all(|one| one.ends_with(" removed null")), "{gone:?}");
    assert_eq!(text(&project, "home/.codex/config.toml"), CODEX);
    assert_eq!(text(&project, "home/.config/goose/config.yaml"), GOOSE);
    // What is as it was needs no copy.
    let goose = gone.json().as_array().unwrap().iter().find(|one| one["client"] == "goose").cloned();
    assert_eq!(goose.unwrap()["backup"], Value::Null);
    let goose_copy = put.json()[3]["backup"].as_str().unwrap().to_owned();
    assert!(goose_copy.ends_with("goose/config.yaml") && !PathBuf::from(goose_copy).exists());
    let claude: Value = serde_json::from_str(&text(&project, "home/.claude.json")).unwrap();
    assert_eq!(claude, serde_json::from_str::<Value>(CLAUDE).unwrap());
}

#[test]
fn what_is_written_starts_us() {
    let project = home();
    assert_eq!(project.run(&["setup", "claude-code", "--surface", "search"]).code, 0);
    let claude: Value = serde_json::from_str(&text(&project, "home/.claude.json")).unwrap();
    let entry = &claude["mcpServers"]["mce"];
    let environment = project.command(&[]);
    #[expect(clippy::disallowed_methods, reason = "a client starts what its file says, wherever it runs")]
    let mut started = std::process::Command::new(entry["command"].as_str().unwrap());
    started.args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    started
        .env_clear()
        .envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir("/");
    let mut client = Client::of(started);
    client.shake_hands("2025-11-25");
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["tools"][0]["name"], "search_functions", "{listed}");
}

#[test]
fn broken_files_are_refused_with_their_place_and_left_as_they_are() {
    let project = home();
    let broken = "{\n  \"mcpServers\": {\n    \"secret\": hunter2\n  }\n}\n";
    project.write("home/.cursor/mcp.json", broken);
    let ended = project.run(&["setup", "--all", "--json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json();
    let cursor = report.as_array().unwrap().iter().find(|one| one["client"] == "cursor").unwrap();
    assert_eq!(cursor["outcome"], "refused");
    let message = cursor["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("mcp.json`: line 3: the text is not valid JSON") && !message.contains("hunter2"),
        "{message}"
    );
    assert_eq!(text(&project, "home/.cursor/mcp.json"), broken);
    // The others were written.
    assert!(text(&project, "home/.claude.json").contains("\"mce\""));
}

#[test]
fn modes_and_links_stay() {
    let project = home();
    project.write("dotfiles/claude.json", CLAUDE);
    let (link, real) = (project.file("home/.claude.json"), project.file("dotfiles/claude.json"));
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(project.run(&["setup", "claude-code"]).code, 0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(text(&project, "dotfiles/claude.json").contains("\"mce\""));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_dry_run_refuses_what_the_real_run_refuses() {
    let project = home();
    let (claude, zed) = (project.file("home/.claude.json"), project.file("home/.config/zed/settings.json"));
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::remove_file(&zed).unwrap();
    std::os::unix::fs::symlink("nowhere.json", &zed).unwrap();
    let run = |more: &[&str]| {
        let ended = project.run(&[&["setup", "claude-code", "zed", "--json"], more].concat());
        let errors = ended
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["error"]["message"].clone())
            .collect::<Vec<_>>();
        (ended.code, errors)
    };
    let dry = run(&["--dry-run"]);
    assert!(dry.0 == 1 && dry.1.iter().all(Value::is_string), "{dry:?}");
    assert_eq!(run(&[]), dry);
    assert_eq!(text(&project, "home/.claude.json"), CLAUDE);
}

#[test]
fn an_entry_through_another_program_is_left_and_told() {
    let project = home();
    let cursor = "{\"mcpServers\": {\"far\": {\"command\": \"ssh\", \"args\": [\"host\", \"mce\", \"serve\"]}}}\n";
    project.write("home/.cursor/mcp.json", cursor);
    for more in [[].as_slice(), &["--uninstall"]] {
        let ended = project.run(&[&["setup", "cursor", "--json"], more].concat());
        assert_eq!(outcomes(&ended), ["cursor left null"], "{ended:?}");
        assert_eq!(ended.json()[0]["left"], json!(["far"]));
        let ended = project.run(&[&["setup", "cursor"], more].concat());
        assert!(ended.out.contains("`far` starts `mce` through another program"), "{ended:?}");
    }
    assert_eq!(text(&project, "home/.cursor/mcp.json"), cursor);
}

#[test]
fn an_entry_that_names_another_configuration_is_told_with_old_and_new() {
    let project = home();
    assert_eq!(project.run(&["setup", "claude-code"]).code, 0);
    let (old, new) = (
        project.path().canonicalize().unwrap().join("mce.yaml"),
        project.path().canonicalize().unwrap().join("b.yaml"),
    );
    project.write("b.yaml", "discover: false\n");
    for more in [["--dry-run"].as_slice(), &[]] {
        let words = [&["--config", "b.yaml", "setup", "claude-code"], more].concat();
        let ended = project.run(&words);
        let told = |label: &str, file: &std::path::Path| {
            let line = ended
                .out
                .lines()
                .find(|line| line.trim_start().starts_with(label))
                .unwrap_or_default();
            line.contains(&format!("--config {}", file.display()))
        };
        assert!(told("before:", &old) && told("now:", &new), "{ended:?}");
    }
    assert!(!project.run(&["--config", "b.yaml", "setup", "claude-code"]).out.contains("before:"));
}

#[test]
fn entries_of_projects_are_told_and_files_that_were_made_go_again() {
    let project = home();
    let ours = "{\"mcpServers\": {\"code\": {\"command\": \"mce\", \"args\": [\"serve\"]}}}";
    project.write("home/.claude.json", &format!("{{\"projects\": {{\"/work\": {ours}}}}}\n"));
    let told = project.run(&["setup", "claude-code", "--uninstall"]);
    assert!(told.out.contains("`projects./work.mcpServers.code` starts `mce` too"), "{told:?}");

    let cursor = project.file("home/.cursor/mcp.json");
    for _ in 0..2 {
        let made = project.run(&["setup", "cursor", "--json"]);
        assert_eq!(outcomes(&made), ["cursor added \"auto\""]);
        // There was no file at first, so that none is kept.
        let changed = project.run(&["setup", "cursor", "--surface", "search", "--json"]);
        assert_eq!(
            (outcomes(&changed), &changed.json()[0]["backup"]),
            (vec!["cursor changed \"search\"".to_owned()], &Value::Null)
        );
        let gone = project.run(&["setup", "cursor", "--uninstall", "--json"]);
        assert_eq!(
            (&gone.json()[0]["file_removed"], cursor.exists()),
            (&json!(true), false),
            "{gone:?}"
        );
    }
    // Not if somebody has put something into it.
    assert_eq!(project.run(&["setup", "cursor"]).code, 0);
    let text = std::fs::read_to_string(&cursor).unwrap();
    std::fs::write(&cursor, text.replacen('{', "{\"theme\": 1,", 1)).unwrap();
    assert_eq!(project.run(&["setup", "cursor", "--uninstall"]).code, 0);
    assert!(std::fs::read_to_string(&cursor).unwrap().contains("theme"));
}

#[test]
fn what_cannot_be_edited_is_told_in_the_format_of_the_file() {
    let project = home();
    project.write("home/.codex/config.toml", "mcp_servers = { docs = { command = \"npx\" } }\n");
    project.write("home/.config/goose/config.yaml", "extensions: {docs: {cmd: npx, type: stdio}}\n");
    for (client, expected) in [
        ("codex", "[mcp_servers.mce]\ncommand = "),
        ("goose", "extensions:\n  mce:\n    cmd: "),
    ] {
        let ended = project.run(&["setup", client]);
        assert!(ended.code == 1 && ended.out.contains(expected), "{ended:?}");
    }
}

#[test]
fn nobody_is_chosen_for_a_person_who_is_not_there() {
    let project = home();
    let ended = project.run(&["setup", "--json"]);
    let error = ended.error();
    assert!(
        ended.code == 1 && error["hint"].as_str().unwrap().contains("`claude-code`, `codex`, `zed`, `goose`"),
        "{ended:?}"
    );
    let ended = project.run(&["setup", "emacs", "--json"]);
    assert!(
        ended.error()["message"].as_str().unwrap().contains("there is no client `emacs`"),
        "{ended:?}"
    );
    let ended = project.run(&["setup", "--python", "emacs", "--json"]);
    assert!(
        ended.error()["message"].as_str().unwrap().contains("there is no client `emacs`") && !project.file("data/python").exists(),
        "{ended:?}"
    );
    let ended = project.run(&["setup", "goose", "--project", "--json"]);
    assert!(
        ended.error()["message"].as_str().unwrap().contains("no file of a project"),
        "{ended:?}"
    );
    assert_eq!(text(&project, "home/.claude.json"), CLAUDE);
    let ended = project.run(&["setup", "claude-code", "--project", "--json"]);
    assert_eq!(outcomes(&ended), ["claude-code added \"auto\""]);
    assert!(text(&project, ".mcp.json").contains("\"mcpServers\""));
    let discovered = project.run(&["functions", "--json"]);
    assert_eq!(discovered.json(), json!([]), "our own entry is no server of ours");
}

/// Packages with nothing in them, for pip without a network.
const WHEELS: &str = r#"
import sys, zipfile
for name in sys.argv[2:]:
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-1.0-py3-none-any.whl", "w") as wheel:
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{name}/__init__.py", "of_setup = True\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "makes packages for the test")]
fn an_environment_with_the_data_libraries_is_made_and_used() {
    let project = home();
    project.write("wheels/empty", "");
    let wheels = project.file("wheels").display().to_string();
    let libraries = ["pandas", "numpy", "openpyxl", "httpx", "pydantic", "orjson"];
    let made = std::process::Command::new("python3")
        .args(["-c", WHEELS, &wheels])
        .args(libraries)
        .status()
        .unwrap();
    assert!(made.success());
    let project = project
        .with("PIP_NO_INDEX", "1")
        .with("PIP_FIND_LINKS", &wheels)
        .with("MCE_PYTHON", "");
    project.write("program.py", "import openpyxl\nresult = openpyxl.of_setup\n");
    let run = || {
        let ended = project.run(&["setup", "--python", "--json"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        ended.json()[0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!([run(), run()], ["added", "unchanged"]);
    // Its interpreter is gone: it was updated away.
    let python = project.file("data/python/bin/python");
    std::fs::remove_file(&python).unwrap();
    std::os::unix::fs::symlink("/nowhere/python3", &python).unwrap();
    assert_eq!([run(), run()], ["changed", "unchanged"]);
    let ended = project.run(&["exec", "program.py", "--json"]);
    assert_eq!(ended.json()["data"], true, "{ended:?}");
    let shown = project.run(&["config", "show"]);
    assert!(shown.out.contains("data/python/bin/python"), "{shown:?}");
    let gone = project.run(&["setup", "--python", "--uninstall", "--json"]);
    assert_eq!(gone.json()[0]["outcome"], "removed", "{gone:?}");
    assert_eq!(project.run(&["exec", "program.py", "--json"]).json()["success"], false);
    // Nothing half is left where a package is missing.
    std::fs::remove_file(project.file("wheels/orjson-1.0-py3-none-any.whl")).unwrap();
    let failed = project.run(&["setup", "--python", "--json"]);
    assert!(
        failed.code == 1 && failed.error()["message"].as_str().unwrap().contains("orjson"),
        "{failed:?}"
    );
    assert!(!project.file("data/python").exists());
}

#[test]
fn an_environment_of_somebody_else_is_no_ours_and_one_that_is_configured_is_told() {
    let project = home().with("MCE_PYTHON", "/x/python");
    let told = project.run(&["setup", "--python", "--dry-run", "--json"]).json();
    assert_eq!(
        (&told[0]["outcome"], &told[0]["used_instead"]),
        (&json!("added"), &json!("/x/python"))
    );
    project.write("data/python/bin/python", "");
    project.write("data/python/pyvenv.cfg", "");
    for more in [[].as_slice(), &["--uninstall"]] {
        let ended = project.run(&[&["setup", "--python", "--json"], more].concat());
        assert!(
            ended.code == 1 && ended.error()["message"].as_str().unwrap().contains("was not made by"),
            "{ended:?}"
        );
    }
    assert!(project.file("data/python/pyvenv.cfg").exists());
}
