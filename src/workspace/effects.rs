//! The shell of a session: how its effects reach the host, the tools and the providers.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use serde_json::Value;

use super::{
    Conversation, Workspace,
    accounts::PricedRequest,
    effective::Effective,
    latest_output::LatestOutput,
    ports::{Announcement, ToolRun},
    protected_files::protected,
    recipient,
    tasks::Stop,
    tool_answer::ToolAnswer,
};
use crate::{
    agent::{Activity, CallResult, CursorTarget, Input, Level, LifecycleEvent, RequestId, Settings, Shell, Verdict},
    chat::{self, Diagnostic, Document, OpenCall, Text, TextEdit},
    model::{CallId, ModelError, ToolInput, Usage},
    provider::{ErrorKind, ProviderError, Request},
    runtime::{OnUpdate, RequestUpdate},
    tools::{Context, Definition, Executor, LuaRef, NativeTool, Outcome, Rendered, Runner, seconds},
};

/// A conversation in its workspace: what its session acts on.
pub(super) struct Effects<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) conversation: &'a Conversation,
}

impl Effects<'_> {
    fn buffer(&self) -> i32 {
        self.conversation.buffer()
    }

    /// What is sent of a conversation whose file says this.
    pub(super) fn request(&self, file: &Effective, mut conversation: chat::Transcript) -> Request {
        let options = file.config.parameters_for(file.config.provider);
        let toolbox = self.workspace.toolbox();
        toolbox.retention(&file.config).apply(&mut conversation.messages);
        Request {
            model: options.model,
            system: conversation.system,
            messages: conversation.messages,
            tools: toolbox.specs(file.tools.as_ref()),
            hosted: toolbox.hosted(file).tools.into(),
            parameters: options.parameters,
        }
    }

    /// What the updates of a request become.
    fn on_update(&self, request: RequestId) -> OnUpdate {
        let (mailbox, id) = (self.workspace.background().mailbox().clone(), self.conversation.id());
        Arc::new(move |update| match update {
            RequestUpdate::Event(event) => mailbox.input(id, Input::Event { request, event }),
            RequestUpdate::Failed(error) => {
                mailbox.input(id, Input::Failed { request, error, jitter: fastrand::f64() });
            }
            RequestUpdate::Warning(words) => mailbox.job(move |workspace: &Workspace| {
                workspace.with_conversation(id, |workspace, _| workspace.warn(&words));
            }),
            RequestUpdate::LeftOut(files) => mailbox.job(move |workspace: &Workspace| {
                workspace.with_conversation(id, |workspace, conversation| {
                    if conversation.page().leave_out(files) {
                        workspace.diagnose(conversation);
                    }
                });
            }),
        })
    }

    /// How long a call may take: what the user says of this tool, else what the tool says of itself, else the default.
    fn timeout(&self, definition: &Definition) -> Duration {
        let config = self.workspace.config();
        let own = config.tools.options_of(&definition.name).get("timeout").and_then(Value::as_f64);
        own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .or(definition.timeout)
            .unwrap_or(config.tools.default_timeout)
    }

    /// What a native tool may know and use.
    fn context(&self, call: &OpenCall, definition: &Definition) -> Context {
        let workspace = self.workspace;
        let place = workspace.place(self.conversation);
        let own = workspace.config().tools.options_of(&call.name);
        let chat_dir = place.chat_dir();
        let mut context = Context::new(place.cwd, self.timeout(definition), workspace.outputs().to_owned());
        if let Some(own) = own.get("cwd").and_then(Value::as_str) {
            context.cwd = context.resolve(own);
        }
        context.chat_dir = chat_dir;
        context.config = own;
        let open = workspace.host().open_conversations();
        let store = workspace.trust_store().path().to_owned();
        context.protected = Arc::new(move |path| protected(path, &open, &store));
        context.denied = Arc::new(workspace.denied(self.conversation));
        context
    }

    /// Runs a tool written in Rust, off the main thread.
    fn run_native(&self, call: &OpenCall, definition: &Definition, tool: &Arc<dyn NativeTool>, input: Value) {
        let mut context = self.context(call, definition);
        let latest = LatestOutput::default();
        let progress = latest.clone();
        context.progress = Arc::new(move |text| progress.put(&text));
        let cancel = context.cancel.clone();
        let tasks = self.conversation.tasks();
        tasks.add_tool(&call.id, tasks.next_run(), latest, Stop::Native(cancel.clone()));
        let future = Arc::clone(tool).run(input, context);
        let mailbox = self.workspace.background().mailbox().clone();
        let (conversation, id, name) = (self.conversation.id(), call.id.clone(), call.name.clone());
        let started = self.workspace.background().worker().spawn(async move {
            let outcome = AssertUnwindSafe(future).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| {
                Outcome::failure(ModelError::new(format!(
                    "The tool `{name}` crashed. This is a bug in Flemma, not in the call."
                )))
            });
            if cancel.is_cancelled() {
                // It has its result; what still came could meet a later call with the same id.
                return;
            }
            mailbox.input(conversation, Input::ToolFinished { call: id, answer: outcome.render().into() });
        });
        if let Err(error) = started {
            self.refuse(call, format!("The tool `{}` could not start: {error}.", call.name));
        }
    }

    /// Runs a tool written in Lua: here and now, on the main thread.
    fn run_lua(&self, call: &OpenCall, definition: &Definition, function: LuaRef, input: &Value) {
        let (workspace, tasks) = (self.workspace, self.conversation.tasks());
        let background = workspace.background();
        let (run, latest, timeout) = (tasks.next_run(), LatestOutput::default(), self.timeout(definition));
        let threads = background.worker().handle().ok();
        let (mailbox, id, answered) = (background.mailbox().clone(), self.conversation.id(), call.id.clone());
        let deliver = Arc::new(move |rendered: Rendered| {
            mailbox.input(id, Input::ToolFinished { call: answered.clone(), answer: rendered.into() });
        });
        let answer = ToolAnswer::new(call.name.clone(), deliver, threads, workspace.outputs().to_owned());
        let begun = Instant::now();
        let function = workspace.scripts().start(ToolRun {
            buffer: self.buffer(),
            definition,
            call,
            input,
            function,
            timeout,
            latest: latest.clone(),
            answer: answer.clone(),
        });
        self.report_if_slow(&call.name, begun.elapsed(), timeout);
        let (mailbox, id, expired) = (background.mailbox().clone(), self.conversation.id(), call.id.clone());
        let expire = move || {
            mailbox.job(move |workspace: &Workspace| {
                workspace.with_conversation(id, |workspace, conversation| {
                    workspace.expire(conversation, &expired, run, timeout);
                });
            });
        };
        let timer = background.worker().later(timeout, expire).ok();
        tasks.add_tool(&call.id, run, latest, Stop::Lua { answer, function, timer });
    }

    /// Answers a call that cannot be run.
    fn refuse(&self, call: &OpenCall, error: String) {
        let answer = CallResult::error(error);
        let input = Input::ToolFinished { call: call.id.clone(), answer };
        self.workspace.background().mailbox().input(self.conversation.id(), input);
    }

    /// Tells the user, once for each tool, that it holds up the editor for longer than it may take at all: it cannot be
    /// stopped.
    fn report_if_slow(&self, tool: &str, took: Duration, limit: Duration) {
        if took <= limit || !self.workspace.toolbox().is_news_that_slow(tool) {
            return;
        }
        self.workspace.warn(&format!(
            "the tool `{tool}` held up Neovim for {:.2} s, and its limit is {}. A tool that takes long sets `async = true` \
             and answers by its callback.",
            took.as_secs_f64(),
            seconds::in_words(limit)
        ));
    }
}

