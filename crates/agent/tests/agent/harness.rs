//! A harness: one conversation at work on plain lines, with a scripted provider, scripted tools and scripted policies.
//!
//! A test reads like the screen: a text, what the user presses, what the provider and the tools say, and what
//! the screen then shows. Four rules are checked on the way, whatever a test is about: the lock is held exactly
//! while the session is busy, no tool runs twice at once, nothing is sent while a call is open, and a tool runs
//! only while the document says so.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    time::Duration,
};

use flemma_agent as agent;
use flemma_agent::{
    Activity, CallResult, CursorReason, CursorTarget, Departure, Input, Level, LifecycleEvent, Placement, RequestId,
    Session, Settings, Shell, Verdict,
};
use flemma_chat::{AwaitKind, Awaiting, Diagnostic, Document, OpenCall, Severity, Status, Text, TextEdit, Transcript};
use flemma_model::{CallId, Event, Message, ModelError, StopReason, ToolInput, Usage};
use flemma_provider::{ErrorKind, ProviderError};
use serde_json::{Value, json};

use super::Outbox;
use crate::notation::Page;

type Policy = Box<dyn Fn(&OpenCall) -> Verdict>;

/// What policy says, by tool, unless a test says otherwise.
fn policy(call: &OpenCall) -> Verdict {
    match call.name.as_str() {
        "read" => Verdict::Run,
        "rm" => Verdict::Deny,
        "nonsense" => Verdict::Invalid(ModelError::new("There is no tool `nonsense`.")),
        _ => Verdict::Ask,
    }
}

/// What the shell does in the middle of an effect.
pub enum Prank {
    Feed(Input),
    Abandon,
    Panic,
}

pub struct Harness {
    pub session: Session,
    pub page: RefCell<Page>,
    settings: Cell<Settings>,
    policy: RefCell<Policy>,
    pub outbox: RefCell<Outbox>,
    pub locked: Cell<bool>,
    /// Whether everything takes so long that the session pauses where it may.
    pub is_late: Cell<bool>,
    /// How often it has paused.
    pub pauses: Cell<usize>,
    /// Whether it has paused and has not gone on yet.
    is_paused: Cell<bool>,
    /// Whether every source of tools has loaded.
    pub tools_ready: Cell<bool>,
    /// What was sent, and under which number.
    /// What comes of a reply when its request is aborted.
    pub unfed: RefCell<Vec<Event>>,
    pub sent: RefCell<Vec<(RequestId, Transcript)>>,
    timers: RefCell<Vec<(Duration, Input)>>,
    /// The tools that the shell believes to run.
    pub running: RefCell<Vec<CallId>>,
    pub killed: RefCell<Vec<CallId>>,
    /// The tools that are changing files, which nothing stops.
    pub changing: RefCell<Vec<CallId>>,
    /// What every tool has printed so far.
    pub printed: RefCell<String>,
    /// Everything but edits, in order, one line each.
    log: RefCell<Vec<String>>,
    /// Whether the disk takes its time, so that verdicts come later.
    pub is_disk_slow: Cell<bool>,
    /// Whether calls were started before, and it is not known whether they have ended.
    pub is_interrupted: Cell<bool>,
    /// What is to be judged when it answers.
    asked: RefCell<Vec<(u64, Vec<CallId>)>>,
    /// The calls as they were judged last.
    judged: RefCell<Vec<OpenCall>>,
    /// What happens when a line with these words comes into the log; each happens once.
    pranks: RefCell<Vec<(&'static str, Prank)>>,
}

impl Harness {
    /// A harness with autopilot on.
    pub fn new(text: &str) -> Self {
        let settings =
            Settings { autopilot: true, max_turns: 100, overrun: None, max_concurrent: 4, is_unattended: false };
        Self {
            session: Session::default(),
            page: RefCell::new(Page::new(text)),
            settings: Cell::new(settings),
            policy: RefCell::new(Box::new(policy) as Policy),
            outbox: RefCell::default(),
            locked: Cell::new(false),
            is_late: Cell::new(false),
            pauses: Cell::new(0),
            is_paused: Cell::new(false),
            tools_ready: Cell::new(true),
            unfed: RefCell::default(),
            sent: RefCell::default(),
            timers: RefCell::default(),
            running: RefCell::default(),
            killed: RefCell::default(),
            changing: RefCell::default(),
            printed: RefCell::default(),
            log: RefCell::default(),
            is_disk_slow: Cell::new(false),
            is_interrupted: Cell::new(false),
            asked: RefCell::default(),
            judged: RefCell::default(),
            pranks: RefCell::default(),
        }
    }

    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings.get();
        change(&mut settings);
        self.settings.set(settings);
    }

