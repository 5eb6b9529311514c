//! `grep`: finds lines that match a regular expression, with ripgrep's own crates.
//!
//! Several threads walk the folder, and the files are sorted. Then several threads search them, each taking the next file in
//! order ([`search`]). When there are enough matches, no thread takes another file. The searched files are then a prefix of
//! the sorted list without gaps, so that the matches shown are the first in the order of their paths, whichever thread was
//! faster. A common word in a large project only costs the files up to the limit.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use regex_syntax::ast::{Position, Span};
use serde_json::Value;

use super::{
    deadline::{Deadline, DeadlineReader},
    files,
    guard::{Guard, Unopened},
    report::{self, Prefix},
    tool::Looking,
    walk::{Glob, Scope, Walk, WalkResult},
};
use crate::{Access, Bounds, Context, Outcome, paths::real};
use flemma_model::ModelError;
use flemma_text::{bounds, things, truncate::format_size};

/// The default for the number of matching lines that are shown, and the maximum that a call can ask for: with their context, they must
/// fit in memory.
const LIMIT: (usize, usize) = (100, 2000);

/// The maximum number of context lines that a call can ask for.
const MAX_CONTEXT: u64 = 20;

/// The maximum size of a compiled expression, in bytes. A larger one is a mistake, like `(\w{1000}){1000}`.
const MAX_COMPILED: usize = 10 << 20;

/// The maximum number of search threads.
const MAX_THREADS: usize = 8;

/// The longest line that is kept in memory, in bytes. A file with longer lines is not readable text.
const MAX_HELD: usize = 64 << 20;

/// The maximum part of a line that is shown, in bytes.
const MAX_SHOWN: usize = 500;

/// How much of a long line is shown before its match, in bytes.
const BEFORE_MATCH: usize = 100;

/// The tool.
pub(super) const TOOL: Looking = Looking { look: grep, preview };

fn preview(input: &Value) -> Option<String> {
    let pattern = input.get("pattern")?.as_str()?;
    let mark = if super::switch(input, "fixed_strings") { '"' } else { '/' };
    let path = super::optional_text(input, "path").map(|path| format!(" in {path}")).unwrap_or_default();
    let glob = super::optional_text(input, "glob").map(|glob| format!("  {glob}")).unwrap_or_default();
    Some(format!("{mark}{pattern}{mark}{path}{glob}"))
}

/// The files to search.
struct Files {
    /// The folder that their paths are relative to.
    root: PathBuf,
    /// Their paths, sorted.
    found: WalkResult<PathBuf>,
    /// How their paths are shown.
    prefix: Prefix,
}

