//! What a tool may know and use of a conversation, and what the user has approved of what it would write.

use std::{collections::BTreeMap, sync::Arc};

use super::{Conversation, Workspace, made::EarlierDecision};
use flemma_journal::CallKey;
use flemma_model::CallId;
use flemma_tools::{Approved, Context, Definition, KeptContent, PathKind};

impl Workspace {
    /// What a native tool may know and use of a conversation, whether it runs or only proposes.
    pub(super) fn tool_context(&self, conversation: &Conversation, definition: &Definition) -> Context {
        let place = self.place(conversation);
        let own = self.config().tools.options_of(&definition.name);
        let folder = self.working_directory(&place, &definition.name);
        let mut context = Context::new(folder, self.timeout(definition), self.outputs().folder().to_owned());
        context.chat_dir = place.chat_dir();
        context.notes_root = self.notes_root(conversation);
        context.config = own;
        context.protected = self.protected();
        context.denied = Arc::new(self.denied(conversation));
        context.permitted = Arc::new(self.permitted(conversation));
        context.unsaved = self.host().unsaved_files().into();
        context
    }

    /// What the user has approved of what a call would write; `None` if that is not approved, or for whatever it writes.
    pub(super) fn approved(&self, conversation: &Conversation, key: &CallKey) -> Option<Approved> {
        let binding = conversation.records().with_ledger(|ledger| ledger.binding(key).cloned())?;
        let contents = self.edited_contents();
        Some(Approved { binding, contents, first: BTreeMap::new() })
    }

    /// What the user has made of a call's change before; `None` if it is whatever the call writes.
    pub(super) fn earlier_decision(&self, conversation: &Conversation, key: &CallKey) -> Option<EarlierDecision> {
        let approved = || conversation.records().with_ledger(|ledger| ledger.binding(key).cloned());
        let binding = self.made_of(conversation, key).or_else(approved)?;
        Some(EarlierDecision { binding, contents: self.edited_contents() })
    }

    /// Gives what users have edited in reviews, also if it is not on the disk yet.
    pub(super) fn edited_contents(&self) -> KeptContent {
        let (backups, unsaved) = (self.backups().clone(), self.unsaved_edits().borrow().clone());
        Arc::new(move |digest| unsaved.get(digest).map(|bytes| bytes.to_vec()).or_else(|| backups.edited(digest)))
    }

    /// What a call may know and use that this run of it is about; `None` if the run is over.
    pub(super) fn context_of_run(&self, conversation: &Conversation, id: &CallId, run: u64) -> Option<Context> {
        if !conversation.tasks().is_run(id, run) {
            return None;
        }
        let call = &conversation.page().open_call(id)?;
        let definition = self.toolbox().get(&call.name)?;
        let mut context = self.tool_context(conversation, &definition);
        context.recorder = self.recorder(conversation, call);
        context.cancel = conversation.tasks().end_of_run(id)?;
        context.seen = conversation.tasks().seen_by_run(id)?;
        context.lua = self.scripts().sandbox();
        if definition.path_kind != PathKind::File {
            context.judged = conversation.tasks().judged(id);
        }
        Some(context)
    }
}
