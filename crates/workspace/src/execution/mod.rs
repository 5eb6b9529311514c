//! Runs calls: tools written in Rust as tasks, tools written in Lua on the main thread, client tools in the editor's user
//! interface. A call runs only when its start is on the disk.

pub(crate) mod context;
pub(crate) mod launch;
pub(crate) mod lua_outcome;
pub(crate) mod tasks;
pub(crate) mod waiting_writes;

use std::{env, time::Duration};

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    Conversation, HostEffect,
    approval::lookups::Known,
    calls::key::Keyed as _,
    components::Execution,
    execution::{
        launch::Launch,
        tasks::{LatestOutput, Stop},
    },
    resolutions::{Resolution, answers::value_of},
};
use flemma_agent::{CallResult, Input, Level};
use flemma_chat::{Language, OpenCall};
use flemma_journal::{Actor, CallKey, Event, Life, RecordedResult, Role};
use flemma_model::{CallId, ModelError, ToolInput, UserError};
use flemma_text::code_span::plain;
use flemma_tools::{
    Executor, LuaError, LuaRef, Rendered, Runner,
    command::{CommandRequest, CommandResult, run_command},
    overflow, seconds,
};

/// How the life of a call ends whose key another call gets.
const REPLACED: &str = "The call was deleted before it had a result.";

impl Execution {
    /// Runs a call, once the journal is read and its start is recorded.
    pub(crate) fn run(&self, conversation: &Conversation, call: &OpenCall) {
        let not_started = |this: &Self, conversation: &Conversation, id: &CallId, problem: UserError| {
            let problem = problem.to_string();
            this.shared.feed(conversation, [Input::NotStarted { call: id.clone(), problem }]);
        };
        if conversation.drive.is_on() {
            // After a kill, nobody would be there to read that a tool ran whose call the file lacks, and the model would call
            // it once more. And nobody is there who would notice the pause.
            if let Some(problem) = self.shared.host.write_now(conversation.buffer) {
                return not_started(self, conversation, &call.id, problem);
            }
        } else {
            self.journaling.write_soon(conversation);
        }
        if self.refuse_write(conversation, call) {
            return;
        }
        self.start(conversation, call, not_started);
    }

    /// Asks the user interface to run a call, once there is one, the journal is read and the call's start is recorded.
    pub(crate) fn offer(&self, conversation: &Conversation, call: &OpenCall) {
        if !self.shared.host.has_ui() {
            return conversation.tasks.wait(&call.id);
        }
        self.start(conversation, call, |this, conversation, id, problem| {
            let failure = Resolution::Fail(format!("The call did not run: {problem}."));
            this.shared.resolve(conversation, id, failure, Role::Client);
        });
    }

    /// The one way to start a call. The journal may know that the call has run, so nothing starts before it is read, and
    /// nothing before the start is on the disk. `not_recorded` hears why that failed.
    fn start(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        not_recorded: impl FnOnce(&Self, &Conversation, &CallId, UserError) + Send + 'static,
    ) {
        let (records, tasks) = (&conversation.records, &conversation.tasks);
        if !records.is_read() {
            tasks.wait(&call.id);
            return self.journaling.need_journal(conversation);
        }
        let key = call.key();
        let approved_by = records.with_ledger(|ledger| ledger.approval(&key).map(|(by, _)| by.clone()));
        let by = approved_by.unwrap_or_else(|| self.journaling.actor(Role::Policy));
        let run = tasks.next_run();
        tasks.add_tool(&call.id, run, LatestOutput::default(), Stop::NotStarted);
        let records = self.journaling.records_of(conversation, call, by.role, [Event::Started]);
        let call = call.clone();
        self.journaling.commit((self, &self.background), conversation, records, move |this, conversation, written| {
            match written {
                Ok(()) if this.was_cancelled(conversation, &call, run) => {}
                Ok(()) => {
                    let asked = vec![call.clone()];
                    let then = move |this: &Self, conversation: &Conversation, known: &Known| {
                        if !this.was_cancelled(conversation, &call, run) {
                            this.begin(conversation, &call, by, known);
                        }
                    };
                    this.approval.look_up_in_order(&this.background, conversation, asked, then);
                }
                Err(problem) if conversation.tasks.is_run(&call.id, run) => {
                    conversation.tasks.remove_tool(&call.id);
                    not_recorded(this, conversation, &call.id, problem);
                }
                Err(_) => {}
            }
        });
    }

