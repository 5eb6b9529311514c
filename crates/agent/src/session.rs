//! The loop around the state machine: one input at a time, its effects performed in order.
//!
//! Everything that changes a document goes through here, so that the editor and the tests run the same code. A
//! [`Shell`] may feed an input while an effect is performed (a tool written in Lua may cancel): such an input waits in
//! the inbox until the earlier effects are done. A shell may also panic: only that effect is lost, and the panic is
//! passed to the caller of [`Session::feed`] when the rest is done.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    mem::{self, Discriminant},
};

use super::{
    Activity, CallResult, Departure, Input, Level, LifecycleEvent, Placement, Progress, RequestId, Shell, Stop,
    blocks::{held, place, set_block, tell_blocks, write_blocks},
    cursor,
    effect::{Effect, RequestKind},
    first_panic::FirstPanic,
    turn::Turn,
    view::first_error,
};
use flemma_chat::{self as chat, AwaitKind, Ending, OpenCall, ReplyWriter, Status};
use flemma_model::{self as model, CallId, Usage};
use flemma_provider::{ErrorKind, ProviderError};

/// The fewest effects that are performed at a time, however long that takes: what a key does is done in one go.
const FEWEST: usize = 16;

/// The session of one conversation.
#[derive(Debug, Default)]
pub struct Session {
    turn: RefCell<Turn>,
    inbox: RefCell<VecDeque<Input>>,
    /// Effects that are not performed yet.
    effects: RefCell<VecDeque<Effect>>,
    working: Cell<bool>,
    /// Whether the session was abandoned during a step.
    abandoned: Cell<bool>,
    /// Whether the rest of the effects waits until the user's keys were heard.
    is_paused: Cell<bool>,
    /// Whether the agent has the buffer locked.
    is_locked: Cell<bool>,
    /// Whether the buffer is locked only because of a pause.
    is_held: Cell<bool>,
    writer: RefCell<Option<ReplyWriter>>,
    /// Whether a request was announced and its end was not.
    requesting: Cell<bool>,
    /// The provider's count of the current or last request.
    used: Cell<Option<Usage>>,
    /// How much of that request's reply has arrived.
    progress: Cell<Progress>,
    /// What kind of activity was shown last.
    shown: Cell<Option<Discriminant<Activity>>>,
    /// The tool that was stopped last, and its output, for its result.
    last_words: RefCell<Option<(CallId, String)>>,
}

impl Session {
    /// Handles inputs and performs their effects, then writes the pieces of a reply that have arrived in one edit.
    ///
    /// # Panics
    /// If the shell panicked, after everything else is done.
    pub fn feed<S: Shell>(&self, inputs: impl IntoIterator<Item = Input>, shell: &S) {
        self.inbox.borrow_mut().extend(inputs);
        if self.working.replace(true) {
            return;
        }
        let mut first_panic = FirstPanic::default();
        self.is_paused.set(false);
        let mut performed = 0;
        loop {
            loop {
                while let Some(effect) = self.next_effect() {
                    let pauses = matches!(effect, Effect::Pause);
                    self.try_to_perform(effect, shell, &mut first_panic);
                    performed += 1;
                    let is_over = self.effects.borrow().is_empty() && self.inbox.borrow().is_empty();
                    if pauses || (performed >= FEWEST && !is_over && shell.is_late()) {
                        self.pause(shell, &mut first_panic);
                        return first_panic.resume();
                    }
                }
                if !self.turn.borrow().has_request() && self.requesting.replace(false) {
                    first_panic.catch(|| self.account(shell, false));
                    first_panic.catch(|| shell.announce(LifecycleEvent::RequestFinished { complete: false }));
                }
                let next = self.inbox.borrow_mut().pop_front();
                let Some(input) = next else { break };
                let decided = first_panic.catch(|| {
                    let effects = self.turn.borrow_mut().step(input, shell);
                    self.effects.borrow_mut().extend(effects);
                });
                if self.abandoned.take() {
                    self.abandon();
                } else if !decided && self.is_busy() {
                    // What the agent waits for now may never arrive. Cancelling does not call the shell, so it cannot
                    // fail in the same way.
                    self.inbox.borrow_mut().push_front(Input::Cancel);
                }
            }
            if self.is_held.replace(false) {
                first_panic.catch(|| shell.lock(false));
            }
            if !first_panic.catch(|| self.flush(shell)) {
                // The position of the next write is no longer certain.
                self.writer.take();
                self.inbox.borrow_mut().push_front(Input::Cancel);
            } else if self.inbox.borrow().is_empty() {
                self.show(shell, &mut first_panic);
            }
            if self.inbox.borrow().is_empty() {
                break;
            }
        }
        self.working.set(false);
        first_panic.resume();
    }

