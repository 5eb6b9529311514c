//! The shell of a session: how its effects reach the host, the tools and the providers.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::{
    Conversation, HostEffect, Workspace,
    approval::lookups::Known,
    calls::{Standing, key::Keyed as _},
    page::Writing,
    shared::Leaving,
    usage::accounts::PricedRequest,
};
use flemma_agent::{
    Activity, CallResult, CursorTarget, Departure, Input, Level, LifecycleEvent, Outbox, Placement, RequestId,
    Settings, Shell, Stop,
};
use flemma_chat::{
    self as chat, AwaitKind, Awaiting, Diagnostic, Document, OpenCall, Severity, Speaker, Text, TextEdit,
};
use flemma_model::{CallId, Event, ToolInput, Usage};
use flemma_provider::{ErrorKind, ProviderError, auth::Environment};
use flemma_runtime::{OnUpdate, Recipient, RequestUpdate, http::Timeouts};

/// How long inputs are taken and effects are performed at a time. The user's keys are heard in between.
pub(crate) const SLICE: Duration = Duration::from_millis(25);

/// A conversation in its workspace: what its session acts on.
pub(crate) struct Effects<'a> {
    workspace: &'a Workspace,
    conversation: &'a Conversation,
    begun: Instant,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(workspace: &'a Workspace, conversation: &'a Conversation) -> Self {
        Self { workspace, conversation, begun: Instant::now() }
    }

    fn buffer(&self) -> i32 {
        self.conversation.buffer
    }

    fn perform(&self, effect: HostEffect<'_>) {
        self.workspace.shared.host.perform(effect);
    }

    /// Writes the beginning and the end of a request to the log.
    fn log_request(&self, moment: &LifecycleEvent<'_>) {
        let words = match moment {
            LifecycleEvent::RequestFinished { complete: true } => "the reply is complete".to_owned(),
            LifecycleEvent::RequestFinished { complete: false } => {
                "the request ended without a complete reply".to_owned()
            }
            _ => {
                let config = &self.workspace.frontmatter.of(self.conversation).config;
                format!("request to {}, model {}", config.provider.title(), config.model())
            }
        };
        let shared = &self.workspace.shared;
        shared.log(Level::Info, &format!("{}: {words}", shared.name(self.conversation)));
    }

    /// What the updates of a request become.
    fn on_update(&self, request: RequestId) -> OnUpdate {
        let (mailbox, id) = (self.workspace.background.mailbox.clone(), self.conversation.id);
        Arc::new(move |update| match update {
            RequestUpdate::Event(event) => mailbox.input(id, Input::Event { request, event }),
            RequestUpdate::Failed(error) => {
                mailbox.input(id, Input::Failed { request, error, jitter: fastrand::f64() });
            }
            RequestUpdate::Warning(words) => mailbox.job_for(id, move |workspace, _| workspace.shared.warn(&words)),
            RequestUpdate::Refused(files) => mailbox.job_for(id, move |workspace, conversation| {
                workspace.references.files_were_refused(conversation, request, &files);
            }),
            RequestUpdate::LeftOut(files) => mailbox.job_for(id, move |workspace, conversation| {
                conversation.accounts.reads_files.set(false);
                if conversation.page.files().leave_out(files) {
                    workspace.diagnose(conversation);
                }
            }),
        })
    }
}

