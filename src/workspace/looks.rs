//! What is drawn over the lines on the screen: a line for each message, for each block of a call, and for thinking.
//!
//! Every line is laid out here, in cells, for a window of a certain width. The editor only puts it over the text. What is
//! not known is left out.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use unicode_width::UnicodeWidthStr;

use super::{
    Conversation, Workspace,
    card_look::CardView,
    look::{Chunk, Look, LookStyle, Signs, chunk, lines},
};
use crate::{
    chat::{CardPart, Document, Fate, LineKind, ParsedMessage, Speaker, StatusBlock, Text},
    tools::preview,
    usage::{MessageNote, figures},
};

impl Workspace {
    /// What is drawn over the lines in `range`, as far as they are parsed.
    #[must_use]
    pub fn looks(&self, conversation: &Conversation, range: Range<usize>, style: LookStyle) -> Vec<Look> {
        conversation.page().with_parsed(|document, text| {
            let range = range.start.min(document.line_count())..range.end.min(document.line_count());
            let mut looks = Vec::new();
            for decoration in document.decorations(range.clone()) {
                match decoration.kind {
                    LineKind::Marker(_) => {
                        let message = document.message_at(decoration.line);
                        let message = message.and_then(|index| document.messages().get(index));
                        looks.extend(message.map(|message| self.message(conversation, document, message, text, style)));
                    }
                    // What starts on the line of a marker is text behind it.
                    LineKind::ThinkingOpen if !is_marker(document, decoration.line) => {
                        looks.push(thinking(document, decoration.line, style))
                    }
                    _ => {}
                }
            }
            for card in document.cards(range.clone()) {
                if range.contains(&card.lines.start) && !is_marker(document, card.lines.start) {
                    looks.push(self.card(conversation, document, &card, text, style, CardView::Open));
                }
                if let CardPart::Result { status: Some((line, status)), .. } = &card.part
                    && range.contains(line)
                {
                    let facts = self.call_facts(conversation, document, &card, text);
                    let state = self.state(conversation, &card, facts.as_deref(), style.signs);
                    looks.push(status_fence(*line, status, &state, text, style));
                }
            }
            let captures = document.captures_in(range.clone(), text);
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

    /// For each result and each captured reference on the screen that shows a file, the line of its fence and a path that says what
    /// language it is.
    #[must_use]
    pub fn shown_files(&self, conversation: &Conversation, range: Range<usize>) -> Vec<(usize, String)> {
        conversation.page().with_parsed(|document, text| {
            let end = document.line_count();
            let range = range.start.min(end)..range.end.min(end);
            let cards = document.cards(range.clone());
            let results = cards.into_iter().filter(|card| card.part != CardPart::Use && card.fate == Fate::Done);
            let shown = results.filter_map(|card| {
                let facts = self.call_facts(conversation, document, &card, text)?;
                Some((card.fence?, facts.shows.clone()?))
            });
            // The other captured texts have line numbers.
            let captures = document.captures_in(range, text).into_iter();
            let diffs = captures.filter(|(_, reference)| reference.starts_with("@diff"));
            shown.chain(diffs.map(|(line, _)| (line, "captured.diff".to_owned()))).collect()
        })
    }

    /// The line of a message.
    fn message(
        &self,
        conversation: &Conversation,
        document: &Document,
        message: &ParsedMessage,
        text: &dyn Text,
        style: LookStyle,
    ) -> Look {
        let line = text.line(message.start);
        let marker = message.role.to_string();
        let is_alone = line.trim_end().len() == marker.len();
        let is_last = document.messages().last().is_some_and(|last| last.start == message.start);
        let is_arriving = is_last && conversation.session().is_replying();
        let recalled = || if is_arriving { None } else { self.known_messages().find(message, text) };
        let note = conversation.replies().of(message.start).or_else(recalled);
        let mut look = Look { line: message.start, ..Look::default() };
        let (name, background) = match message.role {
            Speaker::You => ("FlemmaUser", "FlemmaUserLine"),
            Speaker::Assistant => ("FlemmaAssistant", "FlemmaAssistantLine"),
            Speaker::System => ("FlemmaSystem", "FlemmaSystemLine"),
        };
        if is_alone && message.has_only_results(text) {
            look.left.push(chunk(" results", "FlemmaMeta"));
            look.whole = true;
            return look;
        }
        look.background = Some(background);
        // As wide as the marker, so that text behind it stays where it is.
        look.left.push(chunk(format!(" {} ", message.role.as_str()), name));
        look.whole = is_alone;
        let used = if is_alone { marker.width() } else { line.trim_end().width() };
        let reply = note.as_ref().and_then(|note| note.reply.as_ref());
        let model = match (message.role, reply) {
            (Speaker::Assistant, Some(reply)) => Some(reply.model.clone()),
            (Speaker::Assistant, None) if is_arriving => conversation.accounts().recipient().map(|(_, model)| model),
            _ => None,
        };
        let model = model.map(|model| preview::clip(&model, style.width.saturating_sub(used + 2)));
        let model = model.filter(|model| is_alone && !model.is_empty());
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

/// The tag that opens thinking.
fn thinking(document: &Document, line: usize, style: LookStyle) -> Look {
    let block =
        document.block_at(line).and_then(|(message, block)| document.messages().get(message)?.blocks.get(block));
    let count = block.map_or(0, |block| (block.lines as usize).saturating_sub(1 + usize::from(block.closed)));
    let left = vec![chunk(preview::clip(" thinking", style.width), "FlemmaThinking")];
    let right = if count > 0 { vec![lines(count)] } else { Vec::new() };
    Look { line, left, right, whole: true, ..Look::default() }
}

/// The fence with the status of a call. It is as wide as the text, since something may stand behind it, or as the window if the
/// text continues on other rows. The question is below it.
fn status_fence(line: usize, status: &StatusBlock, state: &Chunk, text: &dyn Text, style: LookStyle) -> Look {
    let written = text.line(line).trim_end().width();
    let width = written.min(style.width);
    let shown = status.attributes.iter().filter(|(key, _)| key != "question");
    let attributes: String = shown.map(|(key, value)| format!("  {key}={value}")).collect();
    let word = preview::clip(&format!("   {}", state.text), width);
    let rest = preview::clip(&attributes, width.saturating_sub(word.width()));
    let blank = " ".repeat(width.saturating_sub(word.width() + rest.width()));
    let left = vec![chunk(word, state.group), chunk(rest + &blank, "FlemmaMeta")];
    Look { line, left, whole: written > style.width, ..Look::default() }
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

/// The local time, with the day if that is not today: `14:02`, `24 Nov 14:02`, `24 Nov 2025`.
fn clock(at: Timestamp, now: Timestamp, offset: SignedDuration) -> String {
    let local = |at: Timestamp| TimeZone::UTC.to_datetime(at.checked_add(offset).unwrap_or(at));
    let (at, now) = (local(at), local(now));
    let format = match () {
        () if at.date() == now.date() => "%H:%M",
        () if at.year() == now.year() => "%-d %b %H:%M",
        () => "%-d %b %Y",
    };
    at.strftime(format).to_string()
}
