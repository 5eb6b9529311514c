//! The input of a tool call.

use serde_json::Value;

/// The arguments of a tool use, as the model wrote them.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolInput {
    /// JSON, with the order of the keys preserved.
    Json(Value),
    /// Text that is not valid JSON.
    Malformed(String),
}
