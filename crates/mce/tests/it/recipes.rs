//! Recipes: programs that are run again, and those that a person saves, which become functions.

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Ended, Project, shop_document};

const VERSION: &str = "2025-11-25";

/// A price of an item, by a program in Python, and the same in TypeScript.
const PRICE: [(&str, &str); 2] = [
    (
        "price.py",
        "\"\"\"The price of an item, times a number.\"\"\"\nfrom shop.functions import get_item\nitem: str\ntimes = 2\nrows = []\n\
         result = get_item(id=item)[\"price\"] * times\n",
    ),
    (
        "price.ts",
        "// The price of an item, times a number.\nlet item: string;\nconst times = 2;\nconst rows = [];\n\
         export default (await shop.getItem({ id: item })).price! * times;\n",
    ),
];

fn good(ended: Ended) -> Ended {
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

/// An API whose items cost as much as their id says.
fn priced() -> FakeApi {
    let api = FakeApi::start();
    api.answer_with(|request| {
        let id = request.target.rsplit('/').next().unwrap_or_default().to_owned();
        FakeAnswer::json(
            200,
            format!(r#"{{"id":"{id}","name":"lamp","price":{}}}"#, id.parse::<f64>().unwrap_or(0.0)),
        )
    });
    api
}

/// The lines of the audit log about a function, as (event, id of the call).
fn on_record(project: &Project, function: &str) -> Vec<(String, Value)> {
    let lines = good(project.run(&["audit", "search", "--json"])).out;
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.filter(|line| line["function"] == function);
    lines
        .map(|line| (line["event"].as_str().unwrap().to_owned(), line["call"].clone()))
        .collect()
}

fn events(project: &Project, function: &str) -> Vec<String> {
    on_record(project, function).into_iter().map(|(event, _)| event).collect()
}

fn with_price(api: &FakeApi, (file, text): (&str, &str)) -> Project {
    let project = Project::shop(api);
    project.write(file, text);
    good(project.run(&["recipes", "save", "item_price", file]));
    project
}

#[test]
fn a_saved_recipe_is_a_function_of_commands_whatever_it_is_written_in() {
    for recipe in PRICE {
        let api = priced();
        let project = with_price(&api, recipe);
        let functions = good(project.run(&["functions", "recipes", "--json"])).json();
        assert_eq!(functions[0]["function"], "item_price", "{functions}");
        assert_eq!(
            (&functions[0]["typescript"], &functions[0]["effect"]),
            (&json!("itemPrice"), &json!("read"))
        );
        let found = good(project.run(&["search", "price of an item", "--json"])).json();
        let signatures: Vec<_> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["signature"].as_str().unwrap())
            .collect();
        assert!(
            signatures.iter().any(|text| text.starts_with("item_price(item: str, *, times: ")),
            "{signatures:?}"
        );
        assert_eq!(
            good(project.run(&["call", "recipes.item_price", "--item", "7"])).json().as_f64(),
            Some(14.0)
        );
        assert_eq!(
            good(project.run(&["call", "recipes:item_price", "--json", r#"{"item":"7","times":3}"#]))
                .json()
                .as_f64(),
            Some(21.0)
        );
        for (arguments, told) in [
            (r#"{"times":3}"#, "item"),
            (r#"{"item":"7","tims":3}"#, "tims"),
            (r#"{"item":7}"#, "item"),
        ] {
            let ended = project.run(&["call", "recipes.item_price", "--json", arguments]);
            assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("argument")), "{ended:?}");
            assert!(ended.error()["message"].as_str().unwrap().contains(told), "{ended:?}");
        }
        assert_eq!(api.requests().len(), 2);
    }
}

#[test]
fn programs_of_both_languages_call_recipes_of_both() {
    for recipe in PRICE {
        let api = priced();
        let project = with_price(&api, recipe);
        let (mut client, _) = Client::initialize(&project, VERSION);
        for (language, code) in [
            (
                "python",
                "from recipes.functions import item_price\nresult = item_price(item='7', times=3)",
            ),
            (
                "python",
                "from recipes.aio import item_price\nresult = await item_price('7', times=3)",
            ),
            (
                "python",
                "from mce import call_function\nresult = call_function('recipes:item_price', {'item': '7', 'times': 3})",
            ),
            (
                "typescript",
                "import { recipes } from 'mce:servers';\nexport default await recipes.itemPrice({ item: '7', times: 3 });",
            ),
            ("typescript", "await recipes.itemPrice({ item: '7', times: 3 })"),
        ] {
            let (answer, _) = client.call("execute_code", json!({"code": code, "language": language, "description": "x"}));
            assert_eq!(answer["data"], json!(21), "{code}: {answer}");
            let called: Vec<_> = answer["calls"].as_array().unwrap().iter().map(|group| &group["function"]).collect();
            assert_eq!(called, ["shop.get_item", "recipes.item_price"], "{answer}");
        }
        let before = api.requests().len();
        for (language, code) in [
            ("python", "from recipes.functions import item_price\nitem_price(itm='7')"),
            ("typescript", "recipes.itemPrice({ times: 3 })"),
        ] {
            let (answer, _) = client.call("execute_code", json!({"code": code, "language": language, "description": "x"}));
            assert_eq!(answer["error"]["type"], "argument", "{answer}");
            assert!(answer["error"]["line"].is_number() && answer.get("calls").is_none(), "{answer}");
        }
        assert_eq!(api.requests().len(), before, "nothing happens before the check");
    }
}

#[test]
fn models_find_recipes_beside_other_functions_and_running_servers_see_new_ones() {
    let api = priced();
    let project = Project::shop(&api);
    let (mut client, _) = Client::initialize(&project, VERSION);
    let servers = |client: &mut Client| {
        let (listed, _) = client.call("list_servers", json!({}));
        listed["servers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|server| server["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(servers(&mut client), ["shop"]);
    project.write(PRICE[0].0, PRICE[0].1);
    good(project.run(&["recipes", "save", "item_price", PRICE[0].0]));
    assert_eq!(servers(&mut client), ["shop", "recipes"]);
    let (found, _) = client.call("search_functions", json!({"query": "price times a number"}));
    assert_eq!(found["functions"][0]["server"], "recipes", "{found}");
    let wanted = json!({"functions": [{"server_name": "recipes", "function_name": "item_price"}]});
    let (cards, _) = client.call("get_functions", wanted);
    let card = cards["functions"][0].to_string();
    assert!(
        card.contains("The price of an item") && card.contains("from recipes.functions import item_price"),
        "{card}"
    );
    good(project.run(&["recipes", "rm", "item_price"]));
    assert_eq!(servers(&mut client), ["shop"]);
}

#[test]
fn what_a_client_ran_is_listed_saved_and_run_by_a_person() {
    let api = priced();
    let project = Project::shop(&api);
    let (mut client, _) = Client::initialize(&project, VERSION);
    let code = "from shop.functions import get_item\nitem = '5'\nresult = get_item(id=item)['price']\n";
    let (answer, _) = client.call("execute_code", json!({"code": code, "description": "what an item costs"}));
    let id = answer["cache_id"].as_str().unwrap();
    let listed = good(project.run(&["recipes", "list", "--json"])).json();
    let one = &listed[0];
    assert_eq!(
        (&one["id"], &one["language"], &one["uses"]),
        (&json!(id), &json!("python"), &json!(0)),
        "{listed}"
    );
    assert_eq!(one["description"], "what an item costs");
    assert_eq!(
        one["params"],
        json!([{"name": "item", "required": false, "schema": {"type": "string", "default": "5"}}])
    );
    assert!(one["age_seconds"].is_u64());
    let ran = good(project.run(&["recipes", "run", id, "--param", "item=\"6\"", "--json"])).json();
    assert_eq!(ran["data"], json!(6));
    let saved = good(project.run(&["recipes", "save", "cost", "--id", id, "--json"])).json();
    let file = std::path::PathBuf::from(saved["file"].as_str().unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.ends_with(code) && text.contains("what an item costs") && text.contains("get_item(id: str"),
        "{text}"
    );
    // The state can go; what was saved stays, and is a function again as soon as documents are compiled.
    good(project.run(&["clean"]));
    good(project.run(&["compile"]));
    assert_eq!(good(project.run(&["call", "recipes.cost", "--item", "8"])).json(), json!(8));
    assert_eq!(
        good(project.run(&["recipes", "run", "cost", "--json", r#"{"item":"9"}"#])).json()["data"],
        json!(9)
    );
    let shown = good(project.run(&["recipes", "show", "cost", "--json"])).json();
    assert_eq!(
        (&shown["name"], &shown["description"]),
        (&json!("cost"), &json!("what an item costs"))
    );
    assert!(shown["functions"]["shop.get_item"].is_string() && shown["source"].as_str().unwrap().contains("get_item(id=item)"));
    good(project.run(&["recipes", "rm", "cost", "--json"]));
    assert!(!file.exists());
    let ended = project.run(&["recipes", "show", "cost", "--json"]);
    assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("argument")));
}

#[test]
fn a_recipe_whose_functions_changed_is_refused_until_a_person_looks() {
    let api = priced();
    let project = with_price(&api, PRICE[0]);
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    let rules = "policies:\n- {function: recipes.item_price, decide: allow, budget: {per_day: 1}}\n";
    project.write("mce.yaml", &(config + rules));
    let mut document = shop_document();
    document["paths"]["/items/{id}"]["parameters"][0]["schema"] = json!({"type": "integer"});
    project.write("shop.json", &document.to_string());
    good(project.run(&["compile"]));
    let ended = project.run(&["call", "recipes.item_price", "--json", r#"{"item":"7"}"#]);
    let message = ended.error()["message"].to_string();
    assert!(message.contains("id: str") && message.contains("id: int"), "{message}");
    assert!(
        ended.error()["hint"].as_str().unwrap().contains("mce recipes save item_price"),
        "{ended:?}"
    );
    let listed = good(project.run(&["recipes", "list", "--json"])).json();
    assert!(listed[0]["problem"].as_str().unwrap().contains("id: int"), "{listed}");
    assert!(api.requests().is_empty() && on_record(&project, "recipes.item_price").is_empty());
    good(project.run(&["recipes", "save", "item_price"]));
    // What was refused has used up nothing.
    let explained = good(project.run(&["policy", "check", "recipes.item_price", "--json", r#"{"item":"7"}"#])).json();
    assert_eq!(explained["budgets"], json!([{"per": "day", "limit": 1, "used": 0}]), "{explained}");
    project.write("whole.py", &PRICE[0].1.replace("item: str", "item: int"));
    good(project.run(&["recipes", "save", "item_price", "whole.py", "--replace"]));
    good(project.run(&["recipes", "run", "item_price", "--param", "item=7"]));
}

#[test]
fn a_recipe_that_writes_is_hidden_and_not_told_as_changed_where_everything_is_read_only() {
    let api = priced();
    let write = "from shop.functions import delete_item\nid = '7'\nresult = delete_item(id=id)";
    let project = with_price(&api, ("gone.py", write)).with("MCE_READ_ONLY", "true");
    for ended in [
        project.run(&["recipes", "run", "item_price", "--json"]),
        project.run(&["call", "recipes.item_price", "--json", "{}"]),
    ] {
        let error = ended.error();
        let message = error["message"].as_str().unwrap();
        assert_eq!(error["type"], "policy", "{error}");
        assert!(message.contains("read-only") && !message.contains("changed"), "{error}");
    }
    let ended = project.run(&["recipes", "run", "item_price", "--json"]);
    let message = ended.error()["message"].to_string();
    assert!(
        message.contains("`shop.delete_item` is hidden: everything is read-only"),
        "{message}"
    );
    let listed = project.run(&["recipes", "list", "--json"]).json();
    assert!(
        listed[0]["problem"].as_str().unwrap().contains("everything is read-only"),
        "{listed}"
    );
    assert!(api.requests().is_empty());
}

#[test]
fn a_recipe_within_a_program_has_the_place_the_time_and_the_limits_of_the_program() {
    let api = priced();
    let project = with_price(&api, PRICE[0])
        .with("MCE_MAX_CONCURRENT_RUNS", "1")
        .with("MCE_MAX_HOST_CALLS", "9")
        .with("MCE_EXECUTION_TIMEOUT_SECONDS", "5");
    project.write("slow.py", "while True: pass\n");
    good(project.run(&["recipes", "save", "slow", "slow.py"]));
    let (mut client, _) = Client::initialize(&project, VERSION);
    let many = "from mce import parallel\nfrom recipes.functions import item_price\n\
                result = parallel([lambda n=n: item_price(item=str(n)) for n in range(3)])";
    let answer = client.run(many);
    assert_eq!(answer["data"], json!([0, 2, 4]), "{answer}");
    // One that waits for its turn has no intent.
    assert_eq!(events(&project, "recipes.item_price"), ["intent", "outcome"].repeat(3));
    let answer = client.run("from recipes.functions import item_price\nresult = [item_price(item=str(n)) for n in range(6)]");
    assert_eq!(
        (&answer["error"]["type"], &answer["success"]),
        (&json!("policy"), &json!(false)),
        "{answer}"
    );
    let answer = client.run("from recipes.functions import slow\nslow()");
    assert_eq!(answer["error"]["type"], "timeout", "{answer}");
    assert_eq!(client.run("result = 1")["data"], json!(1));
}

#[test]
fn recipes_may_call_others_but_not_themselves() {
    let project = Project::shop(&priced());
    let chain = |number: usize| {
        format!(
            "from recipes.functions import step_{}\nresult = step_{}() + 1\n",
            number + 1,
            number + 1
        )
    };
    for number in (0..6).rev() {
        let text = if number == 5 { "result = 0\n".to_owned() } else { chain(number) };
        project.write("step.py", &text);
        good(project.run(&["recipes", "save", &format!("step_{number}"), "step.py"]));
    }
    // That answers have been seen is no change of a signature.
    for _ in 0..2 {
        assert_eq!(good(project.run(&["call", "recipes.step_2"])).json(), json!(3));
    }
    let deep = project.run(&["call", "recipes.step_0", "--json", "{}"]);
    assert!(deep.error()["message"].as_str().unwrap().contains("step_0 -> step_1"), "{deep:?}");
    project.write("data/recipes/itself.ts", "await recipes.itself({})");
    good(project.run(&["compile"]));
    let ended = project.run(&["call", "recipes.itself", "--json", "{}"]);
    let error = ended.error();
    assert_eq!(error["type"], "policy", "{error}");
    assert!(error["message"].as_str().unwrap().contains("itself -> itself"), "{error}");
    // What did not start has no intent, and what did is not refused.
    let mut events = events(&project, "recipes.itself");
    events.sort();
    assert_eq!(events, ["intent", "outcome", "refused"]);
}

#[test]
fn a_recipe_that_fails_after_it_wrote_tells_so_and_promises_nothing() {
    let api = priced();
    let project = Project::shop(&api).with("MCE_TOP_LEVEL_RECIPES", "renew");
    project.write(
        "renew.py",
        "from shop.functions import create_item, delete_item\nfor name in ['a', 'b']:\n    create_item(body={'name': name})\n\
         delete_item(id='1')\n",
    );
    good(project.run(&["recipes", "save", "renew", "renew.py"]));
    let (mut client, _) = Client::initialize(&project, VERSION);
    let check = |error: &Value| {
        assert_eq!(error["type"], "tool", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("shop.delete_item") && message.contains("`shop.create_item` (2×)"),
            "{error}"
        );
        assert!(error["hint"].as_str().unwrap().contains("calling the recipe again"), "{error}");
    };
    let answer = client.run("from recipes.functions import renew\nrenew()");
    check(&answer["error"]);
    let calls = answer["calls"].as_array().unwrap();
    assert!(
        calls
            .iter()
            .any(|group| group["function"] == "recipes.renew" && group["failed"] == 1),
        "{answer}"
    );
    let (answer, is_error) = client.call("renew", json!({}));
    assert!(is_error, "{answer}");
    check(&answer["error"]);
    assert_eq!(api.requests().len(), 4);
    assert_eq!(events(&project, "recipes.renew"), ["intent", "outcome"].repeat(2));
}

#[test]
fn a_recipe_that_uses_what_is_not_known_is_taken_to_write() {
    let project = Project::shop(&priced());
    for (name, text) in [
        ("known", "from shop.functions import get_item\nresult = get_item(id='1')\n"),
        ("unknown", "from shop.functions import get_thing\nresult = get_thing()\n"),
        ("unsaved", "from recipes.functions import nothing\nresult = nothing()\n"),
    ] {
        project.write(&format!("data/recipes/{name}.py"), text);
    }
    good(project.run(&["compile"]));
    let functions = good(project.run(&["functions", "recipes", "--json"])).json();
    let effects: Vec<_> = functions
        .as_array()
        .unwrap()
        .iter()
        .map(|function| (function["function"].as_str().unwrap(), function["effect"].as_str().unwrap()))
        .collect();
    assert_eq!(effects, [("known", "read"), ("unknown", "write"), ("unsaved", "write")]);
}

#[test]
fn what_a_recipe_calls_is_decided_and_on_record_as_if_the_program_called_it() {
    let api = priced();
    let project = Project::shop(&api);
    project.write(
        "remove.py",
        "from shop.functions import delete_item\nitem = '1'\ndelete_item(id=item)\nresult = 'gone'\n",
    );
    good(project.run(&["recipes", "save", "remove", "remove.py"]));
    let functions = good(project.run(&["functions", "recipes", "--json"])).json();
    assert_eq!(functions[0]["effect"], "destructive");
    let (mut client, _) = Client::initialize(&project, VERSION);
    let answer = client.run("from recipes.functions import remove\nremove(item='7')");
    assert_eq!(answer["error"]["type"], "approval", "{answer}");
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("shop.delete_item"),
        "{answer}"
    );
    assert!(api.requests().is_empty());
    // A person who types it means it.
    assert_eq!(good(project.run(&["call", "recipes.remove", "--item", "7"])).json(), json!("gone"));
    let records = good(project.run(&["audit", "search", "--json"]));
    let lines: Vec<Value> = records.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |function: &str| {
        lines
            .iter()
            .find(|line| line["function"] == function && line["event"] == "intent" && line["asker"] == "person")
    };
    let (outer, inner) = (of("recipes.remove").unwrap(), of("shop.delete_item").unwrap());
    assert_eq!(outer["run"], inner["run"]);
    assert_eq!(good(project.run(&["audit", "verify"])).code, 0);
}

#[test]
fn only_names_that_are_functions_in_both_languages_are_saved() {
    let project = Project::shop(&priced());
    project.write("one.py", "result = 1\n");
    for name in ["Upper", "a-b", "../a", "1a"] {
        let ended = project.run(&["recipes", "save", name, "one.py", "--json"]);
        assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("argument")), "{name}");
    }
    for (name, why, free) in [
        ("class", "a word of Python", "class_recipe"),
        ("import", "a word of Python", "import_recipe"),
        ("delete", "a word of TypeScript", "delete_recipe"),
        ("Upper", "no plain name", "upper"),
    ] {
        let error = project.run(&["recipes", "save", name, "one.py", "--json"]).error();
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        assert_eq!(error["hint"], format!("`{free}` is free"), "{error}");
        assert!(!project.file(&format!("data/recipes/{name}.py")).exists());
    }
    good(project.run(&["recipes", "save", "one", "one.py"]));
    let again = project.run(&["recipes", "save", "one", "one.py", "--json"]);
    assert!(again.error()["hint"].as_str().unwrap().contains("--replace"), "{again:?}");
    good(project.run(&["recipes", "save", "one", "one.py", "--replace"]));
    project.write("bad.py", "result = (\n");
    assert_eq!(
        project.run(&["recipes", "save", "bad", "bad.py", "--json"]).error()["type"],
        "syntax"
    );
    // A server of this name comes first, and that is told.
    project.write(
        "mce.yaml",
        "servers:\n  recipes: {openapi: ./shop.json, base_url: http://127.0.0.1:9}\n",
    );
    let ended = project.run(&["recipes", "save", "two", "one.py"]);
    assert!(ended.err.contains("the name `recipes`") && ended.code == 1, "{ended:?}");
    assert!(project.run(&["compile"]).err.contains("saved recipes"));
}

#[test]
fn params_of_kept_programs_keep_all_their_digits_on_the_command_line() {
    let project = Project::shop(&priced());
    project.write("next.py", "number = 1\nresult = number + 1\n");
    good(project.run(&["recipes", "save", "next_number", "next.py"]));
    let ran = good(project.run(&[
        "recipes",
        "run",
        "next_number",
        "--param",
        "number=123456789012345678901234567890",
        "--json",
    ]));
    assert!(ran.out.contains("123456789012345678901234567891"), "{ran:?}");
}

#[test]
fn other_surfaces_have_recipes_too() {
    let api = priced();
    for surface in ["direct", "search", "code"] {
        let project = with_price(&api, PRICE[1])
            .with("MCE_SURFACE", surface)
            .with("MCE_TOP_LEVEL_RECIPES", "item_price");
        let (mut client, _) = Client::initialize(&project, VERSION);
        let (tool, arguments) = match surface {
            "search" => (
                "call_function",
                json!({"function": "recipes.item_price", "arguments": {"item": "4"}}),
            ),
            "direct" => ("recipes__item_price", json!({"item": "4"})),
            _ => ("item_price", json!({"item": "4"})),
        };
        assert_eq!(client.call(tool, arguments), (json!(8), false), "{surface}");
        assert_eq!(api.take_requests().len(), 1);
    }
}

#[test]
fn numbers_of_a_client_keep_all_their_digits() {
    let project = Project::shop(&priced());
    let (mut client, _) = Client::initialize(&project, VERSION);
    for (id, language, code) in [
        (9001, "python", "number = 1\nresult = number + 1"),
        (9002, "typescript", "const number: any = 1n;\nnumber + 1n"),
    ] {
        let (answer, _) = client.call("execute_code", json!({"code": code, "language": language, "description": "x"}));
        let recipe = answer["cache_id"].as_str().unwrap();
        client.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"run_cached_code","arguments":{{"cache_id":"{recipe}","params":{{"number":-123456789012345678901234567890}}}}}}}}"#
        ));
        let text = client.wait(id)["content"][0]["text"].to_string();
        assert!(text.contains("-123456789012345678901234567889"), "{text}");
    }
}
