//! Each comparison, and what holds of all of them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn limit(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn exact(text: &str) -> ExactValue {
    ExactValue::parse(text).unwrap()
}

fn is_met(comparison: Comparison, arguments: &Value, sense: Sense) -> bool {
    let condition = Condition {
        pointer: "/a".to_owned(),
        comparisons: vec![comparison],
    };
    check(&condition, arguments, (sense, None)).is_ok()
}

#[test]
fn each_comparison_holds_where_it_says() {
    use Comparison::{AtLeast, AtMost, Equals, Exists, GreaterThan, In, LessThan, Matches, NotEquals, NotIn};
    for (comparison, value, surely, possibly) in [
        (Equals(ExactValue::from(&json!(1))), json!(1), true, true),
        (Equals(ExactValue::from(&json!(1))), json!(1.0), true, true),
        (Equals(ExactValue::from(&json!(1))), json!("1"), false, true),
        (Equals(ExactValue::from(&json!(1))), json!("01.0"), false, true),
        (Equals(ExactValue::from(&json!("1"))), json!(1), false, true),
        (Equals(ExactValue::from(&json!(true))), json!("TRUE"), false, true),
        (Equals(ExactValue::from(&json!("main"))), json!("Main"), false, false),
        (Equals(ExactValue::from(&json!("main"))), json!(["main"]), true, true),
        (Equals(ExactValue::from(&json!("main"))), json!(["dev", ["main"]]), false, true),
        (Equals(ExactValue::from(&json!(["main"]))), json!(["main"]), true, true),
        (Equals(ExactValue::from(&json!([]))), json!([]), true, true),
        (Equals(ExactValue::from(&json!({"b": 1}))), json!({"b": 1.0}), true, true),
        (Equals(ExactValue::from(&json!({"b": 1}))), json!({"b": 1, "c": 2}), false, false),
        (Equals(ExactValue::from(&json!(null))), json!(null), true, true),
        (NotEquals(ExactValue::from(&json!("main"))), json!("dev"), true, true),
        (NotEquals(ExactValue::from(&json!("main"))), json!(["main", "dev"]), false, true),
        (NotEquals(ExactValue::from(&json!(1))), json!("1"), false, true),
        (NotEquals(ExactValue::from(&json!(1))), json!(1.0), false, false),
        (NotEquals(ExactValue::from(&json!("main"))), json!([]), false, false),
        (
            In(vec![ExactValue::from(&json!(1)), ExactValue::from(&json!("x"))]),
            json!("x"),
            true,
            true,
        ),
        (
            In(vec![ExactValue::from(&json!(1)), ExactValue::from(&json!("x"))]),
            json!(["x", "y"]),
            false,
            true,
        ),
        (
            NotIn(vec![ExactValue::from(&json!(1)), ExactValue::from(&json!("x"))]),
            json!(["x", "y"]),
            false,
            true,
        ),
        (
            NotIn(vec![ExactValue::from(&json!(1)), ExactValue::from(&json!("x"))]),
            json!("y"),
            true,
            true,
        ),
        (GreaterThan(limit("1")), json!(1), false, false),
        (GreaterThan(limit("1")), json!(1.5), true, true),
        (GreaterThan(limit("1")), json!("2"), false, true),
        (GreaterThan(limit("1")), json!("1e999"), false, true),
        (GreaterThan(limit("1")), json!(null), false, false),
        (LessThan(limit("1")), json!([0, 5]), false, true),
        (AtLeast(limit("1")), json!(1), true, true),
        (AtMost(limit("100")), json!("100"), false, true),
        (AtMost(limit("100")), json!([1, 2]), true, true),
        (Matches("ma*".to_owned()), json!("main"), true, true),
        (Matches("1*".to_owned()), json!(12), true, true),
        (Matches("ma*".to_owned()), json!({"ma": 1}), false, false),
        (Exists(true), json!(null), true, true),
        (Exists(false), json!(0), false, false),
    ] {
        let arguments = json!({"a": value});
        for (sense, expected) in [(Sense::Surely, surely), (Sense::Possibly, possibly)] {
            assert_eq!(
                is_met(comparison.clone(), &arguments, sense),
                expected,
                "{comparison:?} {value} {sense:?}"
            );
        }
    }
}

