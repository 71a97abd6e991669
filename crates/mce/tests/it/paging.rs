//! `mce.paginate`: an API with each way to ask for further pages, walked by programs.

use mce_test::{FakeAnswer, FakeApi, ReceivedRequest};
use serde_json::{Value, json};

use crate::project::Project;

/// Seven items, three a page.
const ITEMS: usize = 7;
const PAGE: usize = 3;

#[expect(clippy::needless_pass_by_value, reason = "so that tests can write `json!` in place")]
fn operation(id: &str, parameters: &[(&str, &str)], answer: Value) -> Value {
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|(name, kind)| json!({"name": name, "in": "query", "schema": {"type": kind}}))
        .collect();
    let headers = if id == "linked" {
        json!({"Link": {"schema": {"type": "string"}}})
    } else {
        json!({})
    };
    let answer = json!({"description": "a page", "headers": headers, "content": {"application/json": {"schema": answer}}});
    json!({"get": {"operationId": id, "parameters": parameters, "responses": {"200": answer}}})
}

fn document() -> Value {
    let list = || json!({"type": "array", "items": {}});
    let text = || json!({"type": "string"});
    json!({"openapi": "3.0.3", "info": {"title": "Pages", "version": "1"}, "paths": {
        "/linked": operation("linked", &[("page", "integer"), ("q", "string")], list()),
        "/cursor": operation("cursor", &[("cursor", "string")], json!({"properties": {
            "channels": list(), "meta": {"properties": {"next_cursor": text()}}}})),
        "/after": operation("after", &[("starting_after", "string")], json!({"properties": {
            "data": list(), "has_more": {"type": "boolean"}}})),
        "/address": operation("address", &[("from", "integer")], json!({"properties": {"results": list(), "next": text()}})),
        "/page": operation("page_of", &[("page", "integer")], json!({"properties": {"items": list()}})),
        "/offset": operation("offset", &[("offset", "integer")], json!({"properties": {"items": list(), "total": {"type": "integer"}}})),
        "/untold": operation("untold", &[("at", "integer")], json!({})),
        "/endless": operation("endless", &[("cursor", "string")], json!({"properties": {"items": list(), "next_cursor": text()}})),
        "/tokens": operation("tokens", &[("top", "integer")], json!({"properties": {"value": list(), "@odata.nextLink": text()}})),
        "/elsewhere": operation("elsewhere", &[], json!({"properties": {"records": list(), "nextRecordsUrl": text()}})),
        "/foreign": operation("foreign", &[], json!({"properties": {"items": list(), "next": text()}})),
        "/stuck": operation("stuck", &[("cursor", "string")], json!({"properties": {"items": list(), "next_cursor": text()}}))}})
}

/// The value of a pair of the query as a number.
fn number(request: &ReceivedRequest, name: &str, default: usize) -> usize {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    value.map_or(default, |text| text.parse().unwrap())
}

fn items(from: usize) -> Vec<usize> {
    (from..ITEMS.min(from + PAGE)).collect()
}

fn answer(request: &ReceivedRequest) -> FakeAnswer {
    let path = request.target.split('?').next().unwrap_or_default();
    let json = |value: Value| FakeAnswer::json(200, value.to_string());
    let next = |from: usize| (from + PAGE < ITEMS).then_some(from + PAGE);
    match path {
        "/linked" => {
            let page = number(request, "page", 1);
            let from = (page - 1) * PAGE;
            // Another host, to show that nothing goes there.
            let link = format!(
                "<http://192.0.2.1/x>; rel=prev, <http://192.0.2.1/y?page={}&q=a>; rel=\"next\"",
                page + 1
            );
            let answer = json(json!(items(from)));
            if next(from).is_some() {
                answer.with_header("link", &link)
            } else {
                answer
            }
        }
        "/cursor" => {
            let from = number(request, "cursor", 0);
            let next = next(from).map(|next| next.to_string()).unwrap_or_default();
            json(json!({"channels": items(from), "meta": {"next_cursor": next}}))
        }
        "/after" => {
            let from = number(request, "starting_after", usize::MAX).wrapping_add(1);
            let data: Vec<Value> = items(from).iter().map(|id| json!({"id": id.to_string()})).collect();
            json(json!({"data": data, "has_more": next(from).is_some()}))
        }
        "/address" => {
            let from = number(request, "from", 0);
            let next = next(from).map(|next| format!("http://192.0.2.1/address?from={next}"));
            json(json!({"results": items(from), "next": next}))
        }
        "/page" => json(json!({"items": items((number(request, "page", 1) - 1) * PAGE)})),
        "/offset" => json(json!({"items": items(number(request, "offset", 0)), "total": ITEMS})),
        "/untold" => {
            let from = number(request, "at", 0);
            json(json!({"things": items(from), "more": next(from).is_some(), "then": next(from)}))
        }
        "/tokens" => {
            let from = number(request, "$skiptoken", 0);
            let host = request.header("host").unwrap_or_default();
            let next = next(from).map(|next| format!("http://{host}/tokens?top=3&$skiptoken={next}"));
            json(json!({"value": items(from), "@odata.nextLink": next}))
        }
        "/elsewhere" => json(json!({"records": items(0), "nextRecordsUrl": "/rest/3"})),
        "/rest/3" => json(json!({"records": items(3), "nextRecordsUrl": "/rest/6"})),
        "/rest/6" => json(json!({"records": items(6)})),
        "/foreign" => json(json!({"items": [{"next": "/planted"}], "next": "http://192.0.2.1/foreign?token=x"})),
        "/endless" => json(json!({"items": [1], "next_cursor": (number(request, "cursor", 0) + 1).to_string()})),
        _ => json(json!({"items": [1], "next_cursor": "9"})),
    }
}

