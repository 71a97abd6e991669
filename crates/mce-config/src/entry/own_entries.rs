//! Which entries of a file start this program, and what they say beside what we would put there.

use std::path::PathBuf;

use super::{Launch, below, text_of};
use crate::LoadOptions;
use crate::env;
use crate::load::Places;
use crate::own::{Ourselves, SERVING};
use crate::yaml::{Entry, Kind, Node};

/// The entries that start this program, under any name. Those of programs whose place it takes are none.
pub(super) struct OwnEntries<'t> {
    /// Their command is this program, with the words that are started.
    pub(super) direct: Vec<(&'t Entry, Vec<String>)>,
    /// Names of those whose command is another program, which starts this one: what they do beside that is a person's.
    pub(super) left: Vec<String>,
}

impl<'t> OwnEntries<'t> {
    pub(super) fn of(options: &LoadOptions, entries: &'t [Entry]) -> Self {
        let home = options.environment.get("HOME").map(PathBuf::from);
        let places = Places {
            options,
            home: home.as_deref(),
        };
        let ourselves = Ourselves {
            executable: env::executable(),
            path: options.environment.get("PATH").map(String::as_str),
            directory: &options.working_dir,
            home: places.home,
        };
        let (mut direct, mut left) = (Vec::new(), Vec::new());
        for entry in entries {
            let words = command_of(&entry.value);
            if Ourselves::is_a_predecessor(&words) {
                continue;
            }
            if let Some(words) = own_words(&ourselves, &words) {
                direct.push((entry, words));
            } else if words
                .split_first()
                .is_some_and(|(command, args)| ourselves.is_started_by(command, args))
            {
                left.push(entry.key.clone());
            }
        }
        Self { direct, left }
    }
}

/// The words that start this program, if the first is its own; some write a whole line as the command.
fn own_words(ourselves: &Ourselves<'_>, words: &[String]) -> Option<Vec<String>> {
    let (command, args) = words.split_first()?;
    let as_line: Vec<String> = command.split_whitespace().map(str::to_owned).chain(args.iter().cloned()).collect();
    [words.to_vec(), as_line]
        .into_iter()
        .find(|words| ourselves.is_the_command(&words.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn command_of(entry: &Node) -> Vec<String> {
    let texts = |key: &str| match below(entry, &[key]).map(|node| &node.kind) {
        Some(Kind::Scalar(text)) => vec![text.clone()],
        Some(Kind::List(items)) => items.iter().filter_map(text_of).collect(),
        Some(Kind::Null | Kind::Map(_)) | None => Vec::new(),
    };
    [texts("command"), texts("cmd"), texts("args")].concat()
}

/// What is to be started, with the options of an entry's words that it does not set. `run` stays `run`: it serves, too.
pub(super) fn with_options_of(words: &[String], launch: &Launch) -> Launch {
    let mut args = launch.args.clone();
    let mut old = words.iter().skip(1).peekable();
    let mut is_command_known = false;
    while let Some(word) = old.next() {
        if !is_command_known && SERVING.contains(&word.as_str()) {
            is_command_known = true;
            if let Some(command) = args.first_mut() {
                command.clone_from(word);
            }
            continue;
        }
        let (option, has_value) = word.split_once('=').map_or((word.as_str(), false), |(option, _)| (option, true));
        let value = if has_value || !word.starts_with('-') {
            None
        } else {
            old.next_if(|next| !next.starts_with('-'))
        };
        if !launch.args.iter().any(|set| set == option) {
            args.extend(std::iter::once(word).chain(value).cloned());
        }
    }
    Launch { args, ..launch.clone() }
}
