//! The API of the demonstration: a shop in memory, served on loopback, with bearer token, pages and creation.
//! Its state and its OpenAPI 3.1 document are made from one table.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One kind of thing that the shop has. Its five operations are list, create, get, update and delete.
struct Collection {
    /// In paths, such as `orders`.
    plural: &'static str,
    /// In names, such as `order`.
    singular: &'static str,
    /// Things at the start.
    count: u32,
    /// Properties: name, type, and the values that the first things take in turn.
    properties: &'static [(&'static str, Kind)],
}

/// A property's type with the values it takes in the seed.
enum Kind {
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A text, made of its name and the thing's number.
    Text,
    /// A whole number below this.
    Number(u32),
    /// The id of a thing of another collection, which has so many.
    Id(u32),
}

const COLLECTIONS: [Collection; 7] = [
    Collection {
        plural: "customers",
        singular: "customer",
        count: 40,
        properties: &[
            ("name", Kind::Text),
            ("country", Kind::Word(&["DE", "FR", "NO", "PL"])),
            ("email", Kind::Text),
        ],
    },
    Collection {
        plural: "products",
        singular: "product",
        count: 60,
        properties: &[
            ("name", Kind::Text),
            ("price_cents", Kind::Number(9_900)),
            ("category", Kind::Word(&["book", "game", "tool"])),
        ],
    },
    Collection {
        plural: "orders",
        singular: "order",
        count: 240,
        properties: &[
            ("customer_id", Kind::Id(40)),
            ("status", Kind::Word(&["open", "paid", "shipped", "returned", "shipped"])),
            ("total_cents", Kind::Number(50_000)),
            ("delivery_note", Kind::Text),
        ],
    },
    Collection {
        plural: "reviews",
        singular: "review",
        count: 80,
        properties: &[("product_id", Kind::Id(60)), ("stars", Kind::Number(5)), ("text", Kind::Text)],
    },
    Collection {
        plural: "suppliers",
        singular: "supplier",
        count: 12,
        properties: &[("name", Kind::Text), ("country", Kind::Word(&["CN", "DE", "VN"]))],
    },
    Collection {
        plural: "shipments",
        singular: "shipment",
        count: 90,
        properties: &[
            ("order_id", Kind::Id(240)),
            ("carrier", Kind::Word(&["bike", "post", "truck"])),
            ("tracking_code", Kind::Text),
        ],
    },
    Collection {
        plural: "tasks",
        singular: "task",
        count: 0,
        properties: &[
            ("customer_id", Kind::Id(40)),
            ("title", Kind::Text),
            ("urgency", Kind::Word(&["high", "low"])),
        ],
    },
];

/// The running shop. It ends with the runtime's task that serves it.
#[derive(Debug)]
pub(super) struct Shop {
    address: SocketAddr,
    things: Arc<Things>,
}

/// The state: for each collection of the table its things, in order of creation.
#[derive(Debug)]
struct Things {
    token: String,
    // A request holds the lock only while it copies or changes values, never across an await.
    lists: Mutex<Vec<Vec<Value>>>,
}

impl Shop {
    /// Serves on a free port of 127.0.0.1, for requests that carry this bearer token.
    pub(super) async fn start(token: &str) -> std::io::Result<Self> {
        let lists = COLLECTIONS.iter().map(Collection::seed).collect();
        let things = Arc::new(Things {
            token: token.to_owned(),
            lists: Mutex::new(lists),
        });
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new()
            .route("/{collection}", routing::get(list).post(create))
            .route("/{collection}/{id}", routing::get(get).patch(update).delete(remove))
            .layer(middleware::from_fn_with_state(Arc::clone(&things), authorize))
            .with_state(Arc::clone(&things));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, things })
    }

    /// Where it is reached.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A copy of a collection as it is now.
    pub(super) fn things(&self, plural: &str) -> Vec<Value> {
        self.things.with(plural, |list| list.clone()).unwrap_or_default()
    }
}

impl Things {
    fn with<T>(&self, plural: &str, act: impl FnOnce(&mut Vec<Value>) -> T) -> Option<T> {
        let index = COLLECTIONS.iter().position(|collection| collection.plural == plural)?;
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get_mut(index).map(act)
    }
}

impl Collection {
    fn seed(&self) -> Vec<Value> {
        (1..=self.count).map(|number| self.thing(number)).collect()
    }

