//! Edits of clients' files, each text in full.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::discover::CLIENTS;

fn options() -> LoadOptions {
    LoadOptions {
        config_file: None,
        env_file: None,
        working_dir: PathBuf::from("/w"),
        environment: BTreeMap::from([("HOME".to_owned(), "/home/me".to_owned())]),
        arguments: BTreeMap::new(),
    }
}

fn put(surface: &str) -> EntryChange {
    put_with(surface, &[])
}

fn put_with(surface: &str, environment: &[(&str, &str)]) -> EntryChange {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    EntryChange::Put(Launch {
        command: "/opt/mce".to_owned(),
        args: ["serve", "--surface", surface].map(str::to_owned).to_vec(),
        environment: environment.collect(),
    })
}

fn file(client: &str) -> ClientFile {
    let files = client_files(&options(), false);
    files.into_iter().find(|file| file.client == client).unwrap()
}

fn edit(client: &str, text: &str, change: &EntryChange) -> Result<Edited, EntryError> {
    edit_entry(&options(), &file(client), text, change)
}

/// Puts, puts the same, changes and removes: each text is as it is written here.
fn check(client: &str, before: &str, added: &str, removed: &str) {
    let first = edit(client, before, &put("auto")).unwrap();
    assert_eq!((first.text.as_str(), first.outcome), (added, EntryOutcome::Added), "{client}");
    let again = edit(client, added, &put("auto")).unwrap();
    assert_eq!((again.text.as_str(), again.outcome), (added, EntryOutcome::Unchanged), "{client}");
    let other = edit(client, added, &put("direct")).unwrap();
    assert_eq!(other.outcome, EntryOutcome::Changed, "{client}");
    assert_eq!(other.text, added.replace("auto", "direct"), "{client}");
    let gone = edit(client, added, &EntryChange::Remove).unwrap();
    assert_eq!((gone.text.as_str(), gone.outcome), (removed, EntryOutcome::Removed), "{client}");
    let nothing = edit(client, removed, &EntryChange::Remove).unwrap();
    assert_eq!(
        (nothing.text.as_str(), nothing.outcome),
        (removed, EntryOutcome::Unchanged),
        "{client}"
    );
}

#[test]
fn json_keeps_its_comments_its_order_and_its_form() {
    let before = "// mine\n{\n\t\"b\": 1, // one\n\t\"mcpServers\": {\n\t\t/* keep */\n\t\t\"docs\": {\"command\": \"npx\", \"args\": [\"${DOCS}\"]},\n\t},\n\t\"a\": [1,2]\n}\n";
    let added = "// mine\n{\n\t\"b\": 1, // one\n\t\"mcpServers\": {\n\t\t/* keep */\n\t\t\"docs\": {\"command\": \"npx\", \"args\": [\"${DOCS}\"]},\n\t\t\"mce\": {\n\t\t\t\"command\": \"/opt/mce\",\n\t\t\t\"args\": [\"serve\", \"--surface\", \"auto\"],\n\t\t},\n\t},\n\t\"a\": [1,2]\n}\n";
    check("cursor", before, added, before);
}

#[test]
fn a_file_that_is_empty_becomes_one_with_our_entry() {
    let json = "{\n  \"servers\": {\n    \"mce\": {\n      \"command\": \"/opt/mce\",\n      \"args\": [\"serve\", \"--surface\", \"auto\"],\n      \"type\": \"stdio\"\n    }\n  }\n}\n";
    let removed = "{\n  \"servers\": {}\n}\n";
    check("vscode", "", json, removed);
    let yaml = "extensions:\n  mce:\n    cmd: \"/opt/mce\"\n    args: [\"serve\", \"--surface\", \"auto\"]\n    name: \"mce\"\n    type: \"stdio\"\n    enabled: true\n    timeout: 300\n";
    check("goose", "", yaml, "extensions: {}\n");
    check("goose", "extensions: {}\n", yaml, "extensions: {}\n");
    let toml = "[mcp_servers.mce]\ncommand = \"/opt/mce\"\nargs = [\"serve\", \"--surface\", \"auto\"]\n";
    check("codex", "", toml, "");
}

