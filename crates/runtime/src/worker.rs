//! The tokio runtime, and the tasks that conversations ask for.

use std::{
    collections::HashSet,
    future::Future,
    io,
    ops::ControlFlow,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use once_cell::sync::OnceCell;
use tokio::{
    runtime,
    task::{self, AbortHandle},
    time,
};
use url::Url;

use super::{
    Attachments, ConversationId, Credentials, SkippedFile,
    disk::lock,
    http::{Http, Reading, Timeouts},
};
use flemma_chat as chat;
use flemma_config::ProviderOptions;
use flemma_model::{Event, Message, UserError};
use flemma_provider::{
    CapabilityProbe, ErrorKind, Exchange, ProviderError, Refusals, Request, Server,
    auth::{Environment, Key},
    credential::Credential,
    host, preview,
    reply_limit::ReplyLimit,
    xml_tools,
};
use flemma_tools::builtin::Readable;

/// How long a server has to say what a model can do.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Whom a request goes to. The provider is built when its key is there, which may take a process or a socket.
pub struct Recipient {
    /// Where keys are looked up first.
    pub environment: Environment,
    /// The key that it needs; `None` for a provider without one.
    pub credential: Option<Credential>,
    /// Builds the provider.
    pub build: Build,
    /// The most bytes that its reply may bring.
    pub max_reply_bytes: usize,
}

impl Recipient {
    /// The provider that these options name. Its key is looked up in `environment` first.
    pub fn of(options: ProviderOptions, environment: Environment) -> Self {
        let ProviderOptions { vendor, max_reply_bytes, .. } = options;
        Self {
            environment,
            credential: vendor.credential(),
            build: Box::new(move |environment| Ok(Server::new(vendor, environment, read_document))),
            max_reply_bytes: max_reply_bytes as usize,
        }
    }
}

/// The messages of a `.chat` document.
fn read_document(text: &str) -> Result<Vec<Arc<Message>>, UserError> {
    match chat::read(text) {
        Ok(conversation) => Ok(conversation.messages),
        Err(errors) => Err(UserError::new(errors.into_iter().next().map(|error| error.message).unwrap_or_default())),
    }
}

/// Builds a provider that looks its key up in the environment that it is given.
pub type Build = Box<dyn FnOnce(Environment) -> Result<Server, ProviderError> + Send>;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestUpdate {
    /// The files that it shows have been read; these were left out.
    LeftOut(Vec<SkippedFile>),
    /// It is not sent, because the user's text refers to these files, which may not be shown. Nothing more comes of it.
    Refused(Vec<SkippedFile>),
    /// A piece of the reply has arrived.
    Event(Event),
    /// It has failed. Nothing more comes of it.
    Failed(ProviderError),
    /// Something that the user should know.
    Warning(String),
}

/// Takes the updates of one request. It is called on the worker's threads.
pub type OnUpdate = Arc<dyn Fn(RequestUpdate) + Send + Sync>;

/// The reply to a request, once it is awaited.
type Reply = Arc<OnceLock<Mutex<Reading<Box<dyn FnMut(Event) -> Result<(), ProviderError> + Send>>>>>;

/// A request that was sent.
pub struct Sent {
    task: AbortHandle,
    reply: Reply,
}

impl Sent {
    /// Ends the request without an update about that. What is left of the reply comes before this returns: also its end, if the
    /// server has said that it is complete.
    pub fn stop(self) {
        self.task.abort();
        if let Some(reply) = self.reply.get() {
            let _ = lock(reply).end(None);
        }
    }
}

/// Owns the threads, which start with the first task: an editor in which no conversation does anything has none.
/// Dropping it stops every task without waiting for one.
#[derive(Debug)]
pub struct Worker {
    runtime: OnceCell<runtime::Runtime>,
    shared: Arc<Shared>,
}

/// What the tasks share.
#[derive(Debug)]
struct Shared {
    http: Arc<Http>,
    attachments: Arc<Attachments>,
    credentials: Credentials,
    refusals: Refusals,
    /// What has been said or asked about servers, so that it is not again.
    known: Mutex<HashSet<String>>,
}

impl Default for Worker {
    fn default() -> Self {
        let http = Arc::<Http>::default();
        let credentials = Credentials::new(Arc::clone(&http));
        let shared = Shared {
            http,
            credentials,
            refusals: Refusals::default(),
            attachments: Arc::default(),
            known: Mutex::default(),
        };
        Self { runtime: OnceCell::new(), shared: Arc::new(shared) }
    }
}

impl Worker {
    /// The runtime, for callers that start tasks without keeping the worker.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn handle(&self) -> io::Result<runtime::Handle> {
        // Two threads on any machine, since the tasks wait and do not compute.
        let start =
            || runtime::Builder::new_multi_thread().worker_threads(2).thread_name("flemma").enable_all().build();
        Ok(self.runtime.get_or_try_init(start)?.handle().clone())
    }

    /// Sends a request: gets the key of `recipient` if need be, reads the files that the request shows, as
    /// far as `readable` lets it, and performs the exchange. `on_update` hears of its events and its end.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn send(
        &self,
        conversation: ConversationId,
        recipient: Recipient,
        request: Request,
        readable: Readable,
        timeouts: Timeouts,
        on_update: OnUpdate,
    ) -> io::Result<Sent> {
        let reply = Reply::default();
        let task = RequestTask {
            shared: Arc::clone(&self.shared),
            reply: Arc::clone(&reply),
            on_update,
            conversation,
            readable,
            timeouts,
        };
        let task = self.spawn(async move {
            if let Err(error) = task.run(recipient, request).await {
                (task.on_update)(RequestUpdate::Failed(error));
            }
        })?;
        Ok(Sent { task, reply })
    }

    /// Makes a request as [`send`](Self::send) does, and sends nothing. `then` gets its lines ([`flemma_provider::preview`]). No key
    /// is needed for that, and none is in it.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn preview(
        &self,
        conversation: ConversationId,
        recipient: Recipient,
        request: Request,
        readable: Readable,
        timeouts: Timeouts,
        then: impl FnOnce(Result<Vec<String>, ProviderError>) + Send + 'static,
    ) -> io::Result<AbortHandle> {
        let (shared, reply) = (Arc::clone(&self.shared), Reply::default());
        let task = RequestTask { shared, reply, on_update: Arc::new(|_| {}), conversation, readable, timeouts };
        self.spawn(async move {
            let Recipient { environment, credential, build, .. } = recipient;
            let lines = async {
                let environment = match &credential {
                    Some(credential) => environment.with(credential.variable, Key::new("none", "for a preview")?),
                    None => environment,
                };
                let made = task.make(build(environment)?, request).await?;
                let refused = || ProviderError::new(ErrorKind::InvalidRequest, "it names a file that may not be shown");
                match made.ok_or_else(refused)?.exchange {
                    Exchange::Http { request, .. } => Ok(preview::lines(&request)),
                    Exchange::Script(_) => Ok(vec!["The embedded script answers. Nothing is sent.".to_owned()]),
                }
            };
            then(lines.await);
        })
    }

    /// Asks the server of `recipient` for its models, with its key if it has one: `found` hears where that was. `then` gets
    /// their names, or why there are none.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn models(
        &self,
        recipient: Recipient,
        timeouts: Timeouts,
        found: impl FnOnce(Option<&str>) + Send + 'static,
        then: impl FnOnce(Result<Vec<String>, ProviderError>) + Send + 'static,
    ) -> io::Result<AbortHandle> {
        let shared = Arc::clone(&self.shared);
        self.spawn(async move {
            let Recipient { environment, credential, build, .. } = recipient;
            let models = async {
                let environment = shared.credentials.complete(environment, credential.as_ref(), timeouts).await?;
                let key = credential.as_ref().map(|credential| environment.find(credential.variable)).transpose()?;
                found(key.flatten().as_ref().map(Key::origin));
                let Some(models) = build(environment)?.list_models()? else { return Ok(Vec::new()) };
                match shared.http.fetch(&models.request, timeouts).await? {
                    Ok(body) => models.read(&body),
                    Err(refusal) => Err(models.decode_error(&refusal)),
                }
            };
            let models: Result<_, ProviderError> = models.await;
            if let Err(error) = &models {
                shared.credentials.forget_refused(credential.as_ref(), error);
            }
            then(models);
        })
    }

    /// Does something after a pause.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn later(&self, pause: Duration, then: impl FnOnce() + Send + 'static) -> io::Result<AbortHandle> {
        self.spawn(async move {
            time::sleep(pause).await;
            then();
        })
    }

    /// Does something that may wait for the disk.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        blocking(&self.handle()?, Box::new(work));
        Ok(())
    }

    /// Looks at something again and again, with a pause before each look, until `look` breaks off or the handle is aborted.
    /// `look` may wait for the disk; what it sees goes to `tell`, on one of the worker's threads.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn watch<S: Send + 'static>(
        &self,
        pause: Duration,
        mut look: impl FnMut() -> ControlFlow<S, Option<S>> + Send + 'static,
        tell: impl Fn(S) + Send + 'static,
    ) -> io::Result<AbortHandle> {
        self.spawn(async move {
            loop {
                time::sleep(pause).await;
                let looked = task::spawn_blocking(move || {
                    let seen = look();
                    (look, seen)
                });
                let Ok((again, seen)) = looked.await else { return };
                look = again;
                match seen {
                    ControlFlow::Break(seen) => return tell(seen),
                    ControlFlow::Continue(seen) => seen.into_iter().for_each(&tell),
                }
            }
        })
    }

    /// Starts any other task.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> io::Result<AbortHandle> {
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
        Ok(self.handle()?.spawn(task).abort_handle())
    }
}

