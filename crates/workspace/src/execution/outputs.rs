//! The one place that every result passes on its way into the document: one that is too long is cut, and the whole is saved.

use crate::{Conversation, execution::Execution};
use flemma_agent::{CallResult, Level};
use flemma_chat::Language;
use flemma_model::CallId;
use flemma_tools::overflow;

impl Execution {
    /// A result as it is written. What the user has typed into the block of the call is theirs, and stays whole.
    pub(crate) fn bounded(&self, conversation: &Conversation, id: &CallId, answer: CallResult) -> CallResult {
        if overflow::fits(&answer.output) {
            return answer;
        }
        let open = conversation.page.open_calls();
        let call = open.iter().rfind(|call| call.id == *id);
        let typed = call.and_then(|call| call.placeholder.as_ref()).map_or("", |placeholder| &placeholder.content);
        if !typed.is_empty() && answer.output.trim_end() == typed.trim_end() {
            return answer;
        }
        let mailbox = self.background.mailbox().clone();
        let tool = call.map_or("", |call| &call.name);
        let saved = self.shared.outputs.save(tool, answer.output.clone(), move |error| {
            mailbox.job(move |this: &Self| {
                this.shared.log(Level::Warn, &format!("the full output of a tool could not be saved: {error}"));
            });
        });
        let (shown, note) = overflow::beginning(answer.output.as_bytes(), &saved);
        // A part of JSON is none.
        let language = if answer.language == Language::Json { Language::Plain } else { answer.language };
        CallResult { output: format!("{shown}\n\n[{note}]"), language, ..answer }
    }
}
