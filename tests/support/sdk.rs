//! Requests against the types of the vendors' own SDKs, where Python is there.
//!
//! Include it with `#[path = "../support/sdk.rs"] mod sdk;`.

// A test that cannot go on panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    env,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

/// Checks bodies, each with a name for messages and its provider, by `tests/sdk/validate.py` and the Python in
/// `FLEMMA_SDK_PYTHON`. Where that is not set, it says so and does nothing.
///
/// # Panics
/// When a vendor's types refuse one.
pub fn assert_valid(bodies: &[(String, &str, Value)]) {
    let Some(python) = env::var_os("FLEMMA_SDK_PYTHON").filter(|path| !path.is_empty()) else {
        eprintln!("skipped: FLEMMA_SDK_PYTHON is not set, so requests are not checked by the vendors' types");
        return;
    };
    let line = |(name, provider, body): &(String, &str, Value)| {
        json!({"name": name, "provider": provider, "valid": true, "body": body}).to_string() + "\n"
    };
    let lines: String = bodies.iter().map(line).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/validate.py");
    let mut child = Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // All of it is read before anything is written, so neither side waits for the other.
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("checked "), "{said}");
}
