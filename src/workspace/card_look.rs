//! The line of a call or of its result: the tool, what the call is about, and what became of it.

use std::{rc::Rc, time::Duration};

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{
    Conversation, Workspace,
    known_calls::CallFacts,
    look::{Chunk, Look, LookStyle, Signs, chunk, lines},
    suspension::INTERRUPTED,
};
use crate::{
    chat::{Card, CardPart, Document, Fate, Status, Text},
    journal::{CallKey, Role, Taken},
    model::ToolInput,
    tools::{LineCounts, Summary, builtin::PartTaken, preview},
};

/// The fewest cells that a label is shown in.
const LEAST_LABEL: usize = 8;

/// Where the second row of a card begins: below the name of the tool.
const BELOW: &str = "  ";

/// What a card stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CardView {
    /// The header of a block whose other lines follow.
    Open,
    /// A closed fold.
    Closed,
}

impl Workspace {
    pub(super) fn call_facts(
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
                path: match &input {
                    ToolInput::Json(input) => input.get("path").and_then(Value::as_str).map(str::to_owned),
                    ToolInput::Malformed(_) => None,
                },
                shows: definition.and_then(|definition| definition.shown_file(&input)),
            })
        })
    }

    /// The header of a call or of its result.
    pub(super) fn card(
        &self,
        conversation: &Conversation,
        document: &Document,
        card: &Card,
        text: &dyn Text,
        style: LookStyle,
        view: CardView,
    ) -> Look {
        let facts = self.call_facts(conversation, document, card, text);
        let mut look = Look { line: card.lines.start, whole: true, ..Look::default() };
        let state = self.state(conversation, card, facts.as_deref(), style.signs);
        let is_use = card.part == CardPart::Use;
        match &card.part {
            CardPart::Result { output, status: None } if card.fate == Fate::Done => look.right.push(lines(*output)),
            // The line of the status block says it.
            CardPart::Result { status: Some(_), .. } if view == CardView::Open => {}
            _ => look.right.push(chunk(format!("{} ", state.text), state.group)),
        }
        let summary = facts.as_ref().map_or_else(
            || Summary {
                tool: if card.name.is_empty() { "result".into() } else { card.name.clone() },
                ..Summary::default()
            },
            |facts| facts.summary.clone(),
        );
        let mut summary = summary;
        let partly = facts.as_ref().and_then(|facts| self.partly_taken(conversation, facts));
        let (partly, counts) = partly.unwrap_or_default();
        if !partly.is_empty() {
            // The figures are those of the proposal.
            summary.changes = counts;
            summary.what = facts.as_ref().and_then(|facts| facts.path.clone()).unwrap_or(summary.what);
        }
        // Neovim keeps all rows that the text of a long header takes, so the second one says what the call is about.
        let is_tall = style.wraps && view == CardView::Open && text.line(card.lines.start).width() > style.width;
        let taken: usize = look.right.iter().map(|chunk| chunk.text.width()).sum();
        let (added, removed) = summary.changes.map(LineCounts::words).unwrap_or_default();
        let counts = [(added, "FlemmaDiffAdd"), (removed, "FlemmaDiffDelete")];
        // The counts are short, and say more than the end of a path.
        let kept: usize = counts.iter().map(|(count, _)| count.width() + usize::from(!count.is_empty())).sum();
        let mut room = style.width.saturating_sub(taken + 1 + if is_tall { 0 } else { kept });
        let add = |row: &mut Vec<Chunk>, room: &mut usize, text: String, group: &'static str| {
            let text = preview::clip(&text, *room);
            *room -= text.width();
            if !text.is_empty() {
                row.push(chunk(text, group));
            }
        };
        let sign = format!(" {} ", icon(&card.name, is_use, style.signs, view));
        add(&mut look.left, &mut room, sign, if is_use { state.group } else { "FlemmaMeta" });
        add(&mut look.left, &mut room, summary.tool.clone(), if is_use { "FlemmaTool" } else { "FlemmaMeta" });
        let row = if is_tall {
            look.below.push(chunk(BELOW, "FlemmaMeta"));
            room = style.width.saturating_sub(BELOW.width() + kept);
            &mut look.below
        } else {
            &mut look.left
        };
        let what = if summary.what.is_empty() { String::new() } else { format!(" {}", summary.what) };
        add(row, &mut room, what, if is_use { "FlemmaToolSummary" } else { "FlemmaMeta" });
        for (count, group) in counts.into_iter().filter(|(count, _)| !count.is_empty()) {
            row.push(chunk(format!(" {count}"), group));
        }
        if !partly.is_empty() {
            let words = format!("  {partly}");
            add(row, &mut room, words, "FlemmaWaiting");
        }
        // A label of a few letters says nothing.
        if is_use && !summary.label.is_empty() && room > LEAST_LABEL {
            row.push(chunk(preview::clip(&format!("  {}", summary.label), room), "FlemmaMeta"));
        }
        look
    }

    /// What the user took of a call's proposal, in a few words, and how many lines that added and removed; `None` if it was all
    /// of it, or nobody knows.
    fn partly_taken(&self, conversation: &Conversation, facts: &CallFacts) -> Option<(String, Option<LineCounts>)> {
        conversation.records().with_ledger(|ledger| match ledger.ending(&facts.key)?.taken {
            Taken::All => None,
            Taken::Nothing => Some(("nothing written".to_owned(), None)),
            Taken::Part => {
                let result = ledger.last_result(&facts.key);
                let part = result.map(|result| PartTaken::in_result(&result.output)).unwrap_or_default();
                let words = match part {
                    PartTaken { left: left @ 1.., all, .. } => {
                        let word = if all == 1 { "change" } else { "changes" };
                        format!("{} of {all} {word}", all.saturating_sub(left))
                    }
                    PartTaken { .. } => "edited by you".to_owned(),
                };
                Some((words, part.counts))
            }
        })
    }

    /// What became of a call, in a word and a colour.
    pub(super) fn state(
        &self,
        conversation: &Conversation,
        card: &Card,
        facts: Option<&CallFacts>,
        signs: Signs,
    ) -> Chunk {
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
            Fate::Status(Status::Pending) => {
                let is_interrupted = card.question.as_deref() == Some(INTERRUPTED);
                chunk(if is_interrupted { "interrupted" } else { "waits" }, "FlemmaWaiting")
            }
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

/// How long a call took: `120 ms`, `1.2 s`, `3:05 min`.
fn duration(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        millis @ 1000..59_950 => format!("{:.1} s", millis as f64 / 1000.0),
        _ => format!("{}:{:02} min", took.as_secs() / 60, took.as_secs() % 60),
    }
}

/// The sign before a call or a result.
fn icon(tool: &str, is_use: bool, signs: Signs, view: CardView) -> &'static str {
    match (signs, is_use, tool) {
        (Signs::Nerd, true, "bash") => "\u{f120}",
        (Signs::Nerd, true, "read" | "read_note") => "\u{f0f6}",
        (Signs::Nerd, true, "edit" | "update_note") => "\u{f040}",
        (Signs::Nerd, true, "write" | "create_note") => "\u{f0c7}",
        (Signs::Nerd, true, "grep" | "find" | "search_notes") => "\u{f002}",
        (Signs::Nerd, true, "ls") => "\u{f115}",
        (Signs::Nerd, true, "ask_user") => "\u{f128}",
        (Signs::Nerd, true, _) => "\u{f0ad}",
        _ if view == CardView::Closed => fold_mark(signs),
        (_, true, _) => ">",
        (_, false, _) => "<",
    }
}

/// The sign of a closed fold.
pub(super) const fn fold_mark(signs: Signs) -> &'static str {
    match signs {
        Signs::Plain | Signs::Nerd => "▸",
        Signs::Ascii => "+",
    }
}
