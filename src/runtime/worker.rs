//! The tokio runtime, and the tasks that conversations ask for.

use std::{future::Future, io, mem, path::PathBuf, sync::Arc, time::Duration};

use once_cell::sync::OnceCell;
use tokio::{
    runtime,
    task::{self, AbortHandle},
    time,
};

use super::{
    Attachments, ConversationId, Credentials, Notice, Queue, Report,
    http::{Http, Timeouts},
};
use crate::{
    agent::{Input, RequestId},
    provider::{
        ErrorKind, Event, Exchange, Provider, ProviderError, Request, auth::Environment, compatible::OpenAiCompatible,
        credential::Credential,
    },
};

/// Whom a request goes to. The provider is built when its key is there, which may take a process or a socket.
pub struct Recipient {
    /// Where keys are looked up first.
    pub environment: Environment,
    /// The key that it needs; `None` for a provider without one.
    pub credential: Option<Credential>,
    /// Builds the provider.
    pub build: Build,
}

/// Builds a provider that looks its key up in the environment that it is given.
pub type Build = Box<dyn FnOnce(Environment) -> Result<Arc<dyn Provider>, ProviderError> + Send>;

impl std::fmt::Debug for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recipient").field("credential", &self.credential).finish_non_exhaustive()
    }
}

/// Owns the threads, which start with the first task: an editor in which no conversation does anything has none.
/// Dropping it stops every task without waiting for one.
#[derive(Debug)]
pub struct Worker {
    runtime: OnceCell<runtime::Runtime>,
    queue: Arc<Queue>,
    http: Arc<Http>,
    attachments: Arc<Attachments>,
    credentials: Arc<Credentials>,
}

impl Worker {
    /// A worker whose tasks leave their notices in `queue`.
    #[must_use]
    pub fn new(queue: Arc<Queue>) -> Self {
        let http = Arc::<Http>::default();
        let credentials = Arc::new(Credentials::new(Arc::clone(&http)));
        Self { runtime: OnceCell::new(), queue, http, credentials, attachments: Arc::default() }
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

    /// Sends a request: gets the key of `recipient` if need be, reads the files that the request shows (relative paths
    /// start at `folder`), and performs the exchange. Its events and its end arrive in the queue; aborting the handle
    /// ends it without a word.
    pub fn send(
        &self,
        conversation: ConversationId,
        id: RequestId,
        recipient: Recipient,
        request: Request,
        folder: PathBuf,
        timeouts: Timeouts,
    ) -> io::Result<AbortHandle> {
        let queue = Arc::clone(&self.queue);
        let errand = Errand {
            http: Arc::clone(&self.http),
            credentials: Arc::clone(&self.credentials),
            attachments: Arc::clone(&self.attachments),
            queue: Arc::clone(&self.queue),
            conversation,
            folder,
            timeouts,
        };
        self.spawn(async move {
            let sink = |event: Event| {
                errand.queue.push(input(conversation, Input::Event { request: id, event }));
            };
            if let Err(error) = errand.run(recipient, request, sink).await {
                queue.push(input(conversation, Input::Failed { request: id, error, jitter: fastrand::f64() }));
            }
        })
    }

    /// Asks a server of Chat Completions for its models, with its key if it has one. The answer arrives in the queue
    /// under the number `id`, for no conversation.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn models(
        &self,
        id: u64,
        environment: Environment,
        credential: Credential,
        build: impl FnOnce(Environment) -> OpenAiCompatible + Send + 'static,
        timeouts: Timeouts,
    ) -> io::Result<AbortHandle> {
        let (http, credentials) = (Arc::clone(&self.http), Arc::clone(&self.credentials));
        let queue = Arc::clone(&self.queue);
        self.spawn(async move {
            let models = async {
                let environment = credentials.complete(environment, &credential, timeouts).await?;
                let mut request = build(environment).models()?;
                let (url, headers) = (mem::take(&mut request.url), mem::take(&mut request.headers));
                match http.get(url, headers, timeouts).await? {
                    Ok(body) => request.read(&body),
                    Err(refusal) => {
                        let error = request.refuse(&refusal);
                        if error.kind == ErrorKind::Authentication {
                            credentials.forget(&credential);
                        }
                        Err(error)
                    }
                }
            };
            let models: Result<_, ProviderError> = models.await;
            let report = Report::Models(id, models.map_err(|error| error.message));
            queue.push(Notice { conversation: ConversationId::NONE, report });
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

/// What a request needs on its way.
struct Errand {
    http: Arc<Http>,
    credentials: Arc<Credentials>,
    attachments: Arc<Attachments>,
    queue: Arc<Queue>,
    conversation: ConversationId,
    folder: PathBuf,
    timeouts: Timeouts,
}

impl Errand {
    async fn run(
        &self,
        recipient: Recipient,
        request: Request,
        mut sink: impl FnMut(Event),
    ) -> Result<(), ProviderError> {
        let Recipient { environment, credential, build } = recipient;
        let environment = match &credential {
            Some(credential) => self.credentials.complete(environment, credential, self.timeouts).await?,
            None => environment,
        };
        let provider = build(environment)?;
        let request = self.with_files(&*provider, request).await?;
        match provider.prepare(&request)? {
            Exchange::Http { request, decoder } => {
                let result = self.http.perform(request, decoder, self.timeouts, sink).await;
                if let (Err(error), Some(credential)) = (&result, &credential)
                    && error.kind == ErrorKind::Authentication
                {
                    self.credentials.forget(credential);
                }
                result
            }
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

    /// The request with the files that it shows, as far as the provider takes them.
    async fn with_files(&self, provider: &dyn Provider, mut request: Request) -> Result<Request, ProviderError> {
        let Some(limits) = provider.attachment_limits().filter(|_| request.has_attachments()) else {
            return Ok(request);
        };
        let (attachments, conversation, folder) =
            (Arc::clone(&self.attachments), self.conversation, self.folder.clone());
        let read = task::spawn_blocking(move || {
            let findings = attachments.read(conversation, &mut request, &folder, &limits);
            (request, findings)
        });
        let (request, findings) = read.await.map_err(|_| {
            let message = "the files that the conversation shows could not be read; this is a bug in Flemma";
            ProviderError::new(ErrorKind::InvalidRequest, message)
        })?;
        self.queue.push(Notice { conversation, report: Report::LeftOut(findings.left_out) });
        for problem in findings.news {
            self.queue.push(Notice { conversation, report: Report::Warning(problem) });
        }
        Ok(request)
    }
}
