//! The input of a tool call.

use serde_json::Value;

use super::Digest;

/// The arguments of a tool use, as the model wrote them.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolInput {
    /// JSON, with the order of the keys preserved.
    Json(Value),
    /// Text that is not valid JSON.
    Malformed(String),
}

impl Default for ToolInput {
    fn default() -> Self {
        Self::Malformed(String::new())
    }
}

impl ToolInput {
    /// The digest of the input: of its compact JSON text with the keys in the order of the document, or of the text that is not
    /// valid JSON. The two never have the same digest.
    pub fn digest(&self) -> Digest {
        let (kind, text) = match self {
            Self::Json(value) => ("json\0", value.to_string()),
            Self::Malformed(text) => ("text\0", text.clone()),
        };
        Digest::of((kind.to_owned() + &text).as_bytes())
    }
}