#[test]
fn numbers_of_any_length_are_compared_exactly() {
    use Comparison::{AtLeast, AtMost, Equals, GreaterThan, In, LessThan, NotEquals, NotIn};
    for (comparison, text, is_sure, [surely, possibly]) in [
        (GreaterThan(limit("9007199254740992")), "9007199254740993", true, [true; 2]),
        (AtMost(limit("9007199254740992")), "9007199254740993", true, [false; 2]),
        (AtMost(limit("9007199254740993")), " 9007199254740993 ", true, [true; 2]),
        (AtMost(limit("50")), "50.0000000000000000001", true, [false; 2]),
        // Where it may be sent as it was read, both count.
        (AtMost(limit("50")), "50.0000000000000000001", false, [false, true]),
        (AtMost(limit("50")), "50.00000000000000000000", false, [true; 2]),
        (AtMost(limit("18446744073709551616")), "18446744073709551617", true, [false; 2]),
        (AtLeast(limit("18446744073709551617")), "18446744073709551616", true, [false; 2]),
        (AtMost(limit("18446744073709551616")), "18446744073709551616", true, [true; 2]),
        (
            LessThan(limit("18446744073709551617")),
            "[1, [18446744073709551617]]",
            true,
            [false, true],
        ),
        (GreaterThan(limit("0")), "1e-400", true, [true; 2]),
        (Equals(exact("18446744073709551616")), "18446744073709551617", true, [false; 2]),
        (Equals(exact("18446744073709551616")), "18446744073709551616", true, [true; 2]),
        (Equals(exact("18446744073709551616")), "\"18446744073709551617\"", true, [false; 2]),
        (
            Equals(exact("18446744073709551616")),
            "\"18446744073709551616\"",
            true,
            [false, true],
        ),
        (NotEquals(exact("18446744073709551616")), "18446744073709551617", true, [true; 2]),
        (Equals(exact("0.1")), "0.10000000000000000001", true, [false; 2]),
        // It may be sent as it was read.
        (Equals(exact("0.1")), "0.10000000000000000001", false, [false, true]),
        (NotEquals(exact("0.1")), "0.10000000000000000001", false, [false, true]),
        (
            In(vec![exact("1"), exact("9007199254740993")]),
            "9007199254740993.0",
            true,
            [true; 2],
        ),
        (
            NotIn(vec![exact("1"), exact("9007199254740993")]),
            "9007199254740992.0",
            true,
            [true; 2],
        ),
        (
            Equals(exact("{\"b\": [1e30]}")),
            "{\"b\": [1000000000000000000000000000001]}",
            true,
            [false; 2],
        ),
        (
            Equals(exact("{\"b\": [1e30]}")),
            "{\"b\": [1000000000000000000000000000000.0]}",
            true,
            [true; 2],
        ),
        (GreaterThan(limit("9007199254740992")), "\"9007199254740993\"", true, [false, true]),
    ] {
        let condition = Condition {
            pointer: "/a".to_owned(),
            comparisons: vec![comparison.clone()],
        };
        let arguments = json!({"a": serde_json::from_str::<Value>(text).unwrap()});
        for (sense, expected) in [(Sense::Surely, surely), (Sense::Possibly, possibly)] {
            let written = Some(Written { text, is_sure });
            let holds = check(&condition, &arguments, (sense, written)).is_ok();
            assert_eq!(holds, expected, "{comparison:?} {text} {sense:?}");
        }
    }
}

