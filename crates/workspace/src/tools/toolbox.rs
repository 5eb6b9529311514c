//! The tools: the registry, the sources that are still loading, and the approval chain.

use std::{
    cell::{Cell, Ref, RefCell},
    collections::BTreeSet,
    sync::Arc,
};

use crate::{approval::chain, options::effective::Effective};
use flemma_config::Config;
use flemma_model::{ModelError, UserError};
use flemma_provider::ToolSpec;
use flemma_tools::{
    Definition, DefinitionError, Group, LuaRef, NamedBy, Policy, Registry, SourceEnd, SourceId, Sources, TurnTools,
    approval::{Chain, Resolver},
    builtin::NOTES_TOOLS,
    hosted::{self, Offer},
    presets,
    rules::{DeniedPaths, PathBase},
};

/// Owns what concerns tools in general; what a conversation runs is in its own tasks.
#[derive(Default)]
pub struct Toolbox {
    registry: RefCell<Registry>,
    sources: RefCell<Sources>,
    chain: RefCell<Chain>,
    /// The list of the user's `tools.auto_approve`; the empty policy where there is none.
    policy: RefCell<Policy>,
    /// The resolvers that are modules of the user's `tools.auto_approve`.
    modules: RefCell<Vec<String>>,
    /// While the options name tools that may be registered after `setup`: the entries that the user was told about.
    unchecked_names: RefCell<Option<BTreeSet<String>>>,
    /// Tools that were reported as slow.
    pub(crate) slow: RefCell<BTreeSet<String>>,
    /// Functions of definitions that failed, and whose failure was reported.
    pub(crate) faulty: RefCell<BTreeSet<LuaRef>>,
    /// Counts what a file's frontmatter depends on besides its own text: options and tools.
    pub(crate) generation: Cell<u64>,
}

impl Toolbox {
    /// A toolbox with the built-in tools.
    pub(crate) fn with_builtins() -> Self {
        Self { registry: RefCell::new(Registry::with_builtins()), ..Self::default() }
    }

