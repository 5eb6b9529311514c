//! Carrying out resolutions that are recorded: in the document, and in what runs.

use crate::{
    Conversation,
    event::LoopEvent,
    journaling::{records::Claim, restored},
    resolutions::{Prepared, Resolutions, ResolveError, stale::Stale},
    trust::Wish,
};
use flemma_agent::{CallResult, Choice, Input, ResolvedBy, UndoStep};
use flemma_chat::{OpenCall, Severity};
use flemma_journal::{CallKey, Event, Role};
use flemma_model::{CallId, UserError};

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
        written.map_err(|problem| ResolveError::NotRecorded(problem.to_string()))?;
        let is_stopped = |prepared: &Prepared| prepared.cancellations != records.cancelled.get();
        if prepared.iter().any(|prepared| prepared.is_approval() && is_stopped(prepared)) {
            let approved = prepared.iter().map(Prepared::key).collect();
            self.journaling.take_back(conversation, approved, started(&prepared));
            return Err(ResolveError::Stale(Stale::Overtaken));
        }
        if self.shared.is_ending(conversation) && prepared.iter().any(Prepared::is_approval) {
            let approved = prepared.iter().map(Prepared::key).collect();
            self.journaling.keep_approved(conversation, approved, started(&prepared));
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
        self.journaling.let_start(conversation, started(&prepared));
        for prepared in &mut prepared {
            let Some(words) = prepared.refusal.take() else { continue };
            if conversation.tasks.is_suspended(&prepared.key()) && !self.shared.is_leaving() {
                conversation.tasks.reject(&prepared.call.id, words);
            } else {
                // Its tool is gone, or goes with the editor.
                prepared.input = self.resolved(&prepared.call, CallResult::error(words), Role::Tool);
            }
        }
        // What was decided about may be another call now. It asks for itself.
        let is_same = |prepared: &Prepared| {
            let now = conversation.page.open_call(&prepared.call.id);
            now.is_some_and(|call| call.name == prepared.call.name && call.input == prepared.call.input)
        };
        let same: Vec<&Prepared> = prepared.iter().filter(|prepared| is_same(prepared)).collect();
        let input = match together {
            Some(Input::Decide(_, choice, step)) => {
                let calls = same.iter().map(|prepared| prepared.call.id.clone()).collect();
                Some(Input::Decide(calls, choice, step))
            }
            _ => same.first().map(|prepared| prepared.input.clone()),
        };
        if let Some(input) = input.filter(|_| !same.is_empty()) {
            let want = || match input {
                Input::Resolve { by: ResolvedBy::Untrusted, .. } => self.end_untrusted(conversation, input, &prepared),
                input => self.shared.tell(LoopEvent::Want(conversation, Wish::Recorded(input))),
            };
            if prepared.iter().any(|prepared| prepared.is_awaited) { self.shared.answering(want) } else { want() }
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
        if is_written && !dropped.is_empty() {
            self.journaling.take_back(conversation, dropped.iter().map(Prepared::key).collect(), started(&dropped));
        }
        let has_any = !overruled.is_empty();
        for (call, words) in overruled {
            self.decide(conversation, vec![call], &Choice::Reject(words), UndoStep::Own);
        }
        has_any
    }

    /// The input that follows from a resolution that only ends a call. It needs no trust, if the conversation does not go on.
    pub(crate) fn ending_input(
        &self,
        conversation: &Conversation,
        call: &CallId,
        events: &[Event],
        input: Input,
    ) -> Input {
        let result = events.iter().find_map(|event| match event {
            Event::Resolved(result) | Event::Expired(result) => Some(result),
            _ => None,
        });
        match result {
            Some(result) if !self.frontmatter.facts(conversation).is_free() => {
                Input::Resolve { call: call.clone(), answer: restored(result), by: ResolvedBy::Untrusted }
            }
            _ => input,
        }
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

    /// Whether the document or its frontmatter is in the way of this.
    pub(crate) fn check_fault(&self, conversation: &Conversation, input: &Input) -> Result<(), ResolveError> {
        let needs_trust = !matches!(input, Input::Resolve { by: ResolvedBy::Untrusted, .. });
        let lacks_trust = self.frontmatter.of(conversation).fault.as_ref().is_some_and(|fault| fault.lacks_trust);
        if lacks_trust && needs_trust {
            let message = "the code in the frontmatter of this conversation is not trusted yet; open it in an editor, \
                           press Ctrl-], and decide";
            return Err(ResolveError::Invalid(message.to_owned()));
        }
        let diagnostics = conversation.page.diagnostics();
        let first = diagnostics.into_iter().find(|found| found.severity == Severity::Error);
        if first.is_none() && (lacks_trust || !self.calls.is_at_fault(conversation)) {
            return Ok(());
        }
        if self.shared.host.carries_on() {
            let message = "nothing was changed: the document has an error, which its diagnostics show";
            return Err(ResolveError::Invalid(message.to_owned()));
        }
        let first = first.map_or_else(String::new, |found| format!(" in line {}: {}", found.line + 1, found.message));
        let message = format!("nothing was changed, because the file has an error{first} (`flemma check` lists all)");
        Err(ResolveError::Invalid(message))
    }

    pub(crate) fn resolved(&self, call: &OpenCall, answer: CallResult, role: Role) -> Input {
        let by = match role {
            Role::User | Role::Script | Role::CommandLine => ResolvedBy::Person,
            Role::Clock => ResolvedBy::Clock,
            Role::Policy | Role::Document | Role::Tool | Role::Client => ResolvedBy::Other,
        };
        Input::Resolve { call: call.id.clone(), answer, by }
    }
}

/// The calls whose start was recorded together with the decision.
fn started(prepared: &[Prepared]) -> Vec<CallKey> {
    prepared.iter().filter(|prepared| prepared.starts).map(Prepared::key).collect()
}
