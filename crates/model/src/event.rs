//! The events of a model's reply, as they arrive.

use super::{CallId, Hosted, Signature, ToolInput, Usage};

/// One event of a reply. Blocks never overlap: a text, a thinking block or a tool use is finished before the next
/// begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// More prose. Pieces are cut anywhere, but never inside a character.
    Text(String),
    /// A thinking block begins.
    ThinkingStarted,
    /// More thinking.
    Thinking(String),
    /// The thinking block is complete.
    ThinkingFinished {
        /// The vendor's signature, if there is one.
        signature: Option<Signature>,
    },
    /// A complete block of thinking whose text the vendor hides.
    RedactedThinking(Signature),
    /// All prose so far was thinking, whose beginning was not marked.
    WasThinking,
    /// More of a tool use's input has arrived. For display only.
    ToolUseProgress {
        /// The tool.
        name: String,
        /// Bytes of input so far.
        bytes: usize,
    },
    /// A complete tool use.
    ToolUse {
        /// The vendor's id.
        id: CallId,
        /// The tool.
        name: String,
        /// The arguments.
        input: ToolInput,
    },
    /// What the provider did itself.
    Hosted(Hosted),
    /// Usage so far. A later event replaces an earlier one.
    Usage(Usage),
    /// Something was odd about the reply and has cost the user something: a sentence that says what.
    Warning(String),
    /// The reply is complete.
    Finished(StopReason),
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model has finished.
    EndTurn,
    /// The model waits for the results of its tool uses.
    ToolUse,
    /// `max_tokens` was reached.
    MaxTokens,
    /// The context window is full.
    ContextFull,
    /// The provider refused to continue.
    Refusal,
    /// The provider refused to continue, with a reason of its own, such as `SAFETY`.
    Blocked(String),
    /// The provider pauses a long turn. It continues when the conversation is sent again as it is.
    Pause,
    /// A reason that this version does not know.
    Other(String),
    /// Something of a reply with calls could not be read, which is said here: one of them may not be what the model wrote.
    Damaged(String),
}
