//! The loop around the state machine: one input at a time, its effects performed in order.
//!
//! Everything that touches a document goes through here, so that the editor and the tests run the same
//! code. A [`Shell`] may call back while an effect is performed (a tool written in Lua may press
//! cancel): such an input waits in the inbox until the effects before it are done.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use super::{Activity, Agent, Answer, Cursor, Effect, Input, Level, RequestId, Settings, Verdict, View};
use crate::{
    chat::{
        self, BlockKind, Conversation, Diagnostic, Document, Ending, OpenCall, ReplyWriter, Severity, Status,
        StatusBlock, Text, TextEdit,
    },
    provider::{self, CallId, ErrorKind, ProviderError},
};

/// What a session needs of the world.
pub trait Shell {
    /// Lends the document and its text.
    fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R;

    /// Applies edits in their order. The document has followed when this returns.
    fn apply(&self, edits: &[TextEdit]);

    /// The edits from here on are one step of undo.
    fn undo_step(&self);

    /// Keeps the user from changing the buffer, or lets them again.
    fn lock(&self, locked: bool);

    /// Sends a conversation.
    ///
    /// # Errors
    /// When it cannot even be tried.
    fn send(&self, request: RequestId, conversation: Conversation) -> Result<(), ProviderError>;

    /// Drops a request.
    fn abort(&self, request: RequestId);

    /// Comes back with an input after a pause.
    fn later(&self, pause: std::time::Duration, input: Input);

    /// Runs a tool; its answer comes back as [`Input::ToolFinished`].
    fn run(&self, call: &OpenCall);

    /// Stops a tool.
    fn kill(&self, call: &CallId);

    /// Moves the cursor, if the user is looking.
    fn cursor(&self, target: CursorTarget);

    /// A reply is about to be written: whoever follows the conversation wants to see it come.
    fn follow(&self);

    /// Tells the user something.
    fn notify(&self, level: Level, message: &str);

    /// Shows what is wrong with the document.
    fn diagnose(&self, diagnostics: &[Diagnostic]);

    /// Shows what the conversation is doing.
    fn show(&self, activity: &Activity);

    /// Tells other plugins what happened.
    fn announce(&self, moment: Moment<'_>);

    /// See [`View::verdict`].
    fn verdict(&self, call: &OpenCall) -> Verdict;

    /// See [`View::is_inherited`].
    fn is_inherited(&self, call: &OpenCall) -> bool;

    /// The call's status was written in this session.
    fn disinherit(&self, call: &CallId);

    /// See [`View::tools_ready`].
    fn tools_ready(&self) -> bool;

    /// See [`View::settings`].
    fn settings(&self) -> Settings;
}

/// A place for the cursor, found in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorTarget {
    /// Why it is wanted there.
    pub reason: CursorReason,
    /// The line, from 0.
    pub line: usize,
}

/// Why the cursor is wanted somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorReason {
    /// A status block waits for the user.
    Pending,
    /// A tool's result has landed.
    Result,
    /// The user's new message begins here.
    Prompt,
}

