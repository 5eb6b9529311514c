//! The calls that run, those that wait for a free place, and what was approved.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{Placement, effect::Effect, step::Step};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::{CallId, ToolInput};

/// Why a call may run.
#[derive(Debug)]
pub(super) enum Grounds {
    /// Somebody has approved it.
    Approval,
    /// It was interrupted, and runs only if the policies still say so.
    Policy {
        /// What the user is told if it runs.
        told: Option<&'static str>,
        /// Why it waits otherwise; `None` if nothing is said of that.
        otherwise: Option<&'static str>,
    },
}

/// The calls at work.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub running: BTreeMap<CallId, OpenCall>,
    pub queue: VecDeque<OpenCall>,
    /// Calls that are judged before they join the queue, and why they may run.
    pub unjudged: VecDeque<(OpenCall, Grounds)>,
    /// Approved calls. A call runs only while its name and input are still these.
    approvals: BTreeMap<CallId, (String, Arc<ToolInput>)>,
}

impl Work {
    /// Whether no call is running or waits for that.
    pub fn is_done(&self) -> bool {
        self.running.is_empty() && self.waiting().next().is_none()
    }

    /// Whether a call is running or waits for that.
    pub fn has(&self, id: &CallId) -> bool {
        self.running.contains_key(id) || self.waiting().any(|call| call.id == *id)
    }

    /// The calls that are queued, and those that are not judged yet.
    fn waiting(&self) -> impl Iterator<Item = &OpenCall> {
        self.queue.iter().chain(self.unjudged.iter().map(|(call, _)| call))
    }

    /// Takes these calls.
    pub fn take_all_waiting(&mut self) -> Vec<OpenCall> {
        let unjudged = self.unjudged.drain(..).map(|(call, _)| call);
        self.queue.drain(..).chain(unjudged).collect()
    }

    /// Takes one of these calls.
    pub fn take_waiting(&mut self, id: &CallId) -> Option<OpenCall> {
        if let Some(at) = self.queue.iter().position(|call| call.id == *id) {
            return self.queue.remove(at);
        }
        let at = self.unjudged.iter().position(|(call, _)| call.id == *id)?;
        self.unjudged.remove(at).map(|(call, _)| call)
    }

    /// Whether a call was approved with another name or input than it has now.
    pub fn was_changed(&self, call: &OpenCall) -> bool {
        self.approvals.get(&call.id).is_some_and(|(name, input)| *name != call.name || *input != call.input)
    }

    /// Binds an approval to the current name and input of the call.
    pub fn bind(&mut self, call: &OpenCall) {
        self.approvals.insert(call.id.clone(), (call.name.clone(), call.input.clone()));
    }

    /// An earlier approval no longer applies.
    pub fn withdraw(&mut self, id: &CallId) {
        self.approvals.remove(id);
    }

    /// The user has edited the document. Calls that they approved by editing are bound to their current name and input.
    pub fn notice(&mut self, step: &Step<'_>) {
        for (id, block) in step.view.open_states() {
            let is_approved = block.is_some_and(|(status, _)| status == Status::Approved);
            let call = if is_approved { step.view.open_call(&id) } else { None };
            match call.filter(|call| step.view.is_authorised(call)) {
                None => self.withdraw(&id),
                Some(call) if !self.approvals.contains_key(&id) => self.bind(&call),
                Some(_) => {}
            }
        }
    }

    /// What is left when nothing is at work any more: approvals stay bound to the calls they were given for.
    pub fn forgotten(self) -> Self {
        Self { approvals: self.approvals, ..Self::default() }
    }

    /// The user approves a call.
    pub fn approve(&mut self, call: &OpenCall, step: &mut Step<'_>) {
        step.push(match call.placeholder {
            None => Effect::Place(vec![(call.id.clone(), Placement::Approved)]),
            Some(_) => Effect::SetStatus(call.id.clone(), Status::Approved),
        });
        self.bind(call);
    }

    /// Starts a call.
    pub fn start(&mut self, call: OpenCall, step: &mut Step<'_>) {
        step.push(Effect::SetStatus(call.id.clone(), Status::Running));
        step.push(Effect::Run(call.clone()));
        self.running.insert(call.id.clone(), call);
    }

    /// Starts as many of the queued calls as the limit allows.
    pub fn start_queued(&mut self, step: &mut Step<'_>) {
        let limit = step.view.settings().max_concurrent.max(1);
        while self.running.len() < limit
            && let Some(call) = self.queue.pop_front()
        {
            self.start(call, step);
        }
    }

    /// Makes a call pending. An earlier approval no longer applies.
    pub fn ask_again(&mut self, call: &OpenCall, step: &mut Step<'_>) {
        self.withdraw(&call.id);
        step.push(Effect::Await(call.id.clone(), awaited(step.view.suspends_as(call))));
    }

    /// The same, and says why.
    pub fn ask_again_because(&mut self, call: &OpenCall, why: &str, step: &mut Step<'_>) {
        self.ask_again(call, step);
        step.warn(call, why);
    }
}

/// What a call waits for that does not run yet, and that would wait for this if it ran.
pub(super) fn awaited(suspends_as: Option<AwaitKind>) -> AwaitKind {
    match suspends_as {
        Some(AwaitKind::Elicitation) => AwaitKind::Elicitation,
        _ => AwaitKind::Approval,
    }
}
