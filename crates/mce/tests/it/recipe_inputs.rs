//! What goes into recipes and comes out of them: values for their variables, what they print, ids and names.

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Ended, Project};

const VERSION: &str = "2025-11-25";

fn good(ended: Ended) -> Ended {
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

fn save(project: &Project, name: &str, (ending, text): (&str, &str)) {
    let file = format!("{name}.{ending}");
    project.write(&file, text);
    good(project.run(&["recipes", "save", name, &file]));
}

/// All that an error of a run says, message by message.
fn messages(error: &Value) -> Vec<String> {
    let also = error["also"].as_array().cloned().unwrap_or_default();
    let all = std::iter::once(error).chain(&also);
    all.map(|one| one["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn values_for_variables_are_checked_before_a_program_starts_and_all_faults_are_told() {
    for recipe in [
        (
            "py",
            "from shop.functions import get_item\nitem: str\ntimes = 2\nget_item(id='1')\nresult = times\n",
        ),
        (
            "ts",
            "let item: string;\nconst times = 2;\nawait shop.getItem({ id: '1' });\nexport default times;\n",
        ),
    ] {
        let api = FakeApi::start();
        let project = Project::shop(&api);
        save(&project, "twice", recipe);
        let run = |given: &str| {
            let ended = project.run(&["recipes", "run", "twice", "--json", given]);
            assert_eq!(ended.code, 1, "{ended:?}");
            ended.json()["error"].clone()
        };
        let missing = run("{}");
        assert_eq!(
            (&missing["type"], messages(&missing)),
            (&json!("argument"), vec!["the program needs `item`".to_owned()])
        );
        assert!(missing["line"].is_number(), "{missing}");
        let all = messages(&run(r#"{"tims": 1, "times": "x"}"#));
        assert_eq!(all.len(), 3, "{all:?}");
        for part in [
            "no top-level variable `tims`",
            "`times`: expected ",
            "got the string `x`",
            "needs `item`",
        ] {
            assert!(all.iter().any(|message| message.contains(part)), "{all:?}");
        }
        assert_eq!(run(r#"{"itm": "1"}"#)["hint"], "did you mean `item`?");
        assert_eq!(messages(&run(r#"{"item": null}"#)), ["`item`: expected string, got null"]);
        assert!(api.requests().is_empty());
    }
}

#[test]
fn a_model_that_runs_a_program_again_is_told_all_that_is_wrong_with_its_values() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let (mut client, _) = Client::initialize(&project, VERSION);
    for (language, code) in [
        (
            "python",
            "print('started')\ncity = 'Oslo'\ndays = [1]\nlimit: int | None = 5\nresult = limit",
        ),
        (
            "typescript",
            "console.log('started');\nconst city = 'Oslo', days = [1];\nlet limit: number | null = 5;\nexport default limit;",
        ),
    ] {
        let (answer, _) = client.call("execute_code", json!({"code": code, "language": language, "description": "x"}));
        let id = answer["cache_id"].clone();
        let mut again = |params: Value| client.call("run_cached_code", json!({"cache_id": id, "params": params})).0;
        let refused = again(json!({"cty": 1, "city": 1, "days": [1, "x"], "limit": "x"}));
        let all = messages(&refused["error"]);
        assert_eq!(all.len(), 4, "{refused}");
        for part in [
            "variable `cty`",
            "`city`: expected string, got an integer",
            "`days[1]`: expected ",
            "`limit`: expected ",
        ] {
            assert!(all.iter().any(|message| message.contains(part)), "{refused}");
        }
        assert!(refused["logs"].as_str().unwrap_or_default().is_empty(), "{refused}");
        assert_eq!(again(json!({"limit": null}))["data"], Value::Null);
        assert_eq!(again(json!({"limit": 7, "days": []}))["data"], json!(7));
    }
}

#[test]
fn null_and_what_is_no_number_are_not_taken_for_the_default() {
    for recipe in [
        (
            "py",
            "from typing import Any\ntimes = 2\nlimit: int | None = 5\nwhatever: Any = 3\nresult = [times, limit, whatever]\n",
        ),
        (
            "ts",
            "const times = 2;\nlet limit: number | null = 5;\nlet whatever: any = 3;\nexport default [times, limit, whatever];\n",
        ),
    ] {
        let project = Project::shop(&FakeApi::start());
        save(&project, "three", recipe);
        let (mut client, _) = Client::initialize(&project, VERSION);
        for (given, expected) in [
            (json!({}), json!([2, 5, 3])),
            (json!({"limit": null, "whatever": null}), json!([2, null, null])),
            (json!({"whatever": ["x"]}), json!([2, 5, ["x"]])),
        ] {
            let called = project.run(&["call", "recipes.three", "--json", &given.to_string()]);
            assert_eq!(good(called).json(), expected, "{given}");
        }
        let error = project.run(&["call", "recipes.three", "--json", r#"{"times": null}"#]).error();
        assert!(error["message"].as_str().unwrap().contains("got null"), "{error}");
        for (language, code, part) in [
            (
                "python",
                "from recipes.functions import three\nnone = None\nthree(times=none)",
                "got null",
            ),
            (
                "python",
                "from recipes.functions import three\nthree(limit=float('nan'))",
                "`limit` is `nan`",
            ),
            ("typescript", "const none = null;\nawait recipes.three({ times: none })", "got null"),
            ("typescript", "await recipes.three({ limit: 0 / 0 })", "`limit` is `NaN`"),
        ] {
            let (answer, _) = client.call("execute_code", json!({"code": code, "language": language, "description": "x"}));
            assert_eq!(answer["error"]["type"], "argument", "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{answer}");
        }
    }
}

#[test]
fn whole_numbers_of_any_size_are_told_as_they_are() {
    for (recipe, digits) in [
        (
            ("py", "big = 123456789012345678901234567890\nresult = big + 1\n"),
            "123456789012345678901234567891",
        ),
        (
            ("ts", "const big = 123456789012345678901234567890n;\nexport default big + 1n;\n"),
            "123456789012345678901234567891",
        ),
    ] {
        let project = Project::shop(&FakeApi::start());
        save(&project, "huge", recipe);
        let listed = good(project.run(&["recipes", "list", "--json"])).json();
        let told = json!({"type": "integer", "description": "by default 123456789012345678901234567890"});
        assert_eq!(listed[0]["params"], json!([{"name": "big", "required": false, "schema": told}]));
        assert!(!good(project.run(&["functions", "--show", "recipes.huge"])).out.contains("e+29"));
        assert!(good(project.run(&["call", "recipes.huge", "--json", "{}"])).out.contains(digits));
        // A bigint stays one.
        assert_eq!(
            good(project.run(&["call", "recipes.huge", "--json", r#"{"big": 4}"#])).json(),
            json!(5)
        );
    }
}

#[test]
fn a_recipe_has_content_and_pages_as_any_tool_has() {
    for recipe in [("py", "result = [1, 2]\n"), ("ts", "export default [1, 2];\n")] {
        let project = Project::shop(&FakeApi::start());
        save(&project, "pair", recipe);
        let (mut client, _) = Client::initialize(&project, VERSION);
        for (language, code) in [
            (
                "python",
                "from recipes.functions import pair\nfrom mce import paginate\nwhole = pair.with_headers()\n\
                 result = [whole.value, whole.content[0]['text'], pair.with_content().value, list(paginate(pair, {}))]",
            ),
            (
                "typescript",
                "import { paginate } from 'mce';\nconst whole = await recipes.pair.withHeaders({});\nconst items: number[] = [];\n\
                 for await (const item of paginate(recipes.pair, {})) items.push(item);\n\
                 export default [whole.value, whole.content[0].text, (await recipes.pair.withContent({})).value, items];",
            ),
        ] {
            let (answer, _) = client.call("execute_code", json!({"code": code, "language": language, "description": "x"}));
            assert_eq!(answer["data"], json!([[1, 2], "[1,2]", [1, 2], [1, 2]]), "{answer}");
        }
    }
}

#[test]
fn what_recipes_print_stands_in_the_log_of_who_called_them() {
    let project = Project::shop(&FakeApi::start());
    save(&project, "inner", ("ts", "console.log('deep');\nexport default 1;\n"));
    save(
        &project,
        "outer",
        ("py", "from recipes.functions import inner\nprint('one\\ntwo')\nresult = inner()\n"),
    );
    save(&project, "broken", ("py", "print('last words')\nraise ValueError('x')\n"));
    let (mut client, _) = Client::initialize(&project, VERSION);
    let answer = client.run("from recipes.functions import outer\nprint('before')\nouter()\nprint('after')");
    assert_eq!(
        answer["logs"], "before\n[outer] one\n[outer] two\n[outer] [inner] deep\nafter\n",
        "{answer}"
    );
    let answer = client.run("from recipes.functions import broken\nbroken()");
    assert_eq!(answer["logs"], "[broken] last words\n", "{answer}");
}

#[test]
fn a_program_that_cannot_start_is_not_saved() {
    let project = Project::shop(&FakeApi::start());
    for (file, text, parts) in [
        ("late.py", "x = 1\nfrom __future__ import annotations\n", ["line 2", "__future__"]),
        ("outside.py", "x = 1\nreturn x\n", ["line 2", "return"]),
        (
            "unknown.py",
            "from shop.functions import get_itm\nget_itm(id='1')\n",
            ["line 1", "no function `get_itm`"],
        ),
        (
            "missing.ts",
            "await shop.getItem({});\nawait shop.getItm({});\n",
            ["line 1: `shop.get_item` needs", "line 2: "],
        ),
        ("module.ts", "import fs from 'fs';\n", ["line 1", "no module `fs`"]),
    ] {
        project.write(file, text);
        let ended = project.run(&["recipes", "save", "wrong", file, "--json"]);
        let message = ended.error()["message"].to_string();
        assert!(ended.code == 1 && parts.iter().all(|part| message.contains(part)), "{ended:?}");
    }
    assert_eq!(good(project.run(&["recipes", "list", "--json"])).json(), json!([]));
}

#[test]
fn the_start_of_an_id_is_enough_if_it_is_the_only_one() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, _) = Client::initialize(&project, VERSION);
    let id = client.run("number = 1\nresult = number")["cache_id"].as_str().unwrap().to_owned();
    let short = id.get(..6).unwrap();
    assert_eq!(good(project.run(&["recipes", "show", short, "--json"])).json()["id"], json!(id));
    let ran = good(project.run(&["recipes", "run", short, "--param", "number=3", "--json"])).json();
    assert_eq!((&ran["data"], &ran["cache_id"]), (&json!(3), &json!(id)));
    good(project.run(&["recipes", "save", "number", "--id", short]));
    // What is typed for a text is a text, whatever it looks like.
    save(&project, "text", ("py", "text: str\nresult = text\n"));
    let ran = good(project.run(&["recipes", "run", "text", "--param", "text=7", "--json"])).json();
    assert_eq!(ran["data"], json!("7"));
    let too_short = project.run(&["recipes", "show", id.get(..5).unwrap(), "--json"]).error();
    assert!(too_short["message"].as_str().unwrap().contains("too short"), "{too_short}");
    assert_eq!(good(project.run(&["recipes", "rm", short, "--json"])).json()["removed"], json!(id));
    assert!(
        project.run(&["recipes", "show", short, "--json"]).error()["message"]
            .as_str()
            .unwrap()
            .contains("no program is kept")
    );
    client.run("result = 1");
    let ended = project.run(&["clean"]);
    assert!(ended.err.contains("1 kept programs"), "{ended:?}");
}

#[test]
fn what_a_report_has_nothing_to_say_about_leaves_no_trace() {
    let project = Project::shop(&FakeApi::start());
    project.write("data/recipes/class.py", "result = 1\n");
    project.write("data/recipes/Upper.py", "result = 1\n");
    project.write("data/recipes/sums.py", "\"\"\"Sums things\nup. And more.\n\"\"\"\nresult = 1\n");
    let compiled = good(project.run(&["compile"])).out;
    assert!(
        compiled.contains("skipped class: its name is a word of Python or TypeScript\n"),
        "{compiled}"
    );
    assert!(compiled.contains("skipped `Upper` cannot be the name of a recipe\n"), "{compiled}");
    let shown = good(project.run(&["functions", "--show", "recipes.sums"])).out;
    assert_eq!(shown.matches("Sums things").count(), 1, "{shown}");
}
