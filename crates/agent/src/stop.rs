//! Why a conversation came to rest before its end.

use std::fmt;

/// Why a conversation came to rest although it is not at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// As many requests were sent as one key press allows.
    TurnLimit(u32),
    /// These tools gave the same result for the same input several times.
    Repetition(String),
    /// A limit on money is reached.
    Budget(Overrun),
    /// The model's reply ended before the model was done, or the model refused.
    Incomplete,
}

/// A limit on money that is reached, in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The name of the limit: `turn`, `conversation` or `day`.
    pub of: &'static str,
    /// What was spent.
    pub spent: u64,
    /// The limit.
    pub limit: u64,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = |cents: u64| format!("{}.{:02}", cents / 100, cents % 100);
        let Self { of, spent, limit } = self;
        write!(f, "this {of} has cost {} of {} USD (budget.{of})", dollars(*spent), dollars(*limit))
    }
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
            Self::Budget(overrun) => write!(f, "Autopilot paused: {overrun}; press Ctrl-] to go on."),
            Self::Incomplete => f.write_str("The reply is not complete."),
        }
    }
}
