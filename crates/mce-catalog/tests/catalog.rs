//! The catalog from outside: documents in, functions out, under the names and rules of a configuration.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files as another program would leave them")]

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use mce_catalog::{
    catalog::{Catalog, SearchQuery, ServerView},
    function::{Effect, SecurityScheme},
    lookup::LookupError,
    openapi::{self, Document, NoFurtherFiles, Origin},
    store::{CompiledDocument, DocumentRecord, Store, StoreError},
};
use serde_json::{Value, json};

fn document(title: &str) -> Document {
    let named = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let answer = |schema: Value| json!({"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}});
    let text = json!({
        "openapi": "3.1.0", "info": {"title": title, "version": "1", "description": "Sells things.\n\nAll of them."},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            "schemas": {
                "Item": {"type": "object", "properties": {"name": {"type": "string"}, "owner": named("Person")}},
                "Person": {"type": "object", "properties": {"email": {"type": "string"}, "items": {"type": "array", "items": named("Item")}}},
                "Other": {"type": "object", "properties": {"x": {"type": "string"}}}
            }
        },
        "paths": {
            "/items": {
                "get": {"operationId": "listItems", "summary": "Lists all items", "responses": answer(json!({"type": "array", "items": named("Item")}))},
                "post": {"operationId": "createItem", "summary": "Creates an item", "responses": answer(named("Item")),
                    "requestBody": {"required": true, "content": {"application/json": {"schema": named("Item")}}}}
            },
            "/items/{id}": {
                "delete": {"operationId": "deleteItem", "summary": "Removes an item", "responses": {"204": {"description": "gone"}},
                    "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]},
                "get": {"operationId": "getItem", "summary": "Gets one item", "responses": answer(named("Item")),
                    "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]}
            },
            "/others": {"get": {"operationId": "listOthers", "summary": "Lists quite other things", "responses": answer(named("Other"))}}
        }
    });
    openapi::read(text.to_string().as_bytes(), &Origin::File("/x/shop.json".into()), &NoFurtherFiles).unwrap()
}

fn keep(store: &Store, location: &str, document: &Document) -> Result<(), StoreError> {
    let record = DocumentRecord::new(location, "test", document);
    let Document {
        functions,
        types,
        security_schemes,
        ..
    } = document;
    store.replace_document(CompiledDocument {
        record: &record,
        functions,
        types,
        security_schemes,
    })
}

fn view(name: &str, location: &str, is_read_only: bool) -> ServerView {
    ServerView {
        name: name.to_owned(),
        location: location.to_owned(),
        is_read_only,
        ..ServerView::default()
    }
}

fn catalog(views: Vec<ServerView>) -> Catalog {
    let store = Store::in_memory().unwrap();
    keep(&store, "shop.json", &document("Shop")).unwrap();
    Catalog::new(Arc::new(store), views)
}

fn names(catalog: &Catalog, server: &str) -> Vec<String> {
    catalog
        .functions(server)
        .unwrap()
        .into_iter()
        .map(|summary| summary.function.python)
        .collect()
}

fn search(catalog: &Catalog, text: &str, server: Option<&str>) -> Vec<String> {
    let found = catalog.search(SearchQuery { text, server, limit: 20 }).unwrap();
    found.hits.into_iter().map(|hit| format!("{}.{}", hit.server, hit.python)).collect()
}

#[test]
fn a_function_is_found_by_each_of_its_names() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    for name in ["shop.create_item", "shop.createItem", "shop:POST /items", "mcp__shop__create_item"] {
        let function = catalog.resolve(name).unwrap();
        assert_eq!(
            (function.server.as_str(), function.python.as_str()),
            ("shop", "create_item"),
            "{name}"
        );
    }
    // Names are taken as they are: a forged one must not become a real one.
    for name in [
        " shop.create_item",
        "shop.create_item ",
        "mcp__shop__create_item ",
        "shop.create_item\0",
    ] {
        assert!(catalog.resolve(name).is_err(), "{name:?}");
    }
}

#[test]
fn python_names_are_compared_as_python_compares_them() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    assert_eq!(catalog.function("shop", "ｌist_items").unwrap().python, "list_items");
}

#[test]
fn an_unknown_name_suggests_near_ones_and_lists_no_others() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    let error = catalog.resolve("shop.creat_item").unwrap_err();
    assert_eq!(error.to_string(), "server `shop` has no function `creat_item`");
    assert_eq!(error.hint().as_deref(), Some("did you mean `create_item`?"));
    let error = catalog.resolve("shpo.create_item").unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("did you mean `shop`?"));
    let error = catalog.resolve("shop.zzzzzz").unwrap_err();
    assert!(matches!(error, LookupError::UnknownFunction { closest, .. } if closest.is_empty()));
}

