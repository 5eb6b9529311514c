//! The folder of notes of a conversation, and whether it has the tools for it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{Conversation, components::Frontmatter, ports::Place};
use flemma_config::{Config, FileOptions};
use flemma_model::ModelError;
use flemma_tools::{
    FileTools,
    builtin::{NOTES_TOOLS, page_file},
    paths,
};

/// The folder of notes of a conversation at `place`: `tools.notes.root`, or the conversation's folder.
pub(crate) fn root(config: &Config, place: &Place) -> PathBuf {
    let folder = place.folder();
    match &config.tools.notes.root {
        Some(root) => paths::resolve(&folder, Path::new(root)),
        None => folder,
    }
}

impl Frontmatter {
    /// The folder of notes of a conversation.
    pub(crate) fn notes_root(&self, conversation: &Conversation) -> PathBuf {
        root(&self.of(conversation).config, &self.shared.place(conversation))
    }

    /// The file of a page that a model names.
    ///
    /// # Errors
    /// If it cannot be one below the folder of notes.
    pub fn page_file(&self, conversation: &Conversation, page: &str) -> Result<PathBuf, ModelError> {
        page_file(&self.notes_root(conversation), page)
    }

    /// What a file's list of tools comes to, if it says anything about that. `config` are the options with those of the file.
    pub(crate) fn chosen_tools(&self, file: &FileOptions, config: &Config) -> Option<FileTools> {
        let listed = file.tools.as_ref().map(|list| FileTools::new(list, &self.shared.toolbox.registry()));
        // What the file says of notes comes on top of its list.
        if file.layer.pointer("/tools/notes/enabled").is_none() {
            return listed;
        }
        let mut chosen = listed.unwrap_or_else(|| FileTools {
            names: self.shared.toolbox.default_tools().into_iter().collect(),
            default_without: Some(BTreeSet::new()),
        });
        let switches = self.shared.config().tools.switches();
        for tool in NOTES_TOOLS {
            if !config.tools.notes.enabled {
                chosen.names.remove(tool);
            } else if switches.get(tool) != Some(&false) {
                chosen.names.insert(tool.to_owned());
            }
        }
        Some(chosen)
    }
}