#[test]
fn an_environment_gets_what_it_lacks_and_keeps_what_it_has() {
    let change = put_with("auto", &[("MCE_DATA_DIR", "/data"), ("B", "b\"")]);
    let json = "{\n  \"mcpServers\": {\n    \"mce\": {\n      \"command\": \"/opt/mce\",\n      \"args\": [\"serve\", \"--surface\", \"auto\"],\n      \"env\": ";
    for (client, text, expected) in [
        ("cursor", String::new(), format!("{json}{{\n        \"MCE_DATA_DIR\": \"/data\",\n        \"B\": \"b\\\"\"\n      }}\n    }}\n  }}\n}}\n")),
        (
            "cursor",
            format!("{json}{{ \"MCE_DATA_DIR\": \"mine\", \"K\": \"${{K}}\" /* c */ }}\n    }}\n  }}\n}}\n"),
            format!("{json}{{\n        \"MCE_DATA_DIR\": \"mine\",\n        \"K\": \"${{K}}\", /* c */\n        \"B\": \"b\\\"\"\n      }}\n    }}\n  }}\n}}\n"),
        ),
        (
            "codex",
            String::new(),
            "[mcp_servers.mce]\ncommand = \"/opt/mce\"\nargs = [\"serve\", \"--surface\", \"auto\"]\nenv = { MCE_DATA_DIR = \"/data\", B = 'b\"' }\n".to_owned(),
        ),
        (
            "codex",
            "[mcp_servers.mce]\ncommand = \"/opt/mce\"\nargs = [\"serve\"]\n\n[mcp_servers.mce.env]\nB = \"mine\" # c\n".to_owned(),
            "[mcp_servers.mce]\ncommand = \"/opt/mce\"\nargs = [\"serve\", \"--surface\", \"auto\"]\n\n[mcp_servers.mce.env]\nB = \"mine\" # c\nMCE_DATA_DIR = \"/data\"\n".to_owned(),
        ),
        (
            "goose",
            "extensions:\n  mce:\n    cmd: /opt/mce\n    args: [serve, --surface, auto]\n    envs:\n      K: k # c\n    enabled: true\n".to_owned(),
            "extensions:\n  mce:\n    cmd: /opt/mce\n    args: [serve, --surface, auto]\n    envs:\n      B: \"b\\\"\"\n      MCE_DATA_DIR: \"/data\"\n      K: k # c\n    enabled: true\n".to_owned(),
        ),
    ] {
        let edited = edit(client, &text, &change).unwrap();
        assert_eq!(edited.text, expected, "{client}");
        let again = edit(client, &expected, &change).unwrap();
        assert_eq!((again.text, again.outcome), (expected, EntryOutcome::Unchanged), "{client}");
    }
    for (client, key) in [("goose", "envs"), ("opencode", "environment")] {
        let text = edit(client, "", &change).unwrap().text;
        assert!(text.contains(key) && text.contains("/data"), "{text}");
        assert_eq!(edit(client, &text, &change).unwrap().outcome, EntryOutcome::Unchanged, "{client}");
    }
}

#[test]
fn toml_keeps_its_comments_and_its_order() {
    let before = "# mine\nmodel = \"x\" # best\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = ['${DOCS}']\n\n[tui]\ntheme = \"dark\"\n";
    let ours = "\n[mcp_servers.mce]\ncommand = \"/opt/mce\"\nargs = [\"serve\", \"--surface\", \"auto\"]\n";
    let (head, tail) = before.split_once("\n[tui]").unwrap();
    check("codex", before, &format!("{head}{ours}\n[tui]{tail}"), before);
}

