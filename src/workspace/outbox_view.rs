//! What is shown of the outbox below the text of a conversation: when it goes out, and what it says.

use super::{Conversation, Workspace, look::Chunk, outbox::QueuedMessage};
use crate::{
    chat::{AwaitKind, OpenCall, Tail},
    tools::preview,
};

/// How many lines of a message are shown.
const LINES: usize = 3;

/// What a queued message waits for.
const NOTE: &str = "FlemmaQueueNote";
/// What it says.
const TEXT: &str = "FlemmaQueued";

impl Workspace {
    /// The lines below the text, each no wider than `width` cells; none if nothing is queued. `hint` says how the user
    /// changes what is queued.
    #[must_use]
    pub fn outbox_view(&self, conversation: &Conversation, width: usize, hint: &str) -> Vec<Vec<Chunk>> {
        let waiting = conversation.outbox().with(|outbox| outbox.waiting().to_vec());
        let Some(first) = waiting.first() else { return Vec::new() };
        let note = format!("Queued: {}", self.outbox_waits_for(conversation, first));
        let note = if hint.is_empty() { note } else { format!("{note}  {hint}") };
        let mut lines = vec![vec![Chunk { text: preview::clip(&note, width), group: NOTE }]];
        for (at, message) in waiting.iter().enumerate() {
            let number = if waiting.len() > 1 { format!("{} ", at + 1) } else { String::new() };
            lines.extend(message_lines(message, &number, width));
        }
        lines
    }

    /// What the first message waits for.
    fn outbox_waits_for(&self, conversation: &Conversation, first: &QueuedMessage) -> String {
        if first.is_held {
            return "it waits while you change it".to_owned();
        }
        if conversation.is_busy() {
            let end = if first.steers { "before the next request" } else { "when the turn ends" };
            return format!("sent {end}");
        }
        let open = conversation.page().open_calls();
        let waits = |call: &&OpenCall| call.awaiting().is_some();
        if let Some(call) = open.iter().find(waits).or_else(|| open.first()) {
            let tool = &call.name;
            return match self.effective_kind(conversation, call) {
                AwaitKind::Approval => format!("it waits for your decision about `{tool}`"),
                AwaitKind::Elicitation => format!("it waits for your answer to `{tool}`"),
                AwaitKind::ClientExec => format!("it waits for the result of `{tool}`"),
            };
        }
        match conversation.page().with_document(|document, text| document.tail(text)) {
            Tail::Results => "it waits until the results are sent".to_owned(),
            _ => "it waits until you send".to_owned(),
        }
    }
}

/// The first lines of a message, behind its number.
fn message_lines(message: &QueuedMessage, number: &str, width: usize) -> Vec<Vec<Chunk>> {
    let all: Vec<&str> = message.text.lines().collect();
    let shown = if all.len() > LINES { LINES - 1 } else { all.len() };
    let mut texts: Vec<String> = all[..shown].iter().map(|line| (*line).to_owned()).collect();
    if shown < all.len() {
        texts.push(format!("… {} more lines", all.len() - shown));
    }
    let indent = " ".repeat(number.len());
    let line = |(at, text): (usize, String)| {
        let before = format!("  {}", if at == 0 { number } else { &indent });
        let left = width.saturating_sub(before.len());
        vec![Chunk { text: before, group: NOTE }, Chunk { text: preview::clip(&text, left), group: TEXT }]
    };
    texts.into_iter().enumerate().map(line).collect()
}
