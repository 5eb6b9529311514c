//! The requests so far and their totals.

use std::{collections::BTreeMap, time::SystemTime};

use serde::{Serialize, Serializer};

use flemma_model::Usage;

/// One request, with the provider's count of its tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The buffer of its conversation.
    #[serde(rename = "buf")]
    pub buffer: i32,
    /// The provider's name in the configuration.
    pub provider: &'static str,
    /// The model, by the provider's own name.
    pub model: String,
    /// The tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// US dollars; `None` where the model has no known price.
    pub cost: Option<f64>,
    /// Whether its reply is complete. For an incomplete reply, the count is the provider's last one.
    pub complete: bool,
    /// When it ended. Seconds since 1970 for whoever it is written for.
    #[serde(rename = "time", serialize_with = "seconds")]
    pub at: SystemTime,
}

fn seconds<S: Serializer>(at: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// The totals of some requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Their number.
    pub requests: u64,
    /// Their tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// The cost of those with a known price, in US dollars.
    pub cost: f64,
    /// How many have no known price. If there are any, the true cost is higher.
    pub unpriced: u64,
}

impl Totals {
    fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut totals = Self::default();
        for record in records {
            totals.requests += 1;
            totals.usage += record.usage;
            totals.cost += record.cost.unwrap_or_default();
            totals.unpriced += u64::from(record.cost.is_none());
        }
        totals
    }
}

/// The usage since the editor started or since the last [`Ledger::reset`].
#[derive(Clone, Debug, Default)]
pub struct Ledger(Vec<Record>);

impl Ledger {
    /// Adds a request.
    pub fn add(&mut self, record: Record) {
        self.0.push(record);
    }

    /// Removes all records.
    pub fn reset(&mut self) {
        self.0.clear();
    }

    /// The requests, oldest first.
    pub fn records(&self) -> &[Record] {
        &self.0
    }

    /// The totals of all conversations.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.0)
    }

    /// The totals of the conversation in a buffer.
    pub fn totals_of(&self, buffer: i32) -> Totals {
        Totals::of(self.0.iter().filter(|record| record.buffer == buffer))
    }

    /// The totals by provider and model.
    pub fn by_model(&self) -> impl Iterator<Item = (&'static str, &str, Totals)> {
        let mut models: BTreeMap<_, Vec<&Record>> = BTreeMap::new();
        for record in &self.0 {
            models.entry((record.provider, record.model.as_str())).or_default().push(record);
        }
        models.into_iter().map(|((provider, model), records)| (provider, model, Totals::of(records)))
    }
}
