//! What is drawn over the lines on the screen: a line for each message, for each block of a call, and for thinking.
//!
//! Every line is laid out here, in cells, for a window of a certain width. The editor only puts it over the text. What is
//! not known is left out.

pub(crate) mod card;
pub(crate) mod fold_text;
pub(crate) mod look;
pub(crate) mod previews;
pub(crate) mod status;
pub(crate) mod status_line;

use std::ops::Range;

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};
use unicode_width::UnicodeWidthStr;

use crate::{
    Conversation,
    components::Views,
    views::{
        card::CardView,
        look::{Chunk, Look, LookStyle, Signs, chunk},
    },
};
use flemma_chat::{self as chat, Document, Fate, LineKind, ParsedMessage, Speaker, Text};
use flemma_provider::usage::{MessageNote, figures};
use flemma_tools::preview;

/// What is drawn of one conversation, as far as it is parsed, and how.
struct Drawing<'a> {
    views: &'a Views,
    conversation: &'a Conversation,
    document: &'a Document,
    text: &'a dyn Text,
    style: LookStyle,
}

impl Views {
    fn draw<R>(&self, conversation: &Conversation, style: LookStyle, draw: impl FnOnce(&Drawing<'_>) -> R) -> R {
        conversation
            .page
            .with_parsed(|document, text| draw(&Drawing { views: self, conversation, document, text, style }))
    }

    /// What is drawn over the lines in `range`, as far as they are parsed.
    pub fn looks(&self, conversation: &Conversation, range: Range<usize>, style: LookStyle) -> Vec<Look> {
        self.draw(conversation, style, |drawing| {
            let Drawing { document, text, .. } = *drawing;
            let range = drawing.parsed(range);
            let mut looks = Vec::new();
            for decoration in chat::decorations(document, range.clone()) {
                match decoration.kind {
                    LineKind::Marker(_) => {
                        let message = document.message_at(decoration.line);
                        let message = message.and_then(|index| document.messages().get(index));
                        looks.extend(message.map(|message| drawing.message(message)));
                    }
                    // What starts on the line of a marker is text behind it.
                    LineKind::Thinking => {
                        looks.extend(thinking(document, decoration.line, style));
                    }
                    _ => {}
                }
            }
            for card in chat::cards(document, range.clone()) {
                if range.contains(&card.lines.start) && !is_marker(document, card.lines.start) {
                    looks.push(drawing.card(&card, CardView::Open));
                }
                // The fences of what waits and of what has failed are hidden, but not the last line of the text.
                let last = card.lines.end - 1;
                let is_closed = card.fence.is_some_and(|fence| fence + card.output < last);
                if is_closed && (card.status.is_some() || card.fate == Fate::Failed) && range.contains(&last) {
                    looks.push(Look {
                        line: last,
                        left: vec![chunk("   ", "FlemmaMeta")],
                        whole: true,
                        ..Look::default()
                    });
                }
            }
            let captures = chat::captures_in(document, range.clone(), text);
            looks.extend(captures.into_iter().filter(|(line, _)| range.contains(line)).map(|(line, reference)| Look {
                line,
                left: vec![chunk(format!(" {}", preview::clip(&reference, style.width)), "FlemmaReference")],
                whole: true,
                ..Look::default()
            }));
            looks.sort_by_key(|look| look.line);
            if style.signs == Signs::Ascii { looks.into_iter().map(Look::into_ascii).collect() } else { looks }
        })
    }

    /// The line in place of the fold with these lines, in exactly as many cells as the style says; `None` if it is not a fold
    /// of ours.
    pub fn fold_text(&self, conversation: &Conversation, lines: &Range<usize>, style: LookStyle) -> Option<Vec<Chunk>> {
        let look = self.draw(conversation, style, |drawing| drawing.fold(lines))?;
        let look = if style.signs == Signs::Ascii { look.into_ascii() } else { look };
        Some(look.into_line(style.width))
    }

    /// For each result and each captured reference on the screen that shows a file, the line of its fence and a path that says what
    /// language it is.
    pub fn shown_files(&self, conversation: &Conversation, range: Range<usize>) -> Vec<(usize, String)> {
        self.draw(conversation, LookStyle::default(), |drawing| {
            let range = drawing.parsed(range);
            let cards = chat::cards(drawing.document, range.clone());
            let results = cards.into_iter().filter(|card| !card.is_use && card.fate == Fate::Done);
            let shown = results.filter_map(|card| {
                let facts = drawing.call_facts(&card)?;
                Some((card.fence?, facts.shows.clone()?))
            });
            // The other captured texts have line numbers.
            let captures = chat::captures_in(drawing.document, range, drawing.text).into_iter();
            let diffs = captures.filter(|(_, reference)| reference.starts_with("@diff"));
            shown.chain(diffs.map(|(line, _)| (line, "captured.diff".to_owned()))).collect()
        })
    }
}

impl Drawing<'_> {
    /// These lines, as far as they are parsed.
    fn parsed(&self, lines: Range<usize>) -> Range<usize> {
        let end = self.document.line_count();
        lines.start.min(end)..lines.end.min(end)
    }