#[test]
fn a_read_only_server_shows_only_what_reads_and_says_why_it_refuses_the_rest() {
    let catalog = catalog(vec![view("shop", "shop.json", true)]);
    assert_eq!(names(&catalog, "shop"), ["list_items", "get_item", "list_others"]);
    assert_eq!(catalog.servers().unwrap()[0].functions, 3);
    assert_eq!(
        search(&catalog, "create an item", None)
            .iter()
            .filter(|name| name.contains("create"))
            .count(),
        0
    );
    let error = catalog.resolve("shop.delete_item").unwrap_err();
    assert!(
        matches!(
            error,
            LookupError::Hidden {
                effect: Effect::Destructive,
                ..
            }
        ),
        "{error}"
    );
    let error = catalog.resolve("shop.delete_itm").unwrap_err();
    assert!(
        !error.hint().unwrap_or_default().contains("delete"),
        "a hidden function is not suggested"
    );
}

#[test]
fn one_document_may_be_several_servers_and_renaming_needs_no_compile() {
    let catalog = catalog(vec![
        view("live", "shop.json", true),
        view("test", "shop.json", false),
        view("gone", "no.json", false),
    ]);
    assert_eq!(
        (
            names(&catalog, "live").len(),
            names(&catalog, "test").len(),
            names(&catalog, "gone").len()
        ),
        (3, 5, 0)
    );
    assert_eq!(search(&catalog, "create item", None)[0], "test.create_item");
    assert_eq!(catalog.function("live", "get_item").unwrap().server, "live");
    let servers = catalog.servers().unwrap();
    assert_eq!(
        (servers[0].title.as_str(), servers[0].description.as_str()),
        ("Shop", "Sells things. All of them.")
    );
    assert!(servers[0].is_compiled && !servers[2].is_compiled);
}

#[test]
fn only_the_types_that_a_function_needs_are_read_and_cycles_end() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    let types = catalog.types_for(&catalog.resolve("shop.create_item").unwrap()).unwrap();
    assert_eq!(types.keys().collect::<Vec<_>>(), ["Item", "Person"]);
}

#[test]
fn security_schemes_are_kept_by_name() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    assert!(matches!(catalog.security_scheme("shop", "key").unwrap(), Some(SecurityScheme::ApiKey { name, .. }) if name == "X-Key"));
    assert_eq!(catalog.security_scheme("shop", "other").unwrap(), None);
}

#[test]
fn search_reads_words_endings_synonyms_and_typing_errors() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    let check = |query: &str, first: &str| assert_eq!(search(&catalog, query, None).first().map(String::as_str), Some(first), "{query}");
    check("creating items", "shop.create_item");
    check("erase item", "shop.delete_item");
    check("listItems", "shop.list_items");
    check("lst othres", "shop.list_others");
    check("OTHER*", "shop.list_others");
}

