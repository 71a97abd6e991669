//! Recognises the entry that starts this program, under any name, so that it never starts itself.

use std::path::{Path, PathBuf};

/// Names of this program as a file, a package and an image.
const NAMES: [&str; 1] = ["mce"];

/// Names of programs whose place this one takes; their entries stand for ours.
const PREDECESSORS: [&str; 2] = ["code-executor-mcp", "code-executor-mcp-server"];

/// Commands of ours that serve MCP.
pub(crate) const SERVING: [&str; 2] = ["serve", "run"];

/// Shells, which start what follows `-c`.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "cmd"];

/// Programs that start the program named by their arguments.
const LAUNCHERS: [&str; 31] = [
    "bun", "bunx", "command", "deno", "direnv", "docker", "doppler", "dotenv", "env", "exec", "nerdctl", "nice", "node", "nohup", "npm",
    "npx", "op", "pipx", "pnpm", "pnpx", "podman", "python", "python3", "setsid", "stdbuf", "sudo", "timeout", "tsx", "uv", "uvx", "yarn",
];

/// Those that start an image, perhaps with a command.
const CONTAINERS: [&str; 3] = ["docker", "nerdctl", "podman"];

/// Words of launchers that are not what they start.
const LAUNCHER_WORDS: [&str; 8] = ["dlx", "exec", "run", "tool", "x", "container", "create", "--"];

/// Options of launchers that are followed by a value.
const OPTIONS_WITH_VALUE: [&str; 34] = [
    "-C",
    "-a",
    "-c",
    "-e",
    "-h",
    "-k",
    "-l",
    "-n",
    "-p",
    "-s",
    "-u",
    "-v",
    "-w",
    "--add-host",
    "--call",
    "--cpus",
    "--directory",
    "--entrypoint",
    "--env",
    "--env-file",
    "--from",
    "--label",
    "--memory",
    "--mount",
    "--name",
    "--network",
    "--package",
    "--platform",
    "--project",
    "--publish",
    "--python",
    "--user",
    "--volume",
    "--with",
];

/// Options whose value is a package or a program.
const OPTIONS_WITH_PROGRAM: [&str; 6] = ["-c", "-p", "--call", "--entrypoint", "--from", "--package"];

/// What of the outside is needed to know ourselves.
pub(crate) struct Ourselves<'a> {
    /// The running program's file, as the system gives it.
    pub(crate) executable: Option<PathBuf>,
    /// `PATH`.
    pub(crate) path: Option<&'a str>,
    /// What a relative path is relative to.
    pub(crate) directory: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

