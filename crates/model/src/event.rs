//! The events of a model's reply, as they arrive.

use serde_json::Value;

use super::{CallId, Signature, ToolInput, Usage, WebSource};

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
    /// A call that the provider runs itself.
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
    /// The citations of the text just before.
    Citations {
        /// The name of the provider.
        provider: String,
        /// The pages, each once.
        sources: Vec<WebSource>,
        /// What has to be sent back to the vendor, in the vendor's own format.
        raw: Option<Value>,
    },
    /// Usage so far. A later event replaces an earlier one.
    Usage(Usage),
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
}
