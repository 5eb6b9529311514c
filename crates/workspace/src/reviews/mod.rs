//! Finds out what calls that wait would write, away from the main thread: when a call begins to wait, when a file with such calls
//! was opened, and again when a file has changed or another call has been decided.
//!
//! A tool looks at the files that a call names in order to propose. So it is only asked about calls that the user may approve,
//! in a conversation whose frontmatter is trusted. While a call is being carried out, those below it wait that may be about the same
//! files: nobody knows whether its change is on the disk yet.

pub(crate) mod made;
pub(crate) mod proposals;
pub(crate) mod ready;
pub(crate) mod reviewed;
pub(crate) mod reviewing;
pub(crate) mod survey;

use std::sync::Arc;

use crate::{
    Conversation, HostEffect, Resolution,
    approval::lookups::Known,
    calls::key::Keyed as _,
    components::Reviews,
    reviews::{
        ready::{Found, Ready, label},
        survey::{Candidate, Surveyed, survey},
    },
};
use flemma_agent::Verdict;
use flemma_chat::{OpenCall, Status};
use flemma_journal::{CallKey, Role};
use flemma_model::{CallId, UserError};
use flemma_tools::{Context, Definition, Executor, NativeTool, Runner};

/// What is done with what a call would write.
pub(crate) type Reviewer = Box<dyn FnOnce(&Reviews, Result<Arc<Ready>, UserError>)>;

impl Reviews {
    /// The calls of a conversation that propose what they would write, and either wait or are being carried out, in order.
    pub(crate) fn all_proposing(&self, conversation: &Conversation) -> Vec<(CallKey, OpenCall)> {
        let calls = conversation.page.open_calls().into_iter().filter(|call| {
            let waits = matches!(call.status(), Some(Status::Pending | Status::Approved)) && call.typed().is_empty();
            let is_wanted = !call.aborted && (waits || conversation.session.is_working_on(&call.id));
            is_wanted && self.calls.is_proposing(conversation, call)
        });
        calls.map(|call| (call.key(), call)).collect()
    }

    /// Calls have come that wait for approval.
    pub(crate) fn note_arrived(&self, conversation: &Conversation, calls: &[CallId]) {
        for call in calls.iter().filter_map(|id| conversation.page.open_call(id)) {
            if self.calls.is_proposing(conversation, &call) {
                conversation.proposals.arrived.borrow_mut().insert(call.key());
            }
        }
    }

    /// The calls that are looked at, and those that are being carried out. Forgets what is known of calls that are over.
    pub(crate) fn calls_to_survey(&self, conversation: &Conversation) -> Vec<(CallKey, OpenCall)> {
        let calls = self.all_proposing(conversation);
        let keys: Vec<CallKey> = calls.iter().map(|(key, _)| key.clone()).collect();
        conversation.proposals.retain(&keys);
        let is_at_work = |(_, call): &(CallKey, OpenCall)| conversation.session.is_working_on(&call.id);
        let waiting: Vec<CallKey> = calls.iter().filter(|call| !is_at_work(call)).map(|(key, _)| key.clone()).collect();
        for reviewer in self.take_reviewers(conversation, |key| !waiting.contains(key)) {
            reviewer(self, Err(UserError::new("this call does not wait any more")));
        }
        calls
    }

    /// Takes those that wait for calls of a conversation.
    fn take_reviewers(&self, conversation: &Conversation, is_meant: impl Fn(&CallKey) -> bool) -> Vec<Reviewer> {
        let mut all = self.reviewers.borrow_mut();
        let taken = all.extract_if(.., |(of, key, _)| *of == conversation.id && is_meant(key));
        taken.map(|(_, _, reviewer)| reviewer).collect()
    }

    /// Finds out what calls would write, if there are others than before.
    pub(crate) fn look_for_proposals(&self, conversation: &Conversation) {
        if self.shared.host.carries_on() && conversation.is_known() {
            let calls = self.calls_to_survey(conversation);
            if Self::has_other_calls(conversation, &calls) {
                self.survey(conversation, calls);
            } else {
                self.look_at_skipped(conversation, calls);
            }
        }
    }

