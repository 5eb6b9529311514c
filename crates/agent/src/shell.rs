//! What a session needs from its environment, and what it tells it.

use serde::Serialize;

use super::{
    Activity, CallResult, Departure, Input, Level, Outbox, Placement, RequestId, Settings, Stop,
    rejection::{UNKNOWN_EFFECT, rejection},
};
use flemma_chat::{AwaitKind, Awaiting, Diagnostic, Document, OpenCall, Text, TextEdit, Transcript};
use flemma_model::{CallId, Event, ToolInput, Usage};
use flemma_provider::ProviderError;

/// What a session needs from its environment.
pub trait Shell {
    /// Gives access to the document and its text.
    fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R
    where
        Self: Sized;

    /// Applies edits in order. The document is up to date when this returns.
    fn apply(&self, edits: &[TextEdit]);

    /// Applies edits that write what the user has written elsewhere: it is as much their own as what they type here. Says
    /// whether that succeeded.
    fn apply_own(&self, edits: &[TextEdit]) -> bool {
        self.apply(edits);
        true
    }

    /// What the user has written while the conversation was at work.
    fn outbox(&self) -> Outbox {
        Outbox::default()
    }

    /// What would leave the outbox, message by message.
    fn departing(&self, _departure: Departure) -> Vec<String> {
        Vec::new()
    }

    /// That was written into the document, and has left the outbox.
    fn departed(&self, _departure: Departure) {}

    /// Starts a new undo step for the edits that follow.
    fn undo_step(&self);

    /// Whether what is done now has taken so long that the rest waits until the user's keys were heard.
    fn is_late(&self) -> bool {
        false
    }

    /// Has [`Session::feed`](super::Session::feed) called again, after the user's keys were heard.
    fn go_on_later(&self) {}

    /// Locks the buffer against the user's changes, or unlocks it.
    fn lock(&self, locked: bool);

    /// Whether the user's message has references whose content is not captured yet.
    fn has_uncaptured(&self) -> bool {
        false
    }

    /// Finds out what the references in the user's message mean. The outcome arrives as [`Input::Captured`].
    fn capture(&self) {}

    /// Writes what was found out below the references.
    fn write_captures(&self) {}

    /// Sends a conversation.
    ///
    /// # Errors
    /// When the request cannot be started.
    fn send(&self, request: RequestId, conversation: Transcript) -> Result<(), ProviderError>;

    /// Aborts a request. Gives what has come of the reply and was not fed.
    fn abort(&self, request: RequestId) -> Vec<Event>;

    /// Feeds an input after a pause.
    fn later(&self, pause: std::time::Duration, input: Input);

    /// Runs a tool. Its result arrives as [`Input::ToolFinished`].
    fn run(&self, call: &OpenCall);

    /// Asks the editor's user interface to run a call. The result arrives as [`Input::Resolve`].
    fn offer(&self, call: &OpenCall);

    /// What the block of a call says that waits for this.
    fn awaiting(&self, call: &CallId, kind: AwaitKind) -> Awaiting;

    /// A call has arrived in a reply, and is about to be written: it is none of those that had its id before.
    fn arrived(&self, _call: &CallId, _tool: &str, _input: &ToolInput) {}

    /// Calls are about to get their first status blocks.
    fn placed(&self, calls: &[(CallId, Placement)]);

    /// A result as it is written: one that is too long is cut, and the whole of it saved.
    fn bounded(&self, _call: &CallId, answer: CallResult) -> CallResult {
        answer
    }

    /// A call has its result, which is about to be written.
    fn settled(&self, call: &CallId, answer: &CallResult);

    /// Whether a call that runs can be stopped so that nothing more comes of it. From then on it can begin to change nothing. `false`
    /// if it is changing files already: it ends soon, and its result says what it has changed.
    fn drop_unless_changing(&self, _call: &CallId) -> bool {
        true
    }

    /// Stops a tool and returns the last lines of its output. Its result must not arrive afterwards, because a later
    /// call may have the same id. One that may not be stopped is told to end soon.
    fn kill(&self, call: &CallId) -> String;

    /// Moves the cursor if the conversation is visible.
    fn cursor(&self, target: CursorTarget);

    /// Called before a reply is written, so that windows at the end of the conversation follow it.
    fn follow(&self);

