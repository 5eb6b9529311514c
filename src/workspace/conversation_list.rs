//! The list of a project's conversations, for whoever picks one.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::Serialize;

use super::{Conversation, Workspace};
use crate::{chat::Glance, model::UserError, runtime::ListedConversation};

/// A conversation of a project, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationRow {
    /// The absolute path of its file.
    pub path: PathBuf,
    /// The name of the file, without `.chat`.
    pub name: String,
    /// The first line of the user's first message; the name of the file if there is none.
    pub title: String,
    /// When the file was written, in seconds since 1970; `None` if there is no file yet.
    pub modified: Option<u64>,
    /// The model that it uses.
    pub model: String,
    /// What it is doing.
    pub state: RowState,
}

/// What a conversation in a list is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    /// Nothing.
    #[default]
    Idle,
    /// A call waits for the user.
    Waiting,
    /// A request or a tool is running in it, in this editor.
    Working,
}

impl Workspace {
    /// Lists the conversations of the project at `root`, the newest first. `then` gets them when the disk has been read,
    /// which happens away from the main thread. What is open here is listed as it is in the editor.
    pub fn list_conversations(
        &self,
        root: &Path,
        then: impl FnOnce(&Self, Result<Vec<ConversationRow>, UserError>) + Send + 'static,
    ) {
        let mut folders = vec![self.conversation_folder(root), self.projects().own_folder(root)];
        // The same one, unless the user wants them in the project.
        folders.dedup();
        let (list, root) = (self.projects().list().clone(), root.to_owned());
        let named = folders[0].clone();
        let then = move |workspace: &Self, found: io::Result<Vec<ListedConversation>>| {
            let rows = found.map(|found| workspace.rows(&root, found)).map_err(|error| {
                UserError::new(format!("the conversations in {} cannot be listed: {error}", named.display()))
            });
            then(workspace, rows);
        };
        // Where there is no thread, `then` is dropped, and this says why.
        if let Err(error) = self.background().run(move || list.list(&folders), then) {
            self.warn(&format!("the conversations cannot be listed: the system gives no threads ({error})."));
        }
    }

    fn rows(&self, root: &Path, found: Vec<ListedConversation>) -> Vec<ConversationRow> {
        let mut open: HashMap<PathBuf, _> = HashMap::new();
        for conversation in self.conversations().all() {
            let file = PathBuf::from(self.place(&conversation).file);
            if self.project_of(&file).as_deref() == Some(root) {
                open.insert(file, conversation);
            }
        }
        let mut rows: Vec<ConversationRow> = Vec::new();
        for ListedConversation { path, modified, glance } in found {
            rows.push(match open.remove(&path) {
                Some(conversation) => self.open_row(path, Some(modified), &conversation),
                None => self.row(path, Some(modified), glance),
            });
        }
        // One that was never written is the newest of all, once there is something in it.
        let unwritten = open
            .into_iter()
            .map(|(path, conversation)| (Glance::of_text(conversation.page().text()), path, conversation));
        let unwritten = unwritten.filter(|(glance, ..)| glance.title.is_some());
        let unwritten = unwritten.map(|(_, path, conversation)| self.open_row(path, None, &conversation));
        rows.splice(0..0, unwritten.collect::<Vec<_>>());
        rows
    }

    fn open_row(&self, path: PathBuf, modified: Option<SystemTime>, conversation: &Conversation) -> ConversationRow {
        let glance = Glance::of_text(conversation.page().text());
        let state = if conversation.is_busy() {
            RowState::Working
        } else if self.pending_calls(Some(conversation.buffer())).is_empty() {
            RowState::Idle
        } else {
            RowState::Waiting
        };
        ConversationRow { state, ..self.row(path, modified, glance) }
    }

    fn row(&self, path: PathBuf, modified: Option<SystemTime>, glance: Glance) -> ConversationRow {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let since = modified.and_then(|modified| modified.duration_since(SystemTime::UNIX_EPOCH).ok());
        ConversationRow {
            title: glance.title.unwrap_or_else(|| name.clone()),
            name,
            modified: since.map(|since| since.as_secs()),
            model: glance.model.unwrap_or_else(|| self.config().model().to_owned()),
            state: if glance.is_waiting { RowState::Waiting } else { RowState::Idle },
            path,
        }
    }
}
