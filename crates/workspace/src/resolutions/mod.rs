//! The one way in which a call that waits is resolved: by a key, a command, Lua, the user interface or the clock.
//!
//! A resolution is checked against what the call really waits for, recorded and flushed ([`crate::journaling`]), written into
//! the document, and only then may the next turn start. The first one wins: to all others the call is stale.

pub(crate) mod answers;
pub(crate) mod deadlines;
pub(crate) mod prepare;
pub(crate) mod stale;
pub(crate) mod written;

use std::{
    mem,
    sync::mpsc::{self, TryRecvError},
    time::Duration,
};

use serde_json::Value;
use thiserror::Error;

use crate::{
    Conversation,
    approval::lookups::Known,
    calls::{Standing, key::Keyed as _},
    components::Resolutions,
    event::{LoopEvent, Reply},
    journaling::records::Claim,
    resolutions::{prepare::resolved, stale::Stale},
    trust::Wish,
};
use flemma_agent::{CallResult, Choice, Input, Level, ResolvedBy, UndoStep};
use flemma_chat::{AwaitKind, OpenCall};
use flemma_journal::{Binding, CallKey, Event, Record, Role};
use flemma_model::{CallId, UserError};

/// How long a caller that waits for the acknowledgement waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the user is told whose key comes before another one has its effect.
pub(crate) const BEING_RECORDED: &str = "a decision waits for the disk; it takes effect when that has answered";

/// What becomes of a call that waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// It may run.
    Approve,
    /// It may run, also if it was started before and interrupted.
    ApproveAgain,
    /// It may run, and write what the user was shown and has made of it.
    ApproveAs(Binding),
    /// It would fail, and this is why: there is nothing to decide about.
    Impossible(String),
    /// It may not run, or the user does not answer. The text, if there is one, tells the model why.
    Reject(Option<String>),
    /// The answer, which is the result.
    Answer(Value),
    /// There is no answer, and this is why.
    Fail(String),
    /// A result that is ready to be written.
    Result(CallResult),
    /// Nobody resolved it in time.
    Expire,
}

/// Why a call was not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// There is no such call, it has its result, its time is over, or it does not wait for this.
    #[error("stale")]
    Stale(Stale),
    /// The answer is not one that the tool accepts, or the document cannot take it.
    #[error("{0}")]
    Invalid(String),
    /// Another process holds the conversation, it or its journal is not read, or nothing can be recorded.
    #[error(transparent)]
    NotNow(#[from] UserError),
}

impl ResolveError {
    /// The same in words that name the reason, for the command line.
    pub fn explained(&self) -> String {
        match self {
            Self::Stale(why) => format!("stale: {why}"),
            other => other.to_string(),
        }
    }
}

/// A resolution that was checked, and whose call nobody else can resolve now.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) call: OpenCall,
    pub(crate) role: Role,
    /// What an approval is for, apart from where its files are.
    pub(crate) shown: Option<Binding>,
    pub(crate) events: Vec<Event>,
    pub(crate) input: Input,
    /// What its tool hears if it waits with what it wants to write: why nothing of that is written.
    pub(crate) refusal: Option<String>,
    /// How often the user had stopped everything by then.
    pub(crate) cancellations: u64,
    /// Whether a program waits for the outcome, and hears of it before the next turn starts.
    pub(crate) is_awaited: bool,
}

impl Prepared {
    pub(crate) fn key(&self) -> CallKey {
        self.call.key()
    }

    /// Whether it lets a call run.
    pub(crate) fn is_approval(&self) -> bool {
        is_approval(&self.input)
    }
}

pub(crate) fn is_approval(input: &Input) -> bool {
    matches!(input, Input::Decide(_, Choice::Approve, _))
}

impl Resolutions {
    /// Resolves a call. `reply` hears of the end once the resolution is on the disk and in the document.
    pub(crate) fn resolve_call(
        &self,
        conversation: &Conversation,
        call: &CallId,
        resolution: Resolution,
        role: Role,
        reply: Reply,
    ) {
        if role == Role::User
            && let Resolution::Reject(words) = &resolution
            && conversation.records.overrule(call, words.as_deref())
        {
            return self.shared.tell(LoopEvent::Reply(reply, Ok(())));
        }
        match self.prepare(conversation, call, resolution, role) {
            Ok(prepared) => self.record(conversation, vec![prepared], |this, conversation, prepared, written| {
                let resolved = written.and_then(|written| this.apply(conversation, prepared, None, written));
                this.shared.tell(LoopEvent::Reply(reply, resolved));
            }),
            Err(error) => self.shared.tell(LoopEvent::Reply(reply, Err(error))),
        }
    }

