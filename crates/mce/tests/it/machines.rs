//! The whole program on machines that lack a part of the jail: what `doctor` and the log say, and what programs see.
//!
//! It is the kernel that lacks it, for this program alone; see `tests/machines/run_on.py`.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::project::Project;

/// Runs `mce` on a machine, in a folder that everybody may use.
#[expect(clippy::disallowed_methods, reason = "tests start the program as a person does")]
fn run_on(machine: &[&str], args: &[&str]) -> (i32, Value, String) {
    let project = Project::empty();
    project.write("program.py", "open('/tmp/x', 'w').write('kept')\nresult = open('/tmp/x').read()");
    std::fs::set_permissions(project.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let plain = project.command(args);
    let mut command = Command::new("/usr/bin/python3");
    command
        .args(["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines/run_on.py")])
        .args(machine)
        .arg("--")
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(project.path())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8(if stdout.is_empty() { stderr.clone() } else { stdout }).unwrap();
    let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{machine:?}: {error}: {text}"));
    (status.code().unwrap_or(-1), value, String::from_utf8(stderr).unwrap())
}

fn detail<'a>(report: &'a Value, name: &str) -> (bool, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap();
    (check["ok"].as_bool().unwrap(), check["detail"].as_str().unwrap())
}

/// A machine, whether the engine runs there, and which checks say what is missing.
type Case = (&'static [&'static str], bool, &'static [(&'static str, &'static str)]);

#[test]
fn the_doctor_and_the_log_tell_which_layers_a_machine_has() {
    const NO_FOLDER: &str = "programs have no folder to write to, `/tmp` neither";
    const CASES: [Case; 7] = [
        (&["--user"], true, &[]),
        (&["--no-user-namespaces"], true, &[]),
        (&["--container"], true, &[("layer namespaces", NO_FOLDER)]),
        (&["--container", "--user"], true, &[("layer namespaces", NO_FOLDER)]),
        (&["--no-landlock"], true, &[("layer landlock", "not implemented")]),
        (
            &["--container", "--no-landlock"],
            false,
            &[
                ("layer namespaces", "not permitted"),
                ("layer landlock", "not implemented"),
                (
                    "jail",
                    "neither namespaces nor Landlock (version 3) keep programs from the files of the host",
                ),
            ],
        ),
        (
            &["--container", "--no-seccomp"],
            false,
            &[
                ("layer namespaces", "not permitted"),
                ("layer seccomp", "not implemented"),
                ("jail", "seccomp"),
            ],
        ),
    ];
    for (machine, is_ok, off) in CASES {
        let (code, report, log) = run_on(machine, &["doctor", "--json"]);
        assert_eq!((code == 0, &report["ok"]), (is_ok, &json!(is_ok)), "{machine:?}: {report}");
        for name in ["layer namespaces", "layer landlock", "layer seccomp", "layer rlimits", "jail"] {
            let (is_on, found) = detail(&report, name);
            match off.iter().find(|(layer, _)| *layer == name) {
                None => assert!(is_on, "{machine:?} {name}: {found}"),
                Some((_, words)) => {
                    assert!(!is_on, "{machine:?} {name}");
                    assert!(found.to_lowercase().contains(&words.to_lowercase()), "{machine:?} {name}: {found}");
                }
            }
        }
        let is_told = log.contains("a layer of the jail is off");
        assert_eq!(is_told, is_ok && !off.is_empty(), "{machine:?}: {log}");
    }
}

#[test]
fn a_program_learns_why_it_has_no_folder() {
    let (code, answer, _) = run_on(&["--user"], &["exec", "program.py", "--json"]);
    assert_eq!((code, &answer["data"]), (0, &json!("kept")), "{answer}");
    for machine in [&["--container"][..], &["--container", "--user"]] {
        let (_, answer, _) = run_on(machine, &["exec", "program.py", "--json"]);
        let error = &answer["error"];
        assert_eq!(error["type"], "exception", "{answer}");
        assert_eq!(
            error["message"], "PermissionError: [Errno 13] Permission denied: '/tmp/x'",
            "{answer}"
        );
        let hint = error["hint"].as_str().unwrap();
        assert!(
            hint.starts_with("programs have no folder to write to here, `/tmp` neither"),
            "{hint}"
        );
    }
}