    fn thing(&self, number: u32) -> Value {
        let mut thing = Map::new();
        thing.insert("id".into(), number.into());
        for (position, (name, kind)) in (1u32..).zip(self.properties) {
            thing.insert((*name).into(), kind.value(name, number, position));
        }
        // What every real API adds and no program asked for.
        thing.insert("created_at".into(), format!("2026-03-{:02}T08:00:00Z", number % 28 + 1).into());
        thing.insert("etag".into(), format!("W/\"{:016x}\"", u64::from(number) * 0x9e37_79b9_7f4a).into());
        thing.insert(
            "links".into(),
            json!({"self": format!("/{}/{number}", self.plural), "collection": format!("/{}", self.plural)}),
        );
        Value::Object(thing)
    }

    fn schema(&self) -> Value {
        let properties: Map<String, Value> = self
            .properties
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), kind.schema()))
            .collect();
        let required: Vec<&str> = self.properties.iter().map(|(name, _)| *name).collect();
        let mut schema = json!({"type": "object", "properties": {"id": {"type": "integer", "readOnly": true}}, "required": required});
        if let Some(all) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
            all.extend(properties);
            all.insert(
                "created_at".into(),
                json!({"type": "string", "format": "date-time", "readOnly": true}),
            );
        }
        schema
    }

    fn paths(&self) -> [(String, Value); 2] {
        let (plural, singular) = (self.plural, self.singular);
        let thing = json!({"$ref": format!("#/components/schemas/{}", self.type_name())});
        let answer = |schema: Value| json!({"description": "as asked", "content": {"application/json": {"schema": schema}}});
        let article = if singular.starts_with(['a', 'e', 'i', 'o', 'u']) {
            "an"
        } else {
            "a"
        };
        let body = |schema: &Value| json!({"required": true, "content": {"application/json": {"schema": schema}}});
        let page = json!({"type": "object", "required": ["items", "total"], "properties": {
            "items": {"type": "array", "items": thing}, "total": {"type": "integer"},
            "next_page": {"type": ["integer", "null"], "description": "null on the last page"}}});
        let mut parameters = vec![
            json!({"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 1}}),
            json!({"name": "per_page", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}}),
        ];
        parameters.extend(self.properties.iter().filter(|(_, kind)| matches!(kind, Kind::Word(_) | Kind::Id(_))).map(|(name, kind)| {
            json!({"name": name, "in": "query", "description": format!("only {plural} with this {name}"), "schema": kind.schema()})
        }));
        let id = json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]);
        let gone = json!({"description": format!("no such {singular}")});
        let all = json!({
            "get": {"operationId": format!("list_{plural}"), "summary": format!("List {plural}, a page at a time"), "tags": [plural],
                "parameters": parameters, "responses": {"200": answer(page)}},
            "post": {"operationId": format!("create_{singular}"), "summary": format!("Create {article} {singular}"), "tags": [plural],
                "requestBody": body(&thing), "responses": {"201": answer(thing.clone())}},
        });
        let change = json!({"type": "object", "minProperties": 1});
        let one = json!({
            "parameters": id,
            "get": {"operationId": format!("get_{singular}"), "summary": format!("Get one {singular}"), "tags": [plural],
                "responses": {"200": answer(thing.clone()), "404": gone}},
            "patch": {"operationId": format!("update_{singular}"), "summary": format!("Change some properties of {article} {singular}"), "tags": [plural],
                "requestBody": body(&change), "responses": {"200": answer(thing), "404": gone}},
            "delete": {"operationId": format!("delete_{singular}"), "summary": format!("Delete {article} {singular}"), "tags": [plural],
                "responses": {"204": {"description": "deleted"}, "404": gone}},
        });
        [(format!("/{plural}"), all), (format!("/{plural}/{{id}}"), one)]
    }

    fn type_name(&self) -> String {
        let mut letters = self.singular.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }
}

impl Kind {
    fn value(&self, name: &str, number: u32, position: u32) -> Value {
        match self {
            Self::Word(words) => words.get(number as usize % words.len()).copied().unwrap_or_default().into(),
            Self::Text => format!("{name} number {number} of the demonstration").into(),
            Self::Number(below) => (number.wrapping_mul(7_919 + position) % below + 1).into(),
            Self::Id(count) => (number.wrapping_mul(31) % count + 1).into(),
        }
    }

