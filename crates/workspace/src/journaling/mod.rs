//! Records what happens to calls, before it has an effect: see [`flemma_journal`].

pub(crate) mod records;
pub(crate) mod recovery;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;

use crate::{
    Conversation, HostEffect, background::Background, calls::key::Keyed as _, components::Journaling, event::LoopEvent,
};
use flemma_agent::{CallResult, Input, Level, Placement};
use flemma_chat::{AwaitKind, Language, OpenCall, Status};
use flemma_journal::{Actor, Asked, CallKey, Decision, Event, Life, Record, RecordedResult, Role};
use flemma_model::{CallId, UserError};
use flemma_runtime::{COMPACT_ABOVE, Journal};
use flemma_tools::forget_well_known;

/// How long reading waits until what was recorded before is on the disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is told of a record that could not be written.
pub(crate) fn not_recorded(error: &io::Error) -> UserError {
    let words = words(error);
    let fix = match error.kind() {
        // The error says who has to end.
        io::ErrorKind::TimedOut => "",
        // Whoever has taken the conversation over has to end.
        io::ErrorKind::ResourceBusy => return UserError::new(format!("{words}; nothing was run or changed here")),
        _ => "make room or fix the state folder, and ",
    };
    UserError::new(format!("it could not be recorded ({words}), so nothing was run or changed; {fix}try again"))
}

