//! The card of a call, which stands at its result or at the block in place of that: the tool, what the call is about, and what
//! became of it. The call itself is a dim line that names the tool.

use std::{cell::RefCell, collections::HashMap, rc::Rc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::{
    calls::INTERRUPTED,
    views::{
        Drawing, local,
        look::{Chunk, Look, LookStyle, Signs, chunk, lines},
    },
};
use flemma_chat::{AwaitKind, Card, Fate, Status};
use flemma_journal::{CallKey, Role, Taken};
use flemma_model::ToolInput;
use flemma_tools::{Executor, LineCounts, Summary, builtin::PartTaken, preview};

/// The fewest cells that a label is shown in.
const LEAST_LABEL: usize = 8;

/// In a window of so many cells, the number of lines and the deadline are left out.
const NARROW: usize = 50;

/// The letter of a Nerd Font for a tool without an icon of its own.
const OTHER_TOOL: char = '\u{f0ad}';

/// The number of calls of which it is kept what is known.
const KEPT: usize = 512;

/// What is known of a call from its input.
#[derive(Debug)]
pub(crate) struct CallFacts {
    pub(crate) summary: Summary,
    pub(crate) key: CallKey,
    /// The path of the file that it names, as the model wrote it.
    pub(crate) path: Option<String>,
    /// The path of the file that the result shows.
    pub(crate) shows: Option<String>,
}

/// The calls that were drawn, by the state of the tools and the hashes of the calls' lines.
#[derive(Debug, Default)]
pub(crate) struct KnownCalls(RefCell<HashMap<(u64, u64), Rc<CallFacts>>>);

impl KnownCalls {
    /// What is known of the call with this hash, or else what `find` says of it.
    pub(crate) fn get_or_find(
        &self,
        hash: (u64, u64),
        find: impl FnOnce() -> Option<CallFacts>,
    ) -> Option<Rc<CallFacts>> {
        if let Some(facts) = self.0.borrow().get(&hash) {
            return Some(Rc::clone(facts));
        }
        let facts = Rc::new(find()?);
        let mut known = self.0.borrow_mut();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(hash, Rc::clone(&facts));
        Some(facts)
    }
}

/// What a card stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CardView {
    /// The header of a block whose other lines follow.
    Open,
    /// A closed fold.
    Closed,
}

