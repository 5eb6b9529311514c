//! Approval: whether a call runs at once, needs the user's approval, or is denied.
//!
//! A [`Chain`] asks its resolvers one after the other, highest priority first, and in the order of their names if the
//! priorities are equal. The first one that decides wins. One that fails is skipped and reported. If none decides, the
//! user does ([`Decision::RequireApproval`]). The built-in resolvers are created here ([`config`], [`frontmatter`],
//! [`declared`], [`catch_all`]); others come from Lua. Resolvers run on the main thread, because the Lua functions among
//! them must.

use std::{borrow::Cow, rc::Rc, sync::LazyLock};

use serde_json::Value;

use super::{
    DeclaredApproval, LuaError, LuaRef, Policy,
    rules::{self, PathBase, ReadTarget, Rule, Subject},
};
use flemma_model::CallId;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Approve,
    /// It needs the user's approval.
    RequireApproval,
    /// It never runs; the model is told.
    Deny,
}

/// The resolver for the user's `tools.auto_approve`.
pub const CONFIG: &str = "urn:flemma:approval:config";
/// The resolver for `flemma.opt.tools.auto_approve` in a buffer's frontmatter.
pub const FRONTMATTER: &str = "urn:flemma:approval:frontmatter";
/// The resolver that approves everything; it only exists with `tools.require_approval = false`.
pub const CATCH_ALL: &str = "urn:flemma:approval:catch-all";
/// The resolver for what the tool itself declares.
pub const DECLARED: &str = "urn:flemma:approval:declared";

/// The priority of the user's own `tools.auto_approve`.
pub const CONFIG_PRIORITY: i64 = 100;

/// The call to decide about.
#[derive(Clone, Copy)]
pub struct ApprovalCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Whether that is a tool of ours, and not one that somebody else has registered.
    pub is_ours: bool,
    /// Whether it has the name of one of ours ([`Definition::takes_name`](super::Definition::takes_name)).
    pub takes_name: bool,
    /// The arguments.
    pub input: &'a Value,
    /// The call's id.
    pub id: &'a CallId,
    /// The number of the conversation's buffer.
    pub buffer: i64,
    /// What the tool's definition declares.
    pub declared: Option<DeclaredApproval>,
    /// The target of the call, for rules.
    pub subject: Subject<'a>,
    /// What it reads, for rules about reading; `None` if it reads nothing.
    pub reading: Option<ReadTarget<'a>>,
    /// The base of paths in rules.
    pub path_base: &'a PathBase,
    /// The decision of the conversation's own file, if there is one.
    pub frontmatter: Option<&'a BufferPolicy>,
}

impl<'a> ApprovalCall<'a> {
    /// A call about which nothing else is known: its tool declares nothing, only rules about the whole tool apply, and
    /// no file decides about it.
    pub fn new(tool: &'a str, input: &'a Value, id: &'a CallId, buffer: i64) -> Self {
        static NOWHERE: LazyLock<PathBase> = LazyLock::new(PathBase::default);
        Self {
            tool,
            is_ours: true,
            takes_name: false,
            input,
            id,
            buffer,
            declared: None,
            subject: Subject::Other,
            reading: None,
            path_base: &NOWHERE,
            frontmatter: None,
        }
    }
}

/// The value of `flemma.opt.tools.auto_approve` in a file.
#[derive(Clone)]
pub enum BufferPolicy {
    /// A list.
    List(Policy),
    /// A function.
    Function(Resolve),
}

impl Policy {
    /// The decision of the list about a call; `None` if it does not decide.
    pub fn decide(&self, call: &ApprovalCall<'_>) -> Option<Decision> {
        let about: Cow<'_, [Rule]> = match call.is_ours {
            true => Cow::Borrowed(&self.rules),
            false => self.rules.iter().filter(|rule| !rule.is_for_ours()).cloned().collect(),
        };
        let own = || rules::decide(&about, call.tool, &call.subject, call.path_base);
        match rules::decide_read(&about, call.tool, call.reading.as_ref(), call.path_base) {
            None => own(),
            Some(Decision::Deny) => Some(Decision::Deny),
            // A denial of the tool itself is certain.
            Some(question) => own().filter(|own| *own == Decision::Deny).or(Some(question)),
        }
    }
}

/// How a resolver decides: a decision, `None` to pass, or why it failed.
pub type Resolve = Rc<dyn Fn(&ApprovalCall<'_>) -> Result<Option<Decision>, LuaError>>;

/// One link of the chain.
#[derive(Clone)]
pub struct Resolver {
    /// Unique in the chain.
    pub name: String,
    /// What it does, for users.
    pub description: Option<String>,
    /// Higher is asked earlier.
    pub priority: i64,
    /// Decides.
    pub resolve: Resolve,
}

/// The result of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The decision.
    pub decision: Decision,
    /// The name of the resolver that made it; `None` if no resolver did.
    pub resolver: Option<String>,
    /// Resolvers that failed, in the order in which they were asked, for the log.
    pub failures: Vec<ResolverFailure>,
}

