//! Schemas by example, and the XML of examples, read back as a model's call.

use std::sync::Arc;

use flemma_compat::{to_xml, xml_schema};
use flemma_model::{Event, ToolInput};
use flemma_provider::{ToolSpec, xml_tools::read_calls};
use flemma_text::xml;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::plain::Plain;

/// The input of the call that a model makes by writing this XML, if its tool has this schema.
fn called(schema: &Value, xml: &str) -> Value {
    let input_schema = Arc::new(schema.clone());
    let tool = ToolSpec { name: "x".into(), description: String::new(), input_schema, strict: false, prompt: None };
    let mut decoder = read_calls(Box::new(Plain), Arc::new([tool]));
    let mut events = Vec::new();
    decoder.feed(format!("``````````xml\n{xml}\n``````````\n").as_bytes(), &mut events).unwrap();
    decoder.finish(&mut events).unwrap();
    let mut inputs = events.into_iter().filter_map(|event| match event {
        Event::ToolUse { input: ToolInput::Json(input), .. } => Some(input),
        Event::ToolUse { input, .. } => panic!("{input:?} of {xml}"),
        _ => None,
    });
    let (first, second) = (inputs.next(), inputs.next());
    assert_eq!(second, None, "{xml}");
    first.unwrap_or_else(|| panic!("no call in {xml}"))
}

/// Checks that a model that copies an example makes a call that the tool accepts; gives its input.
fn copied(schema: &Value, example: &Value) -> Value {
    let xml = to_xml(example, Some("tool")).unwrap();
    let input = called(schema, &xml);
    assert!(jsonschema::is_valid(schema, &input), "{input}\nof {xml}\nfor {schema:#}");
    input
}

fn calculator() -> Value {
    json!({ "_attr": { "name": "x" }, "action": { "num1": "100", "num2": "50", "operation": "multiply" } })
}

#[test]
fn the_calculators_xml_is_that_of_its_guide() {
    let mut example = calculator();
    example["_attr"]["name"] = "calculator".into();
    let xml = "<tool name=\"calculator\">\n  <action>\n    <num1>100</num1>\n    <num2>50</num2>\n    \
               <operation>multiply</operation>\n  </action>\n</tool>";
    assert_eq!(to_xml(&example, Some("tool")).unwrap(), xml);
    assert_eq!(to_xml(&json!({ "tool": example }), None).unwrap(), xml);
    assert_eq!(to_xml(&json!([{ "tool": example }]), Some("")).unwrap(), xml);
}

#[test]
fn the_calculators_schema_has_a_string_for_each_text() {
    let schema = xml_schema(&calculator()).unwrap();
    let text = |example: &str| json!({ "type": "string", "description": format!("Example: {example}") });
    let action = json!({
        "type": "object",
        "properties": { "num1": text("100"), "num2": text("50"), "operation": text("multiply") },
        "required": ["num1", "num2", "operation"],
    });
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": { "action": { "anyOf": [action.clone(), { "type": "array", "items": action }] } },
            "required": ["action"],
        })
    );
    let input = copied(&schema, &calculator());
    assert_eq!(input, json!({ "action": { "num1": "100", "num2": "50", "operation": "multiply" } }));
}

/// A tool that works on files, as such tools are written.
fn files() -> Value {
    let create =
        json!({ "_attr": { "type": "create" }, "path": "/tmp/a.lua", "contents": "<![CDATA[    print('<>')]]>" });
    let delete = json!({ "_attr": { "type": "delete" }, "path": "/tmp/b.lua" });
    let tool = |action: Value| json!({ "tool": { "_attr": { "name": "x" }, "action": action } });
    json!([tool(create.clone()), tool(delete.clone()), tool(json!([create, delete]))])
}

#[test]
fn actions_of_several_types_are_told_apart() {
    let schema = xml_schema(&files()).unwrap();
    let action = |input: Value| jsonschema::is_valid(&schema, &json!({ "action": input }));
    assert!(action(json!({ "_attr": { "type": "delete" }, "path": "a" })));
    assert!(action(json!([{ "_attr": { "type": "delete" }, "path": "a" }])));
    assert!(!action(json!({ "_attr": { "type": "create" }, "path": "a" })), "its text is missing");
    assert!(!action(json!({ "_attr": { "type": "rename" }, "path": "a" })));
    assert!(!action(json!({ "path": "a" })));
    assert!(!action(json!("delete")));
    assert!(schema.to_string().contains("\"description\":\"Example: print('<>')\""), "{schema:#}");
    for example in files().as_array().unwrap() {
        let example = &example["tool"];
        let input = copied(&schema, example);
        assert_eq!(input["action"].is_array(), example["action"].is_array());
        assert!(input.to_string().contains("    print('<>')") || !example.to_string().contains("CDATA"));
    }
}

