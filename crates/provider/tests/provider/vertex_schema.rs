//! The schemas of tools in Vertex AI's dialect.

use std::sync::Arc;

use flemma_model::{Part, Role};
use flemma_provider::{ErrorKind, ProviderError, Request, ToolSpec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::vertex::{conversation, exchange};

/// What is sent for a tool with this schema; `null` for no parameters.
fn send(input_schema: Value) -> Result<Value, ProviderError> {
    let tool = ToolSpec {
        name: "tool".to_owned(),
        description: "Does it.".to_owned(),
        input_schema: Arc::new(input_schema),
        strict: false,
        prompt: None,
    };
    let question = conversation("gemini-test", vec![(Role::User, vec![Part::Text("Hi".to_owned())])]);
    let (request, _) = exchange(&Request { tools: Arc::new([tool]), ..question })?;
    let mut body: Value = serde_json::from_slice(&request.body).unwrap();
    Ok(body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"].take())
}

/// What becomes of the schema of one property.
fn property(schema: Value) -> Value {
    let mut sent = send(json!({"type": "object", "properties": {"p": schema}})).unwrap();
    sent["properties"]["p"].take()
}

#[test]
fn what_the_api_takes_passes_as_it_is() {
    let schema = json!({
        "type": "object",
        "title": "Options",
        "description": "What to do.",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "when": {"type": "string", "format": "date-time"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "limit": {"type": ["number", "null"]},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "list": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "free": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "either": {"description": "Both.", "anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let sent = send(schema.clone()).unwrap();
    assert_eq!(sent, schema);
}

#[test]
fn each_keyword_has_its_translation() {
    for (schema, sent) in [
        (json!({"const": "x"}), json!({"type": "string", "enum": ["x"]})),
        (json!({"const": 3}), json!({"type": "number", "enum": [3]})),
        (json!({"const": true}), json!({"type": "boolean", "description": "One of: true."})),
        (json!({"enum": ["a", null]}), json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]})),
        (
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ),
        (json!({"type": "integer", "enum": [1, 2]}), json!({"type": "integer", "enum": [1, 2]})),
        (json!({"enum": ["", "a"]}), json!({"type": "string", "description": "One of: \"\", \"a\"."})),
        (json!({"enum": [true, false]}), json!({"type": "boolean"})),
        (json!({"type": ["string", "integer"]}), json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
        (json!({"type": ["null", "string"]}), json!({"type": ["null", "string"]})),
        (json!({"type": ["string"]}), json!({"type": "string"})),
        (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
        (json!({"type": "string", "nullable": false}), json!({"type": "string"})),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (json!({"oneOf": [{"type": "string"}], "description": "D"}), json!({"description": "D", "type": "string"})),
        (
            json!({"allOf": [{"type": "number", "minimum": 1}, {"type": "integer", "minimum": 2, "maximum": 9}]}),
            json!({"type": "integer", "minimum": 2, "maximum": 9}),
        ),
        (json!({"exclusiveMinimum": 1}), json!({"minimum": 1, "description": "Greater than 1."})),
        (json!({"maximum": 3, "exclusiveMaximum": 5}), json!({"maximum": 3, "description": "Less than 5."})),
        (
            json!({"type": "string", "pattern": "^a"}),
            json!({"type": "string", "description": "Must match the regular expression `^a`."}),
        ),
        (
            json!({"type": "string", "description": "A name. ", "minLength": 1, "maxLength": 5}),
            json!({"type": "string", "description": "A name. At least 1 characters. At most 5 characters."}),
        ),
        (json!({"type": "string", "format": "uri"}), json!({"type": "string", "description": "Format: uri."})),
        (json!({"type": "integer", "default": 3}), json!({"type": "integer", "description": "Default: 3."})),
        (
            json!({"type": "string", "examples": ["a", "b"]}),
            json!({"type": "string", "description": "Examples: \"a\", \"b\"."}),
        ),
        (json!({"multipleOf": 2}), json!({"description": "A multiple of 2."})),
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (
            json!({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "number"}}),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"const": "x"}}),
            json!({"type": "array", "items": {"type": "string", "enum": ["x"]}, "description": "No two elements are equal."}),
        ),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object", "description": "As JSON Schema, this holds as well: \
                {\"patternProperties\":{\"^x-\":{\"type\":\"string\"}},\"additionalProperties\":false}."}),
        ),
        (
            json!({"type": "string", "not": {"const": "x"}}),
            json!({"type": "string", "description": "As JSON Schema, this holds as well: {\"not\":{\"const\":\"x\"}}."}),
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"]}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "description": "Required as well: [\"b\"]."}),
        ),
        (json!(true), json!({})),
        (json!(false), json!({"description": "Nothing is allowed here."})),
        (json!({"$schema": "x", "$id": "y", "$comment": "z", "type": "string"}), json!({"type": "string"})),
    ] {
        assert_eq!(property(schema.clone()), sent, "{schema}");
    }
}

