//! Runs calls: tools written in Rust as tasks, tools written in Lua on the main thread, client tools in the editor's user
//! interface. A call runs only when its start is on the disk.

pub(crate) mod arriving;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod latest_output;
pub(crate) mod launch;
pub(crate) mod lua_outcome;
pub(crate) mod outputs;
pub(crate) mod tasks;
pub(crate) mod tool_answer;
pub(crate) mod waiting_writes;

use std::{rc::Rc, time::Duration};

use tokio::task::AbortHandle;

use crate::{
    Conversation, HostEffect,
    approval::{Approval, permissions::Permissions},
    background::Background,
    calls::{OpenCalls, key::Keyed as _},
    execution::{context::ToolContexts, latest_output::LatestOutput, launch::Launch, tasks::Stop},
    journaling::Journaling,
    options::Frontmatter,
    resolutions::{Resolution, answers::value_of, starts::Starts},
    reviews::Reviews,
    shared::Shared,
    undo::Undo,
};
use flemma_agent::{CallResult, Input, Level};
use flemma_chat::OpenCall;
use flemma_journal::{Actor, CallKey, Event, Role};
use flemma_model::{CallId, UserError};
use flemma_tools::{Executor, Rendered, Runner, seconds};

/// The tools that run.
pub struct Execution {
    /// What all components share.
    pub shared: Rc<Shared>,
    pub(crate) background: Background<Self>,
    pub(crate) frontmatter: Rc<Frontmatter>,
    pub(crate) permissions: Rc<Permissions>,
    pub(crate) journaling: Rc<Journaling>,
    pub(crate) undo: Rc<Undo>,
    pub(crate) contexts: Rc<ToolContexts>,
    pub(crate) approval: Rc<Approval>,
    pub(crate) calls: Rc<OpenCalls>,
    pub(crate) starts: Rc<Starts>,
    pub(crate) reviews: Rc<Reviews>,
}

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
            if let Some(problem) = self.shared.host.write_now(conversation.buffer()) {
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
        let by = records.approved_by(&key).unwrap_or_else(|| self.journaling.actor(Role::Policy));
        if records.take_start(&key) {
            return self.begin(conversation, call, by);
        }
        let run = tasks.next_run();
        tasks.add_tool(&call.id, run, LatestOutput::default(), Stop::NotStarted);
        let records = self.journaling.records_of(conversation, call, by.role, [Event::Started]);
        let call = call.clone();
        self.journaling.commit((self, &self.background), conversation, records, move |this, conversation, written| {
            if !conversation.tasks.is_run(&call.id, run) {
                // It was cancelled in the meantime, and has its result, or stays approved because the editor exits.
                let key = CallKey::of(&call.id, &call.name, &call.input);
                if written.is_ok() && conversation.stays_approved(&call) {
                    this.starts.put_off(conversation, [key]);
                }
                return;
            }
            match written {
                Ok(()) => this.begin(conversation, &call, by),
                Err(problem) => {
                    conversation.tasks.remove_tool(&call.id);
                    not_recorded(this, conversation, &call.id, problem);
                }
            }
        });
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

    /// Starts a call whose start is recorded.
    fn begin(&self, conversation: &Conversation, call: &OpenCall, by: Actor) {
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
        let Ok(()) = start.check(&definition, &input) else { return };
        let (mailbox, id) = (self.background.mailbox().clone(), conversation.id());
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
        let (mailbox, id, call) = (self.background.mailbox().clone(), conversation.id(), call.clone());
        let expire = move || {
            mailbox.job_for(id, move |this, conversation| {
                this.stop_late(conversation, &call, run, timeout);
            });
        };
        self.background.worker().later(timeout, expire).ok()
    }

    /// Nothing was written, because the user has approved something else than what a call would write now. It waits again.
    pub(crate) fn is_outdated(&self, conversation: &Conversation, (call, run): (&OpenCall, u64), why: &UserError) {
        if !conversation.tasks.is_run(&call.id, run) {
            // It was cancelled in the meantime, and has its result.
            return;
        }
        conversation.tasks.remove_tool(&call.id);
        let key = call.key();
        conversation.tasks.forget_judged(&key);
        conversation.proposals.doubt(&key);
        self.starts.withdraw(conversation, [key.clone()]);
        let what = if self.calls.is_proposing(conversation, call) { "nothing was written" } else { "nothing was read" };
        self.shared.feed(conversation, [Input::Outdated { call: call.id.clone(), problem: format!("{what}: {why}") }]);
        let open = conversation.page.open_call(&call.id);
        if let Some(fence) = open.and_then(|open| open.placeholder).map(|placeholder| placeholder.fence) {
            self.shared.host.perform(HostEffect::Unfold { buffer: conversation.buffer(), line: fence });
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
        if let Err(thrown) = conversation.tasks.stop_tool(call) {
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
}
