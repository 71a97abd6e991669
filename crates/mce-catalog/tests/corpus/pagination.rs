//! How real APIs give further pages, as their documents tell it.

use mce_catalog::function::{Advance, Pagination};
use mce_catalog::openapi::{Origin, read};

use crate::specs::corpus;
use crate::support::Directory;

/// Documents, operations, and how their pages are asked for and where their items are.
const PAGINATED: &[(&str, &str, &str)] = &[
    ("github-api.json", "GET /repos/{owner}/{repo}/issues", "links; items ."),
    (
        "apisguru-stripe.com.json",
        "GET /v1/charges",
        "after the last item: starting_after; items .data",
    ),
    (
        "box.json",
        "GET /collaboration_whitelist_entries",
        "cursor next_marker: marker; items .entries",
    ),
    (
        "slack-v2.json",
        "GET /conversations.list",
        "cursor response_metadata.next_cursor: cursor; items .channels",
    ),
    (
        "kubernetes-1.13.json",
        "GET /api/v1/pods",
        "cursor metadata.continue: continue; items .items",
    ),
    (
        "apisguru-googleapis.com__drive.json",
        "GET /files",
        "cursor nextPageToken: pageToken; items .files",
    ),
    ("apisguru-gitea.io.json", "GET /admin/orgs", "page 1: page; items ."),
    ("apisguru-spotify.com.json", "GET /albums/{id}/tracks", "address next; items .items"),
    (
        "apisguru-atlassian.com__jira.json",
        "GET /rest/api/3/dashboard",
        "address next; items .dashboards",
    ),
    (
        "apisguru-zoom.us.json",
        "GET /users",
        "cursor next_page_token: next_page_token; items .users",
    ),
    ("openai.yaml", "GET /files", "cursor last_id: after; items .data"),
    ("apisguru-stripe.com.json", "GET /v1/balance", ""),
];

fn show(pagination: &Pagination) -> String {
    let joined = |path: &[String]| path.join(".");
    let advance = match &pagination.advance {
        Advance::Links => "links".to_owned(),
        Advance::Cursor {
            parameter: Some(parameter),
            next,
        } => format!("cursor {}: {}", joined(next), joined(parameter)),
        Advance::Cursor { parameter: None, next } => format!("address {}", joined(next)),
        Advance::LastItem { parameter } => format!("after the last item: {}", joined(parameter)),
        Advance::Page { parameter, first } => format!("page {first}: {}", joined(parameter)),
        Advance::Offset { parameter, first } => format!("offset {first}: {}", joined(parameter)),
    };
    match &pagination.items {
        Some(path) => format!("{advance}; items .{}", joined(path)),
        None => advance,
    }
}

#[test]
fn pages_of_real_apis_are_found() {
    let Some(folder) = corpus() else {
        println!("NOT RUN: there is no corpus; name its folder in MCE_TEST_CORPUS");
        return;
    };
    let mut wrong = Vec::new();
    for (file, operation, expected) in PAGINATED {
        let path = folder.join("specs").join(file);
        let bytes = fs_err::read(&path).unwrap();
        let document = read(&bytes, &Origin::File(path), &Directory).unwrap();
        let Some(function) = document.functions.iter().find(|function| function.operation == *operation) else {
            wrong.push(format!("{file} has no {operation}"));
            continue;
        };
        let found = function.pagination.as_ref().map(show).unwrap_or_default();
        if found != *expected {
            wrong.push(format!("{file} {operation}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