impl Ourselves<'_> {
    /// Whether the command starts this program, or one whose place it takes: by itself, through a launcher such as `npx` or
    /// `docker run`, or through a shell.
    pub(crate) fn is_started_by(&self, command: &str, args: &[String]) -> bool {
        let words: Vec<&str> = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
        let command_words: Vec<&str> = command.split_whitespace().chain(args.iter().map(String::as_str)).collect();
        // Launchers that are not known give the command as words of their own or as one text.
        self.runs(&words, 0)
            || self.runs(&command_words, 0)
            || words.iter().any(|word| names_serving(&shell_words(word)))
            || names_serving(&words)
    }

    /// Whether the first word is this program itself, and not one that starts it.
    pub(crate) fn is_the_command(&self, words: &[&str]) -> bool {
        words
            .split_first()
            .is_some_and(|(program, rest)| self.is_ours(program, &base_name(program), rest))
    }

    /// Whether it is one whose place this one takes that is started.
    pub(crate) fn is_a_predecessor(words: &[String]) -> bool {
        let mut parts = words.iter().flat_map(|word| word.split(['/', '\\', ' '])).map(plain_name);
        parts.any(|part| PREDECESSORS.contains(&part.as_str()))
    }

    fn runs(&self, words: &[&str], depth: u8) -> bool {
        let Some((program, rest)) = words.split_first().filter(|_| depth < 8) else {
            return false;
        };
        let name = base_name(program);
        if self.is_ours(program, &name, rest) {
            return true;
        }
        if SHELLS.contains(&name.as_str()) {
            return self.shell_runs(rest, depth + 1);
        }
        let is_launcher = LAUNCHERS.contains(&name.as_str()) || name.starts_with("python3.");
        is_launcher && self.launches(rest, CONTAINERS.contains(&name.as_str()), depth + 1)
    }

    fn is_ours(&self, program: &str, name: &str, rest: &[&str]) -> bool {
        // A script's own name tells nothing, as in `node …/code-executor-mcp/dist/index.js`.
        let mut parts = program.split(['/', '\\']).map(plain_name);
        let is_predecessor = parts.any(|part| PREDECESSORS.contains(&part.as_str()));
        let serves = rest.iter().any(|word| SERVING.contains(word));
        is_predecessor || (NAMES.contains(&name) && serves) || self.is_executable(program)
    }

    /// Whether a program is the file that is running, by whatever path.
    fn is_executable(&self, program: &str) -> bool {
        let Some(own) = &self.executable else { return false };
        let file = match (program.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) if program.contains(['/', '\\']) => self.directory.join(program),
            (Some(_), None) | (None, _) => {
                let directories = self.path.map(std::env::split_paths).into_iter().flatten();
                let Some(file) = directories.map(|directory| directory.join(program)).find(|file| file.is_file()) else {
                    return false;
                };
                file
            }
        };
        fs_err::canonicalize(file).is_ok_and(|file| file == *own)
    }

    /// What follows `-c` or `/c`, in any spelling such as `-lc`.
    fn shell_runs(&self, rest: &[&str], depth: u8) -> bool {
        let is_option =
            |word: &&str| word.starts_with(['-', '/']) && !word.starts_with("--") && word.len() < 8 && word.to_lowercase().ends_with('c');
        let Some(position) = rest.iter().position(is_option) else {
            // A script of its own, or nothing.
            return self.runs(rest, depth);
        };
        let text = rest.get(position + 1..).unwrap_or_default().join(" ");
        text.split([';', '&', '|', '\n', '(', ')', '`'])
            .any(|command| self.runs(&without_assignments(&shell_words(command)), depth))
    }

    /// The first word that is no option, assignment or word of the launcher, and for containers the words after it.
    fn launches(&self, rest: &[&str], is_container: bool, depth: u8) -> bool {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            if *word == "-m" {
                return self.runs(after, depth);
            }
            if OPTIONS_WITH_VALUE.contains(word) {
                let value = after.first().copied().unwrap_or_default();
                if OPTIONS_WITH_PROGRAM.contains(word)
                    && self.runs(&with_rest(&shell_words(value), after.get(1..).unwrap_or_default()), depth)
                {
                    return true;
                }
                words = after.get(1..).unwrap_or_default();
                continue;
            }
            let option_value = word.split_once('=').filter(|(option, _)| OPTIONS_WITH_PROGRAM.contains(option));
            if option_value.is_some_and(|(_, value)| self.runs(&with_rest(&[value], after), depth)) {
                return true;
            }
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            if word.starts_with('-') || is_assignment(word) || is_number || LAUNCHER_WORDS.contains(word) {
                words = after;
                continue;
            }
            // An image without a command serves by itself.
            let is_image = NAMES.contains(&base_name(word).as_str()) && after.is_empty();
            return self.runs(words, depth) || (is_container && (is_image || self.runs(after, depth)));
        }
        false
    }
}

fn with_rest<'w>(first: &[&'w str], rest: &[&'w str]) -> Vec<&'w str> {
    first.iter().chain(rest).copied().collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn without_assignments<'w>(words: &[&'w str]) -> Vec<&'w str> {
    words.iter().copied().skip_while(|word| is_assignment(word)).collect()
}

/// `mce serve` somewhere in a command.
fn names_serving(words: &[&str]) -> bool {
    words
        .windows(2)
        .any(|pair| matches!(pair, [program, word] if NAMES.contains(&base_name(program).as_str()) && *word == "serve"))
}

fn shell_words(text: &str) -> Vec<&str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| !word.is_empty())
        .collect()
}

/// A path's last part without what systems and registries add: `mce.exe`, `mce@latest`, `ghcr.io/x/mce:1`.
fn base_name(program: &str) -> String {
    plain_name(program.rsplit(['/', '\\']).next().unwrap_or_default())
}

