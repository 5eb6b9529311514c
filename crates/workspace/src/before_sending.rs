//! What happens to a conversation between the document and the provider: a list of steps, in their order. Each of them takes a
//! request and gives it back.
//!
//! Before the first of them, what references mean is captured into the document (`capturing`), so that the request has nothing but
//! the text of the file.

use std::{path::Path, sync::Arc};

use crate::{Conversation, components::Permissions, options::effective::Effective, shared::Shared};
use flemma_chat::Transcript;
use flemma_provider::Request;
use flemma_tools::{RetentionRules, TurnTools};

/// What the steps may look at.
pub(crate) struct Sending<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) permissions: &'a Permissions,
    pub(crate) conversation: &'a Conversation,
    pub(crate) file: &'a Effective,
    pub(crate) turn: &'a TurnTools,
}

type Step = fn(&Sending<'_>, Request) -> Request;

/// The steps.
const STEPS: [Step; 4] = [drop_old_results, add_prompts, offer_tools, withhold_files];

impl Sending<'_> {
    /// The request for a conversation.
    pub(crate) fn request(&self, transcript: Transcript) -> Request {
        let options = self.file.config.parameters_for(self.file.config.provider);
        let request = Request {
            model: options.model,
            system: transcript.system,
            messages: transcript.messages,
            tools: [].into(),
            hosted: [].into(),
            parameters: options.parameters,
        };
        STEPS.iter().fold(request, |request, step| step(self, request))
    }
}

/// Results that the options do not retain lose their text.
fn drop_old_results(sending: &Sending<'_>, mut request: Request) -> Request {
    let registry = sending.shared.toolbox.registry();
    let rules = RetentionRules::new(&sending.file.config.tools, registry.all().map(Arc::as_ref));
    rules.apply(&mut request.messages);
    request
}

/// The prompts of the groups of tools that the turn names follow the system prompt.
fn add_prompts(sending: &Sending<'_>, mut request: Request) -> Request {
    let prompts = request.system.iter().map(String::as_str).chain(sending.turn.prompts.iter().map(AsRef::as_ref));
    let prompts: Vec<&str> = prompts.collect();
    request.system = (!prompts.is_empty()).then(|| prompts.join("\n\n"));
    request
}

/// The tools of the turn, as far as the agents of the conversation permit them.
fn offer_tools(sending: &Sending<'_>, mut request: Request) -> Request {
    let toolbox = &sending.shared.toolbox;
    let chosen = sending.permissions.offered_tools(sending.file, sending.turn);
    request.tools = toolbox.specs(chosen.as_ref());
    request.hosted = toolbox.hosted(&sending.file.config, chosen.as_ref()).tools.into();
    request
}

/// Files that must not be shown, or that the provider has refused, stay here.
fn withhold_files(sending: &Sending<'_>, mut request: Request) -> Request {
    let folder = sending.shared.place(sending.conversation).folder();
    sending.conversation.page.files().withhold(&mut request, Path::new(&folder));
    request
}