    /// Stops for a moment, so that the user's keys are heard. What is left comes before any other input. Meanwhile the buffer is
    /// locked.
    fn pause<S: Shell>(&self, shell: &S, first_panic: &mut FirstPanic) {
        if !self.is_locked.get() && !self.is_held.replace(true) {
            first_panic.catch(|| shell.lock(true));
        }
        self.is_paused.set(true);
        self.working.set(false);
        self.show(shell, first_panic);
        first_panic.catch(|| shell.go_on_later());
    }

    fn show<S: Shell>(&self, shell: &S, first_panic: &mut FirstPanic) {
        let activity = self.activity();
        let kind = Some(mem::discriminant(&activity));
        let is_other = self.shown.replace(kind) != kind;
        first_panic.catch(|| shell.show(&activity, is_other));
    }

    /// The user has edited the document: what they approved by that is bound to the calls as they are now.
    pub fn notice<S: Shell>(&self, shell: &S) {
        if let Ok(mut turn) = self.turn.try_borrow_mut() {
            turn.notice(shell);
        }
    }

    /// Whether the buffer is locked.
    pub fn is_busy(&self) -> bool {
        self.is_paused.get() || self.turn.try_borrow().map_or(true, |turn| turn.is_busy())
    }

    /// Whether a request is running or about to be sent.
    pub fn has_request(&self) -> bool {
        self.turn.try_borrow().map_or(true, |turn| turn.has_request())
    }

    /// What the conversation is doing.
    pub fn activity(&self) -> Activity {
        // The agent is borrowed during a step that calls the shell.
        let activity = self.turn.try_borrow().map_or(Activity::Waiting, |turn| turn.activity());
        let is_pausing = activity == Activity::Idle && self.is_paused.get();
        if is_pausing { Activity::Executing { running: 0 } } else { activity }
    }

    /// Why the conversation came to rest before its end, since the last key press.
    pub fn stop(&self) -> Option<Stop> {
        self.turn.try_borrow().ok().and_then(|turn| turn.stop().cloned())
    }

    /// Whether part of a reply is in the document and the rest has not arrived.
    pub fn is_replying(&self) -> bool {
        self.writer.try_borrow().is_ok_and(|writer| writer.is_some())
    }

    /// How much of the reply has arrived.
    pub const fn progress(&self) -> Progress {
        self.progress.get()
    }

    /// The calls that are running.
    pub fn running(&self) -> Vec<OpenCall> {
        self.turn.try_borrow().map_or_else(|_| Vec::new(), |turn| turn.work.running.values().cloned().collect())
    }

    /// Whether a call was approved with another name or input than it has now.
    pub fn was_changed_since_approval(&self, call: &OpenCall) -> bool {
        self.turn.try_borrow().is_ok_and(|turn| turn.work.was_changed(call))
    }

    /// Whether it is busy only with judging calls of a file that was opened. What is fed meanwhile comes after that.
    pub fn is_recovering(&self) -> bool {
        self.turn.try_borrow().is_ok_and(|turn| turn.judgement.is_recovery)
    }

    /// Whether the verdicts with this number ([`Input::Judged`]) are still waited for.
    pub fn is_judging(&self, number: u64) -> bool {
        self.turn.try_borrow().is_ok_and(|turn| turn.judgement.is_open_for(number))
    }

    /// Whether this call is new and being judged.
    pub fn is_new(&self, call: &CallId) -> bool {
        self.turn.try_borrow().is_ok_and(|turn| turn.round.new.contains(call))
    }

    /// Whether this call is running, queued or being judged.
    pub fn is_working_on(&self, call: &CallId) -> bool {
        self.turn.try_borrow().is_ok_and(|turn| turn.work.has(call))
    }

    /// Drops all state at once and writes nothing more: the document has been replaced.
    pub fn abandon(&self) {
        match self.turn.try_borrow_mut() {
            Ok(mut turn) => turn.forget(),
            Err(_) => self.abandoned.set(true),
        }
        self.inbox.take();
        self.effects.take();
        self.writer.take();
        self.requesting.set(false);
        self.is_paused.set(false);
        self.is_locked.set(false);
        self.is_held.set(false);
    }

    /// Records the usage of a request that has ended.
    pub fn account<S: Shell>(&self, shell: &S, complete: bool) {
        if let Some(usage) = self.used.take().filter(|usage| !usage.is_empty()) {
            shell.account(usage, complete);
        }
    }

    fn next_effect(&self) -> Option<Effect> {
        self.effects.borrow_mut().pop_front()
    }

