//! Which conversation a notice is for.

/// Names a conversation for as long as it is open; never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(pub u64);
