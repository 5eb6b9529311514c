//! When to send a failed request again.
//!
//! Only where sending again can help and no part of the reply has been shown yet: what is in the
//! document is never taken back. The pauses double and are spread, so that many editors that failed
//! together do not come back together. The caller brings the randomness, so that this stays a function.

use std::time::Duration;

pub use super::error::MAX_ATTEMPTS;
use super::error::ProviderError;

/// The longest pause. A provider that asks for more is not waited for: its message tells the user.
pub const MAX_DELAY: Duration = Duration::from_secs(60);

/// The pause after the first failure, before it is spread.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// How long to wait before the request is sent again; `None` to give up and show `error`.
///
/// * `attempt`: how often the request has been sent, so 1 after the first failure.
/// * `shown_anything`: whether a part of the reply has been written to the document.
/// * `random`: from 0 up to 1; a pause is between half of its nominal length and all of it.
///
/// A `retry-after` of the provider is a lower bound, and spread upwards by up to half of the nominal length: all who
/// were told the same would come back together otherwise. Beyond [`MAX_DELAY`] nothing is sent again.
pub fn delay(attempt: u32, error: &ProviderError, shown_anything: bool, random: f64) -> Option<Duration> {
    if !error.is_transient() || shown_anything || attempt >= error.attempts.min(MAX_ATTEMPTS) {
        return None;
    }
    let nominal = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1));
    let random = if random.is_finite() { random.clamp(0.0, 1.0) } else { 0.5 };
    let spread = nominal.mul_f64(0.5 + random / 2.0);
    let asked = error.retry_after.unwrap_or_default().max(0.0);
    let asked = Duration::try_from_secs_f64(asked).unwrap_or(Duration::MAX);
    (asked <= MAX_DELAY).then(|| spread.max(asked + nominal.mul_f64(random / 2.0)).min(MAX_DELAY))
}
