//! What calls ask the user, and which files the editor may tell a model about.

use std::time::Duration;

use crate::{Conversation, components::OpenCalls};
use flemma_chat::Status;
use flemma_journal::{Ending, Role};
use flemma_model::{CallId, ToolInput};
use flemma_tools::{Context, Executor, LuaRef, builtin::files_to_pick, form::Form};

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

impl OpenCalls {
    /// What an open call asks the user. `None` if it has been answered meanwhile, or was never one that the user answers.
    pub fn form(&self, conversation: &Conversation, call: &str) -> Option<AskedForm> {
        let call = conversation.page.open_call(&CallId::from(call))?;
        let waits = call.status().is_none_or(|status| status == Status::Pending);
        let definition = self.shared.toolbox.get(&call.name)?;
        let ToolInput::Json(input) = &*call.input else { return None };
        let is_asked = waits && matches!(definition.executor, Executor::Human) && !call.aborted;
        is_asked.then(|| AskedForm { tool: call.name.clone(), form: Form::of(&definition, input) })
    }

    /// Why an answer of a form is not taken, for the user: how its call has ended, or what it lacks.
    pub fn why_not_answerable(&self, buffer: i32, call: &CallId) -> String {
        let Some(conversation) = self.shared.conversation(buffer) else {
            return "the conversation was closed".to_owned();
        };
        if let Some(open) = conversation.page.open_call(call) {
            let is_over = open.awaiting().is_some_and(|awaiting| awaiting.is_over(self.shared.host.now()));
            return match () {
                () if is_over => "its deadline has passed".to_owned(),
                () if conversation.records.is_claimed(call) => "another answer is being recorded".to_owned(),
                () => "the call does not wait for an answer any more".to_owned(),
            };
        }
        let ending = conversation.records.with_ledger(|ledger| ledger.last_ending(call).cloned());
        let Some(Ending { by, is_error, .. }) = ending else {
            return "the call is no longer in the conversation".to_owned();
        };
        match by.role {
            Role::Clock => "its deadline has passed".to_owned(),
            Role::User | Role::Tool | Role::Policy if is_error => "the call was rejected or cancelled".to_owned(),
            Role::User => "you have answered the call already".to_owned(),
            _ if by != self.journaling.actor(by.role) => {
                format!("process {} on {} has answered the call", by.process, by.host)
            }
            _ => "a plugin or another program has answered the call".to_owned(),
        }
    }

    /// Lists the files below a folder that the user may pick for a model, away from the main thread. `callback` gets them.
    pub fn files_to_pick(&self, conversation: &Conversation, folder: Option<String>, callback: LuaRef) {
        let place = self.shared.place(conversation);
        let mut context = Context::new(place.cwd.clone(), PATIENCE, self.shared.outputs.folder().to_owned());
        context.chat_dir = place.chat_dir();
        context.denied = self.permissions.denied(conversation).into();
        context.permitted = self.permissions.permitted(conversation).into();
        let work = move || files_to_pick(&context, folder.as_deref());
        self.background.run(work, move |this: &Self, files| this.shared.scripts.files_to_pick(callback, files));
    }
}
