//! The options of tools: a table for each tool, retention, the limits of a search.

use flemma_config::{Config, Retention};
use serde_json::{Value, json};

use super::options::{complaint, read};

#[test]
fn every_tool_may_have_a_table_of_its_own() {
    let config = read(json!({ "tools": { "bash": { "shell": "zsh" }, "export": { "max_size": 5 }, "empty": [] } }));
    assert_eq!(config.tools.options_of("bash"), json!({ "shell": "zsh" }));
    assert_eq!(config.tools.options_of("export"), json!({ "max_size": 5 }));
    assert_eq!(config.tools.options_of("empty"), json!({}));
    assert_eq!(config.tools.options_of("read"), json!({}));
}

#[test]
fn the_built_in_tools_table_is_checked() {
    assert_eq!(
        complaint(json!({ "tools": { "bash": { "shel": "zsh", "timeout": "long" } } })),
        "`tools.bash.timeout` must be a number of seconds above 0 and up to 86400, not \"long\"\n\
         unknown option `tools.bash.shel`; did you mean `tools.bash.shell`?"
    );
}

#[test]
fn a_retention_is_read_and_checked_wherever_it_stands() {
    let count = |value: u32| Some(Retention::LastResults(value.try_into().unwrap()));
    let general = |table: Value| read(json!({ "tools": { "retention": table } })).tools.retention.retention();
    let own = |tool: &str, table: Value| {
        read(json!({ "tools": { tool: { "retention": table } } }))
            .tools
            .own_retention()
            .find_map(|(name, retention)| (name == tool).then_some(retention))
    };
    let table = [
        (json!(null), None),
        (json!({}), None),
        (json!([]), None),
        (json!({ "never_evict": false }), None),
        (json!({ "mode": "count", "value": 3 }), count(3)),
        (json!({ "mode": "count", "value": 3.0 }), count(3)),
        (json!({ "mode": "age", "value": 1 }), Some(Retention::LastTurns(1.try_into().unwrap()))),
        (json!({ "never_evict": true }), Some(Retention::Everything)),
        (json!({ "mode": "age", "never_evict": true }), Some(Retention::Everything)),
    ];
    for (written, expected) in table {
        assert_eq!(general(written.clone()), expected, "{written}");
        assert_eq!(own("bash", written.clone()), expected, "{written}");
        assert_eq!(own("mine", written.clone()), expected, "{written}");
        if let Some(retention) = expected {
            assert_eq!(Retention::read(&retention.to_json()).unwrap(), expected);
        }
    }
    let table = [
        (json!(5), "`tools.AT` must be a table, not 5"),
        (json!({ "mode": "count", "value": 0 }), "`tools.AT.value` must be a whole number from 1 up, not 0"),
        (json!({ "mode": "cout", "value": 1 }), "`tools.AT.mode` must be \"age\" or \"count\", not \"cout\""),
        (json!({ "never_evict": 1 }), "`tools.AT.never_evict` must be true or false, not 1"),
        (json!({ "mode": "age" }), "`tools.AT.value` is missing; set it to a whole number from 1 up"),
        (json!({ "value": 3 }), "`tools.AT.mode` is missing; set it to \"age\" or \"count\""),
        (json!({ "never_evct": true }), "unknown option `tools.AT.never_evct`; did you mean `tools.AT.never_evict`?"),
    ];
    for (written, expected) in table {
        for (tools, at) in [
            (json!({ "retention": written }), "retention"),
            (json!({ "bash": { "retention": written } }), "bash.retention"),
            (json!({ "mine": { "retention": written } }), "mine.retention"),
        ] {
            assert_eq!(complaint(json!({ "tools": tools })), expected.replace("AT", at));
        }
    }
    // Layers come together key by key.
    let layers = [json!({ "tools": { "retention": { "mode": "count", "value": 9 } } }), json!({})];
    let over = json!({ "tools": { "retention": { "value": 2 } } });
    let config = Config::from_layers(&[layers[0].clone(), layers[1].clone(), over]).unwrap();
    assert_eq!(config.tools.retention.retention(), count(2));
    assert_eq!(
        complaint(json!({ "tools": { "retnetion": { "mode": "age", "value": 3 } } })),
        "unknown option `tools.retnetion`; did you mean `tools.retention`?"
    );
    assert_eq!(
        complaint(json!({ "tools": { "web_search": { "retention": {} } } })),
        "unknown option `tools.web_search.retention`; did you mean `tools.retention`?"
    );
}

#[test]
fn the_limits_of_a_search_are_checked() {
    let search = |limits: Value| json!({"tools": {"web_search": limits}});
    let read = read(search(json!({"max_uses": 3, "allowed_domains": ["docs.rs", "example.org/blog"]})));
    assert_eq!(read.tools.search.max_uses, Some(3));
    assert_eq!(read.tools.search.allowed_domains, ["docs.rs", "example.org/blog"]);
    assert_eq!(
        complaint(search(json!({"max_use": 0, "allowed_domains": ["https://docs.rs"]}))),
        "`tools.web_search.allowed_domains` must be a list of domains without `https://`, as in { \"docs.rs\" }, \
         not [\"https://docs.rs\"]\n\
         unknown option `tools.web_search.max_use`; did you mean `tools.web_search.max_uses`?"
    );
    assert_eq!(
        complaint(search(json!({"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}))),
        "`tools.web_search.blocked_domains` must be omitted where allowed_domains is set, not [\"b.example\"]"
    );
}

#[test]
fn a_mistyped_table_is_not_taken_for_a_tool() {
    assert_eq!(
        complaint(json!({ "tools": { "autopliot": { "enabled": false } } })),
        "unknown option `tools.autopliot`; did you mean `tools.autopilot`?"
    );
    // Alike, but no slip of the finger: a tool may be called that.
    assert_eq!(read(json!({ "tools": { "auto": { "x": 1 } } })).tools.options_of("auto"), json!({ "x": 1 }));
}

#[test]
fn the_folder_of_notes_is_checked() {
    let config = read(json!({ "tools": { "notes": { "enabled": true, "root": "~/notes" }, "note": { "x": 1 } } }));
    assert!(config.tools.notes.enabled);
    assert_eq!(config.tools.notes.root.as_deref(), Some("~/notes"));
    assert!(!read(json!({})).tools.notes.enabled);
    assert_eq!(
        complaint(json!({ "tools": { "notes": { "enabled": 1, "rot": "x" } } })),
        "`tools.notes.enabled` must be true or false, not 1\n\
         unknown option `tools.notes.rot`; did you mean `tools.notes.root`?"
    );
}