#[test]
fn nothing_holds_of_what_is_missing_but_that_it_is() {
    for comparison in [
        Comparison::Equals(ExactValue::from(&json!(null))),
        Comparison::NotEquals(ExactValue::from(&json!(1))),
        Comparison::NotIn(Vec::new()),
        Comparison::AtMost(limit("1")),
        Comparison::Matches("*".to_owned()),
        Comparison::Exists(true),
    ] {
        for sense in [Sense::Surely, Sense::Possibly] {
            assert!(!is_met(comparison.clone(), &json!({}), sense), "{comparison:?}");
        }
    }
    assert!(is_met(Comparison::Exists(false), &json!({}), Sense::Surely));
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        (-3i32..3).prop_map(|number| Value::from(f64::from(number) / 2.0)),
        "(true|TRUE|main|0?[0-2](\\.0)?|1e0|)".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), scalar()];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn operand() -> impl Strategy<Value = ExactValue> {
    value().prop_map(|value| ExactValue::from(&value))
}

fn comparison() -> impl Strategy<Value = Comparison> {
    let limit = || (-2i32..3).prop_map(|number| limit(&number.to_string()));
    prop_oneof![
        operand().prop_map(Comparison::Equals),
        operand().prop_map(Comparison::NotEquals),
        prop::collection::vec(operand(), 0..3).prop_map(Comparison::In),
        prop::collection::vec(operand(), 0..3).prop_map(Comparison::NotIn),
        limit().prop_map(Comparison::GreaterThan),
        limit().prop_map(Comparison::LessThan),
        limit().prop_map(Comparison::AtLeast),
        limit().prop_map(Comparison::AtMost),
        "[m*1]{1,2}".prop_map(Comparison::Matches),
        any::<bool>().prop_map(Comparison::Exists),
    ]
}

/// The same value in other words: numbers as texts and with a fraction, truth in capitals, single values as lists.
fn respelt(value: &Value, way: u8) -> Value {
    match (value, way % 4) {
        (Value::Number(number), 0) => Value::from(format!(" {number}")),
        (Value::Number(number), 1) => Value::from(number.as_f64().unwrap()),
        (Value::Number(number), 2) => Value::from(format!("{:.3}", number.as_f64().unwrap())),
        (Value::Bool(is_true), _) => Value::from(is_true.to_string().to_uppercase()),
        (other, _) => json!([[other]]),
    }
}

proptest! {
    /// What is sure is possible: a rule that denies is never easier to pass than one that allows.
    #[test]
    fn what_holds_surely_holds_possibly(comparison in comparison(), value in value()) {
        let arguments = json!({"a": value});
        if is_met(comparison.clone(), &arguments, Sense::Surely) {
            prop_assert!(is_met(comparison, &arguments, Sense::Possibly));
        }
    }

    /// A comparison and its negation leave nothing out: what is not denied by the one is denied by the other.
    #[test]
    fn a_value_is_possibly_equal_or_possibly_not(operand in scalar(), value in value()) {
        let arguments = json!({"a": value});
        let mut items = Vec::new();
        let given = ExactValue::from(&arguments["a"]);
        items_of(&given, &mut items);
        prop_assume!(!items.is_empty());
        let operand = ExactValue::from(&operand);
        let is = |comparison| is_met(comparison, &arguments, Sense::Possibly);
        prop_assert!(is(Comparison::Equals(operand.clone())) || is(Comparison::NotEquals(operand.clone())));
        prop_assert!(is(Comparison::In(vec![operand.clone()])) || is(Comparison::NotIn(vec![operand])));
    }

    /// Another spelling of a value does not get around a rule that denies it.
    #[test]
    fn no_spelling_gets_around_a_denial(value in scalar(), way in any::<u8>()) {
        let arguments = json!({"a": respelt(&value, way)});
        prop_assert!(is_met(Comparison::Equals(ExactValue::from(&value)), &arguments, Sense::Possibly), "{value} {arguments}");
        if value.is_number() {
            let number = limit(&value.to_string());
            prop_assert!(is_met(Comparison::AtLeast(number.clone()), &arguments, Sense::Possibly), "{value} {arguments}");
            prop_assert!(is_met(Comparison::AtMost(number), &arguments, Sense::Possibly), "{value} {arguments}");
        }
    }
}
