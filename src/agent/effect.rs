//! What a step wants done.

use std::time::Duration;

use super::{CallResult, RequestId};
use crate::{
    chat::{OpenCall, Status},
    model::{CallId, Event, Usage},
};

/// One thing to do. Effects are performed in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The user may not change the buffer from here on, or may again.
    Lock(bool),
    /// The edits that follow are one step of undo, apart from the edits before.
    UndoStep,
    /// Build the request from the document and send it.
    Send(RequestId, Ask),
    /// Drop the request; nothing more comes of it.
    Abort(RequestId),
    /// Come back with [`super::Input::BackoffOver`] after this time.
    Backoff(RequestId, Duration),
    /// Begin a reply at the end of the document.
    OpenReply,
    /// Write a piece of the reply.
    Write(Event),
    /// End the reply, as one that was aborted or as a complete one.
    CloseReply {
        /// Whether it is marked as aborted.
        aborted: bool,
    },
    /// The provider has counted the request so far; a later count replaces this one.
    Used(Usage),
    /// Write status blocks for calls that have none, in the order of the calls.
    Place(Vec<(CallId, Status)>),
    /// Change the word in a call's status block.
    SetStatus(CallId, Status),
    /// Put a result in the place of a call's status block.
    Settle(CallId, CallResult),
    /// Run a tool.
    Run(OpenCall),
    /// Stop a tool; its answer, if one still comes, is dropped.
    Kill(CallId),
    /// End the document with an empty message of the user's.
    OpenPrompt,
    /// Feed [`super::Input::Review`] back before anything else: what comes next depends on what was just written.
    Review,
    /// Move the cursor, if the user is looking.
    Cursor(Cursor),
    /// Show what is wrong with the document.
    Diagnose,
    /// Tell the user something.
    Notify(Level, String),
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// An answer to the user, or to the results of tools: the conversation ends with their message.
    Answer,
    /// The rest of the reply that the conversation ends with: the provider paused and wants it back as it is.
    Rest,
}

/// Where the cursor is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// On a status block that waits for the user.
    Pending(CallId),
    /// Where `tools.cursor_after_result` says, now that this call has its result.
    Result(CallId),
    /// In the user's new, empty message.
    Prompt,
}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something waits for the user, or is not as they may think.
    Warn,
    /// Something they asked for was not done.
    Error,
}

/// What a conversation is doing, for spinners and `:Flemma status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing; the buffer is the user's.
    Idle,
    /// A key was pressed before all tools were known; it takes effect when they are.
    Loading,
    /// A request is out and nothing has come back yet.
    Waiting,
    /// A request failed and is about to be sent again.
    Retrying {
        /// Which attempt comes next, from 2.
        attempt: u32,
        /// What went wrong.
        reason: String,
    },
    /// The model thinks.
    Thinking,
    /// Prose arrives.
    Writing,
    /// The input of a tool use arrives; nothing of it is in the buffer before it is complete.
    Calling {
        /// The tool.
        tool: String,
        /// Bytes so far.
        bytes: usize,
    },
    /// The provider runs a tool of its own.
    Hosting {
        /// The tool, as the vendor calls it.
        tool: String,
    },
    /// Tools run.
    Executing {
        /// How many of them.
        running: usize,
    },
}