impl Drawing<'_> {
    /// What is known of a call from its input.
    pub(super) fn call_facts(&self, card: &Card) -> Option<Rc<CallFacts>> {
        let Self { conversation, document, text, .. } = *self;
        let toolbox = &self.views.shared.toolbox;
        let hash = (toolbox.generation.get(), card.hash(document.calls(), text)?);
        conversation.known_calls.get_or_find(hash, || {
            let input = card.input(document.calls(), text)?;
            let definition = toolbox.get(&card.name);
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

    /// The line of a call or the card at its result.
    pub(super) fn card(&self, card: &Card, view: CardView) -> Look {
        let style = self.style;
        if card.is_use {
            return self.use_line(card, view);
        }
        let mut look = Look { line: card.lines.start, whole: true, ..Look::default() };
        let facts = self.call_facts(card);
        let state = self.state(card, facts.as_deref());
        let mut right = format!("{} ", state.text);
        if card.output > 0 && card.status.is_none() && style.width > NARROW {
            look.right.push(lines(card.output));
            right.insert(0, ' ');
        }
        look.right.push(chunk(right, state.group));
        let (summary, partly) = self.summary(card, facts.as_deref(), card.status.is_some());
        let taken: usize = look.right.iter().map(|chunk| chunk.text.width()).sum();
        let (added, removed) = summary.changes.map(LineCounts::words).unwrap_or_default();
        let counts = [(added, "FlemmaDiffAdd"), (removed, "FlemmaDiffDelete")];
        // The counts are short, and say more than the end of a path. So does the answer to a question.
        let kept: usize = counts.iter().map(|(count, _)| count.width() + usize::from(!count.is_empty())).sum();
        let mut room = style.width.saturating_sub(taken + 1 + kept);
        let answer = self.given_answer(card).map(|answer| preview::clip(&format!("  {answer}"), room / 2));
        let answer = answer.unwrap_or_default();
        room = room.saturating_sub(answer.width());
        let mut add = |text: String, group: &'static str, room: &mut usize| {
            let text = preview::clip(&text, *room);
            *room -= text.width();
            if !text.is_empty() {
                look.left.push(chunk(text, group));
            }
        };
        let icon = self.views.shared.toolbox.get(&card.name).and_then(|tool| tool.icon);
        add(format!(" {} ", sign(card, icon, style.signs, view)), state.group, &mut room);
        add(summary.tool, "FlemmaTool", &mut room);
        if !summary.what.is_empty() {
            add(format!(" {}", summary.what), "FlemmaToolSummary", &mut room);
        }
        let counts = counts.into_iter().filter(|(count, _)| !count.is_empty());
        look.left.extend(counts.map(|(count, group)| chunk(format!(" {count}"), group)));
        if !answer.is_empty() {
            look.left.push(chunk(answer, "FlemmaToolDone"));
        }
        if !partly.is_empty() {
            let words = preview::clip(&format!("  {partly}"), room);
            room -= words.width();
            look.left.push(chunk(words, "FlemmaWaiting"));
        }
        // A label of a few letters says nothing.
        if !summary.label.is_empty() && room > LEAST_LABEL {
            look.left.push(chunk(preview::clip(&format!("  {}", summary.label), room), "FlemmaMeta"));
        }
        look
    }

    /// What a result is about, and how much of a change was taken if that is not all.
    fn summary(&self, card: &Card, facts: Option<&CallFacts>, is_waiting: bool) -> (Summary, String) {
        let Some(facts) = facts else {
            let tool = if card.name.is_empty() { "result".into() } else { card.name.clone() };
            return (Summary { tool, ..Summary::default() }, String::new());
        };
        let mut summary = facts.summary.clone();
        if is_waiting {
            // How many lines the call would add and remove.
            let proposed = self.conversation.proposals.found(&facts.key).and_then(Result::ok);
            let lines = proposed.and_then(|ready| ready.shown().lines);
            summary.changes = lines.map(|(added, removed)| LineCounts { added, removed }).or(summary.changes);
        }
        let Some((partly, counts)) = self.partly_taken(facts) else { return (summary, String::new()) };
        // The figures are those of the proposal.
        summary.changes = counts;
        summary.what = facts.path.clone().unwrap_or(summary.what);
        (summary, partly)
    }

    /// What the user has answered to a question.
    fn given_answer(&self, card: &Card) -> Option<String> {
        let definition = self.views.shared.toolbox.get(&card.name)?;
        let is_question = matches!(definition.executor, Executor::Human) && card.fate == Fate::Done;
        let line = self.text.line(card.fence.filter(|_| is_question)? + 1);
        Some(preview::clip(line.trim(), usize::MAX))
    }

    /// What the user took of a call's proposal, in a few words, and how many lines that added and removed; `None` if it was all
    /// of it, or nobody knows.
    fn partly_taken(&self, facts: &CallFacts) -> Option<(String, Option<LineCounts>)> {
        self.conversation.records.with_ledger(|ledger| match ledger.of(&facts.key).ending.as_ref()?.taken {
            Taken::All => None,
            Taken::Nothing => Some(("nothing written".to_owned(), None)),
            Taken::Part => {
                let result = ledger.of(&facts.key).last_result.as_ref();
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
    fn state(&self, card: &Card, facts: Option<&CallFacts>) -> Chunk {
        let Self { conversation, style, .. } = *self;
        let signs = style.signs;
        let ending = facts.and_then(|facts| conversation.records.ending(&facts.key));
        let took = ending.as_ref().and_then(|ending| {
            let took = ending.at.duration_since(ending.started?);
            Duration::try_from(took).ok().map(duration)
        });
        let unstarted = ending.as_ref().filter(|ending| ending.started.is_none());
        let is_rejected = unstarted.is_some_and(|ending| ending.is_rejected);
        let by = unstarted.map(|ending| ending.by.role);
        let with_time = |word: &str, group| {
            let words = [Some(word.to_owned()), took.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ");
            chunk(words, group)
        };
        match card.fate {
            Fate::Open if conversation.session.is_new(&card.id) => chunk("being judged", "FlemmaMeta"),
            Fate::Open => chunk("no result", "FlemmaMeta"),
            Fate::Status(Status::Pending) => chunk(waiting(card, self.views.shared.host.now(), style), "FlemmaWaiting"),
            Fate::Status(Status::Approved) => chunk("approved", "FlemmaRunning"),
            Fate::Status(Status::Running) if conversation.session.is_working_on(&card.id) => {
                let seconds = conversation.tasks.elapsed(&card.id).as_secs();
                chunk(format!("running {seconds} s"), "FlemmaRunning")
            }
            Fate::Status(Status::Running) => chunk(conversation.holding.of_running().0, "FlemmaWaiting"),
            Fate::Status(Status::Denied) => chunk("denied", "FlemmaRejected"),
            Fate::Status(Status::Rejected) => chunk("rejected", "FlemmaRejected"),
            Fate::Done => with_time(if signs == Signs::Ascii { "ok" } else { "✓" }, "FlemmaToolDone"),
            Fate::Failed => match by {
                Some(Role::Policy) => chunk("denied", "FlemmaRejected"),
                Some(Role::User | Role::Document) => chunk("rejected", "FlemmaRejected"),
                Some(Role::CommandLine | Role::Script) if is_rejected => chunk("rejected", "FlemmaRejected"),
                Some(Role::Clock) => chunk("expired", "FlemmaRejected"),
                _ if signs == Signs::Ascii => with_time("failed", "FlemmaFailed"),
                _ => with_time("✗ failed", "FlemmaFailed"),
            },
        }
    }

    /// The line of a tool use.
    fn use_line(&self, card: &Card, view: CardView) -> Look {
        let sign = if view == CardView::Closed { fold_mark(self.style.signs) } else { ">" };
        let name = preview::clip(&format!(" {sign} {}", card.name), self.style.width);
        let open = (card.fate == Fate::Open).then(|| format!("{} ", self.state(card, None).text));
        Look {
            line: card.lines.start,
            whole: true,
            left: vec![chunk(name, "FlemmaMeta")],
            right: open.map(|text| chunk(text, "FlemmaMeta")).into_iter().collect(),
            ..Look::default()
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

/// What a call waits for, and until when.
fn waiting(card: &Card, now: Timestamp, style: LookStyle) -> String {
    let Some(status) = &card.status else { return "waits".to_owned() };
    let awaiting = status.awaiting();
    let word = match awaiting.kind {
        _ if awaiting.question.as_deref() == Some(INTERRUPTED) => "interrupted",
        AwaitKind::Elicitation => "answer",
        _ => "waits",
    };
    match awaiting.expires.filter(|_| style.width > NARROW) {
        Some(at) => format!("{word} until {}", moment(at, now, style.offset)),
        None => word.to_owned(),
    }
}

/// A moment of the next days in local time: `11:07`, `tomorrow 11:07`, `1 Dec 11:07`.
fn moment(at: Timestamp, now: Timestamp, offset: SignedDuration) -> String {
    let (at, now) = (local(at, offset), local(now, offset));
    let format = match () {
        () if at.date() == now.date() => "%H:%M",
        () if now.date().tomorrow().is_ok_and(|tomorrow| at.date() == tomorrow) => "tomorrow %H:%M",
        () => "%-d %b %H:%M",
    };
    at.strftime(format).to_string()
}

/// The sign before a card.
fn sign(card: &Card, icon: Option<char>, signs: Signs, view: CardView) -> String {
    match (signs, card.fate) {
        (Signs::Nerd, _) => icon.unwrap_or(OTHER_TOOL).to_string(),
        _ if view == CardView::Closed => fold_mark(signs).to_owned(),
        (_, Fate::Status(Status::Pending)) => "?".to_owned(),
        (_, Fate::Failed) => "!".to_owned(),
        _ => "<".to_owned(),
    }
}

/// The sign of a closed fold.
pub(crate) const fn fold_mark(signs: Signs) -> &'static str {
    match signs {
        Signs::Plain | Signs::Nerd => "▸",
        Signs::Ascii => "+",
    }
}
