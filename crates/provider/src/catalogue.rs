//! The models that are known: what they cost, how much they hold, what they take.
//!
//! Facts are data, in `catalogue.json`, each with the vendor's page that says so, the day it was read, and who
//! quotes it where that was read in its place. The file lists models by the vendor's own id; a dated edition of one
//! (`claude-haiku-4-5-20251001`) is the same model, another variant (`gpt-5.4-mini`) never is. A model that is not
//! listed works all the same, without a price: a guess would look like a fact. Servers that merely speak a vendor's
//! protocol set their own prices, so nothing is known of `openai_compatible`.

use std::time::SystemTime;

use once_cell::sync::Lazy;
use serde::{Deserialize, Serialize};

use super::CacheRetention;
use flemma_model::Usage;

/// The embedded file. A test reads it; should it be broken all the same, no model is known.
static CATALOGUE: Lazy<Catalogue> =
    Lazy::new(|| serde_json::from_str(include_str!("catalogue.json")).unwrap_or_default());

/// Bytes of text for a token where nothing better is known: prose has more, code fewer.
const BYTES_PER_TOKEN: f64 = 3.5;

/// Words behind a model's id that make no other model of it.
const EDITIONS: [&str; 2] = ["latest", "preview"];

#[derive(Debug, Default, Deserialize)]
struct Catalogue {
    vendors: std::collections::BTreeMap<String, VendorModels>,
    models: Vec<Model>,
}

#[derive(Debug, Deserialize)]
struct VendorModels {
    bytes_per_token: f64,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Model {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The vendor's id, without the date of an edition.
    pub id: String,
    price: Price,
    /// What comes after `price`, where the vendor has said so.
    later: Option<Later>,
    /// Tokens that a request and its reply may have together.
    pub context: Option<u64>,
    /// Tokens that a reply may have.
    pub max_output: Option<u64>,
    bytes_per_token: Option<f64>,
    /// What it supports besides text.
    pub takes: Vec<Capability>,
}

/// A price that is announced.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Later {
    /// From when on, as HTTP writes a date.
    from: String,
    price: Price,
}

/// Something that not every model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// It can think before it answers.
    Thinking,
    /// It sees images.
    Images,
    /// It reads PDFs.
    Pdfs,
    /// It calls tools.
    Tools,
}

impl Capability {
    /// A word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Images => "images",
            Self::Pdfs => "PDFs",
            Self::Tools => "tools",
        }
    }
}

/// What tokens cost, in US dollars for a million of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Price {
    /// Tokens that are read anew.
    pub input: f64,
    /// Tokens that are written, those of thinking included.
    pub output: f64,
    /// Tokens read from the cache; `input` where it is not known.
    pub cache_read: Option<f64>,
    /// Tokens written to the cache for the vendor's usual minutes; `input` where that costs nothing extra.
    pub cache_write: Option<f64>,
    /// Tokens written to the cache for as long as the vendor offers; `cache_write` where it is not known.
    pub cache_write_long: Option<f64>,
    /// What becomes of all that when the prompt is long.
    pub long_prompt: Option<LongPrompt>,
}

/// A dearer tier. It holds for the whole request, not for the tokens above the line alone.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct LongPrompt {
    /// It holds for a prompt of more tokens than this, those of the cache included.
    pub above: u64,
    /// What everything that is read is multiplied by.
    pub input_times: f64,
    /// What everything that is written is multiplied by.
    pub output_times: f64,
}

impl Price {
    /// What a request costs in US dollars, its cache having been asked to keep things for `retention`.
    pub fn cost(&self, usage: &Usage, retention: CacheRetention) -> f64 {
        let tier = self.long_prompt.filter(|tier| usage.prompt() > tier.above);
        let (input_times, output_times) = tier.map_or((1.0, 1.0), |tier| (tier.input_times, tier.output_times));
        let short = self.cache_write.unwrap_or(self.input);
        let write = if retention == CacheRetention::Long { self.cache_write_long.unwrap_or(short) } else { short };
        // No count of tokens comes near the 2^53 from which a float is no longer exact.
        #[allow(clippy::cast_precision_loss)]
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let read = of(usage.input, self.input)
            + of(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + of(usage.cache_write, write);
        read * input_times + of(usage.output, self.output) * output_times
    }
}

impl Model {
    /// The price at a time.
    pub fn price(&self, now: SystemTime) -> Price {
        let due = |later: &&Later| httpdate::parse_http_date(&later.from).is_ok_and(|from| now >= from);
        self.later.as_ref().filter(due).map_or(self.price, |later| later.price)
    }

    fn is(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(self.id.as_str()) else { return false };
        let is_edition = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) || EDITIONS.contains(&word);
        rest.is_empty() || rest.starts_with(['-', '@']) && rest[1..].split('-').all(is_edition)
    }
}

/// The model of a provider by the name that the options have for it; `None` for one that is not known. A gateway's
/// `anthropic/` in front does not count.
pub fn find(provider: &str, model: &str) -> Option<&'static Model> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    models().filter(|model| model.provider == provider && model.is(&name)).max_by_key(|model| model.id.len())
}

/// Every model that is known.
pub fn models() -> impl Iterator<Item = &'static Model> {
    CATALOGUE.models.iter()
}

/// How many bytes of text make a token, about, for a model of a provider.
pub fn bytes_per_token(provider: &str, model: &str) -> f64 {
    let own = find(provider, model).and_then(|model| model.bytes_per_token);
    let vendor = || CATALOGUE.vendors.get(provider).map(|vendor| vendor.bytes_per_token);
    own.or_else(vendor).unwrap_or(BYTES_PER_TOKEN)
}