/// A resolver that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverFailure {
    /// The resolver's name.
    pub resolver: String,
    /// Its error.
    pub error: LuaError,
}

/// The resolvers in the order in which they are asked. Without any, everything needs the user's approval.
///
/// A clone is cheap and independent: use a clone if a resolver may change the chain while it runs.
#[derive(Clone, Default)]
pub struct Chain {
    resolvers: Vec<Rc<Resolver>>,
}

impl Chain {
    /// Adds a resolver. A resolver with the same name is replaced.
    pub fn register(&mut self, resolver: Resolver) {
        self.unregister(&resolver.name);
        let order = |other: &Rc<Resolver>| {
            other.priority > resolver.priority || (other.priority == resolver.priority && other.name < resolver.name)
        };
        let place = self.resolvers.partition_point(order);
        self.resolvers.insert(place, Rc::new(resolver));
    }

    /// Removes a resolver and returns it, if it exists.
    pub fn unregister(&mut self, name: &str) -> Option<Rc<Resolver>> {
        let place = self.resolvers.iter().position(|resolver| resolver.name == name)?;
        Some(self.resolvers.remove(place))
    }

    /// The resolver with this name.
    pub fn get(&self, name: &str) -> Option<&Resolver> {
        self.all().find(|resolver| resolver.name == name)
    }

    /// All resolvers in the order in which they are asked.
    pub fn all(&self) -> impl Iterator<Item = &Resolver> {
        self.resolvers.iter().map(Rc::as_ref)
    }

    /// Decides about a call.
    pub fn decide(&self, call: &ApprovalCall<'_>) -> Resolution {
        let mut failures = Vec::new();
        for resolver in &self.resolvers {
            match (resolver.resolve)(call) {
                Ok(None) => {}
                Ok(Some(decision)) => return Resolution { decision, resolver: Some(resolver.name.clone()), failures },
                Err(error) => failures.push(ResolverFailure { resolver: resolver.name.clone(), error }),
            }
        }
        Resolution { decision: Decision::RequireApproval, resolver: None, failures }
    }
}

impl Resolver {
    fn built_in(name: &str, description: &str, priority: i64, resolve: Resolve) -> Self {
        Self { name: name.into(), description: Some(description.into()), priority, resolve }
    }
}

/// The resolver (priority 100) for the list in the user's `tools.auto_approve`.
pub fn config(policy: Policy) -> Resolver {
    let resolve = overridable(Rc::new(move |call| Ok(policy.decide(call))));
    Resolver::built_in(CONFIG, "tools.auto_approve of the configuration", CONFIG_PRIORITY, resolve)
}

/// A resolver from the user's configuration, for all conversations. If a conversation's own file sets what is approved,
/// only the denials of this resolver remain: the file replaces the rest, but cannot lift a denial.
pub fn overridable(decide: Resolve) -> Resolve {
    Rc::new(move |call| {
        let decision = decide(call)?;
        Ok(decision.filter(|decision| call.frontmatter.is_none() || *decision == Decision::Deny))
    })
}

/// The resolver (priority 90) for the conversation's own file.
pub fn frontmatter() -> Resolver {
    let resolve: Resolve = Rc::new(|call| match call.frontmatter {
        None => Ok(None),
        Some(BufferPolicy::List(policy)) => Ok(policy.decide(call)),
        Some(BufferPolicy::Function(decide)) => decide(call),
    });
    Resolver::built_in(FRONTMATTER, "flemma.opt.tools.auto_approve of the buffer's frontmatter", 90, resolve)
}

/// How a definition's function decides on a call: [`DeclaredApproval::Function`].
pub type AskTool = Rc<dyn Fn(LuaRef, &ApprovalCall<'_>) -> Result<Option<Decision>, LuaError>>;

/// The resolver (priority -10) for what a tool declares: it only decides if no other resolver did. A tool's declaration
/// that it is harmless is ignored if a list has left the tool out on purpose ([`Policy::silences`]): the list of the file,
/// or `config`, the list of the configuration, which a file cannot extend in this respect either. `ask` calls the function
/// of a definition that declares one.
pub fn declared(config: Policy, ask: AskTool) -> Resolver {
    let resolve: Resolve = Rc::new(move |call| {
        let file = matches!(call.frontmatter, Some(BufferPolicy::List(file)) if file.silences(call.tool));
        let decision = match call.declared {
            Some(DeclaredApproval::Auto) => Some(Decision::Approve),
            Some(DeclaredApproval::RequiresApproval) => Some(Decision::RequireApproval),
            Some(DeclaredApproval::Function(function)) => ask(function, call)?,
            None => None,
        };
        let is_silenced = file || call.takes_name || config.silences(call.tool);
        Ok(decision.filter(|decision| *decision != Decision::Approve || !is_silenced))
    });
    Resolver::built_in(DECLARED, "the tool's own `approval`", -10, resolve)
}

/// The resolver (priority 0) that approves every call; register it only with `tools.require_approval = false`.
pub fn catch_all() -> Resolver {
    Resolver::built_in(CATCH_ALL, "tools.require_approval = false", 0, Rc::new(|_| Ok(Some(Decision::Approve))))
}
