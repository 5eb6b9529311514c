//! What a shorter journal still needs.

use std::{borrow::Borrow, collections::HashMap};

use super::{CallKey, Ledger, Life, Record};

/// Says of each record whether it is still needed. For the keys that `keep` wants, that is all of them; for other keys,
/// the records of a life without an end.
///
/// The state of the keys that `keep` wants stays the same. Another key is unknown then, or it is as open as before.
pub fn kept(records: &[impl Borrow<Record>], keep: impl Fn(&CallKey) -> bool) -> Vec<bool> {
    let mut ledger = Ledger::default();
    // The first record of the latest life of each key; none if that has ended.
    let mut open: HashMap<&CallKey, Option<usize>> = HashMap::new();
    let records = || records.iter().map(Borrow::borrow).enumerate();
    for (index, record) in records() {
        ledger.apply(record);
        let first = open.entry(&record.key).or_default();
        *first = match ledger.of(&record.key).life {
            Life::Open { .. } => first.or(Some(index)),
            Life::Ended | Life::Unknown => None,
        };
    }
    let is_wanted: HashMap<&CallKey, bool> = open.keys().map(|key| (*key, keep(key))).collect();
    let is_kept = |(index, record): (usize, &Record)| {
        let is_open = open.get(&record.key).copied().flatten().is_some_and(|first| first <= index);
        is_open || is_wanted.get(&record.key).copied().unwrap_or_default()
    };
    records().map(is_kept).collect()
}
