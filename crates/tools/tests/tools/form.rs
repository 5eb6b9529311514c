//! What the user is asked, and how their answer becomes a result.

use flemma_model::ToolInput;
use flemma_tools::{
    Definition, Executor, Registry, arranged,
    form::{Form, FormMistake, Given},
    preview,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::workshop::BUILTINS;

fn human(schema: Option<Value>) -> Definition {
    let input = json!({ "type": "object", "properties": {} });
    let mut tool = Definition::new("sign_off", "Have the user sign something off.", input, Executor::Human);
    tool.result_schema = schema.map(Into::into);
    tool.check().unwrap();
    tool
}

fn form(schema: Value) -> Form {
    Form::of(&human(Some(schema)), &json!({ "question": "Well?" }))
}

fn ask(input: Value) -> Form {
    Form::of(BUILTINS.get("ask_user").unwrap(), &input)
}

fn typed(text: &str) -> Given {
    Given::Typed(text.to_owned())
}

fn message(answer: Result<Value, FormMistake>) -> (Option<usize>, String) {
    let mistake = answer.unwrap_err();
    (mistake.field, mistake.message)
}

#[test]
fn ask_user_asks_for_a_choice_or_something_else() {
    let form = ask(
        json!({ "question": "Which\ndatabase?", "options": ["sqlite", "postgres", "sqlite"], "default": "postgres" }),
    );
    assert_eq!(form.question, "Which⤶database?");
    let [field] = &form.fields[..] else { panic!() };
    assert_eq!(field.labels(), ["sqlite", "postgres (default)", "something else…"]);
    assert_eq!((field.other(), field.text_default()), (Some(2), None));
    assert_eq!(form.answer(&[Given::Chosen(1)]), Ok(json!("postgres")));
    assert_eq!(form.answer(&[typed("mysql, if it is there")]), Ok(json!("mysql, if it is there")));
    for (text, answer) in
        [("sqlite", "sqlite"), ("POSTGRES\n", "postgres"), ("1", "sqlite"), ("3", "3"), ("0", "0"), ("redis", "redis")]
    {
        assert_eq!(form.answer_from_text(text), Ok(json!(answer)), "{text}");
    }
    for empty in ["", " \n"] {
        let expected = "choose one of: sqlite, postgres (default), something else…";
        assert_eq!(message(form.answer_from_text(empty)), (Some(0), expected.to_owned()));
    }
}

#[test]
fn an_option_may_have_a_label_and_a_description() {
    let options =
        json!([{ "label": "sqlite", "description": "one file" }, "postgres", { "label": "none", "description": null }]);
    let input = json!({ "label": "storage", "question": "Which?", "options": options, "default": "sqlite" });
    let registry = Registry::with_builtins();
    let tool = registry.get("ask_user").unwrap();
    assert!(tool.check_input(&ToolInput::Json(input.clone())).is_ok());
    let shown = preview::call(Some(tool), "ask_user", &ToolInput::Json(input.clone()), 100);
    assert_eq!(shown, "ask_user: Which?  (1: sqlite - one file, 2: postgres, 3: none)");
    let form = ask(input);
    assert_eq!(form.fields[0].labels(), ["sqlite - one file (default)", "postgres", "none", "something else…"]);
    assert_eq!((form.fields[0].text_default(), form.answer(&[Given::Chosen(0)])), (None, Ok(json!("sqlite"))));
    for (text, answer) in
        [("sqlite", "sqlite"), ("SQLite - One File", "sqlite"), ("1", "sqlite"), ("3", "none"), ("x", "x")]
    {
        assert_eq!(form.answer_from_text(text), Ok(json!(answer)), "{text}");
    }
    assert!(
        tool.check_input(&ToolInput::Json(json!({ "question": "Which?", "options": [{ "description": "x" }] })))
            .is_err()
    );
}

#[test]
fn ask_user_asks_for_text_with_a_default() {
    let form = ask(json!({ "question": "A name?", "options": null, "default": "flemma" }));
    let [field] = &form.fields[..] else { panic!() };
    assert_eq!((field.labels().len(), field.other(), field.text_default()), (0, None, Some("flemma")));
    assert_eq!(form.answer(&[typed(" two words ")]), Ok(json!(" two words ")));
    assert_eq!(form.answer_from_text("{\"a\": 1}\n"), Ok(json!("{\"a\": 1}")), "text is not read as JSON");
    assert_eq!(message(form.answer(&[typed("  ")])), (Some(0), "write an answer".to_owned()));
    assert_eq!(message(form.answer(&[Given::Nothing])), (Some(0), "write an answer".to_owned()));
    assert_eq!(message(form.answer(&[])), (Some(0), "write an answer".to_owned()), "nothing was asked yet");
}

#[test]
fn a_number_among_the_options_means_itself() {
    let form = ask(json!({ "question": "How many?", "options": ["20", "1", "2"] }));
    assert_eq!(form.answer_from_text("1"), Ok(json!("1")));
    assert_eq!(form.answer_from_text("20"), Ok(json!("20")));
    assert_eq!(form.answer_from_text("3"), Ok(json!("2")), "the third one");
}

#[test]
fn an_input_of_any_shape_has_a_form() {
    for input in
        [json!(null), json!({}), json!({ "question": 3, "options": "x" }), json!([1]), json!({ "options": [1] })]
    {
        let form = ask(input.clone());
        assert!(!form.question.is_empty() && !form.question.contains('\n'), "{input}");
        assert_eq!(form.fields.len(), 1);
    }
    let form = Form::of(&human(None), &json!({ "document": "contract.pdf" }));
    assert_eq!(form.question, "document=\"contract.pdf\"");
    assert_eq!(Form::of(&human(None), &json!({})).question, "Have the user sign something off.");
}

#[test]
fn each_kind_of_schema_asks_in_its_own_way() {
    // Schema, entries to choose from, what is typed, and the value or the message.
    let table = [
        (json!({ "enum": ["a", "b"] }), "a|b", "B", Ok(json!("b"))),
        (json!({ "enum": ["a", 3] }), "a|3", "3", Ok(json!(3))),
        (json!({ "enum": ["a", "b"] }), "a|b", "2", Ok(json!("b"))),
        (json!({ "enum": ["a", "b"] }), "a|b", "c", Err("choose one of: a, b")),
        (json!({ "enum": ["a", null] }), "a|(no answer)", "", Ok(Value::Null)),
        (json!({ "enum": ["a", null] }), "a|(no answer)", "(no answer)", Ok(Value::Null)),
        (json!({ "enum": ["a", null] }), "a|(no answer)", "b", Err("choose one of: a, (no answer)")),
        (json!({ "const": "agreed" }), "agreed", "agreed", Ok(json!("agreed"))),
        (json!({ "type": "boolean" }), "yes|no", "No", Ok(json!(false))),
        (json!({ "type": ["boolean", "null"] }), "yes|no|(no answer)", "1", Ok(json!(true))),
        (
            json!({ "oneOf": [{ "const": 1, "title": "low" }, { "const": 2, "title": "high" }] }),
            "low|high",
            "high",
            Ok(json!(2)),
        ),
        (json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), "", "7", Ok(json!(7))),
        (json!({ "type": "number" }), "", " 0.5 ", Ok(json!(0.5))),
        (json!({ "type": "number" }), "", "two", Err("expected a number like 3 or 0.5, got `two`")),
        (json!({ "type": "number" }), "", "NaN", Err("expected a number like 3 or 0.5, got `NaN`")),
        (json!({ "type": "number" }), "", "3", Ok(json!(3))),
        (json!({ "type": "integer" }), "", "2.5", Err("expected a whole number, like 3, got `2.5`")),
        (json!({ "type": "integer" }), "", "two", Err("expected a whole number, like 3, got `two`")),
        (json!({ "type": "integer" }), "", "1e300", Err("expected a whole number, like 3, got `1e300`")),
        (json!({ "type": "integer" }), "", " -3.0 ", Ok(json!(-3))),
        (json!({ "type": ["integer", "null"] }), "", "x", Err("expected a whole number, like 3, got `x`")),
        (json!({ "type": ["integer", "number"] }), "", "x", Err("expected a number like 3 or 0.5, got `x`")),
        (json!({ "type": "integer", "minimum": 1 }), "", "0", Err("expected at least 1, got the number 0")),
        (
            json!({ "type": "string", "maxLength": 3 }),
            "",
            "four",
            Err("expected text of at most 3 characters, got the string \"four\""),
        ),
        (json!({ "type": "string" }), "", "3", Ok(json!("3"))),
        (json!({ "type": "array", "items": { "type": "integer" } }), "", "[1, 2]", Ok(json!([1, 2]))),
        (
            json!({ "type": "array", "items": { "type": "integer" } }),
            "",
            "[1, \"x\"]",
            Err("`/1`: expected integer, got the string \"x\""),
        ),
        (json!({ "type": "array" }), "", "1, 2", Err("not valid JSON: trailing characters, found `, 2`")),
        (json!({ "type": ["string", "integer"] }), "", "12", Ok(json!(12))),
        (json!({ "type": ["string", "integer"] }), "", "twelve", Ok(json!("twelve"))),
        (json!({}), "", "{\"a\":1}", Ok(json!({ "a": 1 }))),
        (json!({}), "", "words", Ok(json!("words"))),
        (json!({ "type": "object" }), "", "{\"a\":1}", Ok(json!({ "a": 1 }))),
        (json!({ "$ref": "#/$defs/size", "$defs": { "size": { "enum": ["S", "M"] } } }), "S|M", "m", Ok(json!("M"))),
    ];
    for (schema, labels, text, expected) in table {
        let form = form(schema.clone());
        let [field] = &form.fields[..] else { panic!("{schema}") };
        assert_eq!(field.labels().join("|"), labels, "{schema}");
        for answer in [form.answer(&[typed(text)]), form.answer_from_text(text)] {
            match (&expected, answer) {
                (Ok(expected), answer) => assert_eq!(answer, Ok(expected.clone()), "{schema} {text}"),
                (Err(words), answer) => {
                    let (at, said) = message(answer);
                    assert_eq!(at, Some(0));
                    assert!(said.starts_with(words), "{schema} {text}: {said}");
                }
            }
        }
    }
    assert_eq!(form(json!({ "enum": ["a", null] })).answer(&[Given::Chosen(1)]), Ok(Value::Null));
}

