//! Time limits: read from a number of seconds, and written in words.

use std::time::Duration;

/// The longest limit: a day.
pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The limit for a number of seconds.
///
/// # Errors
/// If it is not more than 0, more than a day, or not a number. The message continues a sentence that begins with the name
/// of the option.
pub fn limit(seconds: f64) -> Result<Duration, String> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() && limit <= LONGEST => Ok(limit),
        _ => Err(format!("must be more than 0 and at most {} seconds, not {seconds}", LONGEST.as_secs())),
    }
}

/// `1 second`, `2.5 seconds`.
#[must_use]
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds == 1.0 { "1 second".to_owned() } else { format!("{seconds} seconds") }
}
