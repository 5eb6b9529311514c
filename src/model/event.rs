//! What a model answers, as it arrives.

use serde_json::Value;

use super::{CallId, Signature, ToolInput, Usage, WebSource};

/// One thing that a reply brings. Blocks never overlap: a text, a thinking block or a tool use is
/// finished before the next begins.
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
        /// The vendor's signature, if it signs.
        signature: Option<Signature>,
    },
    /// A whole block of thinking that the vendor hides.
    RedactedThinking(Signature),
    /// The input of a tool use is arriving: for display only.
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
    /// A call that the provider ran, or runs, itself. Nothing runs here.
    HostedUse {
        /// The name of the provider that runs it.
        provider: String,
        /// The vendor's id of the call.
        id: CallId,
        /// The hosted tool, as the vendor calls it.
        name: String,
        /// The vendor's own block, or what to show of it; see [`Part::HostedUse`](super::Part::HostedUse).
        raw: Value,
    },
    /// The result of such a call.
    HostedResult {
        /// The name of the provider that ran it.
        provider: String,
        /// The call it answers.
        id: CallId,
        /// The vendor's own block.
        raw: Value,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// What the prose just before cites.
    Citations {
        /// The name of the provider.
        provider: String,
        /// The pages, each once.
        sources: Vec<WebSource>,
        /// What the vendor wants to see again, in its own form.
        raw: Option<Value>,
    },
    /// What was used so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The reply is complete.
    Finished(StopReason),
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model is done.
    EndTurn,
    /// The model waits for the results of its tool uses.
    ToolUse,
    /// `max_tokens` was reached.
    MaxTokens,
    /// The model's context is full: the conversation and the reply have as many tokens as it holds.
    ContextFull,
    /// The provider refused to go on.
    Refusal,
    /// The provider refused to go on, and says why in a word of its own, such as `SAFETY`.
    Blocked(String),
    /// The provider pauses a long turn and is to be asked again with the conversation as it is.
    Pause,
    /// Something this version has no name for.
    Other(String),
}