/// What went wrong, without "(os error 28)", which does not help the user.
fn words(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

impl Journaling {
    /// This process in a role.
    pub(crate) fn actor(&self, role: Role) -> Actor {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Actor { role, process: std::process::id(), host }
    }

    /// A record of something that happens to a call now.
    pub(crate) fn record(&self, conversation: &Conversation, key: CallKey, event: Event, role: Role) -> Record {
        let path = conversation.records.path().unwrap_or_default();
        let conversation = path.to_string_lossy().into_owned();
        Record { at: self.shared.host.now(), conversation, key, event, by: self.actor(role) }
    }

    /// Records events of one call, in their order. A new life begins with them unless one is open.
    pub(crate) fn records_of(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        role: Role,
        events: impl IntoIterator<Item = Event>,
    ) -> Vec<Record> {
        let key = call.key();
        let is_open = matches!(conversation.records.life(&key), Life::Open { .. });
        let events = (!is_open).then_some(Event::Opened).into_iter().chain(events);
        events.map(|event| self.record(conversation, key.clone(), event, role)).collect()
    }

    /// Flushes records to the disk, and goes on then, with the problem if it failed. A conversation without a file has no
    /// journal: what happens to its calls is lost with it anyway.
    pub(crate) fn commit<C>(
        &self,
        (component, background): (&C, &Background<C>),
        conversation: &Conversation,
        records: Vec<Record>,
        then: impl FnOnce(&C, &Conversation, Result<(), UserError>) + Send + 'static,
    ) {
        let id = conversation.id;
        let Some(path) = conversation.records.path() else {
            conversation.records.apply(&records);
            return then(component, conversation, Ok(()));
        };
        let (commits, own, mailbox) =
            (self.commits.0.clone(), self.background.mailbox.clone(), background.mailbox.clone());
        self.journal.fenced(self.ownership.fence(conversation)).append(&path, records.clone(), move |written| {
            let _ = commits.send(mailbox.addressed_for(id, move |component, conversation| {
                let written = written.map_err(|error| not_recorded(&error));
                if written.is_ok() {
                    conversation.records.apply(&records);
                }
                then(component, conversation, written);
            }));
            own.job(|this: &Self| this.shared.tell(LoopEvent::Recorded));
        });
    }

    /// Records something that nobody waits for.
    pub(crate) fn note(&self, conversation: &Conversation, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        conversation.records.apply(&records);
        let Some(path) = conversation.records.path() else { return };
        let fence = self.ownership.fence(conversation);
        let mailbox = self.background.mailbox.clone();
        let name = path.display().to_string();
        self.journal.fenced(fence).append(&path, records, move |outcome| {
            let Err(error) = outcome else { return };
            mailbox.job(move |this: &Self| {
                this.shared.log(Level::Warn, &format!("{name}: the journal could not be written: {error}"));
            });
        });
    }

    /// Calls are about to get status blocks: a new life begins.
    pub(crate) fn note_placed(&self, conversation: &Conversation, calls: &[(CallId, Placement)]) {
        let mut records = Vec::new();
        for (id, placement) in calls {
            let Some(call) = conversation.page.open_call(id) else { continue };
            let key = call.key();
            // Its block was undone, or the file is older. It still may only do what was approved.
            let is_approved = conversation.records.with_ledger(|ledger| ledger.approval(&key).is_some());
            if *placement == Placement::Approved && is_approved {
                continue;
            }
            records.push(self.record(conversation, key, Event::Opened, Role::Policy));
        }
        self.note(conversation, records);
    }

    /// A call waits for an answer, or for the user interface.
    pub(crate) fn note_asked(&self, conversation: &Conversation, id: &CallId, kind: AwaitKind) {
        if kind == AwaitKind::Approval {
            return;
        }
        let Some(call) = &conversation.page.open_call(id) else { return };
        let schema =
            self.shared.toolbox.get(&call.name).and_then(|definition| definition.result_schema.as_deref().cloned());
        let asked = Asked { kind: kind.to_string(), schema };
        let key = call.key();
        self.note(conversation, vec![self.record(conversation, key, Event::Asked(asked), Role::Policy)]);
    }

    /// A call has its result. It is recorded unless that was done before.
    pub(crate) fn note_settled(&self, conversation: &Conversation, id: &CallId, answer: &CallResult) {
        let Some(call) = &conversation.page.open_call(id) else { return };
        let key = call.key();
        conversation.tasks.forget_judged(&key);
        // It may have made links.
        forget_well_known();
        if matches!(conversation.records.life(&key), Life::Open { .. }) {
            let role = if conversation.tasks.is_running(id) { Role::Tool } else { settler(call) };
            let event = Event::Resolved(recorded(answer));
            self.note(conversation, vec![self.record(conversation, key, event, role)]);
        }
    }

    /// The conversation has this file from now on: its journal is read, away from the main thread.
    pub(crate) fn read_journal(&self, conversation: &Conversation, path: &str) {
        let path = PathBuf::from(path);
        let Some((attempt, origins)) = conversation.records.begin_reading(&path) else { return };
        let (journal, id) = (self.journal.clone(), conversation.id);
        let then = move |this: &Self, conversation: &Conversation, read| {
            this.journal_was_read(conversation, attempt, read);
        };
        let settles = conversation.records.is_forgotten.take() || !origins.is_empty();
        self.background.run_for(id, move || FromDisk::read(&journal, &path, &origins, settles), then);
    }

    /// Somebody needs the journal: if it could not be read, it is tried again.
    pub(crate) fn need_journal(&self, conversation: &Conversation) {
        let records = &conversation.records;
        if let (Some(_), Some(path)) = (records.problem(), records.path()) {
            self.read_journal(conversation, &path.to_string_lossy());
        }
    }

    fn journal_was_read(&self, conversation: &Conversation, attempt: u64, read: io::Result<FromDisk>) {
        let records = &conversation.records;
        if !records.attempts.is_current(attempt) {
            return;
        }
        if conversation.page.parse_on() {
            // The calls of a long file are not known yet. It is parsed in slices, so that the user can type in between.
            let again = move |this: &Self, conversation: &Conversation| {
                this.journal_was_read(conversation, attempt, read);
            };
            return self.background.post_for(conversation.id, again);
        }
        let read = match read {
            Ok(read) => read,
            Err(error) => return self.journal_is_unreadable(conversation, &error),
        };
        let FromDisk { records: read, before, is_long, written } = read;
        records.written.set(written);
        records.found.set(written);
        let missing = records.take(read, before, is_long);
        if let (Some(path), false) = (records.path(), missing.is_empty()) {
            self.journal.fenced(self.ownership.fence(conversation)).append(&path, missing, drop);
        }
        // The lines of calls say how long they took.
        self.shared.host.perform(HostEffect::Redraw { buffer: conversation.buffer });
        self.shared.tell(LoopEvent::JournalRead(conversation));
        self.shared.feed(conversation, [Input::ToolsReady]);
        self.shared.tell(LoopEvent::Recover(conversation));
    }

    /// The journal could not be read. What needs it is told why, and waits for another attempt.
    fn journal_is_unreadable(&self, conversation: &Conversation, error: &io::Error) {
        let again = " It is read again with your next key (:help flemma-journal-unread)";
        let problem = UserError::new(format!(
            "nothing can be sent, run or decided in {}, because its journal cannot be read: {}.{}",
            conversation.holding.name(),
            words(error),
            if self.shared.host.has_ui() { again } else { "" }
        ));
        let is_news = conversation.records.fail(problem.clone());
        // A wish that waited for longer would come as a surprise.
        let was_wanted = conversation.holding.wanted.take().is_some();
        if is_news || was_wanted {
            self.shared.warn(&problem.to_string());
        }
        self.shared.tell(LoopEvent::JournalUnreadable(conversation, problem));
        self.ownership.lock_while_wanted(conversation);
    }

    /// Shortens a long journal, away from the main thread: calls that the conversation no longer has are left out.
    pub(crate) fn shorten_journal(&self, conversation: &Conversation) {
        let Some(path) = conversation.records.path().filter(|_| conversation.records.is_long.take()) else { return };
        let (journal, ids) = (self.journal.clone(), conversation.page.call_ids());
        let failure = format!("{}: the journal could not be shortened", path.display());
        self.background.tidy(failure, move || journal.compact(&path, |key| ids.contains(&key.id)).map(drop));
    }

    /// Whether it is known what the calls of a conversation are.
    ///
    /// # Errors
    /// What is not read, and why not. If it is the journal, it is tried again.
    pub(crate) fn check_known(&self, conversation: &Conversation) -> Result<(), UserError> {
        if conversation.is_known() {
            return Ok(());
        }
        let problem = conversation.records.problem();
        self.need_journal(conversation);
        let unread = || UserError::new("the conversation and its journal are not read yet; try again in a moment");
        Err(problem.unwrap_or_else(unread))
    }

    /// Lets the host write the file when what happens now is over: calls that start together make one write. It is the write of
    /// what comes before a reply, so it is asked for before that reply can arrive.
    pub(crate) fn write_soon(&self, conversation: &Conversation) {
        if !conversation.is_write_due.replace(true) {
            self.background.post_for(conversation.id, |this, conversation| {
                conversation.is_write_due.replace(false);
                this.shared.host.perform(HostEffect::TurnOver { buffer: conversation.buffer });
            });
        }
    }
}

/// What was read for a conversation.
struct FromDisk {
    records: Vec<Record>,
    /// The records from the journals of the files that it had before.
    before: Vec<Record>,
    /// Whether the journal is worth being rewritten.
    is_long: bool,
    /// When the conversation's own file was last written.
    written: Option<Timestamp>,
}

impl FromDisk {
    fn read(journal: &Journal, path: &Path, origins: &[PathBuf], settles: bool) -> io::Result<Self> {
        if settles && !journal.settle(PATIENCE) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the disk does not answer"));
        }
        let before = origins.iter().map(|origin| journal.read(origin)).collect::<io::Result<Vec<_>>>()?.concat();
        let size = fs::metadata(journal.file(path)).map_or(0, |metadata| metadata.len());
        let written = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let written = written.and_then(|time| Timestamp::try_from(time).ok());
        Ok(Self { records: journal.read(path)?, before, is_long: size > COMPACT_ABOVE, written })
    }
}