    pub fn without_autopilot(self) -> Self {
        self.set(|settings| settings.autopilot = false);
        self
    }

    pub fn with_policy(self, policy: impl Fn(&OpenCall) -> Verdict + 'static) -> Self {
        *self.policy.borrow_mut() = Box::new(policy);
        self
    }

    pub fn prank(&self, words: &'static str, prank: Prank) {
        self.pranks.borrow_mut().push((words, prank));
    }

    // What the user presses.

    /// Ctrl-].
    #[track_caller]
    pub fn go(&self) {
        self.feed([Input::Advance]);
    }

    /// Alt-Enter on a call.
    #[track_caller]
    pub fn execute(&self, call: &str) {
        self.feed([Input::Execute(call.into())]);
    }

    /// Ctrl-C.
    #[track_caller]
    pub fn stop(&self) {
        self.feed([Input::Cancel]);
    }

    #[track_caller]
    pub fn stop_tool(&self, call: &str) {
        self.feed([Input::CancelTool(call.into())]);
    }

    /// A tool that runs begins to change files.
    pub fn begins_to_change(&self, call: &str) {
        if self.drop_unless_changing(&call.into()) {
            self.changing.borrow_mut().push(call.into());
        }
    }

    /// Replaces the one place where `old` stands, as the user may while the buffer is not locked.
    #[track_caller]
    pub fn replace(&self, old: &str, new: &str) {
        assert!(!self.locked.get(), "the buffer is locked");
        self.edit(old, new, Page::replace);
    }

    /// The same, by undo.
    #[track_caller]
    pub fn undo(&self, old: &str, new: &str) {
        self.edit(old, new, Page::undo);
    }

    #[track_caller]
    fn edit(&self, old: &str, new: &str, how: impl FnOnce(&mut Page, Range<usize>, Vec<String>)) {
        let text = self.text();
        assert_eq!(text.matches(old).count(), 1, "`{old}` stands there once, in\n{text}");
        let mut lines: Vec<String> = text.replace(old, new).split('\n').map(str::to_owned).collect();
        let mut page = self.page.borrow_mut();
        // Neovim reports the lines that changed.
        let same = |(old, new): &(&String, &String)| old == new;
        let before = page.text.iter().zip(&lines).take_while(same).count();
        let behind = page.text[before..].iter().rev().zip(lines[before..].iter().rev()).take_while(same).count();
        let changed = before..page.text.len() - behind;
        lines.truncate(lines.len() - behind);
        how(&mut page, changed, lines.split_off(before));
        drop(page);
        self.session.notice(self);
    }

    // What the provider and the tools do.

    pub fn request(&self) -> RequestId {
        self.sent.borrow().last().map(|(request, _)| *request).unwrap_or_default()
    }

    #[track_caller]
    pub fn event(&self, event: Event) {
        self.feed([Input::Event { request: self.request(), event }]);
    }

    /// A whole reply.
    #[track_caller]
    pub fn reply(&self, events: impl IntoIterator<Item = Event>, reason: StopReason) {
        for event in events {
            self.event(event);
        }
        self.event(Event::Finished(reason));
    }

