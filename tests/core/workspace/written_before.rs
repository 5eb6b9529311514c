//! A call that has written something wants to write more, and nothing comes of that. What it has written before is told.

use flemma_workspace::Resolution;
use serde_json::{Value, json};

use super::waiting_writes::Writers;

const BEFORE: &str = "Before that, this call changed 1 file (`a.txt`). Those changes were not taken back.";
const REFUSED: &str = "The user rejected the change, and nothing of it was written";

/// A call has written `a.txt`, and waits with `b.txt`.
fn waiting(options: Value) -> Writers {
    let writers = Writers::new(options, 1);
    writers.propose_and_wait("1\n", 1);
    writers.chat.approve("status=pending");
    writers.wait_to_hear(1).unwrap();
    writers.propose_file("call_0", "b.txt", "2\n", 2);
    writers.chat.wait_for_pending(1);
    writers
}

#[test]
fn a_rejection_says_what_the_call_has_written_before() {
    let writers = waiting(Value::Null);
    writers.chat.reject("status=pending", Some("nope"));
    assert_eq!(writers.wait_to_hear(2), Err(format!("{REFUSED}: nope\n\n{BEFORE}")));
    // The same of a third change: the second one was not made.
    writers.propose_file("call_0", "c.txt", "3\n", 3);
    writers.chat.wait_for_pending(1);
    writers.chat.reject("status=pending", None);
    assert_eq!(writers.wait_to_hear(3), Err(format!("{REFUSED}.\n\n{BEFORE}")));
}

#[test]
fn what_was_written_before_is_told_after_a_restart() {
    let writers = waiting(Value::Null).killed(None);
    writers.chat.wait_for_diff(0, "+2");
    writers.chat.reject("status=pending", Some("nope"));
    writers.chat.wait_for("@Assistant:\nfine");
    assert_eq!(writers.chat.results(0), [format!("Error: {REFUSED}: nope\n\n{BEFORE}")]);
}

#[test]
fn a_deadline_says_what_the_call_has_written_before() {
    let writers = waiting(json!({ "tools": { "deadlines": { "approval": 3600 } } }));
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    writers.chat.host.clock.set(Some(later));
    assert_eq!(writers.chat.resolve("call_0", Resolution::Approve), Err("stale".to_owned()));
    let result = writers.wait_for_end();
    assert!(result.contains("It was not written, and the call was ended.") && result.ends_with(BEFORE), "{result}");
}

#[test]
fn what_is_not_recorded_is_not_denied() {
    let writers = waiting(json!({ "tools": { "backups": { "enabled": false } } }));
    writers.chat.reject("status=pending", None);
    let heard = writers.wait_to_hear(2).unwrap_err();
    assert_eq!(heard, format!("{REFUSED}.\n\nEarlier writes of this call are not recorded."));
}
