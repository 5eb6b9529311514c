//! Why a conversation came to rest before its end.

use std::fmt;

/// Why a conversation came to rest although it is not at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// As many requests were sent as one key press allows.
    TurnLimit(u32),
    /// These tools gave the same result for the same input several times.
    Repetition(String),
    /// The model's reply ended before the model was done, or the model refused.
    Incomplete,
}

impl fmt::Display for Stop {
    /// The message to the user of an editor.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TurnLimit(limit) => {
                let requests = if *limit == 1 { "request" } else { "requests" };
                write!(f, "Autopilot paused after {limit} {requests}; Ctrl-] continues (tools.autopilot.max_turns).")
            }
            Self::Repetition(tools) => write!(
                f,
                "Autopilot paused; Ctrl-] continues: {tools} gave the same result for the same input three times."
            ),
            Self::Incomplete => f.write_str("The reply is not complete."),
        }
    }
}
