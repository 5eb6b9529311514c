//! What a key or a command wants of a conversation, on its way to the session.

use flemma_agent::Input;
use flemma_model::CallId;

/// What the user wants of a conversation. It may have to wait until it is known who holds the conversation
/// (`holding`), and whether its file is trusted ([`crate::trust`]).
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// Something for the session.
    Input(Input),
    /// Something that was recorded, and only has to be carried out.
    Recorded(Input),
    /// Approve these calls, and all like them from now on.
    AlwaysApprove(Vec<CallId>),
}

impl Wish {
    /// Whether it decides about one of these calls.
    pub(crate) fn decides_about(&self, calls: &[CallId]) -> bool {
        match self {
            Self::Input(Input::Decide(ids, ..)) | Self::AlwaysApprove(ids) => ids.iter().any(|id| calls.contains(id)),
            Self::Input(Input::Execute(id)) => calls.contains(id),
            Self::Input(_) | Self::Recorded(_) => false,
        }
    }
}

impl From<Input> for Wish {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}
