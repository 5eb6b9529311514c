//! The matching lines of a file, and the report of the matches in many files.

use std::{ffi::OsString, io, path::Path};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::{
    deadline::{Deadline, DeadlineReader},
    guard::{Guard, Unopened},
    report::unspeakable,
};
use flemma_text::{things, truncate::format_size};

/// The longest line that is kept in memory, in bytes. A file with longer lines is not readable text.
const MAX_HELD: usize = 64 << 20;

/// The maximum part of a line that is shown, in bytes.
const MAX_SHOWN: usize = 500;

/// How much of a long line is shown before its match, in bytes.
const BEFORE_MATCH: usize = 100;

/// The parameters of a search.
pub(super) struct LineSearch {
    /// The pattern.
    pub(super) matcher: RegexMatcher,
    /// The number of context lines around a match.
    pub(super) around: usize,
    /// The maximum number of matching lines.
    pub(super) limit: usize,
    /// What may be searched: links may have changed since the file was found.
    pub(super) guard: Guard,
}

/// The matches in a file: at most one more than the limit, to detect that there are more.
#[derive(Debug, Default)]
pub(super) struct FileMatches {
    /// The matching lines and their context, in order.
    lines: Vec<Line>,
    /// The number of matching lines.
    pub(super) count: usize,
}

#[derive(Debug)]
struct Line {
    /// From 1.
    number: u64,
    text: String,
    is_match: bool,
    is_cut: bool,
}

impl LineSearch {
    /// The searcher, which is reused for several files.
    pub(super) fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .before_context(self.around)
            .after_context(self.around)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HELD))
            .max_matches(Some(self.limit as u64 + 1))
            .build()
    }

    /// Searches a file, which the model calls `name`; `None` if it contains a NUL.
    ///
    /// # Errors
    /// If it may not or cannot be read, or the deadline has passed.
    pub(super) fn file(
        &self,
        searcher: &mut Searcher,
        (path, name): (&Path, &str),
        deadline: &Deadline,
    ) -> Result<Option<FileMatches>, Unopened> {
        let file = self.guard.open(path, name)?;
        let reader = DeadlineReader { reader: file, deadline };
        let mut collector = Collector { matcher: &self.matcher, matches: FileMatches::default(), binary: false };
        searcher.search_reader(&self.matcher, reader, &mut collector).map_err(|error| match error.kind() {
            // This error comes from the searcher when its buffer is full, and not from the system or the deadline.
            io::ErrorKind::Other if deadline.stopped().is_none() => {
                io::Error::other(format!("it has a line longer than {}", format_size(MAX_HELD as u64)))
            }
            _ => error,
        })?;
        Ok((!collector.binary).then_some(collector.matches))
    }
}

/// Collects the matches as the searcher finds them.
struct Collector<'a> {
    matcher: &'a RegexMatcher,
    matches: FileMatches,
    binary: bool,
}

impl Collector<'_> {
    fn push(&mut self, number: Option<u64>, line: &[u8], is_match: bool) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (text, is_cut) = if line.len() <= MAX_SHOWN {
            (String::from_utf8_lossy(line).into_owned(), false)
        } else {
            let place = if is_match { self.matcher.find(line).ok().flatten() } else { None };
            (window(line, place.map_or(0, |found| found.start())), true)
        };
        self.matches.count += usize::from(is_match);
        self.matches.lines.push(Line { number: number.unwrap_or(0), text, is_match, is_cut });
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.push(found.line_number(), found.bytes(), true);
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

/// A part of a long line around byte `place`, cut between characters.
fn window(line: &[u8], place: usize) -> String {
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut start = if place < MAX_SHOWN - BEFORE_MATCH { 0 } else { place - BEFORE_MATCH };
    let mut end = (start + MAX_SHOWN).min(line.len());
    while is_inside(start) {
        start += 1;
    }
    while end > start && is_inside(end) {
        end -= 1;
    }
    let (left, right) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{left}{}{right}", String::from_utf8_lossy(&line[start..end]))
}

/// The matches of all files in the format of the result.
#[derive(Default)]
pub(super) struct Summary {
    around: usize,
    limit: usize,
    body: String,
    /// The number of matching lines.
    pub(super) matches: usize,
    files: usize,
    is_cut: bool,
    is_over: bool,
    /// The number of binary files that were skipped.
    binary: usize,
    /// The names of the files with matches.
    names: Vec<OsString>,
    /// The number of files that were searched.
    pub(super) searched: usize,
}

impl Summary {
    /// An empty report.
    pub(super) fn new(search: &LineSearch) -> Self {
        Self { around: search.around, limit: search.limit, ..Self::default() }
    }

    /// Adds the next file, which is shown as `path`, and its matches, up to the limit.
    pub(super) fn add(&mut self, path: &str, name: &Path, matches: Option<FileMatches>) {
        let Some(matches) = matches else {
            self.binary += 1;
            return;
        };
        self.searched += 1;
        if matches.count == 0 {
            return;
        }
        self.names.push(name.into());
        let room = self.limit - self.matches;
        if room == 0 {
            self.is_over = true;
            return;
        }
        let mut lines = matches.lines;
        if matches.count > room {
            self.is_over = true;
            let mut matching = lines.iter().filter(|line| line.is_match);
            let last = matching.nth(room - 1).map_or(0, |line| line.number);
            // The match beyond the limit may have added context lines before it.
            let dropped = matching.next().map_or(u64::MAX, |line| line.number);
            lines.retain(|line| line.number < dropped && line.number <= last + self.around as u64);
        }
        self.files += 1;
        let mut previous = None;
        for line in lines {
            let is_apart = previous.is_none_or(|previous| line.number > previous + 1);
            if self.around > 0 && is_apart && !self.body.is_empty() {
                self.body.push_str("--\n");
            }
            previous = Some(line.number);
            let sign = if line.is_match { ':' } else { '-' };
            self.body.push_str(&format!("{path}{sign}{}{sign}{}\n", line.number, line.text));
            self.matches += usize::from(line.is_match);
            self.is_cut |= line.is_cut;
        }
    }

    /// The lines, and notes on what they do not show.
    pub(super) fn finish(self) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        if self.is_over {
            notes.push(format!(
                "The first {} shown; there are more. Narrow `pattern`, `path` or `glob`, or raise `limit`",
                match self.matches {
                    1 => "match in 1 file is".to_owned(),
                    matches => format!("{matches} matches in {} are", things(self.files, "file")),
                }
            ));
        }
        if self.is_cut {
            notes.push(format!("Only a part of lines over {MAX_SHOWN} bytes is shown; `…` stands for the rest"));
        }
        if self.binary > 0 {
            notes.push(format!("{} skipped", things(self.binary, "binary file")));
        }
        notes.extend(unspeakable(self.names.iter().map(OsString::as_os_str)));
        (self.body, notes)
    }
}