fn project(api: &FakeApi) -> Project {
    api.answer_with(answer);
    let project = Project::empty();
    project.write("pages.json", &document().to_string());
    project.write(
        "mce.yaml",
        &format!("servers:\n  pages:\n    openapi: ./pages.json\n    base_url: {}\n", api.origin()),
    );
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

/// Runs a program that imports all functions, and gives its answer.
fn run(project: &Project, program: &str) -> Value {
    let head = "import mce\nfrom mce import paginate, apaginate\n\
                from pages.functions import linked, cursor, after, address, page_of, offset, untold, endless, stuck, tokens, elsewhere, foreign\n";
    project.write("program.py", &format!("{head}{program}"));
    project.run(&["exec", "program.py", "--json"]).json()
}

#[test]
fn all_items_come_in_each_way() {
    let api = FakeApi::start();
    let project = project(&api);
    let all: Vec<usize> = (0..ITEMS).collect();
    let check = |program: &str, calls: usize| {
        api.take_requests();
        let answer = run(&project, program);
        assert_eq!(answer["data"], json!(all), "{program}: {answer}");
        assert_eq!(api.take_requests().len(), calls, "{program}");
    };
    check("result = list(paginate(linked, {'q': 'a'}))", 3);
    check("result = list(paginate(cursor))", 3);
    check("result = [int(item['id']) for item in paginate(after)]", 3);
    check("result = list(paginate(address))", 3);
    check("result = list(paginate(page_of))", 4);
    check("result = list(paginate(offset))", 3);
    check("result = list(paginate(tokens, {'top': 3}))", 3);
    check(
        "result = list(paginate(elsewhere, how={'by': 'cursor', 'next': 'nextRecordsUrl'}))",
        3,
    );
    check("result = sum((page['channels'] for page in paginate(cursor, pages=True)), [])", 3);
    check(
        "result = list(paginate(untold, how={'by': 'cursor', 'parameter': 'at', 'next': 'then', 'items': 'things'}))",
        3,
    );
    check(
        "import pages.aio\nasync def main():\n    return [item async for item in apaginate(pages.aio.cursor)]",
        3,
    );
}

#[test]
fn all_items_come_in_each_way_in_typescript() {
    let api = FakeApi::start();
    let project = project(&api);
    let all: Vec<usize> = (0..ITEMS).collect();
    let check = |walk: &str, each: &str, calls: usize| {
        api.take_requests();
        let program = format!(
            "import {{ paginate }} from 'mce';\nconst all: any[] = [];\nfor await (const it of {walk}) all.push({each});\nresult = all.flat();"
        );
        project.write("program.ts", &program);
        let answer = project.run(&["exec", "program.ts", "--json"]).json();
        assert_eq!(answer["data"], json!(all), "{program}: {answer}");
        assert_eq!(api.take_requests().len(), calls, "{program}");
    };
    check("paginate(pages.linked, { q: 'a' })", "it", 3);
    check("paginate(pages.cursor)", "it", 3);
    check("paginate(pages.after)", "Number(it.id)", 3);
    check("paginate(pages.address)", "it", 3);
    check("paginate(pages.pageOf)", "it", 4);
    check("paginate(pages.offset)", "it", 3);
    check("paginate(pages.tokens, { top: 3 })", "it", 3);
    check(
        "paginate(pages.elsewhere, {}, { how: { by: 'cursor', next: 'nextRecordsUrl' } })",
        "it",
        3,
    );
    check("paginate(pages.cursor, {}, { pages: true })", "it.channels", 3);
    check(
        "paginate(pages.untold, {}, { how: { by: 'cursor', parameter: 'at', next: 'then', items: 'things' } })",
        "it",
        3,
    );
}

#[test]
fn pages_are_asked_for_when_they_are_needed_and_end() {
    let api = FakeApi::start();
    let project = project(&api);
    assert_eq!(run(&project, "result = next(paginate(endless))")["data"], json!(1));
    assert_eq!(api.take_requests().len(), 1);
    assert_eq!(
        run(&project, "result = len(list(paginate(endless, max_pages=4)))")["data"],
        json!(4)
    );
    assert_eq!(api.take_requests().len(), 4);
    let check = |program: &str, kind: &str, message: &str| {
        let answer = run(&project, program);
        assert_eq!(answer["error"]["type"], json!(kind), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(message), "{answer}");
    };
    check("list(paginate(endless))", "output", "more than 100 pages");
    assert_eq!(api.take_requests().len(), 100);
    check("list(paginate(stuck))", "output", "the same page twice");
    check("list(paginate(untold))", "argument", "does not say how");
    check("paginate(cursor, how={'by': 'magic'})", "argument", "by 'magic'");
    check("paginate(len)", "argument", "takes a function of a server");
}

#[test]
fn addresses_are_followed_only_where_an_answer_gave_them_and_to_the_server() {
    let api = FakeApi::start();
    let project = project(&api);
    let check = |program: &str, message: &str, calls: usize| {
        api.take_requests();
        let answer = run(&project, program);
        assert_eq!(answer["error"]["type"], json!("policy"), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(message), "{answer}");
        assert_eq!(api.take_requests().len(), calls, "{program}");
    };
    check("list(paginate(foreign))", "at another host", 1);
    check("tokens.page({}, '/admin')", "no answer of `pages.tokens` gave this address", 0);
    check(
        "list(paginate(elsewhere, how={'by': 'cursor', 'next': 'nextRecordsUrl'}, max_pages=1))\ntokens.page({}, '/rest/3')",
        "no answer",
        1,
    );
    // What stands among items may be anybody's text.
    check("next(paginate(foreign))\nforeign.page({}, '/planted')", "no answer", 1);
}

#[test]
fn settings_say_what_the_document_does_not() {
    let api = FakeApi::start();
    let project = project(&api);
    let settings = |more: &str| {
        let text = format!(
            "servers:\n  pages:\n    openapi: ./pages.json\n    base_url: {}\n{more}",
            api.origin()
        );
        project.write("mce.yaml", &text);
    };
    let way = "{by: cursor, parameter: at, next: then, items: things}";
    for more in [
        format!("    pagination: {way}\n"),
        format!("    functions: {{untold: {{pagination: {way}}}}}\n"),
    ] {
        settings(&more);
        let shown = project.run(&["functions", "--show", "pages.untold"]);
        assert!(shown.out.contains("by cursor; `mce.paginate(untold, {…})`"), "{shown:?}");
        let all: Vec<usize> = (0..ITEMS).collect();
        assert_eq!(run(&project, "result = list(paginate(untold))")["data"], json!(all));
        // What the document says is not touched by what is said of all.
        assert_eq!(run(&project, "result = list(paginate(page_of))")["data"], json!(all));
    }
}

#[test]
fn the_model_is_told_of_pages() {
    let api = FakeApi::start();
    let project = project(&api);
    let shown = project.run(&["functions", "--show", "pages.cursor"]);
    assert!(shown.out.contains("mce.paginate(cursor, {…})"), "{shown:?}");
    let shown = project.run(&["functions", "--show", "pages.cursor", "--language", "typescript"]);
    assert!(shown.out.contains("paginate(pages.cursor, {…})"), "{shown:?}");
    let shown = project.run(&["functions", "--show", "pages.untold"]);
    assert!(!shown.out.contains("paginate"), "{shown:?}");
}
