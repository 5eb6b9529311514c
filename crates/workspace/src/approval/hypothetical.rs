//! The approval chain, as plugins see it: registering resolvers, and asking about a call that nobody has made.

use crate::approval::{
    Approval,
    permissions::NotPermitted,
    questions::{DeclaredPaths, PathQuestions},
};
use flemma_model::CallId;
use flemma_tools::{
    Agents, Disk, LuaError,
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
    #[must_use]
    pub fn resolvers(&self) -> Vec<Resolver> {
        self.shared.toolbox.chain().all().cloned().collect()
    }

    /// What the chain decides about a call, and the name of the resolver that did.
    #[must_use]
    pub fn resolve(&self, call: &HypotheticalCall) -> (Decision, Option<String>) {
        match self.outside_agents(call) {
            Some(NotPermitted::Forbidden(_)) => return (Decision::Deny, Some(AGENT.to_owned())),
            Some(NotPermitted::Unclear(_)) => return (Decision::RequireApproval, None),
            None => {}
        }
        let (verdict, questions, disk) = self.with_hypothetical(call, |call| self.shared.toolbox.chain().decide(call));
        self.log_failures(&verdict);
        let always_asks = self.shared.toolbox.get(&call.tool).is_some_and(|definition| definition.always_asks);
        let must_ask = verdict.decision == Decision::Approve && (always_asks || questions.writes_start_up(&disk));
        if must_ask || disk.lacks().is_some() {
            return (Decision::RequireApproval, None);
        }
        (verdict.decision, verdict.resolver)
    }

    /// Why the agents of a conversation do not permit a call, if they do not. The chain is not asked then.
    fn outside_agents(&self, call: &HypotheticalCall) -> Option<NotPermitted> {
        let conversation = i32::try_from(call.buffer).ok().and_then(|buffer| self.shared.conversation(buffer));
        let definition = self.shared.toolbox.get(&call.tool);
        let (conversation, definition) = conversation.zip(definition)?;
        self.permissions.check_permitted(&self.path_questions(&conversation, &definition, &call.input)).err()
    }

    /// What one resolver decides about a call; `None` where it does not decide, or there is none of this name.
    ///
    /// # Errors
    /// Why it failed.
    pub fn resolve_with(&self, resolver: &str, call: &HypotheticalCall) -> Result<Option<Decision>, LuaError> {
        let chain = self.shared.toolbox.chain();
        let Some(resolver) = chain.get(resolver) else { return Ok(None) };
        let (decided, _, disk) = self.with_hypothetical(call, |call| (resolver.resolve)(call));
        if disk.lacks().is_none() { decided } else { Ok(Some(Decision::RequireApproval)) }
    }

    /// Looks at a call, and gives what it asks the disk, and what is known of that.
    fn with_hypothetical<R>(
        &self,
        call: &HypotheticalCall,
        look: impl FnOnce(&ApprovalCall<'_>) -> R,
    ) -> (R, PathQuestions, Disk) {
        let buffer = i32::try_from(call.buffer).unwrap_or_default();
        let conversation = i32::try_from(call.buffer).ok().and_then(|buffer| self.shared.conversation(buffer));
        let file = conversation.map(|conversation| self.frontmatter.of(&conversation));
        let definition = self.shared.toolbox.get(&call.tool);
        let place = self.shared.place_of(buffer);
        let facts = self.approval_facts(&place, file.as_deref(), definition.as_deref(), &call.input);
        let list = file.as_ref().and_then(|file| file.list().cloned());
        let paths = definition.as_deref().map(|definition| {
            DeclaredPaths::new(definition, self.permissions.start_folder(&place, file.as_deref(), definition))
        });
        let questions = PathQuestions {
            tool: call.tool.clone(),
            input: call.input.clone(),
            facts,
            agents: Agents::default(),
            lists: [self.shared.toolbox.policy()].into_iter().chain(list).collect(),
            paths: paths.unwrap_or_default(),
            guards_unread: false,
            owner: self.permissions.owner(),
            proposed: None,
        };
        let disk = self.permissions.known_disk(&questions);
        let facts = questions.facts.clone().on(&disk);
        let seen = look(&facts.call(&call.tool, &call.input, &call.id, call.buffer, file.as_deref()));
        (seen, questions, disk)
    }
}
