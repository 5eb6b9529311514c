//! When a failed request is sent again.

use std::time::Duration;

use flemma_provider::{
    ErrorKind, ProviderError,
    retry::{MAX_ATTEMPTS, MAX_DELAY, delay},
};

fn error(kind: ErrorKind) -> ProviderError {
    ProviderError::new(kind, "it failed")
}

fn asking_for(seconds: f64) -> ProviderError {
    ProviderError { retry_after: Some(seconds), ..error(ErrorKind::RateLimited) }
}

#[test]
fn only_failures_that_may_pass_are_retried() {
    use ErrorKind::*;
    for kind in [RateLimited, Overloaded, Server, Connection, Timeout, Interrupted] {
        assert!(delay(1, &error(kind), false, 0.5).is_some(), "{kind:?}");
    }
    for kind in [Authentication, InvalidRequest, Tls, Malformed] {
        assert_eq!(delay(1, &error(kind), false, 0.5), None, "{kind:?}");
    }
}

#[test]
fn a_reply_of_which_something_was_shown_is_not_asked_for_again() {
    assert_eq!(delay(1, &error(ErrorKind::Interrupted), true, 0.5), None);
}

#[test]
fn a_request_is_sent_at_most_four_times() {
    let pauses = (1..10).take_while(|&attempt| delay(attempt, &error(ErrorKind::Server), false, 0.5).is_some());
    assert_eq!(pauses.count() as u32 + 1, MAX_ATTEMPTS);
    assert_eq!(MAX_ATTEMPTS, 4);
}

#[test]
fn pauses_double_and_are_spread_over_the_half_below() {
    let seconds =
        |attempt, random| delay(attempt, &error(ErrorKind::Overloaded), false, random).map(|pause| pause.as_secs_f64());
    assert_eq!([1, 2, 3].map(|attempt| seconds(attempt, 1.0)), [Some(1.0), Some(2.0), Some(4.0)]);
    assert_eq!([1, 2, 3].map(|attempt| seconds(attempt, 0.0)), [Some(0.5), Some(1.0), Some(2.0)]);
    assert_eq!(seconds(1, f64::NAN), Some(0.75));
}

#[test]
fn the_requested_delay_is_a_lower_bound_with_jitter_above() {
    let pauses = [0.0, 0.5, 1.0].map(|random| delay(1, &asking_for(17.0), false, random));
    assert_eq!(pauses, [17.0, 17.25, 17.5].map(|seconds| Some(Duration::from_secs_f64(seconds))));
    assert_eq!(delay(2, &asking_for(17.0), false, 1.0), Some(Duration::from_secs(18)));
    assert_eq!(delay(3, &asking_for(0.0), false, 1.0), Some(Duration::from_secs(4)));
}

#[test]
fn nobody_waits_for_longer_than_a_minute() {
    assert_eq!(delay(1, &asking_for(60.0), false, 0.5), Some(MAX_DELAY));
    for seconds in [60.1, 3_600.0, 1e300, f64::INFINITY] {
        assert_eq!(delay(1, &asking_for(seconds), false, 0.5), None, "{seconds}");
    }
    for nonsense in [-1.0, f64::NAN] {
        assert!(delay(1, &asking_for(nonsense), false, 0.5).is_some(), "{nonsense}");
    }
}