#[test]
fn yaml_keeps_its_comments_and_its_order() {
    let before = "# mine\nGOOSE_MODEL: x # best\nextensions:\n    # the first\n    docs:\n        cmd: npx\n        args:\n        - ${DOCS}\n        enabled: true\n\n# the end\nother: 1\n";
    let ours = "    mce:\n        cmd: \"/opt/mce\"\n        args: [\"serve\", \"--surface\", \"auto\"]\n        name: \"mce\"\n        type: \"stdio\"\n        enabled: true\n        timeout: 300\n";
    check(
        "goose",
        before,
        &before.replace("extensions:\n", &format!("extensions:\n{ours}")),
        before,
    );
}

#[test]
fn ends_of_lines_stay() {
    let lines = |text: &str| text.replace('\n', "\r\n");
    let yaml = lines("a: 1\nextensions:\n  docs:\n    cmd: npx\nb: 2\n");
    let json = lines("{\n  \"a\": 1,\n  \"mcpServers\": {}\n}\n");
    let toml = lines("a = 1\n\n[mcp_servers.docs]\ncommand = \"npx\"\ntext = '''\none\ntwo'''\n\n[tui]\nb = 2\n");
    for (client, before) in [("goose", yaml), ("cursor", json), ("codex", toml)] {
        let added = edit(client, &before, &put("auto")).unwrap().text;
        assert_eq!(added.matches('\n').count(), added.matches("\r\n").count(), "{added:?}");
        assert_eq!(
            edit(client, &added, &EntryChange::Remove).unwrap().text.matches("\r\n").count(),
            before.matches("\r\n").count()
        );
    }
}

#[test]
fn of_an_entry_of_ours_only_what_starts_us_is_changed() {
    let text =
        "{\"mcpServers\": {\"gateway\": {\"command\": \"mce\", \"args\": [\"serve\"], \"env\": {\"A\": \"${A}\"}, \"disabled\": true}}}";
    let edited = edit("cursor", text, &put("auto")).unwrap();
    let expected = text
        .replace("\"mce\"", "\"/opt/mce\"")
        .replace("[\"serve\"]", "[\"serve\", \"--surface\", \"auto\"]");
    assert_eq!((edited.text, edited.outcome), (expected, EntryOutcome::Changed));
    let yaml = "extensions:\n  tools:\n    cmd: mce\n    args:\n    - serve\n    envs:\n      A: b\n";
    let edited = edit("goose", yaml, &put("auto")).unwrap();
    let expected = "extensions:\n  tools:\n    cmd: \"/opt/mce\"\n    args: [\"serve\", \"--surface\", \"auto\"]\n    envs:\n      A: b\n";
    assert_eq!(edited.text, expected);
    // Whose place we take keeps its own.
    let other = "{\"mcpServers\": {\"code-executor\": {\"command\": \"npx\", \"args\": [\"-y\", \"code-executor-mcp\"]}}}";
    assert_eq!(edit("cursor", other, &put("auto")).unwrap().outcome, EntryOutcome::Added);
    assert_eq!(
        edit("cursor", other, &EntryChange::Remove).unwrap().outcome,
        EntryOutcome::Unchanged
    );
}

#[test]
fn comments_around_our_yaml_stay_with_what_they_are_about() {
    let entry = edit("goose", "", &put("auto")).unwrap().text.replace("extensions:\n", "");
    let before = "extensions: {}  # my tools\n# the end\nother: 1\n";
    let added = format!("extensions:  # my tools\n{entry}# the end\nother: 1\n");
    check("goose", before, &added, before);
    let removed = |text: &str| edit("goose", text, &EntryChange::Remove).unwrap().text;
    let commented = format!("extensions: # my tools\n  # by mce\n{entry}  # more to come\n");
    assert_eq!(removed(&commented), "extensions: {} # my tools\n  # by mce\n  # more to come\n");
}

