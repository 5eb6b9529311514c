//! The start of a tool: the last check of its call, and how its result comes back.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, future::OptionFuture};
use serde_json::Value;

use crate::{
    Conversation,
    approval::lookups::Known,
    calls::key::Keyed as _,
    components::Execution,
    execution::{
        lua_outcome::{Deliver, FilePlaces, ToolAnswer},
        tasks::{LatestOutput, Stop},
    },
    ports::ToolRun,
    resolutions::Resolution,
};
use flemma_agent::{CallResult, Input, Verdict};
use flemma_chat::OpenCall;
use flemma_journal::{Actor, Role};
use flemma_model::{CallId, ModelError, UserError};
use flemma_text::escape_controls;
use flemma_tools::{Approved, Concern, Context, Definition, Judged, LuaRef, NativeTool, Outcome, Rendered, seconds};

/// What the model is told of a call that a policy denies when it starts.
const DENIED: &str = "The user's policy denies this call; it did not run.";

/// Why a call waits that a policy had approved.
const NOT_APPROVED: &str = "your rules approved this call earlier. Now it would use other files, or they no longer approve it, so it waits for you";

/// The same of a path that the user had approved.
const LEADS_ELSEWHERE: &str = "led elsewhere when this call was approved, and leads to";

/// A call that starts.
pub(crate) struct Launch<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) conversation: &'a Conversation,
    pub(crate) call: &'a OpenCall,
    pub(crate) by: Actor,
    /// Which files were judged.
    pub(crate) judged: Option<Arc<Judged>>,
}

impl Launch<'_> {
    /// Judges the call again. What a policy has approved, it has to approve now; what the user has approved, the agents have to permit,
    /// and it has to lead where it led then. `None` if the call does not start: it is answered, or waits again.
    pub(crate) fn check(&mut self, definition: &Arc<Definition>, input: &Value, known: &Known) -> Option<()> {
        let (execution, conversation, call) = (self.execution, self.conversation, self.call);
        let is_by_policy = self.by.role == Role::Policy;
        let judged = if is_by_policy {
            execution.approval.judge_start(conversation, call, known)
        } else {
            let questions = execution.approval.questions_of(conversation, definition, call, input);
            execution.permissions.check_permitted(&questions, &known.disk(&call.id))
        };
        let judged = judged.map_err(|verdict| self.not_approved(definition, verdict)).ok()?;
        if is_by_policy {
            self.judged = Some(Arc::new(judged));
            return Some(());
        }
        let key = call.key();
        let bound = conversation.records.with_ledger(|ledger| ledger.bound(&key).cloned()).unwrap_or_default();
        if let Some((path, place)) = judged.strays_from(&bound.places) {
            let [path, place] = [path, place].map(|path| path.to_string_lossy());
            let problem = format!("{path} {LEADS_ELSEWHERE} {place} now; look at it");
            self.waits_again(|call| Input::Outdated { call, problem: escape_controls(&problem).into_owned() });
            return None;
        }
        self.judged = Some(Arc::new(judged.by_user()));
        Some(())
    }

    /// A call does not run. One that somebody else answers ends as they would have ended it.
    pub(crate) fn refuse_or_answer(&self, definition: &Definition, problem: &ModelError) {
        if definition.executor.is_answered() {
            let failure = Resolution::Fail(problem.to_string());
            self.execution.shared.resolve(self.conversation, &self.call.id, failure, Role::Client);
        } else {
            self.refuse(problem.to_string());
        }
    }

    /// The call is not approved any more, or not permitted.
    fn not_approved(&self, definition: &Definition, verdict: Verdict) {
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
    }

    /// What a native tool may know and use.
    fn context(&self, definition: &Definition) -> Context {
        let (execution, conversation) = (self.execution, self.conversation);
        let mut context = execution.contexts.tool_context(conversation, definition);
        context.recorder = execution.undo.recorder(conversation, self.call);
        let key = self.call.key();
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
    pub(crate) fn native(
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
        let mailbox = self.execution.background.mailbox.clone();
        let (conversation, call) = (self.conversation.id, self.call.clone());
        let name = call.name.clone();
        // Calls that write do so in the order in which they were approved.
        let turn = tool.is_proposing().then(|| tasks.next_write());
        let started = self.execution.background.worker.spawn(async move {
            let _done = OptionFuture::from(turn).await;
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
                            conversation.proposals.wait_for_save(&call.key(), buffer);
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
    pub(crate) fn lua(
        &self,
        definition: &Definition,
        function: LuaRef,
        input: &Value,
        timeout: Duration,
        deliver: Deliver,
    ) {
        let (execution, call, tasks) = (self.execution, self.call, &self.conversation.tasks);
        let background = &execution.background;
        let (run, latest) = (tasks.next_run(), LatestOutput::default());
        let threads = background.worker.handle().ok();
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
            buffer: self.conversation.buffer,
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
    pub(crate) fn finishes(&self) -> Deliver {
        let mailbox = self.execution.background.mailbox.clone();
        let (conversation, call) = (self.conversation.id, self.call.id.clone());
        Arc::new(move |rendered: Rendered| {
            mailbox.input(conversation, Input::ToolFinished { call: call.clone(), answer: rendered.into() });
        })
    }

    /// The answer of a client tool resolves its call, as an answer from outside does.
    pub(crate) fn resolves(&self) -> Deliver {
        let mailbox = self.execution.background.mailbox.clone();
        let (id, call) = (self.conversation.id, self.call.clone());
        Arc::new(move |rendered: Rendered| {
            let call = call.clone();
            mailbox.job_for(id, move |this, conversation| {
                this.client_answered(conversation, &call, rendered);
            });
        })
    }

    /// Answers a call that cannot be run.
    pub(crate) fn refuse(&self, error: String) {
        let answer = CallResult::error(error);
        let input = Input::ToolFinished { call: self.call.id.clone(), answer };
        self.execution.background.mailbox.input(self.conversation.id, input);
    }

    /// A call does not run. It waits again, and `input` says why.
    fn waits_again(&self, input: impl FnOnce(CallId) -> Input) {
        let (execution, conversation) = (self.execution, self.conversation);
        execution.did_not_start(conversation, self.call);
        // A client tool's call does not wait for the editor any more.
        execution.journaling.take_back(conversation, [self.call.key()]);
        execution.background.mailbox.input(conversation.id, input(self.call.id.clone()));
    }

    /// Tells the user, once for each tool, that it holds up the editor for longer than it may take at all: it cannot be
    /// stopped.
    fn report_if_slow(&self, took: Duration, limit: Duration) {
        let tool = &self.call.name;
        if took <= limit || !self.execution.shared.toolbox.slow.borrow_mut().insert(tool.clone()) {
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