fn grep(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context);
    let matcher = matcher(input)?;
    let around = super::count(input, "context")?.unwrap_or(0);
    ensure!(around <= MAX_CONTEXT, "`context` must be at most {MAX_CONTEXT}, not {around}.");
    let limit = super::limit(input, LIMIT)?;
    let glob = super::optional_text(input, "glob").map(|glob| Glob::new(glob, "glob")).transpose()?;
    let scope = Scope::of(super::switch(input, "all"), glob.as_ref().is_some_and(Glob::asks_for_hidden));
    let name = super::optional_text(input, "path");
    let path = context.resolve(name.unwrap_or("."));
    let guard = Guard::new(context, Bounds::Readable);
    let is_one_file = path.is_file();
    let mut files = if is_one_file {
        guard.judge(Access::Read, &path, name.unwrap_or("."))?;
        one_file(&path, name.unwrap_or("."))
    } else {
        files_below(Walk::through(context, name, scope)?, glob.as_ref())?
    };
    let unsaved = unsaved(context, &files);
    let search = LineSearch { matcher, around: around as usize, limit, guard };
    let found = search_all(&files, &search, &deadline);

    let stopped = files.found.stopped.or_else(|| deadline.stopped());
    let (mut report, mut refused) = (Summary { around: search.around, limit, ..Summary::default() }, Vec::new());
    for (index, result) in found {
        let shown = files.prefix.show(&files.found.kept[index]);
        match result {
            Ok(None) if is_one_file => bail!("{shown} is a binary file, not text."),
            Err(error) if is_one_file && stopped.is_none() => return Err(search.guard.told(error, &path, &shown)),
            // A file that could not be read because of the timeout is not reported.
            Err(_) if stopped.is_some() => {}
            Err(Unopened::Failed(error)) => files.found.problems.push(format!("{shown} ({})", files::reason(&error))),
            Err(Unopened::Refused(error)) => refused.push(error.to_string().trim_end_matches('.').to_owned()),
            Ok(searched) => report.add(&shown, &files.found.kept[index], searched),
        }
    }
    let (nothing, searched) = (report.matches == 0 && stopped.is_none(), report.searched);
    let (body, mut notes) = report.finish();
    notes.extend(report::unreadable(files.found.problems));
    notes.extend(report::denied(files.found.denied));
    notes.extend(report::few(refused, ". "));
    notes.extend(unsaved);
    if nothing {
        let pattern = super::text(input, "pattern")?;
        let (place, left_out) = match is_one_file {
            true => (name.unwrap_or_default().to_owned(), ""),
            false => (format!("{} of {}", things(searched, "file"), files.prefix.folder()), scope.left_out()),
        };
        let that_match = super::optional_text(input, "glob").filter(|_| !is_one_file);
        let that_match = that_match.map(|glob| format!(" that match `{glob}`")).unwrap_or_default();
        let sentence = format!("No match for `{pattern}` in {place}{that_match}.{left_out}");
        return Ok(report::nothing("grep", &sentence, notes, context));
    }
    let text = report::finish("grep", &body, notes, context);
    Ok(match stopped {
        None => Outcome::text(text),
        Some(stopped) => stopped.outcome(text, "Choose a smaller folder in `path`, or fewer files with `glob`."),
    })
}

/// A note about the files that were searched and have changes in the editor, if there are any.
fn unsaved(context: &Context, files: &Files) -> Option<String> {
    if context.unsaved.is_empty() {
        return None;
    }
    let root = real(&files.root);
    let open: Vec<PathBuf> = context.unsaved.iter().map(|open| real(open)).collect();
    let is_open = |path: &PathBuf| {
        let real_path = root.join(path);
        open.contains(&real_path) || (files.found.kept.len() == 1 && open.contains(&real(&real_path)))
    };
    let names: Vec<String> =
        files.found.kept.iter().filter(|path| is_open(path)).map(|path| files.prefix.show(path)).collect();
    let told = "These have changes in the editor that are not saved; searched was what is on the disk";
    (!names.is_empty()).then(|| format!("{told}: {}", names.join(", ")))
}

/// The compiled pattern.
fn matcher(input: &Value) -> Result<RegexMatcher, ModelError> {
    let pattern = super::text(input, "pattern")?;
    let fixed = super::switch(input, "fixed_strings");
    ensure!(!pattern.is_empty(), "`pattern` is empty: every line would match. To see a file, use `read`.");
    ensure!(!pattern.contains('\n'), "`pattern` has a line break, but lines are searched one at a time. Remove it.");
    bounds::expression(pattern)
        .map_err(|excess| ModelError::new(format!("`pattern` cannot be searched for: {excess}.")))?;
    let mut builder = RegexMatcherBuilder::new();
    builder.crlf(true).multi_line(true).size_limit(MAX_COMPILED).fixed_strings(fixed);
    match super::optional_text(input, "case") {
        Some("insensitive") => builder.case_insensitive(true),
        Some("smart") => builder.case_smart(true),
        _ => &mut builder,
    };
    if !fixed && let Err(error) = regex_syntax::parse(pattern) {
        return Err(no_expression(&error));
    }
    builder.build(pattern).map_err(|error| ModelError::new(format!("`pattern` cannot be searched for: {error}.")))
}

/// What is wrong with a pattern, and where.
fn no_expression(error: &regex_syntax::Error) -> ModelError {
    let (problem, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span()),
        other => (other.to_string(), &Span::splat(Position::new(0, 1, 1))),
    };
    ModelError::new(format!(
        "`pattern` is not a valid regular expression: {problem} at column {}. To search for it as plain text, set \
         `fixed_strings` to true.",
        span.start.column
    ))
}