#[test]
fn what_not_every_example_has_is_optional() {
    let tool = |action: Value| json!({ "_attr": { "name": "x" }, "action": action });
    let examples = [json!({ "command": "ls" }), json!({ "command": "make", "flag": "testing" })].map(tool);
    let schema = xml_schema(&Value::Array(examples.to_vec())).unwrap();
    let action = &schema["properties"]["action"]["anyOf"][0];
    assert_eq!(action["required"], json!(["command"]));
    assert_eq!(action["properties"]["command"]["description"], "Examples: ls; make");
    examples.iter().for_each(|example| drop(copied(&schema, example)));
    // Neither has what the other has.
    let examples = [json!({ "a": "1" }), json!({ "b": "2" })].map(tool);
    let schema = xml_schema(&Value::Array(examples.to_vec())).unwrap();
    assert!(!jsonschema::is_valid(&schema, &json!({ "action": {} })), "{schema:#}");
    examples.iter().for_each(|example| drop(copied(&schema, example)));
}

#[test]
fn an_attribute_that_is_no_kind_may_have_any_value() {
    let example = json!({ "_attr": { "name": "x" }, "action": [
        { "_attr": { "line": "1" }, "text": "a" },
        { "_attr": { "line": "2" }, "text": "b" },
    ] });
    let schema = xml_schema(&example).unwrap();
    assert!(
        jsonschema::is_valid(&schema, &json!({ "action": { "_attr": { "line": "9" }, "text": "c" } })),
        "{schema:#}"
    );
    // Where it decides what is in the element, it is one.
    let example = json!({ "_attr": { "name": "x" }, "action": [
        { "_attr": { "mode": "read" }, "path": "a" },
        { "_attr": { "mode": "write" }, "path": "a", "text": "b" },
    ] });
    let schema = xml_schema(&example).unwrap();
    assert!(!jsonschema::is_valid(&schema, &json!({ "action": { "_attr": { "mode": "write" }, "path": "c" } })));
    copied(&schema, &example);
}

#[test]
fn several_actions_of_a_model_are_one_input() {
    let schema = xml_schema(&calculator()).unwrap();
    let one = "<action><num1>1</num1><num2>2</num2><operation>add</operation></action>";
    let input = called(&schema, &format!("<tool name=\"x\">{one}{one}</tool>"));
    assert_eq!(input["action"].as_array().unwrap().len(), 2);
    assert!(jsonschema::is_valid(&schema, &input));
}

#[test]
fn numbers_and_truth_values_are_text_and_lists_repeat() {
    let example = json!({ "a": 1, "b": 2.0, "c": 0.5, "d": true, "e": null, "f": ["x", "y"], "g": {}, "h": [] });
    let xml = "<a>1</a>\n<b>2</b>\n<c>0.5</c>\n<d>true</d>\n<e/>\n<f>x</f>\n<f>y</f>\n<g/>";
    assert_eq!(to_xml(&example, None).unwrap(), xml);
    assert_eq!(to_xml(&json!("a<b"), Some("t")).unwrap(), "<t><![CDATA[a<b]]></t>");
    assert_eq!(to_xml(&json!("a"), None).unwrap(), "a");
    assert_eq!(to_xml(&json!({}), None).unwrap(), "");
}

#[test]
fn a_text_in_a_cdata_section_is_not_wrapped_again() {
    assert_eq!(to_xml(&json!({ "a": "<![CDATA[ls -la]]>" }), None).unwrap(), "<a><![CDATA[ls -la]]></a>");
    assert_eq!(
        to_xml(&json!({ "a": "<![CDATA[x]]><b/>" }), None).unwrap(),
        "<a><![CDATA[<![CDATA[x]]]]><![CDATA[><b/>]]></a>"
    );
}

#[test]
fn names_that_no_element_can_have_are_parameters() {
    let example = json!({ "_attr": { "name": "x" }, "two words": "a", "<b>": { "1": "c" } });
    assert!(to_xml(&example, Some("tool")).unwrap().contains("<param name=\"two words\">a</param>"));
    let input = copied(&xml_schema(&example).unwrap(), &example);
    assert_eq!(input, json!({ "<b>": { "1": "c" }, "two words": "a" }));
}

#[test]
fn what_is_no_example_says_what_is_wrong() {
    let problem = |example: Value| xml_schema(&example).unwrap_err().to_string();
    assert_eq!(problem(json!({})), "it has no example of a call: a table with `_attr` and `action`");
    assert_eq!(problem(json!([])), "it has no example of a call: a table with `_attr` and `action`");
    assert_eq!(problem(json!("text")), "an example of a call is a table with `_attr` and `action`, not a text");
    assert_eq!(problem(json!({ "_attr": "x" })), "`_attr` must be a table of attributes");
    assert_eq!(problem(json!({ "action": { "_attr": { "a": {} } } })), "the attribute `a` must be a text, not a table");
    let deep = (0..200).fold(json!("x"), |inner, _| json!({ "a": inner }));
    assert_eq!(problem(deep.clone()), "the example is nested more than 50 levels deep");
    assert_eq!(to_xml(&deep, None).unwrap_err().to_string(), "the example is nested more than 50 levels deep");
    let attribute = json!({ "_attr": { "a b": "x" } });
    assert_eq!(to_xml(&attribute, Some("t")).unwrap_err().to_string(), "`a b` cannot be the name of an attribute");
}

