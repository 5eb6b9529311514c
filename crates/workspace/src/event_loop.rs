//! The loop: what the background has left, and what the components tell.

use std::{
    any::Any,
    iter::Peekable,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
    vec::IntoIter,
};

use crate::{
    Conversation, HostEffect, Workspace,
    background::Job,
    drives::DriveEnd,
    effects::{Effects, SLICE},
    event::LoopEvent,
    resolutions::{Resolution, ResolveError, missing},
};
use flemma_agent::Input;
use flemma_journal::Role;
use flemma_model::CallId;
use flemma_runtime::{NextDrain, Notice};

/// How long something waits for a conversation to be read. After that it is done anyway, and hears what is missing.
const PATIENCE: Duration = Duration::from_secs(5);

/// What waits until the conversation in a buffer is read and it is known who holds it, or at the latest `until`.
pub(crate) struct Unsettled<W> {
    buffer: i32,
    until: Instant,
    then: Box<dyn FnOnce(&W)>,
}

impl Workspace {
    /// Acts on what a component has told.
    pub(crate) fn act(&self, event: LoopEvent<'_>) {
        match event {
            LoopEvent::Input(conversation, inputs) => self.feed(conversation, inputs),
            LoopEvent::Want(conversation, wish) => self.admission.want(conversation, wish),
            LoopEvent::WantAlone(conversation, wish) => self.ownership.want_alone(conversation, wish),
            LoopEvent::ReadJournal(conversation, path) => self.journaling.read_journal(conversation, &path),
            LoopEvent::NeedJournal(conversation) => self.journaling.need_journal(conversation),
            LoopEvent::Recover(conversation) => self.recovery.recover(conversation),
            LoopEvent::JournalRead(conversation) => self.execution.start_waiting(conversation),
            LoopEvent::JournalUnreadable(conversation, problem) => {
                self.execution.refuse_waiting(conversation, &problem);
            }
            // The other process carries a driven conversation on.
            LoopEvent::Taken(conversation) => self.drives.end_drive(conversation, DriveEnd::Held(None)),
            LoopEvent::Recorded => {
                self.go_on_after_commit();
            }
            LoopEvent::Reply(reply, resolved) => reply(self, resolved),
            LoopEvent::Known(conversation, known, then) => then(self, conversation, known),
            LoopEvent::Resolved(conversation) => self.resolutions.came_to_rest(conversation),
            LoopEvent::Resolve(conversation, call, resolution, role, reply) => {
                self.resolutions.resolve_call(conversation, call, resolution, role, reply);
            }
            LoopEvent::Overdue(conversation, call, Role::User) => self.resolutions.expire_by_key(conversation, call),
            LoopEvent::Overdue(conversation, call, _) => self.resolutions.expire_call(conversation, call),
            LoopEvent::Stop(conversation) => self.stop(conversation, false),
            LoopEvent::InstructionsFound(conversation, number, found) => {
                self.admission.instructions_were_found(conversation, number, found);
            }
            LoopEvent::Agreed(conversation, question) => self.answer(conversation, question, true),
        }
    }

    /// Hands inputs to a conversation's session.
    fn feed(&self, conversation: &Conversation, inputs: impl IntoIterator<Item = Input>) {
        conversation.session.feed(inputs, &Effects::new(self, conversation));
    }

    /// Leaves a job for a later [`Workspace::drain`].
    pub fn post(&self, job: Job) {
        self.background.mailbox.job(job);
    }

    /// Takes what background work has left, for a while. Whatever there is no time for comes with the next call, which the
    /// host is asked for.
    ///
    /// # Panics
    /// If a conversation or a job did; everything that was taken is done first.
    pub fn drain(&self) {
        let (notices, mut next) = self.background.mailbox.queue.drain();
        let mut notices = notices.into_iter().peekable();
        let panic = self.feed_slice(&mut notices);
        let rest: Vec<_> = notices.collect();
        if !rest.is_empty() {
            self.background.mailbox.queue.give_back(rest);
            next = NextDrain::Now;
        }
        match next {
            NextDrain::Woken => {}
            NextDrain::Now => self.shared.host.perform(HostEffect::Wake),
            // Counted from here: however long a slice takes, the user's keys get the pause.
            NextDrain::After(pause) => self.shared.host.perform(HostEffect::WakeAfter { pause }),
        }
        self.drives.look_at_drives();
        let now = Instant::now();
        let is_due = |waiting: &mut Unsettled<Self>| now >= waiting.until || self.is_settled_or_gone(waiting.buffer);
        let due: Vec<_> = self.unsettled.borrow_mut().extract_if(.., is_due).collect();
        for waiting in due {
            (waiting.then)(self);
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Gives the first panic, if there was one: it must not cost another conversation its notices.
    fn feed_slice(&self, notices: &mut Peekable<IntoIter<Notice<Job>>>) -> Option<Box<dyn Any + Send>> {
        let (mut failed, begun) = (None, Instant::now());
        while let Some(notice) = notices.next() {
            let fed = match notice {
                Notice::Job(job) => catch_unwind(AssertUnwindSafe(|| job(self))),
                Notice::Input(id, input) => {
                    let mut inputs = vec![input];
                    while let Some(Notice::Input(_, input)) =
                        notices.next_if(|next| matches!(next, Notice::Input(other, _) if *other == id))
                    {
                        inputs.push(input);
                    }
                    let Some(conversation) = self.shared.conversations.by_id(id) else { continue };
                    catch_unwind(AssertUnwindSafe(|| self.feed(&conversation, inputs)))
                }
            };
            failed = failed.or(fed.err());
            if begun.elapsed() > SLICE && !self.shared.is_leaving() {
                break;
            }
        }
        failed
    }

    /// Does what waits longest for records that are on the disk now. Says whether there was anything.
    pub(crate) fn go_on_after_commit(&self) -> bool {
        let next = self.journaling.commits.1.try_recv();
        next.map(|next| next(self)).is_ok()
    }

    /// Resolves a call from outside, as soon as the conversation is read and it is known who holds it. `reply` hears of the end,
    /// once the resolution is on the disk and in the document, before anything else follows from it.
    pub fn resolve_later(
        &self,
        buffer: i32,
        call: &CallId,
        resolution: Resolution,
        role: Role,
        reply: impl FnOnce(&Self, Result<(), ResolveError>) + Send + 'static,
    ) {
        let call = call.clone();
        let resolve = move |workspace: &Self| match workspace.conversation(buffer) {
            Some(conversation) => {
                workspace.resolutions.resolve_call(&conversation, &call, resolution, role, Box::new(reply));
            }
            None => reply(workspace, Err(missing(&call))),
        };
        if self.is_settled_or_gone(buffer) {
            return resolve(self);
        }
        let until = Instant::now() + PATIENCE;
        self.unsettled.borrow_mut().push(Unsettled { buffer, until, then: Box::new(resolve) });
        let mailbox = self.background.mailbox.clone();
        let _ = self.background.worker.later(PATIENCE, move || mailbox.job(|_| {}));
    }

    fn is_settled_or_gone(&self, buffer: i32) -> bool {
        self.conversation(buffer).is_none() || self.is_settled(buffer)
    }
}
