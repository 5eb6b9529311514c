//! `navigate`: shows the user a page in their editor. The editor answers it (`lua/flemma/tools/client/navigate.lua`).

use serde_json::{Value, json};

use super::super::define;
use crate::{DeclaredApproval, Definition, Executor, PathKind};
use flemma_model::ModelError;
use flemma_notes::{Outline, sections};

/// Shows the model nothing that `read_note` does not.
pub(super) fn definition() -> Definition {
    let mut definition = define::define_answered(
        "navigate",
        "Show the user a page of their notes: open it in their editor, in a window beside the conversation, at a section \
         or a line. The result has the file, the line and the column that are shown.",
        json!({
            "page": { "type": "string", "description": "The page: its path in the folder of notes, without .md." },
            "section": { "type": ["string", "null"], "description": "The heading to show; null for none." },
            "line": { "type": ["integer", "null"], "description": "The line to show, from 1; null for the first." },
        }),
        Executor::Client(None),
    );
    definition.enabled = false;
    definition.approval = Some(DeclaredApproval::Auto);
    definition.idempotent = true;
    definition.path_kind = PathKind::Page;
    definition.read_path_param = Some("page".into());
    let place: Value = json!({
        "path": { "type": "string" },
        "line": { "type": "integer" },
        "column": { "type": "integer" },
        "note": { "type": "string" },
    });
    definition.result_schema = Some(json!({ "type": "object", "properties": place }).into());
    definition
}

/// The line of a section in the text of a page, from 1.
///
/// # Errors
/// If there is no such section, with the sections that there are.
pub fn locate_section(text: &str, heading: &str) -> Result<usize, ModelError> {
    let outline = Outline::new(text.as_bytes());
    sections::find(&outline, heading, None).map(|found| found.section.line)
}