/// Does something that may wait for the disk. Tokio's code for it is there once, and not for every kind of work.
pub fn blocking(threads: &runtime::Handle, work: Box<dyn FnOnce() + Send>) {
    threads.spawn_blocking(work);
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A request that can be sent.
struct Made {
    provider: Server,
    probe: Option<CapabilityProbe>,
    exchange: Exchange,
}

/// What a request needs on its way.
struct RequestTask {
    shared: Arc<Shared>,
    reply: Reply,
    on_update: OnUpdate,
    conversation: ConversationId,
    readable: Readable,
    timeouts: Timeouts,
}

impl RequestTask {
    async fn run(&self, recipient: Recipient, request: Request) -> Result<(), ProviderError> {
        let Recipient { environment, credential, build, max_reply_bytes } = recipient;
        let environment = self.shared.credentials.complete(environment, credential.as_ref(), self.timeouts).await?;
        let model = request.model.clone();
        let Some(made) = self.make(build(environment)?, request).await? else { return Ok(()) };
        let Made { provider, probe, exchange } = made;
        let on_update = Arc::clone(&self.on_update);
        let sink = move |event| on_update(RequestUpdate::Event(event));
        match exchange {
            Exchange::Http { request, decoder } => {
                self.warn_of_plain_http(&request.url);
                self.probe(probe);
                let mut limit = ReplyLimit::new(max_reply_bytes);
                let sink = move |event| limit.pass(event, &sink);
                let reading = self.reply.get_or_init(|| Mutex::new(Reading::new(decoder, Box::new(sink))));
                let result = self.shared.http.perform(request, reading, self.timeouts).await;
                if let Err(error) = &result {
                    self.shared.credentials.forget_refused(credential.as_ref(), error);
                    self.shared.refusals.learn(&provider, &model, error);
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

    /// Makes what is sent to a server: the one way from a request to its bytes. `None` if it is not to be sent.
    async fn make(&self, server: Server, request: Request) -> Result<Option<Made>, ProviderError> {
        let provider = self.shared.refusals.tell(server, &request.model);
        let Some(request) = self.with_files(&provider, request).await? else { return Ok(None) };
        let is_xml = request.parameters.calls_in_xml;
        let probe = if is_xml { None } else { provider.capability_probe(&request) };
        let exchange = if is_xml { xml_tools::prepare(&provider, &request) } else { provider.prepare(&request) };
        Ok(Some(Made { provider, probe, exchange: exchange? }))
    }

    /// Whether this is the first time.
    fn is_news(&self, what: String) -> bool {
        lock(&self.shared.known).insert(what)
    }

    fn warn(&self, words: String) {
        (self.on_update)(RequestUpdate::Warning(words));
    }

    /// Tells the user once that a server is talked to in the open.
    fn warn_of_plain_http(&self, url: &str) {
        let Some(url) = Url::parse(url).ok().filter(|url| url.scheme() == "http") else { return };
        let Some(host) = url.host_str().filter(|host| !host::is_loopback(host)) else { return };
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        if self.is_news(format!("http {host}")) {
            self.warn(format!(
                "http://{host} is not encrypted: others on the network can read the key and the conversation. Write \
                 https:// in `base_url` if the server speaks TLS."
            ));
        }
    }

    /// Asks the server, once for each model and in parallel to the request, whether the model can use tools. It is
    /// not an error if that cannot be found out.
    fn probe(&self, probe: Option<CapabilityProbe>) {
        let Some(probe) = probe else { return };
        let name = format!("tools {} {}", probe.host, probe.model);
        if !self.is_news(name.clone()) {
            return;
        }
        let (shared, on_update) = (Arc::clone(&self.shared), Arc::clone(&self.on_update));
        let timeouts = Timeouts { first_byte: PROBE_TIMEOUT, idle: PROBE_TIMEOUT, ..self.timeouts };
        tokio::spawn(async move {
            for request in &probe.requests {
                let answer = match shared.http.fetch(request, timeouts).await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_)) => continue,
                    Err(_) => {
                        // The server was not there: the next request asks again.
                        lock(&shared.known).remove(&name);
                        return;
                    }
                };
                if let Some(found) = probe.read(&answer) {
                    if let Some(words) = found {
                        on_update(RequestUpdate::Warning(words));
                    }
                    return;
                }
            }
        });
    }

    /// The request with the files that it shows, as far as the provider takes them; `None` if it is not to be sent.
    async fn with_files(&self, provider: &Server, mut request: Request) -> Result<Option<Request>, ProviderError> {
        let Some(limits) = provider.attachment_limits(&request.model).filter(|_| request.has_attachments()) else {
            return Ok(Some(request));
        };
        let (attachments, conversation, readable) =
            (Arc::clone(&self.shared.attachments), self.conversation, self.readable.clone());
        let read = task::spawn_blocking(move || {
            let findings = attachments.read(conversation, &mut request, &readable, &limits);
            (request, findings)
        });
        let (request, findings) =
            read.await.map_err(|_| ProviderError::bug("the files that the conversation shows could not be read"))?;
        (self.on_update)(RequestUpdate::LeftOut(findings.left_out));
        if !findings.refused.is_empty() {
            (self.on_update)(RequestUpdate::Refused(findings.refused));
            return Ok(None);
        }
        findings.news.into_iter().for_each(|problem| self.warn(problem));
        Ok(Some(request))
    }
}
