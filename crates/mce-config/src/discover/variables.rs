//! Variables as other programs write them become `${VAR}`.

use std::path::Path;

use crate::discover::VariableForm;
use crate::yaml::{Kind, Node};

/// What stands for a variable that only the client knows.
pub(crate) struct Workspace<'a> {
    /// The project's directory, or the working directory.
    pub(crate) directory: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

/// Rewrites all texts of an entry. `is_set` tells whether a variable has a value.
pub(crate) fn rewrite(node: &mut Node, form: VariableForm, workspace: &Workspace<'_>, is_set: &dyn Fn(&str) -> bool) {
    match &mut node.kind {
        Kind::Null => {}
        Kind::Scalar(text) => {
            *text = match form {
                VariableForm::Braces => return,
                VariableForm::Shell => percent(&dollar(text, is_set), is_set),
                VariableForm::Prefixed => prefixed(text),
                VariableForm::Editor => editor(text, workspace),
                VariableForm::ProjectDir if is_set("CLAUDE_PROJECT_DIR") => return,
                VariableForm::ProjectDir => replace_all(text, &[("${CLAUDE_PROJECT_DIR}", literal(workspace.directory))]),
            };
        }
        Kind::List(items) => items.iter_mut().for_each(|item| rewrite(item, form, workspace, is_set)),
        Kind::Map(entries) => entries
            .iter_mut()
            .for_each(|entry| rewrite(&mut entry.value, form, workspace, is_set)),
    }
}

/// A text that holds no variable.
fn literal(path: &Path) -> String {
    path.display().to_string().replace("${", "$${")
}

fn replace_all(text: &str, replacements: &[(&str, String)]) -> String {
    let replace = |text: String, (from, to): &(&str, String)| text.replace(from, to);
    replacements.iter().fold(text.to_owned(), replace)
}

fn editor(text: &str, workspace: &Workspace<'_>) -> String {
    let name = workspace.directory.file_name().unwrap_or_default();
    let mut replacements = vec![
        ("${workspaceFolder}", literal(workspace.directory)),
        ("${workspaceFolderBasename}", literal(Path::new(name))),
        ("${pathSeparator}", std::path::MAIN_SEPARATOR.to_string()),
        ("${/}", std::path::MAIN_SEPARATOR.to_string()),
    ];
    replacements.extend(workspace.home.map(|home| ("${userHome}", literal(home))));
    replace_all(text, &replacements)
}

/// `{env:VAR}` and `{file:path}`; the latter is not read, so that its name is told as one without value.
fn prefixed(text: &str) -> String {
    replace_all(text, &[("{env:", "${env:".to_owned()), ("{file:", "${file:".to_owned())])
}

fn name_length(text: &str) -> usize {
    let is_name = |(at, c): &(usize, char)| c.is_ascii_alphabetic() || *c == '_' || (*at > 0 && c.is_ascii_digit());
    text.char_indices().take_while(is_name).count()
}

/// `$VAR`. One without value stays as it is, unless it is the whole text: a password can hold `$`.
fn dollar(text: &str, is_set: &dyn Fn(&str) -> bool) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let (name, tail) = after.split_at_checked(name_length(after)).unwrap_or((after, ""));
        let is_whole = before.is_empty() && written.is_empty() && tail.is_empty();
        let is_variable = !name.is_empty() && (is_set(name) || is_whole);
        written.push_str(before);
        if is_variable {
            written.extend(["${", name, "}"]);
        } else {
            written.extend(["$", name]);
        }
        rest = tail;
    }
    written.push_str(rest);
    written
}

/// `%VAR%`, if it has a value.
fn percent(text: &str, is_set: &dyn Fn(&str) -> bool) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        let (name, tail) = after.split_at_checked(name_length(after)).unwrap_or((after, ""));
        written.push_str(before);
        match tail.strip_prefix('%') {
            Some(tail) if is_set(name) => {
                written.extend(["${", name, "}"]);
                rest = tail;
            }
            Some(_) | None => {
                written.extend(["%", name]);
                rest = tail;
            }
        }
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_becomes_ours() {
        for (form, text, expected) in [
            (VariableForm::Braces, "$A {env:A} %A% ${A}", "$A {env:A} %A% ${A}"),
            (VariableForm::Shell, "$A", "${A}"),
            (VariableForm::Shell, "$NO", "${NO}"),
            (VariableForm::Shell, "x$A-$NO$", "x${A}-$NO$"),
            (VariableForm::Shell, "${A} %A%/%NO%/100%", "${A} ${A}/%NO%/100%"),
            (VariableForm::Prefixed, "Bearer {env:A}", "Bearer ${env:A}"),
            (VariableForm::Prefixed, "{file:~/k}", "${file:~/k}"),
            (VariableForm::Editor, "${workspaceFolder}${/}x ${userHome}", "/p/q/x /h"),
            (VariableForm::Editor, "${workspaceFolderBasename} ${input:k}", "q ${input:k}"),
            (VariableForm::ProjectDir, "${CLAUDE_PROJECT_DIR}/x", "/p/q/x"),
        ] {
            let workspace = Workspace {
                directory: Path::new("/p/q"),
                home: Some(Path::new("/h")),
            };
            let mut node = Node::text(text);
            rewrite(&mut node, form, &workspace, &|name| name == "A");
            assert_eq!(node.kind, Kind::Scalar(expected.to_owned()), "{text}");
        }
    }
}
