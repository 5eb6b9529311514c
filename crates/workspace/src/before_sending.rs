//! What happens to a conversation between the document and the provider.
//!
//! Before that, what references mean is captured into the document (`capturing`), so that the request has nothing but the text of the
//! file.

use std::sync::Arc;

use crate::{Conversation, components::Permissions, options::effective::Effective, shared::Shared};
use flemma_chat::Transcript;
use flemma_provider::Request;
use flemma_tools::{RetentionRules, TurnTools};

/// What a request is made of, besides the text.
pub(crate) struct Sending<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) permissions: &'a Permissions,
    pub(crate) conversation: &'a Conversation,
    pub(crate) file: &'a Effective,
    pub(crate) turn: &'a TurnTools,
}

impl Sending<'_> {
    /// The request for a conversation.
    pub(crate) fn request(&self, transcript: Transcript) -> Request {
        let Self { shared, permissions, conversation, file, turn } = *self;
        let options = file.config.parameters_for(file.config.provider);
        // The prompts of the groups of tools that the turn names follow the system prompt.
        let prompts = transcript.system.iter().map(String::as_str).chain(turn.prompts.iter().map(AsRef::as_ref));
        let prompts: Vec<&str> = prompts.collect();
        // The tools of the turn, as far as the agents of the conversation permit them.
        let chosen = permissions.offered_tools(file, turn);
        let mut request = Request {
            model: options.model,
            system: (!prompts.is_empty()).then(|| prompts.join("\n\n")),
            messages: transcript.messages,
            tools: shared.toolbox.specs(chosen.as_ref()),
            hosted: shared.toolbox.hosted(&file.config, chosen.as_ref()).tools.into(),
            parameters: options.parameters,
        };
        // Results that the options do not retain lose their text.
        let rules = RetentionRules::new(&file.config.tools, shared.toolbox.registry().all().map(Arc::as_ref));
        rules.apply(&mut request.messages);
        // Files that must not be shown, or that the provider has refused, stay here.
        conversation.page.files().withhold(&mut request, &shared.place(conversation).folder());
        request
    }
}