    /// Shows a message to the user.
    fn notify(&self, level: Level, message: &str);

    /// The same, with a sentence about what to do in an editor, which names keys.
    fn advise(&self, level: Level, message: &str, advice: &str) {
        self.notify(level, &format!("{message} {advice}"));
    }

    /// Tells the user why autopilot came to rest before the end.
    fn stopped(&self, stop: &Stop) {
        self.notify(Level::Warn, &stop.to_string());
    }

    /// The diagnostics of the document and its frontmatter, by line. While there is an error, nothing is sent and no
    /// tool runs.
    fn diagnostics(&self) -> Vec<Diagnostic>;

    /// Shows the diagnostics.
    fn diagnose(&self, diagnostics: &[Diagnostic]);

    /// Records the usage of a request that has ended. `complete` says whether its reply is complete.
    fn account(&self, usage: Usage, complete: bool);

    /// Shows what the conversation is doing. `is_other` says whether that is of another kind than what was shown last.
    fn show(&self, activity: &Activity, is_other: bool);

    /// Tells other plugins what happened.
    fn announce(&self, moment: LifecycleEvent<'_>);

    /// Judges calls as they are in the document, in this order. The verdicts arrive as [`Input::Judged`] with this number: at once,
    /// or when it is known what the disk says.
    fn judge(&self, number: u64, calls: Vec<CallId>);

    /// The result of a call that has ended, if the user's journal has it and the document lacks it. Such a call never runs
    /// again.
    fn recorded(&self, call: &OpenCall) -> Option<CallResult>;

    /// What a call that may run waits for, if this process does not run it itself.
    fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind>;

    /// Whether the editor's user interface runs a call now.
    fn is_offered(&self, call: &OpenCall) -> bool;

    /// Whether a caller is to be answered before the next turn starts. The shell feeds [`Input::Review`] afterwards.
    fn reviews_later(&self) -> bool {
        false
    }

    /// Whether a call was started and it is not known whether it has ended.
    fn is_interrupted(&self, call: &OpenCall) -> bool;

    /// Whether a call was started, and waits for a decision about what it wants to write.
    fn has_proposed(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether the conversation does not go on here. What was decided stays so for whoever opens it next.
    fn is_ending(&self) -> bool {
        false
    }

    /// Whether a call that has not begun was approved, and whoever did that was told so.
    fn stays_approved(&self, _call: &OpenCall) -> bool {
        false
    }

    /// Whether a call was started in its life, which may have ended since with the words that the user typed.
    fn has_begun(&self, _call: &OpenCall) -> bool {
        false
    }

    /// The result of a call that the user rejects, for this reason.
    fn rejection(&self, call: &OpenCall, reason: Option<&str>) -> CallResult {
        rejection(call, reason, self.is_interrupted(call).then_some(UNKNOWN_EFFECT), |_| None)
    }

    /// Whether the status in the call's block counts: it was written in this session, by the user's own edit or after a
    /// decision, or the user's journal has the decision.
    fn is_authorised(&self, call: &OpenCall) -> bool;

    /// Marks the status that was just written into the call's block as decided: see [`Shell::is_authorised`].
    fn authorise(&self, call: &CallId);

    /// Whether all tool sources have loaded. Nothing is decided or sent before.
    fn tools_ready(&self) -> bool;

    /// The options of this conversation.
    fn settings(&self) -> Settings;
}

/// A position for the cursor in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorTarget {
    /// Why the cursor moves.
    pub reason: CursorReason,
    /// The line, from 0.
    pub line: usize,
}

/// Why the cursor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CursorReason {
    /// A status block waits for the user.
    Pending,
    /// A status block waits for the editor, and the user may wait with it.
    Awaited,
    /// A tool's result was written.
    Result,
    /// The user's new message begins here.
    Prompt,
}

/// An event that other plugins are told about.
#[expect(missing_docs, reason = "what is said of an event says what its fields are")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LifecycleEvent<'a> {
    /// A request is sent.
    RequestSending,
    /// A request has ended; whether its reply is complete.
    RequestFinished { complete: bool },
    /// A tool starts.
    ToolExecuting(&'a OpenCall),
    /// A call has its result.
    ToolFinished(&'a CallId),
    /// A call waits for this.
    ToolPending(&'a CallId, AwaitKind),
}
