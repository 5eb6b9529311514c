//! `tools.deadlines`: how long a call waits before it gets an error result.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use flemma_model::options::{Kind, Table};

/// The longest wait: a leap year, so that no later arithmetic can overflow.
const LONGEST: f64 = 366.0 * 24.0 * 60.0 * 60.0;

/// A stretch of time in seconds, or none.
const WAIT: Kind<Wait> = Kind {
    expected: "a number of seconds above 0 and up to 31622400, or false to wait for ever",
    read: |value| Wait::read(value, LONGEST),
};

/// How long something may take; without a time, for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait(pub Option<Duration>);

impl Wait {
    /// Reads a number of seconds above 0 and up to `longest`, or `false`.
    pub(super) fn read(value: &Value, longest: f64) -> Option<Self> {
        if *value == Value::Bool(false) {
            return Some(Self(None));
        }
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= longest)?;
        Duration::try_from_secs_f64(seconds).ok().map(|wait| Self(Some(wait)))
    }

    const fn seconds(seconds: u64) -> Self {
        Self(Some(Duration::from_secs(seconds)))
    }
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(wait) => wait.as_secs_f64().serialize(serializer),
            None => false.serialize(serializer),
        }
    }
}

/// `tools.deadlines`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Deadlines {
    /// How long a call waits for approval.
    pub approval: Wait,
    /// How long a question waits for the user's answer.
    pub elicitation: Wait,
    /// How long a call waits for the editor's user interface.
    pub client: Wait,
    /// The same while no user interface is attached.
    pub headless: Wait,
}

impl Deadlines {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            approval: table.get("approval", Wait(None), &WAIT),
            elicitation: table.get("elicitation", Wait::seconds(24 * 60 * 60), &WAIT),
            client: table.get("client", Wait::seconds(10 * 60), &WAIT),
            headless: table.get("headless", Wait::seconds(10), &WAIT),
        }
    }
}
