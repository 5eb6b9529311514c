//! Options as a user writes them, and what the user hears when they are wrong.

use std::time::Duration;

use flemma_config::{Config, CursorAfterResult, Highlight, OrFalse, ProviderOptions};
use flemma_provider::{CacheRetention, ProviderName, Thinking, ThinkingLevel};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) fn read(options: Value) -> Config {
    Config::from_layers(&[options]).unwrap_or_else(|error| panic!("{error}"))
}

fn provider(name: &str) -> ProviderName {
    ProviderName::from_name(name).unwrap()
}

/// An option of the vendor's own.
fn own(options: &ProviderOptions, name: &str) -> Value {
    options.vendor.get(name).unwrap_or_default()
}

/// What the user is told about wrong options, a problem a line.
pub(super) fn complaint(options: Value) -> String {
    match Config::from_layers(&[options]) {
        Ok(config) => panic!("these options were taken: {config:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn without_options_everything_has_its_default() {
    let config = read(json!({}));
    assert_eq!(config, Config::default());
    assert_eq!(config.provider, provider("rehearsal"));
    assert_eq!(config.model(), "welcome");
    assert_eq!(config.tools.auto_approve, ["$default"]);
    assert!(config.tools.require_approval && config.tools.show_spinner && config.tools.autopilot.enabled);
    assert_eq!(config.tools.autopilot.max_turns, 100);
    assert_eq!(config.tools.default_timeout, Duration::from_secs(30));
    assert_eq!(config.keymaps.normal.send, OrFalse(Some("<C-]>".into())));
    assert_eq!(config.keymaps.normal.cancel, OrFalse(Some("<C-c>".into())));
    assert!(config.editing.auto_write && !config.logging.enabled);
}

#[test]
fn each_provider_has_its_own_default_model() {
    let anthropic = read(json!({ "provider": "anthropic" }));
    assert_eq!(anthropic.model(), "claude-sonnet-5-5");
    let chosen = read(json!({ "provider": "anthropic", "model": "claude-opus-4-1" }));
    assert_eq!(chosen.model(), "claude-opus-4-1");
    // A model belongs to its provider: another one is never asked for it.
    assert_eq!(chosen.parameters_for(provider("anthropic")).model, "claude-opus-4-1");
    assert_eq!(chosen.parameters_for(provider("rehearsal")).model, "welcome");
    assert_eq!(read(json!({ "provider": "openai" })).model(), "gpt-5.6-terra");
    // Every server has its own.
    assert_eq!(read(json!({ "provider": "openai_compatible" })).model(), "");
}

#[test]
fn a_providers_own_parameters_beat_the_general_ones() {
    let config = read(json!({
        "parameters": {
            "max_tokens": 1000, "temperature": 0.5, "thinking": "low", "timeout": 7.5,
            "anthropic": { "max_tokens": 2000, "thinking_budget": 20000, "base_url": " http://localhost:8080/ " },
        },
    }));
    let anthropic = config.parameters_for(provider("anthropic"));
    assert_eq!(anthropic.parameters.max_tokens, Some(2000));
    assert_eq!(anthropic.parameters.temperature, Some(0.5));
    assert_eq!(anthropic.parameters.thinking, Thinking::Budget(20000));
    assert_eq!(anthropic.timeout, Duration::from_millis(7500));
    assert_eq!(own(&anthropic, "base_url"), "http://localhost:8080");

    let config = read(json!({
        "parameters": {
            "max_tokens": 1000, "temperature": 0.5, "thinking": "low",
            "openai": {
                "max_tokens": 2000, "temperature": 1, "reasoning": "xhigh", "base_url": "https://gateway.example/v1",
                "headers": { "OpenAI-Project": "proj_1" },
            },
            "openai_compatible": { "max_tokens": 3000, "temperature": 0, "base_url": "http://localhost:1234/v1" },
        },
    }));
    let openai = config.parameters_for(provider("openai"));
    assert_eq!((openai.parameters.max_tokens, openai.parameters.temperature), (Some(2000), Some(1.0)));
    assert_eq!(own(&openai, "reasoning"), "xhigh");
    assert_eq!(own(&openai, "base_url"), "https://gateway.example/v1");
    assert_eq!(own(&openai, "headers"), json!({ "openai-project": "proj_1" }));
    let compatible = config.parameters_for(provider("openai_compatible"));
    assert_eq!((compatible.parameters.max_tokens, compatible.parameters.temperature), (Some(3000), Some(0.0)));
    assert_eq!(compatible.parameters.thinking, Thinking::Level(ThinkingLevel::Low));
    assert_eq!(own(&compatible, "base_url"), "http://localhost:1234/v1");
    assert_eq!((own(&compatible, "reasoning"), own(&compatible, "headers")), (Value::Null, json!({})));

    let rehearsal = config.parameters_for(provider("rehearsal"));
    assert_eq!(rehearsal.parameters.max_tokens, Some(1000));
    assert_eq!(rehearsal.parameters.thinking.budget(), Some(2048));
    assert_eq!(own(&rehearsal, "base_url"), Value::Null);
}

#[test]
fn thinking_is_a_switch_a_number_or_a_level() {
    let thinking = |value: Value| read(json!({ "parameters": { "thinking": value } })).parameters.thinking;
    assert_eq!(thinking(json!(false)), Thinking::Off);
    assert_eq!(thinking(json!(0)), Thinking::Off);
    assert_eq!(thinking(json!(4096.0)), Thinking::Budget(4096));
    assert_eq!(thinking(json!("max")), Thinking::Level(ThinkingLevel::Max));
    assert_eq!(
        complaint(json!({ "parameters": { "thinking": true } })),
        r#"`parameters.thinking` must be false, a number of tokens, or one of "minimal", "low", "medium", "high" and "max", not true"#
    );
}

#[test]
fn cache_retention_is_one_of_three_words_and_short_by_default() {
    let retention =
        |value: Value| read(json!({ "parameters": { "cache_retention": value } })).parameters.cache_retention;
    assert_eq!(retention(Value::Null), CacheRetention::Short);
    assert_eq!(retention(json!("none")), CacheRetention::None);
    assert_eq!(retention(json!("long")), CacheRetention::Long);
    assert_eq!(
        complaint(json!({ "parameters": { "cache_retention": "forever" } })),
        r#"`parameters.cache_retention` must be "none", "short" or "long", not "forever""#
    );
}

#[test]
fn a_level_is_what_a_number_of_tokens_covers() {
    let level = |tokens| Thinking::Budget(tokens).level();
    assert_eq!(level(0), None);
    assert_eq!(level(1), Some(ThinkingLevel::Minimal));
    assert_eq!(level(8_191), Some(ThinkingLevel::Low));
    assert_eq!(level(8_192), Some(ThinkingLevel::Medium));
    assert_eq!(level(100_000), Some(ThinkingLevel::Max));
}

#[test]
fn a_budget_of_zero_turns_thinking_off_for_that_provider() {
    let config = read(json!({ "parameters": { "thinking": "high", "anthropic": { "thinking_budget": 0 } } }));
    assert_eq!(config.parameters_for(provider("anthropic")).parameters.thinking, Thinking::Off);
    assert_eq!(config.parameters_for(provider("rehearsal")).parameters.thinking.budget(), Some(16_384));
    assert_eq!(
        complaint(json!({ "parameters": { "anthropic": { "thinking_budget": 500 } } })),
        "`parameters.anthropic.thinking_budget` must be 0 (no thinking) or a whole number of tokens from 1024 up, not 500"
    );
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one() {
    assert_eq!(
        complaint(json!({ "tools": { "auto_aprove": ["read"] } })),
        "unknown option `tools.auto_aprove`; did you mean `tools.auto_approve`?"
    );
    assert_eq!(complaint(json!({ "modle": "x" })), "unknown option `modle`; did you mean `model`?");
    assert_eq!(
        complaint(json!({ "keymaps": { "normal": { "tool_exec": "x" } } })),
        "unknown option `keymaps.normal.tool_exec`; did you mean `keymaps.normal.tool_execute`?"
    );
    assert_eq!(complaint(json!({ "zzz": 1 })), "unknown option `zzz`");
}

#[test]
fn a_key_in_the_wrong_table_is_told_where_it_belongs() {
    assert_eq!(
        complaint(json!({ "auto_approve": ["read"] })),
        "unknown option `auto_approve`; did you mean `tools.auto_approve`?"
    );
    // `parameters.max_tokens` stands nearer than `parameters.anthropic.max_tokens`.
    assert_eq!(
        complaint(json!({ "max_tokens": 5 })),
        "unknown option `max_tokens`; did you mean `parameters.max_tokens`?"
    );
    // Several tables have an `enabled`: a guess would be wrong more often than right.
    assert_eq!(complaint(json!({ "enabled": true })), "unknown option `enabled`");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_what_is_expected() {
    for (options, expected) in [
        (
            json!({ "provider": "antropic" }),
            r#"`provider` must be "rehearsal", "anthropic", "openai", "openai_compatible" or "vertex", not "antropic""#,
        ),
        (
            json!({ "parameters": { "openai": { "reasoning": "hard" } } }),
            r#"`parameters.openai.reasoning` must be "none", "minimal", "low", "medium", "high", "xhigh" or "max", not "hard""#,
        ),
        (
            json!({ "tools": { "max_concurrent": "four" } }),
            r#"`tools.max_concurrent` must be a whole number from 1 up, not "four""#,
        ),
        (json!({ "tools": { "max_concurrent": 0 } }), "`tools.max_concurrent` must be a whole number from 1 up, not 0"),
        (
            json!({ "tools": { "max_concurrent": 1.5 } }),
            "`tools.max_concurrent` must be a whole number from 1 up, not 1.5",
        ),
        (
            json!({ "tools": { "default_timeout": -1 } }),
            "`tools.default_timeout` must be a number of seconds above 0 and up to 86400, not -1",
        ),
        (
            json!({ "tools": { "cursor_after_result": "here" } }),
            r#"`tools.cursor_after_result` must be "result", "stay" or "next", not "here""#,
        ),
        (
            json!({ "tools": { "auto_approve": "$default" } }),
            r#"`tools.auto_approve` must be a list of strings, a function, or the name of a module with a dot in it, not "$default""#,
        ),
        (
            json!({ "tools": { "presets": { "$no-bash": { "deny": "bash" } } } }),
            r#"`tools.presets.$no-bash.deny` must be a list of strings, not "bash""#,
        ),
        (json!({ "tools": true }), "`tools` must be a table, not true"),
        (
            json!({ "keymaps": { "insert": { "send": true } } }),
            r#"`keymaps.insert.send` must be keys such as "<C-]>", or false for none, not true"#,
        ),
        (
            json!({ "highlights": { "tool_preview": 7 } }),
            "`highlights.tool_preview` must be a highlight group's name or a table for nvim_set_hl(), not 7",
        ),
        (json!({ "parameters": { "temperature": 3 } }), "`parameters.temperature` must be a number from 0 to 2, not 3"),
        (
            json!({ "parameters": { "rehearsal": { "pace": -1 } } }),
            "`parameters.rehearsal.pace` must be a number from 0 to 100, not -1",
        ),
        (json!("fast"), r#"the options must be a table, not "fast""#),
    ] {
        assert_eq!(complaint(options), expected);
    }
}

#[test]
fn a_base_url_is_the_address_of_a_host() {
    for url in ["api.anthropic.com", "https://", "ftp://h"] {
        let said = complaint(json!({ "parameters": { "anthropic": { "base_url": url } } }));
        assert!(said.starts_with("`parameters.anthropic.base_url` must be a URL such as"), "{url}: {said}");
    }
    for url in ["https://api.anthropic.com", "http://127.0.0.1:8080/", "https://gateway.example/anthropic"] {
        read(json!({ "parameters": { "anthropic": { "base_url": url } } }));
    }
}

#[test]
fn what_is_added_to_a_base_url_may_be_there_already() {
    for (provider, url, taken) in [
        ("anthropic", "https://api.anthropic.com/v1/messages", "https://api.anthropic.com"),
        ("anthropic", "http://h/v1/", "http://h"),
        ("vertex", "https://aiplatform.googleapis.com/v1", "https://aiplatform.googleapis.com"),
        ("openai", "https://h/v1/responses/", "https://h/v1"),
        ("openai_compatible", " http://h/v1/chat/completions ", "http://h/v1"),
        ("openai_compatible", "https://h/d/x/chat/completions?api-version=1", "https://h/d/x?api-version=1"),
        ("openai_compatible", "https://api.perplexity.ai/chat/completions", "https://api.perplexity.ai"),
        ("openai_compatible", "https://api.deepseek.com", "https://api.deepseek.com"),
    ] {
        let config = read(json!({ "parameters": { provider: { "base_url": url } } }));
        assert_eq!(own(&config.parameters_for(self::provider(provider)), "base_url"), taken);
    }
}

#[test]
fn a_server_on_http_has_the_version_in_its_address() {
    for provider in ["openai", "openai_compatible"] {
        let option = |url: &str| json!({ "parameters": { provider: { "base_url": url } } });
        for url in [
            "api.openai.com/v1",
            "https://",
            "http://localhost:11434",
            "http://localhost:11434/",
            "https://h/v1#x",
            "https://h/v 1",
        ] {
            let said = complaint(option(url));
            assert_eq!(
                said,
                format!(
                    "`parameters.{provider}.base_url` must be a URL, on http with the API's version in its path, such as \
                     \"http://localhost:11434/v1\", not \"{url}\""
                )
            );
        }
        for url in ["http://localhost:11434/v1", "https://openrouter.ai/api/v1/", "https://h/v1?api-version=1"] {
            read(option(url));
        }
    }
}

#[test]
fn secrets_in_a_wrong_address_are_not_shown() {
    for (url, shown) in [
        ("h:user:hush@h/v1?api-version=1&API_KEY=hush&x=1#", "…@h/v1?api-version=1&API_KEY=…&x=1#"),
        ("ftp://user:hu?s#h@h/v1", "ftp://…@h/v1"),
    ] {
        let said = complaint(json!({ "parameters": { "openai": { "base_url": url } } }));
        assert!(said.ends_with(&format!("not \"{shown}\"")), "{said}");
    }
}

#[test]
fn header_values_are_strings_and_never_shown_in_messages() {
    let option = |headers: Value| json!({ "parameters": { "anthropic": { "headers": headers } } });
    let config = read(option(json!({ "X-Team": " core ", "x-token": "sk-secret" })));
    let anthropic = config.parameters_for(provider("anthropic"));
    assert_eq!(own(&anthropic, "headers"), json!({ "x-team": "core", "x-token": "sk-secret" }));
    assert!(!format!("{config:?}").contains("sk-secret"));
    let option_is = |path: &str, rest: &str| format!("`parameters.anthropic.headers{path}` must be {rest}");
    for (headers, expected) in [
        (json!("x"), option_is("", "a table, not \"x\"")),
        (json!({ "x y": "1" }), option_is("", "a table of header names and their values, not \"x y\"")),
        (
            json!({ "Content-Length": "1" }),
            option_is("", "a table without headers that the connection itself sets, not \"Content-Length\""),
        ),
        (
            json!({ "x-token": "sk-secret\nx: y" }),
            option_is(".x-token", "a string of printable ASCII characters on one line, not \"…\""),
        ),
        (json!({ "x": 1 }), option_is(".x", "a string of printable ASCII characters on one line, not \"…\"")),
    ] {
        assert_eq!(complaint(option(headers)), expected);
    }
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let said = complaint(json!({
        "modle": "x",
        "parameters": { "max_tokens": "many" },
        "tools": { "autopilot": { "max_turns": 0, "maxturns": 5 } },
    }));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    for path in ["`modle`", "`parameters.max_tokens`", "`tools.autopilot.max_turns`", "`tools.autopilot.maxturns`"] {
        assert!(lines.iter().any(|line| line.contains(path)), "{path} is missing from:\n{said}");
    }
}

#[test]
fn a_long_value_is_cut_short_in_the_message() {
    let said = complaint(json!({ "tools": { "show_spinner": "x".repeat(500) } }));
    assert!(said.ends_with('…') && said.chars().count() < 120, "{said}");
}

#[test]
fn an_empty_lua_table_is_an_empty_list_or_map_as_needed() {
    let empty = |value: Value| {
        let config = read(json!({ "tools": { "auto_approve": value, "presets": value }, "keymaps": value }));
        assert!(config.tools.auto_approve.is_empty());
        assert!(config.tools.presets.is_empty());
        assert_eq!(config.keymaps, Config::default().keymaps);
    };
    empty(json!({}));
    empty(json!([]));
    // Over a layer that set something as well.
    let below = json!({ "tools": { "auto_approve": ["bash"], "autopilot": { "max_turns": 3 } } });
    for value in [json!({}), json!([])] {
        let over = json!({ "tools": { "auto_approve": value, "autopilot": value } });
        let config = Config::from_layers(&[below.clone(), over]).unwrap();
        assert!(config.tools.auto_approve.is_empty());
        assert_eq!(config.tools.autopilot.max_turns, 3);
    }
    assert_eq!(read(json!([])), Config::default());
}

#[test]
fn a_later_layer_beats_an_earlier_one_key_by_key() {
    let setup = json!({
        "provider": "anthropic",
        "parameters": { "max_tokens": 100, "anthropic": { "temperature": 0.1 } },
        "tools": { "auto_approve": ["read", "bash"], "bash": { "shell": "zsh", "cwd": "/tmp" } },
    });
    let frontmatter = json!({
        "parameters": { "temperature": 0.9, "anthropic": { "max_tokens": 7 } },
        "tools": { "auto_approve": ["$readonly"], "bash": { "cwd": "/srv" } },
    });
    let config = Config::from_layers(&[setup, Value::Null, frontmatter]).unwrap();
    let resolved = config.parameters_for(config.provider);
    assert_eq!(resolved.parameters.max_tokens, Some(7));
    assert_eq!(resolved.parameters.temperature, Some(0.1), "the provider's own beats a later general one");
    assert_eq!(config.tools.auto_approve, ["$readonly"], "a list replaces");
    assert_eq!(config.tools.options_of("bash"), json!({ "shell": "zsh", "cwd": "/srv" }));
}

#[test]
fn null_takes_back_what_the_layers_below_said() {
    let config = Config::from_layers(&[
        json!({ "model": "big", "tools": { "max_concurrent": 9 } }),
        json!({ "model": null, "tools": { "max_concurrent": null } }),
    ])
    .unwrap();
    assert_eq!(config, Config::default());
    let again = Config::from_layers(&[json!({ "tools": null }), json!({ "tools": { "max_concurrent": 2 } })]).unwrap();
    assert_eq!(again.tools.max_concurrent, 2);
}

#[test]
fn keys_can_be_changed_and_left_unmapped() {
    let config = read(json!({ "keymaps": { "normal": { "send": "<leader>s", "cancel": false } } }));
    assert_eq!(config.keymaps.normal.send, OrFalse(Some("<leader>s".into())));
    assert_eq!(config.keymaps.normal.cancel, OrFalse(None));
    assert_eq!(config.keymaps.normal.tool_execute, OrFalse(Some("<M-CR>".into())));
}

#[test]
fn what_the_editor_is_given_reads_back_as_the_same_options() {
    let config = read(json!({
        "provider": "anthropic",
        "parameters": {
            "thinking": "medium", "timeout": 2.5,
            "anthropic": { "base_url": "http://localhost:1", "headers": { "X-A": "b" } },
            "openai": { "reasoning": "xhigh" },
        },
        "tools": {
            "cursor_after_result": "next", "presets": { "$mine": { "deny": ["bash"] } }, "export": { "max_size": 5 },
        },
        "keymaps": { "normal": { "cancel": false } },
        "highlights": { "tool_preview": "Comment", "role": { "fg": "#ff0000", "bold": true } },
        "logging": { "enabled": true, "level": "debug", "path": "/tmp/flemma.log" },
    }));
    assert_eq!(config.tools.cursor_after_result, CursorAfterResult::Next);
    assert_eq!(config.highlights["tool_preview"], Highlight::Link("Comment".into()));
    let given = serde_json::to_value(&config).unwrap();
    assert_eq!(given["parameters"]["timeout"], json!(2.5));
    assert_eq!(given["keymaps"]["normal"]["cancel"], json!(false));
    assert_eq!(given["tools"]["export"], json!({ "max_size": 5 }));
    assert_eq!(read(given), config);
}

#[test]
fn vertex_has_a_place_a_project_and_parameters_of_its_own() {
    let config = read(json!({ "provider": "vertex" }));
    assert_eq!(config.model(), "gemini-3.8-flash");
    let options = config.parameters_for(config.provider);
    assert_eq!((own(&options, "location"), own(&options, "project_id")), (json!("global"), Value::Null));
    let config = read(json!({ "parameters": { "thinking": "high", "vertex": {
        "project_id": "p", "location": "europe-west4", "thinking_budget": 4096, "max_tokens": 7, "temperature": 1,
        "base_url": "https://gateway.example/google",
    } } }));
    let options = config.parameters_for(provider("vertex"));
    assert_eq!(options.parameters.thinking, Thinking::Budget(4096));
    assert_eq!((options.parameters.max_tokens, options.parameters.temperature), (Some(7), Some(1.0)));
    assert_eq!(own(&options, "base_url"), "https://gateway.example/google");
    let config = read(json!({ "parameters": { "thinking": "high", "vertex": { "thinking_budget": 0 } } }));
    assert_eq!(config.parameters_for(provider("vertex")).parameters.thinking, Thinking::Off);
    for url in ["aiplatform.googleapis.com", "https://h/v1/projects/p", "https://h#x"] {
        let said = complaint(json!({ "parameters": { "vertex": { "base_url": url } } }));
        assert!(said.starts_with("`parameters.vertex.base_url` must be a URL such as"), "{url}: {said}");
    }
}

#[test]
fn a_command_for_a_key_is_a_list_or_a_line_for_the_shell() {
    let command = |value: Value| {
        let config = read(json!({ "parameters": { "anthropic": { "api_key_command": value } } }));
        own(&config.parameters_for(provider("anthropic")), "api_key_command")
    };
    assert_eq!(command(json!(["pass", "show", "anthropic"])), json!(["pass", "show", "anthropic"]));
    assert_eq!(command(json!("pass show anthropic | head -1")), json!(["sh", "-c", "pass show anthropic | head -1"]));
    for value in [json!([]), json!([""]), json!(" "), json!(7), json!(["pass", 7])] {
        let said = complaint(json!({ "parameters": { "anthropic": { "api_key_command": value } } }));
        assert!(said.starts_with("`parameters.anthropic.api_key_command` must be a command"), "{said}");
    }
}

/// Options that are nearly right: real keys in any place, with values of any kind.
fn options() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "provider",
        "parameters",
        "anthropic",
        "openai",
        "reasoning",
        "headers",
        "base_url",
        "tools",
        "presets",
        "bash",
        "timeout",
        "auto_approve",
        "keymaps",
        "normal",
        "send",
        "highlights",
        "thinking",
        "pace",
        "",
        "a.b",
        "$default",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,80}".prop_map(Value::from),
        Just(json!("anthropic")),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_options_give_a_configuration_or_a_message(layers in prop::collection::vec(options(), 0..4)) {
        match Config::from_layers(&layers) {
            Ok(config) => {
                let given = serde_json::to_value(&config).unwrap();
                prop_assert_eq!(Config::from_layers(&[given]), Ok(config));
            }
            Err(error) => prop_assert!(!error.problems.is_empty() && !error.to_string().is_empty()),
        }
    }
}

#[test]
fn prices_are_tables_of_dollars_by_model() {
    let config = read(json!({ "pricing": { "a/b:c": { "input": 1, "output": 2.5, "cache_read": 0 } } }));
    let price = config.pricing["a/b:c"];
    assert_eq!((price.input, price.output, price.cache_read, price.cache_write), (1.0, 2.5, Some(0.0), None));
    for (wrong, words) in [
        (
            json!({ "m": { "input": 1 } }),
            "`pricing.m` must be a table with at least `input` and `output`, not {\"input\":1}",
        ),
        (
            json!({ "m": { "input": -1, "output": 2 } }),
            "`pricing.m.input` must be a price in dollars for a million tokens, from 0 up, not -1",
        ),
        (
            json!({ "m": { "input": 1, "output": 2, "cache_reed": 2 } }),
            "unknown option `pricing.m.cache_reed`; did you mean `pricing.m.cache_read`?",
        ),
        (json!({ "m": 3 }), "`pricing.m` must be a table, not 3"),
    ] {
        assert_eq!(complaint(json!({ "pricing": wrong })), words);
    }
}

#[test]
fn the_folder_of_conversations_is_below_the_project() {
    let read = |options: serde_json::Value| Config::from_layers(&[json!({ "conversations": options })]);
    for folder in [".chats", "./a/b", "a/./b", "chats/"] {
        let config = read(json!({ "folder": folder })).unwrap();
        assert_eq!(config.conversations.folder.as_deref(), Some(folder));
    }
    for folder in ["", ".", "./", "..", "a/../b", "/tmp", "../x"] {
        let error = read(json!({ "folder": folder })).unwrap_err().to_string();
        assert!(error.contains("`conversations.folder` must be the path of a folder below"), "{folder}: {error}");
    }
    for (size, is_right) in [(0.5, true), (1.0, true), (80.0, true), (0.0, false), (-1.0, false), (1.5, false)] {
        for name in ["width", "height"] {
            assert_eq!(read(json!({ name: size })).is_ok(), is_right, "{name} = {size}");
        }
    }
    assert!(read(json!({ "layout": "flaot" })).is_err());
}
