//! Whatever a program gives as a value stays in its place, byte for byte.

use std::collections::BTreeMap;

use mce_catalog::function::{Body, BodyFormat, BodyVariant, HttpTarget, Location, Parameter, ParameterEncoding, Style};
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::arguments::{Argument, BodyArgument};
use crate::base_url::BaseUrl;
use crate::credential::Credentials;
use crate::http::assemble;

fn parameter(location: Location, style: Style, explode: bool, allow_reserved: bool) -> Parameter {
    Parameter {
        original: "p q".to_owned(),
        key: String::new(),
        python: String::new(),
        typescript: String::new(),
        location,
        is_required: true,
        is_deprecated: false,
        description: String::new(),
        schema: json!({}),
        encoding: ParameterEncoding::Style {
            style,
            explode,
            allow_reserved,
        },
    }
}

fn build(path: &str, parameter: &Parameter, value: Value) -> Result<RequestParts, CallError> {
    let target = HttpTarget {
        method: "GET".to_owned(),
        path: path.to_owned(),
        base_url: None,
        is_elsewhere: false,
        accepts: Vec::new(),
        event_item: mce_catalog::function::EventItem::default(),
        security: Vec::new(),
        scopes: BTreeMap::new(),
    };
    let parameters = vec![Argument {
        parameter,
        index: 0,
        name: "p".to_owned(),
        value,
        is_filled: false,
    }];
    build_request(
        &target,
        &Arguments {
            parameters,
            body: None,
            more: Vec::new(),
        },
        None,
    )
}

/// The URL that is sent is the one that was built.
fn url(parts: RequestParts) -> reqwest::Url {
    let base = BaseUrl::parse("http://api.test/base").unwrap();
    assemble(&base, parts, &Credentials::default()).unwrap().url().clone()
}

fn style() -> impl Strategy<Value = Style> {
    prop::sample::select(vec![
        Style::Simple,
        Style::Label,
        Style::Matrix,
        Style::Form,
        Style::SpaceDelimited,
        Style::PipeDelimited,
        Style::DeepObject,
        Style::TabDelimited,
    ])
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_text_in_a_path_comes_out_as_it_went_in(text in any::<String>()) {
        let parameter = parameter(Location::Path, Style::Simple, false, false);
        match build("/a/{p q}/b", &parameter, Value::from(text.as_str())) {
            Ok(parts) => {
                let path = url(parts).path().to_owned();
                let segments: Vec<_> = path.split('/').collect();
                prop_assert_eq!(segments.len(), 5, "{}", path);
                prop_assert_eq!(percent_decode_str(segments[3]).decode_utf8().unwrap(), text);
            }
            Err(_) => prop_assert!(matches!(text.as_str(), "" | "." | "..")),
        }
    }

    #[test]
    fn a_text_in_a_query_comes_out_as_it_went_in(text in any::<String>()) {
        let parameter = parameter(Location::Query, Style::Form, true, false);
        let url = url(build("/a", &parameter, Value::from(text.as_str())).unwrap());
        let query = url.query().unwrap();
        prop_assert!(url.fragment().is_none());
        let (name, value) = query.split_once('=').unwrap();
        prop_assert_eq!((name, percent_decode_str(value).decode_utf8().unwrap().into_owned()), ("p%20q", text));
        prop_assert!(!value.contains(['&', '=', '+', '#']));
    }

    #[test]
    fn no_value_leaves_its_place(value in value(), style in style(), explode: bool, allow_reserved: bool) {
        let in_path = parameter(Location::Path, style, explode, allow_reserved);
        if let Ok(parts) = build("/a/{p q}/b", &in_path, value.clone()) {
            let url = url(parts);
            prop_assert!(url.path().starts_with("/base/a/") && url.path().ends_with("/b"), "{}", url);
            prop_assert!(url.query().is_none() && url.fragment().is_none());
        }
        let in_query = parameter(Location::Query, style, explode, allow_reserved);
        let url = url(build("/a", &in_query, value.clone()).unwrap());
        prop_assert!(url.path() == "/base/a" && url.fragment().is_none());
        let in_cookie = parameter(Location::Cookie, style, explode, allow_reserved);
        let parts = build("/a", &in_cookie, value.clone()).unwrap();
        prop_assert!(parts.cookies.iter().all(|pair| pair.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';')));
        let in_header = parameter(Location::Header, style, explode, allow_reserved);
        if let Ok(parts) = build("/a", &in_header, value) {
            prop_assert!(parts.headers.iter().all(|(_, value)| !value.contains(['\r', '\n', '\0'])));
        }
    }

    #[test]
    fn no_body_breaks_its_frame(value in value(), name in any::<String>(), format in prop::sample::select(vec![BodyFormat::Form, BodyFormat::Multipart])) {
        let members = json!({name: value});
        let text = RawValue::from_string(members.to_string()).unwrap();
        let variant = BodyVariant { media_type: "a/b".to_owned(), format, schema: json!({}), encoding: BTreeMap::new() };
        let body = Body { is_required: true, description: String::new(), variants: vec![variant] };
        let chosen = ChosenBody { variant: &body.variants[0], binary_fields: std::collections::BTreeSet::new() };
        let arguments = Arguments { parameters: Vec::new(), body: Some(BodyArgument { value: members, text: &text, is_filled: false }), more: Vec::new() };
        let target = HttpTarget { method: "POST".to_owned(), path: "/".to_owned(), base_url: None, is_elsewhere: false, accepts: Vec::new(), event_item: mce_catalog::function::EventItem::default(), security: Vec::new(), scopes: BTreeMap::new() };
        let made = build_request(&target, &arguments, Some(&chosen)).unwrap().body.unwrap();
        let text = String::from_utf8(made.bytes).unwrap();
        if format == BodyFormat::Form {
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{}", text);
        } else {
            let boundary = made.content_type.split("boundary=").nth(1).unwrap();
            let delimiter = format!("--{boundary}\r\n");
            for head in text.split(&delimiter).skip(1) {
                let line = head.split("\r\n").next().unwrap();
                prop_assert!(line.starts_with("Content-Disposition: form-data; name=\"") && line.ends_with('"'), "{}", line);
                prop_assert_eq!(line.matches('"').count() % 2, 0);
            }
        }
    }
}
