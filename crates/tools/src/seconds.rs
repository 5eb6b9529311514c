//! Time limits: read from a number of seconds, and written in words.

use std::time::Duration;

use flemma_model::UserError;

/// The longest limit: a day.
pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest time that a call waits for a person: a leap year.
pub const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The limit for a number of seconds.
///
/// # Errors
/// If it is not more than 0, more than `longest`, or not a number. The text continues a sentence that begins with the name of the
/// option.
pub fn at_most(longest: Duration, seconds: f64) -> Result<Duration, UserError> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() && limit <= longest => Ok(limit),
        _ => {
            let most = longest.as_secs();
            Err(UserError::new(format!("must be more than 0 and at most {most} seconds, not {seconds}")))
        }
    }
}

/// `1 second`, `2.5 seconds`.
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds == 1.0 { "1 second".to_owned() } else { format!("{seconds} seconds") }
}
