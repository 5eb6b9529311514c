//! What a command said.
//!
//! Include it with `#[path = "../support/said.rs"] mod said;`.

use std::process::Output;

use serde_json::Value;

/// What a command said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Said {
    /// The value on standard output.
    ///
    /// # Panics
    /// When it is no JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
