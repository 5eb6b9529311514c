//! What a model is told about an input that does not fit: every kind of mistake, word for word.

use flemma_model::ToolInput;
use flemma_tools::{Definition, Executor, LuaRef, PathParams, Registry, Runner};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::workshop::Workshop;

/// A tool whose schema has these properties.
fn tool_with(properties: Value) -> Definition {
    tool(json!({
        "type": "object",
        "properties": properties,
        "$defs": {
            "edit": {
                "type": "object",
                "properties": { "line": { "type": "integer" }, "text": { "type": "string" } },
                "required": ["line"],
                "additionalProperties": false,
            },
            "tree": { "type": "object", "properties": { "child": { "$ref": "#/$defs/tree" } }, "additionalProperties": false },
        },
        "required": ["a"],
        "additionalProperties": false,
    }))
}

fn tool(schema: Value) -> Definition {
    let tool = Definition::new("search", "Searches.", schema, Executor::Server(Runner::Lua(LuaRef(1))));
    tool.check().unwrap();
    tool
}

/// What is said about `input` where the schema has these properties.
fn check(properties: Value, input: Value) -> Result<(), String> {
    checked(&tool_with(properties), input)
}

fn checked(tool: &Definition, input: Value) -> Result<(), String> {
    tool.check_input(&ToolInput::Json(input)).map(drop).map_err(|error| error.to_string())
}

/// The one mistake that is told.
#[track_caller]
fn mistake(properties: Value, input: Value) -> String {
    let message = check(properties, input).unwrap_err();
    let told = message.strip_prefix("The input of `search` does not match its schema:\n- ").unwrap();
    assert!(!told.contains("\n- "), "{message}");
    told.to_owned()
}

