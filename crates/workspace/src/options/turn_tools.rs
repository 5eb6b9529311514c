//! Which tools the next request of a conversation offers: what the options and the file say, what the user's message names,
//! and what the tools that decide for themselves say.

use std::rc::Rc;

use crate::{
    Conversation,
    options::{Frontmatter, effective::Effective},
};
use flemma_chat::OpenCall;
use flemma_tools::{NamedBy, TurnTools};

impl Frontmatter {
    /// What a request that goes out now changes about the tools that are offered. It calls functions of the user's.
    pub(crate) fn turn_tools(&self, conversation: &Conversation, file: &Effective) -> TurnTools {
        self.turn_tools_above(conversation, file, usize::MAX)
    }

    /// The same for the request that was answered with a call: what its request said, or, if that went out in another
    /// session, what follows from the text above the call.
    pub(crate) fn turn_tools_of(
        &self,
        conversation: &Conversation,
        file: &Effective,
        call: &OpenCall,
    ) -> Rc<TurnTools> {
        let requested = conversation.turn_tools.borrow().clone();
        requested.unwrap_or_else(|| Rc::new(self.turn_tools_above(conversation, file, call.line)))
    }

    fn turn_tools_above(&self, conversation: &Conversation, file: &Effective, line: usize) -> TurnTools {
        let mut turn = TurnTools::default();
        let page = &conversation.page;
        let is_trusted = conversation.drive.trusts() == Some(true);
        for mention in page.with_document(|document, text| flemma_chat::mentioned(document.messages(), line, text)) {
            let is_own = is_trusted || page.is_by_user(mention.line..mention.line + 1);
            self.shared.toolbox.name(&mention.name, if is_own { NamedBy::User } else { NamedBy::File }, &mut turn);
        }
        let asked = self.shared.toolbox.registry().to_ask(file.tools.as_ref(), &turn);
        for (tool, function, is_named) in asked {
            let answer = self.shared.scripts.is_enabled(function, conversation.buffer(), is_named);
            let is_enabled = answer.unwrap_or_else(|problem| {
                let hint = "It may return true or false. Until it does, the tool is not offered to models";
                self.shared.warn_once(function, &format!("the tool `{tool}`: `enabled` {problem}. {hint}"));
                false
            });
            turn.answers.insert(tool, is_enabled);
        }
        turn
    }
}
