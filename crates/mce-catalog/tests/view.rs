//! What the rules of a server make of its functions.

#![cfg(test)]

use std::collections::BTreeMap;
use std::sync::Arc;

use mce_catalog::catalog::{Catalog, SearchQuery, ServerView};
use mce_catalog::function::{Advance, Effect, Pagination};
use mce_catalog::lookup::LookupError;
use mce_catalog::openapi::{NoFurtherFiles, Origin, read};
use mce_catalog::store::{CompiledDocument, DocumentRecord, Store};
use mce_catalog::text::{Language, card, signature};
use mce_catalog::view::{ArgumentDefault, FunctionRule, Selector, ViewRules};
use mce_catalog::visibility::Hiding;
use serde_json::{Value, json};

fn document() -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    let tenant = json!({"name": "tenant", "in": "query", "required": true, "schema": {"type": "string"}});
    let size = json!({"name": "size", "in": "query", "required": true, "schema": {"$ref": "#/components/schemas/Size"}});
    let body = json!({"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["q"],
        "properties": {"q": {"type": "string"}}}}}});
    let ok = json!({"200": {"description": "ok"}});
    json!({
        "openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "https://shop.test"}],
        "paths": {
            "/items": {
                "get": {"operationId": "listItems", "summary": "List items.", "tags": ["items"], "parameters": [tenant, size], "responses": ok},
                "post": {"operationId": "createItem", "tags": ["items"], "requestBody": body, "responses": ok},
            },
            "/items/search": {"post": {"operationId": "searchItems", "tags": ["items"], "requestBody": body, "responses": ok}},
            "/items/{id}": {
                "get": {"operationId": "getItem", "tags": ["items"], "parameters": [id], "responses": ok},
                "delete": {"operationId": "deleteItem", "tags": ["admin"], "parameters": [id], "responses": ok},
            },
            "/admin/users/{id}": {"get": {"operationId": "getUser", "tags": ["admin"], "parameters": [id], "responses": ok}},
        },
        "components": {"schemas": {"Size": {"type": "integer", "description": "How many at once."}}},
    })
}

fn catalog(rules: ViewRules, is_read_only: bool) -> Catalog {
    let store = Store::in_memory().unwrap();
    let document = read(
        document().to_string().as_bytes(),
        &Origin::File("/shop.json".into()),
        &NoFurtherFiles,
    )
    .unwrap();
    let record = DocumentRecord::new("/shop.json", "test", &document);
    let compiled = CompiledDocument {
        record: &record,
        functions: &document.functions,
        types: &document.types,
        security_schemes: &document.security_schemes,
    };
    store.replace_document(compiled).unwrap();
    let view = ServerView {
        title: String::new(),
        name: "shop".to_owned(),
        location: "/shop.json".to_owned(),
        description: None,
        is_read_only,
        is_optional: false,
        rules,
    };
    Catalog::new(Arc::new(store), vec![view])
}

fn names(catalog: &Catalog) -> Vec<String> {
    let names: Vec<String> = catalog
        .functions("shop")
        .unwrap()
        .into_iter()
        .map(|one| one.function.python)
        .collect();
    let counted = catalog.servers().unwrap()[0].functions;
    assert_eq!(usize::try_from(counted).unwrap(), names.len(), "the summary counts what is visible");
    names
}

fn found(catalog: &Catalog, text: &str) -> Vec<String> {
    let query = SearchQuery {
        text,
        server: None,
        limit: 10,
    };
    catalog.search(query).unwrap().hits.into_iter().map(|hit| hit.python).collect()
}

fn by(part: &str, value: &str) -> Selector {
    let mut selector = Selector::default();
    let slot = match part {
        "tag" => &mut selector.tag,
        "path" => &mut selector.path,
        "method" => &mut selector.method,
        _ => &mut selector.operation,
    };
    *slot = Some(value.to_owned());
    selector
}

fn rule(operation: &str, rule: FunctionRule) -> ViewRules {
    ViewRules {
        functions: BTreeMap::from([(operation.to_owned(), rule)]),
        ..ViewRules::default()
    }
}

