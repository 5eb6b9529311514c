//! What is shown of the outbox below the text of a conversation: when it goes out, and what it says.

use crate::{
    Conversation,
    queue::{Queue, outbox::QueuedMessage},
    views::look::Chunk,
};
use flemma_chat::{AwaitKind, OpenCall, Tail};

/// How many lines of a message are shown.
const LINES: usize = 3;

/// What a queued message waits for.
const NOTE: &str = "FlemmaQueueNote";
/// What it says.
const TEXT: &str = "FlemmaQueued";

impl Queue {
    /// The lines below the text: what steers and what is queued, each below what it waits for.
    #[must_use]
    pub fn outbox_view(&self, conversation: &Conversation) -> Vec<Vec<Chunk>> {
        let waiting = conversation.outbox.queued();
        let mut lines = Vec::new();
        for (at, message) in waiting.iter().enumerate() {
            // Those that steer come first.
            if at == 0 || waiting[at - 1].steers != message.steers {
                let waits = self.outbox_waits_for(conversation, message.steers).unwrap_or_default();
                let note = format!("{}: {waits}", if message.steers { "Steering" } else { "Queued" });
                lines.push(vec![Chunk { text: note, group: NOTE }]);
            }
            let number = if waiting.len() > 1 { format!("{} ", at + 1) } else { String::new() };
            lines.extend(message_lines(message, &number));
        }
        lines
    }

    /// What the messages wait for that steer or do not; `None` if there are none.
    pub(crate) fn outbox_waits_for(&self, conversation: &Conversation, steers: bool) -> Option<String> {
        let waiting = conversation.outbox.queued();
        waiting.iter().find(|message| message.steers == steers)?;
        if conversation.is_busy() {
            let end = if steers { "before the next request" } else { "when the turn ends" };
            return Some(format!("sent {end}"));
        }
        let open = conversation.page.open_calls();
        let waits = |call: &&OpenCall| call.awaiting().is_some();
        if let Some(call) = open.iter().find(waits).or_else(|| open.first()) {
            let tool = &call.name;
            return Some(match self.calls.effective_kind(conversation, call) {
                AwaitKind::Approval => format!("it waits for your decision about `{tool}`"),
                AwaitKind::Elicitation => format!("it waits for your answer to `{tool}`"),
                AwaitKind::ClientExec => format!("it waits for the result of `{tool}`"),
            });
        }
        Some(match conversation.page.with_document(|document, text| Tail::of(document.messages(), text)) {
            Tail::Results => "it waits until the results are sent".to_owned(),
            _ => "it waits until you send".to_owned(),
        })
    }
}

/// The first lines of a message, behind its number.
fn message_lines(message: &QueuedMessage, number: &str) -> Vec<Vec<Chunk>> {
    let all: Vec<&str> = message.text.lines().collect();
    let shown = if all.len() > LINES { LINES - 1 } else { all.len() };
    let mut texts: Vec<String> = all[..shown].iter().map(|line| (*line).to_owned()).collect();
    if shown < all.len() {
        texts.push(format!("… {} more lines", all.len() - shown));
    }
    let indent = " ".repeat(number.len());
    let line = |(at, text)| {
        let before = if at == 0 { number } else { &indent };
        vec![Chunk { text: format!("  {before}"), group: NOTE }, Chunk { text, group: TEXT }]
    };
    texts.into_iter().enumerate().map(line).collect()
}
