//! From arguments to requests: names, numbers, places, bodies. The notations of values are those of `tests/cases`.

use mce_broker::{CallErrorKind, CallRequest, Caller, Naming};
use mce_catalog::function::{BodyFormat, BodyVariant, Function, Location, ParameterEncoding, Style};
use mce_test::ReceivedRequest;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::bench::{Bench, RUN, body, call, function, parameter};

/// The one request that a call makes.
async fn sent(function: Function, arguments: &str) -> ReceivedRequest {
    let operation = function.operation.clone();
    let bench = Bench::new([function]);
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    call(&bench.broker(), &operation, &arguments).await.unwrap();
    let [request] = bench.api.take_requests().try_into().unwrap();
    request
}

/// The message of a call that is refused as a wrong argument; nothing is sent.
async fn refused(function: Function, arguments: &str) -> String {
    let operation = function.operation.clone();
    let bench = Bench::new([function]);
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    let error = call(&bench.broker(), &operation, &arguments).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Argument, "{error}");
    assert_eq!(error.function.as_deref(), Some("svc.do_it"));
    assert!(bench.api.take_requests().is_empty());
    format!("{error}; {}", error.hint().unwrap_or_default())
}

fn get(parameters: &[(&str, Location)]) -> Function {
    let parameters = parameters.iter().map(|(name, location)| parameter(name, *location)).collect();
    Function {
        parameters,
        ..function("GET /a")
    }
}

fn post(media_type: &str, format: BodyFormat) -> Function {
    Function {
        body: Some(body(media_type, format, json!({}))),
        ..function("POST /a")
    }
}

#[tokio::test]
async fn names_of_the_document_and_of_both_languages_are_understood() {
    let bench = Bench::new([get(&[("user-id", Location::Query)])]);
    let broker = bench.broker();
    for (caller, naming) in [
        (Caller::Python, Naming::Language),
        (Caller::Python, Naming::Original),
        (Caller::TypeScript, Naming::Language),
        (Caller::TypeScript, Naming::Original),
    ] {
        for name in ["user-id", "user_id", "userid"] {
            let arguments = RawValue::from_string(json!({name: 1}).to_string()).unwrap();
            broker
                .call(CallRequest {
                    run: &RUN,
                    caller,
                    naming,
                    function: "svc.do_it",
                    arguments: &arguments,
                    with_content: false,
                    page: None,
                    client: None,
                    recipes: None,
                })
                .await
                .unwrap();
            assert_eq!(bench.api.take_requests()[0].target, "/a?user-id=1");
        }
    }
}

