//! `mce setup --python`: a virtual environment with the data libraries, which is used from then on.

use std::path::Path;

use mce_config::{Report, Settings, Source, python_environment};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::setup::Setup;

/// What programs may want of data.
const LIBRARIES: [&str; 6] = ["pandas", "numpy", "openpyxl", "httpx", "pydantic", "orjson"];
/// What says that an environment was made here, so that it may be removed here.
const MARK: &str = ".made-by-mce-setup";
/// Lines of a failing command that are told.
const LINES_TOLD: usize = 5;

/// Makes it, or with `is_removed` takes it away. Gives what was done, and which interpreter is used instead of it, if one is configured.
///
/// # Errors
///
/// A failure with the last that the failing command said, or if the folder holds something that was not made here.
pub(super) fn setup_python(
    setup: &Setup,
    (settings, report): &(Settings, Report),
    is_removed: bool,
    is_dry: bool,
) -> Result<Value, Failure> {
    let folder = python_environment(&settings.data_dir);
    let python = folder.join("bin/python");
    let is_there = is_ours(&folder)?;
    let outcome = match (is_removed, is_there) {
        (true, false) => "unchanged",
        (true, true) => "removed",
        (false, true) if has_libraries(setup, &python) => "unchanged",
        (false, true) => "changed",
        (false, false) => "added",
    };
    if !is_dry && outcome == "removed" {
        fs_err::remove_dir_all(&folder).map_err(Failure::internal)?;
    } else if !is_dry && outcome != "unchanged" {
        let is_usable = python.is_file();
        let made = make(setup, settings, &folder);
        if made.is_err() && !is_usable {
            // Half of one would be used from now on. Whether this works changes nothing about the failure.
            let _ = fs_err::remove_dir_all(&folder);
        }
        made?;
    }
    let mut told = json!({"python": python, "outcome": outcome, "dry_run": is_dry});
    let is_configured = report
        .shown
        .iter()
        .any(|shown| shown.key == "python" && shown.source != Source::Default);
    if is_configured && Path::new(&settings.sandbox.python) != python {
        told["used_instead"] = json!(settings.sandbox.python);
    }
    Ok(told)
}

/// Whether the folder is an environment that was made here, usable or not; an error if it is anything else.
fn is_ours(folder: &Path) -> Result<bool, Failure> {
    if fs_err::symlink_metadata(folder).is_err() {
        return Ok(false);
    }
    if folder.join(MARK).is_file() && folder.join("pyvenv.cfg").is_file() {
        return Ok(true);
    }
    let message = format!(
        "`{}` was not made by `mce setup --python`, so it is left as it is",
        folder.display()
    );
    Err(Failure::new("config", message).with_hint("remove or rename it yourself; `MCE_PYTHON` can name an environment of yours"))
}

fn make(setup: &Setup, settings: &Settings, folder: &Path) -> Result<(), Failure> {
    let python = folder.join("bin/python");
    if !python.is_file() {
        fs_err::create_dir_all(&settings.data_dir).map_err(Failure::internal)?;
        setup.terminal.note(format!("making {}", folder.display()));
        // What is there by now is ours, but its interpreter is gone.
        run(
            setup,
            &settings.sandbox.python,
            &["-m", "venv", "--clear", &folder.display().to_string()],
        )?;
        fs_err::write(folder.join(MARK), "").map_err(Failure::internal)?;
    }
    setup.terminal.note(format!("installing {}", LIBRARIES.join(", ")));
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(
        setup,
        &python.display().to_string(),
        &[pip.as_slice(), LIBRARIES.as_slice()].concat(),
    )
}

fn has_libraries(setup: &Setup, python: &Path) -> bool {
    let program = format!("import {}", LIBRARIES.join(", "));
    run(setup, &python.display().to_string(), &["-c", &program]).is_ok()
}

fn run(setup: &Setup, program: &str, args: &[&str]) -> Result<(), Failure> {
    // This thread lasts as long as the command.
    let mut command = mce_jail::command(program, &setup.working_dir);
    command
        .args(args)
        .envs(setup.environment.iter().filter(|(name, _)| is_for_pip(name)));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let failed = |message: String| {
        Failure::new(
            "config",
            format!(
                "`{program} {}`: {message}",
                args.iter().take(2).copied().collect::<Vec<_>>().join(" ")
            ),
        )
    };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES_TOLD)..).unwrap_or_default().join("\n");
    Err(failed(last).with_hint("it needs a Python with `venv` (Debian: `apt install python3-venv`) and a package index; `MCE_PYTHON` can name an environment of yours"))
}

/// What Python and pip are configured by; no secret of servers.
fn is_for_pip(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    matches!(
        upper.as_str(),
        "PATH" | "HOME" | "LANG" | "TMPDIR" | "SSL_CERT_FILE" | "SSL_CERT_DIR" | "REQUESTS_CA_BUNDLE"
    ) || ["PIP_", "PYENV_", "XDG_"].iter().any(|start| upper.starts_with(start))
        || upper.ends_with("_PROXY")
}
