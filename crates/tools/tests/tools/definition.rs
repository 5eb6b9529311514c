//! Definitions and the registry.

use std::sync::Arc;

use flemma_chat::Language;
use flemma_model::ModelError;
use flemma_tools::{
    Definition, Executor, LuaRef, Outcome, Output, Registry, Runner,
    builtin::NOTES_TOOLS,
    declare::{Field, declare, describe},
};
use serde_json::{Value, json};

fn tool(name: &str, schema: Value) -> Definition {
    Definition::new(name, "Does something useful.", schema, Executor::Server(Runner::Lua(LuaRef(1))))
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"] })
}

#[test]
fn the_built_in_tools_are_legal() {
    let registry = Registry::with_builtins();
    assert!(registry.all().count() > 0);
    for tool in registry.all() {
        tool.check().unwrap();
        if tool.executor.is_provider() {
            assert!(!tool.enabled, "{}", tool.name);
            continue;
        }
        let is_labelled = tool.name != "skill"
            && !tool.name.starts_with("calculator")
            && !matches!(tool.executor, Executor::Client(_));
        let is_optional = matches!(tool.executor, Executor::Client(None)) || NOTES_TOOLS.contains(&tool.name.as_str());
        assert_eq!(tool.strict, tool.name != "update_frontmatter", "{}", tool.name);
        // A skill can be loaded where there are some.
        let is_optional = is_optional || ["calculator_async", "skill"].contains(&tool.name.as_str());
        assert_eq!(tool.enabled, !is_optional, "{}", tool.name);
        assert_eq!(tool.input_schema["properties"].get("label").is_some(), is_labelled, "{}", tool.name);
    }
}

#[test]
fn the_tools_that_are_offered_by_default_are_known() {
    let registry = Registry::with_builtins();
    let offered: Vec<String> = registry.specs().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(offered, ["ask_user", "bash", "calculator", "edit", "find", "grep", "ls", "read", "write"]);
    for tool in ["calculator_async", "open_location", "pick_file", "get_selection", "get_diagnostics", "open_buffers"] {
        assert!(registry.get(tool).is_some(), "{tool}");
    }
}

#[test]
fn the_tool_specs_are_sorted_shared_and_all_enabled() {
    let mut registry = Registry::default();
    for name in ["zebra", "apple"] {
        registry.register(tool(name, schema())).unwrap();
    }
    let mut off = tool("middle", schema());
    off.enabled = false;
    registry.register(off).unwrap();
    let specs = registry.specs();
    assert_eq!(specs.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["apple", "zebra"]);
    assert!(Arc::ptr_eq(&specs, &registry.specs()));
    assert_eq!(registry.all().count(), 3);
    registry.unregister("apple");
    assert_eq!(registry.specs().len(), 1);
    assert_eq!(specs.len(), 2, "what a request already has does not change");
}

#[test]
fn registering_a_name_again_keeps_the_old_one_for_open_calls() {
    let mut registry = Registry::default();
    assert!(matches!(registry.register(tool("a", schema())), Ok(None)));
    let in_flight = Arc::clone(registry.get("a").unwrap());
    let Ok(Some(old)) = registry.register(tool("a", schema())) else { panic!() };
    assert!(Arc::ptr_eq(&old, &in_flight));
}

#[test]
fn a_call_of_an_unknown_tool_learns_which_there_are() {
    let mut registry = Registry::default();
    registry.register(tool("read", schema())).unwrap();
    assert_eq!(
        registry.unknown("raed", None).to_string(),
        "There is no tool `raed`. Did you mean `read`? The tools are: read."
    );
    assert_eq!(
        Registry::default().unknown("x", None).to_string(),
        "There is no tool `x`. There are no tools in this conversation."
    );
}

