//! Ids of calls.
//!
//! The API pairs a result with its call by name and order; an id is optional, and older models give none. The document
//! needs one for each call. So a call gets `vertex_` and digits that no other call has, or, if the API gave an id,
//! `vertex:` and that id. Only the latter goes back: ours, and those of other vendors, mean nothing there.

use flemma_model::CallId;

/// Before an id of the API's.
const THEIRS: &str = "vertex:";

/// The document's id for one that the API gave.
pub(super) fn ours(theirs: &str) -> String {
    format!("{THEIRS}{theirs}")
}

/// The id as the API gave it.
pub(super) fn theirs(id: &CallId) -> Option<&str> {
    id.0.strip_prefix(THEIRS)
}
