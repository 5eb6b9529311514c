//! Sources: tools whose definitions take a while to come.
//!
//! A source begins, registers what it finds, and ends once: by its own word, by an error, or because its time
//! is up. While one has not ended, requests wait, so that a model is never asked without the tools it should
//! have. What a source registers after its end still counts; it only is waited for no longer.

use std::collections::BTreeMap;

/// Names a source.
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
    /// It has registered all it has.
    Complete,
    /// It failed.
    Failed(String),
    /// It did not end within so many seconds.
    TimedOut(f64),
}

impl Sources {
    /// A source begins. `label` is how messages call it.
    pub fn begin(&mut self, label: impl Into<String>) -> SourceId {
        self.last += 1;
        let id = SourceId(self.last);
        self.loading.insert(id, label.into());
        id
    }

    /// A source ends. Ending again is harmless and says nothing.
    ///
    /// Gives a warning for the user where the source ended badly.
    pub fn end(&mut self, id: SourceId, how: &SourceEnd) -> Option<String> {
        let label = self.loading.remove(&id)?;
        match how {
            SourceEnd::Complete => None,
            SourceEnd::Failed(why) => Some(format!("the tools of {label} did not load: {why}")),
            SourceEnd::TimedOut(seconds) => Some(format!(
                "the tools of {label} did not load within {seconds} s; requests are sent without them. Give the \
                 source a \
                 longer `timeout`, or raise tools.default_timeout."
            )),
        }
    }

    /// Whether every source has ended.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.loading.is_empty()
    }

    /// The labels of those that have not, in the order they began.
    pub fn loading(&self) -> impl Iterator<Item = &str> {
        self.loading.values().map(String::as_str)
    }
}