#[test]
fn what_stands_beside_alternatives_holds_in_each() {
    let schema = json!({
        "type": "object",
        "description": "By name or by number.",
        "properties": {"name": {"type": "string"}, "number": {"type": "integer"}},
        "anyOf": [{"required": ["name"]}, {"required": ["number"]}],
    });
    let one = |required: &str| {
        json!({"type": "object", "properties": {"name": {"type": "string"}, "number": {"type": "integer"}},
            "required": [required]})
    };
    assert_eq!(
        property(schema),
        json!({"description": "By name or by number.", "anyOf": [one("name"), one("number")]})
    );
}

#[test]
fn several_lists_of_alternatives_become_one() {
    let schema = json!({"type": ["string", "integer"], "anyOf": [{"minimum": 1}, {"maximum": 9}]});
    let mut all = Vec::new();
    for name in ["string", "integer"] {
        all.extend([json!({"type": name, "minimum": 1}), json!({"type": name, "maximum": 9})]);
    }
    assert_eq!(property(schema), json!({"anyOf": all}));
}

#[test]
fn too_many_alternatives_are_said_in_words() {
    let list = |keyword: &str| (0..10).map(|n| json!({keyword: n})).collect::<Vec<_>>();
    let sent = property(json!({"anyOf": list("minimum"), "oneOf": list("maximum")}));
    assert_eq!(sent["anyOf"].as_array().unwrap().len(), 10);
    assert!(sent["description"].as_str().unwrap().contains(r#"{"maximum":9}"#), "{sent}");
}

#[test]
fn references_are_written_out() {
    let sent = send(json!({
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/Place"},
            "to": {"$ref": "#/%24defs/Place", "description": "Where to."},
            "odd": {"$ref": "#/definitions/a~1b"},
            "data": {"default": {"$ref": "#/nowhere"}, "type": "object", "properties": {"$ref": {"type": "string"}}},
        },
        "$defs": {"Place": {"type": "object", "properties": {"city": {"$ref": "#/$defs/Name"}}}, "Name": {"type": "string"}},
        "definitions": {"a/b": {"type": "boolean"}},
    }))
    .unwrap();
    let place = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    assert_eq!(sent["properties"]["from"], place);
    assert_eq!(sent["properties"]["to"]["properties"], place["properties"]);
    assert_eq!(sent["properties"]["to"]["description"], "Where to.");
    assert_eq!(sent["properties"]["odd"], json!({"type": "boolean"}));
    assert_eq!(sent["properties"]["data"]["properties"]["$ref"], json!({"type": "string"}));
    assert_eq!(sent["properties"]["data"]["description"], "Default: {\"$ref\":\"#/nowhere\"}.");
    assert!(sent.get("$defs").is_none() && sent.get("definitions").is_none());
}

#[test]
fn in_old_drafts_the_neighbours_of_a_reference_mean_nothing() {
    let sent = send(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"n": {"$ref": "#/definitions/N", "minimum": 5}},
        "definitions": {"N": {"type": "integer"}},
    }));
    assert_eq!(sent.unwrap()["properties"]["n"], json!({"type": "integer"}));
}

#[test]
fn an_untranslatable_schema_names_the_tool_and_the_place() {
    let doubling: Map<String, Value> = (0..30)
        .map(|n| {
            (
                n.to_string(),
                json!({"anyOf": [{"$ref": format!("#/$defs/{}", n + 1)}, {"$ref": format!("#/$defs/{}", n + 1)}]}),
            )
        })
        .chain([("30".to_owned(), json!({}))])
        .collect();
    let deep = (0..200).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    for (schema, words) in [
        (
            json!({"properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}}}),
            "contains itself (`$ref: #/$defs/N`)",
        ),
        (json!({"properties": {"n": {"$ref": "#"}}}), "contains itself"),
        (
            json!({"properties": {"n": {"$ref": "https://x.example/s.json"}}}),
            "`https://x.example/s.json`, which is outside",
        ),
        (json!({"properties": {"n": {"$ref": "#/$defs/Missing"}}}), "`#/$defs/Missing`, which does not exist"),
        (json!({"properties": {"n": {"$ref": 7}}}), "`$ref` 7"),
        (json!({"properties": {"n": {"$dynamicRef": "#x"}}}), "`$dynamicRef`"),
        (json!({"properties": {"n": {"$ref": "#/$defs/0"}}, "$defs": doubling}), "too large"),
        (json!({"properties": {"n": deep}}), "too large"),
    ] {
        let error = send(schema).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.message.contains("`tool`") && error.message.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_tool_without_parameters_has_none() {
    for schema in [
        json!({}),
        json!(true),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
    ] {
        assert_eq!(send(schema.clone()).unwrap(), Value::Null, "{schema}");
    }
    assert_eq!(
        send(json!({"additionalProperties": {"type": "string"}})).unwrap(),
        json!({"additionalProperties": {"type": "string"}, "type": "object"})
    );
}

#[test]
fn alternatives_of_the_whole_input_become_one_object() {
    let sent = send(json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"],
            "additionalProperties": false},
        {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "number"}}, "required": ["kind"],
            "additionalProperties": false},
    ]}))
    .unwrap();
    assert_eq!(sent["type"], "object");
    assert!(sent.get("anyOf").is_none());
    assert_eq!(sent["required"], json!(["kind"]));
    assert_eq!(sent["additionalProperties"], false);
    assert_eq!(sent["properties"]["x"], json!({"type": "string"}));
    let kinds = json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]});
    assert_eq!(sent["properties"]["kind"], kinds);
    assert!(sent["description"].as_str().unwrap().starts_with("The input is one of: [{"), "{sent}");
}

