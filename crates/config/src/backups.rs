//! `tools.backups`: what files were before tools changed them.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::Wait;
use flemma_model::options::{
    Kind, Table,
    kinds::{COUNT, SWITCH},
};

/// The longest age, so that no later arithmetic can overflow.
const LONGEST: f64 = 10.0 * 366.0 * 24.0 * 60.0 * 60.0;

/// An age in seconds, or none.
const AGE: Kind<Wait> = Kind {
    expected: "a number of seconds above 0 and up to 316224000, or false to keep them for ever",
    read: |value| match value {
        Value::Bool(false) => Some(Wait(None)),
        value => {
            let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST)?;
            Duration::try_from_secs_f64(seconds).ok().map(|age| Wait(Some(age)))
        }
    },
};

/// `tools.backups`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BackupOptions {
    /// Whether the old content of a file is kept when a tool changes it.
    pub enabled: bool,
    /// The most bytes of all contents together.
    pub max_bytes: u32,
    /// How long they are kept.
    pub max_age: Wait,
}

impl Default for BackupOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            max_bytes: 512 * 1024 * 1024,
            max_age: Wait(Some(Duration::from_secs(30 * 24 * 60 * 60))),
        }
    }
}

impl BackupOptions {
    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.set("enabled", &mut self.enabled, &SWITCH);
        table.set("max_bytes", &mut self.max_bytes, &COUNT);
        table.set("max_age", &mut self.max_age, &AGE);
    }
}