#[test]
fn an_illegal_definition_is_rejected_with_field_and_fix() {
    let object = || json!({ "type": "object", "properties": {} });
    let change = |change: &dyn Fn(&mut Definition)| {
        let mut definition = tool("mine", object());
        change(&mut definition);
        Registry::default().register(definition).unwrap_err().to_string()
    };
    let table = [
        (
            change(&|tool| tool.name = "my tool".into()),
            "tool `my tool`: `name` must be 1 to 64 letters, digits, `_` or `-`: providers accept nothing else",
        ),
        (
            change(&|tool| tool.description = " ".into()),
            "tool `mine`: `description` is empty: say in a sentence what the tool does and when to use it",
        ),
        (
            change(&|tool| tool.input_schema = json!({ "type": "string" }).into()),
            "tool `mine`: `input_schema` must be a JSON Schema whose `type` is \"object\"",
        ),
        (
            change(&|tool| tool.timeout = Some(std::time::Duration::ZERO)),
            "tool `mine`: `timeout` must be more than 0 and at most 86400 seconds, not 0",
        ),
        (
            change(&|tool| tool.timeout = Some(std::time::Duration::from_secs(90_000))),
            "tool `mine`: `timeout` must be more than 0 and at most 86400 seconds, not 90000",
        ),
        (
            change(&|tool| tool.read_path_param = Some("path".into())),
            "tool `mine`: `read_path_param` is \"path\", but input_schema has no such property",
        ),
        (
            change(&|tool| {
                tool.input_schema = json!({ "type": "object", "properties": { "file": {}, "path": {} } }).into();
                tool.read_path_param = Some("file".into());
                tool.write_path_param = Some("paht".into());
            }),
            "tool `mine`: `write_path_param` is \"paht\", but input_schema has no such property; did you mean `path`?",
        ),
    ];
    for (message, expected) in table {
        assert_eq!(message, expected);
    }
}

#[test]
fn a_schema_that_is_none_is_refused() {
    let bad = json!({ "type": "object", "properties": { "a": { "type": "strnig" } } });
    let message = Registry::default().register(tool("mine", bad)).unwrap_err().to_string();
    assert!(
        message.starts_with("tool `mine`: `input_schema` is not a valid JSON Schema: at `/properties/a/type`"),
        "{message}"
    );
    let remote = json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/s.json" } } });
    assert!(Registry::default().register(tool("mine", remote)).is_err());
}

#[test]
fn strict_mode_wants_every_property_required_and_no_others() {
    let strict = |schema: Value| {
        let mut definition = tool("mine", schema);
        definition.strict = true;
        Registry::default().register(definition).map(drop).map_err(|error| error.problem)
    };
    let missing =
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": false });
    assert_eq!(
        strict(missing).unwrap_err(),
        "does not follow strict mode at its top level: `a` is not in `required`; list it there, and add \"null\" to \
         its type if \
         it is optional"
    );
    let open = json!({ "type": "object", "properties": {}, "required": [] });
    assert_eq!(
        strict(open).unwrap_err(),
        "does not follow strict mode at its top level: set `additionalProperties` \
                                           to false"
    );
    let nested = json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "type": "array", "items": { "type": "object", "properties": {} } } },
    });
    assert_eq!(
        strict(nested).unwrap_err(),
        "does not follow strict mode at `/properties/a/items`: set `additionalProperties` to false"
    );
}

#[test]
fn a_failure_keeps_its_error_and_its_output() {
    let failure = Outcome::Failure { error: ModelError::new("exit code 1"), output: Some("half".into()) }.render();
    assert_eq!((failure.text.as_str(), failure.is_error), ("exit code 1\n\nhalf", true));
}

