//! A reasoning item, and how it lives in the signature of a thinking block.
//!
//! Nothing is stored at the vendor's, so an item goes back as it came: its id, its summary, and the encrypted
//! thoughts (`ResponseReasoningItemParam` of the vendor's SDK). The summary is a part of the item and not read from
//! the block's text: what a user corrects there is for people, and the vendor would refuse a changed item.

use serde_json::{Map, Value, json};

use super::NAME;
use crate::{
    reply::items,
    signature::{from_base64, of_host},
    wire,
};
use flemma_model::Signature;

/// The fields of a signature.
const FIELDS: [&str; 3] = ["id", "encrypted_content", "summary"];

/// The signature for an item that is complete, as compact JSON. `None` for one without encrypted thoughts: the vendor
/// would look for it among what it has stored, and find nothing.
pub(super) fn sign(item: &Value) -> Option<Signature> {
    let ours = wire::sparse(json!({
        "id": filled(item, "id")?,
        "encrypted_content": filled(item, "encrypted_content")?,
        "summary": texts(item, "summary", "text"),
    }));
    Some(Signature { provider: NAME.to_owned(), value: ours.to_string() })
}

/// The item of a signature as the API has it; `None` for another vendor's, and for one that is damaged.
///
/// What came from a host where the vendor is not at home has the host behind it, and no other gets it; `None` reads
/// that of all. Other tools write the vendor's whole item, and put it into base64. Of our own shape nothing may be unknown: what
/// a later version has added must not be dropped.
pub(super) fn item(signature: &Signature, host: Option<&str>) -> Option<Value> {
    let value = wire::signed_by(NAME, signature)?;
    let value = match value.rsplit_once("}@") {
        Some((_, of)) if !of.ends_with('}') => of_host(value, host.unwrap_or(of))?,
        _ => value,
    };
    let item: Value = match serde_json::from_str(value) {
        Ok(item) => item,
        Err(_) => serde_json::from_slice(&from_base64(value)?).ok()?,
    };
    let is_vendors = item.get("type").is_some_and(|kind| kind == "reasoning");
    let is_ours = |item: &Map<String, Value>| item.keys().all(|field| FIELDS.contains(&field.as_str()));
    if !is_vendors && !item.as_object().is_some_and(is_ours) {
        return None;
    }
    let summary =
        items(&item, "summary").iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
    Some(json!({
        "type": "reasoning",
        "id": filled(&item, "id")?,
        "summary": summary.map(|text| json!({ "type": "summary_text", "text": text })).collect::<Vec<_>>(),
        "encrypted_content": filled(&item, "encrypted_content")?,
    }))
}

/// A string with something in it.
fn filled<'a>(item: &'a Value, field: &str) -> Option<&'a str> {
    item.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// What the parts in `list` of an item have in `field`.
pub(super) fn texts(item: &Value, list: &str, field: &str) -> Vec<String> {
    items(item, list).iter().filter_map(|part| part.get(field).and_then(Value::as_str)).map(str::to_owned).collect()
}
