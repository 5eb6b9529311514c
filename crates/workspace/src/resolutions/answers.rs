//! The result that a call gets from what somebody answers, declines or leaves.

use std::rc::Rc;

use serde_json::Value;

use crate::{
    resolutions::{Resolution, ResolveError, stale::Stale},
    shared::Shared,
    undo::Undo,
};
use flemma_agent::CallResult;
use flemma_chat::{AwaitKind, Language, OpenCall};
use flemma_journal::Asked;
use flemma_tools::{Definition, Rendered, check_answer, form::Form};

/// What the model is told of a call that a person or the clock has ended.
pub struct Answers {
    pub(crate) shared: Rc<Shared>,
    pub(crate) undo: Rc<Undo>,
}

impl Answers {
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

    /// What the model is told of a call that nobody resolved in time.
    pub(crate) fn expired(&self, kind: AwaitKind) -> String {
        let words = match kind {
            AwaitKind::Approval => "The user did not respond in time, so this call did not run.",
            AwaitKind::Elicitation => "The user did not respond in time.",
            AwaitKind::ClientExec if self.shared.host.has_ui() => "The editor did not respond in time.",
            AwaitKind::ClientExec => "No user interface of the editor was attached, so this call could not run.",
        };
        words.to_owned()
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
