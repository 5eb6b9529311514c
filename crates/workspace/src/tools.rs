//! Tools that are registered and taken out, and the sources that bring them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Workspace;
use flemma_agent::{Input, Level};
use flemma_model::UserError;
use flemma_tools::{
    Definition, DefinitionError, Group, LuaRef, Registered, SourceEnd, SourceId,
    declare::{self, Field},
};

impl Workspace {
    /// Registers a tool from the fields of a definition; one of the same name is replaced.
    ///
    /// # Errors
    /// What is wrong with it, for the user. Then nothing has changed.
    pub fn register_tool(&self, name: Option<&str>, fields: Vec<(String, Field)>) -> Result<(), DefinitionError> {
        let definition = declare::declare(name, fields)?;
        let tool = definition.name.clone();
        if let Registered::Replaced(old) = self.toolbox().register(definition)? {
            self.scripts().release(&old);
            self.log(Level::Info, &format!("tool `{tool}`: registered again; it replaces the previous definition"));
        }
        Ok(())
    }

    /// Takes a tool out; says whether it was there.
    pub fn unregister_tool(&self, name: &str) -> bool {
        let removed = self.toolbox().unregister(name);
        if let Some(definition) = &removed {
            self.scripts().release(definition);
        }
        removed.is_some()
    }

    /// Gives a built-in tool that the editor answers the function for its calls. Says whether there is such a tool without
    /// one.
    pub fn answer_with(&self, name: &str, function: LuaRef) -> bool {
        self.toolbox().answer_with(name, function)
    }

    /// The tool of this name, enabled or not.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<Arc<Definition>> {
        self.toolbox().get(name)
    }

    /// All tools, each with whether it is enabled.
    #[must_use]
    pub fn tools(&self) -> Vec<(Arc<Definition>, bool)> {
        self.toolbox().all()
    }

    /// Warns the user about a function of a definition, once for each function.
    pub(super) fn warn_once(&self, function: LuaRef, message: &str) {
        if self.toolbox().is_news_about(function) {
            self.warn(message);
        }
    }

    /// Registers a group of tools from its fields; one of the same name is replaced.
    ///
    /// # Errors
    /// What is wrong with it, for the user. Then nothing has changed.
    pub fn register_group(&self, name: &str, fields: &Map<String, Value>) -> Result<(), UserError> {
        self.toolbox().register_group(Group::read(name, fields)?);
        Ok(())
    }

    /// Takes a group out; says whether it was there.
    pub fn unregister_group(&self, name: &str) -> bool {
        self.toolbox().unregister_group(name)
    }

    /// All groups, sorted by name.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        self.toolbox().groups()
    }

    /// Whether every source of tools has ended.
    #[must_use]
    pub fn tools_are_ready(&self) -> bool {
        self.toolbox().is_ready()
    }

    /// Whether tools may run now: conversations go on here, and every tool is known.
    pub(super) fn can_run_tools(&self) -> bool {
        self.host().carries_on() && self.tools_are_ready()
    }

    /// A source of tools begins. `label` is how messages call it.
    pub fn begin_source(&self, label: String) -> SourceId {
        self.toolbox().begin_source(label)
    }

    /// A source of tools ends. When it was the last one, the conversations that wait go on.
    pub fn end_source(&self, id: SourceId, how: &SourceEnd) {
        if let Some(warning) = self.toolbox().end_source(id, how) {
            self.warn(&warning);
        }
        if self.toolbox().is_ready() {
            let conversations = self.conversations().all();
            if !conversations.is_empty() {
                self.check_names(false);
            }
            for conversation in conversations {
                self.feed(&conversation, [Input::ToolsReady]);
            }
            self.look_at_unsettled_later();
        }
    }

    /// Tells the user, once, of names in `auto_approve` and in presets that are no tools, as far as all sources have loaded.
    pub(super) fn check_names(&self, is_sending: bool) {
        if self.toolbox().is_ready() {
            for problem in self.toolbox().check_names(&self.config(), is_sending) {
                self.host().notify(Level::Warn, &problem.to_string());
            }
        }
    }
}
