//! Where the cursor goes.

use super::{CursorReason, CursorTarget, Shell};
use flemma_chat::{Document, Text};
use flemma_model::CallId;

/// Puts the cursor on a call, or at the end.
pub(super) fn put<S: Shell>(reason: CursorReason, id: Option<&CallId>, shell: &S) {
    let line = shell.with_document(|document, text| line_of(document, text, reason, id));
    line.into_iter().for_each(|line| shell.cursor(CursorTarget { reason, line }));
}

/// The line of a call that the user is to see.
fn line_of(document: &Document, text: &dyn Text, reason: CursorReason, id: Option<&CallId>) -> Option<usize> {
    let Some(id) = id else { return Some(text.line_count().saturating_sub(1)) };
    if reason != CursorReason::Result {
        // The line over which an open call with a status block is drawn.
        document.calls().find(id, text)?.placeholder?;
    }
    document.calls().result_line(id)
}