fn plain_name(part: &str) -> String {
    let name = part
        .split_once('@')
        .map_or(part, |(name, _)| if name.is_empty() { part } else { name });
    let name = name.split([':', '=']).next().unwrap_or_default().to_ascii_lowercase();
    let extensions = [".exe", ".cmd", ".bat", ".ps1"];
    let stem = extensions.into_iter().find_map(|extension| name.strip_suffix(extension));
    stem.unwrap_or(&name).replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known by name alone.
    fn somewhere() -> Ourselves<'static> {
        Ourselves {
            executable: None,
            path: None,
            directory: Path::new("/w"),
            home: None,
        }
    }

    fn check(line: &str, ours: &Ourselves<'_>) -> bool {
        // `|` stands between words.
        let words: Vec<String> = line.split('|').map(str::to_owned).collect();
        ours.is_started_by(&words[0], &words[1..])
    }

    #[test]
    fn what_starts_us_is_recognised_however_it_is_started() {
        let ours = somewhere();
        for line in [
            "mce|serve",
            "mce.exe|serve",
            "/usr/local/bin/mce|--config|/x.yaml|serve",
            "C:\\Tools\\MCE.EXE|serve",
            "~/mcp-code-execution/.venv/bin/mce|serve",
            "mce|run",
            "npx|-y|mce@latest|serve",
            "npx|-p|mce|mce|serve",
            "npx|--package=mce|--|mce|serve",
            "uvx|mce|serve",
            "uvx|--from|mce|mce|serve",
            "uv|tool|run|mce|serve",
            "uv|--directory|/x|run|mce|serve",
            "pipx|run|mce|serve",
            "python3|-m|mce|serve",
            "env|A=b|mce|serve",
            "env|-i|A=b|/opt/mce|serve",
            "/bin/sh|-c|exec mce serve --config x",
            "bash|-lc|cd /x && A=b mce serve",
            "cmd|/c|npx|-y|mce|serve",
            "docker|run|-i|--rm|-v|/a:/b|mce|serve",
            "docker|run|-i|--rm|-e|A=b|debian|mce|serve",
            "docker|run|--rm|-i|ghcr.io/someone/mce:1.2",
            "docker|run|--entrypoint|mce|debian|serve",
            "timeout|60|mce|serve",
            "sudo|-u|me|mce|serve",
            "npx|-y|code-executor-mcp",
            "npx|code-executor-mcp@1.0.5",
            "code-executor-mcp",
            "node|/x/node_modules/code-executor-mcp/dist/index.js",
            "docker|run|-p|3333:3333|aberemia24/code-executor-mcp:latest",
            "sh|-c|npx -y code-executor-mcp",
            "mce serve",
            "mcp-proxy|--|mce|serve",
            "supergateway|--stdio|/x/mce serve",
        ] {
            assert!(check(line, &ours), "{line}");
        }
    }

    #[test]
    fn other_servers_are_not_taken_for_us() {
        let ours = somewhere();
        for line in [
            "npx|-y|@modelcontextprotocol/server-filesystem|/home/me/code-executor-mcp",
            "npx|-y|@modelcontextprotocol/server-filesystem|/data/mce",
            "npx|-y|@playwright/mcp|--headless",
            "uvx|mcp-server-git|--repository|mce",
            "docker|run|-i|--rm|-v|/home/me/mce:/data|mcp/filesystem|/data",
            "docker|run|-i|--rm|-e|TOKEN|ghcr.io/github/github-mcp-server",
            "node|/home/me/mce/server.js",
            "python|-m|mcp_server_time",
            "serve|mce",
            "sh|-c|cat mce",
            "",
        ] {
            assert!(!check(line, &ours), "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn our_own_file_is_recognised_under_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("gateway");
        fs_err::write(&own, "").unwrap();
        let link = directory.path().join("linked");
        fs_err::os::unix::fs::symlink(&own, &link).unwrap();
        let path = directory.path().display().to_string();
        let ours = Ourselves {
            executable: fs_err::canonicalize(&own).ok(),
            path: Some(&path),
            directory: directory.path(),
            home: Some(directory.path()),
        };
        for line in ["gateway", "linked|--flag", "./linked", "~/gateway", "env|A=b|linked"] {
            assert!(check(line, &ours), "{line}");
        }
        assert!(!check("other", &ours));
        assert!(!check("cat|/etc/passwd", &ours));
    }
}
