//! How long the results of a tool stay whole in requests.
//!
//! It is written in the same way at three places: `tools.retention` for all tools, `retention` in the definition of a tool,
//! and `tools.<name>.retention`, which is the user's.

use std::num::NonZeroU32;

use serde::Serialize;
use serde_json::{Value, json};

use super::declare::{options, or, some, some_of};
use flemma_model::options::{
    self, OptionsError, Table,
    kinds::{COUNT, SWITCH},
};

options! {
    /// `retention` as it is written.
    #[derive(Copy, Eq)]
    pub struct RetentionOptions {
        /// What `value` counts.
        pub mode: Option<RetentionMode> = some_of(&[RetentionMode::Age, RetentionMode::Count]);
        /// How many of them stay whole.
        pub value: Option<u32> = some(&COUNT);
        /// Whether all results stay whole, whatever the other two say.
        pub never_evict: bool = or(false, &SWITCH);
    }
}

/// What the `value` of a retention counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetentionMode {
    /// The turns since the result.
    Age,
    /// The tool's results.
    Count,
}

/// Which results of a tool stay whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// All of them.
    Everything,
    /// The last ones of the tool.
    LastResults(NonZeroU32),
    /// Those of the last turns. A turn is a request and its reply.
    LastTurns(NonZeroU32),
}

impl RetentionOptions {
    /// Which results stay whole; `None` if the options do not say.
    pub fn retention(&self) -> Option<Retention> {
        if self.never_evict {
            return Some(Retention::Everything);
        }
        let value = NonZeroU32::new(self.value?)?;
        Some(match self.mode? {
            RetentionMode::Age => Retention::LastTurns(value),
            RetentionMode::Count => Retention::LastResults(value),
        })
    }

    /// Reads it, and reports what is missing.
    pub(super) fn checked(table: &mut Table<'_>) -> Self {
        let read = Self::read(table);
        match (read.mode, read.value) {
            _ if read.never_evict => {}
            (Some(_), None) if !table.has("value") => table.missing("value", COUNT.expected),
            (None, Some(_)) if !table.has("mode") => table.missing("mode", "\"age\" or \"count\""),
            _ => {}
        }
        read
    }
}

impl Retention {
    /// Reads a table of [`RetentionOptions`]. It says nothing if it is empty.
    ///
    /// # Errors
    /// Everything that is wrong with it. The paths start inside the table.
    pub fn read(value: &Value) -> Result<Option<Self>, OptionsError> {
        options::read(value, RetentionOptions::checked).map(|read| read.retention())
    }

    /// The table that [`Retention::read`] reads as this.
    pub fn to_json(self) -> Value {
        match self {
            Self::Everything => json!({ "never_evict": true }),
            Self::LastResults(value) => json!({ "mode": "count", "value": value }),
            Self::LastTurns(value) => json!({ "mode": "age", "value": value }),
        }
    }
}
