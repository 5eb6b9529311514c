//! `:Flemma switch`: what its words come to, and what the user hears when they are wrong.

use flemma_config::{
    Config,
    switch::{Switch, complete, describe},
};
use flemma_provider::{ProviderName, Thinking, ThinkingLevel};
use serde_json::{Value, json};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn options(layer: Value) -> Config {
    Config::from_layers(&[layer]).unwrap_or_else(|error| panic!("{error}"))
}

/// The options after `setup` and one switch after the other.
fn provider(name: &str) -> ProviderName {
    ProviderName::from_name(name).unwrap()
}

/// An option of the vendor's own.
fn own(config: &Config, name: &str) -> Value {
    config.parameters_for(config.provider).vendor.get(name).unwrap_or_default()
}

fn after(setup: Value, switches: &[&str]) -> Config {
    let mut runtime = Value::Null;
    for line in switches {
        let now = Config::from_layers(&[setup.clone(), runtime.clone()]).unwrap();
        let switch = Switch::parse(&words(line), &now).unwrap_or_else(|error| panic!("{line}: {error}"));
        runtime = switch.over(&runtime);
    }
    Config::from_layers(&[setup, runtime]).unwrap()
}

fn refused(line: &str) -> String {
    let setup = options(json!({ "presets": { "$fast": "openai thinking=low" } }));
    Switch::parse(&words(line), &setup).expect_err(line).to_string()
}

#[test]
fn a_switch_names_provider_model_and_parameters() {
    let config =
        after(json!({}), &["anthropic claude-opus-5-5 thinking=high max_tokens=4000 temperature=0.5 timeout=90"]);
    assert_eq!((config.provider, config.model()), (provider("anthropic"), "claude-opus-5-5"));
    assert_eq!(config.parameters.thinking, Thinking::Level(ThinkingLevel::High));
    assert_eq!((config.parameters.max_tokens, config.parameters.temperature), (4000, Some(0.5)));
    assert_eq!(config.parameters.timeout.as_secs(), 90);
}

#[test]
fn what_is_the_providers_own_goes_into_its_table() {
    let config = after(json!({}), &["openai gpt-6-astra reasoning=xhigh base_url=http://localhost:1/v1"]);
    assert_eq!(own(&config, "reasoning"), "xhigh");
    assert_eq!(own(&config, "base_url"), "http://localhost:1/v1");
    // A name that looks like a number, where a name is wanted.
    let config = after(json!({}), &["vertex gemini-3.8-flash project_id=12345 vertex.location=us"]);
    assert_eq!(own(&config, "project_id"), "12345");
    assert_eq!(own(&config, "location"), "us");
}

#[test]
fn a_switched_parameter_beats_a_provider_specific_one() {
    let setup = json!({ "parameters": {
        "anthropic": { "max_tokens": 100, "thinking_budget": 2000 }, "openai": { "max_tokens": 7, "reasoning": "low" },
    } });
    let config = after(setup.clone(), &["anthropic max_tokens=4000 thinking=high"]);
    let asked = config.parameters_for(provider("anthropic")).parameters;
    assert_eq!((asked.max_tokens, asked.thinking), (Some(4000), Thinking::Level(ThinkingLevel::High)));
    assert_eq!(config.parameters_for(provider("openai")).parameters.max_tokens, Some(7), "what is another's stays");
    let config = after(setup.clone(), &["openai thinking=max"]);
    assert_eq!(config.parameters_for(provider("openai")).vendor.get("reasoning"), Some(Value::Null));
    // Said in the provider's own words, in whatever order.
    for line in ["anthropic thinking=low thinking_budget=5000", "anthropic thinking_budget=5000 thinking=low"] {
        let asked = after(setup.clone(), &[line]).parameters_for(provider("anthropic")).parameters;
        assert_eq!(asked.thinking, Thinking::Budget(5000), "{line}");
    }
}

