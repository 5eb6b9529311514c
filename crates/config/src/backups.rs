//! `tools.backups`: what files were before tools changed them.

use std::time::Duration;

use serde::Serialize;

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
    read: |value| Wait::read(value, LONGEST),
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

impl BackupOptions {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        Self {
            enabled: table.get("enabled", true, &SWITCH),
            max_bytes: table.get("max_bytes", 512 * 1024 * 1024, &COUNT),
            max_age: table.get("max_age", Wait(Some(month)), &AGE),
        }
    }
}
