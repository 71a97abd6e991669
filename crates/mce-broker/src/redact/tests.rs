//! Secrets and places in every form in which an API may echo them.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mce_config::{Auth, Credential, Location, Origin, Secret, ViewSettings};
use proptest::prelude::*;

use super::*;
use crate::hex::hex;

const TOKEN: &str = "s3cr/T+k=n\"\\é-42";

fn server() -> ServerSettings {
    ServerSettings {
        name: "svc".to_owned(),
        title: "svc".to_owned(),
        origin: Origin::OpenApi(Location::File(PathBuf::new())),
        base_url: None,
        auth: Auth::None,
        credentials: std::collections::BTreeMap::new(),
        connection: mce_config::ConnectionSettings::default(),
        extra_headers: Vec::new(),
        is_read_only: false,
        allow_private: false,
        skills: None,
        top_level_functions: Vec::new(),
        unresolved: Vec::new(),
        overlays: Vec::new(),
        view: ViewSettings::default(),
        entry: mce_config::EntrySource::default(),
        upstream: mce_config::UpstreamSettings::default(),
    }
}

fn with_auth(auth: Auth) -> Redactor {
    Redactor::new(&[ServerSettings { auth, ..server() }])
}

fn with_token(token: &str) -> Redactor {
    with_auth(Auth::Jwt { token: Secret::new(token) })
}

fn with_base(base_url: &str) -> Redactor {
    Redactor::with_places(&[ServerSettings {
        base_url: Some(base_url.to_owned()),
        ..server()
    }])
}

/// Every character as JSON may write it.
fn all_escaped(text: &str) -> String {
    let units: Vec<_> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    units.concat()
}

