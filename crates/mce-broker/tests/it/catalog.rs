//! The catalog as the source of functions.

use std::sync::Arc;

use mce_broker::{CallErrorKind, CatalogSource, FoundFunction, FunctionSource};
use mce_catalog::catalog::{Catalog, ServerView};
use mce_catalog::openapi::{self, NoFurtherFiles, Origin};
use mce_catalog::store::{CompiledDocument, DocumentRecord, Store};
use serde_json::{Value, json};

fn document(path: &str) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {
            path: {"post": {
                "operationId": "addPet",
                "security": [{"key": []}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {"200": {"description": "ok"}},
            }},
            "/pets/{id}": {"get": {"operationId": "getPet", "responses": {"200": {"description": "ok"}}}},
        },
        "components": {
            "schemas": {"Pet": {"type": "object", "properties": {"owner": {"$ref": "#/components/schemas/Owner"}}}, "Owner": {"type": "string"}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
    })
}

fn compile(store: &Store, document: &Value) {
    let read = openapi::read(document.to_string().as_bytes(), &Origin::File("/svc.json".into()), &NoFurtherFiles).unwrap();
    let record = DocumentRecord::new("/svc.json", "test", &read);
    let compiled = CompiledDocument {
        record: &record,
        functions: &read.functions,
        types: &read.types,
        security_schemes: &read.security_schemes,
    };
    store.replace_document(compiled).unwrap();
}

fn source(store: &Arc<Store>, is_read_only: bool) -> CatalogSource {
    let view = ServerView {
        name: "svc".to_owned(),
        location: "/svc.json".to_owned(),
        is_read_only,
        ..ServerView::default()
    };
    CatalogSource::new(Arc::new(Catalog::new(Arc::clone(store), vec![view])))
}

fn kind(outcome: Result<Arc<FoundFunction>, mce_broker::CallError>) -> (CallErrorKind, String) {
    let error = outcome.unwrap_err();
    (error.kind.clone(), error.hint().unwrap_or_default().to_owned())
}

#[test]
fn a_function_comes_with_its_types_and_schemes() {
    let store = Arc::new(Store::in_memory().unwrap());
    compile(&store, &document("/pets"));
    let source = source(&store, false);
    for reference in ["svc.add_pet", "svc.addPet", "svc:POST /pets", "mcp__svc__add_pet"] {
        let found = source.find(reference).unwrap();
        assert_eq!(found.types.keys().collect::<Vec<_>>(), ["Owner", "Pet"], "{reference}");
        assert!(found.security_schemes.contains_key("key"));
    }
}

#[test]
fn a_function_is_kept_until_the_catalog_changes() {
    let store = Arc::new(Store::in_memory().unwrap());
    compile(&store, &document("/pets"));
    let source = source(&store, false);
    let first = source.find("svc.add_pet").unwrap();
    assert!(Arc::ptr_eq(&first, &source.find("svc.add_pet").unwrap()));
    compile(&store, &document("/animals"));
    assert_eq!(source.find("svc.add_pet").unwrap().function.operation, "POST /animals");
}

#[test]
fn what_is_unknown_or_hidden_is_an_error() {
    let store = Arc::new(Store::in_memory().unwrap());
    compile(&store, &document("/pets"));
    let source = source(&store, true);
    assert!(source.find("svc.get_pet").is_ok());
    assert_eq!(kind(source.find("svc.add_pet")).0, CallErrorKind::Policy);
    let (unknown, hint) = kind(source.find("svc.get_pets"));
    assert_eq!(unknown, CallErrorKind::Argument);
    assert!(hint.contains("get_pet"), "{hint}");
    assert_eq!(kind(source.find("nothing")).0, CallErrorKind::Argument);
}
