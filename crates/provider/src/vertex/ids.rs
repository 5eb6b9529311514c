//! Ids of calls.
//!
//! The API pairs a result with its call by name and order; an id is optional, and older models give none. The document
//! needs one for each call. So a call gets `vertex_` and digits that no other call has, or, if the API gave an id,
//! `vertex:` and that id. Only the latter goes back: ours, and those of other vendors, mean nothing there.

use std::collections::HashSet;

use crate::{Request, reply::made_up_id};
use flemma_model::{CallId, Part};

/// Before an id of the API's.
const THEIRS: &str = "vertex:";

/// Gives ids that the conversation does not have yet.
pub(super) struct NewIds {
    taken: HashSet<String>,
}

impl NewIds {
    /// NewIds for the reply to `request`.
    pub fn after(request: &Request) -> Self {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let taken = parts.filter_map(|part| match part {
            Part::ToolUse { id, .. } | Part::HostedUse { id, .. } => Some(id.0.clone()),
            _ => None,
        });
        Self { taken: taken.collect() }
    }

    /// The document's id for the next call; `theirs` is what the API calls it.
    pub fn next(&mut self, theirs: Option<&str>) -> CallId {
        if let Some(theirs) = theirs.filter(|id| !id.is_empty()) {
            let id = format!("{THEIRS}{theirs}");
            if self.taken.insert(id.clone()) {
                return CallId(id);
            }
        }
        made_up_id("vertex")
    }
}

/// The id as the API gave it.
pub(super) fn theirs(id: &CallId) -> Option<&str> {
    id.0.strip_prefix(THEIRS)
}
