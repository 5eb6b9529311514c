//! The shell of a session: how its effects reach Neovim and the tasks.

use std::{
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use mlua::Function;
use serde_json::Value;

use super::{
    conversation::{Asked, Conversation},
    convert,
    editor::Editor,
    frontmatter::{self, Effective},
    lua_tools::{self, Answering},
    policy,
    tasks::{Latest, Stop},
    usage::{self, Bill},
};
use crate::{
    agent::{Activity, CallResult, CursorTarget, Input, Level, LifecycleEvent, RequestId, Settings, Shell, Verdict},
    chat::{self, Diagnostic, Document, OpenCall, Text, TextEdit},
    model::{CallId, ToolInput, Usage},
    provider::{ErrorKind, ProviderError, Request},
    runtime::{Notice, Report},
    tools::{Context, Definition, Executor, Outcome, seconds},
};

/// A conversation where it stands: in the editor.
pub(super) struct At<'a> {
    pub(super) editor: &'a Editor,
    pub(super) conversation: &'a Conversation,
}

impl At<'_> {
    fn buffer(&self) -> i32 {
        self.conversation.buffer
    }

    fn notice(&self, input: Input) -> Notice {
        Notice { conversation: self.conversation.id, report: Report::Input(input) }
    }

    /// Where relative paths of the conversation start.
    fn folder(&self) -> PathBuf {
        let (file, cwd) = self.editor.host.place(self.buffer());
        folder_of(&file).unwrap_or_else(|| PathBuf::from(cwd))
    }

    /// What is sent of a conversation whose file says this.
    pub(super) fn request(&self, file: &Effective, conversation: chat::Conversation) -> Request {
        let options = file.config.parameters_for(file.config.provider);
        let registry = self.editor.registry.borrow();
        let tools = file.tools.as_ref().map_or_else(|| registry.specs(), |chosen| registry.specs_of(chosen));
        drop(registry);
        let hosted = policy::hosted(self.editor, file, tools.is_empty()).tools.into();
        Request {
            model: options.model,
            system: conversation.system,
            messages: conversation.messages,
            tools,
            hosted,
            parameters: options.parameters,
        }
    }

    /// How long a call may take: what the user says of this tool, else what the tool says of itself, else the default.
    fn timeout(&self, definition: &Definition) -> Duration {
        let config = self.editor.config();
        let own = config.tools.options_of(&definition.name).get("timeout").and_then(Value::as_f64);
        own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .or(definition.timeout)
            .unwrap_or(config.tools.default_timeout)
    }

    /// What a native tool may know and use.
    fn context(&self, call: &OpenCall, definition: &Definition) -> Context {
        let config = self.editor.config();
        let (file, cwd) = self.editor.host.place(self.buffer());
        let own = config.tools.options_of(&call.name);
        let mut context = Context::new(PathBuf::from(cwd), self.timeout(definition), self.editor.outputs.clone());
        if let Some(own) = own.get("cwd").and_then(Value::as_str) {
            context.cwd = context.resolve(own);
        }
        context.chat_dir = folder_of(&file);
        context.config = own;
        let open: Vec<PathBuf> = self.editor.host.open_chats().into_iter().map(PathBuf::from).collect();
        let store = self.editor.trust_store.clone();
        context.protected = Arc::new(move |path| policy::protected(path, &open, &store));
        context.denied = Arc::new(policy::denied(self.editor, self.conversation));
        let latest = Latest::default();
        let progress = latest.clone();
        context.progress = Arc::new(move |text| progress.put(&text));
        let tasks = &self.conversation.tasks;
        tasks.add_tool(&call.id, tasks.next_run(), latest, Stop::Native(context.cancel.clone()));
        context
    }

    /// Runs a tool written in Lua: here and now, on the main thread.
    fn run_lua(&self, call: &OpenCall, definition: &Definition, execute: &Function, input: &Value) {
        let (editor, tasks) = (self.editor, &self.conversation.tasks);
        let (run, latest) = (tasks.next_run(), Latest::default());
        let answering = Answering::new(self.conversation.id, call, editor.worker.queue());
        let timeout = self.timeout(definition);
        let context = lua_tools::progress(&editor.lua, definition, latest.clone())
            .and_then(|progress| editor.host.context(self.buffer(), &call.name, timeout, progress));
        let context = match context {
            Ok(context) => context,
            Err(error) => {
                let answer =
                    CallResult::error(format!("The tool `{}` could not start: {}", call.name, convert::words(&error)));
                editor.worker.queue().push(self.notice(Input::ToolFinished { call: call.id.clone(), answer }));
                return;
            }
        };
        let begun = Instant::now();
        let function = lua_tools::run(editor, definition, execute, input, context, &answering);
        self.complain_if_slow(&call.name, begun.elapsed(), timeout);
        let report = Report::Expired { call: call.id.clone(), run, limit: timeout };
        let notice = Notice { conversation: self.conversation.id, report };
        let queue = Arc::clone(editor.worker.queue());
        let watch = async move {
            tokio::time::sleep(timeout).await;
            queue.push(notice);
        };
        let timer = editor.worker.spawn(watch).ok();
        tasks.add_tool(&call.id, run, latest, Stop::Lua { answering, function, timer });
    }
}

