//! What a model passes to a tool.

use serde_json::Value;

/// The arguments of a tool use, as the model wrote them.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolInput {
    /// JSON, key order kept.
    Json(Value),
    /// What the model wrote does not parse as JSON: the text itself.
    Malformed(String),
}