#[test]
fn a_table_is_shown_as_json_on_one_line_where_it_fits() {
    let short = Outcome::Success(Output::Json(json!({ "ok": true, "a": 1 }))).render();
    assert_eq!((short.text.as_str(), short.language), (r#"{"ok":true,"a":1}"#, Language::Json));
    let long = Outcome::Success(Output::Json(json!({ "ok": false, "text": "x".repeat(80) }))).render();
    assert!(long.text.starts_with("{\n  \"ok\": false,\n"), "{}", long.text);
}

/// A definition as somebody writes it, with these fields besides the ones that it needs.
fn written(more: &[(&str, Field)]) -> Vec<(String, Field)> {
    let needed = [
        ("name", Field::Value("mine".into())),
        ("description", Field::Value("Does something useful.".into())),
        ("input_schema", Field::Value(json!({ "type": "object", "properties": {} }))),
    ];
    needed.iter().chain(more).map(|(name, field)| ((*name).to_owned(), field.clone())).collect()
}

#[test]
fn a_definition_runs_here_whether_or_not_it_says_so() {
    let execute = ("execute", Field::Function(LuaRef(7)));
    for more in [vec![execute.clone()], vec![execute.clone(), ("executor", Field::Value("server".into()))]] {
        let definition = declare(None, written(&more)).unwrap();
        assert!(matches!(definition.executor, Executor::Server(Runner::Lua(LuaRef(7)))));
        assert_eq!(describe(&definition)["executor"], "server");
    }
}

/// What becomes of a definition with this executor, this gate, and perhaps a function.
fn pair(executor: &str, approval: Option<&str>, has_function: bool) -> Result<String, String> {
    let mut more = vec![("executor", Field::Value(executor.into()))];
    more.extend(approval.map(|approval| ("approval", Field::Value(approval.into()))));
    more.extend(has_function.then_some(("execute", Field::Function(LuaRef(7)))));
    let declared = declare(None, written(&more)).map_err(|error| format!("{} {}", error.field, error.problem))?;
    Ok(describe(&declared)["executor"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_gate_goes_with_some_executors_only() {
    for approval in [None, Some("auto"), Some("requires_approval")] {
        assert_eq!(pair("server", approval, true).as_deref(), Ok("server"));
        assert_eq!(pair("client", approval, true).as_deref(), Ok("client"));
        assert_eq!(pair("client", approval, false).as_deref(), Ok("client"));
        let problem = pair("server", approval, false).unwrap_err();
        assert_eq!(problem, "execute is missing: give the function that runs a call");
        let problem = pair("human", approval, true).unwrap_err();
        assert!(problem.starts_with("execute has no use: the executor is \"human\""), "{problem}");
        for has_function in [true, false] {
            let problem = pair("provider", approval, has_function).unwrap_err();
            assert!(problem.starts_with("executor cannot be \"provider\""), "{problem}");
        }
    }
    assert_eq!(pair("human", None, false).as_deref(), Ok("human"));
    assert_eq!(pair("human", Some("auto"), false).as_deref(), Ok("human"));
    let problem = pair("human", Some("requires_approval"), false).unwrap_err();
    assert!(problem.starts_with("approval cannot be \"requires_approval\": the executor is \"human\""), "{problem}");
    let function = [("approval", Field::Function(LuaRef(8)))];
    let asks = [("executor", Field::Value("human".into())), function[0].clone()];
    let problem = declare(None, written(&asks)).unwrap_err().to_string();
    assert!(problem.contains("`approval` cannot be a function: the executor is \"human\""), "{problem}");
    let runs = [("execute", Field::Function(LuaRef(7))), function[0].clone()];
    let kept: Vec<_> = declare(None, written(&runs)).unwrap().functions().collect();
    assert_eq!(kept, [LuaRef(7), LuaRef(8)]);
    let problem = pair("servant", None, true).unwrap_err();
    assert!(problem.contains("one of \"server\", \"human\", \"client\", \"provider\""), "{problem}");
}

#[test]
fn only_an_answer_has_a_schema() {
    let schema = ("result_schema", Field::Value(json!({ "type": "string", "maxLength": 3 })));
    let human = [("executor", Field::Value("human".into())), schema.clone()];
    let definition = declare(None, written(&human)).unwrap();
    assert_eq!(definition.check_answer(&json!("yes")), Ok(()));
    let mistakes = definition.check_answer(&json!("never")).unwrap_err();
    let words = "the answer: expected text of at most 3 characters, got the string \"never\"";
    assert_eq!((mistakes.sentence(), mistakes.list()), (words.to_owned(), format!("- {words}")));
    assert_eq!(describe(&definition)["result_schema"]["maxLength"], 3);
    // Text that is JSON, where a value is expected.
    let port = json!({ "type": "object", "properties": { "port": { "type": "integer" } }, "required": ["port"] });
    for (schema, answer, advice) in [
        (&port, r#"{"port": 8080}"#, Some("pass a table, and not its JSON text")),
        (&port, r#" {"prot": 1}"#, Some("pass a table, and not its JSON text")),
        (&json!({ "type": "array" }), "[1]", Some("pass a table, and not its JSON text")),
        (&json!({ "type": "integer" }), "8080", Some("pass the value itself, and not its text")),
        (&json!({ "type": "boolean" }), "true", Some("pass the value itself, and not its text")),
        (&port, "8080", None),
        (&port, "{port = 8080}", None),
        (&json!({ "type": "string", "maxLength": 3 }), "never", None),
    ] {
        let schema = ("result_schema", Field::Value(schema.clone()));
        let definition = declare(None, written(&[("executor", Field::Value("human".into())), schema])).unwrap();
        let mistakes = definition.check_answer(&json!(answer)).unwrap_err().sentence();
        assert_eq!(mistakes.contains("; pass "), advice.is_some(), "{answer}: {mistakes}");
        assert!(advice.is_none_or(|advice| mistakes.ends_with(advice)), "{answer}: {mistakes}");
    }
    let error = declare(None, written(&[("execute", Field::Function(LuaRef(7))), schema])).unwrap_err();
    assert_eq!(error.field, "result_schema");
    let broken =
        [("executor", Field::Value("human".into())), ("result_schema", Field::Value(json!({ "type": "text" })))];
    let error = declare(None, written(&broken)).unwrap_err();
    assert!(error.problem.starts_with("is not a valid JSON Schema"), "{error}");
}

#[test]
fn a_person_may_take_longer_than_a_program() {
    let week = ("timeout", Field::Value(json!(7 * 24 * 60 * 60)));
    let program = [("execute", Field::Function(LuaRef(7))), week.clone()];
    let error = declare(None, written(&program)).unwrap_err().to_string();
    assert_eq!(error, "tool `mine`: `timeout` must be more than 0 and at most 86400 seconds, not 604800");
    let person = declare(None, written(&[("executor", Field::Value("human".into())), week])).unwrap();
    assert_eq!(person.timeout.unwrap().as_secs(), 604_800);
    let wait = [("execute", Field::Function(LuaRef(7))), ("approval_timeout", Field::Value(json!(604_800)))];
    assert_eq!(describe(&declare(None, written(&wait)).unwrap())["approval_timeout"], 604_800.0);
}

#[test]
fn a_definition_says_which_results_stay() {
    let define = |retention: Value| {
        let more = [("execute", Field::Function(LuaRef(7))), ("retention", Field::Value(retention))];
        declare(None, written(&more)).map(|definition| describe(&definition).get("retention").cloned())
    };
    for whole in
        [json!({ "mode": "count", "value": 3 }), json!({ "mode": "age", "value": 1 }), json!({ "never_evict": true })]
    {
        assert_eq!(define(whole.clone()), Ok(Some(whole)));
    }
    assert_eq!(define(Value::Null), Ok(None));
    let table = [
        (json!("count"), "must be a table, not \"count\""),
        (json!({ "mode": "count" }), "is wrong: `value` is missing; set it to a whole number from 1 up"),
        (json!({ "mode": "coutn", "value": 3 }), "is wrong: `mode` must be \"age\" or \"count\", not \"coutn\""),
        (
            json!({ "value": 3, "mde": "age" }),
            "is wrong: `mode` is missing; set it to \"age\" or \"count\", \
          unknown option `mde`; did you mean `mode`?",
        ),
    ];
    for (retention, expected) in table {
        let error = define(retention).unwrap_err();
        assert_eq!((error.field.as_str(), error.problem.as_str()), ("retention", expected));
    }
}

#[test]
fn a_tool_that_the_provider_runs_says_so() {
    let registry = Registry::with_builtins();
    assert_eq!(describe(registry.get("web_search").unwrap())["executor"], "provider");
    assert_eq!(describe(registry.get("read").unwrap())["executor"], "server");
}
