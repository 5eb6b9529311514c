//! `pricing`: what models cost, where the user knows better than the catalogue or the catalogue knows nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use flemma_model::options::{Kind, Table};
use flemma_provider::catalogue::Price;

/// An amount of US dollars for a million tokens.
const DOLLARS: Kind<f64> = Kind {
    expected: "a price in dollars for a million tokens, from 0 up",
    read: |value| value.as_f64().filter(|price| *price >= 0.0 && price.is_finite()),
};

/// Reads `pricing`: the name of a model, as `model` has it, to its prices.
pub(super) fn read(pricing: &mut BTreeMap<String, Price>, table: &mut Table<'_>) {
    table.entries("pricing", |models, name| {
        let (mut input, mut output, mut price) = (None, None, Price::default());
        models.table(name, |table| {
            table.set_some("input", &mut input, &DOLLARS);
            table.set_some("output", &mut output, &DOLLARS);
            table.set_some("cache_read", &mut price.cache_read, &DOLLARS);
            table.set_some("cache_write", &mut price.cache_write, &DOLLARS);
        });
        if let (Some(input), Some(output)) = (input, output) {
            pricing.insert(name.to_owned(), Price { input, output, ..price });
            return;
        }
        let is_missing = |value: &Value| value.get("input").is_none() || value.get("output").is_none();
        if let Some(value) = models.raw(name).filter(|value| value.is_object() && is_missing(value)) {
            models.wrong(name, "a table with at least `input` and `output`", value);
        }
    });
}
