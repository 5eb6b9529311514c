//! All known tools, by name.
//!
//! The list for the provider is created once and kept until a definition changes. It is identical, byte for byte, from
//! turn to turn, so that the provider's prompt cache is used.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock, OnceLock},
};

use super::{Definition, DefinitionError, Executor, Group, LuaRef, hosted};
use flemma_model::ModelError;
use flemma_provider::{HostedTool, SearchLimits, ToolSpec};

/// The known tools, sorted by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<Definition>>,
    /// The user's settings for whether a tool is offered.
    switches: BTreeMap<String, bool>,
    specs: OnceLock<Arc<[ToolSpec]>>,
    groups: BTreeMap<String, Group>,
}

impl Registry {
    /// A registry with the built-in tools and the tools that providers run.
    pub fn with_builtins() -> Self {
        let tools = super::builtin::all().into_iter().chain(hosted::definitions());
        let tools = tools.map(|tool| (tool.name.clone(), Arc::new(tool))).collect();
        Self { tools, ..Self::default() }
    }

    /// Adds a definition, and gives the one that it replaces. Running calls keep the definition that they started with.
    ///
    /// # Errors
    /// If the definition is illegal (see [`Definition::check`]). Nothing changes then.
    pub fn register(&mut self, definition: Definition) -> Result<Option<Arc<Definition>>, DefinitionError> {
        definition.check()?;
        self.specs = OnceLock::new();
        Ok(self.tools.insert(definition.name.clone(), Arc::new(definition)))
    }

    /// Removes a tool and returns it, if it exists.
    pub fn unregister(&mut self, name: &str) -> Option<Arc<Definition>> {
        let removed = self.tools.remove(name)?;
        self.specs = OnceLock::new();
        Some(removed)
    }

    /// Gives a tool that the editor answers the function for its calls. Says whether there is such a tool without one.
    pub fn answer_with(&mut self, name: &str, function: LuaRef) -> bool {
        let open = self.tools.get_mut(name).filter(|tool| matches!(tool.executor, Executor::Client(None)));
        open.map(|tool| Arc::make_mut(tool).executor = Executor::Client(Some(function))).is_some()
    }

    /// Marks a tool that code has registered which is not the user's. Says whether it has the name of one of ours. The calculators are
    /// examples, which anybody may replace.
    pub fn mark_foreign(&mut self, name: &str) -> bool {
        static OURS: LazyLock<Registry> = LazyLock::new(Registry::with_builtins);
        let tool =
            self.tools.get_mut(name).filter(|_| OURS.get(name).is_some_and(|ours| ours.enabled && ours.icon.is_some()));
        tool.map(|tool| Arc::make_mut(tool).takes_name = true).is_some()
    }

    /// The tool with this name, enabled or not.
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.tools.get(name)
    }

    /// The enabled tools, sorted by name.
    pub fn enabled(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.all().filter(|tool| self.is_enabled(tool))
    }

    /// Whether a tool is offered: according to the user's settings, or else its definition.
    pub fn is_enabled(&self, tool: &Definition) -> bool {
        self.switches.get(&tool.name).copied().unwrap_or(tool.enabled)
    }

    /// The function that says whether a tool is offered, where neither the user's settings nor the definition do.
    pub(super) fn asks(&self, tool: &Definition) -> Option<LuaRef> {
        tool.enabled_by.filter(|_| !self.switches.contains_key(&tool.name))
    }

    /// Whether the user's settings say that a tool is not offered.
    pub(super) fn is_switched_off(&self, name: &str) -> bool {
        self.switches.get(name) == Some(&false)
    }

    /// The tools that a message may name, sorted by name, each with whether it is offered without that.
    pub fn nameable(&self) -> impl Iterator<Item = (&Arc<Definition>, bool)> {
        self.all().filter(|tool| !self.is_switched_off(&tool.name)).map(|tool| (tool, self.is_enabled(tool)))
    }

    /// Adds a group. A group with the same name is replaced.
    pub fn register_group(&mut self, group: Group) {
        self.groups.insert(group.name.clone(), group);
    }

    /// Removes a group; says whether it was there.
    pub fn unregister_group(&mut self, name: &str) -> bool {
        self.groups.remove(name).is_some()
    }

    /// The group with this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(name)
    }

    /// All groups, sorted by name.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values()
    }

    /// Replaces the user's settings for tools, by name. A tool may be registered later than its setting.
    pub fn switch(&mut self, switches: BTreeMap<String, bool>) {
        self.switches = switches;
        self.specs = OnceLock::new();
    }

    /// All tools, sorted by name, including disabled ones.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.tools.values()
    }

    /// The enabled tools as a provider sends them, sorted by name, without those that it runs itself
    /// ([`Registry::hosted`]). Cheap to call: the list is shared.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let answered = || self.enabled().filter(|tool| !tool.executor.is_provider());
        Arc::clone(self.specs.get_or_init(|| answered().map(|tool| tool.to_spec()).collect()))
    }

    /// The tool with this name, if a conversation offers it and its calls are answered here. `chosen` are the tools that
    /// its file has chosen, which may be disabled elsewhere; without a choice, these are the enabled tools.
    pub fn offered(&self, name: &str, chosen: Option<&BTreeSet<String>>) -> Option<&Arc<Definition>> {
        self.get(name).filter(|tool| !tool.executor.is_provider() && self.is_chosen(tool, chosen))
    }

    /// The tools that a file has chosen, as a provider sends them, sorted by name. Unknown names are left out, and so are
    /// the tools that the provider runs itself.
    pub fn specs_of(&self, chosen: &BTreeSet<String>) -> Arc<[ToolSpec]> {
        chosen.iter().filter_map(|name| self.offered(name, Some(chosen))).map(|tool| tool.to_spec()).collect()
    }

    /// The tools that the provider runs itself, of those that a conversation has chosen, in these limits, sorted by name. `chosen` as
    /// for [`Registry::offered`].
    pub fn hosted(&self, chosen: Option<&BTreeSet<String>>, limits: &SearchLimits) -> impl Iterator<Item = HostedTool> {
        let hosted = self.all().filter(move |tool| tool.executor.is_provider() && self.is_chosen(tool, chosen));
        hosted.filter_map(move |tool| HostedTool::named(&tool.name, limits))
    }

    fn is_chosen(&self, tool: &Definition, chosen: Option<&BTreeSet<String>>) -> bool {
        chosen.map_or_else(|| self.is_enabled(tool), |chosen| chosen.contains(&tool.name))
    }

    /// The message for a model that called a tool that is not offered. `chosen` as for [`Registry::offered`].
    pub fn unknown(&self, name: &str, chosen: Option<&BTreeSet<String>>) -> ModelError {
        let names = self.all().map(|tool| tool.name.as_str());
        let names: Vec<&str> = names.filter(|name| self.offered(name, chosen).is_some()).collect();
        let meant = flemma_text::suggest::nearest(name, names.iter().copied())
            .map(|near| format!(" Did you mean `{near}`?"))
            .unwrap_or_default();
        let offered = if names.is_empty() {
            "There are no tools in this conversation.".to_owned()
        } else {
            format!("The tools are: {}.", names.join(", "))
        };
        ModelError::new(format!("There is no tool `{name}`.{meant} {offered}"))
    }
}