    /// Records what was prepared, when it is known what the disk says of the calls that it approves. `then` gets those that are
    /// recorded, and whether that succeeded; or why none of them is.
    fn record(
        &self,
        conversation: &Conversation,
        mut prepared: Vec<Prepared>,
        then: impl FnOnce(&Self, &Conversation, Vec<Prepared>, Result<Result<(), UserError>, ResolveError>) + Send + 'static,
    ) {
        let approved = prepared.iter().filter(|prepared| prepared.is_approval());
        let approved = approved.map(|prepared| prepared.call.clone()).collect();
        let recorded = move |this: &Self, conversation: &Conversation, known: &Known| {
            let mut refused = Ok(());
            let is_refused = |prepared: &mut Prepared| {
                let bound = if prepared.is_approval() { this.bind(conversation, prepared, known) } else { Ok(()) };
                let is_refused = bound.is_err();
                refused = mem::replace(&mut refused, Ok(())).and(bound);
                is_refused
            };
            let mut dropped: Vec<Prepared> = prepared.extract_if(.., is_refused).collect();
            this.drop_overruled(conversation, &mut dropped, false);
            if let Err(problem) = refused {
                if prepared.is_empty() {
                    return then(this, conversation, prepared, Err(problem));
                }
                this.shared.host.notify(Level::Info, &problem.to_string());
            }
            let records = prepared.iter().flat_map(|prepared| this.records_of(conversation, prepared)).collect();
            let committed = move |this: &Self, conversation: &Conversation, written| {
                then(this, conversation, prepared, Ok(written));
            };
            this.journaling.commit((this, &this.background), conversation, records, committed);
        };
        self.approval.look_up_in_order(&self.background, conversation, approved, recorded);
    }

    fn records_of(&self, conversation: &Conversation, prepared: &Prepared) -> Vec<Record> {
        self.journaling.records_of(conversation, &prepared.call, prepared.role, prepared.events.clone())
    }

    /// The same, for a caller that waits for the acknowledgement, and so for the disk.
    ///
    /// # Errors
    /// Why the call was not resolved.
    pub fn resolve_now(
        &self,
        buffer: i32,
        call: &CallId,
        resolution: Resolution,
        role: Role,
    ) -> Result<(), ResolveError> {
        let conversation = self.shared.conversation(buffer).ok_or_else(|| missing(call))?;
        let mut prepared = self.prepare(&conversation, call, resolution, role)?;
        if prepared.is_approval() {
            let known = self.approval.known_in_time(&conversation, &prepared.call);
            if let Err(problem) = self.bind(&conversation, &mut prepared, &known) {
                self.drop_overruled(&conversation, &mut vec![prepared], false);
                return Err(problem);
            }
        }
        let (records, (tell, told)) = (self.records_of(&conversation, &prepared), mpsc::channel());
        self.journaling.commit((self, &self.background), &conversation, records, move |this, conversation, written| {
            let _ = tell.send(this.apply(conversation, vec![prepared], None, written));
        });
        loop {
            match told.try_recv() {
                Ok(resolved) => return resolved,
                // What was recorded before takes effect first.
                Err(TryRecvError::Empty) if self.journaling.journal.settle(PATIENCE) => {
                    self.shared.tell(LoopEvent::Recorded);
                }
                Err(TryRecvError::Empty) => {
                    let limit = PATIENCE.as_secs();
                    let message = format!(
                        "it is not recorded yet: the disk has not answered for {limit} seconds. It takes effect when it is"
                    );
                    return Err(UserError::new(message).into());
                }
                Err(TryRecvError::Disconnected) => return Err(missing(call)),
            }
        }
    }
}

