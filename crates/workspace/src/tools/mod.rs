//! Tools that are registered and taken out, and the sources that bring them.

pub(crate) mod toolbox;

use serde_json::{Map, Value};

use crate::components::Tools;
use flemma_agent::{Input, Level};
use flemma_model::UserError;
use flemma_tools::{
    DefinitionError, Group, SourceEnd, SourceId,
    declare::{self, Field},
};

impl Tools {
    /// Registers a tool from the fields of a definition; one of the same name is replaced.
    ///
    /// # Errors
    /// What is wrong with it, for the user. Then nothing has changed.
    pub fn register_tool(&self, name: Option<&str>, fields: Vec<(String, Field)>) -> Result<(), DefinitionError> {
        let definition = declare::declare(name, fields)?;
        let tool = definition.name.clone();
        if let Some(old) = self.shared.toolbox.register(definition)? {
            self.shared.scripts.release(&old);
            self.shared
                .log(Level::Info, &format!("tool `{tool}`: registered again; it replaces the previous definition"));
        }
        Ok(())
    }

    /// Registers a tool as [`Tools::register_tool`] does, for code that is not the user's, and warns when it takes the name of one of
    /// ours.
    ///
    /// # Errors
    /// As there.
    pub fn register_foreign(
        &self,
        name: &str,
        fields: Vec<(String, Field)>,
        origin: &str,
    ) -> Result<(), DefinitionError> {
        let is_told = self.shared.toolbox.get(name).is_some_and(|old| old.takes_name);
        self.register_tool(Some(name), fields)?;
        if self.shared.toolbox.mark_foreign(name) && !is_told {
            self.shared.warn(&format!(
                "{origin} has put a tool `{name}` in the place of Flemma's own. Its calls wait for your approval, whatever it says \
                 about that. Your rules for `{name}` apply to it. To keep Flemma's tool, take that one out"
            ));
        }
        Ok(())
    }

    /// Takes a tool out; says whether it was there.
    pub fn unregister_tool(&self, name: &str) -> bool {
        let removed = self.shared.toolbox.unregister(name);
        if let Some(definition) = &removed {
            self.shared.scripts.release(definition);
        }
        removed.is_some()
    }

    /// Registers a group of tools from its fields; one of the same name is replaced.
    ///
    /// # Errors
    /// What is wrong with it, for the user. Then nothing has changed.
    pub fn register_group(&self, name: &str, fields: &Map<String, Value>) -> Result<(), UserError> {
        self.shared.toolbox.register_group(Group::read(name, fields)?);
        Ok(())
    }

    /// A source of tools ends. When it was the last one, the conversations that wait go on.
    pub fn end_source(&self, id: SourceId, how: &SourceEnd) {
        if let Some(warning) = self.shared.toolbox.end_source(id, how) {
            self.shared.warn(&warning);
        }
        if self.shared.toolbox.is_ready() {
            let conversations = self.shared.conversations.all();
            if !conversations.is_empty() {
                self.shared.check_names(false);
            }
            for conversation in conversations {
                self.shared.feed(&conversation, [Input::ToolsReady]);
            }
            self.background.wake();
        }
    }
}
