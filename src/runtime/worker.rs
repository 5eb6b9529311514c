//! The tokio runtime, and the tasks that conversations ask for.

use std::{future::Future, io, path::PathBuf, sync::Arc, time::Duration};

use once_cell::sync::OnceCell;
use tokio::{
    runtime,
    task::{self, AbortHandle},
    time,
};

use super::{
    Attachments, ConversationId, Notice, Queue, Report,
    http::{Http, Timeouts},
};
use crate::{
    agent::{Input, RequestId},
    provider::{ErrorKind, Event, Exchange, Provider, ProviderError, Request},
};

/// Owns the threads, which start with the first task: an editor in which no conversation does anything has none.
/// Dropping it stops every task without waiting for one.
#[derive(Debug)]
pub struct Worker {
    runtime: OnceCell<runtime::Runtime>,
    queue: Arc<Queue>,
    http: Arc<Http>,
    attachments: Arc<Attachments>,
}

impl Worker {
    /// A worker whose tasks leave their notices in `queue`.
    #[must_use]
    pub fn new(queue: Arc<Queue>) -> Self {
        Self { runtime: OnceCell::new(), queue, http: Arc::default(), attachments: Arc::default() }
    }

    /// The runtime, for whoever starts tasks without holding on to the worker.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn handle(&self) -> io::Result<runtime::Handle> {
        // Two threads, whatever the machine, for this is waiting and not computing.
        let start =
            || runtime::Builder::new_multi_thread().worker_threads(2).thread_name("flemma").enable_all().build();
        Ok(self.runtime.get_or_try_init(start)?.handle().clone())
    }

    /// The queue to the main thread.
    #[must_use]
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Sends a request. The files that it shows are read first; relative paths start at `folder`. Its events and its end arrive in the queue; aborting the handle ends it without a word.
    pub fn send(
        &self,
        conversation: ConversationId,
        id: RequestId,
        provider: Arc<dyn Provider>,
        mut request: Request,
        folder: PathBuf,
        timeouts: Timeouts,
    ) -> io::Result<AbortHandle> {
        let (queue, http) = (Arc::clone(&self.queue), Arc::clone(&self.http));
        let attachments = Arc::clone(&self.attachments);
        self.spawn(async move {
            if let Some(limits) = provider.attachment_limits()
                && request.has_attachments()
            {
                let read = task::spawn_blocking(move || {
                    let problems = attachments.read(conversation, &mut request, &folder, &limits);
                    (request, problems)
                });
                let Ok((complete, problems)) = read.await else {
                    let message = "the files that the conversation shows could not be read; this is a bug in Flemma";
                    let error = ProviderError::new(ErrorKind::InvalidRequest, message);
                    queue.push(input(conversation, Input::Failed { request: id, error, jitter: 0.0 }));
                    return;
                };
                request = complete;
                for problem in problems {
                    queue.push(Notice { conversation, report: Report::Warning(problem) });
                }
            }
            let sink = |event: Event| {
                queue.push(input(conversation, Input::Event { request: id, event }));
            };
            if let Err(error) = perform(&http, &*provider, &request, timeouts, sink).await {
                queue.push(input(conversation, Input::Failed { request: id, error, jitter: fastrand::f64() }));
            }
        })
    }

    /// Brings an input back after a pause.
    pub fn later(&self, conversation: ConversationId, pause: Duration, what: Input) -> io::Result<AbortHandle> {
        let queue = Arc::clone(&self.queue);
        self.spawn(async move {
            time::sleep(pause).await;
            queue.push(input(conversation, what));
        })
    }

    /// Starts any other task.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> io::Result<AbortHandle> {
        Ok(self.handle()?.spawn(task).abort_handle())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn input(conversation: ConversationId, input: Input) -> Notice {
    Notice { conversation, report: Report::Input(input) }
}

async fn perform(
    http: &Http,
    provider: &dyn Provider,
    request: &Request,
    timeouts: Timeouts,
    mut sink: impl FnMut(Event),
) -> Result<(), ProviderError> {
    match provider.prepare(request)? {
        Exchange::Http { request, decoder } => http.perform(request, decoder, timeouts, sink).await,
        Exchange::Script(script) => {
            for (pause, event) in script {
                if !pause.is_zero() {
                    time::sleep(pause).await;
                }
                sink(event);
            }
            Ok(())
        }
    }
}