fn renamed(names: &[(&str, &str)]) -> ViewRules {
    ViewRules {
        rename: names.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect(),
        ..ViewRules::default()
    }
}

fn default(argument: &str, value: Value, is_hidden: bool) -> FunctionRule {
    FunctionRule {
        defaults: BTreeMap::from([(argument.to_owned(), ArgumentDefault { value, is_hidden })]),
        ..FunctionRule::default()
    }
}

#[test]
fn functions_are_included_and_excluded_and_exclusion_wins() {
    let check = |include: &[Selector], exclude: &[Selector], expected: &[&str]| {
        let rules = ViewRules {
            include: include.to_vec(),
            exclude: exclude.to_vec(),
            ..ViewRules::default()
        };
        let catalog = catalog(rules, false);
        assert_eq!(names(&catalog), expected);
        for name in ["list_items", "create_item", "search_items", "get_item", "delete_item", "get_user"] {
            let is_found = catalog.function("shop", name);
            if expected.contains(&name) {
                assert_eq!(is_found.unwrap().python, name);
            } else {
                assert!(
                    matches!(
                        is_found,
                        Err(LookupError::Hidden {
                            hiding: Hiding::NotIncluded | Hiding::Excluded(_),
                            ..
                        })
                    ),
                    "{name}"
                );
                assert!(!found(&catalog, &name.replace('_', " ")).contains(&name.to_owned()), "{name}");
            }
        }
    };
    check(&[by("tag", "admin")], &[], &["delete_item", "get_user"]);
    check(&[by("path", "/items/*")], &[], &["search_items", "get_item", "delete_item"]);
    check(
        &[],
        &[by("method", "post"), by("operation", "getUser")],
        &["list_items", "get_item", "delete_item"],
    );
    check(
        &[by("tag", "items")],
        &[by("operation", "GET /items/{id}"), by("operation", "create_item")],
        &["list_items", "search_items"],
    );
    check(&[by("path", "/nothing")], &[], &[]);
}

fn catalog_of_admins() -> Catalog {
    let rules = ViewRules {
        include: vec![by("tag", "admin")],
        ..ViewRules::default()
    };
    catalog(rules, false)
}

#[test]
fn a_hidden_function_is_refused_by_each_of_its_names_and_suggested_by_none() {
    let rules = ViewRules {
        exclude: vec![by("operation", "deleteItem")],
        ..ViewRules::default()
    };
    let catalog = catalog(rules, false);
    for reference in [
        "shop.delete_item",
        "shop.deleteItem",
        "shop:DELETE /items/{id}",
        "mcp__shop__delete_item",
    ] {
        let error = catalog.callable(reference).unwrap_err();
        assert!(matches!(error, LookupError::Hidden { .. }), "{reference}");
        assert_eq!(
            error.to_string(),
            "`shop.delete_item` is not allowed: the settings of server `shop` leave it out: `exclude.0` selects it"
        );
    }
    let error = catalog_of_admins().callable("shop.list_items").unwrap_err();
    assert!(
        error.to_string().ends_with("leave it out: nothing in `include` selects it"),
        "{error}"
    );
    let hint = catalog.resolve("shop.delete_itm").unwrap_err().hint().unwrap();
    assert!(!hint.contains("delete"), "{hint}");
}

