//! Finds the part of a file that is most similar to a text that is not in it.
//!
//! Most texts that do not match differ only slightly: in white space, or in a line that has changed since. So lines that are
//! equal except for surrounding white space vote for where the text would begin; long lines count more than short ones. Only
//! if no line is equal, the longest line is compared with the lines of the file. The few best places are then compared
//! character by character. Every step is bounded, whatever the size of the file.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use flemma_text::{diff, truncate::prefix, visible};

/// How much of a file is examined, in bytes, and in lines when lines are compared character by character.
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_COMPARED: usize = 50_000;

/// How much of a file is searched for what looks the same, in bytes.
const MAX_ALIKE: usize = 4 * 1024 * 1024;

/// How much longer the lines may be than what looks the same in them, so that they are shown as a whole, in bytes.
const MAX_AROUND: usize = 400;

/// How many lines of the wanted text vote.
const MAX_VOTERS: usize = 400;

/// How often a line may occur in the wanted text before its vote is ignored (such as a lone brace).
const MAX_REPEATS: usize = 8;

/// How many places are compared in full.
const FINALISTS: usize = 5;

/// How long comparing lines, and comparing one place, may take.
const LINES_TIME: Duration = Duration::from_millis(300);
const PLACE_TIME: Duration = Duration::from_millis(100);

/// Longer texts, in bytes, are compared by words, since comparing characters would take too long.
const BY_LETTERS: usize = 4000;

/// The minimum similarity of a place that is shown, from 0 to 1.
const ALIKE: f32 = 0.5;

/// How much of a place is shown.
const SHOWN_LINES: usize = 40;
const SHOWN_BYTES: usize = 4000;

/// The nearest place.
pub(super) struct NearestMatch {
    /// Its first line, from 1.
    pub line: usize,
    /// Its number of lines.
    pub lines: usize,
    /// Its similarity, from 0 to 1.
    pub likeness: f32,
    /// Whether only white space differs.
    pub only_white_space: bool,
    /// Its text, or the beginning of it if it is long.
    pub text: String,
    /// The characters in which it differs, if these can hardly be told apart.
    pub unseen: Option<String>,
}

/// The place in `text` that is most similar to `wanted`; `None` if none is similar.
pub(super) fn nearest(text: &str, wanted: &str) -> Option<NearestMatch> {
    if let Some(range) = visible::find_alike(prefix(text, MAX_ALIKE), wanted) {
        let start = text[..range.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[range.end..].find('\n').map_or(text.len(), |newline| range.end + newline);
        let whole = if end - start <= range.len() + MAX_AROUND { start..end } else { range };
        let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..whole.start]).count();
        return Some(NearestMatch::new(line, &text[whole].split('\n').collect::<Vec<_>>(), wanted));
    }
    let lines: Vec<&str> = prefix(text, MAX_BYTES).lines().collect();
    let wanted_lines: Vec<&str> = wanted.lines().collect();
    let mut starts = by_votes(&lines, &wanted_lines);
    if starts.is_empty() {
        starts = by_line(&lines, &wanted_lines);
    }
    let joined = wanted_lines.join("\n");
    let place = |start: usize| &lines[start..(start + wanted_lines.len()).min(lines.len())];
    let scored = starts.into_iter().map(|start| (likeness(&place(start).join("\n"), &joined), start));
    // If two places are equally similar, the first is used.
    let (likeness, start) = scored.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (likeness >= ALIKE).then(|| NearestMatch::new(start, place(start), wanted))
}

impl NearestMatch {
    /// These lines, of which the first is line `start`, from 0.
    fn new(start: usize, lines: &[&str], wanted: &str) -> Self {
        let squeeze = |text: &str| -> String { text.split_whitespace().collect() };
        let found = lines.join("\n");
        Self {
            line: start + 1,
            lines: lines.len(),
            likeness: likeness(&found, wanted.strip_suffix('\n').unwrap_or(wanted)),
            only_white_space: squeeze(&found) == squeeze(wanted),
            text: excerpt(lines),
            unseen: visible::differences(&found, wanted, Some(start + 1), "`old_text` has"),
        }
    }
}

/// Places where lines of `wanted` have the same distance as in it, best matches first.
fn by_votes(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut voters: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate().take(MAX_VOTERS).filter(|(_, line)| !line.trim().is_empty()) {
        voters.entry(line.trim()).or_default().push(index);
    }
    voters.retain(|_, indices| indices.len() <= MAX_REPEATS);
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        for index in voters.get(line.trim()).into_iter().flatten() {
            if let Some(start) = at.checked_sub(*index) {
                *votes.entry(start).or_default() += line.trim().len();
            }
        }
    }
    let mut starts: Vec<(usize, usize)> = votes.into_iter().collect();
    starts.sort_unstable_by_key(|&(start, votes)| (std::cmp::Reverse(votes), start));
    starts.into_iter().take(FINALISTS).map(|(start, _)| start).collect()
}

/// Places around lines that are similar to the longest line of `wanted`, most similar first.
fn by_line(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let Some((index, anchor)) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len()) else {
        return Vec::new();
    };
    let anchor = anchor.trim();
    if anchor.is_empty() || anchor.len() > BY_LETTERS {
        return Vec::new();
    }
    let until = Instant::now() + LINES_TIME;
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate().take(MAX_COMPARED) {
        let line = line.trim();
        // A line of a very different length cannot be similar enough.
        if line.len() * 2 < anchor.len() || line.len() > anchor.len() * 2 {
            continue;
        }
        if Instant::now() > until {
            break;
        }
        let score = strsim::normalized_levenshtein(line, anchor);
        if let Some(start) = at.checked_sub(index)
            && score >= f64::from(ALIKE)
        {
            scored.push((score, start));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(FINALISTS).map(|(_, start)| start).collect()
}

fn likeness(a: &str, b: &str) -> f32 {
    let parts = if a.len() + b.len() <= BY_LETTERS { diff::letters } else { diff::words };
    diff::likeness(&parts(a), &parts(b), PLACE_TIME)
}

fn excerpt(lines: &[&str]) -> String {
    let text = lines[..lines.len().min(SHOWN_LINES)].join("\n");
    let shown = prefix(&text, SHOWN_BYTES);
    if shown.len() < text.len() || lines.len() > SHOWN_LINES { format!("{shown}\n…") } else { text }
}