fn percent(text: &str, is_kept: impl Fn(u8) -> bool) -> String {
    let one = |byte: u8| match byte {
        byte if is_kept(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    text.bytes().map(one).collect()
}

#[test]
fn secrets_among_the_arguments_of_a_command_are_found() {
    let args = [
        "--api-key",
        "plain-old-key",
        "--token=another-plain-one",
        "/home/me/documents",
        "--verbose",
        "documents-of-mine",
        "postgresql://me:pass-word-9@db.test/x",
    ];
    let child = mce_config::StdioServer {
        command: "server".to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    let redactor = Redactor::new(&[ServerSettings {
        origin: Origin::McpStdio(child),
        ..server()
    }]);
    for (text, clean) in [
        ("key plain-old-key", "key [redacted]"),
        ("key another-plain-one", "key [redacted]"),
        ("cannot connect as pass-word-9", "cannot connect as [redacted]"),
        ("postgresql://me:pass-word-9@db.test/x", "[redacted]"),
        ("in /home/me/documents", "in /home/me/documents"),
        ("documents-of-mine, --verbose", "documents-of-mine, --verbose"),
    ] {
        assert_eq!(redactor.text(text), clean);
    }
}

#[test]
fn a_secret_is_found_in_every_form() {
    let redactor = with_token(TOKEN);
    let in_hex = |text: &str| hex(text.as_bytes()).to_uppercase();
    let in_entities = |text: &str| text.replace('"', "&quot;").replace('+', "&#43;").replace('é', "&#xE9;");
    for form in [
        TOKEN.to_owned(),
        TOKEN.to_uppercase().replace('É', "é"),
        TOKEN.chars().rev().collect(),
        in_hex(TOKEN),
        in_hex(TOKEN).to_lowercase(),
        percent(TOKEN, |_| false),
        percent(TOKEN, |byte| byte.is_ascii_alphanumeric())
            .to_uppercase()
            .replace("S3CR", "s3cr"),
        percent(TOKEN, |byte| byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'-'),
        percent(&percent(TOKEN, |byte| byte.is_ascii_alphanumeric()), |byte| byte != b'%'),
        in_entities(TOKEN),
        TOKEN.bytes().map(char::from).collect(),
        all_escaped(TOKEN),
        TOKEN.replace('/', "\\/").replace('+', "\\x2b"),
    ] {
        assert_eq!(redactor.text(&format!("x {form}, y")), "x [redacted], y", "{form}");
        let json = serde_json::json!({ "a": form, &form: 1 }).to_string();
        assert_eq!(redactor.json(&json).matches(MARK).count(), 2, "{json}");
    }
}

#[test]
fn a_secret_is_found_in_base64_of_any_text_around_it() {
    let redactor = with_token(TOKEN);
    for before in ["", "x", "xy", "Bearer ", "user:"] {
        for after in ["", "x", "xyz"] {
            let text = format!("{before}{TOKEN}{after}");
            for form in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let came = redactor.text(&form).into_owned();
                assert!(came.contains(MARK) && came.len() < MARK.len() + 20, "{text}: {came}");
            }
        }
    }
}

#[test]
fn only_what_holds_a_secret_changes_in_json() {
    let redactor = with_token("tok+en/12345");
    for (json, expected) in [
        (
            r#"{"a":"tok\u002Ben\/12345", "n": 1.10e+2, "u": "\u00e9\ud800"}"#,
            r#"{"a":"[redacted]", "n": 1.10e+2, "u": "\u00e9\ud800"}"#,
        ),
        (
            r#"{ "tok\u002ben/12345" : 123456789012345678901234567890 }"#,
            r#"{ "[redacted]" : 123456789012345678901234567890 }"#,
        ),
        (r#"["\\tok+en/12345\n"]"#, r#"["\\[redacted]\n"]"#),
        (r#"["{\"a\":\"tok\\u002ben/12345\"}"]"#, r#"["{\"a\":\"[redacted]\"}"]"#),
        (r#""\u0074ok+en/12345""#, r#""[redacted]""#),
    ] {
        assert_eq!(redactor.json(json), expected, "{json}");
    }
    // Cut from the raw text, the escape would lose its second character.
    assert_eq!(
        with_token("nabcdef").json(r#"["\nabcdef", "nabcdef"]"#),
        r#"["\nabcdef", "[redacted]"]"#
    );
    assert!(matches!(redactor.json(r#"{"a": "\u002b", "b": [1, 2]}"#), Cow::Borrowed(_)));
}

#[test]
fn a_number_that_holds_a_secret_becomes_a_text() {
    let redactor = with_token("1234");
    assert_eq!(
        redactor.json(r#"{"a":-51234.5,"b":[1234, 12]}"#),
        r#"{"a":"-5[redacted].5","b":["[redacted]", 12]}"#
    );
}

#[test]
fn keys_that_would_become_one_are_told_apart() {
    let redactor = with_token("tok+en/12345");
    let json = r#"[{"tok+en/12345":1,"tok%2Ben/12345":2,"x":{"tok+en/12345":3}},{"tok+en/12345":4,"[redacted]":5}]"#;
    let expected = r#"[{"[redacted]":1,"[redacted] (2)":2,"x":{"[redacted]":3}},{"[redacted]":4,"[redacted] (2)":5}]"#;
    assert_eq!(redactor.json(json), expected);
}

#[test]
fn parts_of_a_secret_are_secrets() {
    let fixed = |text: &str| Auth::Static { value: Secret::new(text) };
    let part = |text: &str, part: &str| Auth::Static {
        value: Secret::with_parts(text, vec![part.to_owned()]),
    };
    let basic = || Auth::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter22"),
    };
    for (auth, text) in [
        (part("Token token=\"hidden\"", "hidden"), "hidden"),
        (fixed("Bearer hidden"), "hidden"),
        (fixed("Token token=\"hidden-123\""), "hidden-123"),
        (fixed("Basic YW5uOmh1bnRlcjIy"), "hunter22"),
        (fixed("Basic YW5uOmh1bnRlcjIy"), "YW5uOmh1bnRlcjIy"),
        (basic(), "hunter22"),
        (basic(), "YW5uOmh1bnRlcjIy"),
    ] {
        assert_eq!(with_auth(auth).text(&format!("<{text}>")), "<[redacted]>", "{text}");
    }
    let server = ServerSettings {
        credentials: [("a".to_owned(), Credential::Token(Secret::new("ann:hunter22")))].into(),
        extra_headers: vec![
            ("X-Secret".to_owned(), Secret::with_parts("hdr-abcd", vec!["abcd".to_owned()])),
            ("Cookie".to_owned(), Secret::new("sid=0a1b2c3d; theme=dark")),
            ("Version".to_owned(), Secret::new("2022-06-28")),
        ],
        ..server()
    };
    let came = Redactor::new(&[server]).text("hunter22 abcd 0a1b2c3d dark 2022-06-28").into_owned();
    assert_eq!(came, "[redacted] [redacted] [redacted] dark 2022-06-28");
}

#[test]
fn what_a_proxy_gets_is_a_secret() {
    let connection = mce_config::ConnectionSettings {
        proxy: Some(Secret::new("http://ann:hunter%2022@proxy.example:3128")),
        ..mce_config::ConnectionSettings::default()
    };
    let basic = STANDARD.encode("ann:hunter 22");
    let came = Redactor::new(&[ServerSettings { connection, ..server() }])
        .text(&format!("<Basic {basic}>"))
        .into_owned();
    assert_eq!(came, "<Basic [redacted]>");
}

#[test]
fn short_secrets_are_found_as_they_are_and_in_texts_only() {
    let redactor = with_token("Test");
    assert_eq!(redactor.text("Test, latest"), "[redacted], latest");
    assert_eq!(redactor.any(b"\xff Test".to_vec()), b"\xff Test");
    assert_eq!(with_token("abc").text("abc"), "abc");
    assert_eq!(with_token("long-token").any(b"\xff LONG-token".to_vec()), b"\xff [redacted]");
}

#[test]
fn no_end_of_overlapping_secrets_is_left() {
    let secrets = ["abcdefgh", "efghijkl"].map(|token| ServerSettings {
        auth: Auth::Jwt { token: Secret::new(token) },
        ..server()
    });
    assert_eq!(Redactor::new(&secrets).text("xabcdefghijkly"), "x[redacted]y");
    assert_eq!(with_token("aaaa").text(&"a".repeat(1000)), MARK);
}

#[test]
fn a_configured_base_url_is_cut_out_so_that_links_are_relative() {
    let redactor = with_base("https://api.shop.test:8443/base/path");
    for (text, expected) in [
        ("https://api.shop.test:8443/base/path/echo?a=b", "/echo?a=b"),
        ("http://API.shop.test:8443/base/path/echo", "/echo"),
        ("https://api.shop.test:8443/other", "/other"),
        ("<//api.shop.test:8443/base/path/a>; rel=next", "</a>; rel=next"),
        ("host api.shop.test:8443.", "host ."),
        ("host api.shop.test", "host "),
        ("GET /base/path/echo", "GET /echo"),
        ("to=https%3A%2F%2Fapi.shop.test%3A8443%2Fbase%2Fpath%2Fx", "to=%2Fx"),
        ("https://other.test/base/path", "https://other.test/base/path"),
        (
            "/base/pathology my-api.shop.test api.shop.tester",
            "/base/pathology my-api.shop.test api.shop.tester",
        ),
        ("ann@api.shop.test, www.api.shop.test", "ann@api.shop.test, www.api.shop.test"),
    ] {
        assert_eq!(redactor.text(text), expected);
    }
    assert_eq!(
        redactor.json(r#"{"u":"https:\/\/api.shop.test:8443\/base\/path\/x","n":1.0}"#),
        r#"{"u":"\/x","n":1.0}"#
    );
    assert_eq!(with_base("http://api/v1").text("api key: http://api/v1/x"), "api key: /x");
    assert_eq!(
        with_base("http://127.0.0.1:81").text("127.0.0.1 127.0.0.1:81 http://127.0.0.1:81/"),
        "127.0.0.1  /"
    );
    let only_secrets = Redactor::new(&[ServerSettings {
        base_url: Some("https://api.shop.test".to_owned()),
        ..server()
    }]);
    assert_eq!(only_secrets.text("https://api.shop.test"), "https://api.shop.test");
}

proptest! {
    #[test]
    fn json_stays_json_and_holds_no_secret(
        pieces in prop::collection::vec((prop::sample::select(vec![TOKEN, "\n", "\\", "a", "%2B", "\u{10000}", "1", "&amp;"]), any::<bool>()), 0..12),
    ) {
        let redactor = with_token(TOKEN);
        let text: String = pieces.iter().map(|(piece, is_escaped)| {
            let quoted = serde_json::Value::from(*piece).to_string();
            if *is_escaped { all_escaped(piece) } else { quoted.trim_matches('"').to_owned() }
        }).collect();
        let clean = redactor.json(&format!("[\"{text}\"]")).into_owned();
        let value: Vec<String> = serde_json::from_str(&clean).unwrap();
        let expected: String = pieces.iter().map(|(piece, _)| if *piece == TOKEN { MARK } else { piece }).collect();
        prop_assert_eq!(value, vec![expected]);
    }
}

#[test]
fn what_becomes_known_later_is_cut_out_from_then_on() {
    let learned = Arc::<Learned>::default();
    let redactor = with_token("configured-1").learning(&learned);
    let text = "configured-1 and token-of-a-login";
    assert_eq!(redactor.text(text), "[redacted] and token-of-a-login");
    learned.add(&[Secret::new("token-of-a-login"), Secret::new("short")]);
    assert_eq!(redactor.text(text), "[redacted] and [redacted]");
    let encoded = format!("x{} short", STANDARD.encode("a token-of-a-login"));
    assert!(!redactor.text(&encoded).contains("b2Ytb"), "{}", redactor.text(&encoded));
    assert_eq!(redactor.json(r#"{"a":"\u0074oken-of-a-login"}"#), r#"{"a":"[redacted]"}"#);
    for n in 0..1000 {
        learned.add(&[Secret::new(format!("one-of-many-{n}"))]);
    }
    assert_eq!(redactor.text("one-of-many-999 one-of-many-1-"), "[redacted] one-of-many-1-");
}
