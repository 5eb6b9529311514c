//! Effects: what a step asks to be done.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

use super::{CallResult, CursorReason, Departure, Input, RequestId, Stop};
use flemma_chat::{AwaitKind, Ending, OpenCall, Status};
use flemma_model::{CallId, Event, Usage};

/// One action. Effects are performed in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Lock the buffer against the user's changes, or unlock it.
    Lock(bool),
    /// Start a new undo step for the edits that follow.
    UndoStep,
    /// Find out what the references in the user's message mean. The response is [`super::Input::Captured`].
    Capture,
    /// Write what was found out below the references.
    WriteCaptures,
    /// Write that these files are left out from now on, and why.
    LeaveOut(Vec<PathBuf>, String),
    /// Build the request from the document and send it.
    Send(RequestId, RequestKind),
    /// Abort the request. No more events of it are handled.
    Abort(RequestId),
    /// Send [`super::Input::BackoffOver`] after this time.
    Backoff(RequestId, Duration),
    /// Begin a reply at the end of the document.
    OpenReply,
    /// Write a piece of the reply.
    Write(Event),
    /// End the reply.
    CloseReply(Ending),
    /// The provider's token count of the request so far. A later count replaces an earlier one.
    Used(Usage),
    /// Write status blocks for calls without one, in call order.
    Place(Vec<(CallId, Placement)>),
    /// Make a call with a status block wait for this.
    Await(CallId, AwaitKind),
    /// Ask the editor's user interface to run a call that waits for it.
    Offer(OpenCall),
    /// Change the word in a call's status block.
    SetStatus(CallId, Status),
    /// Replace a call's status block by its result.
    Settle(CallId, CallResult),
    /// Append the text that the user typed in a block, and that is not its result, to their message.
    Keep(String),
    /// Write what leaves the outbox under the last prompt, as the user's own text.
    Post(Departure),
    /// Judge calls. The response is [`super::Input::Judged`] with this number.
    Judge(u64, Vec<CallId>),
    /// Handle inputs that have waited, before any other.
    Resume(Vec<Input>),
    /// Run a tool.
    Run(OpenCall),
    /// Stop a tool. If its result still arrives, it is dropped, unless the call is changing files already.
    Kill(CallId),
    /// Append an empty user message to the document.
    OpenPrompt,
    /// Send [`super::Input::Review`] before any other input, because the next step depends on what was just written.
    Review,
    /// Let the user's keys be heard before what follows.
    Pause,
    /// Move the cursor if the conversation is visible: to this call, or to the end of the document.
    Cursor(CursorReason, Option<CallId>),
    /// Show the diagnostics of the document.
    Diagnose,
    /// Tell the user something.
    Notify(Level, String),
    /// The same, with a sentence about what to do in an editor.
    Advise(Level, String, &'static str),
    /// Tell the user why autopilot came to rest before the end.
    Stopped(Stop),
}

/// What the first status block of a call says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It waits.
    Awaits(AwaitKind),
    /// It may run.
    Approved,
    /// A policy denies it.
    Denied,
}

/// The kind of reply that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A reply to the user's message or to tool results, with which the conversation ends.
    Reply,
    /// The rest of the reply with which the conversation ends: the provider paused and continues when it gets it back.
    Continuation,
}

/// The severity of a message to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Information.
    Info,
    /// Something needs the user's attention.
    Warn,
    /// Something that the user asked for failed.
    Error,
}

/// What a conversation is doing, for spinners and `:Flemma status`.
#[expect(missing_docs, reason = "what is said of an activity says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Idle.
    Idle,
    /// A key was pressed before all tools had loaded. It takes effect when they have.
    Loading,
    /// It is being found out what the references in the user's message mean.
    Capturing,
    /// A request was sent and nothing has arrived yet.
    Waiting,
    /// A request failed with this error and will be retried. The number is that of the next attempt, from 2.
    Retrying { attempt: u32, reason: String },
    /// Thinking arrives.
    Thinking,
    /// Text arrives.
    Writing,
    /// The input of a call of a tool arrives, so many bytes by now. It is not in the buffer until it is complete.
    Calling { tool: String, bytes: usize },
    /// The provider runs a hosted tool, by the name that the vendor gives it.
    Hosting { tool: String },
    /// So many tools are running.
    Executing { running: usize },
}