#[test]
fn comments_above_our_toml_stay() {
    let removed = |text: &str| edit("codex", text, &EntryChange::Remove).unwrap().text;
    let ours = "[mcp_servers.mce]\ncommand = \"/opt/mce\"\nargs = [\"serve\"]\n\n[mcp_servers.mce.env]\nA = \"b\"\n";
    let before = "a = 1\n\n# mine\n";
    for after in [
        "",
        "# end\n",
        "\n[[b.c]]\nd = 1\n\n[tui]\ne = 2\n",
        "[mcp_servers.other]\ncommand = \"x\"\n",
    ] {
        assert_eq!(removed(&format!("{before}{ours}{after}")), format!("{before}{after}"));
    }
    let inline = "mce = { command = \"mce\", args = [\"serve\"] }\n";
    let dotted = "mce.command = \"mce\"\nmce.args = [\"serve\"]\n";
    let before = "[mcp_servers]\n# mine\n";
    for ours in [inline, dotted] {
        for after in ["other = { command = \"x\" }\n", "", "\n[tui]\ne = 2\n"] {
            assert_eq!(removed(&format!("{before}{ours}{after}")), format!("{before}{after}"));
        }
    }
}

#[test]
fn an_entry_that_starts_us_through_another_program_stays_as_it_is() {
    for command in [
        "\"command\": \"docker\", \"args\": [\"run\", \"-i\", \"image\", \"mce\", \"serve\"]",
        "\"command\": \"ssh\", \"args\": [\"host\", \"mce\", \"serve\"]",
        "\"command\": \"doppler\", \"args\": [\"run\", \"--\", \"mce\", \"serve\"]",
        "\"command\": \"sh\", \"args\": [\"-c\", \"exec mce serve\"]",
    ] {
        let wrapped = format!("\"mce\": {{{command}}}");
        let text = format!("{{\"mcpServers\": {{{wrapped}}}}}");
        for change in [put("auto"), EntryChange::Remove] {
            let edited = edit("cursor", &text, &change).unwrap();
            assert_eq!((edited.text, edited.outcome), (text.clone(), EntryOutcome::Left));
            assert_eq!(edited.left, ["mce"]);
        }
        let ours = "\"a\": {\"command\": \"mce serve\"}, \"b\": {\"command\": \"/x/mce\", \"args\": [\"run\"]}";
        let edited = edit(
            "cursor",
            &format!("{{\"mcpServers\": {{{ours}, {wrapped}}}}}"),
            &EntryChange::Remove,
        )
        .unwrap();
        assert_eq!((edited.outcome, edited.left), (EntryOutcome::Removed, vec!["mce".to_owned()]));
        let value: serde_json::Value = serde_json::from_str(&edited.text).unwrap();
        assert_eq!(value, serde_json::from_str::<serde_json::Value>(&text).unwrap());
    }
}

#[test]
fn options_that_are_not_set_anew_stay() {
    for (words, expected) in [
        (
            "\"--config\", \"/c.yaml\", \"serve\", \"--surface\", \"code\"",
            "\"serve\", \"--surface\", \"auto\", \"--config\", \"/c.yaml\"",
        ),
        (
            "\"run\", \"--surface=code\", \"--env-file=/e\"",
            "\"run\", \"--surface\", \"auto\", \"--env-file=/e\"",
        ),
    ] {
        let text = |words: &str| format!("{{\"mcpServers\": {{\"mce\": {{\"command\": \"/opt/mce\", \"args\": [{words}]}}}}}}");
        let edited = edit("cursor", &text(words), &put("auto")).unwrap();
        assert_eq!((edited.text, edited.outcome), (text(expected), EntryOutcome::Changed));
        let again = edit("cursor", &text(expected), &put("auto")).unwrap();
        assert_eq!(again.outcome, EntryOutcome::Unchanged);
    }
}

