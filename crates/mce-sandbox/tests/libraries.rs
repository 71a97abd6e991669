//! Programs that use data libraries, on the fork server that has imported them.
//!
//! They come from the virtual environment that `scripts/test` makes in `target/test-python`.
#![cfg(test)]

mod support;

use std::path::Path;
use std::sync::Arc;

use mce_sandbox::{Language, Launcher, Sandbox, SandboxOptions};
use serde_json::{Value, json};
use support::{Api, options, program_in, run, seen};

/// A sandbox whose interpreter has the libraries. `None`, loudly, where there is none.
fn sandbox() -> Option<Sandbox> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin/python");
    if !python.is_file() {
        println!(
            "NOT RUN: there is no Python with data libraries at `{}`; `scripts/test` makes one",
            python.display()
        );
        return None;
    }
    let python = python.to_string_lossy().into_owned();
    Some(Sandbox::new(SandboxOptions { python, ..options() }))
}

#[tokio::test]
async fn values_of_data_libraries_become_json() {
    let Some(sandbox) = sandbox() else { return };
    for (source, expected) in [
        (
            "pd.DataFrame({'a': [1, 2], 'b': ['x', None]})",
            json!([{"a": 1, "b": "x"}, {"a": 2, "b": null}]),
        ),
        ("pd.DataFrame({'a': [1.5]}, index=['k'])", json!([{"index": "k", "a": 1.5}])),
        (
            "pd.DataFrame({'g': ['x', 'x', 'y'], 'n': [1, 2, 3]}).groupby('g').sum()",
            json!([{"g": "x", "n": 3}, {"g": "y", "n": 3}]),
        ),
        ("pd.DataFrame({'a': [1]}).empty", json!(false)),
        ("pd.Series([1, 2, 3])", json!([1, 2, 3])),
        ("pd.Series([1, 2], index=['a', 'b'])", json!({"a": 1, "b": 2})),
        ("pd.Series([1.5, float('nan'), None])", json!([1.5, null, null])),
        ("pd.Series(['a', 'b', 'a']).value_counts()", json!({"a": 2, "b": 1})),
        (
            "[pd.Timestamp('2020-01-02 03:04'), pd.NaT, pd.NA, pd.Timedelta('90s')]",
            json!(["2020-01-02T03:04:00", null, null, 90.0]),
        ),
        ("pd.Timestamp('2020-01-02', tz='UTC')", json!("2020-01-02T00:00:00+00:00")),
        ("[pd.Period('2020-01'), pd.Interval(0, 1)]", json!(["2020-01", "(0, 1]"])),
        (
            "pd.date_range('2020-01-01', periods=2)",
            json!(["2020-01-01T00:00:00", "2020-01-02T00:00:00"]),
        ),
        ("pd.Categorical(['a', 'b'])", json!(["a", "b"])),
        ("pd.Index([1, 2])", json!([1, 2])),
        (
            "pd.DataFrame({'d': [pd.Timestamp('2020-01-02'), pd.NaT]})",
            json!([{"d": "2020-01-02T00:00:00"}, {"d": null}]),
        ),
        (
            "pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([('a', 'x'), ('a', 'y')]))",
            json!([{"[\"a\",\"x\"]": 1, "[\"a\",\"y\"]": 2}]),
        ),
        ("np.arange(6).reshape(2, 3)", json!([[0, 1, 2], [3, 4, 5]])),
        (
            "[np.int64(5), np.float32(0.5), np.bool_(True), np.float64('nan'), np.str_('é')]",
            json!([5, 0.5, true, null, "é"]),
        ),
        ("{np.int64(1): np.array([1.5, np.inf])}", json!({"1": [1.5, null]})),
        (
            "[np.datetime64('2020-01-02'), np.datetime64('NaT'), np.timedelta64(90, 's')]",
            json!(["2020-01-02", null, 90.0]),
        ),
        ("np.array([1 + 2j])", json!(["(1+2j)"])),
        ("np.array(['a', None], dtype=object)", json!(["a", null])),
        ("float(np.linalg.norm(np.ones((200, 200)) @ np.ones((200, 200))))", json!(40000.0)),
        (
            "pydantic.create_model('M', a=(int, ...), b=(str | None, None))(a='1')",
            json!({"a": 1, "b": null}),
        ),
        ("orjson.loads(orjson.dumps({'a': [1]}))", json!({"a": [1]})),
    ] {
        let source = format!("import numpy as np, pandas as pd, orjson\nimport pydantic\nresult = {source}");
        assert_eq!(seen(&run(&sandbox, &source).await), json!({ "value": expected }), "\n{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_spreadsheet_is_written_and_read_in_tmp() {
    let Some(sandbox) = sandbox() else { return };
    let source = "import openpyxl, pandas as pd\npd.DataFrame({'a': [1, 2]}).to_excel('/tmp/x.xlsx', index=False)\nbook = openpyxl.load_workbook('/tmp/x.xlsx')\nresult = [[cell.value for cell in row] for row in book.active] + pd.read_excel('/tmp/x.xlsx')['a'].tolist()";
    assert_eq!(seen(&run(&sandbox, source).await), json!({ "value": [["a"], [1], [2], 1, 2] }));
    sandbox.stop().await;
}

#[tokio::test]
async fn figures_and_images_become_content_blocks() {
    let Some(sandbox) = sandbox() else { return };
    let figure = "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2], [3, 4])\n";
    let image = "from PIL import Image\nimage = Image.new('RGB', (4, 3), 'red')\n";
    let in_data = json!("image 1");
    for (source, expected, count) in [
        (format!("{figure}result = figure"), in_data.clone(), 1),
        (format!("{figure}result = axes"), in_data.clone(), 1),
        (format!("{figure}plt.title('é')\nplt.gcf()"), in_data.clone(), 1),
        (format!("{image}result = image"), in_data, 1),
        (
            format!("{image}result = {{'a': [image, image.convert('L')]}}"),
            json!({"a": ["image 1", "image 2"]}),
            2,
        ),
    ] {
        let outcome = run(&sandbox, &source).await;
        assert_eq!(seen(&outcome), json!({ "value": expected }), "{source}");
        assert_eq!(outcome.contents.len(), count, "{source}");
        for content in &outcome.contents {
            assert_eq!(content.mime_type, "image/png");
            assert!(content.data.starts_with(b"\x89PNG"), "{source}");
        }
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn the_imports_of_a_program_decide_its_fork_server_and_a_wrong_guess_changes_nothing() {
    let Some(sandbox) = sandbox() else { return };
    let look = "import sys\nresult = 'pandas' in sys.modules";
    let values = [
        (look.to_owned(), json!(false)),
        (format!("import pandas\n{look}"), json!(true)),
        ("import sys, pandas\nresult = 'matplotlib' in sys.modules".to_owned(), json!(true)),
        // Guessed wrong in both directions.
        (format!("text = '''\nimport pandas\n'''\n{look}"), json!(true)),
        (
            "pandas = __import__('pan' + 'das')\nresult = pandas.DataFrame({'a': [1]})".to_owned(),
            json!([{"a": 1}]),
        ),
    ];
    for (source, expected) in values {
        assert_eq!(seen(&run(&sandbox, &source).await), json!({ "value": expected }), "{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_library_that_breaks_its_fork_server_harms_only_who_imports_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs_err::create_dir(folder.path().join("openpyxl")).unwrap();
    fs_err::write(folder.path().join("openpyxl/__init__.py"), "import os\nos._exit(3)\n").unwrap();
    fs_err::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sandbox = Sandbox::new(SandboxOptions {
        python_libraries: vec![folder.path().to_owned()],
        ..options()
    });
    for _ in 0..4 {
        let source = "text = '''\nimport openpyxl\n'''\nresult = 1 + 1";
        assert_eq!(seen(&run(&sandbox, source).await), json!({ "value": 2 }));
    }
    let found = seen(&run(&sandbox, "import openpyxl").await);
    assert_eq!(found["error"]["type"], json!("exception"), "{found}");
    sandbox.stop().await;
}

#[tokio::test]
async fn what_lies_below_tmp_on_the_host_is_there_inside() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("program");
    fs_err::copy(options().typescript.program, &program).unwrap();
    fs_err::create_dir(folder.path().join("packages")).unwrap();
    fs_err::write(folder.path().join("packages/own_package.py"), "ANSWER = 42\n").unwrap();
    fs_err::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for without in [Vec::new(), vec!["namespaces".to_owned()]] {
        let sandbox = Sandbox::new(SandboxOptions {
            python_libraries: vec![folder.path().join("packages")],
            typescript: Launcher {
                program: program.clone(),
                arguments: Vec::new(),
            },
            without_layers: without.clone(),
            ..options()
        });
        let python = run(&sandbox, "import own_package\nresult = own_package.ANSWER").await;
        assert_eq!(seen(&python), json!({ "value": 42 }), "{without:?}");
        let typescript = sandbox
            .run(program_in(Language::TypeScript, "result = 6 * 7"), Arc::new(Api::default()))
            .await;
        assert_eq!(seen(&typescript), json!({ "value": 42 }), "{without:?}");
        sandbox.stop().await;
    }
}

#[tokio::test]
async fn libraries_are_told_with_versions_and_without_a_fork_server() {
    let Some(sandbox) = sandbox() else { return };
    let libraries = sandbox.python().await.unwrap().libraries;
    for name in ["pandas", "numpy", "openpyxl", "httpx", "pydantic", "orjson", "matplotlib", "PIL"] {
        let version = &libraries.iter().find(|(found, _)| found == name).unwrap().1;
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{name} `{version}`");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn runs_with_data_libraries_share_nothing_and_keep_their_limits() {
    let Some(sandbox) = sandbox() else { return };
    let plant = "import os, numpy, pandas\npandas.planted = 1\nnumpy.random.seed(1)\nopen('/tmp/planted', 'w').close()\nresult = 1";
    let look = "import os, pandas, threading\nresult = [hasattr(pandas, 'planted'), os.listdir('/tmp'), threading.active_count()]";
    for _ in 0..3 {
        assert_eq!(seen(&run(&sandbox, plant).await), json!({ "value": 1 }));
        assert_eq!(seen(&run(&sandbox, look).await), json!({ "value": [false, [], 1] }));
    }
    for source in [
        "import numpy\nx = [numpy.ones(1 << 20) for _ in range(1000)]",
        "import numpy\nx = numpy.ones(1 << 40)",
        "import pandas as pd\nt = pd.DataFrame({'a': range(100000)})\nwhile True: t = pd.concat([t, t])",
    ] {
        let found: Value = seen(&run(&sandbox, source).await);
        assert_eq!(found["error"]["type"], json!("memory"), "{source}: {found}");
    }
    // Each worker has randomness of its own.
    let random = "import numpy\nresult = numpy.random.default_rng().integers(1 << 60).item()";
    assert_ne!(seen(&run(&sandbox, random).await), seen(&run(&sandbox, random).await));
    sandbox.stop().await;
}
