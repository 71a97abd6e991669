//! Golden texts of a document with a trap of each kind.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::function::Types;

#[derive(Deserialize)]
struct Fixture {
    types: Types,
    functions: Vec<Function>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("shop.json")).unwrap()
}

/// The card as a person reads it: JSON, with the source texts below.
fn show(name: &str, language: Language, budget: usize) -> String {
    let Fixture { types, functions } = fixture();
    let function = functions.iter().find(|function| function.python == name).unwrap();
    let mut card = card(function, &types, language, budget);
    let (source, example) = (std::mem::take(&mut card.types), std::mem::take(&mut card.example));
    format!("{}\n---\n{source}---\n{example}", serde_json::to_string_pretty(&card).unwrap())
}

#[test]
fn cards_in_python() {
    insta::assert_snapshot!("put_item_python", show("put_item", Language::Python, 4000));
    insta::assert_snapshot!("post_odd_python", show("post_odd", Language::Python, 4000));
    insta::assert_snapshot!("ping_python", show("ping", Language::Python, 4000));
}

#[test]
fn cards_in_typescript() {
    insta::assert_snapshot!("put_item_typescript", show("put_item", Language::TypeScript, 4000));
    insta::assert_snapshot!("post_odd_typescript", show("post_odd", Language::TypeScript, 4000));
    insta::assert_snapshot!("ping_typescript", show("ping", Language::TypeScript, 4000));
}

#[test]
fn outlines_show_what_a_call_needs() {
    let Fixture { types, functions } = fixture();
    let all: Vec<String> = [Language::Python, Language::TypeScript]
        .into_iter()
        .flat_map(|language| functions.iter().map(move |function| (language, function)))
        .map(|(language, function)| outline(function, &types, language, 300))
        .map(|outline| format!("{}\n{}", outline.signature, outline.types))
        .collect();
    insta::assert_snapshot!("outlines", all.join("\n"));
}

#[test]
fn a_signature_is_the_same_in_each_text() {
    let Fixture { types, functions } = fixture();
    for function in &functions {
        for language in [Language::Python, Language::TypeScript] {
            let alone = signature(function, &types, language);
            assert_eq!(alone, card(function, &types, language, 4000).signature);
            assert_eq!(alone, outline(function, &types, language, 0).signature);
        }
    }
}

#[test]
fn types_keep_to_their_budget_and_name_what_is_cut() {
    let Fixture { types, functions } = fixture();
    for budget in [0, 40, 100, 200, 400, 800, 1600] {
        for function in &functions {
            for language in [Language::Python, Language::TypeScript] {
                let text = card(function, &types, language, budget).types;
                let (shown, cut) = text
                    .split_once("# not shown")
                    .or_else(|| text.split_once("// not shown"))
                    .or_else(|| text.split_once("# shown in part"))
                    .or_else(|| text.split_once("// shown in part"))
                    .unwrap_or((&text, ""));
                assert!(shown.chars().count() <= budget, "{budget}: {text}");
                assert!(budget > 100 || function.python == "ping" || !cut.is_empty(), "{budget}: {text}");
            }
        }
    }
}