    /// Whether a call whose start is recorded was cancelled in the meantime: it has its result, or stays approved because the editor
    /// exits.
    fn was_cancelled(&self, conversation: &Conversation, call: &OpenCall, run: u64) -> bool {
        if conversation.tasks.is_run(&call.id, run) {
            return false;
        }
        if conversation.stays_approved(call) {
            self.journaling.put_off(conversation, &call.key());
        } else {
            self.journaling.withdraw(conversation, call.key());
        }
        true
    }

    /// Starts the calls that waited for the journal.
    pub(crate) fn start_waiting(&self, conversation: &Conversation) {
        for call in conversation.session.running() {
            if conversation.tasks.take_waiting(&call.id) {
                self.run(conversation, &call);
            }
        }
        self.offer_again(conversation);
    }

    /// The journal cannot be read: the calls that waited for it are pending again. Those of the user interface wait on.
    pub(crate) fn refuse_waiting(&self, conversation: &Conversation, problem: &UserError) {
        for OpenCall { id, .. } in conversation.session.running() {
            if conversation.tasks.take_waiting(&id) {
                self.shared.feed(conversation, [Input::NotStarted { call: id, problem: problem.to_string() }]);
            }
        }
    }

    /// Starts a call whose start is recorded, and of which it is known what the disk says.
    fn begin(&self, conversation: &Conversation, call: &OpenCall, by: Actor, known: &Known) {
        let mut start = Launch { execution: self, conversation, call, by, judged: None };
        let Some(definition) = self.shared.toolbox.get(&call.name) else {
            self.drop_suspended(conversation, &call.id);
            return start.refuse(format!("There is no tool `{}` any more.", call.name));
        };
        let input = match definition.check_input(&call.input) {
            Ok(input) => input.into_owned(),
            Err(problem) => return start.refuse_or_answer(&definition, &problem),
        };
        // The options, the file and links may have changed since the call was decided on.
        let Some(()) = start.check(&definition, &input, known) else { return };
        let (mailbox, id) = (self.background.mailbox.clone(), conversation.id);
        let key = call.key();
        if let Some(tool) = self.contexts.stored_write(conversation, &key) {
            let call = call.clone();
            return start.native(&definition, &tool, input, move |outcome| {
                mailbox.job_for(id, move |this, conversation| this.write_ended(conversation, &call, &outcome));
            });
        }
        // It waited for a decision about another call: the input was edited since.
        self.drop_suspended(conversation, &call.id);
        match &definition.executor {
            Executor::Server(Runner::Native(tool)) => {
                let call = call.id.clone();
                start.native(&definition, tool, input, move |outcome| {
                    mailbox.input(id, Input::ToolFinished { call, answer: outcome.render().into() });
                });
            }
            Executor::Server(Runner::Lua(function)) => {
                let timeout = self.contexts.timeout(&definition);
                start.lua(&definition, *function, &input, timeout, start.finishes());
            }
            Executor::Client(Some(function)) => {
                // Its deadline stands in its block.
                start.lua(&definition, *function, &input, seconds::LONGEST_WAIT, start.resolves());
            }
            // Something else in the editor was told of the call, and resolves it.
            Executor::Client(None) => {}
            Executor::Human | Executor::Provider => {
                start.refuse(format!("There is no tool `{}` any more.", call.name));
            }
        }
    }

    /// Stops a run of a tool written in Lua when it has taken this long.
    pub(crate) fn watch_time(
        &self,
        conversation: &Conversation,
        call: &CallId,
        run: u64,
        timeout: Duration,
    ) -> Option<AbortHandle> {
        let call = call.clone();
        self.background.later_for(conversation.id, timeout, move |this, conversation| {
            this.stop_late(conversation, &call, run, timeout);
        })
    }

