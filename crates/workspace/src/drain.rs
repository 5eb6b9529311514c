//! What background work has left: inputs for conversations, and jobs.

use std::{
    io,
    iter::Peekable,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
    vec::IntoIter,
};

use super::{
    Conversation, HostEffect, Job, Workspace,
    background::Mailbox,
    effects::{Effects, SLICE},
};
use flemma_agent::{CallResult, Input, Level};
use flemma_model::CallId;
use flemma_runtime::{ConversationId, NextDrain, Notice};
use flemma_tools::seconds;

impl Mailbox<Workspace> {
    /// Leaves a job for a conversation. Nothing happens if it is closed by then.
    pub(super) fn job_for(&self, id: ConversationId, job: impl FnOnce(&Workspace, &Conversation) + Send + 'static) {
        self.job(move |workspace| workspace.with_conversation(id, job));
    }
}

impl Workspace {
    /// Feeds inputs to the session of a conversation.
    pub(super) fn feed(&self, conversation: &Conversation, inputs: impl IntoIterator<Item = Input>) {
        conversation.session().feed(inputs, &Effects::new(self, conversation));
    }

    /// Runs a job for a conversation with the next results from the background; nothing happens if it is closed by then.
    pub(super) fn post_for(&self, id: ConversationId, job: impl FnOnce(&Self, &Conversation) + Send + 'static) {
        self.background().mailbox().job_for(id, job);
    }

    /// Does something that may wait for the disk, and brings its result back, unless the conversation is closed by then.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(super) fn run_for<R: Send + 'static>(
        &self,
        id: ConversationId,
        work: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(&Self, &Conversation, R) + Send + 'static,
    ) -> io::Result<()> {
        self.background().run(work, move |workspace: &Self, result| {
            workspace.with_conversation(id, |workspace, conversation| then(workspace, conversation, result));
        })
    }

    /// Does something with a conversation, unless it is closed.
    pub(super) fn with_conversation(&self, id: ConversationId, work: impl FnOnce(&Self, &Conversation)) {
        if let Some(conversation) = self.conversations().by_id(id) {
            work(self, &conversation);
        }
    }

    /// Leaves a job for a later [`Workspace::drain`].
    pub fn post(&self, job: Job) {
        self.background().mailbox().job(job);
    }

    /// Takes what background work has left, one slice of it, and arranges to come back.
    ///
    /// # Panics
    /// When one of the notices panicked. The others were taken all the same.
    pub fn drain(&self) {
        let (notices, mut next) = self.background().drain();
        let mut notices = notices.into_iter().peekable();
        let fed = catch_unwind(AssertUnwindSafe(|| self.feed_slice(&mut notices)));
        let rest: Vec<_> = notices.collect();
        if !rest.is_empty() {
            self.background().give_back(rest);
            next = NextDrain::Now;
        }
        match next {
            NextDrain::Woken => {}
            NextDrain::Now => self.host().perform(HostEffect::Wake),
            // Counted from here: however long a slice takes, the user's keys get the pause.
            NextDrain::After(pause) => self.host().perform(HostEffect::WakeAfter { pause }),
        }
        self.look_at_drives();
        self.look_at_unsettled();
        if let Err(panic) = fed {
            resume_unwind(panic);
        }
    }

    /// Takes notices as long as there is time. At least one is taken.
    fn feed_slice(&self, notices: &mut Peekable<IntoIter<Notice<Job>>>) {
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
                    let Some(conversation) = self.conversations().by_id(id) else { continue };
                    catch_unwind(AssertUnwindSafe(|| self.feed(&conversation, inputs)))
                }
            };
            failed = failed.or(fed.err());
            if begun.elapsed() > SLICE && !self.is_leaving() {
                break;
            }
        }
        if let Some(panic) = failed {
            // A panic in one conversation must not cost another its notices: the rest of the slice was fed all the same.
            resume_unwind(panic);
        }
    }

    /// Stops a running tool.
    pub(super) fn stop_tool(&self, conversation: &Conversation, call: &CallId) {
        if let Err(thrown) = conversation.tasks().stop_tool(call) {
            let message = format!("a tool threw an error when its call {call} was stopped: {thrown}");
            self.log(Level::Error, &message);
            self.host().notify(Level::Warn, &message);
        }
    }

    /// The time of a tool written in Lua is up.
    pub(super) fn stop_late(&self, conversation: &Conversation, call: &CallId, run: u64, limit: Duration) {
        if !conversation.tasks().is_run(call, run) {
            return;
        }
        let words = format!(
            "The tool did not answer within {} and was stopped. What it had done by then, such as a file that it had written, stays \
             done.",
            seconds::in_words(limit)
        );
        if conversation.tasks().end_after_write(call, &words) {
            return;
        }
        self.stop_tool(conversation, call);
        self.feed(conversation, [Input::ToolFinished { call: call.clone(), answer: CallResult::error(words) }]);
    }
}
