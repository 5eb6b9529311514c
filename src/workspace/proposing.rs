//! Finds out what calls that wait would write, away from the main thread: when a call begins to wait, when a file with such calls
//! was opened, and again when a file has changed.
//!
//! A tool looks at the files that a call names in order to propose. So it is only asked about calls that the user may approve,
//! in a conversation whose frontmatter is trusted.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    Conversation, Resolution, Workspace,
    proposals::{Found, Ready},
};
use crate::{
    agent::Verdict,
    chat::{OpenCall, Status},
    journal::{CallKey, Role},
    model::{CallId, ModelError, ToolInput, UserError},
    tools::{Definition, Executor, NativeTool, Runner},
};

impl Workspace {
    /// The calls of a conversation that wait and propose what they would write.
    pub(super) fn proposing_calls(&self, conversation: &Conversation) -> Vec<(CallKey, OpenCall)> {
        let calls = conversation.page().open_calls().into_iter().filter(|call| {
            let waits = call.placeholder.as_ref().is_some_and(|placeholder| {
                matches!(placeholder.block.status, Status::Pending | Status::Approved) && placeholder.content.is_empty()
            });
            let is_at_rest = !call.aborted && !conversation.session().is_working_on(&call.id);
            waits && is_at_rest && self.is_proposing(conversation, call)
        });
        calls.map(|call| (CallKey::of(&call.id, &call.name, &call.input), call)).collect()
    }

    fn is_proposing(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        self.has_proposed(conversation, call)
            || self.toolbox().get(&call.name).as_deref().and_then(native).is_some_and(|tool| tool.is_proposing())
    }

    /// Calls have come that wait for approval.
    pub(super) fn note_arrived(&self, conversation: &Conversation, calls: &[CallId]) {
        for call in conversation.page().open_calls() {
            if calls.contains(&call.id) && self.is_proposing(conversation, &call) {
                conversation.proposals().arrive(CallKey::of(&call.id, &call.name, &call.input));
            }
        }
    }

    /// Finds out what calls would write of which that is not known.
    pub(super) fn look_for_proposals(&self, conversation: &Conversation) {
        if !self.host().carries_on() || !conversation.is_known() {
            return;
        }
        let calls = self.proposing_calls(conversation);
        let keys: Vec<CallKey> = calls.iter().map(|(key, _)| key.clone()).collect();
        conversation.proposals().retain(&keys);
        for reviewer in self.reviewers().take_others(conversation.id(), &keys) {
            reviewer(self, Err(UserError::new("this call does not wait any more")));
        }
        for (key, call) in calls {
            if !conversation.proposals().has(&key) {
                self.propose(conversation, &key, &call);
            }
        }
    }

    /// Finds out again what a call would write. Says whether that is possible.
    pub(super) fn propose_again(&self, conversation: &Conversation, key: &CallKey) -> bool {
        let calls = self.proposing_calls(conversation);
        let call = calls.iter().find(|(other, _)| other == key);
        call.is_some_and(|(_, call)| self.propose(conversation, key, call))
    }

    fn propose(&self, conversation: &Conversation, key: &CallKey, call: &OpenCall) -> bool {
        let is_trusted = !self.frontmatter(conversation).fault.as_ref().is_some_and(|fault| fault.lacks_trust);
        if !is_trusted || !matches!(self.verdict(conversation, call), Verdict::Ask | Verdict::Run) {
            return false;
        }
        let Some(definition) = self.toolbox().get(&call.name) else { return false };
        let tool = self.stored_write(conversation, key).or_else(|| native(&definition).map(Arc::clone));
        let (Some(tool), ToolInput::Json(input)) = (tool, call.input.clone()) else {
            return false;
        };
        let Some(attempt) = conversation.proposals().begin(key) else { return true };
        let context = self.tool_context(conversation, &definition);
        let name = call.name.clone();
        let work = move || -> Found {
            let proposed = catch_unwind(AssertUnwindSafe(|| Some(tool.propose(&input, &context)?.map(Ready::of))));
            let crashed = |_| {
                let words = format!("The tool `{name}` crashed. This is a bug in Flemma, not in the call.");
                Some(Err(ModelError::new(words)))
            };
            let nothing = || Err(ModelError::new(format!("The tool `{name}` proposes nothing.")));
            proposed.unwrap_or_else(crashed).unwrap_or_else(nothing).map(Arc::new)
        };
        let of = key.clone();
        let then = move |workspace: &Self, conversation: &Conversation, found| {
            workspace.proposed(conversation, &of, attempt, found);
        };
        if self.run_for(conversation.id(), work, then).is_err() {
            let problem = ModelError::new("The system gives no threads, so nothing could be proposed.");
            self.proposed(conversation, key, attempt, Err(problem));
        }
        true
    }

    /// It is known what a call would write.
    fn proposed(&self, conversation: &Conversation, key: &CallKey, attempt: u64, found: Found) {
        let Some(ended) = conversation.proposals().end(key, attempt, found.clone()) else { return };
        if ended.is_late {
            self.propose_again(conversation, key);
        }
        if ended.is_news {
            self.host().refresh(conversation.buffer());
            self.host().proposals_changed(conversation.buffer());
        }
        if !ended.is_late {
            for reviewer in self.reviewers().take(conversation.id(), key) {
                reviewer(self, found.clone().map_err(|problem| UserError::new(problem.to_string())));
            }
        }
        if let Err(problem) = found
            && ended.is_first
            && !self.host().is_typing(conversation.buffer())
        {
            // There is nothing to decide about.
            let failure = Resolution::Impossible(problem.to_string());
            self.resolve_call(conversation, &key.id, failure, Role::Tool, |_, _| {});
        }
    }

    /// Files may have changed: what calls would write is found out again where it may be something else now.
    pub fn check_proposals(&self) {
        for conversation in self.conversations().all() {
            self.check_proposals_of(&conversation);
        }
    }

    pub(super) fn check_proposals_of(&self, conversation: &Conversation) {
        self.look_for_proposals(conversation);
        let known = conversation.proposals().all();
        if known.is_empty() {
            return;
        }
        let unsaved = self.host().unsaved_files();
        for (key, found) in known {
            match found {
                None => {}
                Some(Err(_)) => {
                    self.propose_again(conversation, &key);
                }
                Some(Ok(ready)) => {
                    let unsaved = unsaved.clone();
                    let then = move |workspace: &Self, conversation: &Conversation, is_doubtful: bool| {
                        if is_doubtful {
                            workspace.propose_again(conversation, &key);
                        }
                    };
                    let _ = self.run_for(conversation.id(), move || ready.is_doubtful(&unsaved), then);
                }
            }
        }
    }
}

/// The tool of a definition, if it is written in Rust.
fn native(definition: &Definition) -> Option<&Arc<dyn NativeTool>> {
    match &definition.executor {
        Executor::Server(Runner::Native(tool)) => Some(tool),
        _ => None,
    }
}
