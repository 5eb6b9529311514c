//! The approval chain, as plugins see it: registering resolvers, and asking about a call that nobody has made.

use std::{rc::Rc, sync::Arc};

use crate::{
    approval::{Approval, lookups::Known, questions::PathQuestions},
    options::effective::Effective,
};
use flemma_model::CallId;
use flemma_tools::{
    Definition, Disk, LuaError,
    approval::{ApprovalCall, Decision, Resolver},
};

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
    /// Adds a resolver to the chain; one of the same name is replaced.
    pub fn register_resolver(&self, resolver: Resolver) {
        self.shared.toolbox.register_resolver(resolver);
    }

    /// Takes a resolver out of the chain; says whether it was there.
    pub fn unregister_resolver(&self, name: &str) -> bool {
        self.shared.toolbox.unregister_resolver(name)
    }

    /// The resolvers, in the order in which they are asked.
    pub fn resolvers(&self) -> Vec<Resolver> {
        self.shared.toolbox.chain().all().cloned().collect()
    }

    /// What the chain decides about a call, and the name of the resolver that did. It is not asked about one that the agents of the
    /// conversation do not permit.
    pub fn resolve(&self, call: &HypotheticalCall) -> (Decision, Option<String>) {
        let asked = self.ask_about(call);
        let permitted = asked.questions.check_paths(&asked.disk);
        let is_judged = asked.file.is_some() && asked.definition.is_some();
        match asked.disk.lacks() {
            Some(_) => return (Decision::RequireApproval, None),
            None if is_judged && permitted.is_err() => return (Decision::Deny, Some(AGENT.to_owned())),
            None => {}
        }
        let verdict = asked.with_call(call, |call| self.shared.toolbox.chain().decide(call));
        self.log_failures(&verdict);
        let always_asks = asked.definition.is_some_and(|definition| definition.always_asks);
        let must_ask =
            verdict.decision == Decision::Approve && (always_asks || asked.questions.writes_start_up(&asked.disk));
        if must_ask || asked.disk.lacks().is_some() {
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
        let asked = self.ask_about(call);
        let decided = asked.with_call(call, |call| (resolver.resolve)(call));
        if asked.disk.lacks().is_none() { decided } else { Ok(Some(Decision::RequireApproval)) }
    }

    fn ask_about(&self, call: &HypotheticalCall) -> AskedCall {
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
        AskedCall { disk: known.disk(&call.id), file, definition, questions }
    }
}

/// What is known of a call that nobody has made.
struct AskedCall {
    /// What is in effect for its conversation, if it has one.
    file: Option<Rc<Effective>>,
    definition: Option<Arc<Definition>>,
    questions: PathQuestions,
    disk: Disk,
}

impl AskedCall {
    /// The call as resolvers see it.
    fn with_call<R>(&self, call: &HypotheticalCall, look: impl FnOnce(&ApprovalCall<'_>) -> R) -> R {
        let path_base = self.questions.path_base_on(&self.disk);
        look(&self.questions.call(&path_base, &call.id, call.buffer, self.file.as_deref()))
    }
}
