//! A general parameter in a provider's own table: whichever it is, whichever provider, and whoever says so.

use std::{collections::BTreeSet, rc::Rc, slice::from_ref, time::Duration};

use flemma_config::{
    Config, ProviderOptions,
    buffer::{BufferOptions, Defaults},
    switch::Switch,
};
use flemma_provider::{CacheRetention, ProviderName, Thinking, ThinkingLevel};
use serde_json::{Value, json};

/// A general parameter: its name, a value for all, another one, and what the other comes to.
type Parameter = (&'static str, Value, Value, fn(&ProviderOptions) -> bool);

fn parameters() -> Vec<Parameter> {
    vec![
        ("max_tokens", json!(100), json!(200), |options| options.parameters.max_tokens == Some(200)),
        ("temperature", json!(0.1), json!(0.2), |options| options.parameters.temperature == Some(0.2)),
        ("timeout", json!(10), json!(20), |options| options.timeout == Duration::from_secs(20)),
        ("connect_timeout", json!(1), json!(2), |options| options.connect_timeout == Duration::from_secs(2)),
        ("max_reply_bytes", json!(5000), json!(6000), |options| options.max_reply_bytes == 6000),
        ("thinking", json!("low"), json!("high"), |options| {
            options.parameters.thinking == Thinking::Level(ThinkingLevel::High)
        }),
        ("thinking", json!("low"), json!(false), |options| options.parameters.thinking == Thinking::Off),
        ("cache_retention", json!("none"), json!("long"), |options| {
            options.parameters.cache_retention == CacheRetention::Long
        }),
        ("tool_protocol", json!("native"), json!("xml"), |options| options.parameters.calls_in_xml),
    ]
}

fn provider(name: &str) -> ProviderName {
    ProviderName::from_name(name).unwrap()
}

fn config(layers: &[Value]) -> Config {
    Config::from_layers(layers).unwrap_or_else(|error| panic!("{layers:?}: {error}"))
}

/// The layer of a file that sets these options.
fn file(options: &[(&str, &Value)]) -> Value {
    let mut file = BufferOptions::new(Defaults::default(), "flemma.opt.", Rc::new(|_, _| Ok(())));
    for (path, value) in options {
        file.set(path, value).unwrap();
    }
    file.finish().layer
}

/// The layer that a switch leaves over `runtime`.
fn switch(words: &str, setup: &Value, runtime: &Value) -> Value {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let now = config(&[setup.clone(), runtime.clone()]);
    Switch::parse(&words, &now).unwrap().over(runtime)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn a_providers_own_table_overrides_every_general_parameter() {
    for provider in ProviderName::all() {
        for (name, general, own, holds) in parameters() {
            let case = format!("{}.{name} = {own}", provider.name());
            let holds = |layers: &[Value]| holds(&config(layers).parameters_for(provider));
            let all = json!({ "parameters": { name: general } });
            assert!(!holds(from_ref(&all)), "{case}");

            // In `setup`, together with the general one.
            let setup = json!({ "parameters": { name: general, provider.name(): { name: own } } });
            assert!(holds(from_ref(&setup)), "{case} in setup");
            // In a file, over a general one of `setup` or of its own, in whatever order.
            let path = format!("{}.{name}", provider.name());
            for options in [
                vec![(path.as_str(), &own)],
                vec![(path.as_str(), &own), (name, &general)],
                vec![(name, &general), (path.as_str(), &own)],
            ] {
                assert!(holds(&[all.clone(), json!({}), file(&options)]), "{case} in a file: {options:?}");
            }
            // In a file that says the general one, over `setup`: what is a provider's own still wins.
            assert!(holds(&[setup.clone(), json!({}), file(&[(name, &general)])]), "{case} in setup, and a file");
            // In a switch, by its whole name.
            let words = format!("{}.{name}={}", provider.name(), word(&own));
            let runtime = switch(&words, &all, &json!({}));
            assert!(holds(&[all.clone(), runtime]), "{case} in a switch");
            // A switch that names no provider's table holds all the same.
            let other = json!({ "parameters": { provider.name(): { name: general } } });
            let words = format!("{} m {name}={}", provider.name(), word(&own));
            let runtime = switch(&words, &other, &json!({}));
            assert!(holds(&[other, runtime]), "{case} in a switch over setup");
            // Nobody else has it.
            for another in ProviderName::all().filter(|another| *another != provider) {
                let (mine, theirs) = (config(from_ref(&setup)), config(from_ref(&all)));
                let (mine, theirs) = (mine.parameters_for(another), theirs.parameters_for(another));
                assert_eq!(mine.parameters, theirs.parameters, "{case}");
                assert_eq!((mine.timeout, mine.connect_timeout), (theirs.timeout, theirs.connect_timeout), "{case}");
            }
            // What a configuration is given back as reads as the same.
            let given = serde_json::to_value(config(from_ref(&setup))).unwrap();
            assert_eq!(config(from_ref(&given)), config(from_ref(&setup)), "{case}");
        }
    }
}

#[test]
fn no_general_parameter_is_left_out() {
    let paths = Config::paths();
    let general = paths.iter().filter_map(|path| path.strip_prefix("parameters.")).filter(|name| !name.contains('.'));
    let is_table = |name: &&str| ProviderName::from_name(name).is_some();
    let general: BTreeSet<&str> = general.filter(|name| !is_table(name)).collect();
    assert_eq!(general, parameters().iter().map(|(name, ..)| *name).collect(), "the test above has all of them");
    for provider in ProviderName::all() {
        for name in &general {
            let path = format!("parameters.{}.{name}", provider.name());
            assert!(paths.contains(&path), "{path}");
        }
    }
}

#[test]
fn a_wrong_value_names_the_option() {
    for (name, value, words) in [
        ("thinking", json!("hard"), "must be false, a number of tokens, or one of"),
        ("cache_retention", json!("ever"), "must be \"none\", \"short\" or \"long\""),
        ("timeout", json!("soon"), "must be"),
    ] {
        let error =
            Config::from_layers(&[json!({ "parameters": { "vertex": { name: value } } })]).unwrap_err().to_string();
        assert!(error.contains(&format!("`parameters.vertex.{name}` {words}")), "{error}");
    }
    let error =
        Config::from_layers(&[json!({ "parameters": { "openai": { "time_out": 1 } } })]).unwrap_err().to_string();
    assert!(error.contains("did you mean `parameters.openai.timeout`?"), "{error}");
}

#[test]
fn a_providers_own_thinking_option_wins_in_one_layer() {
    let thinking = |layers: &[Value]| config(layers).parameters_for(provider("anthropic")).parameters.thinking;
    let level = Thinking::Level(ThinkingLevel::High);
    let both = json!({ "parameters": { "anthropic": { "thinking": "high", "thinking_budget": 5000 } } });
    assert_eq!(thinking(&[both]), Thinking::Budget(5000));
    let budget = json!({ "parameters": { "anthropic": { "thinking_budget": 5000 } } });
    let general = json!({ "parameters": { "anthropic": { "thinking": "high" } } });
    assert_eq!(thinking(&[budget.clone(), general.clone()]), level, "the file says so after setup");
    assert_eq!(thinking(&[general.clone(), budget.clone()]), Thinking::Budget(5000));
    assert_eq!(thinking(&[budget.clone(), file(&[("anthropic.thinking", &json!("high"))])]), level);
    // Two switches make one layer.
    let first = switch("anthropic m thinking_budget=5000", &json!({}), &json!({}));
    let second = switch("anthropic.thinking=high", &json!({}), &first);
    assert_eq!(thinking(&[second]), level);

    let effort = |layers: &[Value]| {
        let options = config(layers).parameters_for(provider("openai"));
        (options.vendor.get::<Value>("reasoning").unwrap_or_default(), options.parameters.thinking)
    };
    let reasoning = json!({ "parameters": { "openai": { "reasoning": "low" } } });
    let general = json!({ "parameters": { "openai": { "thinking": "high" } } });
    assert_eq!(effort(&[reasoning.clone(), general.clone()]), (Value::Null, level));
    assert_eq!(effort(&[general, reasoning]).0, "low");
}