#[test]
fn each_kind_of_mistake_has_its_words() {
    let union = || json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    let shapes = || {
        json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } }, "required": ["kind", "r"] },
            { "type": "object", "properties": { "kind": { "const": "square" } }, "required": ["kind"] },
        ] })
    };
    let table = [
        // Types
        (json!({ "type": "string" }), json!({ "a": 5 }), "`/a`: expected string, got the number 5"),
        (json!({ "type": "string" }), json!({ "a": null }), "`/a`: expected string, got null"),
        (json!({ "type": "boolean" }), json!({ "a": "yes" }), "`/a`: expected boolean, got the string \"yes\""),
        (json!({ "type": "integer" }), json!({ "a": 1.5 }), "`/a`: expected integer, got the number 1.5"),
        (json!({ "type": "array" }), json!({ "a": {} }), "`/a`: expected array, got an empty object"),
        (json!({ "type": "object" }), json!({ "a": [] }), "`/a`: expected object, got an empty array"),
        (json!({ "type": "object" }), json!({ "a": [1] }), "`/a`: expected object, got an array of 1 item"),
        (json!({ "type": "string" }), json!({ "a": {"b": 1} }), "`/a`: expected string, got an object with 1 property"),
        // Nullable
        (
            json!({ "type": ["number", "null"] }),
            json!({ "a": "" }),
            "`/a`: expected null or number, got an empty string",
        ),
        (union(), json!({ "a": 5 }), "`/a`: expected string or null, got the number 5"),
        // Names
        (json!({ "type": "string" }), json!({}), "the input: `a` is missing"),
        (json!({}), json!({ "a": 1, "b": 2 }), "the input: unknown property `b`"),
        (json!({}), json!({ "a": 1, "xyz": 2, "uvw": 3 }), "the input: unknown properties `xyz`, `uvw`"),
        // Values
        (
            json!({ "enum": ["fast", "slow", null] }),
            json!({ "a": "quick" }),
            "`/a`: expected one of \"fast\", \"slow\", null, got the string \"quick\"",
        ),
        (json!({ "enum": ["fast"] }), json!({ "a": "quick" }), "`/a`: expected \"fast\", got the string \"quick\""),
        (json!({ "const": 7 }), json!({ "a": 8 }), "`/a`: expected 7, got the number 8"),
        (json!({ "minimum": 1 }), json!({ "a": 0 }), "`/a`: expected at least 1, got the number 0"),
        (json!({ "maximum": 9 }), json!({ "a": 10 }), "`/a`: expected at most 9, got the number 10"),
        (json!({ "exclusiveMinimum": 0 }), json!({ "a": 0 }), "`/a`: expected more than 0, got the number 0"),
        (json!({ "exclusiveMaximum": 1.5 }), json!({ "a": 1.5 }), "`/a`: expected less than 1.5, got the number 1.5"),
        (json!({ "multipleOf": 5 }), json!({ "a": 7 }), "`/a`: expected a multiple of 5, got the number 7"),
        (
            json!({ "minLength": 1 }),
            json!({ "a": "" }),
            "`/a`: expected text of at least 1 character, got an empty string",
        ),
        (
            json!({ "maxLength": 2 }),
            json!({ "a": "abc" }),
            "`/a`: expected text of at most 2 characters, got the string \"abc\"",
        ),
        (
            json!({ "pattern": "^[a-z]+$" }),
            json!({ "a": "A b" }),
            "`/a`: expected text that matches `^[a-z]+$`, got the string \"A b\"",
        ),
        (
            json!({ "not": { "const": "root" } }),
            json!({ "a": "root" }),
            "`/a`: expected anything but what matches {\"const\":\"root\"}, got the string \"root\"",
        ),
        (json!(false), json!({ "a": 1 }), "`/a`: nothing is allowed here: leave it out"),
        // Arrays
        (
            json!({ "items": { "type": "integer" } }),
            json!({ "a": [1, "2\n"] }),
            "`/a/1`: expected integer, got the string \"2\\n\"",
        ),
        (json!({ "minItems": 1 }), json!({ "a": [] }), "`/a`: expected at least 1 item, got an empty array"),
        (json!({ "maxItems": 1 }), json!({ "a": [1, 2] }), "`/a`: expected at most 1 item, got an array of 2 items"),
        (
            json!({ "uniqueItems": true }),
            json!({ "a": [1, 1] }),
            "`/a`: two items are the same: each item may occur only once",
        ),
        (
            json!({ "contains": { "const": 1 } }),
            json!({ "a": [2] }),
            "`/a`: expected an item that matches {\"const\":1}, got an array of 1 item",
        ),
        (
            json!({ "prefixItems": [{}], "items": false }),
            json!({ "a": [1, 2] }),
            "`/a/1`: nothing is allowed here: leave it out",
        ),
        // Objects
        (json!({ "minProperties": 1 }), json!({ "a": {} }), "`/a`: expected at least 1 property, got an empty object"),
        (
            json!({ "maxProperties": 1 }),
            json!({ "a": { "x": 1, "y": 2 } }),
            "`/a`: expected at most 1 property, got an object with 2 properties",
        ),
        (
            json!({ "propertyNames": { "pattern": "^x" } }),
            json!({ "a": { "y": 1 } }),
            "`/a`: the name of a property is not valid: expected text that matches `^x`, got the string \"y\"",
        ),
        (
            json!({ "properties": { "x": { "properties": { "y": { "type": "string" } } } } }),
            json!({ "a": { "x": { "y": 1 } } }),
            "`/a/x/y`: expected string, got the number 1",
        ),
        // References
        (json!({ "$ref": "#/$defs/edit" }), json!({ "a": { "text": "x" } }), "`/a`: `line` is missing"),
        (
            json!({ "$ref": "#/$defs/edit" }),
            json!({ "a": { "line": 1, "txet": "" } }),
            "`/a`: unknown property `txet`; did you mean `text`?",
        ),
        (
            json!({ "items": { "$ref": "#/$defs/edit" } }),
            json!({ "a": [{ "line": "one" }] }),
            "`/a/0/line`: expected integer, got the string \"one\"",
        ),
        (
            json!({ "$ref": "#/$defs/tree" }),
            json!({ "a": { "child": { "child": 5 } } }),
            "`/a/child/child`: expected object, got the number 5",
        ),
        // Forms
        (
            shapes(),
            json!({ "a": { "kind": "circle" } }),
            "`/a`: an object with 1 property matches none of the allowed forms: either `r` is missing; or `/a/kind`: expected \"square\", got the string \"circle\"",
        ),
        (shapes(), json!({ "a": "circle" }), "`/a`: expected object, got the string \"circle\""),
        (
            json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 9 }] }),
            json!({ "a": 5 }),
            "`/a`: the number 5 matches several of the allowed forms, but must match exactly one",
        ),
        (
            json!({ "anyOf": [{ "minimum": 10 }, { "maximum": 1 }] }),
            json!({ "a": 5 }),
            "`/a`: the number 5 matches none of the allowed forms: either expected at least 10; or expected at most 1",
        ),
        (
            json!({ "allOf": [{ "type": "integer" }, { "minimum": 3 }] }),
            json!({ "a": 2 }),
            "`/a`: expected at least 3, got the number 2",
        ),
        (
            json!({ "anyOf": [{ "enum": ["x"] }, { "type": "integer" }] }),
            json!({ "a": "y" }),
            "`/a`: expected \"x\" or integer, got the string \"y\"",
        ),
    ];
    let mut wrong = Vec::new();
    for (schema, input, expected) in table {
        let told = mistake(json!({ "a": schema }), input.clone());
        if told != expected {
            wrong.push(format!("{input} against {schema}:\n  {told}\n  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_input_that_is_no_object_is_told_so() {
    let message = check(json!({}), json!([1, 2])).unwrap_err();
    assert_eq!(
        message,
        "The input of `search` does not match its schema:\n- the input: expected object, got an array of 2 items"
    );
}

#[test]
fn what_is_allowed_is_not_complained_about() {
    let nullable =
        json!({ "a": { "type": ["string", "null"] }, "b": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } });
    for input in [json!({}), json!({ "a": null }), json!({ "a": "x", "b": null }), json!({ "a": "x", "b": 1 })] {
        assert_eq!(check(nullable.clone(), input), Ok(()));
    }
    assert_eq!(
        check(json!({ "a": { "type": "integer" } }), json!({ "a": 5.0 })),
        Ok(()),
        "JSON has one kind of number"
    );
}

#[test]
fn what_a_model_meant_is_taken_if_nothing_is_lost() {
    let number = || json!({ "type": "number" });
    let optional = || json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] });
    let edits = || json!({ "type": "array", "items": { "$ref": "#/$defs/edit" } });
    let taken = [
        (json!({ "type": "integer" }), json!("12"), json!(12)),
        (json!({ "type": ["integer", "null"] }), json!("-12"), json!(-12)),
        (number(), json!("1.5"), json!(1.5)),
        (number(), json!("1.50e3"), json!(1500.0)),
        (number(), json!("18446744073709551615"), json!(18_446_744_073_709_551_615_u64)),
        (number(), json!("0.000"), json!(0.0)),
        (optional(), json!("7"), json!(7)),
        (json!({ "enum": [1, 2, "3"] }), json!("2"), json!(2)),
        (json!({ "enum": [1, 2, "3"] }), json!("3"), json!("3")),
        (json!({ "const": true }), json!("true"), json!(true)),
        (json!({ "type": "boolean" }), json!("false"), json!(false)),
        (json!({ "type": ["string", "integer"] }), json!("12"), json!("12")),
        (edits(), json!([{ "line": "3", "text": "4", "more": null }]), json!([{ "line": 3, "text": "4" }])),
        (edits(), json!([{ "line": 3, "text": null }]), json!([{ "line": 3 }])),
        (
            json!({ "properties": { "x/y~z": { "type": "integer" } }, "additionalProperties": { "type": "string" } }),
            json!({ "x/y~z": "1", "b/~": null, "c": "d" }),
            json!({ "x/y~z": 1, "c": "d" }),
        ),
        (
            json!({ "properties": { "x": {} }, "unevaluatedProperties": false }),
            json!({ "x": null, "y": null }),
            json!({ "x": null }),
        ),
        (json!({ "properties": {}, "additionalProperties": false }), json!({ "y": null }), json!({})),
    ];
    let take = |schema: &Value, value: &Value| {
        let (properties, input) = (json!({ "a": schema }), json!({ "a": value, "unknown": null }));
        let tool = tool_with(properties);
        let input = ToolInput::Json(input);
        let taken = tool.check_input(&input).map(|taken| taken["a"].clone());
        taken.map_err(|error| error.to_string())
    };
    for (schema, value, expected) in &taken {
        assert_eq!(take(schema, value).as_ref(), Ok(expected), "{value} for {schema}");
    }
    let texts = [
        "12abc",
        " 12",
        "12 ",
        "12\n",
        "1e400",
        "-1e400",
        "1e-400",
        "0x10",
        "012",
        "+1",
        "1_000",
        "1,5",
        ".5",
        "1.",
        "NaN",
        "inf",
        "",
        "true",
        "12345678901234567890123",
        "0.12345678901234567890",
        "9007199254740993.0",
        "twelve",
        "\"12\"",
        "[12]",
    ];
    for text in texts {
        assert!(take(&number(), &json!(text)).is_err(), "{text:?} is no number");
    }
    for text in ["True", "yes", "1", "0", " true"] {
        assert!(take(&json!({ "type": "boolean" }), &json!(text)).is_err(), "{text:?} is no boolean");
    }
    let lost = [
        (json!({ "type": "integer" }), json!("1.5")),
        (json!({ "type": "integer", "maximum": 9 }), json!("12")),
        (json!({ "type": "string" }), json!(null)),
        (json!({ "pattern": "^[a-z]+$" }), json!("12")),
        (json!({ "type": "array", "items": { "type": "integer" } }), json!(["1", null])),
        (edits(), json!([{ "line": null }])),
        (edits(), json!([{ "line": 1, "more": 0 }])),
    ];
    for (schema, value) in lost {
        assert!(take(&schema, &value).is_err(), "{value} for {schema}");
    }
}

