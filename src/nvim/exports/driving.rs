//! Conversations that `flemma run` carries on.

use mlua::Table;
use serde_json::{Value, json};

use super::table::Exports;
use crate::workspace::{DriveEnd, DriveOptions, ports::Question};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // drive(buffer, { trust, max_turns or nil, provider or nil, model or nil }) -> true
    exports.add("drive", |_, binding, (buffer, options): (i32, Table)| {
        let options = DriveOptions {
            is_trusted: options.get("trust")?,
            max_turns: options.get("max_turns")?,
            provider: options.get("provider")?,
            model: options.get("model")?,
        };
        binding.workspace.drive(buffer, options);
        Ok(true)
    })?;
    // stop_driving(buffer) -> whether it is driven
    exports.add("stop_driving", |_, binding, buffer: i32| Ok(binding.workspace.stop_driving(buffer)))?;
    // drive_result(buffer) -> what it came to, as JSON; nil before its end
    exports.add("drive_result", |_, binding, buffer: i32| {
        let result = binding.workspace.drive_result(buffer);
        Ok(result.map(|(end, requests)| describe(&end, requests).to_string()))
    })
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
