//! Sources: tools whose definitions are loaded asynchronously.
//!
//! A source starts, registers definitions, and ends once: when it says so, with an error, or when its time is up. Requests
//! wait until all sources have ended, so that a model never lacks tools that it should have. Definitions that a source
//! registers after its end still count, but requests no longer wait for them.

use std::collections::BTreeMap;

/// Identifies a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId(pub u64);

/// The sources that have not ended.
#[derive(Debug, Default)]
pub struct Sources {
    loading: BTreeMap<SourceId, String>,
    last: u64,
}

/// How a source ended.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceEnd {
    /// It has registered all of its tools.
    Complete,
    /// It failed.
    Failed(String),
    /// It did not end within this number of seconds.
    TimedOut(f64),
}

impl Sources {
    /// A source starts. `label` is its name in messages.
    pub fn begin(&mut self, label: impl Into<String>) -> SourceId {
        self.last += 1;
        let id = SourceId(self.last);
        self.loading.insert(id, label.into());
        id
    }

    /// A source ends. Ending it again has no effect.
    ///
    /// Returns a warning for the user if the source failed.
    pub fn end(&mut self, id: SourceId, how: &SourceEnd) -> Option<String> {
        let label = self.loading.remove(&id)?;
        match how {
            SourceEnd::Complete => None,
            SourceEnd::Failed(why) => Some(format!("the tools of {label} did not load: {why}")),
            SourceEnd::TimedOut(seconds) => Some(format!(
                "the tools of {label} did not load within {seconds} s; requests are sent without them. Give the source a \
                 longer `timeout`, or raise tools.default_timeout."
            )),
        }
    }

    /// Whether every source has ended.
    pub fn is_ready(&self) -> bool {
        self.loading.is_empty()
    }

    /// The labels of the sources that have not ended, in the order in which they started.
    pub fn loading(&self) -> impl Iterator<Item = &str> {
        self.loading.values().map(String::as_str)
    }
}
