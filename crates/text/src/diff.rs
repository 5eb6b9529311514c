//! What differs between two texts, part by part.
//!
//! The parts are numbered first, so that one instance of one algorithm serves lines, words and letters alike: the
//! entry points of `similar` for text bring every algorithm for each of them, three quarters of a megabyte.

use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

use similar::{
    DiffOp,
    algorithms::{Capture, Compact, Replace, myers},
};

/// The most bytes of contents together that are compared line by line.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How the new parts come from the old ones. Once the time is over, the rest is compared less closely.
pub fn diff<'a, P: Hash + Eq + ?Sized>(old: &[&'a P], new: &[&'a P], time: Duration) -> Vec<DiffOp> {
    let mut numbers: HashMap<&'a P, usize> = HashMap::new();
    let mut number = |part: &&'a P| {
        let next = numbers.len();
        *numbers.entry(part).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number).collect();
    let new: Vec<usize> = new.iter().map(&mut number).collect();
    let (old, new) = (old.as_slice(), new.as_slice());
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let deadline = Some(Instant::now() + time);
    match myers::diff_deadline(&mut hook, old, 0..old.len(), new, 0..new.len(), deadline) {
        Ok(()) => hook.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

/// The same without what is equal in both.
pub fn changes<'a, P: Hash + Eq + ?Sized>(old: &[&'a P], new: &[&'a P], time: Duration) -> Vec<DiffOp> {
    let mut changes = diff(old, new, time);
    changes.retain(|op| !matches!(op, DiffOp::Equal { .. }));
    changes
}

/// Whether these contents are text, and so short that they can be compared line by line.
pub fn are_comparable(contents: &[&[u8]]) -> bool {
    let is_text = |content: &&[u8]| memchr::memchr(0, content).is_none();
    contents.iter().all(is_text) && contents.iter().map(|content| content.len()).sum::<usize>() <= MAX_BYTES
}

/// Where each part begins that follows the one before it, and where the last one ends.
pub fn ends<P: AsRef<[u8]>>(start: usize, parts: &[P]) -> Vec<usize> {
    let ends = parts.iter().scan(start, |at, part| {
        *at += part.as_ref().len();
        Some(*at)
    });
    std::iter::once(start).chain(ends).collect()
}

/// How much two lists of parts have in common: 1 if they are the same, 0 if nothing in them is.
pub fn likeness(old: &[&str], new: &[&str], time: Duration) -> f32 {
    similar::diff_ratio(&diff(old, new, time), old.len(), new.len())
}

/// The characters of a text.
pub fn letters(text: &str) -> Vec<&str> {
    text.char_indices().map(|(at, letter)| &text[at..at + letter.len_utf8()]).collect()
}

/// The words of a text, and what is between them.
pub fn words(mut text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    while let Some(first) = text.chars().next() {
        let is_space = first.is_whitespace();
        let end = text.find(|letter: char| letter.is_whitespace() != is_space).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        found.push(word);
        text = rest;
    }
    found
}
