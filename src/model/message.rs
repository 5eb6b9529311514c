//! One message of a conversation.

use super::Part;

/// Who speaks. The system prompt is not a message: see [`Request::system`](crate::provider::Request::system).
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
    /// Who speaks.
    pub role: Role,
    /// What is said, in the document's order.
    pub parts: Vec<Part>,
}