/// A form with each kind of field. A Lua table has no order, so the required properties come first, as they are listed.
fn release() -> Form {
    form(json!({
        "type": "object",
        "required": ["version", "channel"],
        "properties": {
            "notes": { "type": "string", "description": "for the changelog" },
            "channel": { "$ref": "#/$defs/channel" },
            "dry": { "type": "boolean", "default": true },
            "version": { "type": "string", "title": "Version", "pattern": "^\\d+\\.\\d+$", "default": "1.0" },
            "count": { "type": ["integer", "null"], "maximum": 9 },
        },
        "$defs": { "channel": { "enum": ["stable", "beta"], "title": "Channel" } },
        "additionalProperties": false,
    }))
}

#[test]
fn an_object_is_asked_for_field_by_field() {
    let form = release();
    let shown: Vec<_> =
        form.fields.iter().map(|field| (field.label.as_str(), field.labels().join("|"), field.is_required)).collect();
    assert_eq!(
        shown,
        [
            ("Version", String::new(), true),
            ("Channel", "stable|beta".to_owned(), true),
            ("count", String::new(), false),
            ("dry", "yes|no|(leave out)".to_owned(), false),
            ("notes - for the changelog", String::new(), false),
        ]
    );
    assert_eq!(form.fields[0].text_default(), Some("1.0"));
    let all = [typed("2.1"), Given::Chosen(1), typed("3"), Given::Chosen(0), typed("faster")];
    let answer = json!({ "version": "2.1", "channel": "beta", "count": 3, "dry": true, "notes": "faster" });
    assert_eq!(form.answer(&all), Ok(answer));
    let few = [typed("2.1"), Given::Chosen(0), typed(""), Given::Chosen(2), Given::Nothing];
    assert_eq!(form.answer(&few), Ok(json!({ "version": "2.1", "channel": "stable" })));
}

