//! Texts of functions of many real documents parse in their language. Both parsers are programs of their own; where the
//! documents or a parser are missing, the test says so and checks less.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the texts are judged by parsers that others wrote")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use mce_catalog::{
    function::Types,
    openapi::{self, NoFurtherFiles, Origin},
    text::{Language, card},
};
use serde_json::{Value, json};

/// How many functions of one document are written.
const FUNCTIONS_A_DOCUMENT: usize = 25;
/// Larger documents are left out, to keep the test short.
const MAX_DOCUMENT_BYTES: u64 = 3_000_000;
/// Characters of types in one card.
const BUDGET: usize = 6_000;

const PYTHON: &str = r#"
import ast, json, sys
faults = []
for text, name in json.load(sys.stdin):
    try:
        tree = ast.parse(text)
        if any(isinstance(n, (ast.Name, ast.Call)) and getattr(n, "id", "") == "pwned" for n in ast.walk(tree)):
            faults.append([name, "runs `pwned`", text])
    except (SyntaxError, ValueError, RecursionError) as error:
        faults.append([name, str(error), text])
print(json.dumps(faults[:5]))
"#;

const TYPESCRIPT: &str = r#"
const ts = require(process.argv[1] + "/node_modules/typescript");
const faults = [];
for (const [text, name] of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  const file = ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const found = file.parseDiagnostics[0];
  if (found) faults.push([name, ts.flattenDiagnosticMessageText(found.messageText, " "), text]);
}
console.log(JSON.stringify(faults.slice(0, 5)));
"#;

fn corpus() -> PathBuf {
    std::env::var_os("MCE_TEST_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    )
}

/// All documents of the corpus that are one file of moderate size, and those of the cases.
fn documents() -> Vec<PathBuf> {
    let is_document = |path: &Path| {
        let is_named = path.extension().is_some_and(|end| end == "json" || end == "yaml");
        is_named
            && path.file_name().is_none_or(|name| name != "case.json")
            && fs::metadata(path).is_ok_and(|file| file.len() <= MAX_DOCUMENT_BYTES)
    };
    let folders = fs::read_dir(corpus().join("cases"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let folders = folders.filter(|path| path.is_dir()).chain([corpus().join("specs")]);
    let files = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut all: Vec<PathBuf> = files.filter(|path| is_document(path)).collect();
    all.sort();
    all
}

/// Pairs of source text and where it comes from.
fn texts(language: Language) -> Vec<Value> {
    let mut all = Vec::new();
    for path in documents() {
        let Ok(document) = openapi::read(&fs::read(&path).unwrap(), &Origin::File(path.clone()), &NoFurtherFiles) else {
            continue;
        };
        let step = (document.functions.len() / FUNCTIONS_A_DOCUMENT).max(1);
        for function in document.functions.iter().step_by(step) {
            let mut function = function.clone();
            "shop".clone_into(&mut function.server);
            let name = format!("{} {}", path.display(), function.operation);
            all.extend(sources(&function, &document.types, language).map(|text| json!([text, name])));
        }
    }
    all
}

fn sources(function: &mce_catalog::function::Function, types: &Types, language: Language) -> impl Iterator<Item = String> {
    let card = card(function, types, language, BUDGET);
    let declaration = match language {
        Language::Python => format!("def {}: ...", card.signature),
        Language::TypeScript => format!("declare function {};", card.signature),
    };
    assert!(
        !card.signature.contains('\n') && card.types.chars().count() <= BUDGET + 2_000,
        "{declaration}"
    );
    [declaration, card.types, card.example, card.import_line].into_iter()
}

/// Runs a parser over the texts; gives what it found wrong.
fn faults(mut command: Command, texts: &[Value]) -> Vec<Value> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&serde_json::to_vec(texts).unwrap()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn python_texts_of_real_documents_parse() {
    let texts = texts(Language::Python);
    if texts.is_empty() {
        eprintln!(
            "\n!!! NOT RUN: there are no documents in {}; set MCE_TEST_CORPUS\n",
            corpus().display()
        );
        return;
    }
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON]);
    let faults = faults(command, &texts);
    assert!(faults.is_empty(), "{faults:#?}");
    eprintln!("{} Python texts parse", texts.len());
}

#[test]
fn typescript_texts_of_real_documents_parse() {
    let Some(tools) = std::env::var_os("MCE_TEST_TOOLS").filter(|tools| Path::new(tools).join("node_modules/typescript").is_dir()) else {
        eprintln!("\n!!! NOT RUN: set MCE_TEST_TOOLS to a folder whose node_modules has `typescript`\n");
        return;
    };
    let texts = texts(Language::TypeScript);
    let mut command = Command::new("node");
    command.arg("-e").arg(TYPESCRIPT).arg(tools);
    let faults = faults(command, &texts);
    assert!(faults.is_empty(), "{faults:#?}");
    eprintln!("{} TypeScript texts parse", texts.len());
}
