//! Inputs of programs, programs that are only read, and programs within programs. In the real jail.
#![cfg(test)]

mod support;

use std::sync::Arc;

use mce_sandbox::{ErrorKind, Language, Program, Sandbox, SandboxOptions};
use support::{Api, options, program, program_in};

#[tokio::test]
async fn inputs_keep_all_their_digits() {
    let sandbox = Sandbox::new(options());
    let long = "123456789012345678901234567890";
    for (language, source) in [
        (Language::Python, "n = 1\nresult = n + 1"),
        (Language::TypeScript, "const n: any = 1;\nn + 1n"),
    ] {
        let program = Program {
            params: serde_json::from_str(&format!(r#"{{"n": {long}}}"#)).unwrap(),
            ..program_in(language, source)
        };
        let outcome = sandbox.run(program, Arc::new(Api::default())).await;
        assert_eq!(outcome.result.unwrap().get(), "123456789012345678901234567891");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_whole_number_without_a_type_stands_for_any_number() {
    let sandbox = Sandbox::new(options());
    for (language, source, is_taken) in [
        (Language::Python, "n = 1\nresult = n + 1", true),
        (Language::Python, "n: int = 1\nresult = n + 1", false),
        (Language::TypeScript, "const n = 1;\nn + 1", true),
    ] {
        let program = Program {
            params: serde_json::from_str(r#"{"n": 9.5}"#).unwrap(),
            ..program_in(language, source)
        };
        let result = sandbox.run(program, Arc::new(Api::default())).await.result;
        assert_eq!(
            result.as_ref().is_ok_and(|value| value.get() == "10.5"),
            is_taken,
            "{source} {result:?}"
        );
        assert!(is_taken || result.unwrap_err().message.contains("expected integer"), "{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn what_a_program_answers_is_not_given_to_it() {
    let sandbox = Sandbox::new(options());
    for (language, source) in [
        (Language::Python, "n = 1\nresult = n + 1"),
        (Language::TypeScript, "const n = 1;\nconst result = n + 1;"),
    ] {
        let program = Program {
            params: serde_json::from_str(r#"{"result": 9}"#).unwrap(),
            ..program_in(language, source)
        };
        let error = sandbox.run(program, Arc::new(Api::default())).await.result.unwrap_err();
        assert_eq!(
            error.message, "the program has no top-level variable `result`; it has: `n`",
            "{source}"
        );
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_program_is_read_without_being_run() {
    let sandbox = Sandbox::new(options());
    for (language, source) in [
        (
            Language::Python,
            "\"\"\"Counts.\"\"\"\nfrom api.functions import get_item\nfrom mce import call_function\nmonth: int\nyear = 2026\nrows = []\ncount = 0\n\
             count += 1\nlimit: int | None = None\ncall_function('api:GET /x', {})\nwhile True: pass",
        ),
        (
            Language::TypeScript,
            "let month: number;\nconst year = 2026;\nconst rows = [];\nlet count = 0;\ncount += 1;\nlet limit: number | null = null;\n\
             api.getItem({});\ncallFunction('api:GET /x', {});\nwhile (true) {}",
        ),
    ] {
        let outline = sandbox.outline(language, source).await.unwrap();
        let names: Vec<_> = outline.inputs.iter().map(|input| (input.name.as_str(), input.required)).collect();
        assert_eq!(names, [("month", true), ("year", false), ("limit", false)], "{source}");
        assert_eq!(outline.inputs[1].schema["default"], 2026);
        assert_eq!(outline.functions.len(), 2, "{:?}", outline.functions);
        assert!(!outline.open);
        let error = sandbox.outline(language, "1 +").await.unwrap_err();
        assert_eq!((error.kind, error.line), (ErrorKind::Syntax, Some(1)));
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_program_within_another_needs_no_place() {
    let sandbox = Arc::new(Sandbox::new(SandboxOptions {
        concurrent_runs: 1,
        queued_runs: 0,
        ..options()
    }));
    let outer = sandbox.run(program("import time\ntime.sleep(30)"), Arc::new(Api::default()));
    tokio::pin!(outer);
    let inner = async {
        loop {
            let busy = sandbox.run(program("1"), Arc::new(Api::default())).await;
            if busy.result.is_err_and(|error| error.kind == ErrorKind::Busy) {
                break sandbox.run_within(program("1 + 1"), Arc::new(Api::default())).await;
            }
        }
    };
    tokio::select! {
        biased;
        _ = &mut outer => panic!("it sleeps"),
        outcome = inner => assert_eq!(outcome.result.unwrap().get(), "2"),
    }
    sandbox.stop().await;
}