impl Shell for Effects<'_> {
    fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        self.conversation.page().with_document(look)
    }

    fn apply(&self, edits: &[TextEdit]) {
        let page = self.conversation.page();
        page.writing(|| {
            for edit in edits {
                if let Err(problem) = self.workspace.host().write(self.buffer(), edit, page.joins()) {
                    self.notify(Level::Error, &format!("writing to the buffer failed: {problem}"));
                }
            }
        });
    }

    fn undo_step(&self) {
        self.conversation.page().undo_step();
    }

    fn lock(&self, locked: bool) {
        let host = self.workspace.host();
        host.lock(self.buffer(), locked);
        if !locked {
            host.turn_over(self.buffer());
        }
    }

    fn send(&self, request: RequestId, conversation: chat::Transcript) -> Result<(), ProviderError> {
        self.workspace.check_names();
        let file = self.workspace.frontmatter(self.conversation);
        let config = &file.config;
        self.conversation.accounts().begin(PricedRequest::of(config));
        let mut body = self.request(&file, conversation);
        let page = self.conversation.page();
        let folder = self.workspace.place(self.conversation).folder();
        page.files().withhold(&mut body, &folder);
        page.files().begin_request();
        let (recipient, timeouts) = (recipient::recipient(config), recipient::timeouts(config));
        let worker = self.workspace.background().worker();
        let on_update = self.on_update(request);
        let handle =
            worker.send(self.conversation.id(), recipient, body, folder, timeouts, on_update).map_err(|error| {
                ProviderError::new(ErrorKind::InvalidRequest, format!("no thread could be started: {error}"))
            })?;
        self.conversation.tasks().add_request(request, handle);
        Ok(())
    }

    fn abort(&self, request: RequestId) {
        self.conversation.tasks().abort_request(request);
    }

    fn later(&self, pause: Duration, input: Input) {
        self.workspace.background().later(self.conversation.id(), pause, input);
    }

    fn run(&self, call: &OpenCall) {
        let ToolInput::Json(input) = call.input.clone() else {
            return self.refuse(call, format!("The input of `{}` is not valid JSON.", call.name));
        };
        let definition = self.workspace.toolbox().get(&call.name);
        match definition.as_deref().map(|definition| (definition, &definition.executor)) {
            Some((definition, Executor::Server(Runner::Native(tool)))) => {
                self.run_native(call, definition, tool, input)
            }
            Some((definition, Executor::Server(Runner::Lua(function)))) => {
                self.run_lua(call, definition, *function, &input)
            }
            Some((_, Executor::Client(_) | Executor::Human | Executor::Provider)) | None => {
                self.refuse(call, format!("The tool `{}` has no `execute` function.", call.name));
            }
        }
    }

    fn kill(&self, call: &CallId) -> String {
        let printed = self.conversation.tasks().printed(call);
        self.workspace.stop_tool(self.conversation, call);
        printed
    }

    fn cursor(&self, target: CursorTarget) {
        self.workspace.host().cursor(self.buffer(), target);
    }

    fn follow(&self) {
        self.workspace.host().follow(self.buffer());
    }

    fn notify(&self, level: Level, message: &str) {
        self.workspace.host().notify(level, message);
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = self.conversation.page().diagnostics();
        let file = self.workspace.frontmatter(self.conversation);
        if let Some(fault) = &file.fault {
            found.insert(0, fault.diagnostic());
        }
        found
    }

    fn diagnose(&self, diagnostics: &[Diagnostic]) {
        self.conversation.set_diagnosed(!diagnostics.is_empty());
        self.workspace.host().diagnose(self.buffer(), diagnostics);
    }

    fn show(&self, activity: &Activity) {
        self.workspace.host().show(self.buffer(), *activity != Activity::Idle);
    }

    fn account(&self, usage: Usage, complete: bool) {
        self.workspace.account(self.conversation, usage, complete);
    }

    fn announce(&self, moment: LifecycleEvent<'_>) {
        let host = self.workspace.host();
        let accounts = self.conversation.accounts();
        match moment {
            LifecycleEvent::RequestSending => {
                accounts.take_ended();
                host.announce(self.buffer(), Announcement::RequestSending);
            }
            LifecycleEvent::RequestFinished { complete } => {
                let usage = accounts.take_ended();
                host.announce(self.buffer(), Announcement::RequestFinished { complete, usage });
            }
            LifecycleEvent::ToolExecuting(call) => {
                let announcement = Announcement::ToolExecuting { tool: &call.name, call: &call.id.0 };
                host.announce(self.buffer(), announcement);
            }
            LifecycleEvent::ToolFinished(id) => {
                self.conversation.tasks().remove_tool(id);
                host.announce(self.buffer(), Announcement::ToolFinished { call: &id.0 });
                host.check_files();
            }
            LifecycleEvent::ToolPending(id) => host.announce(self.buffer(), Announcement::ToolPending { call: &id.0 }),
        }
    }

    fn verdict(&self, call: &OpenCall) -> Verdict {
        self.workspace.verdict(self.conversation, call)
    }

    fn is_authorised(&self, call: &OpenCall) -> bool {
        self.conversation.page().is_authorised(call)
    }

    /// Also whether the conversation is read: what a request says of messages that were never sent is put together here,
    /// some of them at a time. The answer *no* comes with another [`Input::ToolsReady`] while there is more to read.
    fn tools_ready(&self) -> bool {
        if !self.workspace.toolbox().is_ready() {
            return false;
        }
        let more = self.conversation.page().read_on();
        if more {
            self.workspace.background().mailbox().input(self.conversation.id(), Input::ToolsReady);
        }
        !more
    }

    fn settings(&self) -> Settings {
        let file = self.workspace.frontmatter(self.conversation);
        let tools = &file.config.tools;
        Settings {
            autopilot: tools.autopilot.enabled,
            max_turns: tools.autopilot.max_turns,
            max_concurrent: tools.max_concurrent as usize,
        }
    }

    fn authorise(&self, call: &CallId) {
        self.conversation.page().authorise(call);
    }
}