/// A file that the call names is searched whatever its name is.
fn one_file(path: &Path, name: &str) -> Files {
    let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    let kept = path.file_name().map(PathBuf::from).into_iter().collect();
    let found = WalkResult { kept, problems: Vec::new(), stopped: None, denied: 0 };
    Files { root: folder(path), found, prefix: Prefix::new(folder(Path::new(name)).to_str()) }
}

fn files_below(walk: Walk, glob: Option<&Glob>) -> Result<Files, ModelError> {
    let mut found = walk.keep(|entry, path| {
        let wanted = entry.file_type()?.is_file() && glob.is_none_or(|glob| glob.matches(path));
        wanted.then(|| path.to_owned())
    })?;
    found.kept.sort_unstable();
    Ok(Files { root: walk.root, found, prefix: walk.prefix })
}

/// The results of the threads in the order of the files, only for the files that were searched.
fn search_all(
    files: &Files,
    search: &LineSearch,
    deadline: &Deadline,
) -> Vec<(usize, Result<Option<FileMatches>, Unopened>)> {
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut searcher = search.searcher();
        let mut mine = Vec::new();
        while found.load(Ordering::Relaxed) <= search.limit && deadline.stopped().is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.found.kept.get(index) else { break };
            let named = (&*files.root.join(path), &*files.prefix.show(path));
            let result = search.file(&mut searcher, named, deadline);
            if let Ok(Some(matches)) = &result {
                found.fetch_add(count(matches), Ordering::Relaxed);
            }
            mine.push((index, result));
        }
        mine
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(files.found.kept.len());
    let mut all: Vec<_> = thread::scope(|scope| {
        // If the system cannot start more threads, the existing ones do the work.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..threads).map_while(spawn).collect();
        let mut all = work();
        for helper in helpers {
            all.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(index, _)| *index);
    all
}

/// The parameters of a search.
struct LineSearch {
    /// The pattern.
    matcher: RegexMatcher,
    /// The number of context lines around a match.
    around: usize,
    /// The maximum number of matching lines.
    limit: usize,
    /// What may be searched: links may have changed since the file was found.
    guard: Guard,
}

/// The matching lines in a file and their context, in order: at most one more match than the limit, to detect that there are more.
type FileMatches = Vec<Line>;

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
    fn searcher(&self) -> Searcher {
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
    fn file(
        &self,
        searcher: &mut Searcher,
        (path, name): (&Path, &str),
        deadline: &Deadline,
    ) -> Result<Option<FileMatches>, Unopened> {
        let file = self.guard.open(path, name)?;
        let reader = DeadlineReader { reader: file, deadline };
        let mut collector = Collector { matcher: &self.matcher, matches: Vec::new(), binary: false };
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

/// The number of matching lines.
fn count(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.is_match).count()
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
        self.matches.push(Line { number: number.unwrap_or(0), text, is_match, is_cut });
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
struct Summary {
    around: usize,
    limit: usize,
    body: String,
    /// The number of matching lines.
    matches: usize,
    files: usize,
    is_cut: bool,
    is_over: bool,
    /// The number of binary files that were skipped.
    binary: usize,
    /// The names of the files with matches.
    names: Vec<OsString>,
    /// The number of files that were searched.
    searched: usize,
}

impl Summary {
    /// Adds the next file, which is shown as `path`, and its matches, up to the limit.
    fn add(&mut self, path: &str, name: &Path, matches: Option<FileMatches>) {
        let Some(mut lines) = matches else {
            self.binary += 1;
            return;
        };
        self.searched += 1;
        let matching = count(&lines);
        if matching == 0 {
            return;
        }
        self.names.push(name.into());
        let room = self.limit - self.matches;
        if room == 0 {
            self.is_over = true;
            return;
        }
        if matching > room {
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
    fn finish(self) -> (String, Vec<String>) {
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
        notes.extend(report::unspeakable(self.names.iter().map(OsString::as_os_str)));
        (self.body, notes)
    }
}
