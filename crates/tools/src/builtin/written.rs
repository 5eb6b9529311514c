//! What the model is told of a change that the user has approved in another form.

use std::fmt::Write as _;

use crate::{Content, DiffLine, FileChange, LineCounts, Outcome, Output, Proposal};
use flemma_journal::Take;
use flemma_text::{hunks::Fates, line_breaks, unified::Unified};

/// The byte order mark of UTF-8.
pub(super) const MARK: &[u8] = "\u{feff}".as_bytes();

/// The most lines of a diff in a result.
const MAX_LINES: usize = 60;

/// How a result begins if not all of a change was taken, and what it says then of the lines that were written.
const PART_TAKEN: &str = "The user took only a part of this change, or edited it before it was written.";
const COUNTED: &str = " Lines that were added and removed: +";

/// What a result says of the changes in a file that was edited, and of those that the user did not take.
const OF_THE_PROPOSED: &str = "Of the proposed ";
const LEFT_OUT: &str = "left out";

/// The most bytes of a line of a diff in a result, and to how many cells a longer one is cut.
const MAX_LINE: usize = 2000;
const SHORT_LINE: usize = 400;

/// What is done with a file.
pub(super) struct Step<'a> {
    /// What was proposed for it.
    pub(super) change: &'a FileChange,
    /// What the user takes of that.
    pub(super) take: Take,
    /// What it gets; `None` to delete it, or if it is left as it is.
    pub(super) new: Option<Content>,
    /// What the file had when the change was first shown, if somebody has changed it since.
    pub(super) first: Option<Content>,
}

impl<'a> Step<'a> {
    /// All of what was proposed.
    pub(super) fn as_proposed(change: &'a FileChange) -> Self {
        Self { change, take: Take::Proposed, new: change.new.clone(), first: None }
    }
}

