//! Completion: what can be put at the cursor of a conversation.
//!
//! * [`Completion`] is the answer: [`Item`]s, and the range of the line that each of them replaces.
//! * `gather` finds out what is wanted ([`flemma_chat::Completable`]) and collects it. Files are listed away from the main thread.
//! * `spot` finds out which option the cursor of a frontmatter is at. `options` has what goes there.
//!
//! The omnifunc and the sources for completion plugins (`lua/flemma/completion.lua`) all ask [`Completions::complete`](crate::components::Completions::complete).

mod gather;
mod options;
mod spot;

use std::ops::Range;

use serde::Serialize;

pub use gather::MAX_FILES;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A role marker.
    Role,
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A reference to what the editor shows.
    Reference,
    /// A tool.
    Tool,
    /// A group of tools.
    Group,
    /// A preset of approvals.
    Preset,
    /// An option.
    Option,
    /// A table of options.
    Table,
    /// An operation on a list.
    Operation,
    /// A value of an option.
    Value,
    /// A model.
    Model,
}

/// One thing that is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The text that is put into the line.
    pub word: String,
    /// How it is shown.
    pub label: String,
    /// A few words that are shown beside it.
    pub detail: String,
    /// What it means, in Markdown.
    pub documentation: String,
}

impl Item {
    /// An item that is shown as it is written.
    pub(crate) fn new(kind: ItemKind, word: impl Into<String>) -> Self {
        let word = word.into();
        Self { kind, label: word.clone(), word, detail: String::new(), documentation: String::new() }
    }

    /// The same with these words beside it.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// The same with this documentation.
    pub(crate) fn documentation(self, documentation: impl Into<String>) -> Self {
        Self { documentation: documentation.into(), ..self }
    }
}

/// What is offered at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The bytes of the line that belong to the word at the cursor. An item replaces them from the start to the cursor, or all
    /// of them.
    pub range: Range<usize>,
    /// What is offered, in order. It is not limited to what begins with the word before the cursor.
    pub items: Vec<Item>,
    /// Whether there may be others for a longer word.
    pub is_incomplete: bool,
}
