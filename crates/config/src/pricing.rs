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
pub(super) fn read(table: &mut Table<'_>) -> BTreeMap<String, Price> {
    table.entries("pricing", |models, name| {
        let price = models.table(name, |table| {
            let (input, output) = (table.some("input", &DOLLARS), table.some("output", &DOLLARS));
            let (cache_read, cache_write) = (table.some("cache_read", &DOLLARS), table.some("cache_write", &DOLLARS));
            Some(Price { input: input?, output: output?, cache_read, cache_write, ..Price::default() })
        });
        let is_missing = |value: &Value| value.get("input").is_none() || value.get("output").is_none();
        if let Some(value) = models.raw(name).filter(|value| value.is_object() && is_missing(value)) {
            models.wrong(name, "a table with at least `input` and `output`", value);
        }
        price
    })
}
