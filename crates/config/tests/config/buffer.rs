//! What a file says about its own conversation.

use std::rc::Rc;

use flemma_config::{
    Config, FileOptions, ListOption, Node,
    buffer::{AUTO_APPROVE, BufferOptions, Defaults, TOOLS, known},
};
use flemma_model::UserError;
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

fn defaults() -> Defaults {
    let config = Config::from_layers(&[json!({ "model": "m", "parameters": { "thinking": "low" } })]).unwrap();
    Defaults {
        config: serde_json::to_value(&config).unwrap(),
        tools: ["bash", "edit", "read", "write"].map(str::to_owned).to_vec(),
        auto_approve: Some(vec!["$default".to_owned()]),
    }
}

fn check(path: &str, name: &str) -> Result<(), UserError> {
    let known: &[&str] = if path == TOOLS {
        &["bash", "calculator", "edit", "read", "write"]
    } else {
        &["$default", "$readonly", "bash", "calculator", "read", "write"]
    };
    if known.contains(&name) { Ok(()) } else { Err(UserError::new(format!("unknown name `{name}`"))) }
}

fn options() -> BufferOptions {
    BufferOptions::new(defaults(), "flemma.opt.", Rc::new(check))
}

/// What JSON frontmatter comes to.
fn file(json: &Value) -> Result<FileOptions, String> {
    let mut options = BufferOptions::new(defaults(), "", Rc::new(check));
    for (key, value) in json.as_object().unwrap() {
        options.set(key, value).map_err(|error| error.to_string())?;
    }
    Ok(options.finish())
}

#[test]
fn a_retention_is_set_as_a_table_or_option_by_option() {
    let expected = json!({ "tools": { "retention": { "mode": "age", "value": 3 } } });
    let mut whole = options();
    assert_eq!(whole.get("tools.retention.never_evict"), false);
    whole.set("tools.retention", &json!({ "mode": "age", "value": 3 })).unwrap();
    assert_eq!(whole.finish().layer, expected);
    let mut parts = options();
    parts.set("tools.retention.value", &json!(3)).unwrap();
    parts.set("tools.retention.mode", &json!("age")).unwrap();
    assert_eq!(parts.finish().layer, expected);
    assert_eq!(file(&json!({ "tools": { "retention": expected["tools"]["retention"] } })).unwrap().layer, expected);
    let wrong = file(&json!({ "tools": { "retention": { "vlaue": 3 } } })).unwrap_err();
    assert_eq!(wrong, "unknown option `tools.retention.vlaue`; did you mean `tools.retention.value`?");
    let wrong = options().set("tools.retention.value", &json!(0)).unwrap_err().to_string();
    assert_eq!(wrong, "`flemma.opt.tools.retention.value` must be a whole number from 1 up, not 0");
}

#[test]
fn parameters_are_set_without_their_table_and_become_a_layer() {
    let mut options = options();
    assert_eq!(options.get("thinking"), "low", "the default is there before anything is set");
    options.set("thinking", &json!("medium")).unwrap();
    options.set("anthropic.thinking_budget", &json!(20000)).unwrap();
    options.set("tools.autopilot", &json!(false)).unwrap();
    options.set("model", &json!("other")).unwrap();
    assert_eq!(options.get("thinking"), "medium");
    assert_eq!(
        options.finish().layer,
        json!({
            "parameters": { "thinking": "medium", "anthropic": { "thinking_budget": 20000 } },
            "tools": { "autopilot": { "enabled": false } },
            "model": "other",
        })
    );
}

#[test]
fn nil_takes_back_what_was_set() {
    let mut options = options();
    options.set("thinking", &json!("medium")).unwrap();
    options.set("thinking", &Value::Null).unwrap();
    assert_eq!(options.get("thinking"), "low");
    options.set("tools", &json!(["bash"])).unwrap();
    options.set("tools", &Value::Null).unwrap();
    assert_eq!(options.list(TOOLS).unwrap().items(), ["bash", "edit", "read", "write"]);
}