    fn schema(&self) -> Value {
        match self {
            Self::Word(words) => {
                let mut different = words.to_vec();
                different.sort_unstable();
                different.dedup();
                json!({"type": "string", "enum": different})
            }
            Self::Text => json!({"type": "string"}),
            Self::Number(_) | Self::Id(_) => json!({"type": "integer"}),
        }
    }
}

/// The shop's OpenAPI 3.1 document.
pub(super) fn document() -> Value {
    let paths: Map<String, Value> = COLLECTIONS.iter().flat_map(Collection::paths).collect();
    let schemas: Map<String, Value> = COLLECTIONS
        .iter()
        .map(|collection| (collection.type_name(), collection.schema()))
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1.0.0", "description": "Customers, products, orders and what belongs to them."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    })
}

async fn authorize(State(things): State<Arc<Things>>, headers: HeaderMap, request: Request, next: Next) -> Response {
    let expected = format!("Bearer {}", things.token);
    if headers
        .get(header::AUTHORIZATION)
        .is_some_and(|value| value.as_bytes() == expected.as_bytes())
    {
        next.run(request).await
    } else {
        problem(StatusCode::UNAUTHORIZED, "a bearer token is needed")
    }
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    page: Option<usize>,
    per_page: Option<usize>,
    #[serde(flatten)]
    filters: Map<String, Value>,
}

async fn list(State(things): State<Arc<Things>>, Path(plural): Path<String>, Query(query): Query<ListQuery>) -> Response {
    let (page, size) = (query.page.unwrap_or(1).max(1), query.per_page.unwrap_or(20).clamp(1, 100));
    let is_wanted = |thing: &Value| {
        query
            .filters
            .iter()
            .all(|(name, wanted)| thing.get(name).map(as_text) == Some(as_text(wanted)))
    };
    let found = things.with(&plural, |list| {
        list.iter().filter(|thing| is_wanted(thing)).cloned().collect::<Vec<_>>()
    });
    let Some(found) = found else {
        return problem(StatusCode::NOT_FOUND, "no such collection");
    };
    let items: Vec<&Value> = found.iter().skip((page - 1).saturating_mul(size)).take(size).collect();
    let next = (page.saturating_mul(size) < found.len()).then_some(page + 1);
    Json(json!({"items": items, "total": found.len(), "next_page": next})).into_response()
}

async fn create(State(things): State<Arc<Things>>, Path(plural): Path<String>, Json(mut thing): Json<Map<String, Value>>) -> Response {
    let created = things.with(&plural, |list| {
        thing.insert("id".into(), (list.len() + 1).into());
        thing.insert("created_at".into(), "2026-04-01T08:00:00Z".into());
        list.push(Value::Object(thing.clone()));
    });
    match created {
        Some(()) => (StatusCode::CREATED, Json(thing)).into_response(),
        None => problem(StatusCode::NOT_FOUND, "no such collection"),
    }
}

async fn get(State(things): State<Arc<Things>>, Path((plural, id)): Path<(String, u64)>) -> Response {
    let found = things
        .with(&plural, |list| list.iter().find(|thing| has_id(thing, id)).cloned())
        .flatten();
    found.map_or_else(|| missing(id), |thing| Json(thing).into_response())
}

async fn update(
    State(things): State<Arc<Things>>,
    Path((plural, id)): Path<(String, u64)>,
    Json(change): Json<Map<String, Value>>,
) -> Response {
    let changed = things.with(&plural, |list| {
        let thing = list.iter_mut().find(|thing| has_id(thing, id))?;
        thing.as_object_mut()?.extend(change);
        Some(thing.clone())
    });
    changed.flatten().map_or_else(|| missing(id), |thing| Json(thing).into_response())
}

async fn remove(State(things): State<Arc<Things>>, Path((plural, id)): Path<(String, u64)>) -> Response {
    let removed = things.with(&plural, |list| {
        let before = list.len();
        list.retain(|thing| !has_id(thing, id));
        list.len() < before
    });
    if removed == Some(true) {
        StatusCode::NO_CONTENT.into_response()
    } else {
        missing(id)
    }
}

fn has_id(thing: &Value, id: u64) -> bool {
    thing.get("id").and_then(Value::as_u64) == Some(id)
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn missing(id: u64) -> Response {
    problem(StatusCode::NOT_FOUND, &format!("there is nothing with id {id}"))
}

fn problem(status: StatusCode, detail: &str) -> Response {
    (status, Json(json!({"title": status.canonical_reason(), "detail": detail}))).into_response()
}
