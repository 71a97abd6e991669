//! Requests of programs' own, through the whole program.

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::project::Project;

fn without_times(mut answer: Value) -> Value {
    answer.as_object_mut().unwrap().remove("execution_time_ms");
    for group in answer["calls"].as_array_mut().into_iter().flatten() {
        group.as_object_mut().unwrap().remove("ms");
    }
    answer
}

#[test]
fn programs_fetch_from_listed_hosts_and_the_answer_tells_what_was_read_and_written() {
    let api = FakeApi::start();
    api.answer_with(|request| FakeAnswer::json(200, format!(r#""{}""#, request.method)));
    let source = format!(
        "from mce import fetch\nurl = '{}/x'\nresult = [fetch(url, method).json() for method in ('GET', 'POST', 'GET')]",
        api.origin()
    );
    let project = Project::empty().with("MCE_ALLOWED_DOMAINS", "127.0.0.1");
    project.write("p.py", &source);
    assert_eq!(
        without_times(project.run(&["exec", "p.py", "--json"]).json()),
        json!({
            "success": true,
            "data": ["GET", "POST", "GET"],
            "calls": [
                {"function": "fetch:127.0.0.1", "count": 2},
                {"function": "fetch:127.0.0.1", "count": 1, "effect": "write"},
            ],
        })
    );
    assert_eq!(api.take_requests().len(), 3);

    let project = Project::empty();
    project.write("p.py", &source);
    let answer = project.run(&["exec", "p.py", "--json"]).json();
    assert_eq!((&answer["error"]["type"], &answer["calls"]), (&json!("policy"), &Value::Null));
    assert!(
        answer["error"]["hint"].as_str().unwrap().contains("`MCE_ALLOWED_DOMAINS`"),
        "{answer:#}"
    );
    assert!(api.requests().is_empty());
}

#[test]
fn configured_servers_need_no_place_in_the_list_and_programs_see_status_and_headers() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_ALLOWED_DOMAINS", "allowed.example");
    let link = "<https://elsewhere.example/items?page=2>; rel=\"next\"";
    api.answer_with(move |_| {
        FakeAnswer::json(200, r#"{"id": 9007199254740993}"#)
            .with_header("link", link)
            .with_header("x-other", "1")
    });
    project.write(
        "p.py",
        "from shop.functions import get_item\na = get_item.with_headers(id='1')\nresult = [a.value, a.status, a.headers['Link'], 'x-other' in a.headers]",
    );
    let answer = project.run(&["exec", "p.py", "--json"]);
    assert_eq!(
        answer.json()["data"],
        json!([{"id": 9_007_199_254_740_993_u64}, 200, link, false]),
        "{answer:?}"
    );
    // Its own host is no place for programs.
    project.write("q.py", &format!("from mce import fetch\nfetch('{}')", api.origin()));
    assert_eq!(project.run(&["exec", "q.py", "--json"]).json()["error"]["type"], "policy");
}
