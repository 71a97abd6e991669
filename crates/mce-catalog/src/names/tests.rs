//! What names become.

use proptest::prelude::*;

use super::*;

fn function_names(operations: &[(&str, &str, Option<&str>)]) -> Vec<Identifier> {
    let keys: Vec<_> = operations
        .iter()
        .map(|(method, path, operation_id)| OperationKey {
            method,
            path,
            operation_id: *operation_id,
        })
        .collect();
    functions(&keys)
}

fn check_operation(method: &str, path: &str, operation_id: Option<&str>, python: &str, typescript: &str) {
    let names = function_names(&[(method, path, operation_id)]);
    assert_eq!(
        names,
        [Identifier {
            python: python.to_owned(),
            typescript: typescript.to_owned()
        }]
    );
}

fn check_parameters(originals: &[(&str, &'static str, u8)], has_body: bool, python: &[&str], typescript: &[&str]) {
    let keys: Vec<_> = originals
        .iter()
        .map(|(original, location, rank)| ParameterKey {
            original,
            location,
            rank: *rank,
        })
        .collect();
    let names = parameters(&keys, has_body);
    assert_eq!(names.iter().map(|name| name.python.as_str()).collect::<Vec<_>>(), python);
    assert_eq!(names.iter().map(|name| name.typescript.as_str()).collect::<Vec<_>>(), typescript);
}

#[test]
fn names_follow_the_operation_id() {
    check_operation("GET", "/", Some("getUserById"), "get_user_by_id", "getUserById");
    check_operation(
        "GET",
        "/",
        Some("issues/list-for-repo"),
        "issues_list_for_repo",
        "issuesListForRepo",
    );
    check_operation("GET", "/", Some("List all pets"), "list_all_pets", "listAllPets");
    check_operation("GET", "/", Some("HTTPServerStatus"), "http_server_status", "httpServerStatus");
    check_operation("GET", "/", Some("getUserIDs"), "get_user_ids", "getUserIds");
    check_operation("GET", "/", Some("Get_v1.2_2"), "get_v1_2_2", "getV1_2_2");
    check_operation("GET", "/", Some("größeAbrufen"), "größe_abrufen", "größeAbrufen");
    check_operation("GET", "/", Some("取得"), "取得", "取得");
}

#[test]
fn names_that_are_no_identifiers_become_some() {
    check_operation("GET", "/", Some("2fa_status"), "_2fa_status", "_2faStatus");
    check_operation("GET", "/", Some("+1"), "plus_1", "plus1");
    check_operation("GET", "/", Some("import"), "import_", "import_");
    check_operation("GET", "/", Some("list"), "list_", "list");
    check_operation("GET", "/", Some("main"), "main_", "main_");
    check_operation("GET", "/", Some("delete"), "delete", "delete_");
    check_operation("GET", "/a", Some("🚀"), "get_a", "getA");
}

#[test]
fn names_come_from_method_and_path_without_an_operation_id() {
    check_operation("GET", "/users/{id}", None, "get_users_by_id", "getUsersById");
    check_operation("GET", "/", None, "get_root", "getRoot");
    check_operation(
        "PUT",
        "/users/{id}/b-c.json",
        None,
        "put_users_by_id_b_c_json",
        "putUsersByIdBCJson",
    );
}

#[test]
fn long_names_are_cut_and_stay_distinct() {
    let long = "a".repeat(200);
    let other = format!("{long}b");
    let names = function_names(&[("GET", "/a", Some(&long)), ("GET", "/b", Some(&other))]);
    assert!(
        names
            .iter()
            .all(|name| name.python.len() <= MAX_CHARS && name.typescript.len() <= MAX_CHARS),
        "{names:?}"
    );
    assert_ne!(names[0], names[1]);
}

#[test]
fn names_that_meet_are_told_apart_without_regard_to_order() {
    let operations = [
        ("GET", "/a", Some("getUser")),
        ("GET", "/b", Some("get_user")),
        ("POST", "/a", Some("GetUser")),
    ];
    let names = function_names(&operations);
    let python: Vec<_> = names.iter().map(|name| name.python.as_str()).collect();
    assert_eq!(python, ["get_user", "get_user_get_b", "get_user_post_a"]);
    let mut reversed = operations;
    reversed.reverse();
    let mut again = function_names(&reversed);
    again.reverse();
    assert_eq!(names, again);
}

#[test]
fn parameters_keep_apart_what_only_signs_tell_apart() {
    check_parameters(
        &[("StartTime", "query", 1), ("StartTime<", "query", 1), ("StartTime>=", "query", 1)],
        false,
        &["start_time", "start_time_lt", "start_time_gt_eq"],
        &["startTime", "startTimeLt", "startTimeGtEq"],
    );
    check_parameters(
        &[("userId", "query", 1), ("user_id", "query", 1), ("user-id", "query", 1)],
        false,
        &["user_id_3", "user_id", "user_id_2"],
        &["userId", "userId3", "userId2"],
    );
}

#[test]
fn parameters_of_one_name_are_told_apart_by_their_place() {
    check_parameters(
        &[("id", "header", 2), ("id", "path", 0), ("id", "query", 1)],
        false,
        &["id_header", "id", "id_query"],
        &["idHeader", "id", "idQuery"],
    );
    check_parameters(&[("body", "query", 1)], true, &["body_query"], &["bodyQuery"]);
    check_parameters(&[("body", "query", 1)], false, &["body"], &["body"]);
}

#[test]
fn odd_parameters_have_names() {
    check_parameters(
        &[
            ("$top", "query", 1),
            ("ids[]", "query", 1),
            ("_", "query", 1),
            ("self", "query", 1),
            ("__proto__", "query", 1),
        ],
        false,
        &["top", "ids", "parameter", "self_", "proto"],
        &["top", "ids", "parameter", "self", "proto"],
    );
}

#[test]
fn types_are_in_pascal_case_and_off_the_words_of_generated_code() {
    let check = |original: &str, expected: Option<&str>| assert_eq!(type_name(original).as_deref(), expected);
    check("pull-request", Some("PullRequest"));
    check("AiItem--Base", Some("AiItemBase"));
    check("any", Some("AnyModel"));
    check("401a", Some("_401a"));
    check("!!", None);
}

proptest! {
    #[test]
    fn functions_are_unique_identifiers(ids in prop::collection::vec(prop::option::of("\\PC{0,12}"), 1..20)) {
        let paths: Vec<String> = (0..ids.len()).map(|index| format!("/{}", index % 3)).collect();
        let methods: Vec<String> = (0..ids.len()).map(|index| format!("M{index}")).collect();
        let keys: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(index, id)| OperationKey { method: &methods[index], path: &paths[index], operation_id: id.as_deref() })
            .collect();
        let names = functions(&keys);
        prop_assert_eq!(names.len(), ids.len());
        let python: BTreeSet<String> = names.iter().map(|name| name.python.nfkc().collect()).collect();
        let typescript: BTreeSet<&String> = names.iter().map(|name| &name.typescript).collect();
        prop_assert_eq!(python.len(), ids.len());
        prop_assert_eq!(typescript.len(), ids.len());
        for name in names.iter().flat_map(|name| [&name.python, &name.typescript]) {
            let mut chars = name.chars();
            prop_assert!(chars.next().is_some_and(|c| c == '_' || is_xid_start(c)), "{}", name);
            prop_assert!(chars.all(is_xid_continue), "{}", name);
        }
    }
}