proptest! {
    #[test]
    fn a_number_as_text_is_that_number(number in any::<f64>(), whole in any::<i64>()) {
        let tool = tool_with(json!({ "a": { "type": "number" } }));
        for value in [json!(number), json!(whole)] {
            let input = ToolInput::Json(json!({ "a": value.to_string() }));
            if let Ok(taken) = tool.check_input(&input) {
                prop_assert_eq!(&taken["a"], &value);
            } else {
                prop_assert!(!value.is_i64());
            }
        }
    }
}

#[test]
fn several_mistakes_are_listed_and_very_many_counted() {
    let input = json!({ "a": [0, "x", "y", "z", "u", "v", "w"], "b": 1 });
    let message = check(json!({ "a": { "items": { "type": "integer" } } }), input).unwrap_err();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 7, "{message}");
    assert_eq!(lines[6], "- and 2 more");
}

#[test]
fn a_huge_wrong_value_is_quoted_in_part() {
    for schema in [
        json!({ "type": "integer" }),
        json!({ "enum": ["x"] }),
        json!({ "pattern": "^x" }),
        json!({ "anyOf": [{ "minLength": 1e9 }, { "type": "null" }] }),
    ] {
        let message = check(json!({ "a": schema }), json!({ "a": "y".repeat(1_000_000) })).unwrap_err();
        assert!(message.len() < 400, "{message}");
    }
}

