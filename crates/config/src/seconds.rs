//! Stretches of time as the options write them.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// A stretch of time as the options write it: in seconds.
pub(super) fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// The same where it may not be set.
pub(super) fn some_seconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(to)
}