#[test]
fn a_wrong_field_is_named_before_the_others_are_asked() {
    let form = release();
    let (field, said) = message(form.answer(&[typed("two")]));
    assert_eq!(field, Some(0));
    assert_eq!(said, "Version: expected text that matches `^\\d+\\.\\d+$`, got the string \"two\"");
    assert_eq!(message(form.answer(&[typed("2.1")])), (Some(1), "Channel: choose one of: stable, beta".to_owned()));
    let far = form.answer(&[typed("2.1"), Given::Chosen(7)]);
    assert_eq!(message(far), (Some(1), "Channel: choose one of: stable, beta".to_owned()));
    let (field, said) = message(form.answer(&[typed("2.1"), Given::Chosen(0), typed("10")]));
    assert_eq!((field, said.as_str()), (Some(2), "count: expected at most 9, got the number 10"));
}

#[test]
fn an_object_in_a_status_block_is_written_as_json() {
    let form = release();
    let text = "{\"version\": \"2.1\",\n \"channel\": \"beta\"}\n";
    assert_eq!(form.answer_from_text(text), Ok(json!({ "version": "2.1", "channel": "beta" })));
    let example = "rite a JSON object: {\"version\": \"…\", \"channel\": \"stable\", \"count\": 0, \"dry\": true, \"notes\": \"…\"}";
    for text in ["2.1", "[1]"] {
        let mistake = form.answer_from_text(text).unwrap_err();
        assert_eq!((mistake.field, mistake.line, mistake.message), (None, None, format!("w{example}")));
    }
    // Text that is not JSON, the line of the fault, and what is said of it.
    let table = [
        ("", 1, "it ends too early: a value is missing"),
        ("{\n  \"version\": \"2.1\",\n\n", 2, "it ends too early: a value is missing"),
        ("{\n  \"version\": \"2.1\"\n\n", 2, "it ends too early: the `}` that closes an object is missing"),
        ("{\"version\": \"2.1", 1, "it ends too early: the `\"` that closes a text is missing"),
        ("{\"notes\": [1", 1, "it ends too early: the `]` that closes a list is missing"),
        ("{\n\"version\": \"2.1\",\n}", 3, "found `}`; remove the comma before it"),
        ("{\"notes\": [1,]}", 1, "trailing comma, found `]}`; remove the comma before it"),
        ("{\nversion: 1}", 2, "key must be a string, found `version: 1}`; write each key in double quotes"),
        ("{\"version\": 2.1\n\"dry\": true}", 2, "found `\"dry\": true}`; put a `,` between two values"),
        ("{\"channel\": beta}", 1, "expected value, found `beta}`; write text in double quotes"),
        ("{\"channel\": 'beta'}", 1, "expected value, found `'beta'}`; write text in double quotes"),
        ("{\"channel\" \"beta\"}", 1, "expected `:`, found `\"beta\"}`; write a `:` after the key"),
        ("{\"dry\": true} yes", 1, "trailing characters, found `yes`; remove what follows the value"),
        ("{\"notes\": \"a\nb\"}", 1, "found the end of the line; write a line break in a text as `\\n`"),
        ("{\"größe\": 'größer'}", 1, "expected value, found `'größer'}`; write text in double quotes"),
    ];
    for (text, line, what) in table {
        let mistake = form.answer_from_text(text).unwrap_err();
        assert_eq!((mistake.field, mistake.line), (None, Some(line)), "{text}: {}", mistake.message);
        assert!(mistake.message.starts_with("not valid JSON: "), "{text}: {}", mistake.message);
        assert!(mistake.message.ends_with(&format!("{what}. W{example}")), "{text}: {}", mistake.message);
    }
    let (field, said) = message(form.answer_from_text("{\"version\": \"x\", \"chanel\": \"beta\"}"));
    assert_eq!(field, None);
    for words in ["`/version`: expected text that matches", "did you mean `channel`?", "`channel` is missing"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_result_is_text_as_it_is_or_json() {
    let long = json!({ "words": "x".repeat(100) });
    let table = [
        (json!("two\nlines"), "two\nlines".to_owned()),
        (json!(3), "3".to_owned()),
        (json!(true), "true".to_owned()),
        (json!({ "a": [1, 2] }), "{\"a\":[1,2]}".to_owned()),
        (long.clone(), format!("{long:#}")),
    ];
    for (answer, text) in table {
        assert_eq!(Form::result_text(&answer), text);
    }
}

#[test]
fn a_result_has_the_keys_in_the_order_of_the_schema() {
    let schema = json!({ "properties": {
        "path": {}, "items": { "items": { "properties": { "line": {}, "at": {} } } }, "note": {},
    } });
    let value = json!({
        "extra": 1, "another": 2, "note": "n", "items": [{ "at": 1, "line": 2, "b": 3 }, 4], "path": { "z": 1, "a": 2 },
    });
    let expected = r#"{"path":{"z":1,"a":2},"items":[{"line":2,"at":1,"b":3},4],"note":"n","extra":1,"another":2}"#;
    assert_eq!(arranged(value, &schema).to_string(), expected);
    for plain in [json!(3), json!([1, { "b": 1, "a": 2 }]), json!({ "b": 1, "a": 2 })] {
        assert_eq!(arranged(plain.clone(), &json!(true)).to_string(), plain.to_string());
    }
}

/// A schema of a field, and values that it accepts.
fn field() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        "[a-z]{1,8}".prop_map(|text| (json!({ "type": "string" }), json!(text))),
        any::<i32>().prop_map(|number| (json!({ "type": "integer" }), json!(number))),
        (-1000i32..1000).prop_map(|number| (json!({ "type": "number" }), json!(f64::from(number) / 8.0 + 0.0625))),
        any::<bool>().prop_map(|switch| (json!({ "type": "boolean" }), json!(switch))),
        (0usize..3).prop_map(|at| (json!({ "enum": ["one", 2, "three"] }), json!(["one", 2, "three"])[at].clone())),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(|list| (json!({ "type": "array" }), json!(list))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is typed as it would be written gives the value back, in fields and in the status block, and matches the schema.
    #[test]
    fn every_value_of_a_schema_can_be_typed(fields in proptest::collection::btree_map("[a-z]{1,5}", field(), 1..5)) {
        let properties: serde_json::Map<_, _> = fields.iter().map(|(name, (schema, _))| (name.clone(), schema.clone())).collect();
        let names: Vec<_> = fields.keys().rev().collect();
        let tool = human(Some(json!({ "type": "object", "properties": properties, "required": names })));
        let form = Form::of(&tool, &json!({}));
        let given: Vec<Given> = form.fields.iter().map(|field| {
            let value = &fields[field.name.as_deref().unwrap()].1;
            match value {
                Value::Bool(switch) => Given::Chosen(usize::from(!switch)),
                value => typed(&Form::result_text(value)),
            }
        }).collect();
        let expected: Value = names.iter().map(|name| ((*name).clone(), fields[*name].1.clone())).collect::<serde_json::Map<_, _>>().into();
        let answer = form.answer(&given);
        prop_assert_eq!(answer.as_ref(), Ok(&expected));
        prop_assert_eq!(tool.check_answer(&expected), Ok(()));
        prop_assert_eq!(form.answer_from_text(&expected.to_string()), answer);
    }

    /// Whatever is typed, an answer is one that the schema accepts, and a mistake has words.
    #[test]
    fn no_text_becomes_an_answer_that_breaks_the_schema((schema, _) in field(), text in "\\PC{0,12}") {
        let tool = human(Some(schema));
        match Form::of(&tool, &json!({})).answer_from_text(&text) {
            Ok(answer) => prop_assert_eq!(tool.check_answer(&answer), Ok(())),
            Err(mistake) => prop_assert!(!mistake.message.is_empty()),
        }
    }
}