/// What a key or a command decides about calls.
impl Resolutions {
    /// Decides about several calls at once, for a key or a command.
    pub(crate) fn decide(&self, conversation: &Conversation, calls: Vec<CallId>, choice: &Choice, step: UndoStep) {
        if conversation.session.has_request() || self.calls.is_at_fault(conversation) {
            // The agent says why not.
            return self.shared.feed(conversation, [Input::Decide(calls, choice.clone(), step)]);
        }
        let open = calls.iter().filter_map(|id| conversation.page.open_call(id));
        let is_over = |call: &OpenCall| matches!(conversation.standing(call), Standing::Ended(_));
        let over: Vec<CallId> = open.filter(is_over).map(|call| call.id).collect();
        if !over.is_empty() {
            // They were undone: their results are restored.
            return self.shared.feed(conversation, [Input::Recover(over)]);
        }
        let resolution = || match choice {
            Choice::Approve => Resolution::Approve,
            Choice::Reject(words) => Resolution::Reject(words.clone()),
        };
        let (mut prepared, mut refused, mut is_overruling) = (Vec::new(), None, false);
        for call in &calls {
            if let Choice::Reject(words) = choice
                && conversation.records.overrule(call, words.as_deref())
            {
                // It is rejected when the approval is on the disk.
                is_overruling = true;
                continue;
            }
            match self.prepare(conversation, call, resolution(), Role::User) {
                Ok(ready) => prepared.push(ready),
                Err(error) if matches!(error, ResolveError::Invalid(_)) || refused.is_none() => {
                    refused = Some((call.clone(), error));
                }
                Err(_) => {}
            }
        }
        // What cannot be decided in this way is passed over among others that can, but not what is refused.
        let is_said = |error: &ResolveError| match error {
            ResolveError::Invalid(_) => true,
            _ => prepared.is_empty() && !is_overruling,
        };
        if let Some((call, error)) = refused.filter(|(_, error)| is_said(error)) {
            self.explain(conversation, &call, &error);
        }
        if prepared.is_empty() {
            return;
        }
        let choice = choice.clone();
        self.record(conversation, prepared, move |this, conversation, prepared, written| {
            let written = match written {
                Ok(written) => written,
                Err(problem) => return this.shared.host.notify(Level::Info, &problem.to_string()),
            };
            // What waits for approval is decided together; the others are answered one by one.
            let is_decision = |prepared: &Prepared| matches!(prepared.input, Input::Decide(..));
            let (decided, others): (Vec<_>, Vec<_>) = prepared.into_iter().partition(is_decision);
            let ids = decided.iter().map(|prepared| prepared.call.id.clone()).collect();
            let together = Some(Input::Decide(ids, choice, step));
            let mut resolved = Ok(());
            if !decided.is_empty() {
                resolved = this.apply(conversation, decided, together, written.clone());
            }
            for other in others {
                resolved = resolved.and(this.apply(conversation, vec![other], None, written.clone()));
            }
            // The user knows that they have stopped everything.
            if let Err(error) = resolved
                && !matches!(error, ResolveError::Stale(_))
            {
                this.shared.host.notify(Level::Error, &error.to_string());
            }
        });
    }

    /// Says why a key had no effect.
    fn explain(&self, conversation: &Conversation, id: &CallId, error: &ResolveError) {
        if matches!(error, ResolveError::Stale(Stale::Late(_))) {
            return;
        }
        let open = conversation.page.open_call(id);
        let kind = open.map(|call| self.calls.effective_kind(conversation, &call));
        let message = match (error, kind) {
            (ResolveError::Stale(Stale::Busy), _) if conversation.records.is_claimed(id) => BEING_RECORDED.to_owned(),
            (ResolveError::Stale(_), Some(AwaitKind::Elicitation)) => {
                "this call asks you a question; press Alt-Enter for the form, or write the answer in its block"
                    .to_owned()
            }
            (ResolveError::Stale(_), Some(AwaitKind::ClientExec)) => "this call is being run by the editor".to_owned(),
            (ResolveError::Stale(_), _) => "no pending call is selected".to_owned(),
            (error, _) => error.to_string(),
        };
        self.shared.host.notify(Level::Info, &message);
    }
}