/// What a model's call has for a value of an example: texts without their section, lists without lists.
fn as_input(value: &Value, is_action: bool) -> Value {
    fn flat(value: &Value, into: &mut Vec<Value>) {
        match value {
            Value::Array(list) => list.iter().for_each(|item| flat(item, into)),
            value => into.push(as_input(value, false)),
        }
    }
    match value {
        Value::Array(_) => {
            let mut items = Vec::new();
            flat(value, &mut items);
            // One action is written as one that is in no list.
            if is_action && items.len() == 1 { items.swap_remove(0) } else { Value::Array(items) }
        }
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(key, value)| match value {
                Value::Object(attributes) => *key != "_attr" || !attributes.is_empty(),
                value => as_input(value, false) != json!([]),
            });
            kept.map(|(key, value)| (key.clone(), as_input(value, false))).collect()
        }
        Value::String(text) => {
            let inner = text.trim().strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>"));
            inner.filter(|inner| !inner.contains("]]>")).unwrap_or(text).into()
        }
        value => value.clone(),
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "]]>",
        "<![CDATA[",
        "&",
        "&amp;",
        "<",
        ">",
        "</a>",
        "\"",
        "'",
        "\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        "\0",
        "é",
        "a",
        "```",
        "-->",
        "{{",
        "%s",
        "\u{7f}",
    ];
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(pieces), 0..8).prop_map(|pieces| pieces.concat()),
        "[a-z]{1,6}",
        Just("<![CDATA[ls -la & make]]>".to_owned()),
    ]
}

fn is_empty(value: &Value) -> bool {
    match as_input(value, false) {
        Value::String(text) => text.trim().is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn element() -> impl Strategy<Value = Value> {
    let key = || proptest::sample::select(vec!["a", "b", "c", "path", "two words", "item", "type"]);
    let leaf = hostile_text().prop_map(Value::String);
    leaf.prop_recursive(3, 24, 4, move |inner| {
        // One empty element is an empty list.
        let item = inner.clone().prop_filter("an empty item", |item| !is_empty(item));
        let list = proptest::collection::vec(item, 0..3).prop_map(Value::Array);
        let attributes =
            proptest::collection::btree_map(proptest::sample::select(vec!["type", "id"]), hostile_text(), 0..3);
        let entries = proptest::collection::btree_map(key(), prop_oneof![inner, list], 0..4);
        (attributes, entries).prop_map(|(attributes, entries)| {
            let mut object: Map<String, Value> =
                entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            if !attributes.is_empty() {
                object.insert("_attr".into(), json!(attributes));
            }
            Value::Object(object)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn a_copied_example_is_an_input_of_its_own_schema(
        actions in proptest::collection::vec(element(), 1..4),
        is_list in any::<bool>(),
    ) {
        let tool = |action: &Value| json!({ "_attr": { "name": "x" }, "action": action });
        let examples: Vec<Value> = if is_list { vec![tool(&Value::Array(actions))] } else { actions.iter().map(tool).collect() };
        let schema = xml_schema(&json!(examples));
        prop_assume!(schema.is_ok());
        let schema = schema.unwrap();
        prop_assert_eq!(&xml_schema(&json!(examples)).unwrap(), &schema);
        for example in &examples {
            let xml = to_xml(example, Some("tool")).unwrap();
            let input = called(&schema, &xml);
            prop_assert!(jsonschema::is_valid(&schema, &input), "{}\nof {}\nfor {:#}", input, xml, schema);
        }
    }

    #[test]
    fn one_example_comes_back_as_it_is(action in element()) {
        let example = json!({ "_attr": { "name": "x" }, "action": action });
        let schema = xml_schema(&example);
        prop_assume!(schema.is_ok());
        let schema = schema.unwrap();
        let xml = to_xml(&example, Some("tool")).unwrap();
        let input = called(&schema, &xml);
        prop_assert!(jsonschema::is_valid(&schema, &input), "{}\nof {}\nfor {:#}", input, xml, schema);
        // What is a list in one place is one in all.
        if !action.to_string().contains('[') || schema.to_string().matches("\"array\"").count() == 1 {
            prop_assert_eq!(input["action"].clone(), as_input(&action, true), "{}\nfor {:#}", xml, schema);
        }
        prop_assert_eq!(xml::parse(&xml).unwrap().len(), 1);
    }
}
