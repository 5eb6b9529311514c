//! Work away from the main thread. A job brings its own continuation, which the main thread runs with the component (`C`) that has
//! asked for it.

use std::{
    io,
    ops::ControlFlow,
    rc::Rc,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tokio::task::AbortHandle;

use crate::{Conversation, Workspace, approval::lookups::Known};
use flemma_agent::{Input, Level};
use flemma_runtime::{ConversationId, Notice, Queue, Worker, blocking};

/// What the main thread does with the result of a task.
pub type Job = Box<dyn FnOnce(&Workspace) + Send>;

/// The same for something that waits for a result.
pub(crate) type JobWith<R> = Box<dyn FnOnce(&Workspace, R) + Send>;

/// What is done about a conversation when it is known what the disk says.
pub(crate) type WhenKnown = Box<dyn FnOnce(&Workspace, &Conversation, &Known) + Send>;

/// Where results are left for a component. A clone is the same mailbox.
pub(crate) struct Mailbox<C: 'static> {
    pub(crate) queue: Arc<Queue<Job>>,
    component: fn(&Workspace) -> &C,
}

impl<C> Clone for Mailbox<C> {
    fn clone(&self) -> Self {
        Self { queue: Arc::clone(&self.queue), component: self.component }
    }
}

impl<C> Mailbox<C> {
    /// Leaves an input for a conversation.
    pub(crate) fn input(&self, conversation: ConversationId, input: Input) {
        self.queue.push(Notice::Input(conversation, input));
    }

    /// Leaves a job.
    pub(crate) fn job(&self, job: impl FnOnce(&C) + Send + 'static) {
        let component = self.component;
        self.queue.push(Notice::Job(Box::new(move |workspace| job(component(workspace)))));
    }

    /// Leaves a job about a conversation. It is dropped if that is closed by then.
    pub(crate) fn job_for(&self, id: ConversationId, job: impl FnOnce(&C, &Conversation) + Send + 'static) {
        self.queue.push(Notice::Job(self.addressed_for(id, job)));
    }

    /// A job for something that waits for a result, with the component's address on it.
    pub(crate) fn addressed_with<R>(&self, then: impl FnOnce(&C, R) + Send + 'static) -> JobWith<R> {
        let component = self.component;
        Box::new(move |workspace, result| then(component(workspace), result))
    }

    /// What is done when it is known what the disk says, with the component's address on it.
    pub(crate) fn addressed_known(&self, then: impl FnOnce(&C, &Conversation, &Known) + Send + 'static) -> WhenKnown {
        let component = self.component;
        Box::new(move |workspace, conversation, known| then(component(workspace), conversation, known))
    }

    /// A job about a conversation, with the component's address on it.
    pub(crate) fn addressed_for(
        &self,
        id: ConversationId,
        job: impl FnOnce(&C, &Conversation) + Send + 'static,
    ) -> Job {
        let component = self.component;
        Box::new(move |workspace| {
            if let Some(conversation) = workspace.shared.conversations.by_id(id) {
                job(component(workspace), &conversation);
            }
        })
    }
}

/// What runs in the background for a component.
pub(crate) struct Background<C: 'static> {
    /// The threads themselves.
    pub(crate) worker: Rc<Worker>,
    /// Where tasks leave their results.
    pub(crate) mailbox: Mailbox<C>,
}

impl Background<Workspace> {
    /// `wake` is called, from any thread, when a drain is due.
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let mailbox = Mailbox { queue: Arc::new(Queue::new(wake)), component: |workspace| workspace };
        Self { worker: Rc::default(), mailbox }
    }

    /// The same threads and queue for one of the components.
    pub(crate) fn of<C>(&self, component: fn(&Workspace) -> &C) -> Background<C> {
        let mailbox = Mailbox { queue: Arc::clone(&self.mailbox.queue), component };
        Background { worker: Rc::clone(&self.worker), mailbox }
    }
}

impl<C> Background<C> {
    /// Does something that may wait for the disk. Where the system has no threads left, it is done here.
    pub(crate) fn blocking(&self, work: impl FnOnce() + Send + 'static) {
        match self.worker.handle() {
            Ok(threads) => blocking(&threads, Box::new(work)),
            Err(_) => work(),
        }
    }

    /// The same, and brings its result back.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(&C, R) + Send + 'static,
    ) {
        let mailbox = self.mailbox.clone();
        self.blocking(move || {
            let result = work();
            mailbox.job(move |component: &C| then(component, result));
        });
    }

    /// The same for a conversation. The result is dropped if that is closed by then.
    pub(crate) fn run_for<R: Send + 'static>(
        &self,
        id: ConversationId,
        work: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(&C, &Conversation, R) + Send + 'static,
    ) {
        let mailbox = self.mailbox.clone();
        self.blocking(move || {
            let result = work();
            mailbox.job_for(id, move |component: &C, conversation| then(component, conversation, result));
        });
    }

    /// Does something that nobody waits for, which may wait for the disk. If it fails, the log says so, and `failure` is what.
    pub(crate) fn tidy(&self, failure: impl Into<String>, work: impl FnOnce() -> io::Result<()> + Send + 'static) {
        let (queue, failure) = (Arc::clone(&self.mailbox.queue), failure.into());
        self.blocking(move || {
            let done = work();
            queue.push(Notice::Job(Box::new(move |workspace| {
                if let Err(error) = done {
                    workspace.shared.log(Level::Warn, &format!("{failure}: {error}"));
                }
            })));
        });
    }

    /// Does something for a conversation with the next drain.
    pub(crate) fn post_for(&self, id: ConversationId, job: impl FnOnce(&C, &Conversation) + Send + 'static) {
        self.mailbox.job_for(id, job);
    }

    /// Lets the next drain come soon.
    pub(crate) fn wake(&self) {
        self.mailbox.job(|_| {});
    }

    /// Looks at something again and again, with a pause before each look, and brings back what is seen, until `look` breaks
    /// off or the handle is aborted. `look` may wait for the disk.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn watch<S: Send + 'static>(
        &self,
        pause: Duration,
        look: impl FnMut() -> ControlFlow<S, Option<S>> + Send + 'static,
        then: impl Fn(&C, S) + Clone + Send + 'static,
    ) -> io::Result<AbortHandle> {
        let mailbox = self.mailbox.clone();
        self.worker.watch(pause, look, move |seen| {
            let then = then.clone();
            mailbox.job(move |component: &C| then(component, seen));
        })
    }

    /// Does something for a conversation after a pause. Gives what takes that back.
    pub(crate) fn later_for(
        &self,
        id: ConversationId,
        pause: Duration,
        job: impl FnOnce(&C, &Conversation) + Send + 'static,
    ) -> Option<AbortHandle> {
        let mailbox = self.mailbox.clone();
        self.worker.later(pause, move || mailbox.job_for(id, job)).ok()
    }
}

/// Does something on a thread of its own that may wait for the disk, and waits for it for this time: the editor exits, or the user
/// waits for `:write`. `None` if the time was too short.
pub(crate) fn done_within<R: Send + 'static>(
    patience: Duration,
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let (tell, told) = mpsc::channel();
    // Nobody listens any more where it took too long.
    let work = move || drop(tell.send(work()));
    thread::Builder::new().name(name.to_owned()).spawn(work).ok()?;
    told.recv_timeout(patience).ok()
}
