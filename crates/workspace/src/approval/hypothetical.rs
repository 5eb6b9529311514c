//! The approval chain, as plugins ask it: about a call that nobody has made.

use std::rc::Rc;

use crate::{
    approval::{lookups::Known, questions::PathQuestions},
    components::Approval,
    options::effective::Effective,
};
use flemma_model::CallId;
use flemma_tools::{Disk, LuaError, approval::Decision};

/// Who decides about a call that the agents of a conversation do not permit ([`Permissions::permitted`](crate::components::Permissions::permitted)).
const AGENT: &str = "urn:flemma:agent";

/// A call that nobody has made: for `resolve` in Lua.
#[derive(Clone, Debug)]
pub struct HypotheticalCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub input: serde_json::Value,
    /// The call's id; may be empty.
    pub id: CallId,
    /// The number of the buffer that it is in.
    pub buffer: i64,
}

impl Approval {
    /// What the chain decides about a call, and the name of the resolver that did. It is not asked about one that the agents of the
    /// conversation do not permit.
    pub fn resolve(&self, call: &HypotheticalCall) -> (Decision, Option<String>) {
        let (file, questions, disk) = self.ask_about(call);
        let permitted = questions.check_paths(&disk);
        let is_judged = file.is_some() && questions.definition.is_some();
        match disk.lacks() {
            Some(_) => return (Decision::RequireApproval, None),
            None if is_judged && permitted.is_err() => return (Decision::Deny, Some(AGENT.to_owned())),
            None => {}
        }
        let path_base = questions.path_base_on(&disk);
        let seen = questions.call(&path_base, &call.id, call.buffer, file.as_deref());
        let verdict = self.shared.toolbox.chain().decide(&seen);
        self.log_failures(&verdict);
        let always_asks = questions.definition.as_ref().is_some_and(|definition| definition.always_asks);
        let must_ask = verdict.decision == Decision::Approve && (always_asks || questions.writes_start_up(&disk));
        if must_ask || disk.lacks().is_some() {
            return (Decision::RequireApproval, None);
        }
        (verdict.decision, verdict.resolver)
    }

    /// What one resolver decides about a call; `None` where it does not decide, or there is none of this name.
    ///
    /// # Errors
    /// Why it failed.
    pub fn resolve_with(&self, resolver: &str, call: &HypotheticalCall) -> Result<Option<Decision>, LuaError> {
        let chain = self.shared.toolbox.chain();
        let Some(resolver) = chain.get(resolver) else { return Ok(None) };
        let (file, questions, disk) = self.ask_about(call);
        let path_base = questions.path_base_on(&disk);
        let decided = (resolver.resolve)(&questions.call(&path_base, &call.id, call.buffer, file.as_deref()));
        if disk.lacks().is_none() { decided } else { Ok(Some(Decision::RequireApproval)) }
    }

    /// What is in effect for the conversation of a call, if it has one, what judging the call asks the disk, and what that says.
    fn ask_about(&self, call: &HypotheticalCall) -> (Option<Rc<Effective>>, PathQuestions, Disk) {
        let buffer = i32::try_from(call.buffer).ok();
        let conversation = buffer.and_then(|buffer| self.shared.conversation(buffer));
        let file = conversation.map(|conversation| self.frontmatter.of(&conversation));
        let definition = self.shared.toolbox.get(&call.tool);
        let place = self.shared.place_of(buffer.unwrap_or_default());
        let questions = self.questions_at(&place, file.as_deref(), (&call.tool, definition.as_ref()), &call.input);
        let mut known = Known::default();
        if !known.covers(&call.id, &questions) {
            known = self.answered_in_time(vec![(call.id.clone(), questions.clone())]);
        }
        (file, questions, known.disk(&call.id))
    }
}