    /// A reply that calls tools.
    #[track_caller]
    pub fn calls<'a>(&self, calls: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.reply(calls.into_iter().map(|(id, tool)| call(id, tool, json!({}))), StopReason::ToolUse);
    }

    /// A reply of prose.
    #[track_caller]
    pub fn says(&self, words: &str) {
        self.reply([prose(words)], StopReason::EndTurn);
    }

    #[track_caller]
    pub fn fails(&self, kind: ErrorKind) {
        let error = ProviderError::new(kind, "The provider failed.");
        self.feed([Input::Failed { request: self.request(), error, jitter: 0.0 }]);
    }

    /// Whatever timer was set last, if there is one.
    pub fn fire(&self) {
        let timer = self.timers.borrow_mut().pop();
        self.feed(timer.map(|(_, input)| input));
    }

    /// The pause before a retry is over.
    #[track_caller]
    pub fn wait(&self) -> Duration {
        let (pause, input) = self.timers.borrow_mut().pop().expect("a timer");
        self.feed([input]);
        pause
    }

    #[track_caller]
    pub fn tool(&self, id: &str, output: &str) {
        self.tool_answers(id, CallResult::text(output));
    }

    #[track_caller]
    pub fn tool_answers(&self, id: &str, answer: CallResult) {
        self.ends(id);
        self.feed([Input::ToolFinished { call: id.into(), answer }]);
    }

    /// A tool has done nothing, since its approval was for something else.
    #[track_caller]
    pub fn tool_is_outdated(&self, id: &str) {
        self.ends(id);
        self.feed([Input::Outdated { call: id.into(), problem: "the file has changed".into() }]);
    }

    fn ends(&self, id: &str) {
        self.running.borrow_mut().retain(|call| call.0 != id);
        self.changing.borrow_mut().retain(|call| call.0 != id);
    }

    /// The disk says what it was asked.
    #[track_caller]
    pub fn disk_answers(&self) {
        let asked = std::mem::take(&mut *self.asked.borrow_mut());
        for (number, calls) in asked {
            let verdicts = self.verdicts(&calls);
            self.feed([Input::Judged { number, verdicts }]);
        }
    }

    /// How many questions it has not answered.
    pub fn open_questions(&self) -> usize {
        self.asked.borrow().len()
    }

    fn verdicts(&self, calls: &[CallId]) -> Vec<(OpenCall, Verdict)> {
        let open = calls.iter().filter_map(|id| self.open_calls().into_iter().rfind(|call| call.id == *id));
        let judge = |call: OpenCall| {
            self.note(format!("verdict on {}", call.id));
            let verdict = (*self.policy.borrow())(&call);
            self.judged.borrow_mut().retain(|other| other.id != call.id);
            self.judged.borrow_mut().push(call.clone());
            (call, verdict)
        };
        open.map(judge).collect()
    }

    #[track_caller]
    pub fn feed(&self, inputs: impl IntoIterator<Item = Input>) {
        self.session.feed(inputs, self);
        while self.is_paused.take() {
            assert!(self.locked.get() && self.session.is_busy(), "nobody changes the text during a pause");
            self.session.feed([], self);
        }
        self.check();
    }

    // What there is to see.

    pub fn text(&self) -> String {
        self.page.borrow().text.join("\n")
    }

    #[track_caller]
    pub fn shows(&self, expected: &str) {
        self.page.borrow().shows(expected);
    }

    pub fn line(&self, line: usize) -> String {
        self.page.borrow().text[line].clone()
    }

    pub fn open_calls(&self) -> Vec<OpenCall> {
        self.with_document(|document, text| document.calls().open(text))
    }

    pub fn with_diagnostics(&self, wanted: impl Fn(&Diagnostic) -> bool) -> Vec<Diagnostic> {
        let mut found = self.with_document(|document, text| flemma_chat::diagnostics(document, text));
        found.retain(wanted);
        found
    }

    /// The words in the status blocks, in order: `a pending`.
    pub fn statuses(&self) -> Vec<String> {
        let calls = self.open_calls().into_iter();
        calls
            .map(|call| match call.placeholder {
                Some(placeholder) => format!("{} {}", call.id, placeholder.block.status),
                None => format!("{} open", call.id),
            })
            .collect()
    }

    /// The ids of what the shell believes to run.
    pub fn running(&self) -> Vec<String> {
        self.running.borrow().iter().map(ToString::to_string).collect()
    }

    pub fn requests(&self) -> usize {
        self.sent.borrow().len()
    }

    /// The results in the last request, in order: `a: output`, with `!` after the id of an error.
    pub fn sent_results(&self) -> Vec<String> {
        use flemma_model::Part::ToolResult;
        let sent = self.sent.borrow();
        let Some((_, conversation)) = sent.last() else { return Vec::new() };
        let last: &Message = conversation.messages.last().expect("a message");
        let results = last.parts.iter().filter_map(|part| match part {
            ToolResult { id, output, is_error, .. } => {
                Some(format!("{id}{}: {output}", if *is_error { "!" } else { "" }))
            }
            _ => None,
        });
        results.collect()
    }

    /// What was logged since the last look, of the lines that start with one of these words.
    pub fn log(&self, words: &[&str]) -> Vec<String> {
        let mut log = std::mem::take(&mut *self.log.borrow_mut());
        log.retain(|line| words.iter().any(|word| line.starts_with(word)));
        log
    }

    /// What the user was told since the last look at the log.
    pub fn told(&self) -> Vec<String> {
        self.log(&["info:", "warn:", "error:"])
    }

    #[track_caller]
    pub fn check(&self) {
        assert_eq!(self.locked.get(), self.session.is_busy(), "the lock is held exactly while busy");
        assert_eq!(self.session.activity() != Activity::Idle, self.session.is_busy());
        let mut running = self.session.running().into_iter().map(|call| call.id.0).collect::<Vec<_>>();
        running.sort();
        let mut started = self.running();
        started.sort();
        assert_eq!(running, started, "the session knows what runs");
    }

    /// Writes a line to the log, and does what a test has planned for it.
    fn note(&self, line: String) {
        let prank = {
            let mut pranks = self.pranks.borrow_mut();
            let at = pranks.iter().position(|(words, _)| line.contains(words));
            at.map(|at| pranks.remove(at).1)
        };
        self.log.borrow_mut().push(line);
        match prank {
            Some(Prank::Feed(input)) => self.session.feed([input], self),
            Some(Prank::Abandon) => {
                self.running.borrow_mut().clear();
                self.session.abandon();
                self.locked.set(false);
            }
            Some(Prank::Panic) => panic!("a prank"),
            None => {}
        }
    }
}

