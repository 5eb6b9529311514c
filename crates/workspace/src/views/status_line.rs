//! What a status line shows: of one conversation, and of all of them.
//!
//! A status line is drawn with every key, so nothing here evaluates options or reads the text. What is counted are the blocks
//! of the calls that have no result yet.

use std::rc::Rc;

use crate::{Conversation, components::Views};
use flemma_agent::Activity;
use flemma_model::Usage;
use flemma_provider::usage::figures;

impl Views {
    /// What a status line shows of a buffer's conversation: its model, what it is doing, how many calls wait for the user, how
    /// many messages are queued, and what it has used and cost. The options are those of when they were last needed. `None` without a conversation.
    pub fn status_line(&self, buffer: i32) -> Option<String> {
        let conversation = self.shared.conversation(buffer)?;
        let known = conversation.evaluated.borrow().as_ref().map(|(_, effective)| Rc::clone(&effective.config));
        let config = known.unwrap_or_else(|| self.shared.config());
        let model = Some(config.model().to_owned()).filter(|model| !model.is_empty());
        let waiting = Some(conversation.waiting_count()).filter(|count| *count > 0).map(waits);
        let queued = conversation.outbox.messages.borrow().waiting().len();
        let queued = (queued > 0).then(|| format!("{queued} queued"));
        let used = self.usage.totals(Some(buffer));
        let Usage { input, output, cache_read, cache_write, .. } = used.usage;
        let all = input + output + cache_read + cache_write;
        let tokens = (all > 0).then(|| format!("{} tokens", figures::tokens(all)));
        let cost = (used.requests > used.unpriced).then(|| figures::cost(&used));
        let parts = [model, self.doing(&conversation), waiting, queued, tokens, cost];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
    }

    /// What a status line shows of all conversations: `2 working, 1 waits`. Empty if none works and none waits.
    pub fn overview(&self) -> String {
        let all = self.shared.conversations.all();
        let working = all.iter().filter(|conversation| conversation.is_busy()).count();
        let waiting = all.iter().filter(|it| !it.is_busy() && it.waiting_count() > 0).count();
        let working = (working > 0).then(|| format!("{working} working"));
        let waiting = (waiting > 0).then(|| waits(waiting));
        [working, waiting].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// What a conversation is doing, for how long, and how much of a reply has arrived; `None` while it rests.
    pub fn doing(&self, conversation: &Conversation) -> Option<String> {
        let activity = match conversation.session.activity() {
            Activity::Idle => return conversation.holding.elsewhere().map(|_| "read-only".to_owned()),
            Activity::Loading => return Some("loading tools".to_owned()),
            Activity::Capturing => return Some("looking up references".to_owned()),
            Activity::Waiting => "waiting".to_owned(),
            Activity::Retrying { attempt, .. } => format!("attempt {attempt}"),
            Activity::Thinking => "thinking".to_owned(),
            Activity::Writing => "writing".to_owned(),
            Activity::Calling { tool, .. } => format!("calling {tool}"),
            Activity::Hosting { tool } => format!("running {tool}"),
            Activity::Executing { running: 0 } => return Some("working".to_owned()),
            Activity::Executing { running } => {
                let tools = if running == 1 { "tool" } else { "tools" };
                let calls = conversation.session.running();
                let longest = calls.iter().map(|call| conversation.tasks.elapsed(&call.id)).max();
                return Some(format!("{running} {tools}, {} s", longest.unwrap_or_default().as_secs()));
            }
        };
        Some(activity + &conversation.progress_text())
    }
}

fn waits(count: usize) -> String {
    if count == 1 { "1 waits".to_owned() } else { format!("{count} wait") }
}