#[test]
fn text_that_is_no_json_is_told_the_place_and_what_is_there() {
    let registry = Registry::with_builtins();
    let table = [
        ("", "it is empty"),
        ("{\"path\": ", "it ends unexpectedly at line 1 column 9"),
        ("{\"path\": \"a", "it ends unexpectedly at line 1 column 11"),
        (
            "{\"path\": \"a\",\n \"offset\": 1,}",
            "key must be a string at line 2 column 14, in ` \"a\",\\n \"offset\": 1,}`",
        ),
        ("{'path': 1}", "key must be a string at line 1 column 2, in `{'path': 1}`"),
        ("{\"path\": tru}", "expected ident at line 1 column 13, in `{\"path\": tru}`"),
        ("{\"a\": 1} {\"b\": 2}", "trailing characters at line 1 column 10, in `{\"a\": 1} {\"b\": 2}`"),
        ("Sure! {\"a\": 1}", "expected value at line 1 column 1, in `Sure! {\"a\": 1}`"),
        ("[1]", "it is not an object"),
    ];
    for (text, problem) in table {
        let message = registry.get("read").unwrap().check_input(&ToolInput::Malformed(text.to_owned())).unwrap_err();
        assert_eq!(
            message.to_string(),
            format!(
                "The input of `read` is not valid JSON: {problem}. Send one JSON object that matches the tool's schema."
            )
        );
    }
    let long = format!("{{\"text\": \"{}\" oops }}", "漢".repeat(100_000));
    let message = registry.get("read").unwrap().check_input(&ToolInput::Malformed(long)).unwrap_err().to_string();
    assert!(message.contains("漢\" oops }`") && message.len() < 300, "{message}");
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    for (text, problem) in [("{\"n\":1e400}", "number out of range"), (deep.as_str(), "recursion limit exceeded")] {
        let message = registry.get("read").unwrap().check_input(&ToolInput::Malformed(text.to_owned())).unwrap_err();
        assert!(
            message.to_string().starts_with(&format!("The input of `read` cannot be read: {problem}")),
            "{message}"
        );
    }
}