    /// Performs an effect. If the shell panics while it starts something, that counts as its end, because the real end
    /// would never arrive.
    fn try_to_perform<S: Shell>(&self, effect: Effect, shell: &S, first_panic: &mut FirstPanic) {
        let end = match &effect {
            Effect::Send(request, _) => {
                let error = ProviderError::bug("the request could not be started, and nothing was changed");
                Some(Input::Failed { request: *request, error, jitter: 0.0 })
            }
            Effect::Abort(request) => Some(Input::Aborted { request: *request }),
            Effect::Run(OpenCall { id, name, .. }) => {
                let message =
                    format!("The tool `{name}` could not be started. This is a bug in Flemma, not in the call.");
                Some(Input::ToolFinished { call: id.clone(), answer: CallResult::error(message) })
            }
            // What nobody has judged does not run.
            Effect::Judge(number, _) => Some(Input::Judged { number: *number, verdicts: Vec::new() }),
            _ => None,
        };
        if first_panic.catch(|| self.perform(effect, shell)) {
            return;
        }
        first_panic.catch(|| match &end {
            Some(Input::Failed { request, .. }) => drop(shell.abort(*request)),
            Some(Input::ToolFinished { call, .. }) => drop(shell.kill(call)),
            _ => {}
        });
        if let Some(end) = end {
            self.inbox.borrow_mut().push_front(end);
        }
    }

    fn perform<S: Shell>(&self, effect: Effect, shell: &S) {
        match effect {
            Effect::Lock(locked) => {
                self.is_locked.set(locked);
                // It was locked already, if there was a pause.
                if !self.is_held.replace(false) || !locked {
                    shell.lock(locked);
                }
            }
            // The loop stops after it.
            Effect::Pause => {}
            Effect::UndoStep => shell.undo_step(),
            Effect::Capture => shell.capture(),
            Effect::WriteCaptures => shell.write_captures(),
            Effect::LeaveOut(files, why) => {
                shell.apply(&shell.with_document(|document, text| chat::leave_out(document, text, &files, &why)));
            }
            Effect::Send(request, kind) => {
                // The usage of a failed attempt is not part of the next one's count.
                self.account(shell, false);
                self.progress.take();
                self.send(request, kind, shell);
            }
            Effect::Used(usage) => {
                self.used.set(Some(usage));
                self.progress.update(|progress| progress.with_count(&usage));
            }
            Effect::Abort(request) => self.abort(request, shell),
            Effect::Backoff(request, pause) => shell.later(pause, Input::BackoffOver { request }),
            Effect::OpenReply => {
                shell.follow();
                *self.writer.borrow_mut() = Some(shell.with_document(|_, text| ReplyWriter::open(text)));
            }
            Effect::Write(event) => self.write(&event, shell),
            Effect::CloseReply(ending) => self.close_reply(ending, shell),
            Effect::Place(calls) => place(&calls, shell),
            Effect::Await(id, kind) => {
                let awaiting = shell.awaiting(&id, kind);
                if kind != AwaitKind::ClientExec {
                    // An earlier approval no longer counts.
                    shell.placed(&[(id.clone(), Placement::Awaits(kind))]);
                }
                set_block(&id, Status::Pending, Some(&awaiting), shell);
                shell.announce(LifecycleEvent::ToolPending(&id, kind));
            }
            Effect::Offer(call) => shell.offer(&call),
            Effect::SetStatus(id, status) => {
                set_block(&id, status, None, shell);
                shell.authorise(&id);
            }
            Effect::Settle(id, answer) => self.settle(&id, answer, shell),
            Effect::Judge(number, calls) => shell.judge(number, calls),
            Effect::Resume(inputs) => self.resume(inputs),
            Effect::Run(call) => {
                shell.announce(LifecycleEvent::ToolExecuting(&call));
                // A listener may have changed the buffer, so that nothing is waited for any more.
                if self.turn.borrow().work.running.contains_key(&call.id) {
                    shell.run(&call);
                }
            }
            Effect::Kill(id) => {
                let words = shell.kill(&id);
                self.last_words.replace((!words.is_empty()).then_some((id, words)));
            }
            Effect::OpenPrompt => open_prompt(shell),
            Effect::Keep(words) => {
                open_prompt(shell);
                shell.apply(&[shell.with_document(|_, text| chat::append_words(text, &words))]);
            }
            Effect::Post(departure) => post(departure, shell),
            Effect::Review if shell.reviews_later() => {}
            Effect::Review => self.inbox.borrow_mut().push_front(Input::Review),
            Effect::Cursor(reason, id) => cursor::put(reason, id.as_ref(), shell),
            Effect::Diagnose => shell.diagnose(&shell.diagnostics()),
            Effect::Notify(level, message) => shell.notify(level, &message),
            Effect::Advise(level, message, advice) => shell.advise(level, &message, advice),
            Effect::Stopped(stop) => shell.stopped(&stop),
        }
    }

