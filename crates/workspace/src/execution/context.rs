//! What a tool may know and use of a conversation, and what the user has approved of what it would write.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{Conversation, components::ToolContexts};
use flemma_journal::{Binding, CallKey};
use flemma_model::CallId;
use flemma_tools::{Approved, Context, Definition, KeptContent, NativeTool, PathKind, builtin::StoredWrite};

impl ToolContexts {
    /// What a native tool may know and use of a conversation, whether it runs or only proposes.
    pub(crate) fn tool_context(&self, conversation: &Conversation, definition: &Definition) -> Context {
        let place = self.shared.place(conversation);
        let own = self.shared.config().tools.options_of(&definition.name);
        let folder = self.permissions.working_directory(&place, &definition.name);
        let mut context = Context::new(folder, self.timeout(definition), self.shared.outputs.folder().to_owned());
        context.chat_dir = place.chat_dir();
        context.notes_root = self.frontmatter.notes_root(conversation);
        context.config = own;
        context.protected = self.permissions.protected();
        context.denied = Arc::new(self.permissions.denied(conversation));
        context.permitted = Arc::new(self.permissions.permitted(conversation));
        context.instructions = self.trust.instructions();
        context.unsaved = self.shared.host.unsaved_files().into();
        context
    }

    /// What the user has approved of what a call would write; `None` if that is not approved, or for whatever it writes.
    pub(crate) fn approved(&self, conversation: &Conversation, key: &CallKey) -> Option<Approved> {
        let binding = conversation.records.with_ledger(|ledger| ledger.binding(key).cloned())?;
        Some(self.with_contents(binding))
    }

    /// What the user has made of a call's change before; `None` if it is whatever the call writes.
    pub(crate) fn earlier_decision(&self, conversation: &Conversation, key: &CallKey) -> Option<Approved> {
        let made = conversation.records.made(key).map(|made| self.with_contents(made));
        made.or_else(|| self.approved(conversation, key))
    }

    fn with_contents(&self, binding: Binding) -> Approved {
        Approved { binding, contents: self.edited_contents(), first: BTreeMap::new() }
    }

    /// Gives what users have edited in reviews, also if it is not on the disk yet.
    pub(crate) fn edited_contents(&self) -> KeptContent {
        let (backups, unsaved) = (self.undo.backups.clone(), self.unsaved_edits.borrow().clone());
        Arc::new(move |digest| unsaved.get(digest).map(|bytes| bytes.to_vec()).or_else(|| backups.edited(digest)))
    }

    /// What a call may know and use that this run of it is about; `None` if the run is over.
    pub(crate) fn context_of_run(&self, conversation: &Conversation, id: &CallId, run: u64) -> Option<Context> {
        let (cancel, seen) = conversation.tasks.run_of(id, run)?;
        let call = &conversation.page.open_call(id)?;
        let definition = self.shared.toolbox.get(&call.name)?;
        let mut context = self.tool_context(conversation, &definition);
        context.recorder = self.undo.recorder(conversation, call);
        (context.cancel, context.seen) = (cancel, seen);
        context.lua = self.shared.scripts.sandbox();
        if definition.path_kind != PathKind::File {
            context.judged = conversation.tasks.judged(id);
        }
        Some(context)
    }

    /// How long a call may take: what the user says of this tool, else what the tool says of itself, else the default.
    pub(crate) fn timeout(&self, definition: &Definition) -> Duration {
        let config = self.shared.config();
        let own = config.tools.options_of(&definition.name).get("timeout").and_then(Value::as_f64);
        own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .or(definition.timeout)
            .unwrap_or(config.tools.default_timeout)
    }

    /// What writes that which a call has proposed while it ran; `None` if it waits for no decision about that.
    pub(crate) fn stored_write(&self, conversation: &Conversation, key: &CallKey) -> Option<Arc<dyn NativeTool>> {
        let proposed = conversation.records.with_ledger(|ledger| ledger.of(key).proposed.clone())?;
        Some(Arc::new(StoredWrite { proposed, contents: self.edited_contents() }))
    }

    /// The files that a call has proposed to write, absolute, and the folder of notes; `None` if it has proposed nothing.
    pub(crate) fn proposed_files(
        &self,
        conversation: &Conversation,
        definition: &Definition,
        key: &CallKey,
    ) -> Option<(Vec<PathBuf>, PathBuf)> {
        let tool = self.stored_write(conversation, key)?;
        let context = self.tool_context(conversation, definition);
        Some((tool.targets(&Value::Null, &context).unwrap_or_default(), context.notes_root))
    }
}
