//! The list of a project's conversations, for whoever picks one.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    rc::Rc,
    time::SystemTime,
};

use serde::Serialize;

use crate::{Conversation, components::Lists};
use flemma_chat::{Glance, given_title};
use flemma_model::UserError;
use flemma_runtime::ListedConversation;

/// When files were written.
type Dates = HashMap<PathBuf, SystemTime>;

/// A conversation of a project, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationRow {
    /// The absolute path of its file.
    pub path: PathBuf,
    /// The name of the file, without `.chat`.
    pub name: String,
    /// The first line of the user's first message; the name of the file if there is none.
    pub title: String,
    /// The title that the user gave it.
    pub given: Option<String>,
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

impl Lists {
    /// Lists the conversations of the project in which `start` is, or of `cwd` if it is in none, the newest first. `then` gets them,
    /// or why there are none, when the disk has been read, which happens away from the main thread. What is open here is listed as it is in the editor,
    /// also if it has no file yet, and if its file is anywhere else below the root.
    pub fn list_conversations(
        &self,
        start: &Path,
        cwd: &Path,
        then: impl FnOnce(&Self, Result<Vec<ConversationRow>, UserError>) + Send + 'static,
    ) {
        let list = move |this: &Self, root: PathBuf| this.list_project(root, then);
        self.background.run(self.projects.find_root(start, cwd), list);
    }

    fn list_project(
        &self,
        root: PathBuf,
        then: impl FnOnce(&Self, Result<Vec<ConversationRow>, UserError>) + Send + 'static,
    ) {
        let mut folders = vec![self.projects.conversation_folder(&root), self.shared.projects.own_folder(&root)];
        // The same one, unless the user wants them in the project.
        folders.dedup();
        let list = self.shared.projects.list.clone();
        let named = folders[0].clone();
        let open: Vec<PathBuf> = self.open_below(&root).into_keys().collect();
        let then = move |this: &Self, found: io::Result<(Vec<ListedConversation>, Dates)>| {
            let named = named.display();
            let rows = match found.map(|(found, dates)| this.rows(&root, found, &dates)) {
                Ok(rows) if rows.is_empty() => Err(format!(
                    "no conversation yet; `:Flemma new` begins one. They are looked for in {named} (`conversations.folder`)"
                )),
                Ok(rows) => Ok(rows),
                Err(error) => Err(format!("the conversations in {named} cannot be listed: {error}")),
            };
            then(this, rows.map_err(UserError::new));
        };
        let look = move || {
            let date = |path: PathBuf| Some((fs::metadata(&path).and_then(|file| file.modified()).ok()?, path));
            let dates = open.into_iter().filter_map(date).map(|(date, path)| (path, date)).collect();
            Ok((list.list(&folders)?, dates))
        };
        self.background.run(look, then);
    }

    /// The conversations that are open here, of the project at `root` or anywhere else below it, by their paths.
    fn open_below(&self, root: &Path) -> BTreeMap<PathBuf, Rc<Conversation>> {
        let is_below = |file: &Path| match self.shared.project_of(file) {
            Some(project) => project == root,
            None => file.starts_with(root),
        };
        let open = self.shared.conversations.all().into_iter();
        open.map(|conversation| (PathBuf::from(self.shared.place(&conversation).file), conversation))
            .filter(|(file, _)| is_below(file))
            .collect()
    }

    fn rows(&self, root: &Path, found: Vec<ListedConversation>, dates: &Dates) -> Vec<ConversationRow> {
        let mut open = self.open_below(root);
        let listed = found.into_iter().map(|ListedConversation { path, modified, glance }| match open.remove(&path) {
            Some(conversation) => self.open_row(path, Some(modified), &conversation),
            None => self.row(path, Some(modified), glance),
        });
        let listed: Vec<ConversationRow> = listed.collect();
        // The names of new ones begin with their dates.
        let others = open.into_iter().rev();
        let others = others.map(|(path, conversation)| {
            let date = dates.get(&path).copied();
            self.open_row(path, date, &conversation)
        });
        let mut rows: Vec<ConversationRow> = others.chain(listed).collect();
        // One that was never written is the newest of all.
        rows.sort_by_key(|row| Reverse(row.modified.unwrap_or(u64::MAX)));
        rows
    }

    /// What a conversation is called: the title that the user gave it, or else the first line of their first message; empty if it has
    /// neither.
    pub fn title(&self, conversation: &Conversation) -> String {
        let file = PathBuf::from(self.shared.place(conversation).file);
        let given = file.file_stem().and_then(|name| given_title(&name.to_string_lossy()));
        given.or_else(|| Glance::of_text(conversation.page.text()).title).unwrap_or_default()
    }

    fn open_row(&self, path: PathBuf, modified: Option<SystemTime>, conversation: &Conversation) -> ConversationRow {
        let glance = Glance::of_text(conversation.page.text());
        let state = if conversation.is_busy() {
            RowState::Working
        } else if self.calls.pending_calls(Some(conversation.buffer)).is_empty() {
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
            given: given_title(&name),
            name,
            modified: since.map(|since| since.as_secs()),
            model: glance.model.unwrap_or_else(|| self.shared.config().model().to_owned()),
            state: if glance.is_waiting { RowState::Waiting } else { RowState::Idle },
            path,
        }
    }
}
