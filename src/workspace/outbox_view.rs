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

/// How the user gets at what is shown.
#[derive(Clone, Copy, Debug)]
pub struct OutboxHints<'a> {
    /// How to change what is queued; may be empty.
    pub queued: &'a str,
    /// How to go on with the draft; `None` where it is in front of the user.
    pub draft: Option<&'a str>,
}

impl Workspace {
    /// The lines below the text, each no wider than `width` cells; none if nothing is queued and there is no draft.
    #[must_use]
    pub fn outbox_view(&self, conversation: &Conversation, width: usize, hints: OutboxHints<'_>) -> Vec<Vec<Chunk>> {
        let waiting = conversation.outbox().with(|outbox| outbox.waiting().to_vec());
        let mut lines = Vec::new();
        if let Some(first) = waiting.first() {
            let note = format!("Queued: {}", self.outbox_waits_for(conversation, first));
            let note = if hints.queued.is_empty() { note } else { format!("{note}  {}", hints.queued) };
            lines.push(vec![Chunk { text: preview::clip(&note, width), group: NOTE }]);
        }
        for (at, message) in waiting.iter().enumerate() {
            let number = if waiting.len() > 1 { format!("{} ", at + 1) } else { String::new() };
            lines.extend(message_lines(message, &number, width));
        }
        lines.extend(hints.draft.and_then(|hint| draft_line(&self.draft(conversation.buffer()), hint, width)));
        lines
    }

    /// What the first message waits for.
    fn outbox_waits_for(&self, conversation: &Conversation, first: &QueuedMessage) -> String {
        if first.is_open {
            return "it waits while you change it".to_owned();
        } else if first.change.is_some() {
            return "it waits until you queue your change".to_owned();
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

/// The first line of what was written and not queued. A sign at its end says that there is more.
fn draft_line(draft: &str, hint: &str, width: usize) -> Option<Vec<Chunk>> {
    let mut lines = draft.lines().filter(|line| !line.trim().is_empty());
    let said = lines.next()?;
    let said = if lines.next().is_some() { format!("{said} …") } else { said.to_owned() };
    let (before, after) = ("Draft, not queued: ", format!("  {hint}"));
    let left = width.saturating_sub(before.len());
    // The words count for more than the hint.
    let room = left.saturating_sub(after.len());
    let (text, after) = if room < 20 { (left, "") } else { (room, after.as_str()) };
    Some(vec![
        Chunk { text: preview::clip(before, width), group: NOTE },
        Chunk { text: preview::clip(&said, text), group: TEXT },
        Chunk { text: after.to_owned(), group: NOTE },
    ])
}

/// The first lines of a message, behind its number.
fn message_lines(message: &QueuedMessage, number: &str, width: usize) -> Vec<Vec<Chunk>> {
    let all: Vec<&str> = message.newest().lines().collect();
    let shown = if all.len() > LINES { LINES - 1 } else { all.len() };
    let mut texts: Vec<String> = all[..shown].iter().map(|line| (*line).to_owned()).collect();
    if shown < all.len() {
        texts.push(format!("… {} more lines", all.len() - shown));
    }
    let indent = " ".repeat(number.len());
    let changing = if message.is_held() { "(being changed) " } else { "" };
    let line = |(at, text): (usize, String)| {
        let before = if at == 0 { format!("  {number}{changing}") } else { format!("  {indent}") };
        let before = preview::clip(&before, width);
        let left = width.saturating_sub(before.len());
        vec![Chunk { text: before, group: NOTE }, Chunk { text: preview::clip(&text, left), group: TEXT }]
    };
    texts.into_iter().enumerate().map(line).collect()
}