/// What other plugins may want to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment<'a> {
    /// A request goes out.
    RequestSending,
    /// A request is over.
    RequestFinished {
        /// Whether its reply is complete.
        complete: bool,
    },
    /// A tool starts.
    ToolExecuting(&'a OpenCall),
    /// A call has its result.
    ToolFinished(&'a CallId),
    /// A call waits for the user.
    ToolPending(&'a CallId),
}

/// One conversation at work.
#[derive(Debug, Default)]
pub struct Session {
    agent: RefCell<Agent>,
    inbox: RefCell<VecDeque<Input>>,
    working: Cell<bool>,
    writer: RefCell<Option<ReplyWriter>>,
    /// Whether a request was announced whose end was not.
    requesting: Cell<bool>,
}

impl Session {
    /// Takes inputs and performs what comes of them, then writes what has arrived of a reply in one edit.
    pub fn feed<S: Shell>(&self, inputs: impl IntoIterator<Item = Input>, shell: &S) {
        self.inbox.borrow_mut().extend(inputs);
        if self.working.replace(true) {
            return;
        }
        // Lowers the flag even if the shell panics: the export catches that, and the session must live on.
        let _guard = Working(&self.working);
        loop {
            let Some(input) = self.inbox.borrow_mut().pop_front() else { break };
            let effects = self.agent.borrow_mut().step(input, &Eyes(shell));
            for effect in effects {
                self.perform(effect, shell);
            }
            if !self.agent.borrow().has_request() && self.requesting.replace(false) {
                shell.announce(Moment::RequestFinished { complete: false });
            }
        }
        self.flush(shell);
        let activity = self.agent.borrow().activity();
        shell.show(&activity);
    }

    /// Whether the buffer is ours.
    pub fn is_busy(&self) -> bool {
        self.agent.borrow().is_busy()
    }

    /// What the conversation is doing.
    pub fn activity(&self) -> Activity {
        self.agent.borrow().activity()
    }

    /// The calls whose tools run now.
    pub fn running(&self) -> Vec<OpenCall> {
        self.agent.borrow().running().cloned().collect()
    }

    /// Forgets everything at once, without another word to the document: it is no longer what we took it for.
    pub fn abandon(&self) {
        self.agent.take();
        self.inbox.take();
        self.writer.take();
        self.requesting.set(false);
    }

    fn perform<S: Shell>(&self, effect: Effect, shell: &S) {
        match effect {
            Effect::Lock(locked) => shell.lock(locked),
            Effect::UndoStep => shell.undo_step(),
            Effect::Send(request) => self.send(request, shell),
            Effect::Abort(request) => shell.abort(request),
            Effect::Backoff(request, pause) => shell.later(pause, Input::BackoffOver { request }),
            Effect::OpenReply => {
                shell.follow();
                *self.writer.borrow_mut() = Some(shell.with_document(|_, text| ReplyWriter::open(text)));
            }
            Effect::Write(event) => {
                if let Some(writer) = self.writer.borrow_mut().as_mut() {
                    writer.push(&event);
                }
            }
            Effect::CloseReply { aborted } => {
                if let Some(writer) = self.writer.take() {
                    let edits = writer.close(if aborted { Ending::Aborted } else { Ending::Complete });
                    shell.apply(&edits);
                }
                self.requesting.set(false);
                shell.announce(Moment::RequestFinished { complete: !aborted });
            }
            Effect::Place(calls) => {
                let blocks: Vec<_> = calls.iter().map(|(id, status)| (id.clone(), StatusBlock::new(*status))).collect();
                shell.apply(&shell.with_document(|document, text| chat::place(document, text, &blocks)));
                for (id, _) in calls.iter().filter(|(_, status)| *status == Status::Pending) {
                    shell.announce(Moment::ToolPending(id));
                }
            }
            Effect::SetStatus(id, status) => {
                shell.apply(&shell.with_document(|document, text| chat::set_status(document, text, &id, status)));
                shell.disinherit(&id);
            }
            Effect::Settle(id, Answer { output, is_error, is_json }) => {
                let edits =
                    shell.with_document(|document, text| chat::settle(document, text, &id, &output, is_error, is_json));
                shell.apply(&edits);
                shell.announce(Moment::ToolFinished(&id));
            }
            Effect::Run(call) => {
                shell.announce(Moment::ToolExecuting(&call));
                shell.run(&call);
            }
            Effect::Kill(id) => shell.kill(&id),
            Effect::OpenPrompt => {
                let (edits, _) = shell.with_document(|document, text| chat::open_prompt(document, text));
                shell.apply(&edits);
            }
            Effect::Review => self.inbox.borrow_mut().push_front(Input::Review),
            Effect::Cursor(target) => {
                if let Some(target) = shell.with_document(|document, text| find(document, text, target)) {
                    shell.cursor(target);
                }
            }
            Effect::Notify(level, message) => shell.notify(level, &message),
        }
    }

    fn send<S: Shell>(&self, request: RequestId, shell: &S) {
        let sent = shell.with_document(|document, text| document.conversation(text)).map_err(|diagnostics| {
            shell.diagnose(&diagnostics);
            let first = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
            first.map_or_else(
                || "The conversation cannot be sent.".to_owned(),
                |first| format!("Not sent: line {}: {}", first.line + 1, first.message),
            )
        });
        let sent = sent
            .and_then(|conversation| {
                if conversation.messages.last().is_some_and(|message| message.role == provider::Role::User) {
                    Ok(conversation)
                } else {
                    Err("Nothing to send: type your message under `@You:` first.".to_owned())
                }
            })
            .map_err(|message| ProviderError::new(ErrorKind::InvalidRequest, message))
            .and_then(|conversation| {
                if !self.requesting.replace(true) {
                    shell.announce(Moment::RequestSending);
                }
                shell.send(request, conversation)
            });
        if let Err(error) = sent {
            self.inbox.borrow_mut().push_front(Input::Failed { request, error, jitter: 0.0 });
        }
    }

    fn flush<S: Shell>(&self, shell: &S) {
        let edits = self.writer.borrow_mut().as_mut().map(ReplyWriter::take);
        if let Some(edits) = edits.filter(|edits| !edits.is_empty()) {
            shell.apply(&edits);
        }
    }
}

struct Working<'a>(&'a Cell<bool>);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// A shell, as the state machine sees it.
struct Eyes<'a, S>(&'a S);

impl<S: Shell> View for Eyes<'_, S> {
    fn open_calls(&self) -> Vec<OpenCall> {
        self.0.with_document(|document, text| document.open_calls(text))
    }

    fn verdict(&self, call: &OpenCall) -> Verdict {
        self.0.verdict(call)
    }

    fn is_inherited(&self, call: &OpenCall) -> bool {
        self.0.is_inherited(call)
    }

    fn tools_ready(&self) -> bool {
        self.0.tools_ready()
    }

    fn settings(&self) -> Settings {
        self.0.settings()
    }
}

fn find(document: &Document, text: &dyn Text, target: Cursor) -> Option<CursorTarget> {
    let (reason, line) = match target {
        Cursor::Prompt => (CursorReason::Prompt, text.line_count().saturating_sub(1)),
        Cursor::Pending(id) => {
            let call = document.open_calls(text).into_iter().find(|call| call.id == id)?;
            (CursorReason::Pending, call.placeholder?.fence)
        }
        Cursor::Result(id) => (CursorReason::Result, result_line(document, &id)?),
    };
    Some(CursorTarget { reason, line })
}

/// The header of the last result with this id.
fn result_line(document: &Document, id: &CallId) -> Option<usize> {
    document.messages().iter().rev().find_map(|message| {
        let is_it = |kind: &BlockKind| matches!(kind, BlockKind::ToolResult(result) if result.id == *id);
        let block = message.blocks.iter().rfind(|block| is_it(&block.kind))?;
        Some(message.lines_of(block).start)
    })
}