#[test]
fn an_edit_that_touches_another_member_of_the_entry_is_seen() {
    let entry = |text: &str| parse(Path::new("x.json"), text).unwrap();
    let before = entry("{\"command\": \"a\", \"env\": {\"A\": \"b\"}}");
    let is_same = |after: &str| is_same_but(Some(&before), Some(&entry(after)), &["command"]);
    assert!(is_same("{\"command\": \"other\", \"env\": {\"A\": \"b\"}}"));
    for after in [
        "{\"command\": \"a\"}",
        "{\"command\": \"a\", \"env\": {\"A\": \"c\"}}",
        "{\"env\": {\"A\": \"b\"}, \"more\": 1}",
    ] {
        assert!(!is_same(after), "{after}");
    }
}

#[test]
fn opencode_has_one_list_for_program_and_arguments() {
    let edited = edit("opencode", "{\"mcp\": {}}", &put("auto")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&edited.text).unwrap();
    let expected =
        serde_json::json!({"mcp": {"mce": {"command": ["/opt/mce", "serve", "--surface", "auto"], "type": "local", "enabled": true}}});
    assert_eq!(value, expected);
    assert_eq!(
        edit("opencode", &edited.text, &put("auto")).unwrap().outcome,
        EntryOutcome::Unchanged
    );
}

#[test]
fn what_cannot_be_edited_safely_is_refused_with_its_place() {
    for (client, text, expected) in [
        ("cursor", "{\n\"a\": hunter2}", "line 2: the text is not valid JSON"),
        ("cursor", "{\"mcpServers\": [\n1]}", "line 1: `mcpServers` is no mapping"),
        ("cursor", "[]", "line 1: `the document` is no mapping"),
        (
            "cursor",
            "{\"mcpServers\": {\n\"mce\": {\"command\": \"other\"}}}",
            "line 2: `mce` starts another program",
        ),
        ("codex", "a = 1\nb = hunter2", "line 2: the text is not valid TOML"),
        ("goose", "extensions: {a: {cmd: x}}\n", "our entry cannot be put there"),
        // Which of both counts depends on who reads it.
        (
            "cursor",
            "{\"mcpServers\": {\"a\": 1}, \"mcpServers\": {}}",
            "our entry cannot be put there",
        ),
    ] {
        let error = edit(client, text, &put("auto")).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_code_mode_of_the_clients_own_is_seen_in_its_file() {
    for (client, text, expected) in [
        ("codex", "[features]\ncode_mode = true\n", true),
        ("codex", "[features]\ncode_mode = false\n", false),
        ("codex", "", false),
        ("goose", "extensions:\n  code_execution:\n    enabled: true\n", true),
        ("goose", "extensions:\n  code_execution:\n    enabled: false\n", false),
        ("cursor", "{\"features\": {\"code_mode\": true}}", false),
    ] {
        assert_eq!(has_own_code_mode(&file(client), text), expected, "{client} {text}");
    }
}

#[test]
fn each_client_has_a_file_and_is_found_by_it_or_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let mut options = options();
    options.environment.insert("HOME".to_owned(), home.path().display().to_string());
    let there = |options: &LoadOptions| -> Vec<&str> {
        let files = client_files(options, false);
        assert_eq!(files.len(), CLIENTS.len());
        files.iter().filter(|file| file.is_there).map(|file| file.client).collect()
    };
    assert!(there(&options).is_empty());
    for folder in [".claude", ".cursor", ".config/zed", ".codex"] {
        fs_err::create_dir_all(home.path().join(folder)).unwrap();
    }
    assert_eq!(there(&options), ["claude-code", "cursor", "codex", "zed"]);
    options.working_dir = home.path().to_owned();
    let files = client_files(&options, true);
    let names: Vec<_> = files.iter().map(|file| file.client).collect();
    assert!(names.contains(&"claude-code") && !names.contains(&"goose"), "{names:?}");
    assert_eq!(files[0].file, home.path().join(".mcp.json"));
}
