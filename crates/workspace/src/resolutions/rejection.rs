//! What the model is told of a call that the user rejects: the tool may have words of its own for it.

use crate::{Conversation, calls::key::Keyed as _, ports::CallContext, resolutions::answers::Answers};
use flemma_agent as agent;
use flemma_agent::CallResult;
use flemma_chat::OpenCall;
use flemma_model::ToolInput;
use flemma_text::truncate::{self, MAX_BYTES};

/// What is said of a change that the user rejects. `before` says what the call has written before it.
pub(crate) fn refused_write(reason: Option<&str>, before: Option<&str>) -> String {
    let refused = match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("The user rejected the change, and nothing of it was written: {reason}"),
        None => "The user rejected the change, and nothing of it was written.".to_owned(),
    };
    with_writes_before(refused, before)
}

/// What is said of the latest change of a call, with what the call has written before it. The model must not take "not written" for
/// all of the call.
pub(crate) fn with_writes_before(said: String, before: Option<&str>) -> String {
    before.map_or_else(|| said.clone(), |before| format!("{}\n\n{before}", said.trim_end()))
}

impl Answers {
    /// The result of a call that the user rejects, for this reason.
    pub(crate) fn rejection(&self, conversation: &Conversation, call: &OpenCall, reason: Option<&str>) -> CallResult {
        let is_interrupted = conversation.is_interrupted(call);
        let effect = is_interrupted.then(|| self.undo.effect_of_interrupted(conversation, call));
        if conversation.records.has_proposed(&call.key()) {
            // It did run until then.
            let before = self.undo.written_before(conversation, call);
            return agent::rejection(call, reason, None, |reason| Some(refused_write(reason, before.as_deref())));
        }
        agent::rejection(call, reason, effect.as_deref(), |reason| self.own_rejection(conversation, call, reason))
    }

    /// What the tool's own `format_rejection` says; `None` where it has none, throws, or gives no text.
    pub(crate) fn own_rejection(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        reason: Option<&str>,
    ) -> Option<String> {
        let function = self.shared.toolbox.get(&call.name)?.format_rejection?;
        let ToolInput::Json(input) = &*call.input else { return None };
        let context = CallContext { function, input, buffer: conversation.buffer(), call: &call.id };
        match self.shared.scripts.rejection(context, reason.map(str::trim_end)) {
            Ok(text) => text.map(|text| truncate::prefix(&text, MAX_BYTES).to_owned()),
            Err(problem) => {
                let hint = "The model is told of the rejection in Flemma's own words";
                self.shared
                    .warn_once(function, &format!("the tool `{}`: `format_rejection` {problem}. {hint}", call.name));
                None
            }
        }
    }
}
