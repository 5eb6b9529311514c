//! What calls ask the user, and which files the editor may tell a model about.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Conversation, Workspace};
use flemma_chat::{OpenCall, Status};
use flemma_journal::{Ending, Role};
use flemma_model::{CallId, ModelError, ToolInput};
use flemma_tools::{
    Context, Executor, LuaRef,
    builtin::{FilesToPick, files_to_pick, missing_file},
    form::Form,
};

/// How long listing the files of a folder may take: somebody waits in front of the screen.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a call asks.
#[derive(Clone, Debug)]
pub struct AskedForm {
    /// The tool.
    pub tool: String,
    /// The form.
    pub form: Form,
}

impl Workspace {
    /// What an open call asks the user. `None` if it has been answered meanwhile, or was never one that the user answers.
    #[must_use]
    pub fn form(&self, conversation: &Conversation, call: &str) -> Option<AskedForm> {
        let waits = |call: &OpenCall| {
            let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
            status.is_none_or(|status| status == Status::Pending)
        };
        let call = conversation.page().open_call(&CallId::from(call)).filter(waits)?;
        let definition = self.toolbox().get(&call.name)?;
        let input = match &*call.input {
            ToolInput::Json(input) => input,
            ToolInput::Malformed(_) => return None,
        };
        let is_asked = matches!(definition.executor, Executor::Human) && !call.aborted;
        is_asked.then(|| AskedForm { tool: call.name.clone(), form: Form::of(&definition, input) })
    }

    /// Why an answer of a form is not taken, for the user: how its call has ended, or what it lacks.
    #[must_use]
    pub fn why_not_answerable(&self, buffer: i32, call: &CallId) -> String {
        let Some(conversation) = self.conversation(buffer) else { return "the conversation was closed".to_owned() };
        if let Some(open) = conversation.page().open_call(call) {
            let is_over = open.awaiting().is_some_and(|awaiting| awaiting.is_over(self.host().now()));
            return match () {
                () if is_over => "its deadline has passed".to_owned(),
                () if conversation.records().is_claimed(call) => "another answer is being recorded".to_owned(),
                () => "the call does not wait for an answer any more".to_owned(),
            };
        }
        let ending = conversation.records().with_ledger(|ledger| ledger.last_ending(call).cloned());
        let Some(Ending { by, is_error, .. }) = ending else {
            return "the call is no longer in the conversation".to_owned();
        };
        match by.role {
            Role::Clock => "its deadline has passed".to_owned(),
            Role::User | Role::Tool | Role::Policy if is_error => "the call was rejected or cancelled".to_owned(),
            Role::User => "you have answered the call already".to_owned(),
            _ if by != self.actor(by.role) => format!("process {} on {} has answered the call", by.process, by.host),
            _ => "a plugin or another program has answered the call".to_owned(),
        }
    }

    /// Whether a model may be told about what has these names in the editor ([`DeniedPaths::allows`](flemma_tools::rules::DeniedPaths::allows)): paths of files, or
    /// names of buffers. Also whether nothing at all is denied, and everything is permitted.
    #[must_use]
    pub fn may_read(&self, conversation: &Conversation, names: &[PathBuf]) -> (Vec<bool>, bool) {
        let denied = self.denied(conversation);
        let permitted = self.permitted(conversation);
        let folder = self.place(conversation).folder();
        let is_all = denied.is_empty() && permitted.is_everything();
        if is_all {
            return (vec![true; names.len()], true);
        }
        let (asked, first) = (names.to_vec(), folder.clone());
        let may_read = move || {
            let may_read = |name: &PathBuf| denied.allows(&folder, name) && permitted.allows_name(&folder, name);
            asked.iter().map(may_read).collect::<Vec<_>>()
        };
        (self.promptly(&first, may_read).unwrap_or_else(|_| vec![false; names.len()]), is_all)
    }

    /// What a model is told of a path at which there is nothing, with similar names that it may know of. `None` if it may not
    /// know of this path. This reads the folder.
    #[must_use]
    pub fn missing_file(&self, conversation: &Conversation, path: &Path, name: &str) -> Option<String> {
        let denied = self.denied(conversation);
        let permitted = self.permitted(conversation);
        let folder = self.place(conversation).folder();
        let (missing, name) = (path.to_owned(), name.to_owned());
        let look = move || {
            let is_shown = |path: &Path| denied.allows(&folder, path) && permitted.allows_name(&folder, path);
            is_shown(&missing).then(|| missing_file(&missing, &name, is_shown))
        };
        self.promptly(path, look).ok().flatten()
    }

    /// Lists the files below a folder that the user may pick for a model, away from the main thread. `callback` gets them.
    pub fn files_to_pick(&self, conversation: &Conversation, folder: Option<String>, callback: LuaRef) {
        let place = self.place(conversation);
        let mut context = Context::new(place.cwd.clone(), PATIENCE, self.outputs().folder().to_owned());
        context.chat_dir = place.chat_dir();
        context.denied = self.denied(conversation).into();
        context.permitted = self.permitted(conversation).into();
        let work = move || files_to_pick(&context, folder.as_deref());
        let then = move |workspace: &Self, files: Result<FilesToPick, ModelError>| {
            workspace.scripts().files_to_pick(callback, files);
        };
        if let Err(error) = self.background().run(work, then) {
            let problem = ModelError::new(format!("No thread could be started: {error}. Try again later."));
            self.scripts().files_to_pick(callback, Err(problem));
        }
    }
}
