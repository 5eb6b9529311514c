//! Conversations that `flemma run` carries on.

use serde_json::{Value, json};

use crate::nvim::binding::Binding;
use flemma_workspace::{DriveEnd, ports::Question};

/// What the drive of a conversation came to, as JSON; `None` before its end.
pub(super) fn result(binding: &Binding, buffer: i32) -> Option<String> {
    let (end, requests) = binding.workspace.drives.drive_result(buffer)?;
    Some(describe(&end, requests).to_string())
}

/// The end of a drive, for the command line.
fn describe(end: &DriveEnd, requests: u32) -> Value {
    let mut value = match end {
        DriveEnd::Done => json!({ "state": "done" }),
        // The command line finds the calls in the file and the journal.
        DriveEnd::Suspended => json!({ "state": "suspended", "waiting": [] }),
        DriveEnd::Untrusted(Question::Frontmatter { language }) => {
            json!({ "state": "suspended", "waiting": [{ "kind": "trust", "frontmatter": language, "line": 1 }] })
        }
        DriveEnd::Untrusted(Question::Files { files, references, line }) => {
            let files: Vec<&String> = files.iter().chain(references).collect();
            json!({ "state": "suspended", "waiting": [{ "kind": "trust", "files": files, "line": line + 1 }] })
        }
        DriveEnd::Held(owner) => json!({ "state": "held", "owner": owner }),
        DriveEnd::Failed(reason) => {
            json!({ "state": "failed", "error": reason.as_ref().map(ToString::to_string) })
        }
    };
    value["requests"] = requests.into();
    value
}
