//! The requests so far, and what they add up to.

use std::{collections::BTreeMap, time::SystemTime};

use crate::model::Usage;

/// One request that a provider has counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The buffer of its conversation.
    pub buffer: i32,
    /// The provider's name in the configuration.
    pub provider: &'static str,
    /// The model, by the provider's own name.
    pub model: String,
    /// The tokens.
    pub usage: Usage,
    /// US dollars; `None` where the model has no known price.
    pub cost: Option<f64>,
    /// Whether its reply is complete. The count of one that was cut off is what the provider had said by then.
    pub complete: bool,
    /// When it ended.
    pub at: SystemTime,
}

/// What some requests add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// How many they are.
    pub requests: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What those with a known price cost, in US dollars.
    pub cost: f64,
    /// How many have no known price: with any, the true cost is higher.
    pub unpriced: u64,
}

impl Totals {
    fn add(&mut self, record: &Record) {
        self.requests += 1;
        self.usage += record.usage;
        match record.cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }
}

/// Everything since the editor was started, or since the last [`Ledger::reset`]. Sums are kept, not computed, for a
/// status line asks often.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    records: Vec<Record>,
    all: Totals,
    buffers: BTreeMap<i32, Totals>,
    models: BTreeMap<(&'static str, String), Totals>,
}

impl Ledger {
    /// Adds a request.
    pub fn add(&mut self, record: Record) {
        self.all.add(&record);
        self.buffers.entry(record.buffer).or_default().add(&record);
        self.models.entry((record.provider, record.model.clone())).or_default().add(&record);
        self.records.push(record);
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// The requests, oldest first.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What all conversations add up to.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.all
    }

    /// What the conversation of a buffer adds up to.
    #[must_use]
    pub fn totals_of(&self, buffer: i32) -> Totals {
        self.buffers.get(&buffer).copied().unwrap_or_default()
    }

    /// The models that were asked, by provider and name, with what each adds up to.
    pub fn by_model(&self) -> impl Iterator<Item = (&'static str, &str, Totals)> {
        self.models.iter().map(|((provider, model), totals)| (*provider, model.as_str(), *totals))
    }
}
