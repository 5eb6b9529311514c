//! Why a conversation came to rest before its end.

/// Why a conversation came to rest although it is not at its end. The user has been told in other words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// As many requests were sent as one key press allows.
    TurnLimit(u32),
    /// These tools gave the same result for the same input several times.
    Repetition(String),
    /// The model's reply ended before the model was done, or the model refused.
    Incomplete,
}
