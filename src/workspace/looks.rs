//! What is drawn over the lines on the screen: a line for each message, for each block of a call, and for thinking.
//!
//! Every line is laid out here, in cells, for a window of a certain width. The editor only puts it over the text. What is
//! not known is left out: after a restart, nobody knows what a reply has cost.

use std::{ops::Range, rc::Rc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::{Conversation, Workspace, known_calls::CallFacts, replies::MessageNote};
use crate::{
    chat::{BlockKind, Card, CardPart, Document, Fate, LineKind, ParsedMessage, Speaker, Status, StatusBlock, Text},
    journal::{CallKey, Role},
    tools::{LineCounts, Summary, preview},
    usage::figures,
};

/// The number of blocks of a message that are looked at to see whether it only has results.
const LOOKED_AT: usize = 256;

/// The fewest cells that a label is shown in.
const LEAST_LABEL: usize = 8;

/// Text in one colour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chunk {
    /// The text: one line without control characters.
    pub text: String,
    /// The highlight group.
    pub group: &'static str,
}

/// What is drawn over a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The line, from 0.
    pub line: usize,
    /// The highlight group of the whole line; `None` if it has none of its own.
    pub background: Option<&'static str>,
    /// Over the beginning of the text.
    pub left: Vec<Chunk>,
    /// At the right edge.
    pub right: Vec<Chunk>,
    /// Whether it covers the whole line. Otherwise the text behind `left` is visible.
    pub whole: bool,
}

/// How lines are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookStyle {
    /// The cells of a line.
    pub width: usize,
    /// Which signs are used.
    pub signs: Signs,
    /// How far local time is ahead of UTC.
    pub offset: SignedDuration,
}

