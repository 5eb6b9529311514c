//! `:Flemma preview`: what the next request would say, made by the functions that make it.

use std::rc::Rc;

use crate::{
    Conversation,
    components::InstructionSource,
    instructions::{Found, SKILL, SKILLS},
    options::effective::Effective,
};
use flemma_chat::{Document, Transcript};
use flemma_model::UserError;
use flemma_provider::auth::Environment;
use flemma_runtime::{Recipient, http::Timeouts};
use flemma_tools::NamedBy;

impl InstructionSource {
    /// Finds out what the next request of a conversation would say, in lines. One that would begin with instructions has them
    /// already, also those that the user has yet to trust. `then` gets them, or why there is no such request.
    pub fn preview(&self, buffer: i32, then: impl FnOnce(&Self, Result<Vec<String>, UserError>) + Send + 'static) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        if self.are_lacking(&conversation) {
            let show = move |this: &Self, conversation: &Conversation, found| {
                this.show(conversation, Some(&found), then);
            };
            return self.find(&conversation, show);
        }
        self.show(&conversation, None, then);
    }

    fn show(
        &self,
        conversation: &Conversation,
        found: Option<&Found>,
        then: impl FnOnce(&Self, Result<Vec<String>, UserError>) + Send + 'static,
    ) {
        let file = self.frontmatter.of(conversation);
        let built = match &file.fault {
            Some(fault) => Err(UserError::new(format!("there is no preview: {}", fault.diagnostic.message))),
            None => transcript(conversation, found),
        };
        let transcript = match built {
            Ok(transcript) => transcript,
            Err(problem) => return then(self, Err(problem)),
        };
        let notes = self.notes(conversation, &file, found);
        let mut turn = self.frontmatter.turn_tools(conversation, &file);
        if found.is_some_and(|found| found.captures().iter().any(|capture| capture.written == SKILLS)) {
            turn.name(SKILL, NamedBy::User);
        }
        let request = self.permissions.request(conversation, &file, &turn, transcript);
        let options = file.config.parameters_for(file.config.provider);
        let timeouts = Timeouts::of(&options);
        let recipient = Recipient::of(options, Environment::of_process());
        let (mailbox, readable) = (self.background.mailbox.clone(), self.permissions.readable(conversation));
        let show = move |lines: Result<Vec<String>, flemma_provider::ProviderError>| {
            mailbox.job(move |this: &Self| {
                let lines = lines.map(|lines| notes.into_iter().chain(lines).collect());
                then(this, lines.map_err(|error| UserError::new(format!("there is no preview: {error}"))));
            });
        };
        if let Err(error) =
            self.background.worker.preview(conversation.id, recipient, request, readable, timeouts, show)
        {
            self.shared.warn(&format!("there is no preview: no thread could be started ({error})"));
        }
    }

    /// Where what the request says comes from.
    fn notes(&self, conversation: &Conversation, file: &Rc<Effective>, found: Option<&Found>) -> Vec<String> {
        let mut notes = vec![format!("# To {}, model {}", file.config.provider.title(), file.config.model())];
        notes.push("# The system prompt and the messages are the text of this file.".to_owned());
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            let names = Some(found.names()).filter(|names| !names.is_empty()).map(|names| format!(": {names}"));
            let names = names.unwrap_or_default();
            notes.push(format!("# Written into it when it is sent: the prompt of the option `system`{names}"));
        }
        let uncaptured = conversation.page.uncaptured();
        if !uncaptured.is_empty() {
            let names: Vec<String> = uncaptured.into_iter().map(|reference| reference.written).collect();
            notes.push(format!("# Looked up when it is sent, and written below the message: {}", names.join(", ")));
        }
        notes.push("# The definitions of tools come from `:Flemma tool:list`, with the prompts of groups that the message names.".to_owned());
        notes.push(String::new());
        notes
    }
}

/// The conversation as it would be sent.
fn transcript(conversation: &Conversation, found: Option<&Found>) -> Result<Transcript, UserError> {
    let built = conversation.page.with_document(|document, text| {
        let Some(found) = found else { return document.transcript(text) };
        let mut lines: Vec<String> = (0..text.line_count()).map(|line| text.line(line)).collect();
        for edit in flemma_chat::write_instructions(document, text, &found.prompt, &found.captures()) {
            edit.apply(&mut lines);
        }
        Document::parse(&lines).transcript(&lines)
    });
    built.map_err(|found| {
        let first = found.first().map(|first| format!("line {}: {}", first.line + 1, first.message));
        UserError::new(format!(
            "there is no preview: {}",
            first.unwrap_or_else(|| "the file cannot be read".to_owned())
        ))
    })
}