/// Names of types after `mark` in the comment at the end of a text.
fn named_after(mark: &str, text: &str) -> Vec<String> {
    let listed = text.split_once(mark).map_or("", |(_, rest)| rest);
    let listed = listed.split([';', '\n']).next().unwrap_or_default();
    listed.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn each_type_that_is_cut_can_be_asked_for() {
    let Fixture { types, functions } = fixture();
    for budget in [0, 40, 100, 200, 400, 800, 1600] {
        for function in &functions {
            for language in [Language::Python, Language::TypeScript] {
                let text = card(function, &types, language, budget).types;
                let cut = [named_after("not shown: ", &text), named_after("shown in part: ", &text)].concat();
                let advice = cut
                    .first()
                    .map(|first| format!("get_functions shows them for this function with \"types\": [\"{first}\"]\n"));
                assert!(text.ends_with(advice.as_deref().unwrap_or_default()), "{text}");
                let budgets = TypeBudgets {
                    card: budget,
                    types: 100_000,
                };
                let shown = type_card(function, &types, language, &cut, budgets);
                let at_hand: Vec<&String> = cut.iter().filter(|name| *name != "Gone").collect();
                assert_eq!(shown.unknown.len(), cut.len() - at_hand.len(), "{shown:?}");
                for name in at_hand {
                    let definitions = [
                        format!("class {name}("),
                        format!("{name} = "),
                        format!("{name}: TypeAlias"),
                        format!("interface {name} "),
                        format!("type {name} "),
                    ];
                    assert!(
                        definitions.iter().any(|definition| shown.types.contains(definition)),
                        "{name}: {shown:?}"
                    );
                }
                assert!(
                    !shown.types.contains("not shown: ") || named_after("not shown: ", &shown.types) == ["Gone"],
                    "{shown:?}"
                );
            }
        }
    }
}

#[test]
fn a_long_enumeration_has_a_name_and_all_its_values_when_it_is_asked_for() {
    let mut function = fixture().functions.remove(0);
    let values: Vec<String> = (0..40).map(|n| format!("v{n}")).collect();
    function.parameters.truncate(1);
    function.parameters[0].is_required = false;
    function.parameters[0].schema = serde_json::json!({"type": "string", "enum": values, "default": "v35"});
    (function.body, function.result) = (None, None);
    let shown = card(&function, &Types::new(), Language::Python, 4_000);
    assert!(shown.signature.contains("= \"v35\""), "{}", shown.signature);
    let name = named_after("shown in part: ", &shown.types);
    assert!(
        shown.types.contains("\"v29\"") && !shown.types.contains("\"v30\""),
        "{}",
        shown.types
    );
    let budgets = TypeBudgets { card: 4_000, types: 4_000 };
    let asked = type_card(&function, &Types::new(), Language::Python, &name, budgets);
    assert!(asked.types.contains("\"v39\"") && !asked.types.contains("in part"), "{asked:?}");
}

/// The text of one type, with a required argument of it.
fn text_of(schema: Value, types: Value, language: Language) -> String {
    let mut function = fixture().functions.remove(0);
    let types: Types = serde_json::from_value(types).unwrap();
    function.body = None;
    function.parameters.truncate(1);
    function.parameters[0].schema = schema;
    function.result = None;
    module(&[function], &types, language)
}

#[test]
fn types_say_what_the_schema_says() {
    let check = |schema: Value, types: Value, python: &str, typescript: &str| {
        let text = text_of(schema.clone(), types.clone(), Language::Python);
        assert!(text.contains(python), "{python} is not in {text}");
        let text = text_of(schema, types, Language::TypeScript);
        assert!(text.contains(typescript), "{typescript} is not in {text}");
    };
    let thing = serde_json::json!({"$ref": "#/$defs/Thing"});
    let one = |schema: Value| serde_json::json!({ "Thing": schema });
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    // Required, but nowhere declared.
    let schema = json(r#"{"type": "object", "required": ["a", "b"], "properties": {"a": {"type": ["integer", "null"]}}}"#);
    check(
        thing.clone(),
        one(schema),
        "    a: int | None\n    b: Any\n",
        "  a: number | null;\n  b: any;\n",
    );
    // Which member it is.
    let schema = json(
        r##"{"oneOf": [{"$ref": "#/$defs/Thing2"}, {"type": "null"}], "discriminator": {"propertyName": "kind", "mapping": {"t": "#/$defs/Thing2"}}}"##,
    );
    let types = serde_json::json!({"Thing": schema, "Thing2": {"properties": {"kind": {"type": "string"}}}});
    check(
        thing.clone(),
        types,
        "Thing = Thing2 | None  # by kind: \"t\" is Thing2",
        "type Thing = Thing2 | null; // by kind: \"t\" is Thing2",
    );
    // Enumerations of all kinds of values, short and long.
    check(
        json(r#"{"enum": [4.5, 3, null, true]}"#),
        one(Value::Null),
        "id: Literal[3, True] | float | None",
        "id: 3 | true | number | null",
    );
    let many: Vec<Value> = (0..40).map(Value::from).collect();
    check(serde_json::json!({ "enum": many }), one(Value::Null), "id: int)", "id: number }");
    // An alias of itself.
    let schema = json(r##"{"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Thing"}}]}"##);
    check(
        thing,
        one(schema),
        "Thing: TypeAlias = str | list[Thing]",
        "type Thing = string | Thing[];",
    );
}

#[test]
fn a_default_of_another_type_is_not_shown() {
    let mut function = fixture().functions.remove(0);
    let mut check = |schema: Value, expected: &str| {
        function.parameters[2].schema = schema;
        let text = signature(&function, &Types::new(), Language::Python);
        assert!(text.contains(expected), "{expected} is not in {text}");
    };
    check(serde_json::json!({"type": "integer", "default": 7}), "limit: int = 7");
    check(serde_json::json!({"type": "integer", "default": "7"}), "limit: int = ...");
    check(serde_json::json!({"enum": ["a"], "default": "b"}), "limit: Literal[\"a\"] = ...");
}

#[test]
fn a_module_has_all_functions_and_each_type_once() {
    let Fixture { types, functions } = fixture();
    for language in [Language::Python, Language::TypeScript] {
        let text = module(&functions, &types, language);
        for function in &functions {
            assert!(text.contains(&format!("{}(", language.function_name(function))), "{text}");
        }
        let heads = ["class Item(", "interface Item {"];
        assert_eq!(heads.iter().map(|head| text.matches(head).count()).sum::<usize>(), 1, "{text}");
    }
}

#[test]
fn an_object_beside_alternatives_that_say_nothing_is_one() {
    let mut function = fixture().functions.remove(0);
    for keyword in ["oneOf", "anyOf"] {
        let said = serde_json::json!({"type": ["object", "string"], "properties": {"a": {"type": "integer"}}, keyword: [{"title": "x"}]});
        function.result = Some(said);
        let card = card(&function, &Types::new(), Language::Python, 500);
        assert!(card.types.contains("a: NotRequired[int]"), "{card:?}");
    }
}

#[test]
fn unions_of_unions_end() {
    let parts = |own: usize| {
        (0..12)
            .map(|other| serde_json::json!({"$ref": format!("#/$defs/T{}", (own + other) % 12)}))
            .collect::<Vec<_>>()
    };
    let types: Types = (0..12)
        .map(|own| {
            let properties = serde_json::json!({ format!("p{own}"): {"oneOf": parts(own), "properties": {"x": {}}} });
            (
                format!("T{own}"),
                serde_json::json!({"anyOf": parts(own), "allOf": parts(own), "properties": properties}),
            )
        })
        .collect();
    let mut function = fixture().functions.remove(0);
    function.result = Some(serde_json::json!({"$ref": "#/$defs/T0"}));
    let card = card(&function, &types, Language::TypeScript, 10_000);
    assert!(card.types.chars().count() < 20_000);
}

/// Schemas of any shape, valid or not, that refer to each other.
fn schemas() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "prefixItems",
        "allOf",
        "oneOf",
        "anyOf",
        "enum",
        "const",
        "$ref",
        "default",
        "example",
        "description",
        "format",
        "additionalProperties",
        "readOnly",
        "writeOnly",
        "title",
        "class",
        "a-b",
        "__proto__",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "object",
            "array",
            "string",
            "null",
            "binary",
            "#/$defs/A",
            "#/$defs/B",
            "#/$defs/Gone",
            "x\n\"*/#'\\\u{2028}"
        ])
        .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let members = prop::collection::vec((keyword.clone(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_becomes_a_bounded_text(a in schemas(), b in schemas()) {
        let types = Types::from([("A".to_owned(), a.clone()), ("B".to_owned(), b)]);
        let mut function = fixture().functions.remove(0);
        function.result = Some(a.clone());
        function.parameters[1].schema = a;
        for language in [Language::Python, Language::TypeScript] {
            let card = card(&function, &types, language, 500);
            let is_one_line = !card.signature.contains(['\n', '\r', '\u{2028}']);
            prop_assert!(is_one_line);
            prop_assert!(card.types.chars().count() < 3000);
        }
    }
}