/// Which signs are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signs {
    /// ASCII before calls, and common signs for what became of them.
    #[default]
    Plain,
    /// Those of a Nerd Font before calls.
    Nerd,
    /// ASCII only.
    Ascii,
}

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
            for card in document.cards(range) {
                if !is_marker(document, card.lines.start) {
                    looks.push(self.card(conversation, document, &card, text, style));
                }
                if let CardPart::Result { status: Some((line, status)), .. } = &card.part {
                    looks.push(status_fence(*line, status, text));
                }
            }
            looks.sort_by_key(|look| look.line);
            looks
        })
    }

    /// For each result on the screen that shows a file, the line of its fence and the path.
    #[must_use]
    pub fn shown_files(&self, conversation: &Conversation, range: Range<usize>) -> Vec<(usize, String)> {
        conversation.page().with_parsed(|document, text| {
            let end = document.line_count();
            let cards = document.cards(range.start.min(end)..range.end.min(end));
            let results = cards.into_iter().filter(|card| card.part != CardPart::Use && card.fate == Fate::Done);
            let shown = results.filter_map(|card| {
                let facts = self.call_facts(conversation, document, &card, text)?;
                Some((card.fence?, facts.shows.clone()?))
            });
            shown.collect()
        })
    }

    fn call_facts(
        &self,
        conversation: &Conversation,
        document: &Document,
        card: &Card,
        text: &dyn Text,
    ) -> Option<Rc<CallFacts>> {
        let hash = (self.toolbox().generation(), document.card_hash(card, text)?);
        conversation.known_calls().get_or_find(hash, || {
            let input = document.card_input(card, text)?;
            let definition = self.toolbox().get(&card.name);
            Some(CallFacts {
                summary: Summary::of(definition.as_deref(), &card.name, &input),
                key: CallKey::of(&card.id, &card.name, &input),
                shows: definition.and_then(|definition| definition.shown_file(&input)),
            })
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
        let note = conversation.replies().of(message.start);
        let mut look = Look { line: message.start, ..Look::default() };
        let (name, background) = match message.role {
            Speaker::You => ("FlemmaUser", "FlemmaUserLine"),
            Speaker::Assistant => ("FlemmaAssistant", "FlemmaAssistantLine"),
            Speaker::System => ("FlemmaSystem", "FlemmaSystemLine"),
        };
        if is_alone && only_results(message, text) {
            look.left.push(chunk(" results", "FlemmaMeta"));
            look.whole = true;
            return look;
        }
        look.background = Some(background);
        // As wide as the marker, so that text behind it stays where it is.
        look.left.push(chunk(format!(" {} ", message.role.as_str()), name));
        look.whole = is_alone;
        let used = if is_alone { marker.width() } else { line.trim_end().width() };
        let record = note.as_ref().and_then(|note| note.record.as_ref());
        let model = match (message.role, record) {
            (Speaker::Assistant, Some(record)) => Some(record.model.clone()),
            (Speaker::Assistant, None) if is_last && conversation.session().is_replying() => {
                conversation.accounts().recipient().map(|(_, model)| model)
            }
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

    /// The header of a call or of its result.
    fn card(
        &self,
        conversation: &Conversation,
        document: &Document,
        card: &Card,
        text: &dyn Text,
        style: LookStyle,
    ) -> Look {
        let facts = self.call_facts(conversation, document, card, text);
        let mut look = Look { line: card.lines.start, whole: true, ..Look::default() };
        let state = self.state(conversation, card, facts.as_deref(), style.signs);
        let is_use = card.part == CardPart::Use;
        if let CardPart::Result { output, status: None } = card.part
            && card.fate == Fate::Done
        {
            let lines = if output == 1 { "1 line".to_owned() } else { format!("{output} lines") };
            look.right.push(chunk(format!("{lines} "), "FlemmaMeta"));
        } else {
            look.right.push(chunk(format!("{} ", state.text), state.group));
        }
        let summary = facts.as_ref().map_or_else(
            || Summary {
                tool: if card.name.is_empty() { "result".into() } else { card.name.clone() },
                ..Summary::default()
            },
            |facts| facts.summary.clone(),
        );
        let taken: usize = look.right.iter().map(|chunk| chunk.text.width()).sum();
        let (added, removed) = summary.changes.map(LineCounts::words).unwrap_or_default();
        let counts = [(added, "FlemmaDiffAdd"), (removed, "FlemmaDiffDelete")];
        // The counts are short, and say more than the end of a path.
        let kept: usize = counts.iter().map(|(count, _)| count.width() + usize::from(!count.is_empty())).sum();
        let mut room = style.width.saturating_sub(taken + 1 + kept);
        let mut add = |text: String, group: &'static str| {
            let text = preview::clip(&text, room);
            room -= text.width();
            if !text.is_empty() {
                look.left.push(chunk(text, group));
            }
        };
        add(format!(" {} ", icon(&card.name, is_use, style.signs)), if is_use { state.group } else { "FlemmaMeta" });
        add(summary.tool.clone(), if is_use { "FlemmaTool" } else { "FlemmaMeta" });
        let what = if summary.what.is_empty() { String::new() } else { format!(" {}", summary.what) };
        add(what, if is_use { "FlemmaToolSummary" } else { "FlemmaMeta" });
        let left = room;
        for (count, group) in counts.into_iter().filter(|(count, _)| !count.is_empty()) {
            look.left.push(chunk(format!(" {count}"), group));
        }
        // A label of a few letters says nothing.
        if is_use && !summary.label.is_empty() && left > LEAST_LABEL {
            look.left.push(chunk(preview::clip(&format!("  {}", summary.label), left), "FlemmaMeta"));
        }
        look
    }

    /// What became of a call, in a word and a colour.
    fn state(&self, conversation: &Conversation, card: &Card, facts: Option<&CallFacts>, signs: Signs) -> Chunk {
        let ending = facts.and_then(|facts| conversation.records().ending(&facts.key));
        let took = ending.as_ref().and_then(|ending| {
            let took = ending.at.duration_since(ending.started?);
            Duration::try_from(took).ok().map(duration)
        });
        let by = ending.as_ref().filter(|ending| ending.started.is_none()).map(|ending| ending.by.role);
        let with_time = |word: &str, group| {
            let words = [Some(word.to_owned()), took.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ");
            chunk(words, group)
        };
        match card.fate {
            Fate::Open => chunk("no result", "FlemmaMeta"),
            Fate::Status(Status::Pending) => chunk("waits", "FlemmaWaiting"),
            Fate::Status(Status::Approved) => chunk("approved", "FlemmaRunning"),
            Fate::Status(Status::Running) if conversation.session().is_working_on(&card.id) => {
                chunk("running", "FlemmaRunning")
            }
            Fate::Status(Status::Running) => chunk("stopped", "FlemmaWaiting"),
            Fate::Status(Status::Denied) => chunk("denied", "FlemmaRejected"),
            Fate::Status(Status::Rejected) => chunk("rejected", "FlemmaRejected"),
            Fate::Done => with_time(if signs == Signs::Ascii { "ok" } else { "✓" }, "FlemmaToolDone"),
            Fate::Failed => match by {
                Some(Role::Policy) => chunk("denied", "FlemmaRejected"),
                Some(Role::User | Role::Document) => chunk("rejected", "FlemmaRejected"),
                Some(Role::Clock) => chunk("expired", "FlemmaRejected"),
                _ if signs == Signs::Ascii => with_time("failed", "FlemmaFailed"),
                _ => with_time("✗ failed", "FlemmaFailed"),
            },
        }
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
    let lines = block.map_or(0, |block| (block.lines as usize).saturating_sub(1 + usize::from(block.closed)));
    let words = match lines {
        0 => " thinking".to_owned(),
        1 => " thinking · 1 line".to_owned(),
        lines => format!(" thinking · {lines} lines"),
    };
    let left = vec![chunk(preview::clip(&words, style.width), "FlemmaThinking")];
    Look { line, left, whole: true, ..Look::default() }
}

/// The fence with the status of a call. It is as wide as the text, since something may stand behind it.
fn status_fence(line: usize, status: &StatusBlock, text: &dyn Text) -> Look {
    let width = text.line(line).trim_end().width();
    let attributes: String = status.attributes.iter().map(|(key, value)| format!("  {key}={value}")).collect();
    let word = format!("   {}", status.status);
    let rest = preview::clip(&attributes, width.saturating_sub(word.width()));
    let blank = " ".repeat(width.saturating_sub(word.width() + rest.width()));
    let left = vec![chunk(word, "FlemmaToolStatus"), chunk(rest + &blank, "FlemmaMeta")];
    Look { line, left, ..Look::default() }
}

/// Whether a message of the user's has nothing but results.
fn only_results(message: &ParsedMessage, text: &dyn Text) -> bool {
    if message.role != Speaker::You || message.blocks.len() > LOOKED_AT {
        return false;
    }
    let mut has_results = false;
    for block in &message.blocks {
        match &block.kind {
            BlockKind::ToolResult(_) => has_results = true,
            BlockKind::Text => {
                let mut is_blank = true;
                let lines = message.lines_of(block);
                // A long text is not read: it hardly consists of blank lines.
                if lines.len() > LOOKED_AT {
                    return false;
                }
                let skipped = usize::from(lines.start == message.start);
                text.read(lines.start + skipped..lines.end, &mut |line| is_blank &= line.trim().is_empty());
                if !is_blank {
                    return false;
                }
            }
            _ => return false,
        }
    }
    has_results
}

/// What stands at the right of a message, the least important first.
fn figures_of(note: &MessageNote, offset: SignedDuration) -> Vec<String> {
    let mut parts = vec![clock(note.at, offset)];
    if let Some(record) = &note.record {
        parts.push(format!("{} in", figures::tokens(record.usage.prompt())));
        parts.push(format!("{} out", figures::tokens(record.usage.output)));
        parts.extend(record.cost.map(figures::dollars));
    }
    parts
}

/// The local time of a day: `14:02`.
fn clock(at: Timestamp, offset: SignedDuration) -> String {
    let minutes = (at.as_second() + offset.as_secs()).div_euclid(60).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// How long a call took: `120 ms`, `1.2 s`, `3:05 min`.
fn duration(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        millis @ 1000..59_950 => format!("{:.1} s", millis as f64 / 1000.0),
        _ => format!("{}:{:02} min", took.as_secs() / 60, took.as_secs() % 60),
    }
}

/// The sign before a call or a result.
fn icon(tool: &str, is_use: bool, signs: Signs) -> &'static str {
    match (signs, is_use, tool) {
        (Signs::Nerd, true, "bash") => "\u{f120}",
        (Signs::Nerd, true, "read" | "read_note") => "\u{f0f6}",
        (Signs::Nerd, true, "edit" | "update_note") => "\u{f040}",
        (Signs::Nerd, true, "write" | "create_note") => "\u{f0c7}",
        (Signs::Nerd, true, "grep" | "find" | "search_notes") => "\u{f002}",
        (Signs::Nerd, true, "ls") => "\u{f115}",
        (Signs::Nerd, true, "ask_user") => "\u{f128}",
        (Signs::Nerd, true, _) => "\u{f0ad}",
        (_, true, _) => ">",
        (_, false, _) => "<",
    }
}

fn chunk(text: impl Into<String>, group: &'static str) -> Chunk {
    Chunk { text: text.into(), group }
}