#[test]
fn search_is_the_same_each_time_and_survives_any_text() {
    let catalog = catalog(vec![view("shop", "shop.json", false)]);
    for query in [
        "",
        "\"",
        "a\" OR *",
        "NEAR(item, 2)",
        "{name} : item",
        "item\0",
        "-- ; DROP TABLE catalog_function",
        "ﬁ😀\u{202e}",
        &"item ".repeat(50_000),
    ] {
        assert_eq!(search(&catalog, query, None), search(&catalog, query, None), "{query}");
    }
    let found = catalog
        .search(SearchQuery {
            text: "item",
            server: None,
            limit: 1,
        })
        .unwrap();
    assert!(found.hits.len() == 1 && found.total >= 4, "{found:?}");
    assert!(matches!(
        catalog.search(SearchQuery {
            text: "item",
            server: Some("no"),
            limit: 1
        }),
        Err(LookupError::UnknownServer { .. })
    ));
}

#[test]
fn a_replaced_document_leaves_nothing_of_the_old_one() {
    let store = Arc::new(Store::in_memory().unwrap());
    let mut old = document("Old");
    keep(&store, "shop.json", &old).unwrap();
    let catalog = Catalog::new(Arc::clone(&store), vec![view("shop", "shop.json", false)]);
    assert_eq!(search(&catalog, "others", None), ["shop.list_others"]);
    old.functions.retain(|function| function.python != "list_others");
    keep(&store, "shop.json", &old).unwrap();
    assert_eq!(search(&catalog, "others", None), Vec::<String>::new());
    assert_eq!(store.documents().unwrap().len(), 1);
    store.clear().unwrap();
    assert_eq!(names(&catalog, "shop"), Vec::<String>::new());
    assert_eq!(store.types("shop.json", &BTreeSet::from(["Item".to_owned()])).unwrap().len(), 0);
}

#[test]
fn a_document_that_cannot_be_kept_changes_nothing() {
    let store = Store::in_memory().unwrap();
    let good = document("Good");
    keep(&store, "shop.json", &good).unwrap();
    let mut twins = document("Twins");
    let name = twins.functions[0].python.clone();
    twins.functions[1].python = name;
    assert!(matches!(keep(&store, "shop.json", &twins), Err(StoreError::Write { .. })));
    assert_eq!(store.document("shop.json").unwrap().unwrap().title, "Good");
    assert_eq!(store.functions("shop.json").unwrap().len(), good.functions.len());
}

#[test]
fn documents_that_are_no_longer_configured_can_be_removed() {
    let store = Store::in_memory().unwrap();
    for location in ["a", "b", "c"] {
        keep(&store, location, &document(location)).unwrap();
    }
    assert_eq!(store.remove_documents_except(&["b"]).unwrap(), ["a", "c"]);
    assert!(store.remove_document("b").unwrap() && !store.remove_document("b").unwrap());
}

#[test]
fn what_is_kept_is_there_after_the_file_is_opened_again_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.sqlite");
    let first = Store::open(&path).unwrap();
    let second = Store::open(&path).unwrap();
    let catalog = Catalog::new(Arc::new(second), vec![view("shop", "shop.json", false)]);
    assert_eq!(search(&catalog, "item", None).len(), 0);
    keep(&first, "shop.json", &document("Shop")).unwrap();
    assert_eq!(search(&catalog, "create item", None)[0], "shop.create_item");
    let record = first.document("shop.json").unwrap().unwrap();
    assert_eq!(record, Store::open(&path).unwrap().document("shop.json").unwrap().unwrap());
}

#[test]
fn a_file_of_another_layout_is_emptied_and_other_tables_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.sqlite");
    keep(&Store::open(&path).unwrap(), "shop.json", &document("Shop")).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("UPDATE catalog_layout SET version = 999; CREATE TABLE recipe (id TEXT); INSERT INTO recipe VALUES ('x')")
        .unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.documents().unwrap(), []);
    keep(&store, "shop.json", &document("Shop")).unwrap();
    assert_eq!(
        connection
            .query_row("SELECT count(*) FROM recipe", [], |row| row.get::<_, i64>(0))
            .unwrap(),
        1
    );
}

#[test]
fn a_file_that_is_no_database_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.sqlite");
    fs::write(&path, "no database at all, ".repeat(500)).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }) && error.hint().is_some(), "{error}");
    assert!(matches!(
        Store::open(Path::new("/proc/no/such/folder/x")),
        Err(StoreError::Open { .. })
    ));
}