#[test]
fn a_switch_replaces_the_last_one_and_parameters_add_to_it() {
    let setup = json!({ "provider": "anthropic", "model": "claude-x" });
    let config = after(setup.clone(), &["openai gpt-a thinking=high", "openai gpt-b"]);
    assert_eq!((config.model(), config.parameters.thinking), ("gpt-b", Thinking::Off));
    let config = after(setup.clone(), &["openai gpt-a thinking=high", "max_tokens=50"]);
    assert_eq!(config.model(), "gpt-a");
    assert_eq!(config.parameters.thinking, Thinking::Level(ThinkingLevel::High));
    assert_eq!(config.parameters.max_tokens, 50);
    let config = after(setup, &["max_tokens=50", "max_tokens=nil"]);
    assert_eq!((config.model(), config.parameters.max_tokens), ("claude-x", 8192));
}

#[test]
fn a_model_belongs_to_the_provider_that_it_was_named_with() {
    let setup = json!({ "provider": "anthropic", "model": "claude-x" });
    assert_eq!(after(setup.clone(), &["openai"]).model(), provider("openai").default_model());
    assert_eq!(after(setup.clone(), &["openai gpt-a", "anthropic"]).model(), "claude-x", "that of setup, for its own");
    // A file that names another provider does not ask it for this one's model.
    let file = json!({ "provider": "vertex" });
    assert_eq!(Config::from_layers(&[setup.clone(), file]).unwrap().model(), provider("vertex").default_model());
    let file = json!({ "provider": "anthropic", "parameters": { "max_tokens": 9 } });
    assert_eq!(Config::from_layers(&[setup, file]).unwrap().model(), "claude-x");
}

#[test]
fn presets_are_words_or_tables_and_take_parameters() {
    let setup = json!({ "presets": {
        "$fast": "openai gpt-6-luna thinking=low",
        "$deep": { "provider": "anthropic", "model": "claude-opus-5-5", "parameters": { "thinking": "max" } },
        "$brief": { "parameters": { "max_tokens": 300 } },
    } });
    let fast = after(setup.clone(), &["$fast"]);
    assert_eq!((fast.provider, fast.model()), (provider("openai"), "gpt-6-luna"));
    assert_eq!(fast.parameters.thinking, Thinking::Level(ThinkingLevel::Low));
    let deep = after(setup.clone(), &["$fast", "$deep max_tokens=9000"]);
    assert_eq!((deep.provider, deep.model()), (provider("anthropic"), "claude-opus-5-5"));
    assert_eq!(deep.parameters.thinking, Thinking::Level(ThinkingLevel::Max));
    assert_eq!(deep.parameters.max_tokens, 9000);
    let brief = after(setup, &["$deep", "$brief"]);
    assert_eq!((brief.model(), brief.parameters.max_tokens), ("claude-opus-5-5", 300));
}