/// The result of a call of which this was done.
pub(super) fn outcome(proposal: &Proposal, steps: &[Step<'_>]) -> Outcome {
    if steps.iter().all(|step| step.take == Take::Proposed) {
        return match (&proposal.summary, proposal.diff.as_str()) {
            (summary, "") => Outcome::text(summary),
            (summary, diff) => Outcome::Success(Output::Diff(format!("{summary}\n\n{diff}"))),
        };
    }
    if steps.iter().all(|step| step.take == Take::Left) {
        let names: Vec<&str> = steps.iter().map(|step| step.change.name.as_str()).collect();
        return Outcome::text(format!(
            "The user looked at this change and took nothing of it. Nothing was written to {}.",
            names.join(", ")
        ));
    }
    let mut text = PART_TAKEN.to_owned();
    if let Some(LineCounts { added, removed }) = counts(steps) {
        let _ = write!(text, "{COUNTED}{added} -{removed}.");
    }
    for step in steps {
        let name = &step.change.name;
        match &step.take {
            Take::Proposed => _ = write!(text, "\n\n{name} was {}.", as_proposed(step.change)),
            Take::Left => {
                let renamed = if step.change.moved_to.is_some() { ", and was not renamed" } else { "" };
                _ = write!(text, "\n\n{name} was left as it was{renamed}.");
            }
            Take::Edited(_) => text.push_str(&edited(step)),
        }
    }
    Outcome::Success(Output::Diff(text))
}

/// What has become of a file of which all was taken: the end of a sentence.
fn as_proposed(change: &FileChange) -> String {
    match (&change.moved_to, &change.new) {
        (Some((_, new)), content) if Content::digest_of(content) == Content::digest_of(&change.old) => {
            format!("renamed to {new}")
        }
        (Some((_, new)), _) => format!("renamed to {new}, and written as proposed"),
        (None, None) => "deleted as proposed".to_owned(),
        (None, Some(_)) => "written as proposed".to_owned(),
    }
}

/// What has become of a file that the user has edited.
fn edited(step: &Step<'_>) -> String {
    let name = &step.change.name;
    let renamed = step.change.moved_to.as_ref().map_or_else(String::new, |(_, new)| format!("renamed to {new}, and "));
    let (Some(old), Some(proposed), Some(written)) =
        (Content::bytes_of(&step.change.old), Content::bytes_of(&step.change.new), Content::bytes_of(&step.new))
    else {
        return format!("\n\n{name} was {renamed}written with another content than the proposed one.");
    };
    let mut text = format!("\n\n{name} was {renamed}written, but not as proposed.");
    let first = step.first.as_ref().and_then(|first| first.bytes.as_deref());
    if let Some(fates) = Fates::of(&old, &proposed, &written, first.map(Vec::as_slice)) {
        let _ = write!(text, " {}", describe(&fates));
    }
    let diff = diff(&proposed, &written);
    if !diff.is_empty() {
        let _ = write!(text, " From the proposal (-) to what was written (+):\n\n{diff}");
    }
    text
}

/// How many lines were added and removed; `None` if that is not known of every file.
fn counts(steps: &[Step<'_>]) -> Option<LineCounts> {
    let mut all = LineCounts::default();
    for step in steps.iter().filter(|step| step.take != Take::Left) {
        let text = |content: &Option<Content>| String::from_utf8(Content::bytes_of(content)?.to_vec()).ok();
        let counts = LineCounts::between(&text(&step.change.old)?, &text(&step.new)?)?;
        all.added += counts.added;
        all.removed += counts.removed;
    }
    Some(all)
}

/// What was taken of a change that was not taken as it was proposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartTaken {
    /// How many changes were left out, of those that were proposed for files that were edited.
    pub left: usize,
    /// How many those were; 0 if that is not known.
    pub all: usize,
    /// How many lines were really added and removed.
    pub counts: Option<LineCounts>,
}

impl PartTaken {
    /// What the result of a call (`outcome`) says of it.
    pub fn in_result(result: &str) -> Self {
        let mut part = Self { counts: read_counts(result), ..Self::default() };
        // The lines of a diff begin with a sign.
        for line in result.lines().filter(|line| !line.starts_with(['+', '-', ' ', '@'])) {
            let said = line.split_once(OF_THE_PROPOSED).and_then(|(_, said)| said.split_once(": "));
            let Some((count, parts)) = said else { continue };
            part.all += count.split_once(' ').map_or(1, |(count, _)| count.parse().unwrap_or(0));
            let before = parts.split_once(LEFT_OUT).and_then(|(before, _)| Some(before.rsplit_once(" (")?.0));
            part.left += before.and_then(|before| before.rsplit(' ').next()?.parse().ok()).unwrap_or(0);
        }
        part
    }
}

/// The counts that a result begins with.
fn read_counts(result: &str) -> Option<LineCounts> {
    let said = result.lines().next()?.strip_prefix(PART_TAKEN)?.strip_prefix(COUNTED)?.strip_suffix('.')?;
    let (added, removed) = said.split_once(" -")?;
    Some(LineCounts { added: added.parse().ok()?, removed: removed.parse().ok()? })
}

fn describe(fates: &Fates) -> String {
    let at = |lines_from: &[usize]| {
        let numbers: Vec<String> = lines_from.iter().map(usize::to_string).collect();
        format!("{} ({} {})", lines_from.len(), if numbers.len() == 1 { "line" } else { "lines" }, numbers.join(", "))
    };
    let meanwhile = "not made, since the file was changed there in the meantime by somebody else";
    let all = [
        ("applied", &fates.applied),
        (LEFT_OUT, &fates.left),
        ("edited", &fates.edited),
        (meanwhile, &fates.meanwhile),
    ];
    let count = all.iter().map(|(_, lines)| lines.len()).sum::<usize>();
    let parts = all.iter().filter(|(_, lines)| !lines.is_empty());
    let parts: Vec<String> = parts.map(|(word, lines)| format!("{} {word}", at(lines))).collect();
    let changes = if count == 1 { "change".to_owned() } else { format!("{count} changes") };
    let own = if fates.has_own { " The user also changed other lines." } else { "" };
    format!("{OF_THE_PROPOSED}{changes}: {}.{own}", parts.join(", "))
}

/// The lines of a diff for a result; empty where the files are the same. A line looks the same however it ends, so a change of that is
/// said above them.
pub(super) fn diff(old: &[u8], new: &[u8]) -> String {
    let unified = Unified::of(old, new, MAX_LINES);
    if unified.is_opaque {
        return unified.lines.join("\n");
    }
    let (plain_old, plain_new, change) = line_breaks::compared(old, new);
    let is_same = plain_old == old && plain_new == new;
    let unified = if is_same { unified } else { Unified::of(&plain_old, &plain_new, MAX_LINES) };
    let hunks = shortened(unified.lines).join("\n");
    let breaks = change.as_deref().map(line_breaks::sentence).or_else(|| line_breaks::mixed(old, new));
    let told = [lost_mark(old, new).map(str::to_owned), breaks].into_iter().flatten();
    told.chain((!hunks.is_empty()).then_some(hunks)).collect::<Vec<_>>().join("\n\n")
}

/// What is said of a byte order mark that a file has no longer.
pub(super) fn lost_mark(old: &[u8], new: &[u8]) -> Option<&'static str> {
    let is_lost = old.starts_with(MARK) && !new.starts_with(MARK);
    is_lost.then_some("The byte order mark at the beginning of the file is gone.")
}

/// Lines of a diff, of which the very long ones are cut where they are the same before and after.
pub(super) fn shortened(lines: Vec<String>) -> Vec<String> {
    if lines.iter().all(|line| line.len() <= MAX_LINE) {
        return lines;
    }
    let drawn = DiffLine::of_hunks(&lines);
    let short = |(line, drawn): (String, DiffLine)| if line.len() > MAX_LINE { drawn.fit(SHORT_LINE) } else { line };
    lines.into_iter().zip(drawn).map(short).collect()
}
