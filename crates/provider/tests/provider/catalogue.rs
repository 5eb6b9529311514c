//! The catalogue of models: that its data is whole, whom it knows, and what it makes of a bill.

use std::{
    collections::BTreeSet,
    time::{Duration, UNIX_EPOCH},
};

use flemma_model::Usage;
use flemma_provider::{
    CacheRetention::{self, Long, Short},
    ProviderName,
    catalogue::{self, Capability, Model, Price},
};
use serde_json::Value;

/// 2026-11-22.
const NOW: u64 = 1_795_305_600;
/// 2027-01-01.
const NEW_YEAR: u64 = 1_798_761_600;

fn price(model: &Model, seconds: u64) -> Price {
    model.price(UNIX_EPOCH + Duration::from_secs(seconds))
}

fn cost(provider: &str, model: &str, usage: Usage, retention: CacheRetention) -> f64 {
    let model = catalogue::find(provider, model).unwrap_or_else(|| panic!("{model} is not known"));
    price(model, NOW).cost(&usage, retention)
}

#[track_caller]
fn assert_dollars(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "${found} and not ${expected}");
}

#[test]
fn every_model_has_a_dated_source_and_plausible_prices() {
    let file: Value = serde_json::from_str(include_str!("../../src/catalogue.json")).unwrap();
    let models = file["models"].as_array().unwrap();
    assert!(models.len() >= 40);
    assert_eq!(catalogue::models().count(), models.len(), "the library reads all of the file");
    let ids: BTreeSet<_> =
        models.iter().map(|model| (model["provider"].to_string(), model["id"].to_string())).collect();
    assert_eq!(ids.len(), models.len(), "no model stands there twice");
    for model in models {
        let names = model["sources"].as_array().unwrap();
        assert!(!names.is_empty(), "{model}");
        for name in names {
            let source = &file["sources"][name.as_str().unwrap()];
            assert!(source["url"].as_str().unwrap().starts_with("https://"), "{name}");
            assert_eq!(source["read"].as_str().unwrap().len(), "2026-11-22".len(), "{name}");
        }
        let provider = model["provider"].as_str().unwrap();
        assert!(ProviderName::all().any(|known| known.name() == provider), "{provider}");
    }
    for model in catalogue::models() {
        for price in [price(model, NOW), price(model, NEW_YEAR)] {
            assert!(0.0 < price.input && price.input < price.output, "{model:?}");
            assert!(price.cache_read.is_none_or(|read| read < price.input), "{model:?}");
            assert!(price.cache_write.is_none_or(|write| write > price.input), "{model:?}");
        }
        assert!(model.takes.contains(&Capability::Tools), "{model:?}");
        assert!(model.max_output.is_none_or(|output| model.context.is_some_and(|all| output < all)), "{model:?}");
    }
}

#[test]
fn every_provider_of_models_knows_its_default_model() {
    for name in ["anthropic", "openai", "vertex"] {
        let provider = ProviderName::from_name(name).unwrap();
        let model = catalogue::find(provider.name(), provider.default_model());
        assert!(model.is_some_and(|model| model.context.is_some()), "{}", provider.default_model());
    }
}

#[test]
fn an_edition_is_its_model_and_a_variant_is_another() {
    for (provider, name, id) in [
        ("anthropic", "claude-sonnet-4-5", Some("claude-sonnet-4-5")),
        ("anthropic", "claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
        ("anthropic", "anthropic/Claude-Opus-5-5", Some("claude-opus-5-5")),
        ("anthropic", "claude-opus-5-5", Some("claude-opus-5-5")),
        ("anthropic", "claude-test", None),
        ("openai", "gpt-5.4-mini-2026-03-17", Some("gpt-5.4-mini")),
        ("openai", "gpt-5.4-ultra", None),
        ("openai", "gpt-5.45", None),
        ("vertex", "gemini-3.1-pro-preview", Some("gemini-3.1-pro")),
        ("vertex", "gemini-3.1-pro-image", None),
        // Whose server it is decides what it costs.
        ("openai_compatible", "gpt-5.4", None),
    ] {
        assert_eq!(catalogue::find(provider, name).map(|model| model.id.as_str()), id, "{name}");
    }
}

#[test]
fn the_cache_has_prices_of_its_own() {
    let usage = Usage { input: 1000, output: 2000, reasoning: 500, cache_read: 10_000, cache_write: 4000 };
    // $3, $15, $0.30 and $3.75 for a million; thinking is a part of the output.
    let short = (1000.0 * 3.0 + 2000.0 * 15.0 + 10_000.0 * 0.3 + 4000.0 * 3.75) / 1e6;
    assert_dollars(cost("anthropic", "claude-sonnet-4-5", usage, Short), short);
    let long = short + 4000.0 * (6.0 - 3.75) / 1e6;
    assert_dollars(cost("anthropic", "claude-sonnet-4-5", usage, Long), long);
    // A vendor that takes nothing for writing: what was written was read all the same.
    let usage = Usage { input: 1000, cache_write: 1000, ..Usage::default() };
    assert_dollars(cost("openai", "gpt-5.1", usage, Short), 2000.0 * 1.25 / 1e6);
}

#[test]
fn a_long_prompt_including_the_cache_costs_the_higher_price() {
    let at = Usage { input: 72_000, output: 1000, cache_read: 200_000, ..Usage::default() };
    assert_dollars(cost("openai", "gpt-6.2-sol", at, Short), (72_000.0 * 2.0 + 1000.0 * 10.0 + 20_000.0) / 1e6);
    let above = Usage { input: 72_001, ..at };
    assert_dollars(cost("openai", "gpt-6.2-sol", above, Short), (72_001.0 * 4.0 + 1000.0 * 15.0 + 40_000.0) / 1e6);
}

#[test]
fn an_announced_price_holds_from_its_day_on() {
    let model = catalogue::find("vertex", "gemini-3.8-flash").unwrap();
    assert_dollars(price(model, NEW_YEAR - 1).input, 0.75);
    assert_dollars(price(model, NEW_YEAR).input, 1.5);
}

#[test]
fn bytes_per_token_depend_on_the_model_and_have_a_default() {
    assert_dollars(catalogue::bytes_per_token("anthropic", "claude-sonnet-4-5"), 3.5);
    assert_dollars(catalogue::bytes_per_token("anthropic", "claude-opus-5-5"), 2.7);
    assert_dollars(catalogue::bytes_per_token("openai", "gpt-7"), 4.0);
    assert_dollars(catalogue::bytes_per_token("openai_compatible", "qwen3"), 3.5);
}