#[test]
fn a_preset_that_is_wrong_is_told_at_setup() {
    for (preset, words) in [
        (
            json!({ "$x": "antropic claude" }),
            "`presets.$x`: there is no provider `antropic`; did you mean `anthropic`?",
        ),
        (json!({ "$x": "openai thinking=hihg" }), "`presets.$x`: `thinking` must be false, a number of tokens"),
        (json!({ "$x": "$y" }), "`presets.$x`: `$y` is a preset; a preset cannot refer to another one"),
        (json!({ "$x": "thinking=low" }), "`presets.$x`: it does not name a provider"),
        (json!({ "$x": "" }), "`presets.$x`: it is empty"),
        (json!({ "$x": 3 }), "`presets.$x` must be a string such as"),
        (json!({ "$x": { "modell": "m" } }), "unknown option `presets.$x.modell`; did you mean `presets.$x.model`?"),
        (json!({ "$x": { "provider": "nobody" } }), "`presets.$x.provider` must be \"rehearsal\", \"anthropic\""),
        (
            json!({ "$x": { "parameters": { "max_tokens": 0 } } }),
            "`presets.$x.parameters.max_tokens` must be a whole number from 1 up, not 0",
        ),
        (json!({ "fast": "openai" }), "`presets.fast`: the name of a preset begins with `$`"),
    ] {
        let error = Config::from_layers(&[json!({ "presets": preset })]).expect_err(words).to_string();
        assert!(error.contains(words), "{words}\n{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn mistakes_name_the_word_and_what_was_probably_meant() {
    for (line, expected) in [
        ("antropic claude-x", "there is no provider `antropic`; did you mean `anthropic`?"),
        ("xyz", "there is no provider `xyz`. There are: rehearsal, anthropic, openai, openai_compatible, vertex"),
        ("claude-opus-5-5", "`claude-opus-5-5` is a model of `anthropic`; write `anthropic claude-opus-5-5`"),
        ("$fats", "there is no preset `$fats`; did you mean `$fast`?"),
        ("$qqq", "there is no preset `$qqq`. There are: $fast"),
        ("openai gpt-a gpt-b", "unexpected `gpt-b`; only parameters such as `thinking=high` may follow the model"),
        ("openai gpt-a thinkin=high", "unknown parameter `thinkin` of `openai`; did you mean `thinking`?"),
        ("openai gpt-a thinking_budget=3", "unknown parameter `thinking_budget` of `openai`; did you mean `thinking`?"),
        ("openai gpt-a openai=3", "unknown parameter `openai` of `openai`"),
        ("openai gpt-a max_tokens=lots", "`max_tokens` must be a whole number from 1 up, not \"lots\""),
        (
            "anthropic m thinking_budget=5",
            "`thinking_budget` must be 0 (no thinking) or a whole number of tokens from 1024 up, not 5",
        ),
        ("openai gpt-a max_tokens=", "`max_tokens=` has no value; `max_tokens=nil` restores the default"),
        ("openai headers={}", "`headers` may be a secret, and the command line has a history; set it in `setup`"),
    ] {
        assert_eq!(refused(line), expected, "{line}");
    }
}

#[test]
fn the_message_says_what_holds_and_no_secret() {
    let setup = json!({ "parameters": { "openai": { "headers": { "x": "hush-hush" } } } });
    let layer = json!({ "provider": "openai", "model": "gpt-a", "parameters": {
        "thinking": "low", "max_tokens": null, "anthropic": { "temperature": 1 },
        "openai": { "max_tokens": 5, "base_url": "http://me:hush-hush@h/v1", "headers": { "y": "hush-hush" },
                    "api_key_command": ["echo", "hush-hush"] },
    } });
    let config = Config::from_layers(&[setup, layer.clone()]).unwrap();
    assert_eq!(
        describe(&config, &layer),
        "openai, gpt-a, thinking low, max_tokens 5, base_url http://…@h/v1, headers.y …, api_key_command …"
    );
}

#[test]
fn completion_offers_what_may_come_next() {
    let now = options(json!({ "provider": "anthropic", "presets": { "$fast": "openai gpt-a" } }));
    let offered = |before: &str, lead: &str| complete(&words(before), lead, &now);
    assert_eq!(offered("", "an"), ["anthropic"]);
    assert_eq!(offered("", "$"), ["$fast"]);
    assert_eq!(offered("", "thin"), ["thinking=", "thinking_budget="], "for the provider that holds");
    assert!(offered("anthropic", "claude-").contains(&"claude-opus-5-5".to_owned()));
    assert_eq!(offered("openai gpt-a", "gpt"), [""; 0], "one model is enough");
    assert_eq!(offered("openai gpt-a", "re"), ["reasoning="]);
    assert_eq!(offered("$fast", "re"), ["reasoning="]);
    assert_eq!(
        offered("openai gpt-a", "thinking="),
        ["false", "minimal", "low", "medium", "high", "max"].map(|word| format!("thinking={word}"))
    );
    assert_eq!(
        offered("vertex gemini", "cache_retention="),
        ["none", "short", "long"].map(|w| format!("cache_retention={w}"))
    );
    assert_eq!(offered("vertex gemini", "location="), [""; 0], "anything goes there");
    assert!(!offered("openai", "").iter().any(|word| word.starts_with("headers") || word.starts_with("api_key")));
    // Whatever completion offers is taken.
    for provider in ProviderName::all() {
        for word in complete(&[provider.name().to_owned(), "m".to_owned()], "", &now) {
            for whole in complete(&[provider.name().to_owned(), "m".to_owned()], &word, &now) {
                if !whole.ends_with('=') {
                    Switch::parse(&[provider.name().to_owned(), "m".to_owned(), whole.clone()], &now).expect(&whole);
                }
            }
        }
        assert!(provider.models().is_none_or(|models| models.contains(&provider.default_model())));
    }
}