#[tokio::test]
async fn preferred_names_win_where_two_parameters_share_one() {
    let mut function = get(&[("a", Location::Query), ("b", Location::Query)]);
    function.parameters[0].python = "b".to_owned();
    function.parameters[1].python = "c".to_owned();
    let bench = Bench::new([function]);
    for (naming, target) in [(Naming::Language, "/a?a=1"), (Naming::Original, "/a?b=1")] {
        let arguments = RawValue::from_string(r#"{"b":1}"#.to_owned()).unwrap();
        let request = CallRequest {
            run: &RUN,
            caller: Caller::Python,
            naming,
            function: "svc.do_it",
            arguments: &arguments,
            with_content: false,
            page: None,
            client: None,
            recipes: None,
        };
        bench.broker().call(request).await.unwrap();
        assert_eq!(bench.api.take_requests()[0].target, target);
    }
}

#[tokio::test]
async fn arguments_that_have_no_one_meaning_are_refused() {
    let user_id = || get(&[("user-id", Location::Query)]);
    for (arguments, told) in [
        (r#"{"user-id":1,"user_id":2}"#, "`user_id` was given twice"),
        (r#"{"user-id":1,"user-id":2}"#, "`user-id` was given twice"),
        (r#"{"usr-id":1}"#, "did you mean `user-id`?"),
        (r#"{"zzz":1}"#, "its arguments are `user-id`"),
        (r#"{"user-id":{"a":1,"a":2}}"#, "`a` occurs twice"),
        ("[1]", "the arguments are no object"),
        (
            r#"{"user-id":18446744073709551616}"#,
            "`18446744073709551616` has more than 64 bits",
        ),
        (r#"{"user-id":[[-9223372036854775809]]}"#, "more than 64 bits"),
    ] {
        let message = refused(user_id(), arguments).await;
        assert!(message.contains(told), "{arguments}: {message}");
    }
    let deep = format!(r#"{{"user-id":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    assert!(refused(user_id(), &deep).await.contains("cannot be read"));
    assert!(
        refused(post("application/json", BodyFormat::Json), r#"{"body":{"a":{"b":1,"b":2}}}"#)
            .await
            .contains("`b` occurs twice")
    );
}

#[tokio::test]
async fn numbers_of_json_bodies_are_sent_as_written() {
    let text = r#"{"a":123456789012345678901234567890,"b":0.10000000000000000555,"c":1.0}"#;
    let request = sent(post("application/json", BodyFormat::Json), &format!(r#"{{"body":{text}}}"#)).await;
    assert_eq!(request.text(), text);
    for format in [BodyFormat::Form, BodyFormat::Multipart] {
        assert!(
            refused(post("a/b", format), r#"{"body":{"a":123456789012345678901234567890}}"#)
                .await
                .contains("more than 64 bits")
        );
    }
}

#[tokio::test]
async fn faults_name_the_place_and_what_is_allowed() {
    let schema = json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "maxLength": 3},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
            "pay": {"oneOf": [
                {"type": "object", "required": ["card"], "properties": {"card": {"type": "string"}}},
                {"type": "object", "required": ["iban", "bic"], "properties": {"iban": {"type": "string"}, "bic": {"type": "string"}}},
            ]},
            "lines": {"type": "array", "items": {"allOf": [{"anyOf": [
                {"type": "object", "additionalProperties": false, "properties": {
                    "ship_to": {"type": "string"}, "ship_on": {"type": "string", "readOnly": true}}},
            ]}]}},
        },
    });
    let function = || Function {
        body: Some(body("application/json", BodyFormat::Json, schema.clone())),
        ..function("POST /a")
    };
    for (value, told) in [
        (json!({}), "`body`: member `name` is missing"),
        (json!({"name": "long"}), "`body.name`: `long` is longer than 3 characters"),
        (json!({"name": true}), "`body.name`: expected string, got `true`"),
        (
            json!({"name": "a", "tags": ["a", "c"]}),
            "`body.tags[1]`: `c` is not one of `a`, `b`",
        ),
        (
            json!({"name": "a", "other": 1}),
            "`body`: `other` is not allowed; there are `lines`, `pay`, `tags`",
        ),
        (
            json!({"name": "a", "lines": [{"shipTo": "b"}]}),
            "`body.lines[0]`: `shipTo` is not allowed; did you mean `ship_to`?",
        ),
        (
            json!({"name": "a", "lines": [{"shipOn": "b", "ship_to": "c"}]}),
            "`body.lines[0]`: `shipOn` is not allowed",
        ),
        (
            json!({"name": "a", "pay": {"card": 5}}),
            "the nearest: `body.pay.card`: expected string, got `5`",
        ),
        (json!([]), "`body`: expected object, got an array"),
    ] {
        let message = refused(function(), &json!({"body": value}).to_string()).await;
        assert!(message.contains(told), "{value}: {message}");
    }
}

#[tokio::test]
async fn a_broken_schema_lets_everything_pass() {
    let mut function = get(&[("q", Location::Query)]);
    function.parameters[0].schema = json!({"type": "string", "pattern": "(["});
    assert_eq!(sent(function, r#"{"q":"x"}"#).await.target, "/a?q=x");
}

#[tokio::test]
async fn fields_of_the_connection_cannot_be_set() {
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Authorization",
        "Upgrade",
        "Expect",
        "Accept",
    ] {
        let message = refused(get(&[(name, Location::Header)]), &json!({name: "x"}).to_string()).await;
        assert!(message.contains("cannot be set by a call"), "{name}: {message}");
    }
    // It describes the body, which is sent as it is.
    let described = sent(get(&[("Content-Encoding", Location::Header)]), r#"{"Content-Encoding":"gzip"}"#).await;
    assert_eq!(described.header("content-encoding"), Some("gzip"));
    for value in ["a\rb", "a\nb", "a\u{0}b", "a\u{7f}b"] {
        assert!(
            refused(get(&[("X-A", Location::Header)]), &json!({"X-A": value}).to_string())
                .await
                .contains("X-A")
        );
    }
    assert!(refused(get(&[("X A", Location::Header)]), r#"{"X A":"b"}"#).await.contains("X A"));
}

#[tokio::test]
async fn what_is_refused_leaves_no_trace_in_the_log() {
    let bench = Bench::new([get(&[("X A", Location::Header)])]);
    bench.call("GET /a", &json!({"X A": "b"})).await.unwrap_err();
    assert_eq!(bench.audit(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_cookie_header_joins_the_cookies() {
    let function = get(&[("Cookie", Location::Header), ("a b", Location::Cookie)]);
    assert_eq!(
        sent(function, r#"{"Cookie":"x=y","a b":"c;d"}"#).await.header("cookie"),
        Some("x=y; a%20b=c%3Bd")
    );
}

#[tokio::test]
async fn paths_keep_their_segments() {
    let path = |template: &str, names: &[&str]| {
        let parameters = names.iter().map(|name| parameter(name, Location::Path)).collect();
        Function {
            parameters,
            ..function(&format!("GET {template}"))
        }
    };
    let open = || {
        let mut function = path("/files/{p}", &["p"]);
        function.parameters[0].encoding = ParameterEncoding::Style {
            style: Style::Simple,
            explode: false,
            allow_reserved: true,
        };
        function
    };
    assert_eq!(sent(path("/{a}{b}", &["a", "b"]), r#"{"a":".","b":"x"}"#).await.target, "/.x");
    assert_eq!(sent(path("/x|y'z/{a}", &["a"]), r#"{"a":"'|"}"#).await.target, "/x%7Cy'z/%27%7C");
    assert_eq!(sent(path("/a?beta=true&x=a b", &[]), "{}").await.target, "/a?beta=true&x=a%20b");
    assert_eq!(sent(path("/{a}/{a}", &["a"]), r#"{"a":1}"#).await.target, "/1/1");
    assert_eq!(sent(open(), r#"{"p":"a/b c?d#e%2F"}"#).await.target, "/files/a/b%20c%3Fd%23e%2F");
    for (function, arguments) in [
        (path("/{a}{b}", &["a", "b"]), r#"{"a":".","b":"."}"#),
        (open(), r#"{"p":"../admin"}"#),
        (open(), r#"{"p":"a/%2e%2E/b"}"#),
        (open(), r#"{"p":"a/."}"#),
        (path("/..", &[]), "{}"),
    ] {
        assert!(refused(function, arguments).await.contains("path segment"), "{arguments}");
    }
}

#[tokio::test]
async fn a_whole_query_is_one_argument() {
    let query = |media_type: &str| {
        let mut function = get(&[("q", Location::Querystring)]);
        function.parameters[0].encoding = ParameterEncoding::Content {
            media_type: media_type.to_owned(),
        };
        function
    };
    assert_eq!(
        sent(query("application/x-www-form-urlencoded"), r#"{"q":{"a":["x","y"],"b":"c d"}}"#)
            .await
            .target,
        "/a?a=x&a=y&b=c%20d"
    );
    assert_eq!(
        sent(query("application/json"), r#"{"q":{"a":1}}"#).await.target,
        "/a?%7B%22a%22%3A1%7D"
    );
    assert_eq!(sent(query("text/plain"), r#"{"q":"a b"}"#).await.target, "/a?a%20b");
}

#[tokio::test]
async fn nested_values_of_deep_objects_have_brackets() {
    let mut function = get(&[("f", Location::Query)]);
    function.parameters[0].encoding = ParameterEncoding::Style {
        style: Style::DeepObject,
        explode: true,
        allow_reserved: false,
    };
    for (value, target) in [
        (json!({"a": {"b": [1, 2]}}), "/a?f%5Ba%5D%5Bb%5D%5B%5D=1&f%5Ba%5D%5Bb%5D%5B%5D=2"),
        (json!(["x", "y"]), "/a?f%5B0%5D=x&f%5B1%5D=y"),
        (json!({"l": [{"k": 1}]}), "/a?f%5Bl%5D%5B0%5D%5Bk%5D=1"),
        (json!(5), "/a?f=5"),
        (json!({"a": null}), "/a"),
    ] {
        assert_eq!(sent(function.clone(), &json!({"f": value}).to_string()).await.target, target);
    }
}

#[tokio::test]
async fn files_decide_how_a_body_is_sent() {
    let variants = [
        ("application/json", BodyFormat::Json),
        ("multipart/form-data", BodyFormat::Multipart),
        ("application/octet-stream", BodyFormat::Binary),
    ];
    let several = || {
        let mut function = post("application/json", BodyFormat::Json);
        let made = variants.map(|(media_type, format)| body(media_type, format, json!({})).variants.remove(0));
        function.body.as_mut().unwrap().variants = Vec::<BodyVariant>::from(made);
        function
    };
    for (value, content_type) in [
        (json!({"text": "hi"}), "application/json"),
        (json!({"base64": "aGk="}), "application/octet-stream"),
        (json!({"file": {"base64": "aGk="}, "note": "n"}), "multipart/form-data; boundary="),
        (json!({"files": [{"filename": "a", "text": "b"}]}), "multipart/form-data; boundary="),
    ] {
        let request = sent(several(), &json!({"body": value}).to_string()).await;
        assert!(
            request.header("content-type").unwrap().starts_with(content_type),
            "{value}: {request:?}"
        );
    }
}

#[tokio::test]
async fn parts_of_multipart_bodies_are_quoted_and_typed() {
    let mut function = post("multipart/form-data", BodyFormat::Multipart);
    function.body.as_mut().unwrap().variants[0].schema =
        json!({"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}});
    let arguments = json!({"body": {"f": "bytes", "a\"\r\nb": 1, "none": null, "g": {"filename": "x\"\n.txt", "text": "t"}}});
    let request = sent(function, &arguments.to_string()).await;
    let boundary = request.header("content-type").unwrap().split("boundary=").nth(1).unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\nContent-Type: application/octet-stream\r\n\r\nbytes\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"a%22%0D%0Ab\"\r\n\r\n1\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"g\"; filename=\"x%22%0A.txt\"\r\nContent-Type: application/octet-stream\r\n\r\nt\r\n\
         --{boundary}--\r\n"
    );
    assert_eq!(request.text(), expected);
}

#[tokio::test]
async fn content_types_of_files_cannot_add_fields() {
    let file = json!({"body": {"f": {"text": "t", "content_type": "a/b\r\nX-Evil: 1"}}}).to_string();
    assert!(
        refused(post("multipart/form-data", BodyFormat::Multipart), &file)
            .await
            .contains("control characters")
    );
    let bytes = json!({"body": {"text": "t", "content_type": "image/b\nX-Evil: 1"}}).to_string();
    assert!(
        refused(post("image/*", BodyFormat::Binary), &bytes)
            .await
            .contains("control characters")
    );
}

#[tokio::test]
async fn texts_are_sent_in_the_charset_of_their_type() {
    let latin = || post("text/plain; charset=iso-8859-1", BodyFormat::Text);
    assert_eq!(sent(latin(), r#"{"body":"ü"}"#).await.body, [0xfc]);
    assert!(refused(latin(), r#"{"body":"名"}"#).await.contains("has not"));
    assert_eq!(sent(post("text/plain", BodyFormat::Text), r#"{"body":"ü"}"#).await.text(), "ü");
    assert_eq!(sent(latin(), r#"{"body":{"base64":"/A=="}}"#).await.body, [0xfc]);
    let xml = || Function {
        body: Some(body("application/xml", BodyFormat::Text, json!({"type": "object"}))),
        ..function("POST /a")
    };
    assert_eq!(sent(xml(), r#"{"body":"<a/>"}"#).await.text(), "<a/>");
    assert!(refused(xml(), r#"{"body":{"a":1}}"#).await.contains("expected a string"));
}

#[tokio::test]
async fn null_is_sent_only_where_a_body_is_needed() {
    let nullable = |is_required: bool| {
        let mut function = Function {
            body: Some(body("application/json", BodyFormat::Json, json!({"type": ["object", "null"]}))),
            ..function("POST /a")
        };
        function.body.as_mut().unwrap().is_required = is_required;
        function
    };
    assert_eq!(sent(nullable(true), r#"{"body":null}"#).await.text(), "null");
    let request = sent(nullable(false), r#"{"body":null}"#).await;
    assert_eq!((request.text().as_str(), request.header("content-type")), ("", None));
}

#[tokio::test]
async fn every_request_says_who_sends_it_and_what_it_takes() {
    let function = crate::bench::with_target(function("GET /a"), |target| {
        target.accepts = vec!["application/json".to_owned(), "text/csv".to_owned()];
    });
    let request = sent(function, "{}").await;
    assert_eq!(request.header("user-agent"), Some(concat!("mce/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(request.header("accept"), Some("application/json, text/csv;q=0.9"));
}
