//! What happens to a conversation between the document and the provider.
//!
//! Before that, what references mean is captured into the document (`capturing`), so that the request has nothing but the text of the
//! file.

use std::sync::Arc;

use crate::{Conversation, components::Permissions, options::effective::Effective};
use flemma_chat::Transcript;
use flemma_provider::Request;
use flemma_tools::{RetentionRules, TurnTools};

impl Permissions {
    /// The request for a conversation of which this is in effect, with what its agents permit.
    pub(crate) fn request(
        &self,
        conversation: &Conversation,
        file: &Effective,
        turn: &TurnTools,
        transcript: Transcript,
    ) -> Request {
        let shared = &self.shared;
        let options = file.config.parameters_for(file.config.provider);
        // The prompts of the groups of tools that the turn names follow the system prompt.
        let prompts = transcript.system.iter().map(String::as_str).chain(turn.prompts.iter().map(AsRef::as_ref));
        let prompts: Vec<&str> = prompts.collect();
        // The tools of the turn, as far as the agents of the conversation permit them.
        let chosen = self.offered_tools(file, turn);
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