    /// The line of a message.
    fn message(&self, message: &ParsedMessage) -> Look {
        let Self { conversation, document, text, style, .. } = *self;
        let line = text.line(message.start);
        let marker = message.role.to_string();
        let is_alone = line.trim_end().len() == marker.len();
        let is_last = document.messages().last().is_some_and(|last| last.start == message.start);
        let is_arriving = is_last && conversation.session.is_replying();
        let recalled = || if is_arriving { None } else { self.views.usage.known_messages.find(message, text) };
        let note = conversation.replies.of(message.start).or_else(recalled);
        let mut look = Look { line: message.start, whole: is_alone, ..Look::default() };
        if is_alone && message.has_only_results(text) {
            look.left.push(chunk(" results", "FlemmaMeta"));
            return look;
        }
        let goes_on = is_alone && message.role == Speaker::Assistant && {
            let before = message.start.checked_sub(1).and_then(|line| document.message_at(line));
            before.and_then(|at| document.messages().get(at)).is_some_and(|before| before.has_only_results(text))
        };
        let (name, background) = groups_of(message.role);
        if goes_on {
            // The rounds of a turn read as one message.
            look.left.push(chunk(" ", "FlemmaMeta"));
        } else {
            look.background = Some(background);
            // As wide as the marker, so that text behind it stays where it is.
            look.left.push(chunk(format!(" {} ", message.role.as_str()), name));
        }
        let used = if is_alone { marker.width() } else { line.trim_end().width() };
        let reply = note.as_ref().and_then(|note| note.reply.as_ref());
        let model = match (message.role, reply) {
            (Speaker::Assistant, Some(reply)) => Some(reply.model.clone()),
            (Speaker::Assistant, None) if is_arriving => conversation.accounts.recipient().map(|(_, model)| model),
            _ => None,
        };
        let model = model.map(|model| preview::clip(&model, style.width.saturating_sub(used + 2)));
        let model = model.filter(|model| is_alone && !goes_on && !model.is_empty());
        let room = style.width.saturating_sub(used + 3);
        let mut right = note.map(|note| figures_of(&note, style.offset)).unwrap_or_default();
        // What is most worth knowing is kept in a narrow window: the cost, then the model.
        let width = |parts: &[String]| parts.join(" · ").width();
        while !right.is_empty() && width(&right) > room {
            right.remove(0);
        }
        if let Some(model) = model {
            let taken = if right.is_empty() { 0 } else { width(&right) + 2 };
            if model.width() + taken <= room {
                look.left.push(chunk(format!(" {model}"), "FlemmaMeta"));
            }
        }
        if !right.is_empty() {
            look.right.push(chunk(format!("{} ", right.join(" · ")), "FlemmaMeta"));
        }
        look
    }
}

/// Whether a line has the marker of a message.
fn is_marker(document: &Document, line: usize) -> bool {
    let message = document.message_at(line).and_then(|index| document.messages().get(index));
    message.is_some_and(|message| message.start == line)
}

/// The line that stands for thinking: its tag, or the line below a tag that is hidden, if there is nothing in between.
fn thinking(document: &Document, line: usize, style: LookStyle) -> Option<Look> {
    let (message, block) = document.block_at(line)?;
    let message = document.messages().get(message)?;
    let block = message.blocks.get(block)?;
    let start = message.lines_of(block).start;
    let is_empty = block.closed && block.lines == 2 && line == start + 1;
    if start == message.start || !(is_empty || line == start && !block.closed) {
        return None;
    }
    let left = vec![chunk(preview::clip(" thinking", style.width), "FlemmaThinking")];
    let right = if is_empty { vec![chunk("hidden ", "FlemmaMeta")] } else { Vec::new() };
    Some(Look { line, left, right, whole: true, ..Look::default() })
}

/// What stands at the right of a message, the least important first.
fn figures_of(note: &MessageNote, offset: SignedDuration) -> Vec<String> {
    let mut parts = vec![clock(note.at, Timestamp::now(), offset)];
    if let Some(reply) = &note.reply {
        parts.push(format!("{} in", figures::tokens(reply.input)));
        parts.push(format!("{} out", figures::tokens(reply.output)));
        parts.extend(reply.cost.map(figures::dollars));
    }
    parts
}

/// The highlight groups of a speaker's name, and of the line that it is in.
fn groups_of(speaker: Speaker) -> (&'static str, &'static str) {
    match speaker {
        Speaker::You => ("FlemmaUser", "FlemmaUserLine"),
        Speaker::Assistant => ("FlemmaAssistant", "FlemmaAssistantLine"),
        Speaker::System => ("FlemmaSystem", "FlemmaSystemLine"),
    }
}

/// A moment in local time, which is that far ahead of UTC.
fn local(at: Timestamp, offset: SignedDuration) -> DateTime {
    TimeZone::UTC.to_datetime(at.checked_add(offset).unwrap_or(at))
}

/// The local time, with the day if that is not today: `14:02`, `24 Nov 14:02`, `24 Nov 2025`.
fn clock(at: Timestamp, now: Timestamp, offset: SignedDuration) -> String {
    let (at, now) = (local(at, offset), local(now, offset));
    let format = match () {
        () if at.date() == now.date() => "%H:%M",
        () if at.year() == now.year() => "%-d %b %H:%M",
        () => "%-d %b %Y",
    };
    at.strftime(format).to_string()
}