impl At<'_> {
    /// Tells the user, once a tool, that it holds up the editor for longer than it may take at all: nobody can stop it.
    fn complain_if_slow(&self, tool: &str, took: Duration, limit: Duration) {
        if took <= limit || !self.editor.slow_tools.borrow_mut().insert(tool.to_owned()) {
            return;
        }
        let message = format!(
            "the tool `{tool}` held up Neovim for {:.2} s, and its limit is {}. A tool that takes long sets `async = true` \
             and answers by its callback.",
            took.as_secs_f64(),
            seconds::in_words(limit)
        );
        self.editor.log(Level::Warn, &message);
        self.notify(Level::Warn, &message);
    }
}

impl Shell for At<'_> {
    fn with_document<R>(&self, look: impl FnOnce(&mut Document, &dyn Text) -> R) -> R {
        self.conversation.with_document(look)
    }

    fn apply(&self, edits: &[TextEdit]) {
        self.conversation.writing.set(true);
        for edit in edits {
            let join = self.conversation.joins.replace(true);
            if let Err(error) = self.editor.host.write(self.buffer(), edit, join) {
                self.notify(Level::Error, &format!("writing to the buffer failed: {}", convert::words(&error)));
            }
        }
        self.conversation.writing.set(false);
    }

    fn undo_step(&self) {
        self.conversation.joins.set(false);
    }

    fn lock(&self, locked: bool) {
        self.editor.host.lock(self.buffer(), locked);
        if !locked {
            self.editor.host.turn_over(self.buffer());
        }
    }

    fn send(&self, request: RequestId, conversation: chat::Conversation) -> Result<(), ProviderError> {
        self.editor.check_names();
        let file = frontmatter::effective(self.editor, self.conversation);
        let config = &file.config;
        let options = config.parameters_for(config.provider);
        let recipient = policy::recipient(config);
        *self.conversation.asked.borrow_mut() =
            Some(Asked { provider: config.provider, model: options.model, at: Instant::now() });
        let mut body = self.request(&file, conversation);
        *self.conversation.bill.borrow_mut() = Some(Bill::of(config));
        self.conversation.files.withhold(&mut body);
        self.conversation.files.begin();
        let timeouts = policy::timeouts(config);
        let handle =
            self.editor
                .worker
                .send(self.conversation.id, request, recipient, body, self.folder(), timeouts)
                .map_err(|error| ProviderError::new(ErrorKind::InvalidRequest, format!("no thread for it: {error}")))?;
        self.conversation.tasks.add_request(request, handle);
        Ok(())
    }

    fn abort(&self, request: RequestId) {
        self.conversation.tasks.abort_request(request);
    }

    fn later(&self, pause: Duration, input: Input) {
        if self.editor.worker.later(self.conversation.id, pause, input.clone()).is_err() {
            // Without a thread that could wait, it is now.
            self.editor.worker.queue().push(self.notice(input));
        }
    }

    fn run(&self, call: &OpenCall) {
        let definition = self.editor.registry.borrow().get(&call.name).cloned();
        let refuse = |error: String| {
            let answer = CallResult::error(error);
            self.editor.worker.queue().push(self.notice(Input::ToolFinished { call: call.id.clone(), answer }));
        };
        let ToolInput::Json(input) = call.input.clone() else {
            return refuse(format!("The input of `{}` is no JSON.", call.name));
        };
        match definition.as_ref().map(|definition| &definition.executor) {
            Some(Executor::Native(tool)) => {
                let Some(definition) = &definition else { return };
                let context = self.context(call, definition);
                let cancel = context.cancel.clone();
                let future = Arc::clone(tool).run(input, context);
                let queue = Arc::clone(self.editor.worker.queue());
                let (conversation, id, name) = (self.conversation.id, call.id.clone(), call.name.clone());
                let started = self.editor.worker.spawn(async move {
                    let outcome = AssertUnwindSafe(future).catch_unwind().await;
                    let outcome = outcome.unwrap_or_else(|_| {
                        Outcome::failure(format!(
                            "The tool `{name}` failed inside: a bug of Flemma's, not of the call."
                        ))
                    });
                    if cancel.is_cancelled() {
                        // It has its result; what still came could meet a later call with the same id.
                        return;
                    }
                    let input = Input::ToolFinished { call: id, answer: outcome.render().into() };
                    queue.push(Notice { conversation, report: Report::Input(input) });
                });
                if let Err(error) = started {
                    refuse(format!("The tool `{}` could not start: {error}.", call.name));
                }
            }
            Some(Executor::Lua(function)) => {
                if let (Some(definition), Some(execute)) = (&definition, self.editor.functions.get(*function)) {
                    self.run_lua(call, definition, &execute, &input);
                }
            }
            _ => refuse(format!("The tool `{}` has nothing that runs it here.", call.name)),
        }
    }

    fn kill(&self, call: &CallId) -> String {
        let printed = self.conversation.tasks.printed(call);
        self.conversation.stop_tool(self.editor, call);
        printed
    }

    fn cursor(&self, target: CursorTarget) {
        self.editor.host.cursor(self.buffer(), target);
    }

    fn follow(&self) {
        self.editor.host.follow(self.buffer());
    }

    fn notify(&self, level: Level, message: &str) {
        self.editor.host.notify(level, message);
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = self.conversation.diagnostics();
        let file = frontmatter::effective(self.editor, self.conversation);
        if let Some(fault) = &file.fault {
            found.insert(0, fault.diagnostic());
        }
        found
    }

    fn diagnose(&self, diagnostics: &[Diagnostic]) {
        self.conversation.diagnosed.set(!diagnostics.is_empty());
        self.editor.host.diagnose(self.buffer(), diagnostics);
    }

    fn show(&self, activity: &Activity) {
        self.editor.host.show(self.buffer(), *activity != Activity::Idle);
    }

    fn account(&self, usage: Usage, complete: bool) {
        usage::account(self.editor, self.conversation, usage, complete);
    }

    fn announce(&self, moment: LifecycleEvent<'_>) {
        let host = &self.editor.host;
        match moment {
            LifecycleEvent::RequestSending => {
                self.conversation.accounted.take();
                host.announce("FlemmaRequestSending", self.buffer(), &[]);
            }
            LifecycleEvent::RequestFinished { complete } => {
                let usage = usage::of_event(&self.editor.lua, self.conversation);
                let data = [("complete", mlua::Value::Boolean(complete)), ("usage", usage)];
                host.announce("FlemmaRequestFinished", self.buffer(), &data);
            }
            LifecycleEvent::ToolExecuting(call) => host.announce(
                "FlemmaToolExecuting",
                self.buffer(),
                &[("tool", host.string(&call.name)), ("id", host.string(&call.id.0))],
            ),
            LifecycleEvent::ToolFinished(id) => {
                self.conversation.tasks.remove_tool(id);
                host.announce("FlemmaToolFinished", self.buffer(), &[("id", host.string(&id.0))]);
                host.checktime();
            }
            LifecycleEvent::ToolPending(id) => {
                host.announce("FlemmaToolPending", self.buffer(), &[("id", host.string(&id.0))])
            }
        }
    }

    fn verdict(&self, call: &OpenCall) -> Verdict {
        policy::verdict(self.editor, self.conversation, call)
    }

    fn is_authorised(&self, call: &OpenCall) -> bool {
        self.conversation.is_authorised(call)
    }

    /// Also whether the conversation is read: what a request says of messages that were never sent is put together here,
    /// some of them at a time. Whoever asks in vain is told again when there is more to say.
    fn tools_ready(&self) -> bool {
        if !self.editor.sources.borrow().is_ready() {
            return false;
        }
        let more = self.conversation.read_on();
        if more {
            self.editor.worker.queue().push(self.notice(Input::ToolsReady));
        }
        !more
    }

    fn settings(&self) -> Settings {
        let file = frontmatter::effective(self.editor, self.conversation);
        let tools = &file.config.tools;
        Settings {
            autopilot: tools.autopilot.enabled,
            max_turns: tools.autopilot.max_turns,
            max_concurrent: tools.max_concurrent as usize,
        }
    }

    fn authorise(&self, call: &CallId) {
        self.conversation.authorise(call);
    }
}

/// The folder of a `.chat` file; `None` while the conversation has no file.
pub(super) fn folder_of(file: &str) -> Option<PathBuf> {
    Path::new(file).parent().filter(|parent| !parent.as_os_str().is_empty()).map(Path::to_owned)
}