#[test]
fn an_effect_decides_what_a_read_only_server_shows() {
    let effect = |effect| FunctionRule {
        effect: Some(effect),
        ..FunctionRule::default()
    };
    let rules = rule("searchItems", effect(Effect::Read));
    assert_eq!(names(&catalog(rules, true)), ["list_items", "search_items", "get_item", "get_user"]);
    let catalog = catalog(rule("GET /items/{id}", effect(Effect::Destructive)), true);
    assert_eq!(names(&catalog), ["list_items", "get_user"]);
    let error = catalog.resolve("shop.get_item").unwrap_err();
    assert!(
        matches!(
            error,
            LookupError::Hidden {
                effect: Effect::Destructive,
                hiding: Hiding::ReadOnly,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_new_name_holds_in_both_languages_and_is_found() {
    let catalog = catalog(renamed(&[("listItems", "browse_catalogue"), ("GET /items/{id}", "import")]), false);
    assert_eq!(names(&catalog)[0], "browse_catalogue");
    for name in ["browse_catalogue", "browseCatalogue", "GET /items", "listItems"] {
        let function = catalog.function("shop", name).unwrap();
        assert_eq!(
            (function.python.as_str(), function.typescript.as_str()),
            ("browse_catalogue", "browseCatalogue")
        );
    }
    assert!(matches!(
        catalog.function("shop", "list_items"),
        Err(LookupError::UnknownFunction { .. })
    ));
    assert_eq!(catalog.function("shop", "getItem").unwrap().python, "import_");
    assert_eq!(found(&catalog, "browse the catalogue")[0], "browse_catalogue");
}

#[test]
fn functions_can_exchange_their_names() {
    let catalog = catalog(renamed(&[("getItem", "get_user"), ("getUser", "get_item")]), false);
    assert_eq!(catalog.misfits("shop").unwrap(), []);
    assert_eq!(catalog.function("shop", "get_item").unwrap().operation, "GET /admin/users/{id}");
}

#[test]
fn two_functions_of_one_name_are_refused_and_both_are_named() {
    let catalog = catalog(renamed(&[("listItems", "get_item")]), false);
    let misfits = catalog.misfits("shop").unwrap();
    assert_eq!(misfits.len(), 1, "{misfits:?}");
    assert!(misfits[0].is_error);
    assert_eq!(
        misfits[0].message,
        "`GET /items` and `GET /items/{id}` would both be called `getItem`"
    );
    for reference in ["shop.get_item", "shop:GET /items", "shop.getItem"] {
        let error = catalog.callable(reference).unwrap_err();
        assert!(matches!(error, LookupError::Misfit { .. }), "{error}");
    }
    assert_eq!(names(&catalog), ["create_item", "search_items", "delete_item", "get_user"]);
}

#[test]
fn a_name_of_a_hidden_function_is_free() {
    let rules = ViewRules {
        exclude: vec![by("operation", "getUser")],
        ..renamed(&[("getItem", "get_user")])
    };
    let catalog = catalog(ViewRules { ..rules }, false);
    // The selector means both: the operation id of one and the new name of the other.
    assert_eq!(catalog.misfits("shop").unwrap(), []);
    let rules = ViewRules {
        exclude: vec![by("operation", "GET /admin/users/{id}")],
        ..renamed(&[("getItem", "get_user")])
    };
    let catalog = self::catalog(rules, false);
    assert_eq!(catalog.function("shop", "get_user").unwrap().operation, "GET /items/{id}");
}

#[test]
fn settings_that_mean_nothing_are_told() {
    let rules = ViewRules {
        include: vec![by("path", "/**"), by("tag", "gone")],
        exclude: vec![by("operation", "gone")],
        rename: BTreeMap::from([("gone".to_owned(), "here".to_owned())]),
        functions: BTreeMap::from([("gone".to_owned(), FunctionRule::default())]),
        pagination: None,
    };
    let settings: Vec<(String, bool)> = catalog(rules, false)
        .misfits("shop")
        .unwrap()
        .into_iter()
        .map(|one| (one.setting, one.is_error))
        .collect();
    let expected = ["rename.gone", "functions.gone", "include.1", "exclude.0"].map(|setting| (setting.to_owned(), false));
    assert_eq!(settings, expected);
}

#[test]
fn pagination_is_as_the_settings_say() {
    let by_page = |name: &str| Pagination {
        advance: Advance::Page {
            parameter: vec![name.to_owned()],
            first: 1,
        },
        items: None,
    };
    let of = |catalog: &Catalog, name: &str| catalog.function("shop", name).unwrap().pagination;
    let own = |name: &str| FunctionRule {
        pagination: Some(by_page(name)),
        ..FunctionRule::default()
    };
    // Of the server: only where there is such an argument.
    let rules = ViewRules {
        pagination: Some(by_page("id")),
        ..ViewRules::default()
    };
    let served = catalog(rules, false);
    assert_eq!(of(&served, "get_item"), Some(by_page("id")));
    assert_eq!(of(&served, "delete_item"), None, "it deletes");
    assert_eq!(of(&served, "create_item"), None, "it has no such argument");
    // Of one function: whatever the document says.
    let one = catalog(rule("DELETE /items/{id}", own("id")), false);
    assert_eq!(of(&one, "delete_item"), Some(by_page("id")));
    assert_eq!(of(&one, "get_item"), None);
    let wrong = catalog(rule("getItem", own("gone")), false);
    assert_eq!(of(&wrong, "get_item"), None);
    let misfits = wrong.misfits("shop").unwrap();
    assert!(
        matches!(misfits.as_slice(), [one] if one.setting == "functions.GET /items/{id}.pagination" && !one.is_error),
        "{misfits:?}"
    );
}

#[test]
fn an_added_description_comes_first_and_is_shown_with_search_hits() {
    let rules = rule(
        "listItems",
        FunctionRule {
            description: "Ask for at most ten.".to_owned(),
            ..FunctionRule::default()
        },
    );
    let catalog = catalog(rules, false);
    let function = catalog.function("shop", "list_items").unwrap();
    let card = card(&function, &catalog.types_for(&function).unwrap(), Language::Python, 1000);
    assert_eq!(card.description, "List items.\nAsk for at most ten.");
    assert_eq!(
        catalog.functions("shop").unwrap()[0].function.summary,
        "List items. Ask for at most ten."
    );
}

#[test]
fn a_default_makes_an_argument_optional_and_shows_its_value() {
    let catalog = catalog(rule("listItems", default("size", json!(10), false)), false);
    let function = catalog.function("shop", "list_items").unwrap();
    let types = catalog.types_for(&function).unwrap();
    assert_eq!(
        signature(&function, &types, Language::Python),
        "list_items(tenant: str, *, size: int = 10) -> Any"
    );
    assert_eq!(
        signature(&function, &types, Language::TypeScript),
        "listItems(args: { tenant: string; size?: number }): Promise<any>"
    );
}

#[test]
fn a_hidden_default_is_not_shown_and_reaches_the_call() {
    let catalog = catalog(rule("listItems", default("tenant", json!("acme"), true)), false);
    let function = catalog.function("shop", "list_items").unwrap();
    let types = catalog.types_for(&function).unwrap();
    assert_eq!(signature(&function, &types, Language::Python), "list_items(size: int) -> Any");
    let card = serde_json::to_string(&card(&function, &types, Language::Python, 1000)).unwrap();
    assert!(!card.contains("tenant") && !card.contains("acme"), "{card}");
    let callable = catalog.callable("shop.list_items").unwrap();
    assert_eq!(callable.function.parameters.len(), 2);
    assert_eq!((callable.filled[0].json.as_str(), callable.filled[0].is_hidden), ("\"acme\"", true));
}

#[test]
fn a_body_can_be_a_default() {
    let shown = catalog(rule("searchItems", default("body", json!({"q": "all"}), false)), false);
    assert!(!shown.function("shop", "search_items").unwrap().body.unwrap().is_required);
    let hidden = catalog(rule("searchItems", default("body", json!({"q": "all"}), true)), false);
    assert_eq!(hidden.function("shop", "search_items").unwrap().body, None);
    assert!(hidden.callable("shop.search_items").unwrap().function.body.is_some());
}

#[test]
fn a_default_for_an_argument_that_is_not_there_stops_the_calls() {
    let catalog = catalog(rule("listItems", default("dry_run", json!(true), true)), false);
    let error = catalog.callable("shop.list_items").unwrap_err();
    assert!(matches!(error, LookupError::Misfit { .. }), "{error}");
    assert!(error.to_string().contains("has no argument `dry_run`"), "{error}");
    assert!(catalog.misfits("shop").unwrap()[0].is_error);
    assert!(catalog.callable("shop.get_item").is_ok());
}

#[test]
fn rules_follow_the_document_when_it_is_compiled_again() {
    let catalog = catalog(renamed(&[("GET /items/{id}", "fetch")]), false);
    assert!(catalog.function("shop", "fetch").is_ok());
    catalog.store().clear().unwrap();
    assert!(matches!(catalog.function("shop", "fetch"), Err(LookupError::NotCompiled { .. })));
}
