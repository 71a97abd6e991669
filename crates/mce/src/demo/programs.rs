//! What the model asks and writes in the demonstration, and the right values, computed from the shop's state.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::Shop;
use super::conversation::{Conversation, function};
use crate::failure::Failure;

/// Calls three functions, walks over pages, and gives back five values.
const PROGRAM: &str = r#"from shop.functions import create_task, get_customer, list_orders

status = "returned"

def main():
    totals, count, page = {}, 0, 1
    while page:
        answer = list_orders(status=status, page=page, per_page=20)
        for order in answer["items"]:
            count += 1
            totals[order["customer_id"]] = totals.get(order["customer_id"], 0) + order["total_cents"]
        page = answer["next_page"]
    first = max(totals, key=lambda id: (totals[id], -id))
    customer = get_customer(id=first)
    task = create_task(body={"customer_id": first, "title": f"call {customer['name']}", "urgency": "high"})
    return {"orders": count, "customer": customer["name"], "country": customer["country"], "cents": totals[first], "task": task["id"]}

result = main()
"#;

/// Asks for an argument that does not exist.
const MISTAKE: &str = "from shop.functions import delete_order, list_orders\n\ndelete_order(id=1)\nresult = list_orders(state=\"open\")\n";

const PAGE: usize = 20;

pub(super) async fn discover(talk: &mut Conversation) -> Result<(), Failure> {
    let answer = talk.ask("What is there?", "list_servers", json!({})).await?;
    let servers: Vec<_> = answer["servers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|server| server["name"].clone())
        .collect();
    talk.expect("the shop is listed", &servers.into(), &json!(["shop"]));

    let answer = talk
        .ask(
            "Which functions help?",
            "search_functions",
            json!({"query": "list orders, get one customer, create a task"}),
        )
        .await?;
    let text = answer.to_string();
    let all = ["list_orders", "get_customer", "create_task"];
    talk.check(
        "search finds the three functions",
        all.iter().all(|name| text.contains(name)),
        || text.clone(),
    );

    let wanted: Vec<_> = all.iter().map(|name| function(name)).collect();
    let answer = talk
        .ask("How exactly are they called?", "get_functions", json!({"functions": wanted}))
        .await?;
    let text = answer["functions"][2].to_string();
    talk.check(
        "the body's fields are shown",
        text.contains("urgency") && text.contains("title"),
        || text.clone(),
    );
    Ok(())
}

/// Gives the `cache_id` of the run.
pub(super) async fn execute(talk: &mut Conversation, shop: &Shop) -> Result<Value, Failure> {
    let arguments = json!({"code": PROGRAM, "description": "find the customer with the highest total and create a task"});
    let answer = talk.ask("One program for the whole task", "execute_code", arguments).await?;
    talk.expect("the program's value", &answer["data"], &right_value(shop, "returned", 1));
    let created = shop.things("tasks");
    talk.expect("the shop has exactly one task more", &created.len().into(), &json!(1));
    Ok(answer["cache_id"].clone())
}

pub(super) async fn run_again(talk: &mut Conversation, shop: &Shop, recipe: Value) -> Result<(), Failure> {
    let arguments = json!({"cache_id": recipe, "params": {"status": "shipped"}});
    let answer = talk.ask("The same program, another status", "run_cached_code", arguments).await?;
    talk.expect("the program's value", &answer["data"], &right_value(shop, "shipped", 2));
    Ok(())
}

pub(super) async fn make_a_mistake(talk: &mut Conversation) -> Result<(), Failure> {
    let arguments = json!({"code": MISTAKE, "description": "a program with a mistake"});
    let answer = talk
        .ask("A mistake is found before anything happens", "execute_code", arguments)
        .await?;
    let error = &answer["error"];
    talk.expect("its type", &error["type"], &json!("argument"));
    talk.expect("its line", &error["line"], &json!(4));
    let hint = error["hint"].as_str().unwrap_or_default();
    talk.check("it says what to write instead", hint.contains("status"), || error.to_string());
    talk.expect("no function was called", &answer["calls"], &Value::Null);
    Ok(())
}

/// The calls of both programs, one by one, as a model without code would make them.
pub(super) fn calls_made() -> Vec<(&'static str, Value)> {
    let pages = |status: &'static str, count: usize| {
        (1..=count).map(move |page| ("shop.list_orders", json!({"status": status, "page": page, "per_page": PAGE})))
    };
    let follow_up = |customer: u32| {
        [
            ("shop.get_customer", json!({"id": customer})),
            (
                "shop.create_task",
                json!({"body": {"customer_id": customer, "title": "call the customer", "urgency": "high"}}),
            ),
        ]
    };
    pages("returned", 3)
        .chain(follow_up(1))
        .chain(pages("shipped", 5))
        .chain(follow_up(2))
        .collect()
}

/// What the program must give, from the shop's own state.
fn right_value(shop: &Shop, status: &str, task: u32) -> Value {
    let mut totals: BTreeMap<u64, u64> = BTreeMap::new();
    let orders = shop.things("orders");
    let wanted: Vec<_> = orders.iter().filter(|order| order["status"] == status).collect();
    for order in &wanted {
        let customer = order["customer_id"].as_u64().unwrap_or_default();
        *totals.entry(customer).or_default() += order["total_cents"].as_u64().unwrap_or_default();
    }
    let first = totals
        .iter()
        .max_by_key(|(id, cents)| (**cents, std::cmp::Reverse(**id)))
        .map_or(0, |(id, _)| *id);
    let customers = shop.things("customers");
    let customer = customers
        .iter()
        .find(|customer| customer["id"] == first)
        .cloned()
        .unwrap_or_default();
    json!({
        "orders": wanted.len(), "customer": customer["name"], "country": customer["country"],
        "cents": totals.get(&first), "task": task,
    })
}