    /// Stops a request. What has arrived of its reply comes first.
    fn abort<S: Shell>(&self, request: RequestId, shell: &S) {
        let rest = shell.abort(request).into_iter().map(|event| Input::Event { request, event });
        self.resume(rest.chain([Input::Aborted { request }]).collect());
    }

    /// Inputs that have waited come before all others.
    fn resume(&self, inputs: Vec<Input>) {
        let mut inbox = self.inbox.borrow_mut();
        inputs.into_iter().rev().for_each(|input| inbox.push_front(input));
    }

    /// Takes a piece of the reply. It is in the document after the next [`Session::flush`].
    fn write<S: Shell>(&self, event: &model::Event, shell: &S) {
        if let model::Event::ToolUse { id, name, input } = event {
            shell.arrived(id, name, input);
        }
        self.progress.update(|progress| progress.with(event));
        if let Some(writer) = self.writer.borrow_mut().as_mut() {
            writer.push(event);
        }
    }

    fn close_reply<S: Shell>(&self, ending: Ending, shell: &S) {
        if let Some(writer) = self.writer.take() {
            shell.apply(&writer.close(ending));
        }
        self.requesting.set(false);
        let complete = ending != Ending::Aborted;
        self.account(shell, complete);
        // The file decides, and a listener may read it anew.
        let held = if ending == Ending::Doubtful { held(shell) } else { Vec::new() };
        write_blocks(&held, shell);
        shell.announce(LifecycleEvent::RequestFinished { complete });
        tell_blocks(&held, shell);
    }

    fn settle<S: Shell>(&self, id: &CallId, mut answer: CallResult, shell: &S) {
        if let Some((_, words)) = self.last_words.take().filter(|(killed, _)| killed == id) {
            answer.output.push_str("\n\nThe last lines of its output:\n");
            answer.output.push_str(&words);
        }
        let answer = shell.bounded(id, answer);
        shell.settled(id, &answer);
        let CallResult { output, is_error, language, attachments } = answer;
        let info =
            if attachments.is_empty() { language.info().to_owned() } else { chat::attachment_info(&attachments) };
        shell.apply(
            &shell.with_document(|document, text| {
                chat::write_result(document.calls(), text, id, &output, is_error, &info)
            }),
        );
        shell.announce(LifecycleEvent::ToolFinished(id));
    }

    fn send<S: Shell>(&self, request: RequestId, kind: RequestKind, shell: &S) {
        let diagnostics = shell.diagnostics();
        shell.diagnose(&diagnostics);
        let read = match first_error(&diagnostics) {
            Some(_) => Err(diagnostics),
            None => shell.with_document(|document, text| document.transcript(text)),
        };
        let sent = read
            .map_err(|found| {
                let fault = first_error(&found).unwrap_or_else(|| "the conversation cannot be read".to_owned());
                format!("Not sent: {fault}")
            })
            .and_then(|conversation| match (conversation.messages.last().map(|message| message.role), kind) {
                (Some(model::Role::User), _) | (Some(model::Role::Assistant), RequestKind::Continuation) => {
                    Ok(conversation)
                }
                _ => Err("Nothing to send: type your message under `@You:` first.".to_owned()),
            })
            .map_err(|message| ProviderError::new(ErrorKind::InvalidRequest, message))
            .and_then(|conversation| {
                if !self.requesting.replace(true) {
                    shell.announce(LifecycleEvent::RequestSending);
                }
                // See `Effect::Run`.
                if self.turn.borrow().has_request() { shell.send(request, conversation) } else { Ok(()) }
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

fn open_prompt<S: Shell>(shell: &S) {
    shell.apply(&shell.with_document(|document, text| chat::open_prompt(document.messages(), text).0));
}

/// Writes what leaves the outbox. It stays there until it is in the document.
fn post<S: Shell>(departure: Departure, shell: &S) {
    let messages = shell.departing(departure);
    if messages.is_empty() {
        return;
    }
    open_prompt(shell);
    for message in &messages {
        let edit = shell.with_document(|_, text| chat::append_words(text, message));
        if !shell.apply_own(&[edit]) {
            return;
        }
    }
    shell.departed(departure);
    if matches!(departure, Departure::Unsent | Departure::Returned) {
        let what = if messages.len() == 1 { "message was not sent. It is" } else { "messages were not sent. They are" };
        let message = format!("Your queued {what} at the end, under `@You:`.");
        shell.advise(Level::Info, &message, "Press Ctrl-] to send what is there.");
    }
}
