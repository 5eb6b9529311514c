//! `update_frontmatter`: sets and deletes keys of a page's frontmatter.

use serde_json::{Map, Value};

use super::{super::tool::Proposing, changes, define, space::Space};
use crate::Proposal;
use flemma_model::ModelError;
use flemma_notes::frontmatter::{self, Update};

/// The properties that are no keys of the frontmatter.
const OWN: [&str; 4] = ["label", "page", "set", "delete"];

/// The tool.
pub(super) const TOOL: Proposing = define::changing(|input, context| update(input, &Space::open(context)?));

fn update(input: &Value, space: &Space<'_>) -> Result<Proposal, ModelError> {
    let page = define::page(input, "page")?;
    let update = read(input)?;
    let old = space.read(&page)?;
    let new = frontmatter::update(&old, &update)?;
    let set: Vec<String> = update.set.keys().map(|key| format!("set `{key}`")).collect();
    let deleted = update.delete.iter().map(|key| format!("deleted `{key}`"));
    let done = set.into_iter().chain(deleted).collect::<Vec<_>>().join(", ");
    changes::of_one(space, &page, old, new, format!("Frontmatter of `{page}`: {done}."))
}

/// What to change. Models also write the keys beside `page`, as `set.key`, as `key` and `value`, or `set` and `delete` as JSON
/// text.
fn read(input: &Value) -> Result<Update, ModelError> {
    let mut set = match parsed(input.get("set")) {
        Value::Null => Map::new(),
        Value::Object(set) => set,
        other => {
            return Err(ModelError::new(format!("`set` must be an object of keys and values, not {other}.")));
        }
    };
    let delete = match parsed(input.get("delete")) {
        Value::Null => Vec::new(),
        Value::String(key) => vec![key],
        Value::Array(keys) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        other => return Err(ModelError::new(format!("`delete` must be a list of keys, not {other}."))),
    };
    let beside = input.as_object().into_iter().flatten();
    let mut beside: Map<String, Value> = beside
        .filter(|(key, value)| !OWN.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.strip_prefix("set.").unwrap_or(key).to_owned(), value.clone()))
        .collect();
    if beside.len() == 2
        && set.is_empty()
        && let (Some(Value::String(key)), Some(_)) = (beside.get("key").cloned(), beside.get("value"))
    {
        let value = beside.remove("value").unwrap_or_default();
        beside = Map::from_iter([(key, value)]);
    }
    set.extend(beside);
    if let Some(key) = set.keys().chain(&delete).find(|key| key.is_empty() || key.contains(['\n', '\r', '\0'])) {
        return Err(ModelError::new(format!("`{}` cannot be a key of the frontmatter.", key.escape_debug())));
    }
    Ok(Update { set, delete })
}

/// A value, or what it is the JSON text of.
fn parsed(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(text)) if text.trim().is_empty() => Value::Null,
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_) | Value::Null)) => inner,
            _ => Value::String(text.clone()),
        },
        Some(value) => value.clone(),
        None => Value::Null,
    }
}