    /// Finds out what calls would write if a tool may be asked now that could not be.
    fn look_at_skipped(&self, conversation: &Conversation, mut calls: Vec<(CallKey, OpenCall)>) {
        calls.retain(|(key, _)| conversation.proposals.skipped.borrow().contains(key));
        if calls.is_empty() {
            return;
        }
        let calls: Vec<OpenCall> = calls.into_iter().map(|(_, call)| call).collect();
        let asked = calls.clone();
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            if calls.iter().any(|call| this.may_ask(conversation, call, known)) {
                this.survey_again(conversation);
            }
        };
        self.approval.look_up(&self.background, conversation, asked, then);
    }

    /// Whether other calls can be looked at than those that were.
    fn has_other_calls(conversation: &Conversation, calls: &[(CallKey, OpenCall)]) -> bool {
        let keys: Vec<CallKey> = calls.iter().map(|(key, _)| key.clone()).collect();
        !conversation.proposals.is_about(&keys)
    }

    /// Whether a tool may be asked what a call would write.
    pub(crate) fn may_ask(&self, conversation: &Conversation, call: &OpenCall, known: &Known) -> bool {
        let is_trusted = !self.frontmatter.of(conversation).fault.as_ref().is_some_and(|fault| fault.lacks_trust);
        is_trusted && matches!(self.approval.verdict(conversation, call, known), Verdict::Ask | Verdict::Run)
    }

    /// Finds out what these calls would write, unless that is under way.
    pub(crate) fn survey(&self, conversation: &Conversation, calls: Vec<(CallKey, OpenCall)>) {
        let proposals = &conversation.proposals;
        let Some(number) = proposals.begin() else { return };
        proposals.surveyed.replace(calls.iter().map(|(key, _)| key.clone()).collect());
        let asked = calls.iter().map(|(_, call)| call.clone()).collect();
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            this.survey_known(conversation, number, calls, known);
        };
        self.approval.look_up(&self.background, conversation, asked, then);
    }

    /// The same, when it is known what the disk says of the calls.
    fn survey_known(&self, conversation: &Conversation, number: u64, calls: Vec<(CallKey, OpenCall)>, known: &Known) {
        let (mut candidates, mut skipped) = (Vec::new(), Vec::new());
        for (key, call) in calls {
            match self.candidate(conversation, &key, &call, known) {
                Some(candidate) => candidates.push(Arc::new(candidate)),
                None => skipped.push(key),
            }
        }
        let proposals = &conversation.proposals;
        proposals.skipped.replace(skipped);
        let (mailbox, id) = (self.background.mailbox.clone(), conversation.id);
        let started = self.background.worker.spawn_blocking(move || {
            let tell = |key: &CallKey, news| {
                let key = key.clone();
                mailbox.job_for(id, move |this, conversation| {
                    this.was_surveyed(conversation, &key, number, news);
                });
            };
            let late = mailbox.clone();
            survey(&candidates, tell, move || late.job_for(id, Self::survey_again));
            mailbox.job_for(id, move |this, conversation| this.surveyed(conversation, number));
        });
        if started.is_err() {
            self.surveyed(conversation, number);
        }
    }

    /// Looks again at the calls of which it is not known yet what they would write.
    pub(crate) fn survey_again(&self, conversation: &Conversation) {
        let calls = self.calls_to_survey(conversation);
        self.survey(conversation, calls);
    }

    fn candidate(
        &self,
        conversation: &Conversation,
        key: &CallKey,
        call: &OpenCall,
        known: &Known,
    ) -> Option<Candidate> {
        let proposals = &conversation.proposals;
        let is_at_work = conversation.session.is_working_on(&call.id);
        if !is_at_work && !self.may_ask(conversation, call, known) {
            return None;
        }
        let definition = self.shared.toolbox.get(&call.name)?;
        let tool = self.contexts.stored_write(conversation, key).or_else(|| native(&definition).map(Arc::clone))?;
        let input = definition.check_input(&call.input).ok()?.into_owned();
        // What an earlier run of the call has left counts.
        let context = Context {
            recorder: self.undo.recorder(conversation, call),
            ..self.contexts.tool_context(conversation, &definition)
        };
        let known = if is_at_work { proposals.found(key).and_then(Result::ok) } else { proposals.take_known(key) };
        Some(Candidate {
            key: key.clone(),
            tool,
            input,
            context,
            known,
            decision: self.contexts.earlier_decision(conversation, key),
            is_at_work,
            asked: proposals.asked(key),
        })
    }

    /// A survey says something about a call.
    fn was_surveyed(&self, conversation: &Conversation, key: &CallKey, survey: u64, news: Surveyed) {
        let proposals = &conversation.proposals;
        let is_news = match news {
            Surveyed::Found { found, is_stale } => return self.proposed(conversation, key, survey, (found, is_stale)),
            Surveyed::Known => return proposals.confirm(key, survey),
            Surveyed::Delayed(delay, asked) => proposals.note_delay(key, survey, delay, asked),
        };
        if is_news {
            self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
        }
    }

    /// It is known what a call would write.
    fn proposed(&self, conversation: &Conversation, key: &CallKey, survey: u64, (found, is_stale): (Found, bool)) {
        let open = conversation.page.open_calls();
        let keys: Vec<CallKey> = open.iter().map(|call| call.key()).collect();
        let mut above = open.iter().zip(&keys).take(keys.iter().rposition(|other| other == key).unwrap_or(open.len()));
        // What is known of it may have to do with a call above after all, by a link.
        let is_open = |(call, key): (&OpenCall, &CallKey)| {
            conversation.session.is_working_on(&call.id) || conversation.proposals.is_slow(key)
        };
        let is_final = !conversation.proposals.is_late.get() && !above.any(is_open);
        let Some(news) = conversation.proposals.put(key, survey, found.clone(), is_final) else { return };
        if news.is_news {
            self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
            self.shared.host.perform(HostEffect::ProposalsChanged { buffer: conversation.buffer });
        }
        let lost = news.followed.iter().find(|other| !keys.contains(other));
        // It may have been carried out before the interruption, and asks about that.
        let is_interrupted =
            || open.iter().zip(&keys).any(|(call, other)| other == key && conversation.is_interrupted(call));
        if let Err(problem) = found
            && is_final
            && (news.is_first || (is_stale && conversation.tasks.is_suspended(key)) || lost.is_some())
            && !self.shared.host.is_typing(conversation.buffer)
            && !is_interrupted()
        {
            // There is nothing to decide about.
            let words = match lost {
                None => problem.to_string(),
                Some(other) => format!(
                    "{problem}\n\nThis call was to follow {}, and the files are not as that call would have left them.",
                    label(other)
                ),
            };
            self.shared.resolve(conversation, &key.id, Resolution::Impossible(words), Role::Tool);
        }
    }

    /// A survey is over. Whoever wants to look at a call hears of what is known now.
    fn surveyed(&self, conversation: &Conversation, survey: u64) {
        let proposals = &conversation.proposals;
        if proposals.end(survey) {
            return self.survey_again(conversation);
        }
        for (key, found) in proposals.surveyed() {
            for reviewer in self.take_reviewers(conversation, |other| *other == key) {
                reviewer(self, found.clone().map_err(|problem| UserError::new(problem.to_string())));
            }
        }
    }

    /// Files may have changed: what calls would write is found out again where it may be something else now.
    pub fn check_proposals(&self) {
        for conversation in self.shared.conversations.all() {
            self.check_proposals_of(&conversation);
        }
    }

    pub(crate) fn check_proposals_of(&self, conversation: &Conversation) {
        if !self.shared.host.carries_on() || !conversation.is_known() {
            return;
        }
        // The buffers are saved for which these have waited. They run if a policy of the user's still lets them.
        for key in conversation.proposals.take_saved(|| self.shared.host.unsaved_files()) {
            if let Some(call) = conversation.page.open_call(&key.id).filter(|call| call.key() == key) {
                let asked = vec![call.clone()];
                let then = move |this: &Self, conversation: &Conversation, known: &Known| {
                    if conversation.is_open(&key) && this.approval.verdict(conversation, &call, known) == Verdict::Run {
                        this.shared.resolve(conversation, &key.id, Resolution::Approve, Role::Policy);
                    }
                };
                self.approval.look_up(&self.background, conversation, asked, then);
            }
        }
        let calls = self.calls_to_survey(conversation);
        let at_rest = calls.iter().filter(|(_, call)| !conversation.session.is_working_on(&call.id));
        let keys: Vec<CallKey> = at_rest.map(|(key, _)| key.clone()).collect();
        let proposals = &conversation.proposals;
        if Self::has_other_calls(conversation, &calls) {
            return self.survey(conversation, calls);
        }
        self.look_at_skipped(conversation, calls.clone());
        match proposals.all_of(&keys) {
            Some(ready) if ready.is_empty() => {}
            Some(ready) if proposals.survey.get().is_none() => {
                let unsaved = self.shared.host.unsaved_files();
                let work = move || ready.iter().any(|ready| ready.is_doubtful(&unsaved));
                let then = |this: &Self, conversation: &Conversation, is_doubtful: bool| {
                    if is_doubtful {
                        this.survey_again(conversation);
                    }
                };
                self.background.run_for(conversation.id, work, then);
            }
            // What could not be proposed may be possible now.
            _ => self.survey(conversation, calls),
        }
    }
}

/// The tool of a definition, if it is written in Rust.
pub(crate) fn native(definition: &Definition) -> Option<&Arc<dyn NativeTool>> {
    match &definition.executor {
        Executor::Server(Runner::Native(tool)) => Some(tool),
        _ => None,
    }
}