#[test]
fn every_mistake_is_named_with_its_path_and_the_mend() {
    for (path, value, message) in [
        ("thinkng", json!("low"), "unknown option `flemma.opt.thinkng`; did you mean `flemma.opt.thinking`?"),
        ("antropic", json!({}), "unknown option `flemma.opt.antropic`; did you mean `flemma.opt.anthropic`?"),
        (
            "anthropic.thinking_bugdet",
            json!(1),
            "unknown option `flemma.opt.anthropic.thinking_bugdet`; did you mean `flemma.opt.anthropic.thinking_budget`?",
        ),
        ("zzz", json!(1), "unknown option `flemma.opt.zzz`"),
        (
            "thinking",
            json!("lots"),
            r#"`flemma.opt.thinking` must be false, a number of tokens, or one of "minimal", "low", "medium", "high" and "max", not "lots""#,
        ),
        ("max_tokens", json!(0), "`flemma.opt.max_tokens` must be a whole number from 1 up, not 0"),
        ("provider", json!("openia"), "`flemma.opt.provider` must be"),
        ("tools", json!(3), "`flemma.opt.tools` must be a list of names, not 3"),
        ("tools", json!(["bash", 3]), r#"`flemma.opt.tools` must be a list of names, not ["bash",3]"#),
        ("tools", json!(["nothing"]), "`flemma.opt.tools`: unknown name `nothing`"),
        ("tools.auto_approve", json!(["$defualt"]), "`flemma.opt.tools.auto_approve`: unknown name `$defualt`"),
        ("tools.autopilot", json!(3), "`flemma.opt.tools.autopilot` must be a table, not 3"),
        ("tools.autopilot.max_turns", json!("x"), "`flemma.opt.tools.autopilot.max_turns` must be a whole number"),
        ("anthropic.base_url", json!("https://evil.example"), "a file cannot set where a key is sent"),
        ("sandbox", json!(true), "this version has no sandbox"),
        ("keymaps", json!({}), "unknown option `flemma.opt.keymaps`"),
    ] {
        let problem = options().set(path, &value).unwrap_err().to_string();
        assert!(problem.contains(message), "{path} = {value}: {problem}");
    }
}

#[test]
fn json_takes_lists_and_operations_on_them() {
    let done = file(&json!({ "tools": { "remove": ["write"], "append": ["calculator"] } })).unwrap();
    let tools = done.tools.unwrap();
    assert_eq!(
        (tools.items().join(" "), tools.removed()),
        ("bash edit read calculator".into(), &["write".to_owned()][..])
    );
    let done = file(&json!({
        "thinking": "high",
        "tools": { "set": ["read"], "auto_approve": { "append": "bash", "remove": "write" }, "autopilot": { "max_turns": 3 } },
    }))
    .unwrap();
    assert_eq!(done.tools.unwrap().items(), ["read"]);
    let approve = done.auto_approve.unwrap();
    assert_eq!((approve.items().join(" "), approve.removed()), ("$default bash".into(), &["write".to_owned()][..]));
    assert_eq!(done.layer["tools"]["autopilot"]["max_turns"], 3);

    assert_eq!(
        file(&json!({ "tools": { "apend": ["bash"] } })).unwrap_err(),
        "unknown option `tools.apend`; did you mean `tools.append`?"
    );
    assert_eq!(
        file(&json!({ "tools": { "auto_aprove": ["bash"] } })).unwrap_err(),
        "unknown option `tools.auto_aprove`; did you mean `tools.auto_approve`?"
    );
    assert!(file(&json!({ "tools": { "auto_approve": { "remove": ["wirte"] } } })).unwrap_err().contains("wirte"));
}

#[test]
fn there_is_no_list_to_change_where_a_function_decides() {
    let defaults = Defaults { auto_approve: None, ..defaults() };
    let mut options = BufferOptions::new(defaults, "flemma.opt.", Rc::new(check));
    assert!(options.list(AUTO_APPROVE).unwrap_err().to_string().contains("uses a function"));
    options.set(AUTO_APPROVE, &json!(["read"])).unwrap();
    assert_eq!(options.list(AUTO_APPROVE).unwrap().items(), ["read"]);
}

#[test]
fn what_stands_at_a_path_is_a_value_a_table_or_a_list() {
    let options = options();
    for (path, node) in [
        ("thinking", Node::Value),
        ("anthropic", Node::Table),
        ("anthropic.thinking_budget", Node::Value),
        ("tools", Node::List),
        ("tools.auto_approve", Node::List),
        ("tools.autopilot", Node::Table),
        ("tools.autopilot.enabled", Node::Value),
        ("provider", Node::Value),
    ] {
        assert_eq!(options.node(path), Ok(node), "{path}");
    }
}

/// One thing that a file's code may do to `tools.auto_approve`.
#[derive(Clone, Debug)]
enum Step {
    /// A function is assigned.
    Function,
    /// A value is assigned, to this path.
    Set(&'static str, Value),
    /// A method of the list.
    Change(&'static str, &'static str),
    /// The list is kept in a variable.
    Keep,
    /// The list in the variable is assigned, after this operation.
    Assign(&'static str, &'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || select(vec!["bash", "read", "$readonly", "nonsense"]);
    let operation = || select(vec!["set", "append", "prepend", "remove"]);
    let value = prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        name().prop_map(|name| json!([name])),
        name().prop_map(|name| json!(name)),
        (operation(), name()).prop_map(|(operation, name)| json!({ operation: [name] })),
        (operation(), name(), operation(), name()).prop_map(|(a, b, c, d)| json!({ a: [b], c: [d] })),
        Just(json!({ "append": ["bash"], "nonsense": 1 })),
        Just(json!(7)),
    ];
    let at = (any::<bool>(), value).prop_map(|(inside, value)| match inside {
        true => Step::Set(TOOLS, json!({ "auto_approve": value })),
        false => Step::Set(AUTO_APPROVE, value),
    });
    prop_oneof![
        2 => Just(Step::Function),
        6 => at,
        1 => (operation(), name()).prop_map(|(operation, name)| Step::Set(TOOLS, json!({ operation: [name] }))),
        4 => (operation(), name()).prop_map(|(operation, name)| Step::Change(operation, name)),
        2 => Just(Step::Keep),
        3 => (operation(), name()).prop_map(|(operation, name)| Step::Assign(operation, name)),
    ]
}

proptest! {
    /// What the code catches with `pcall` counts as well: a step that fails has changed nothing.
    #[test]
    fn a_function_is_lost_to_nothing_but_a_plain_assignment(
        steps in proptest::collection::vec(step(), 1..12),
        inherited in any::<bool>(),
    ) {
        let auto_approve = (!inherited).then(|| vec!["$default".to_owned()]);
        let defaults = Defaults { auto_approve, ..defaults() };
        let mut options = BufferOptions::new(defaults, "flemma.opt.", Rc::new(check));
        let mut kept = ListOption::new(["read".to_owned()]);
        for step in steps {
            let (decided, before) = (options.decides(), options.list(AUTO_APPROVE));
            let done = match &step {
                Step::Function => {
                    options.set_function();
                    Ok(())
                }
                Step::Set(path, value) => options.set(path, value),
                Step::Change(operation, name) => options.change(AUTO_APPROVE, operation, vec![(*name).to_owned()]),
                Step::Keep => options.list(AUTO_APPROVE).map(|list| kept = list),
                Step::Assign(operation, name) => {
                    let mut list = kept.clone();
                    match *operation {
                        "set" => list.set([(*name).to_owned()]),
                        "append" => list.append([(*name).to_owned()]),
                        "prepend" => list.prepend([(*name).to_owned()]),
                        _ => list.remove([(*name).to_owned()]),
                    }
                    options.set_list(AUTO_APPROVE, list)
                }
            };
            let inner = match &step {
                Step::Set(TOOLS, value) => value.get("auto_approve"),
                Step::Set(_, value) => Some(value),
                _ => None,
            };
            // A plain list, a lone name, or null.
            let is_plain = inner.is_some_and(|value| !value.is_object());
            if decided && !is_plain {
                prop_assert!(options.decides(), "{step:?} has dropped the function");
                let touches = matches!(step, Step::Change(..) | Step::Assign(..) | Step::Keep) || inner.is_some();
                prop_assert!(!touches || done.is_err(), "{step:?}: an error says that there is no list");
            }
            if decided && done.is_err() {
                prop_assert!(options.decides(), "{step:?} failed and has dropped the function");
            }
            if done.is_err() {
                prop_assert_eq!(options.list(AUTO_APPROVE), before, "{:?} failed and has changed something", step);
            }
        }
        let decides = options.decides();
        prop_assert!(!decides || options.finish().auto_approve.is_none());
    }
}

/// Every way to spell a path and a value: as one dotted key, as tables, and as everything between.
fn spellings(path: &str, value: &Value) -> Vec<Value> {
    let mut spelled = vec![json!({ path: value })];
    for (dot, _) in path.match_indices('.') {
        let inner = spellings(&path[dot + 1..], value);
        spelled.extend(inner.into_iter().map(|inner| json!({ &path[..dot]: inner })));
    }
    spelled
}

#[test]
fn every_option_but_harmless_ones_needs_trust() {
    let about_tools = [
        ("tools", json!(["bash"])),
        ("tools", json!("bash")),
        ("tools", json!([])),
        ("tools.set", json!(["bash"])),
        ("tools.append", json!(["bash"])),
        ("tools.prepend", json!("bash")),
        ("tools.remove", json!(["bash"])),
        ("tools.auto_approve", json!(["bash"])),
        ("tools.auto_approve", json!([])),
        ("tools.auto_approve.set", json!(["bash"])),
        ("tools.auto_approve.append", json!("bash")),
        ("tools.auto_approve.prepend", json!(["bash"])),
        ("tools.auto_approve.remove", json!(["$default"])),
        ("tools.autopilot", json!(true)),
        ("tools.autopilot.enabled", json!(true)),
        ("tools.autopilot.max_turns", json!(9)),
    ];
    let mut read = 0;
    for (path, value) in &about_tools {
        for spelled in spellings(path, value) {
            let Ok(file) = file(&spelled) else { continue };
            assert!(file.needs_trust().is_some(), "{spelled}");
            read += 1;
        }
    }
    assert!(read > 20, "{read}");
    // An option that is new needs trust until it is listed here.
    let harmless = ["thinking", "temperature", "max_tokens", "cache_retention"];
    let words = ["low", "short", "native", "anthropic", "age", "max_tokens", "system", "any"];
    let samples = json!([true, 1, 0.5, 5000, ["bash"], { "bash": 1 }]);
    let samples: Vec<_> = samples.as_array().unwrap().iter().cloned().chain(words.map(Value::from)).collect();
    for (path, node) in known() {
        let mut taken = 0;
        for spelled in samples.iter().flat_map(|value| spellings(&path, value)) {
            let Ok(file) = file(&spelled) else { continue };
            let says = file.layer != json!({}) || file.tools.is_some() || file.auto_approve.is_some();
            assert_eq!(file.needs_trust().is_some(), says && !harmless.contains(&path.as_str()), "{spelled}");
            taken += usize::from(says);
        }
        assert!(taken > 0 || node == Node::Table, "there is no sample of a value for `{path}`");
    }
}
