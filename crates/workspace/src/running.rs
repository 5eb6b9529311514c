//! Runs calls: tools written in Rust as tasks, tools written in Lua on the main thread, client tools in the editor's user
//! interface. A call runs only when its start is on the disk.

use std::{
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use serde_json::Value;
use tokio::task::AbortHandle;

use super::{
    Conversation, HostEffect,
    answers::value_of,
    background::Background,
    call_key::Keyed as _,
    frontmatter::Frontmatter,
    journaling::Journaling,
    latest_output::LatestOutput,
    lookups::{unanswered, unanswered_for_model},
    lua_outcome::FilePlaces,
    permissions::{NotPermitted, Permissions},
    ports::ToolRun,
    proposing::Reviews,
    resolution::Resolution,
    shared::Shared,
    standing::Calls,
    starts::Starts,
    taking_back::Undo,
    tasks::Stop,
    tool_answer::{Deliver, ToolAnswer},
    tool_context::ToolContexts,
    verdict::Approval,
};
use flemma_agent::{CallResult, Input, Level, Verdict};
use flemma_chat::OpenCall;
use flemma_journal::{Actor, CallKey, Event, Role};
use flemma_model::{CallId, ModelError, UserError};
use flemma_text::escape_controls;
use flemma_tools::{
    Approved, Concern, Context, Definition, Executor, Judged, LuaRef, NativeTool, Outcome, Rendered, Runner, seconds,
};

/// What the model is told of a call that a policy denies when it starts.
const DENIED: &str = "The user's policy denies this call; it did not run.";

/// Why a call waits that a policy had approved.
const NOT_APPROVED: &str = "your rules approved this call before, and it would use other files now or is not approved any more, so it \
     waits for you";

/// The same of a path that the user had approved.
const LEADS_ELSEWHERE: &str = "led elsewhere when this call was approved, and leads to";

/// The tools that run.
pub struct Execution {
    /// What all components share.
    pub shared: Rc<Shared>,
    pub(super) background: Background<Self>,
    pub(super) frontmatter: Rc<Frontmatter>,
    pub(super) permissions: Rc<Permissions>,
    pub(super) journaling: Rc<Journaling>,
    pub(super) undo: Rc<Undo>,
    pub(super) contexts: Rc<ToolContexts>,
    pub(super) approval: Rc<Approval>,
    pub(super) calls: Rc<Calls>,
    pub(super) starts: Rc<Starts>,
    pub(super) reviews: Rc<Reviews>,
}

impl Execution {
    /// Runs a call, once the journal is read and its start is recorded.
    pub(super) fn run(&self, conversation: &Conversation, call: &OpenCall) {
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
    pub(super) fn offer(&self, conversation: &Conversation, call: &OpenCall) {
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
    pub(super) fn start_waiting(&self, conversation: &Conversation) {
        for call in conversation.session.running() {
            if conversation.tasks.take_waiting(&call.id) {
                self.run(conversation, &call);
            }
        }
        self.offer_again(conversation);
    }

    /// The journal cannot be read: the calls that waited for it are pending again. Those of the user interface wait on.
    pub(super) fn refuse_waiting(&self, conversation: &Conversation, problem: &UserError) {
        for OpenCall { id, .. } in conversation.session.running() {
            if conversation.tasks.take_waiting(&id) {
                self.shared.feed(conversation, [Input::NotStarted { call: id, problem: problem.to_string() }]);
            }
        }
    }

    /// Starts a call whose start is recorded.
    fn begin(&self, conversation: &Conversation, call: &OpenCall, by: Actor) {
        let mut start = Start { execution: self, conversation, call, by, judged: None };
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
}

/// A call that starts.
struct Start<'a> {
    execution: &'a Execution,
    conversation: &'a Conversation,
    call: &'a OpenCall,
    by: Actor,
    /// Which files were judged.
    judged: Option<Arc<Judged>>,
}

/// The start of a call is over before it begins: it is answered, or waits again.
struct Ended;

impl Start<'_> {
    /// Judges the call again. What a policy has approved, it has to approve now; what the user has approved, the agents have to permit,
    /// and it has to lead where it led then.
    ///
    /// # Errors
    /// If the call does not start.
    fn check(&mut self, definition: &Definition, input: &Value) -> Result<(), Ended> {
        let (execution, conversation, call) = (self.execution, self.conversation, self.call);
        if self.by.role == Role::Policy {
            let judged = execution.approval.judge_start(conversation, call);
            self.judged = Some(Arc::new(judged.map_err(|verdict| self.not_approved(definition, verdict))?));
            return Ok(());
        }
        let questions = execution.approval.questions_of(conversation, definition, call, input);
        let problem = match execution.permissions.check_permitted(&questions) {
            Ok(judged) => {
                let key = call.key();
                let bound = conversation.records.with_ledger(|ledger| ledger.bound(&key).cloned()).unwrap_or_default();
                if let Some((path, place)) = judged.strays_from(&bound.places) {
                    let [path, place] = [path, place].map(|path| path.to_string_lossy());
                    let problem = format!("{path} {LEADS_ELSEWHERE} {place} now; look at it");
                    self.waits_again(|call| Input::Outdated { call, problem: escape_controls(&problem).into_owned() });
                    return Err(Ended);
                }
                self.judged = Some(Arc::new(judged.by_user()));
                return Ok(());
            }
            Err(NotPermitted::Unclear(silent)) if !definition.executor.is_answered() => {
                self.waits_again(|call| Input::NotStarted { call, problem: unanswered(&silent) });
                return Err(Ended);
            }
            Err(NotPermitted::Unclear(silent)) => unanswered_for_model(&silent),
            Err(NotPermitted::Forbidden(problem)) => problem,
        };
        execution.permissions.log_not_permitted(&call.name, &problem);
        self.refuse_or_answer(definition, &problem);
        Err(Ended)
    }

    /// A call does not run. One that somebody else answers ends as they would have ended it.
    fn refuse_or_answer(&self, definition: &Definition, problem: &ModelError) {
        if definition.executor.is_answered() {
            let failure = Resolution::Fail(problem.to_string());
            self.execution.shared.resolve(self.conversation, &self.call.id, failure, Role::Client);
        } else {
            self.refuse(problem.to_string());
        }
    }

    /// A policy does not approve the call any more.
    fn not_approved(&self, definition: &Definition, verdict: Verdict) -> Ended {
        match verdict {
            Verdict::Deny => self.refuse_or_answer(definition, &ModelError::new(DENIED)),
            Verdict::Invalid(problem) => self.refuse_or_answer(definition, &problem),
            Verdict::Unclear(problem) if definition.executor.is_answered() => {
                self.refuse_or_answer(definition, &ModelError::new(problem));
            }
            Verdict::Unclear(problem) => self.waits_again(|call| Input::NotStarted { call, problem }),
            Verdict::Run | Verdict::Ask => {
                self.waits_again(|call| Input::Outdated { call, problem: NOT_APPROVED.to_owned() });
            }
        }
        Ended
    }

    /// What a native tool may know and use.
    fn context(&self, definition: &Definition) -> Context {
        let (execution, conversation) = (self.execution, self.conversation);
        let mut context = execution.contexts.tool_context(conversation, definition);
        context.recorder = execution.undo.recorder(conversation, self.call);
        let key = CallKey::of(&self.call.id, &self.call.name, &self.call.input);
        let approved = execution.contexts.approved(conversation, &key);
        let first = conversation.proposals.take_first(&key);
        context.approved = approved.map(|approved| Arc::new(Approved { first, ..approved }));
        context.is_decided = self.by.role != Role::Policy;
        context.lua = execution.shared.scripts.sandbox();
        // What is written then belongs to that run.
        if let Some(seen) = conversation.tasks.seen_by_suspended(&key) {
            context.seen = seen;
        }
        context.judged = self.judged.clone();
        context
    }

    /// Runs a tool written in Rust, off the main thread. `finish` gets what it says at its end.
    fn native(
        &self,
        definition: &Definition,
        tool: &Arc<dyn NativeTool>,
        input: Value,
        finish: impl FnOnce(Outcome) + Send + 'static,
    ) {
        let mut context = self.context(definition);
        let latest = LatestOutput::default();
        let progress = latest.clone();
        context.progress = Arc::new(move |text| progress.put(&text));
        let (cancel, commitment) = (context.cancel.clone(), context.commitment.clone());
        let tasks = &self.conversation.tasks;
        let run = tasks.next_run();
        tasks.add_tool(&self.call.id, run, latest, Stop::Native(cancel));
        tasks.begin_write(&self.call.id, run, commitment.clone());
        let future = Arc::clone(tool).run(input, context);
        let mailbox = self.execution.background.mailbox().clone();
        let (conversation, call) = (self.conversation.id(), self.call.clone());
        let name = call.name.clone();
        // Calls that write do so in the order in which they were approved.
        let turn = tool.is_proposing().then(|| tasks.next_write());
        let started = self.execution.background.worker().spawn(async move {
            let (before, _done) = turn.unzip();
            if let Some(before) = before.flatten() {
                let _ = before.await;
            }
            let outcome = AssertUnwindSafe(future).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| {
                Outcome::failure(ModelError::new(format!(
                    "The tool `{name}` crashed. This is a bug in Flemma, not in the call."
                )))
            });
            if commitment.is_dropped() {
                // It has its result; what still came could meet a later call with the same id.
                return;
            }
            match outcome {
                Outcome::Outdated(why) => {
                    mailbox.job_for(conversation, move |this, conversation| {
                        this.is_outdated(conversation, (&call, run), &why);
                    });
                }
                Outcome::Asks(Concern { words, unsaved }) => {
                    mailbox.job_for(conversation, move |this, conversation| {
                        if let Some(buffer) = unsaved {
                            let key = CallKey::of(&call.id, &call.name, &call.input);
                            conversation.proposals.wait_for_save(&key, buffer);
                        }
                        this.is_outdated(conversation, (&call, run), &UserError::new(words));
                        // It may have been saved meanwhile.
                        this.reviews.check_proposals_of(conversation);
                    });
                }
                outcome => finish(outcome),
            }
        });
        if let Err(error) = started {
            self.refuse(format!("The tool `{}` could not start: {error}.", self.call.name));
        }
    }

    /// Runs a tool written in Lua: here and now, on the main thread.
    fn lua(&self, definition: &Definition, function: LuaRef, input: &Value, timeout: Duration, deliver: Deliver) {
        let (execution, call, tasks) = (self.execution, self.call, &self.conversation.tasks);
        let background = &execution.background;
        let (run, latest) = (tasks.next_run(), LatestOutput::default());
        let threads = background.worker().handle().ok();
        let place = execution.shared.place(self.conversation);
        let places = FilePlaces {
            outputs: execution.shared.outputs.folder().to_owned(),
            folder: place.folder(),
            denied: Arc::new(execution.permissions.denied(self.conversation)),
            permitted: Arc::new(execution.permissions.permitted(self.conversation)),
        };
        let answer = ToolAnswer::new(call.name.clone(), deliver, threads, places);
        // What it asks for at once belongs to this run.
        tasks.add_tool(&call.id, run, latest.clone(), Stop::Begins);
        tasks.set_judged(&call.id, self.judged.clone());
        let begun = Instant::now();
        let function = execution.shared.scripts.start(ToolRun {
            buffer: self.conversation.buffer(),
            definition,
            call,
            input,
            run,
            function,
            timeout,
            resolved_by: self.by.clone(),
            is_resolved_here: self.by == execution.journaling.actor(self.by.role),
            latest: latest.clone(),
            answer: answer.clone(),
        });
        self.report_if_slow(begun.elapsed(), timeout);
        let timer = execution.watch_time(self.conversation, &call.id, run, timeout);
        tasks.add_tool(&call.id, run, latest, Stop::Lua { answer, function, timer });
    }

    /// The answer of a server tool finishes its run.
    fn finishes(&self) -> Deliver {
        let mailbox = self.execution.background.mailbox().clone();
        let (conversation, call) = (self.conversation.id(), self.call.id.clone());
        Arc::new(move |rendered: Rendered| {
            mailbox.input(conversation, Input::ToolFinished { call: call.clone(), answer: rendered.into() });
        })
    }

    /// The answer of a client tool resolves its call, as an answer from outside does.
    fn resolves(&self) -> Deliver {
        let mailbox = self.execution.background.mailbox().clone();
        let (id, call) = (self.conversation.id(), self.call.clone());
        Arc::new(move |rendered: Rendered| {
            let call = call.clone();
            mailbox.job_for(id, move |this, conversation| {
                this.client_answered(conversation, &call, rendered);
            });
        })
    }

    /// Answers a call that cannot be run.
    fn refuse(&self, error: String) {
        let answer = CallResult::error(error);
        let input = Input::ToolFinished { call: self.call.id.clone(), answer };
        self.execution.background.mailbox().input(self.conversation.id(), input);
    }

    /// A call does not run. It waits again, and `input` says why.
    fn waits_again(&self, input: impl FnOnce(CallId) -> Input) {
        let (execution, conversation) = (self.execution, self.conversation);
        conversation.tasks.remove_tool(&self.call.id);
        let key = self.call.key();
        conversation.tasks.forget_judged(&key);
        execution.starts.withdraw(conversation, [key.clone()]);
        // A client tool's call does not wait for the editor any more.
        execution.starts.take_back(conversation, vec![key], Vec::new());
        execution.background.mailbox().input(conversation.id(), input(self.call.id.clone()));
    }

    /// Tells the user, once for each tool, that it holds up the editor for longer than it may take at all: it cannot be
    /// stopped.
    fn report_if_slow(&self, took: Duration, limit: Duration) {
        let tool = &self.call.name;
        if took <= limit || !self.execution.shared.toolbox.is_news_that_slow(tool) {
            return;
        }
        self.execution.shared.warn(&format!(
            "the tool `{tool}` held up Neovim for {:.2} s, and its limit is {}. A tool that takes long sets `async = true` \
             and answers by its callback.",
            took.as_secs_f64(),
            seconds::in_words(limit)
        ));
    }
}

impl Execution {
    /// Stops a run of a tool written in Lua when it has taken this long.
    pub(super) fn watch_time(
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
    fn is_outdated(&self, conversation: &Conversation, (call, run): (&OpenCall, u64), why: &UserError) {
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
        if let Some(fence) = conversation.page.result_line(&call.id) {
            self.shared.host.perform(HostEffect::Unfold { buffer: conversation.buffer(), line: fence });
        }
    }
}

impl Execution {
    /// A client tool has answered.
    pub(super) fn client_answered(&self, conversation: &Conversation, call: &OpenCall, rendered: Rendered) {
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
    pub(super) fn stop_tool(&self, conversation: &Conversation, call: &CallId) {
        if let Err(thrown) = conversation.tasks.stop_tool(call) {
            let message = format!("a tool threw an error when its call {call} was stopped: {thrown}");
            self.shared.log(Level::Error, &message);
            self.shared.host.notify(Level::Warn, &message);
        }
    }

    /// The time of a tool written in Lua is up.
    pub(super) fn stop_late(&self, conversation: &Conversation, call: &CallId, run: u64, limit: Duration) {
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
    pub(super) fn offer_again(&self, conversation: &Conversation) {
        for call in conversation.page.open_calls() {
            if conversation.tasks.take_waiting(&call.id) {
                self.offer(conversation, &call);
            }
        }
    }
}