    /// A call whose start was recorded has done nothing, and waits again.
    pub(crate) fn did_not_start(&self, conversation: &Conversation, call: &OpenCall) {
        conversation.tasks.remove_tool(&call.id);
        conversation.tasks.forget_judged(&call.key());
        self.journaling.withdraw(conversation, call.key());
    }

    /// Nothing was written, because the user has approved something else than what a call would write now. It waits again.
    pub(crate) fn is_outdated(&self, conversation: &Conversation, (call, run): (&OpenCall, u64), why: &UserError) {
        if !conversation.tasks.is_run(&call.id, run) {
            // It was cancelled in the meantime, and has its result.
            return;
        }
        self.did_not_start(conversation, call);
        conversation.proposals.doubt(&call.key());
        let what = if self.calls.is_proposing(conversation, call) { "nothing was written" } else { "nothing was read" };
        self.shared.feed(conversation, [Input::Outdated { call: call.id.clone(), problem: format!("{what}: {why}") }]);
        let open = conversation.page.open_call(&call.id);
        if let Some(fence) = open.and_then(|open| open.placeholder).map(|placeholder| placeholder.fence) {
            self.shared.host.perform(HostEffect::Unfold { buffer: conversation.buffer, line: fence });
        }
    }

    /// A client tool has answered.
    pub(crate) fn client_answered(&self, conversation: &Conversation, call: &OpenCall, rendered: Rendered) {
        let mistakes = (!rendered.is_error)
            .then(|| self.shared.toolbox.get(&call.name)?.check_answer(&value_of(&rendered)).err())
            .flatten();
        let resolution = match mistakes {
            Some(mistakes) => Resolution::Fail(format!(
                "The result of the client tool `{}` does not match its result_schema:\n{}",
                call.name,
                mistakes.list()
            )),
            None => Resolution::Result(rendered.into()),
        };
        self.shared.resolve(conversation, &call.id, resolution, Role::Client);
    }

    /// Stops a running tool.
    pub(crate) fn stop_tool(&self, conversation: &Conversation, call: &CallId) {
        self.tell_thrown(call, conversation.tasks.stop_tool(call));
    }

    /// Tells of what a tool threw when it was stopped.
    pub(crate) fn tell_thrown(&self, call: &CallId, stopped: Result<(), LuaError>) {
        if let Err(thrown) = stopped {
            let message = format!("a tool threw an error when its call {call} was stopped: {thrown}");
            self.shared.log(Level::Error, &message);
            self.shared.host.notify(Level::Warn, &message);
        }
    }

    /// The time of a tool written in Lua is up.
    pub(crate) fn stop_late(&self, conversation: &Conversation, call: &CallId, run: u64, limit: Duration) {
        if !conversation.tasks.is_run(call, run) {
            return;
        }
        let words = format!(
            "The tool did not answer within {} and was stopped. What it had done by then, such as a file that it had written, stays \
             done.",
            seconds::in_words(limit)
        );
        if conversation.tasks.end_after_write(call, &words) {
            return;
        }
        self.stop_tool(conversation, call);
        self.shared.feed(conversation, [Input::ToolFinished { call: call.clone(), answer: CallResult::error(words) }]);
    }

    /// Calls that the user interface was to run, and that it could not begin to run.
    pub(crate) fn offer_again(&self, conversation: &Conversation) {
        for call in conversation.page.open_calls() {
            if conversation.tasks.take_waiting(&call.id) {
                self.offer(conversation, &call);
            }
        }
    }

