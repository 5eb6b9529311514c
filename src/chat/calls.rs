//! Tool calls that have no result yet.

use super::StatusBlock;
use crate::provider::{CallId, ToolInput};

/// A tool use that runs here and has no result in the document.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call's id.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The input as it stands in the document now: the user may have edited it.
    pub input: ToolInput,
    /// The line of the `**Tool Use:**` header.
    pub line: usize,
    /// Whether the reply that made the call was aborted: such a call never runs.
    pub aborted: bool,
    /// The status block, if one was written.
    pub placeholder: Option<Placeholder>,
}

/// A status block where a result will be.
#[derive(Clone, Debug, PartialEq)]
pub struct Placeholder {
    /// The line of the `**Tool Result:**` header.
    pub line: usize,
    /// The line of the fence that carries the status.
    pub fence: usize,
    /// What the fence says.
    pub block: StatusBlock,
    /// What the user wrote inside the block; empty if there is nothing but white space.
    pub content: String,
}