/// Looking where such a path leads would take minutes.
#[test]
fn a_path_of_megabytes_is_refused_before_it_is_looked_at() {
    let shop = Workshop::new();
    let long = "a/".repeat(1_000_000);
    let registry = Registry::with_builtins();
    for definition in registry.all().filter(|definition| definition.read_path_param.is_some()) {
        let name = &definition.name;
        for param in definition.read_path_param.iter().chain(&definition.write_path_param).flat_map(PathParams::iter) {
            let given = ToolInput::Json(json!({ param: long }));
            let problem = definition.check_input(&given).unwrap_err().to_string();
            assert_eq!(problem, format!("`{param}` has 2000000 bytes, and a path has at most 4096."), "{name}");
        }
    }
    assert!(shop.render("ls", json!({ "label": null, "path": long, "limit": null })).text.contains("at most 4096"));
}

/// A chain of definitions, each of which refers to the next one twice.
fn doubling(levels: usize, keyword: &str) -> Value {
    let mut definitions = json!({ "d0": {} });
    for level in 1..=levels {
        let next = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
        definitions[format!("d{level}")] = json!({ keyword: [next.clone(), next] });
    }
    json!({ "type": "object", "$ref": format!("#/$defs/d{levels}"), "$defs": definitions })
}

#[test]
fn the_references_of_a_schema_bound_a_check() {
    let tree = |keyword: &str| {
        let node = json!({ "type": "object", "properties": { "c": { "$ref": "#/$defs/n" } } });
        json!({ "type": "object", "$ref": "#/$defs/n", "$defs": { "n": { keyword: [node.clone(), node]  } } })
    };
    let nested = |levels| (0..levels).fold(json!({}), |inner, _| json!({ "c": inner }));
    let marked = json!({
        "type": "object",
        "allOf": [{ "properties": { "c": { "$ref": "#" } } }],
        "unevaluatedProperties": false,
    });
    let named = json!({
        "type": "object",
        "$ref": "#node",
        "$defs": { "n": { "$anchor": "node", "allOf": [{ "properties": { "c": { "$dynamicRef": "#node" } } }, { "$ref": "#" }] } },
    });
    for (schema, input) in [
        (doubling(24, "allOf"), json!({})),
        (doubling(24, "anyOf"), json!({})),
        (doubling(24, "oneOf"), json!({ "x": 1 })),
        (tree("allOf"), nested(20)),
        (tree("anyOf"), nested(20)),
        (marked, nested(40)),
        (named, nested(40)),
        (chain(5000), json!({})),
    ] {
        let problem = checked(&tool(schema), input).unwrap_err();
        assert!(problem.starts_with("The input of `search` ") && problem.contains("takes too many steps"), "{problem}");
    }
    // What people write is checked.
    let list = json!({ "c": nested(30), "a": vec![nested(3); 1000] });
    let recursive = json!({
        "type": "object",
        "properties": { "c": { "$ref": "#" }, "a": { "type": "array", "items": { "$ref": "#" } } },
        "additionalProperties": false,
    });
    for (schema, input) in
        [(recursive, list), (doubling(8, "anyOf"), json!({})), (tree("anyOf"), nested(8)), (chain(400), json!({}))]
    {
        assert_eq!(checked(&tool(schema), input), Ok(()));
    }
}

/// A chain of definitions, each of which refers to the next one.
fn chain(levels: usize) -> Value {
    let mut definitions = json!({ "d0": {} });
    for level in 1..=levels {
        definitions[format!("d{level}")] = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
    }
    json!({ "type": "object", "$ref": format!("#/$defs/d{levels}"), "$defs": definitions })
}