/// Carrying out resolutions that are recorded: in the document, and in what runs.
impl Resolutions {
    /// Carries out resolutions that were recorded, or gives the right to resolve the calls back. `together` is the input
    /// for several of them; without it, there is one, with an input of its own.
    pub(crate) fn apply(
        &self,
        conversation: &Conversation,
        mut prepared: Vec<Prepared>,
        together: Option<Input>,
        written: Result<(), UserError>,
    ) -> Result<(), ResolveError> {
        let records = &conversation.records;
        if self.drop_overruled(conversation, &mut prepared, written.is_ok()) && prepared.is_empty() {
            return Err(ResolveError::Stale(Stale::Overtaken));
        }
        written?;
        let is_stopped = |prepared: &Prepared| prepared.cancellations != records.cancelled.get();
        if prepared.iter().any(|prepared| prepared.is_approval() && is_stopped(prepared)) {
            self.journaling.take_back(conversation, prepared.iter().map(Prepared::key));
            return Err(ResolveError::Stale(Stale::Overtaken));
        }
        if self.shared.is_ending(conversation) && prepared.iter().any(Prepared::is_approval) {
            self.journaling.keep_approved(conversation, prepared.iter().map(Prepared::key));
            return Ok(());
        }
        // What was started meanwhile goes on. To stop it here would leave it without a result.
        prepared.retain(|prepared| !conversation.session.is_working_on(&prepared.call.id));
        if prepared.is_empty() {
            return Err(ResolveError::Stale(Stale::Overtaken));
        }
        for Prepared { call, .. } in &prepared {
            // What the user interface still does for it is not waited for any more.
            self.execution.stop_tool(conversation, &call.id);
        }
        for prepared in &mut prepared {
            let Some(words) = prepared.refusal.take() else { continue };
            if conversation.tasks.is_suspended(&prepared.key()) && !self.shared.is_leaving() {
                conversation.tasks.reject(&prepared.call.id, words);
            } else {
                // Its tool is gone, or goes with the editor.
                prepared.input = resolved(&prepared.call, CallResult::error(words), Role::Tool);
            }
        }
        // What was decided about may be another call now. It asks for itself.
        let is_same = |prepared: &&Prepared| conversation.is_open(&prepared.key());
        let (same, others): (Vec<&Prepared>, Vec<&Prepared>) = prepared.iter().partition(is_same);
        let others = others.into_iter().filter(|prepared| prepared.is_approval());
        self.journaling.take_back(conversation, others.map(Prepared::key));
        let input = match together {
            Some(Input::Decide(_, choice, step)) => {
                let calls = same.iter().map(|prepared| prepared.call.id.clone()).collect();
                Some(Input::Decide(calls, choice, step))
            }
            _ => same.first().map(|prepared| prepared.input.clone()),
        };
        if let Some(input) = input.filter(|_| !same.is_empty()) {
            // The caller hears of the end before anything else follows from it.
            let is_awaited = prepared.iter().any(|prepared| prepared.is_awaited);
            let before = self.shared.is_answering.get();
            self.shared.is_answering.set(before || is_awaited);
            match input {
                Input::Resolve { by: ResolvedBy::Untrusted, .. } => self.end_untrusted(conversation, input, &prepared),
                input => self.shared.tell(LoopEvent::Want(conversation, Wish::Recorded(input))),
            }
            self.shared.is_answering.set(before);
        }
        self.shared.tell(LoopEvent::Resolved(conversation));
        Ok(())
    }

    /// Gives the right to resolve these calls back. Approvals of calls that the user has rejected since are taken out and do not count:
    /// the calls are rejected. Says whether there were any.
    fn drop_overruled(&self, conversation: &Conversation, prepared: &mut Vec<Prepared>, is_written: bool) -> bool {
        let mut overruled = Vec::new();
        for prepared in &*prepared {
            if let Some(Claim::Overruled(words)) = conversation.records.release(&prepared.call.id) {
                overruled.push((prepared.call.id.clone(), words));
            }
        }
        let is_overruled = |prepared: &mut Prepared| overruled.iter().any(|(call, _)| *call == prepared.call.id);
        let dropped: Vec<Prepared> = prepared.extract_if(.., is_overruled).collect();
        if is_written {
            self.journaling.take_back(conversation, dropped.iter().map(Prepared::key));
        }
        let has_any = !overruled.is_empty();
        for (call, words) in overruled {
            self.decide(conversation, vec![call], &Choice::Reject(words), UndoStep::Own);
        }
        has_any
    }

    /// A call of a conversation ends that may not go on. If a person wants it to, they are asked whether it may.
    fn end_untrusted(&self, conversation: &Conversation, input: Input, prepared: &[Prepared]) {
        self.shared.feed(conversation, [input]);
        let is_last = conversation.page.open_ids().is_empty();
        let by_person = prepared.iter().any(|prepared| prepared.is_awaited) && self.shared.host.carries_on();
        if is_last && by_person && self.frontmatter.of(conversation).config.tools.autopilot.enabled {
            self.ownership.want_alone(conversation, Input::CarryOn.into());
        }
    }
}

/// There is no conversation, and so no call.
pub(crate) fn missing(call: &CallId) -> ResolveError {
    ResolveError::Stale(Stale::Missing(call.clone(), Vec::new()))
}
