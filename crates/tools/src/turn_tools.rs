//! What one turn changes about the tools that are offered: the user's message names some of them, and some say themselves
//! whether they are offered.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Definition, LuaRef, Registry};
use flemma_config::ListOption;

/// What one turn changes about the tools that are offered. By default, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnTools {
    /// The tools that the user's message names, by themselves or with a group, each with who wrote that.
    pub named: BTreeMap<String, NamedBy>,
    /// What the tools that decide for themselves have said, by their names.
    pub answers: BTreeMap<String, bool>,
    /// What is added to the system prompt.
    pub prompts: Vec<Arc<str>>,
}

/// Who wrote the name of a tool into the user's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// It stood in the file when it was opened, so it may have been anybody.
    File,
    /// The user, in this session.
    User,
}

impl TurnTools {
    /// Names a tool.
    pub fn name(&mut self, tool: &str, by: NamedBy) {
        let named = self.named.entry(tool.to_owned()).or_insert(by);
        *named = by.max(*named);
    }

    /// The same without the names that may be anybody's.
    pub fn by_user(&self) -> Self {
        let named = self.named.iter().filter(|(_, by)| **by == NamedBy::User);
        Self { named: named.map(|(tool, by)| (tool.clone(), *by)).collect(), ..self.clone() }
    }
}

/// What a file says of the tools that are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTools {
    /// The tools in its list, those of groups included, and without those that decide for themselves unless it names them.
    pub names: BTreeSet<String>,
    /// If its list began with the default: the tools that it has taken out.
    pub default_without: Option<BTreeSet<String>>,
}

impl FileTools {
    /// What a list comes to. A `$name` in it is a group, and stands for its tools.
    pub fn new(list: &ListOption, registry: &Registry) -> Self {
        let removed: BTreeSet<String> = list.removed().iter().cloned().collect();
        let mut names = BTreeSet::new();
        for item in list.items() {
            match item.strip_prefix('$').map(|group| registry.group(group)) {
                None => drop(names.insert(item.clone())),
                Some(group) => {
                    let tools = group.into_iter().flat_map(|group| &group.tools);
                    names.extend(tools.filter(|tool| !removed.contains(*tool)).cloned());
                }
            }
        }
        Self { names, default_without: list.is_from_default().then_some(removed) }
    }
}

impl Registry {
    /// The tools that have to say themselves whether they are offered to a conversation whose file says this and whose
    /// message names these tools: each with the function to ask, and whether the tool was asked for by its name.
    pub fn to_ask(&self, file: Option<&FileTools>, turn: &TurnTools) -> Vec<(String, LuaRef, bool)> {
        let asked = self.all().filter_map(|tool| {
            let function = self.asks(tool)?;
            let is_named =
                turn.named.contains_key(&tool.name) || file.is_some_and(|file| file.names.contains(&tool.name));
            let is_default = file
                .is_none_or(|file| file.default_without.as_ref().is_some_and(|removed| !removed.contains(&tool.name)));
            (is_named || is_default).then(|| (tool.name.clone(), function, is_named))
        });
        asked.collect()
    }

    /// The names of the tools that are offered in one turn of a conversation whose file says this; `None` for the enabled
    /// tools.
    pub fn chosen(&self, file: Option<&FileTools>, turn: &TurnTools) -> Option<BTreeSet<String>> {
        if turn.named.is_empty() && !self.all().any(|tool| self.asks(tool).is_some()) {
            return file.map(|file| file.names.clone());
        }
        let default = || self.unconditional().map(|tool| tool.name.clone()).collect();
        let mut names: BTreeSet<String> = file.map_or_else(default, |file| file.names.clone());
        names.extend(turn.named.keys().filter(|name| !self.is_switched_off(name)).cloned());
        for (name, ..) in self.to_ask(file, turn) {
            if turn.answers.get(&name) == Some(&true) {
                names.insert(name);
            } else {
                names.remove(&name);
            }
        }
        Some(names)
    }

    /// The enabled tools that have no say in it themselves.
    pub fn unconditional(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.enabled().filter(|tool| self.asks(tool).is_none())
    }
}
