//! `tools.deadlines` and `tools.backups`: how long a call waits before it gets an error result, and how long old files are kept.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    OrFalse,
    declare::{options, or},
};
use flemma_model::options::{
    Kind,
    kinds::{COUNT, SWITCH},
};

/// A leap year: the longest wait. It and the longest age are limits so that no later arithmetic can overflow.
const YEAR: f64 = 366.0 * 24.0 * 60.0 * 60.0;

/// A stretch of time in seconds, or none.
const WAIT: Kind<Wait> = Kind {
    expected: "a number of seconds above 0 and up to 31622400, or false to wait for ever",
    read: |value| Wait::read(value, YEAR),
};

/// An age in seconds, or none.
const AGE: Kind<Wait> = Kind {
    expected: "a number of seconds above 0 and up to 316224000, or false to keep them for ever",
    read: |value| Wait::read(value, 10.0 * YEAR),
};

/// How long something may take; without a time, for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait(pub Option<Duration>);

impl Wait {
    /// Reads a number of seconds above 0 and up to `longest`, or `false`.
    fn read(value: &Value, longest: f64) -> Option<Self> {
        let seconds = |value: &Value| value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= longest);
        let wait = OrFalse::read(value, |value| Duration::try_from_secs_f64(seconds(value)?).ok())?;
        Some(Self(wait.0))
    }

    const fn seconds(seconds: u64) -> Self {
        Self(Some(Duration::from_secs(seconds)))
    }
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        OrFalse(self.0.map(|wait| wait.as_secs_f64())).serialize(serializer)
    }
}

options! {
    /// `tools.deadlines`.
    #[derive(Copy, Eq)]
    pub struct Deadlines {
        /// How long a call waits for approval.
        pub approval: Wait = or(Wait(None), &WAIT);
        /// How long a question waits for the user's answer.
        pub elicitation: Wait = or(Wait::seconds(24 * 60 * 60), &WAIT);
        /// How long a call waits for the editor's user interface.
        pub client: Wait = or(Wait::seconds(10 * 60), &WAIT);
        /// The same while no user interface is attached.
        pub headless: Wait = or(Wait::seconds(10), &WAIT);
    }

    /// `tools.backups`: what files were before tools changed them.
    #[derive(Copy, Eq)]
    pub struct BackupOptions {
        /// Whether the old content of a file is kept when a tool changes it.
        pub enabled: bool = or(true, &SWITCH);
        /// The most bytes of all contents together.
        pub max_bytes: u32 = or(512 * 1024 * 1024, &COUNT);
        /// How long they are kept.
        pub max_age: Wait = or(Wait::seconds(30 * 24 * 60 * 60), &AGE);
    }
}
