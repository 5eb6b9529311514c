//! Citations: passages of prose and the pages they rest on, there and back.
//!
//! The API cites block by block: a reply's prose comes as several `text` blocks, and those that rest on a search have
//! `citations` (`CitationsWebSearchResultLocation` in the vendor's SDK), which it wants back with the same words
//! (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool>, "Citations"). In a document prose
//! is one text. So the passages are kept separately, each with its words, and [`cut`] finds them in the text again.
//! Where the user has changed the words of a passage, its citations no longer hold and are left out.

use serde_json::{Value, json};

use super::NAME;
use crate::{reply::str_of, wire::is_visible};
use flemma_model::{Event, Hosted, HostedBlock, WebSource};

/// The passages of the prose that is being read.
#[derive(Default)]
pub(super) struct Cited {
    passages: Vec<Value>,
    sources: Vec<WebSource>,
}

impl Cited {
    /// Takes note of a text block that is complete.
    pub fn note(&mut self, text: String, citations: Vec<Value>) {
        if citations.is_empty() {
            return;
        }
        for citation in &citations {
            WebSource::new(str_of(citation, "url"), str_of(citation, "title")).add(&mut self.sources);
        }
        self.passages.push(json!({ "text": text, "citations": citations }));
    }

    /// The prose has ended: says what it cites.
    pub fn end(&mut self, events: &mut Vec<Event>) {
        let Self { passages, sources } = std::mem::take(self);
        if !passages.is_empty() {
            let cited = HostedBlock::Citations { sources, raw: Some(Value::Array(passages)) };
            events.push(Event::Hosted(Hosted::of(NAME, cited)));
        }
    }
}

/// A piece of prose, and its citations.
#[derive(Debug, PartialEq)]
pub(super) struct Passage<'a> {
    /// Never without a visible character.
    pub text: &'a str,
    /// A list of the API's own.
    pub citations: Option<&'a Value>,
}

/// Cuts prose into the passages of `raw`, as [`Cited`] wrote it, and what is between them. Joined again they are
/// the prose.
pub(super) fn cut<'a>(prose: &'a str, raw: &'a Value) -> Vec<Passage<'a>> {
    // Each passage as a range, and its citations.
    let mut found: Vec<(usize, usize, Option<&Value>)> = Vec::new();
    let mut start = None;
    // The API takes no block of white space alone: it goes with the one before it, or the one behind.
    let mut add = |from, to, citations| {
        if is_visible(&prose[from..to]) {
            found.push((start.take().unwrap_or(from), to, citations));
        } else if let Some(last) = found.last_mut() {
            last.1 = to;
        } else {
            start = Some(from);
        }
    };
    let mut from = 0;
    for passage in raw.as_array().into_iter().flatten() {
        let text = passage.get("text").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let (Some(text), Some(citations)) = (text, passage.get("citations")) else { continue };
        let Some(at) = prose[from..].find(text).map(|at| from + at) else { continue };
        add(from, at, None);
        from = at + text.len();
        add(at, from, Some(citations));
    }
    add(from, prose.len(), None);
    found.into_iter().map(|(from, to, citations)| Passage { text: &prose[from..to], citations }).collect()
}

#[cfg(test)]
#[path = "cited_tests.rs"]
mod tests;