    /// The tools and groups that are registered. No function of the user's may be called meanwhile: it may register one.
    pub(crate) fn registry(&self) -> Ref<'_, Registry> {
        self.registry.borrow()
    }

    /// The options or the tools have changed: frontmatter may mean something else now.
    pub fn touch(&self) {
        self.generation.set(self.generation.get() + 1);
    }

    /// Takes new options: which tools are on, and the policy with its resolvers.
    pub(crate) fn configure(&self, config: &Config, built: chain::Built) {
        let mut switches = config.tools.switches();
        // Without that they are as any tool that is not on by default: a file or a message may still choose one.
        if config.tools.notes.enabled {
            for tool in NOTES_TOOLS {
                switches.entry(tool.to_owned()).or_insert(true);
            }
        }
        self.registry.borrow_mut().switch(switches);
        let mut chain = self.chain.borrow().clone();
        let chain::Built { resolvers, policy, modules } = built;
        self.modules.borrow().iter().for_each(|module| drop(chain.unregister(module)));
        chain::OPTIONAL.iter().for_each(|name| drop(chain.unregister(name)));
        resolvers.into_iter().for_each(|resolver| chain.register(resolver));
        *self.chain.borrow_mut() = chain;
        *self.policy.borrow_mut() = policy;
        *self.modules.borrow_mut() = modules;
        *self.unchecked_names.borrow_mut() = Some(BTreeSet::new());
        self.touch();
    }

    /// Registers a definition; one of the same name is replaced.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn register(&self, definition: Definition) -> Result<Option<Arc<Definition>>, DefinitionError> {
        let registered = self.registry.borrow_mut().register(definition)?;
        self.touch();
        Ok(registered)
    }

    /// Gives a built-in tool that the editor answers the function for its calls. Says whether there is such a tool without one.
    pub fn answer_with(&self, name: &str, function: LuaRef) -> bool {
        self.registry.borrow_mut().answer_with(name, function)
    }

    /// Takes a definition out; gives it back if it was there.
    pub(crate) fn mark_foreign(&self, name: &str) -> bool {
        self.registry.borrow_mut().mark_foreign(name)
    }

    pub(crate) fn unregister(&self, name: &str) -> Option<Arc<Definition>> {
        let removed = self.registry.borrow_mut().unregister(name)?;
        self.touch();
        Some(removed)
    }

    /// The definition of this name, enabled or not.
    pub fn get(&self, name: &str) -> Option<Arc<Definition>> {
        self.registry.borrow().get(name).cloned()
    }

    /// All definitions, each with whether it is enabled.
    pub fn all(&self) -> Vec<(Arc<Definition>, bool)> {
        let registry = self.registry.borrow();
        registry.all().map(|tool| (Arc::clone(tool), registry.is_enabled(tool))).collect()
    }

    /// The names of the tools that a file's list begins with. Those that say themselves whether they are offered are not
    /// among them: they are asked later.
    pub(crate) fn default_tools(&self) -> Vec<String> {
        self.registry.borrow().unconditional().map(|tool| tool.name.clone()).collect()
    }

    /// The tools that are offered in one turn; `None` for the enabled ones.
    pub(crate) fn chosen(&self, file: &Effective, turn: &TurnTools) -> Option<BTreeSet<String>> {
        self.registry.borrow().chosen(file.tools.as_ref(), turn)
    }

    /// The names of the tools that are offered in one turn, with those that the provider runs.
    pub(crate) fn names(&self, chosen: Option<&BTreeSet<String>>) -> Vec<String> {
        let registry = self.registry.borrow();
        match chosen {
            Some(chosen) => chosen.iter().filter(|name| registry.get(name).is_some()).cloned().collect(),
            None => registry.enabled().map(|tool| tool.name.clone()).collect(),
        }
    }

    /// Adds what is named by this name: a tool, a group, or both.
    pub(crate) fn name(&self, name: &str, by: NamedBy, turn: &mut TurnTools) {
        let registry = self.registry.borrow();
        let group = registry.group(name);
        let tools =
            [name].into_iter().chain(group.into_iter().flat_map(|group| group.tools.iter().map(String::as_str)));
        for tool in tools.filter_map(|tool| registry.get(tool)) {
            // Nobody is asked before the provider runs a tool.
            if by == NamedBy::User || !tool.executor.is_provider() {
                turn.name(&tool.name, by);
            }
        }
        if let Some(prompt) = group.and_then(|group| group.system_prompt.as_ref())
            && !turn.prompts.contains(prompt)
        {
            turn.prompts.push(prompt.clone());
        }
    }

    /// Registers a group; one of the same name is replaced.
    pub(crate) fn register_group(&self, group: Group) {
        self.registry.borrow_mut().register_group(group);
        self.touch();
    }

    /// Takes a group out; says whether it was there.
    pub fn unregister_group(&self, name: &str) -> bool {
        let is_found = self.registry.borrow_mut().unregister_group(name);
        self.touch();
        is_found
    }

    /// All groups.
    pub fn groups(&self) -> Vec<Group> {
        self.registry.borrow().groups().cloned().collect()
    }

    /// The tool that a model may call by this name, or what to tell the model.
    pub(crate) fn offered(&self, name: &str, chosen: Option<&BTreeSet<String>>) -> Result<Arc<Definition>, ModelError> {
        let registry = self.registry.borrow();
        registry.offered(name, chosen).cloned().ok_or_else(|| registry.unknown(name, chosen))
    }

    /// What a request says of the tools; `chosen` is what the file chooses.
    pub(crate) fn specs(&self, chosen: Option<&BTreeSet<String>>) -> Arc<[ToolSpec]> {
        let registry = self.registry.borrow();
        chosen.map_or_else(|| registry.specs(), |chosen| registry.specs_of(chosen))
    }

    /// The tools that the provider of a conversation runs itself.
    pub(crate) fn hosted(&self, config: &Config, chosen: Option<&BTreeSet<String>>) -> Offer {
        let is_alone = self.specs(chosen).is_empty();
        let registry = self.registry.borrow();
        let chosen = registry.hosted(chosen, &config.tools.search);
        hosted::offer(chosen, config.provider, config.model(), is_alone)
    }

    /// The approval chain as it is now: a resolver may change the chain while it decides.
    pub fn chain(&self) -> Chain {
        self.chain.borrow().clone()
    }

    /// Adds a resolver; one of the same name is replaced.
    pub fn register_resolver(&self, resolver: Resolver) {
        self.chain.borrow_mut().register(resolver);
    }

    /// Takes a resolver out; says whether it was there.
    pub fn unregister_resolver(&self, name: &str) -> bool {
        self.chain.borrow_mut().unregister(name).is_some()
    }

    /// The list of the user's `tools.auto_approve`; the empty policy where there is none.
    pub(crate) fn policy(&self) -> Policy {
        self.policy.borrow().clone()
    }

    /// The paths that the user denies reading: in the configuration, and in `file`.
    pub(crate) fn denied(&self, file: Option<&Policy>, path_base: &PathBase) -> DeniedPaths {
        let config = self.policy.borrow();
        Policy::denied([&*config].into_iter().chain(file), path_base)
    }

    /// A source of tools begins.
    pub fn begin_source(&self, label: String) -> SourceId {
        self.sources.borrow_mut().begin(label)
    }

    /// A source of tools ends. Gives a warning for the user where it ended badly.
    pub(crate) fn end_source(&self, id: SourceId, how: &SourceEnd) -> Option<String> {
        let warning = self.sources.borrow_mut().end(id, how);
        self.touch();
        warning
    }

    /// Whether every source has ended.
    pub fn is_ready(&self) -> bool {
        self.sources.borrow().is_ready()
    }

    /// The labels of the sources that have not ended.
    pub(crate) fn loading(&self) -> Vec<String> {
        self.sources.borrow().loading().map(str::to_owned).collect()
    }

    /// What is wrong with the names of tools in `auto_approve` and in presets, each of them once after each `setup`. All
    /// sources have loaded. A plugin may still register tools, so when a conversation is opened (`is_sending` is false) only
    /// what is probably a misspelling is reported, and the rest with the first request.
    pub(crate) fn check_names(&self, config: &Config, is_sending: bool) -> Vec<UserError> {
        let Some(mut told) = self.unchecked_names.take() else { return Vec::new() };
        let registry = self.registry.borrow();
        let presets = chain::presets(config);
        let listed = config.tools.auto_approve.iter().filter(|entry| !presets::is_module(entry));
        let listed = listed.map(|entry| ("tools.auto_approve".to_owned(), entry));
        let in_presets = config.tools.presets.iter().flat_map(|(name, preset)| {
            let entries = preset.approve.iter().chain(&preset.deny);
            entries.map(move |entry| (format!("tools.presets.{name}"), entry))
        });
        let mut found = Vec::new();
        // `setup` refuses unknown presets.
        for (place, entry) in listed.chain(in_presets).filter(|(_, entry)| !presets::is_preset(entry)) {
            if let Err(problem) = presets::check(entry, &presets, Some(&*registry))
                && (is_sending || presets::is_likely_mistake(entry, &registry))
                && told.insert(entry.clone())
            {
                found.push(UserError::new(format!("{place}: {problem}")));
            }
        }
        for group in registry.groups().filter(|_| is_sending) {
            let missing =
                group.tools.iter().filter(|tool| registry.get(tool).is_none()).map(|tool| format!("`{tool}`"));
            let missing = missing.collect::<Vec<_>>().join(", ");
            if !missing.is_empty() {
                found.push(UserError::new(format!(
                    "the group `{}` names tools that are not there, and is used without them: {missing}",
                    group.name
                )));
            }
        }
        if !is_sending {
            *self.unchecked_names.borrow_mut() = Some(told);
        }
        found
    }
}
