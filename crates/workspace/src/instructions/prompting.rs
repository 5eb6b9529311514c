//! `:Flemma prompt`: puts the text of a command file or a skill under the user's prompt, where they read it before they send it.

use crate::{Conversation, components::InstructionSource, page::Writing};
use flemma_chat as chat;
use flemma_model::UserError;
use flemma_tools::instructions::{Prompts, Search};

impl InstructionSource {
    /// The names of the prompts of a conversation.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn prompt_names(&self, buffer: i32) -> Result<Vec<String>, UserError> {
        let Some(conversation) = self.shared.conversation(buffer) else { return Ok(Vec::new()) };
        let find = self.find_prompts(&conversation);
        let place = self.shared.place(&conversation).folder();
        self.shared.wait_for_disk(&place, move || find().0.names().map(str::to_owned).collect())
    }

    /// Puts the prompt with this name under the user's prompt, with these arguments in it. It is not the user's text: what it refers to
    /// is asked about. `then` hears why that was not done.
    pub(crate) fn insert_prompt(
        &self,
        conversation: &Conversation,
        name: String,
        arguments: String,
        then: impl FnOnce(&Self, Result<(), UserError>) + Send + 'static,
    ) {
        let (find, readable) = (self.find_prompts(conversation), self.permissions.readable(conversation));
        let expand = move || {
            let (prompts, search) = find();
            prompts.expand(&name, &arguments, &search, &readable)
        };
        let id = conversation.id;
        self.background.run(expand, move |this: &Self, text: Result<String, UserError>| {
            let Some(conversation) = this.shared.conversations.by_id(id) else { return };
            let written = text.and_then(|text| {
                if conversation.is_busy() {
                    return Err(UserError::new(crate::trust::gatekeeper::BUSY));
                }
                let (edits, _) =
                    conversation.page.with_document(|document, text| chat::open_prompt(document.messages(), text));
                conversation.page.undo_step();
                this.shared.write(&conversation, &edits);
                let words = chat::append_words(conversation.page.text(), &text);
                this.shared.write_as(&conversation, Writing::Others, &[words]);
                Ok(())
            });
            then(this, written);
        });
    }

    fn find_prompts(&self, conversation: &Conversation) -> impl FnOnce() -> (Prompts, Search) + Send + 'static {
        let search = self.search(conversation);
        move || {
            let search = search();
            (Prompts::find(&search), search)
        }
    }
}
