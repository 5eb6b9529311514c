//! One message of a conversation.

use super::Part;

/// The author of a message. The system prompt is not a message: see
/// `flemma_provider::Request::system`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its content, in the order of the document.
    pub parts: Vec<Part>,
}
