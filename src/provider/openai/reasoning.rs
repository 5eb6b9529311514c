//! A reasoning item, and how it lives in the signature of a thinking block.
//!
//! Nothing is stored at the vendor's, so an item goes back as it came: its id, its summary, and the encrypted
//! thoughts (`ResponseReasoningItemParam` of the vendor's SDK). The summary is a part of the item and not read from
//! the block's text: what a user corrects there is for people, and the vendor would refuse a changed item.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NAME;
use crate::provider::{Signature, wire};

/// What a signature holds, as compact JSON.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reasoning {
    id: String,
    encrypted_content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    summary: Vec<String>,
}

/// The same as the API has it.
#[derive(Serialize)]
#[serde(tag = "type", rename = "reasoning")]
pub(super) struct ReasoningItem {
    id: String,
    summary: Vec<SummaryText>,
    encrypted_content: String,
}

impl ReasoningItem {
    /// The same with the id that `unique` makes of its own: the API refuses an item that comes twice.
    pub fn with_id(self, unique: impl FnOnce(Cow<'_, str>) -> String) -> Self {
        Self { id: unique(self.id.into()), ..self }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "summary_text")]
struct SummaryText {
    text: String,
}

impl Reasoning {
    /// The signature for an item that is complete. `None` for one without encrypted thoughts: the vendor would look
    /// for it among what it has stored, and find nothing.
    pub fn sign(item: &Value) -> Option<Signature> {
        let text = |field| item.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        let reasoning = Self {
            id: text("id")?,
            encrypted_content: text("encrypted_content")?,
            summary: texts(item, "summary", "text"),
        };
        let value = serde_json::to_string(&reasoning).ok()?;
        Some(Signature { provider: NAME.to_owned(), value })
    }

    /// The item of a signature; `None` for another vendor's, and for one that somebody has damaged.
    pub fn item(signature: &Signature) -> Option<ReasoningItem> {
        let Self { id, encrypted_content, summary } = serde_json::from_str(wire::signed_by(NAME, signature)?).ok()?;
        let summary = summary.into_iter().map(|text| SummaryText { text }).collect();
        Some(ReasoningItem { id, summary, encrypted_content })
    }
}

/// What the parts in `list` of an item have in `field`.
pub(super) fn texts(item: &Value, list: &str, field: &str) -> Vec<String> {
    let parts = item.get(list).and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get(field).and_then(Value::as_str)).map(str::to_owned).collect()
}