impl Shell for Effects<'_> {
    fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        self.conversation.page.with_document(look)
    }

    fn apply(&self, edits: &[TextEdit]) {
        self.workspace.shared.write(self.conversation, edits);
    }

    fn apply_own(&self, edits: &[TextEdit]) -> bool {
        self.workspace.shared.write_as(self.conversation, Writing::Theirs, edits)
    }

    fn outbox(&self) -> Outbox {
        self.conversation.outbox.messages.borrow().state()
    }

    fn departing(&self, departure: Departure) -> Vec<String> {
        self.conversation.outbox.messages.borrow().departing(departure)
    }

    fn departed(&self, departure: Departure) {
        self.workspace.queue.outbox_departed(self.conversation, departure);
    }

    fn undo_step(&self) {
        self.conversation.page.undo_step();
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed() > SLICE && !self.workspace.shared.is_leaving()
    }

    fn go_on_later(&self) {
        self.workspace.background.post_for(self.conversation.id, |workspace, conversation| {
            workspace.shared.feed(conversation, []);
            workspace.resolutions.came_to_rest(conversation);
        });
    }

    fn lock(&self, locked: bool) {
        self.perform(HostEffect::Lock { buffer: self.buffer(), is_locked: locked });
        if !locked {
            self.perform(HostEffect::TurnOver { buffer: self.buffer() });
            self.workspace.resolutions.watch_deadlines(self.conversation, false);
            self.workspace.queue.put_down_later(self.conversation);
            self.workspace.calls.tell_rest_later(self.conversation);
        }
    }

    fn has_uncaptured(&self) -> bool {
        !self.conversation.page.uncaptured().is_empty()
            || self.conversation.instructions.borrow().as_ref().is_some_and(|found| !found.is_empty())
            || !self.workspace.permissions.judged_files(self.conversation).is_empty()
    }

    fn capture(&self) {
        self.workspace.references.capture(self.conversation);
    }

    fn write_captures(&self) {
        let captures = self.conversation.captures.ready.take();
        let edits = self.with_document(|document, text| chat::write_captures(document, text, &captures));
        self.apply(&edits);
        self.workspace.instructions.write(self.conversation);
    }

    fn send(&self, request: RequestId, conversation: chat::Transcript) -> Result<(), ProviderError> {
        self.conversation.ending.set(None);
        self.workspace.shared.check_names(true);
        let file = self.workspace.frontmatter.of(self.conversation);
        let config = &file.config;
        if let Some(problem) = self.workspace.frontmatter.lacks_provider(self.conversation, &file) {
            return Err(ProviderError::new(ErrorKind::InvalidRequest, problem));
        }
        self.conversation.accounts.request.replace(Some(PricedRequest::of(config)));
        if let Some(line) = self.conversation.page.last_marker(Speaker::You) {
            let note = self.conversation.replies.sent(line, Timestamp::now());
            self.workspace.usage.keep_note(self.conversation, line, note);
        }
        let turn = Rc::new(self.workspace.frontmatter.turn_tools(self.conversation, &file));
        let body = self.workspace.permissions.request(self.conversation, &file, &turn, conversation);
        self.conversation.accounts.reads_files.set(body.has_attachments());
        *self.conversation.turn_tools.borrow_mut() = Some(turn);
        let page = &self.conversation.page;
        page.files().left_out.clear();
        let readable = self.workspace.permissions.readable(self.conversation);
        let options = config.parameters_for(config.provider);
        let timeouts = Timeouts::of(&options);
        let recipient = Recipient::of(options, Environment::of_process());
        let worker = &self.workspace.background.worker;
        let on_update = self.on_update(request);
        // What was sent must not be lost, and the reply may take minutes. None of it may be here when the file is written.
        self.workspace.journaling.write_soon(self.conversation);
        let handle =
            worker.send(self.conversation.id, recipient, body, readable, timeouts, on_update).map_err(|error| {
                ProviderError::new(ErrorKind::InvalidRequest, format!("no thread could be started: {error}"))
            })?;
        self.conversation.tasks.add_request(request, handle);
        self.conversation.drive.requests.update(|requests| requests + 1);
        Ok(())
    }

    fn abort(&self, request: RequestId) -> Vec<Event> {
        self.conversation.tasks.stop_request(request);
        self.workspace.background.mailbox.queue.take_reply(self.conversation.id, request)
    }

    fn later(&self, pause: Duration, input: Input) {
        let (mailbox, id) = (&self.workspace.background.mailbox, self.conversation.id);
        let (late, sooner) = (mailbox.clone(), input.clone());
        // Where no thread could wait, it comes at once.
        if self.workspace.background.worker.later(pause, move || late.input(id, input)).is_err() {
            mailbox.input(id, sooner);
        }
    }

    fn run(&self, call: &OpenCall) {
        self.conversation.ending.set(None);
        self.workspace.execution.run(self.conversation, call);
    }

    fn offer(&self, call: &OpenCall) {
        self.workspace.execution.offer(self.conversation, call);
    }

    fn awaiting(&self, call: &CallId, kind: AwaitKind) -> Awaiting {
        self.workspace.calls.awaiting(self.conversation, call, kind)
    }

    fn arrived(&self, call: &CallId, tool: &str, input: &ToolInput) {
        self.workspace.execution.note_new(self.conversation, call, tool, input);
    }

    fn placed(&self, calls: &[(CallId, Placement)]) {
        self.workspace.journaling.note_placed(self.conversation, calls);
        let waits = |(id, placement): &(CallId, Placement)| {
            (*placement == Placement::Awaits(AwaitKind::Approval)).then(|| id.clone())
        };
        self.workspace.reviews.note_arrived(self.conversation, &calls.iter().filter_map(waits).collect::<Vec<_>>());
    }

    fn bounded(&self, call: &CallId, answer: CallResult) -> CallResult {
        self.workspace.execution.bounded(self.conversation, call, answer)
    }

    fn settled(&self, call: &CallId, answer: &CallResult) {
        self.workspace.journaling.note_settled(self.conversation, call, answer);
    }

    fn drop_unless_changing(&self, call: &CallId) -> bool {
        self.conversation.tasks.drop_unless_changing(call)
    }

    fn kill(&self, call: &CallId) -> String {
        let printed = self.conversation.tasks.printed(call);
        self.workspace.execution.stop_tool(self.conversation, call);
        printed
    }

    fn cursor(&self, target: CursorTarget) {
        self.perform(HostEffect::Cursor { buffer: self.buffer(), target });
    }

    fn follow(&self) {
        self.perform(HostEffect::Follow { buffer: self.buffer() });
    }

    fn notify(&self, level: Level, message: &str) {
        self.workspace.shared.notify(self.conversation, level, message);
    }

    fn advise(&self, level: Level, message: &str, advice: &str) {
        if self.workspace.shared.has_editor(self.conversation) {
            self.notify(level, &format!("{message} {advice}"));
        } else {
            self.notify(level, message);
        }
    }

    fn stopped(&self, stop: &Stop) {
        if let Stop::Budget(overrun) = stop {
            self.workspace.usage.was_told(self.conversation, *overrun);
        }
        // The end of a drive says so.
        if self.workspace.shared.has_editor(self.conversation) {
            self.notify(Level::Warn, &stop.to_string());
        }
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = self.conversation.text_diagnostics();
        let file = self.workspace.frontmatter.of(self.conversation);
        if let Some(fault) = &file.fault {
            found.insert(0, fault.diagnostic.clone());
        }
        found
    }

    fn diagnose(&self, diagnostics: &[Diagnostic]) {
        self.conversation.is_diagnosed.set(!diagnostics.is_empty());
        self.perform(HostEffect::Diagnose { buffer: self.buffer(), diagnostics });
        for error in diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error) {
            // The user is told about this line.
            self.perform(HostEffect::Unfold { buffer: self.buffer(), line: error.line });
        }
    }

    fn show(&self, activity: &Activity, is_other: bool) {
        let is_busy = *activity != Activity::Idle;
        self.perform(HostEffect::Show { buffer: self.buffer(), is_busy, is_other });
    }

    fn account(&self, usage: Usage, complete: bool) {
        self.workspace.usage.account(self.conversation, usage, complete);
    }

    fn announce(&self, moment: LifecycleEvent<'_>) {
        let mut usage = None;
        match moment {
            LifecycleEvent::RequestSending | LifecycleEvent::RequestFinished { .. } => {
                usage = self.conversation.accounts.ended.take();
                self.log_request(&moment);
            }
            LifecycleEvent::ToolExecuting(_) => {}
            LifecycleEvent::ToolFinished(id) => {
                self.conversation.tasks.remove_tool(id);
                self.workspace.execution.drop_suspended(self.conversation, id);
            }
            LifecycleEvent::ToolPending(id, kind) => self.workspace.journaling.note_asked(self.conversation, id, kind),
        }
        self.perform(HostEffect::Announce { buffer: self.buffer(), moment, usage });
        if let LifecycleEvent::ToolFinished(_) = moment {
            self.workspace.execution.files_were_written();
        }
    }

    fn judge(&self, number: u64, calls: Vec<CallId>) {
        let calls: Vec<OpenCall> = calls.iter().filter_map(|id| self.conversation.page.open_call(id)).collect();
        let asked = calls.clone();
        let then = move |workspace: &Workspace, conversation: &Conversation, known: &Known| {
            if !conversation.session.is_judging(number) {
                return;
            }
            let judge = |call: OpenCall| {
                // It is about to run, and does not yet.
                let standing = conversation.standing_before(&call);
                let verdict = workspace.approval.verdict_as(conversation, &call, &standing, known);
                (call, verdict)
            };
            let verdicts = calls.into_iter().map(judge).collect();
            workspace.shared.feed(conversation, [Input::Judged { number, verdicts }]);
            workspace.resolutions.came_to_rest(conversation);
        };
        let workspace = self.workspace;
        workspace.approval.look_up(&workspace.background, self.conversation, asked, then);
    }

    fn recorded(&self, call: &OpenCall) -> Option<CallResult> {
        match self.conversation.standing(call) {
            Standing::Ended(answer) => Some(answer),
            _ => None,
        }
    }

    fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind> {
        self.workspace.calls.suspends_as(call)
    }

    fn is_offered(&self, call: &OpenCall) -> bool {
        self.conversation.tasks.is_running(&call.id) && self.workspace.calls.suspends_as(call).is_some()
    }

    fn reviews_later(&self) -> bool {
        if self.workspace.shared.leaving.get() == Leaving::HasStopped {
            // There is no next turn. `wind_up` puts the conversation to rest.
            return true;
        }
        let is_answering = self.workspace.shared.is_answering.get();
        if is_answering {
            self.conversation.is_review_due.set(true);
            self.workspace.background.post_for(self.conversation.id, |workspace, conversation| {
                conversation.is_review_due.set(false);
                workspace.shared.feed(conversation, [Input::Review]);
                workspace.resolutions.came_to_rest(conversation);
            });
        }
        is_answering
    }

    fn is_interrupted(&self, call: &OpenCall) -> bool {
        self.conversation.is_interrupted(call) || self.workspace.calls.is_repeated(self.conversation, call)
    }

    fn is_ending(&self) -> bool {
        self.workspace.shared.is_ending(self.conversation)
    }

    fn stays_approved(&self, call: &OpenCall) -> bool {
        self.conversation.stays_approved(call)
    }

    fn has_proposed(&self, call: &OpenCall) -> bool {
        self.conversation.records.has_proposed(&call.key())
    }

    fn has_begun(&self, call: &OpenCall) -> bool {
        self.conversation.records.has_begun(&call.key())
    }

    fn rejection(&self, call: &OpenCall, reason: Option<&str>) -> CallResult {
        self.workspace.resolutions.rejection(self.conversation, call, reason)
    }

    fn is_authorised(&self, call: &OpenCall) -> bool {
        self.workspace.calls.counts(self.conversation, call)
    }

    /// Also whether its journal is read, and the conversation itself: what a request says of messages that were never sent is put together here,
    /// some of them at a time. The answer *no* comes with another [`Input::ToolsReady`] while there is more to read.
    fn tools_ready(&self) -> bool {
        let shared = &self.workspace.shared;
        if !shared.host.carries_on() || !shared.toolbox.is_ready() || !self.conversation.records.is_read() {
            return false;
        }
        let more = self.conversation.page.read_on();
        if more {
            self.workspace.background.mailbox.input(self.conversation.id, Input::ToolsReady);
        }
        !more
    }

    fn settings(&self) -> Settings {
        let file = self.workspace.frontmatter.of(self.conversation);
        let (tools, drive) = (&file.config.tools, &self.conversation.drive);
        Settings {
            autopilot: (tools.autopilot.enabled || drive.is_on()) && self.workspace.shared.host.carries_on(),
            max_turns: drive.max_turns().unwrap_or(tools.autopilot.max_turns),
            overrun: self.workspace.usage.overrun(self.conversation, &file.config),
            max_concurrent: tools.max_concurrent as usize,
            is_unattended: drive.is_on(),
        }
    }

    fn authorise(&self, call: &CallId) {
        self.conversation.page.authorise(call);
    }
}