/// A result, as it is recorded.
pub(crate) fn recorded(answer: &CallResult) -> RecordedResult {
    RecordedResult {
        output: answer.output.clone(),
        is_error: answer.is_error,
        language: answer.language.info().to_owned(),
        attachments: answer.attachments.iter().map(Into::into).collect(),
    }
}

/// The result that was recorded.
pub(crate) fn restored(result: &RecordedResult) -> CallResult {
    CallResult {
        output: result.output.clone(),
        is_error: result.is_error,
        language: Language::of(&result.language),
        attachments: result.attachments.iter().map(Into::into).collect(),
    }
}

/// Who has settled a call that was not running. What the user decides is recorded before, unless it was written into the block.
fn settler(call: &OpenCall) -> Role {
    match call.status() {
        Some(Status::Denied) => Role::Policy,
        Some(Status::Rejected) => Role::User,
        Some(_) if !call.typed().is_empty() => Role::User,
        // It could not be started, such as a call of an unknown tool.
        _ => Role::Tool,
    }
}

/// What was recorded and does not happen.
impl Journaling {
    /// The user has stopped everything before their approval of these calls was on the disk, or has changed them since: it does not
    /// count.
    pub(crate) fn take_back(&self, conversation: &Conversation, approved: impl IntoIterator<Item = CallKey>) {
        let records = approved.into_iter().map(|key| self.record(conversation, key, Event::Opened, Role::User));
        self.note(conversation, records.collect());
    }

    /// The editor exits before these calls start. They stay approved, for what they were approved for, and Ctrl-] starts them when the
    /// file is open again.
    pub(crate) fn keep_approved(&self, conversation: &Conversation, approved: impl IntoIterator<Item = CallKey>) {
        let calls = approved.into_iter().filter(|key| conversation.is_open(key)).map(|key| key.id).collect();
        self.shared.feed(conversation, [Input::KeepApproved(calls)]);
    }

    /// The start of this call was recorded, and did not happen. Whoever approved it still has.
    pub(crate) fn put_off(&self, conversation: &Conversation, key: &CallKey) {
        let (bound, role) = conversation
            .records
            .with_ledger(|ledger| (ledger.bound(key).cloned(), ledger.approval(key).map(|(by, _)| by.role)));
        let again = role.map(|_| Event::Decided(Decision::Approved));
        let events = [Event::Withdrawn].into_iter().chain(bound.map(|shown| Event::Bound { shown })).chain(again);
        let role = role.unwrap_or(Role::Policy);
        let records = events.map(|event| self.record(conversation, key.clone(), event, role)).collect();
        self.note(conversation, records);
    }

    /// The start of this call was recorded, and did not happen.
    pub(crate) fn withdraw(&self, conversation: &Conversation, key: CallKey) {
        self.note(conversation, vec![self.record(conversation, key, Event::Withdrawn, Role::User)]);
    }
}