impl Shell for Harness {
    fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        let page = &mut *self.page.borrow_mut();
        look(&mut page.document, &page.text)
    }

    fn apply(&self, edits: &[TextEdit]) {
        if edits.is_empty() {
            return;
        }
        self.page.borrow_mut().apply(edits.to_vec());
        self.note("edit".to_owned());
    }

    fn outbox(&self) -> agent::Outbox {
        self.outbox.borrow().state()
    }

    fn departing(&self, departure: Departure) -> Vec<String> {
        self.outbox.borrow().departing(departure)
    }

    fn departed(&self, departure: Departure) {
        self.outbox.borrow_mut().departed(departure);
        self.note(format!("departed {departure:?}"));
    }

    fn undo_step(&self) {
        self.note("undo step".to_owned());
    }

    fn is_late(&self) -> bool {
        self.is_late.get()
    }

    fn go_on_later(&self) {
        self.is_paused.set(true);
        self.pauses.update(|pauses| pauses + 1);
    }

    fn lock(&self, locked: bool) {
        assert_ne!(self.locked.replace(locked), locked, "a lock changes");
        self.note(if locked { "lock" } else { "unlock" }.to_owned());
    }

    fn send(&self, request: RequestId, conversation: Transcript) -> Result<(), ProviderError> {
        assert_eq!(self.statuses(), [""; 0], "nothing is sent while a call is open");
        self.sent.borrow_mut().push((request, conversation));
        self.note(format!("send {}", request.0));
        Ok(())
    }

    fn abort(&self, request: RequestId) -> Vec<Event> {
        self.note(format!("abort {}", request.0));
        self.unfed.take()
    }

    fn later(&self, pause: Duration, input: Input) {
        self.timers.borrow_mut().push((pause, input));
        self.note(format!("later {pause:?}"));
    }

    fn run(&self, call: &OpenCall) {
        let shown = self.open_calls().into_iter().rfind(|open| open.id == call.id).expect("the call is open");
        let status = shown.placeholder.expect("its block is there").block.status;
        assert_eq!(status, Status::Running);
        let errors = self.with_diagnostics(|found| found.severity == Severity::Error);
        assert!(errors.is_empty(), "nothing runs in a document with an error: {errors:?}");
        assert_eq!((&shown.name, &shown.input), (&call.name, &call.input), "what runs is what stands there");
        let judged = self.judged.borrow();
        let judged = judged.iter().find(|judged| judged.id == call.id).expect("a verdict");
        assert_eq!((&judged.name, &judged.input), (&call.name, &call.input), "what runs was judged");
        let mut running = self.running.borrow_mut();
        assert!(!running.contains(&call.id), "`{}` runs twice at once", call.id);
        running.push(call.id.clone());
        drop(running);
        self.note(format!("run {} {}", call.id, call.name));
    }

    fn offer(&self, call: &OpenCall) {
        self.note(format!("offer {} {}", call.id, call.name));
    }

    fn awaiting(&self, _: &CallId, kind: AwaitKind) -> Awaiting {
        Awaiting { kind, ..Awaiting::default() }
    }

    fn placed(&self, _: &[(CallId, Placement)]) {}

    fn settled(&self, call: &CallId, _: &CallResult) {
        self.note(format!("settled {call}"));
    }

    fn drop_unless_changing(&self, call: &CallId) -> bool {
        !self.changing.borrow().contains(call)
    }

    fn kill(&self, call: &CallId) -> String {
        if self.changing.borrow().contains(call) {
            self.note(format!("hurry {call}"));
            return String::new();
        }
        self.running.borrow_mut().retain(|running| running != call);
        self.killed.borrow_mut().push(call.clone());
        self.note(format!("kill {call}"));
        self.printed.borrow().clone()
    }

    fn cursor(&self, target: CursorTarget) {
        let reason = match target.reason {
            CursorReason::Pending => "pending",
            CursorReason::Awaited => "awaited",
            CursorReason::Result => "result",
            CursorReason::Prompt => "prompt",
        };
        self.note(format!("cursor {reason} {}", target.line));
    }

    fn follow(&self) {
        self.note("follow".to_owned());
    }

    fn notify(&self, level: Level, message: &str) {
        let level = match level {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.note(format!("{level}: {message}"));
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.with_diagnostics(|_| true)
    }

    fn diagnose(&self, diagnostics: &[Diagnostic]) {
        let lines: Vec<String> = diagnostics.iter().map(|found| (found.line + 1).to_string()).collect();
        self.note(format!("diagnose {}", lines.join(" ")));
    }

    fn show(&self, activity: &Activity, _: bool) {
        self.note(format!("show {activity:?}"));
    }

    fn account(&self, usage: Usage, complete: bool) {
        let how = if complete { "complete" } else { "cut off" };
        self.note(format!("used: {} in, {} out, {how}", usage.input, usage.output));
    }

    fn announce(&self, moment: LifecycleEvent<'_>) {
        self.note(match moment {
            LifecycleEvent::RequestSending => "moment: sending".to_owned(),
            LifecycleEvent::RequestFinished { complete: true } => "moment: complete".to_owned(),
            LifecycleEvent::RequestFinished { complete: false } => "moment: incomplete".to_owned(),
            LifecycleEvent::ToolExecuting(call) => format!("moment: executing {}", call.id),
            LifecycleEvent::ToolFinished(id) => format!("moment: finished {id}"),
            LifecycleEvent::ToolPending(id, _) => format!("moment: pending {id}"),
        });
    }

    fn judge(&self, number: u64, calls: Vec<CallId>) {
        if self.is_disk_slow.get() {
            self.note(format!("question {number}"));
            return self.asked.borrow_mut().push((number, calls));
        }
        let verdicts = self.verdicts(&calls);
        self.session.feed([Input::Judged { number, verdicts }], self);
    }

    fn recorded(&self, _: &OpenCall) -> Option<CallResult> {
        None
    }

    /// `ask` asks the user, `pick` runs in the editor's user interface.
    fn suspends_as(&self, call: &OpenCall) -> Option<AwaitKind> {
        match call.name.as_str() {
            "ask" => Some(AwaitKind::Elicitation),
            "pick" => Some(AwaitKind::ClientExec),
            _ => None,
        }
    }

    fn is_offered(&self, _: &OpenCall) -> bool {
        false
    }

    fn is_interrupted(&self, _: &OpenCall) -> bool {
        self.is_interrupted.get()
    }

    fn is_authorised(&self, call: &OpenCall) -> bool {
        let page = self.page.borrow();
        call.placeholder.as_ref().is_some_and(|placeholder| page.provenance.is_authorised(placeholder.fence))
    }

    fn authorise(&self, call: &CallId) {
        let page = &mut *self.page.borrow_mut();
        let line = page.document.calls().status_line(call).expect("a status block");
        page.provenance.authorise(line, &page.text);
    }

    fn tools_ready(&self) -> bool {
        self.tools_ready.get()
    }

    fn settings(&self) -> Settings {
        self.settings.get()
    }
}

/// A piece of prose.
pub fn prose(words: &str) -> Event {
    Event::Text(words.to_owned())
}

/// A complete tool use.
pub fn call(id: &str, tool: &str, input: Value) -> Event {
    Event::ToolUse { id: id.into(), name: tool.to_owned(), input: ToolInput::Json(input) }
}