/// Keywords outside of those that the API's reference names, anywhere in a schema.
fn foreign(schema: &Value) -> Vec<String> {
    const TAKEN: [&str; 15] = [
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "properties",
        "additionalProperties",
        "required",
    ];
    let Some(map) = schema.as_object() else { return Vec::new() };
    let mut found: Vec<String> = map.keys().filter(|key| !TAKEN.contains(&key.as_str())).cloned().collect();
    if map.contains_key("anyOf") {
        found.extend(map.keys().filter(|key| !["anyOf", "title", "description"].contains(&key.as_str())).cloned());
    }
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(named)) => found.extend(named.values().flat_map(foreign)),
            ("anyOf" | "prefixItems", Value::Array(list)) => found.extend(list.iter().flat_map(foreign)),
            ("items" | "additionalProperties", schema) => found.extend(foreign(schema)),
            _ => {}
        }
    }
    found
}

fn small_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..6).prop_map(Value::from),
        Just(json!(2.5)),
        prop::sample::select(vec!["", "a", "b", "xx"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), inner), 0..3).prop_map(|list| {
                Value::Object(list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
}

fn a_schema() -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["string", "number", "integer", "boolean", "null", "array", "object"]);
    let keyword = move || {
        prop_oneof![
            name().prop_map(|name| json!({"type": name})),
            prop::collection::btree_set(name(), 1..4).prop_map(|names| json!({"type": names})),
            prop::collection::vec(small_value(), 1..4).prop_map(|values| json!({"enum": values})),
            small_value().prop_map(|value| json!({"const": value})),
            (0..4).prop_map(|n| json!({"minimum": n})),
            (0..4).prop_map(|n| json!({"exclusiveMaximum": n})),
            (0..3).prop_map(|n| json!({"minItems": n})),
            (0..3).prop_map(|n| json!({"maxLength": n})),
            (1..3).prop_map(|n| json!({"multipleOf": n})),
            Just(json!({"pattern": "^a"})),
            Just(json!({"uniqueItems": true})),
            prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c"]), 1..3)
                .prop_map(|names| json!({"required": names})),
        ]
    };
    let join = |parts: Vec<Value>| {
        let all = parts.into_iter().filter_map(|part| part.as_object().cloned()).flatten();
        Value::Object(all.collect())
    };
    let leaf = prop_oneof![prop::collection::vec(keyword(), 0..3).prop_map(join), any::<bool>().prop_map(Value::from)];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..3);
        let named = || prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner.clone(), 1..3);
        let nest = prop_oneof![
            list().prop_map(|list| json!({"anyOf": list})),
            list().prop_map(|list| json!({"oneOf": list})),
            list().prop_map(|list| json!({"allOf": list})),
            list().prop_map(|list| json!({"prefixItems": list})),
            inner.clone().prop_map(|schema| json!({"items": schema})),
            inner.clone().prop_map(|schema| json!({"not": schema})),
            inner.clone().prop_map(|schema| json!({"additionalProperties": schema})),
            named().prop_map(|named| json!({"properties": named})),
            named().prop_map(|named| json!({"patternProperties": named})),
        ];
        prop::collection::vec(prop_oneof![2 => nest, 1 => keyword()], 1..4).prop_map(join)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_translation_never_forbids_what_the_original_allows(
        schema in a_schema(),
        values in prop::collection::vec(small_value(), 1..12),
    ) {
        let sent = property(schema.clone());
        prop_assert!(foreign(&sent).is_empty(), "{:?} in {sent}", foreign(&sent));
        let (original, translated) = (jsonschema::validator_for(&schema).unwrap(), jsonschema::validator_for(&sent).unwrap());
        for value in values {
            prop_assert!(!original.is_valid(&value) || translated.is_valid(&value), "{value} against {sent}");
        }
    }

    #[test]
    fn the_parameters_are_an_object_whatever_the_schema_is(schema in a_schema()) {
        let sent = send(schema).unwrap();
        prop_assert!(sent.is_null() || sent["type"] == "object", "{sent}");
        prop_assert!(sent.get("anyOf").is_none(), "{sent}");
        prop_assert!(foreign(&sent).is_empty(), "{:?} in {sent}", foreign(&sent));
    }
}
