//! Layers of options: a later layer beats an earlier one, key by key.
//!
//! A provider may have two names for one thing, a general one and one in its own words. The own words beat the general
//! name where both are in one layer; a later layer that sets either of them beats both of the layers below.

use serde_json::{Map, Value, json};

use flemma_provider::ProviderName;

/// The layers, lowest first, with what they leave unsaid: a model belongs to the provider that it was named with, so a
/// layer that names another provider and no model takes back the model of the layers below, and one that names a
/// provider's parameter takes back the other name that it may have there.
pub(super) fn settled(layers: &[Value]) -> Vec<Value> {
    let default = ProviderName::default().name();
    let mut provider = default.to_owned();
    let mut layers = layers.to_vec();
    for layer in layers.iter_mut().filter_map(Value::as_object_mut) {
        let named = match layer.get("provider") {
            None => continue,
            Some(name) => name.as_str().unwrap_or(default).to_owned(),
        };
        if named != provider && !layer.contains_key("model") {
            layer.insert("model".to_owned(), Value::Null);
        }
        provider = named;
    }
    layers.iter_mut().for_each(take_back_other_names);
    layers
}

fn take_back_other_names(layer: &mut Value) {
    for provider in ProviderName::all() {
        let table = layer.pointer_mut(&format!("/parameters/{}", provider.name()));
        let Some(table) = table.and_then(Value::as_object_mut) else { continue };
        for (general, other) in provider.other_names() {
            let says = table.get(*general).is_some_and(|value| !value.is_null());
            if says && !table.contains_key(*other) {
                table.insert((*other).to_owned(), Value::Null);
            }
        }
    }
}

/// Lays `over` on `base`: tables merge, everything else replaces what was there.
///
/// An empty Lua table says neither "list" nor "table" and arrives as `[]` or `{}`, so an empty one takes
/// the kind of what it meets: on a table it changes nothing, on a list it empties the list. A `null` takes
/// back what the layers below said, which leaves the default.
pub(super) fn lay(base: &mut Value, over: &Value) {
    match (&mut *base, over) {
        (Value::Object(below), Value::Object(above)) => lay_table(below, above),
        (Value::Object(_), Value::Array(list)) if list.is_empty() => {}
        (Value::Array(below), Value::Object(above)) if above.is_empty() => below.clear(),
        (base, over) => *base = over.clone(),
    }
}

fn lay_table(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (key, value) in above {
        match below.get_mut(key) {
            Some(Value::Null) | None => {
                below.insert(key.clone(), value.clone());
            }
            Some(slot) => lay(slot, value),
        }
    }
}

/// Tables within tables, with the value innermost.
pub(super) fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, key| json!({ key: inner }))
}

/// Every value in this one that is no table, with the keys that lead to it.
pub fn leaves(value: &Value) -> Vec<(Vec<&str>, &Value)> {
    let Value::Object(entries) = value else { return vec![(Vec::new(), value)] };
    let below = entries.iter().flat_map(|(key, value)| leaves(value).into_iter().map(move |leaf| (key.as_str(), leaf)));
    below.map(|(key, (keys, leaf))| ([key].into_iter().chain(keys).collect(), leaf)).collect()
}
