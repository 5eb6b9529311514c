//! The result that a call gets from what somebody answers, declines or leaves.

use serde_json::Value;

use crate::{
    Conversation,
    calls::key::Keyed as _,
    components::Resolutions,
    ports::CallContext,
    resolutions::{Resolution, ResolveError, stale::Stale},
};
use flemma_agent::{self as agent, CallResult};
use flemma_chat::{AwaitKind, Language, OpenCall};
use flemma_journal::Asked;
use flemma_model::ToolInput;
use flemma_text::truncate::{self, MAX_BYTES};
use flemma_tools::{Definition, Rendered, check_answer, form::Form};

impl Resolutions {
    /// The result that an answer makes.
    pub(crate) fn answer_of(
        &self,
        call: &OpenCall,
        definition: Option<&Definition>,
        asked: Option<Asked>,
        resolution: Resolution,
        kind: AwaitKind,
    ) -> Result<CallResult, ResolveError> {
        match resolution {
            Resolution::Answer(value) => {
                let checked = match definition {
                    Some(definition) => definition.check_answer(&value),
                    None => asked.and_then(|asked| asked.schema).map_or(Ok(()), |schema| check_answer(&schema, &value)),
                };
                if let Err(mistakes) = checked {
                    let mistakes = mistakes.sentence();
                    let message = format!("the answer does not match the result_schema of `{}`: {mistakes}", call.name);
                    return Err(ResolveError::Invalid(message));
                }
                Ok(answer_text(&value))
            }
            Resolution::Fail(words) => Ok(CallResult::error(words)),
            Resolution::Result(answer) => Ok(answer),
            Resolution::Reject(words) => {
                let declined = if kind == AwaitKind::Elicitation {
                    "The user declined to answer."
                } else {
                    "The user stopped this call."
                };
                Ok(CallResult::error(words.unwrap_or_else(|| declined.to_owned())))
            }
            // Neither is an answer.
            Resolution::Approve
            | Resolution::ApproveAgain
            | Resolution::ApproveAs(_)
            | Resolution::Impossible(_)
            | Resolution::Expire => Err(ResolveError::Stale(Stale::WaitsFor(kind))),
        }
    }

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
        let context = CallContext { function, input, buffer: conversation.buffer, call: &call.id };
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

/// What a schema sees of a result.
pub(crate) fn value_of(rendered: &Rendered) -> Value {
    let table = (rendered.language == Language::Json).then(|| serde_json::from_str(&rendered.text).ok()).flatten();
    table.unwrap_or_else(|| rendered.text.clone().into())
}

/// The result that shows an answer: a string as it is, anything else as JSON.
pub(crate) fn answer_text(answer: &Value) -> CallResult {
    let language = if answer.is_string() { Language::Plain } else { Language::Json };
    CallResult { language, ..CallResult::text(Form::result_text(answer)) }
}

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