    /// A call has arrived, and is not in the document yet: the journal is told before a file can have it. It is new, whatever the
    /// journal holds of calls with its key.
    ///
    /// Vendors reuse ids. The user may have deleted the call before, or its whole conversation: what was decided about that one, and
    /// what came of it, is not about this one. Only a run without an end is not forgotten. A call that is only read from a file is the
    /// one that the journal knows.
    pub(crate) fn note_new(&self, conversation: &Conversation, call: &CallId, tool: &str, input: &ToolInput) {
        // As the document will have them.
        let key = CallKey::of(&CallId(plain(&call.0)), &plain(tool), input);
        let records = &conversation.records;
        self.drop_suspended(conversation, &key.id);
        conversation.tasks.forget_judged(&key);
        let life = records.life(&key);
        if life == Life::Unknown && records.with_ledger(|ledger| ledger.of(&key).asked.is_none()) {
            return;
        }
        let result = RecordedResult { output: REPLACED.to_owned(), is_error: true, ..RecordedResult::default() };
        let end = match life {
            // It may have run, and the editor ended before the file had it: this may be the same call again. So the user is asked.
            Life::Open { started: Some(_), .. } => Some(Event::WentOn),
            Life::Open { started: None, .. } => Some(Event::Resolved(result)),
            // The same, and its result is known.
            Life::Ended if records.is_lost(&key) => return,
            Life::Unknown | Life::Ended => None,
        };
        let events = end.into_iter().chain([Event::Opened]);
        let records = events.map(|event| self.journaling.record(conversation, key.clone(), event, Role::Document));
        self.journaling.note(conversation, records.collect());
    }

    /// A result as it is written: the one place that every result passes on its way into the document. One that is too long is cut,
    /// and the whole is saved. What the user has typed into the block of the call is theirs, and stays whole.
    pub(crate) fn bounded(&self, conversation: &Conversation, id: &CallId, answer: CallResult) -> CallResult {
        if overflow::fits(&answer.output) {
            return answer;
        }
        let call = conversation.page.open_call(id);
        let typed = call.as_ref().map_or("", |call| call.typed());
        if !typed.is_empty() && answer.output.trim_end() == typed.trim_end() {
            return answer;
        }
        let mailbox = self.background.mailbox.clone();
        let tool = call.as_ref().map_or("", |call| &call.name);
        let saved = self.shared.outputs.save(tool, answer.output.clone(), move |error| {
            mailbox.job(move |this: &Self| {
                this.shared.log(Level::Warn, &format!("the full output of a tool could not be saved: {error}"));
            });
        });
        let (shown, note) = overflow::beginning(answer.output.as_bytes(), &saved);
        // A part of JSON is none.
        let language = if answer.language == Language::Json { Language::Plain } else { answer.language };
        CallResult { output: format!("{shown}\n\n[{note}]"), language, ..answer }
    }

    /// Runs a command in the background, in the working directory of this process if the request names none. `callback`
    /// hears of its end, once and never before this has returned; a request that is wrong is such an end as well. Cancelling
    /// the token stops the command.
    pub fn run_command(&self, request: Result<CommandRequest, ModelError>, callback: LuaRef) -> CancellationToken {
        let stop = CancellationToken::new();
        if let Err(problem) = request.and_then(|request| self.start_command(request, callback, stop.clone())) {
            let result = CommandResult::not_started(problem);
            self.background.mailbox.job(move |this: &Self| this.shared.scripts.command_ended(callback, result));
        }
        stop
    }

    fn start_command(
        &self,
        mut request: CommandRequest,
        callback: LuaRef,
        stop: CancellationToken,
    ) -> Result<(), ModelError> {
        if request.cwd.is_none() {
            // The user may be elsewhere by the time that it starts.
            request.cwd = env::current_dir().ok();
        }
        let bash = self.shared.config().tools.options_of("bash");
        let kept = bash.get("keep_env").and_then(|kept| kept.as_array()).into_iter().flatten();
        request.keep_env.extend(kept.filter_map(|name| name.as_str()).map(str::to_owned));
        let (mailbox, outputs) = (self.background.mailbox.clone(), self.shared.outputs.folder().to_owned());
        let started = self.background.worker.spawn(async move {
            let result = run_command(request, stop, outputs).await;
            mailbox.job(move |this: &Self| this.shared.scripts.command_ended(callback, result));
        });
        started.map(drop).map_err(|error| ModelError::new(format!("The command could not be started: {error}.")))
    }
}
