//! Work away from the main thread. A job brings its own continuation, which the main thread runs with the workspace (`W`).

use std::{io, ops::ControlFlow, sync::Arc, time::Duration};

use tokio::task::AbortHandle;

use flemma_agent::Input;
use flemma_runtime::{ConversationId, NextDrain, Notice, Queue, Worker};

/// What the main thread does with the result of a task.
pub type Continuation<W> = Box<dyn FnOnce(&W) + Send>;

/// Where results are left for the main thread. A clone is the same mailbox.
pub(super) struct Mailbox<W>(Arc<Queue<Continuation<W>>>);

impl<W> Clone for Mailbox<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: 'static> Mailbox<W> {
    /// Leaves an input for a conversation.
    pub(super) fn input(&self, conversation: ConversationId, input: Input) {
        self.0.push(Notice::Input(conversation, input));
    }

    /// Leaves a job.
    pub(super) fn job(&self, job: impl FnOnce(&W) + Send + 'static) {
        self.0.push(Notice::Job(Box::new(job)));
    }
}

/// What runs in the background.
pub(super) struct Background<W> {
    worker: Worker,
    mailbox: Mailbox<W>,
}

impl<W: 'static> Background<W> {
    /// `wake` is called, from any thread, when a drain is due.
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { worker: Worker::default(), mailbox: Mailbox(Arc::new(Queue::new(wake))) }
    }

    /// The threads themselves.
    pub(super) fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Where tasks leave their results.
    pub(super) fn mailbox(&self) -> &Mailbox<W> {
        &self.mailbox
    }

    /// What tasks have left, up to a bound, and when to come back.
    pub(super) fn drain(&self) -> (Vec<Notice<Continuation<W>>>, NextDrain) {
        self.mailbox.0.drain()
    }

    /// Gives back what there was no time for.
    pub(super) fn give_back(&self, rest: Vec<Notice<Continuation<W>>>) {
        self.mailbox.0.give_back(rest);
    }

    /// Does something that may wait for the disk, and brings its result back.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(super) fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(&W, R) + Send + 'static,
    ) -> io::Result<()> {
        let mailbox = self.mailbox.clone();
        self.worker.spawn_blocking(move || {
            let result = work();
            mailbox.job(move |workspace: &W| then(workspace, result));
        })
    }

    /// Looks at something again and again, with a pause before each look, and brings back what is seen, until `look` breaks
    /// off or the handle is aborted. `look` may wait for the disk.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(super) fn watch<S: Send + 'static>(
        &self,
        pause: Duration,
        look: impl FnMut() -> ControlFlow<S, Option<S>> + Send + 'static,
        then: impl Fn(&W, S) + Clone + Send + 'static,
    ) -> io::Result<AbortHandle> {
        let mailbox = self.mailbox.clone();
        self.worker.watch(pause, look, move |seen| {
            let then = then.clone();
            mailbox.job(move |workspace: &W| then(workspace, seen));
        })
    }

    /// Brings an input to a conversation after a pause; at once where no thread could wait.
    pub(super) fn later(&self, conversation: ConversationId, pause: Duration, input: Input) {
        let mailbox = self.mailbox.clone();
        let late = input.clone();
        if self.worker.later(pause, move || mailbox.input(conversation, late)).is_err() {
            self.mailbox.input(conversation, input);
        }
    }
}
