//! `grep`: finds lines that match a regular expression, with ripgrep's own crates.
//!
//! Several threads walk the folder, and the files are sorted. Then several threads search them, each taking the next file in
//! order ([`search`]). When there are enough matches, no thread takes another file. The searched files are then a prefix of
//! the sorted list without gaps, so that the matches shown are the first in the order of their paths, whichever thread was
//! faster. A common word in a large project only costs the files up to the limit.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use futures_util::future::{BoxFuture, FutureExt};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{Position, Span};
use serde_json::{Value, json};

use super::{
    deadline::{Deadline, Stopped},
    files,
    globs::Glob,
    guard::{Guard, Unopened},
    matches::{self, LineSearch, SearchedFile},
    report::{self, Prefix, things},
    walk::{self, Scope},
};
use crate::{Access, Bounds, Context, Definition, NativeTool, Outcome, paths::real, preview};
use flemma_model::ModelError;
use flemma_text::bounds;

/// The default for the number of matching lines that are shown.
const USUAL_LIMIT: usize = 100;

/// The maximum number of matching lines that a call can ask for. With their context, they must fit in memory.
const MAX_LIMIT: usize = 2000;

/// The maximum number of context lines that a call can ask for.
const MAX_CONTEXT: u64 = 20;

/// The maximum size of a compiled expression, in bytes. A larger one is a mistake, like `(\w{1000}){1000}`.
const MAX_COMPILED: usize = 10 << 20;

/// The maximum number of search threads.
const MAX_THREADS: usize = 8;

struct Grep;

pub(super) fn definition() -> Definition {
    let mut definition = super::harmless(super::define(
        "grep",
        "Search files for lines that match a regular expression (Rust's syntax, one line at a time). Binary files are \
         skipped, hidden files and what .gitignore names too, unless `all` is true. The result has `path:line:text`, \
         sorted by path; lines around a match have `path-line-text`.",
        json!({
            "pattern": { "type": "string", "description": "The regular expression." },
            "path": {
                "type": ["string", "null"],
                "description": "The file or folder to search; null for the conversation's folder.",
            },
            "glob": {
                "type": ["string", "null"],
                "description": "Only search files that match: `*.rs` in any folder, `src/**/*.{ts,tsx}` below `path`.",
            },
            "case": {
                "type": ["string", "null"],
                "enum": ["sensitive", "insensitive", "smart", null],
                "description": "Whether case matters; smart: only if the pattern has a capital letter. null for \
                                sensitive.",
            },
            "fixed_strings": {
                "type": ["boolean", "null"],
                "description": "true if the pattern is plain text.",
            },
            "context": { "type": ["integer", "null"], "description": "Lines to show around each match; null for 0." },
            "limit": { "type": ["integer", "null"], "description": "How many matching lines to show; null for 100." },
            "all": {
                "type": ["boolean", "null"],
                "description": "true to include hidden files and files ignored by .gitignore.",
            },
        }),
        Grep,
    ));
    definition.is_async = true;
    definition.read_path_param = Some("path".into());
    definition.leaves_out_denied = true;
    definition
}

impl NativeTool for Grep {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        super::searching(context, move |context| grep(&input, context).unwrap_or_else(Outcome::failure)).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let pattern = input.get("pattern")?.as_str()?;
        let mut text =
            if super::switch(input, "fixed_strings") { format!("\"{pattern}\"") } else { format!("/{pattern}/") };
        if let Some(path) = super::optional_text(input, "path") {
            text.push_str(&format!(" in {path}"));
        }
        if let Some(glob) = super::optional_text(input, "glob") {
            text.push_str(&format!("  {glob}"));
        }
        Some(preview::labelled(text, input))
    }
}

/// The files to search.
struct Files {
    /// The folder that their paths are relative to.
    root: PathBuf,
    /// Sorted, relative to the root.
    paths: Vec<PathBuf>,
    /// How their paths are shown.
    prefix: Prefix,
    /// Places that could not be read.
    problems: Vec<String>,
    /// Why the list may be incomplete.
    stopped: Option<Stopped>,
    /// The number of files and folders that the user denies reading.
    denied: usize,
}

fn grep(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context);
    let matcher = matcher(input)?;
    let around = super::count(input, "context")?.unwrap_or(0);
    if around > MAX_CONTEXT {
        return Err(ModelError::new(format!("`context` must be at most {MAX_CONTEXT}, not {around}.")));
    }
    let limit = super::limit(input, USUAL_LIMIT, MAX_LIMIT)?;
    let glob = super::optional_text(input, "glob").map(|glob| Glob::new(glob, "glob")).transpose()?;
    let scope = match super::switch(input, "all") {
        true => Scope::All,
        false if glob.as_ref().is_some_and(Glob::asks_for_hidden) => Scope::Hidden,
        false => Scope::Usual,
    };
    let name = super::optional_text(input, "path");
    let path = context.resolve(name.unwrap_or("."));
    let guard = Guard::new(context, Bounds::Readable);
    let (files, is_one_file) = if path.is_file() {
        guard.judge(Access::Read, &path, name.unwrap_or("."))?;
        (one_file(&path, name.unwrap_or(".")), true)
    } else {
        (files_below(context, name, glob.as_ref(), scope, &deadline)?, false)
    };
    let unsaved = unsaved(context, &files);
    let search = LineSearch { matcher, around: around as usize, limit, guard };
    let found = search_all(&files, &search, &deadline);

    let stopped = files.stopped.or_else(|| deadline.stopped());
    let mut report = matches::Summary::new(&search);
    let mut searched = 0;
    let (mut problems, denied) = (files.problems, files.denied);
    let (mut with_matches, mut refused) = (Vec::new(), Vec::new());
    for (index, result) in found {
        let shown = files.prefix.show(&files.paths[index]);
        match result {
            Ok(SearchedFile::Text(matches)) => {
                searched += 1;
                with_matches.extend((matches.count > 0).then(|| files.paths[index].as_os_str()));
                report.add(&shown, matches);
            }
            Ok(SearchedFile::Binary) if is_one_file => {
                return Err(ModelError::new(format!("{shown} is a binary file, not text.")));
            }
            Ok(SearchedFile::Binary) => report.binary += 1,
            Err(error) if is_one_file && stopped.is_none() => {
                return Err(search.guard.told(error, &path, &shown));
            }
            // A file that could not be read because of the timeout is not reported.
            Err(_) if stopped.is_some() => {}
            Err(Unopened::Failed(error)) => problems.push(format!("{shown} ({})", files::reason(&error))),
            Err(Unopened::Refused(error)) => refused.push(error.to_string().trim_end_matches('.').to_owned()),
        }
    }
    let nothing = report.is_empty() && stopped.is_none();
    let (body, mut notes) = report.finish();
    notes.extend(report::unspeakable(with_matches));
    notes.extend(report::unreadable(problems));
    notes.extend(report::denied(denied));
    notes.extend(report::few(refused, ". "));
    notes.extend(unsaved);
    if nothing {
        let pattern = super::text(input, "pattern")?;
        let place = match (&glob, is_one_file) {
            (_, true) => name.unwrap_or_default().to_owned(),
            (None, false) => format!("{} of {}", things(searched, "file"), files.prefix.folder()),
            (Some(_), false) => {
                let glob = super::optional_text(input, "glob").unwrap_or_default();
                format!("{} of {} that match `{glob}`", things(searched, "file"), files.prefix.folder())
            }
        };
        let left_out = match scope {
            _ if is_one_file => "",
            Scope::All => "",
            Scope::Hidden => " Files ignored by .gitignore were left out; `all` = true includes them.",
            Scope::Visible => " Hidden files were left out.",
            Scope::Usual => " Hidden files and files ignored by .gitignore were left out; `all` = true includes them.",
        };
        let notes = report::finish("grep", "", notes, context);
        let notes = if notes.is_empty() { notes } else { format!("\n\n{notes}") };
        return Ok(Outcome::text(format!("No match for `{pattern}` in {place}.{left_out}{notes}")));
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
        open.contains(&real_path) || (files.paths.len() == 1 && open.contains(&real(&real_path)))
    };
    let names: Vec<String> =
        files.paths.iter().filter(|path| is_open(path)).map(|path| files.prefix.show(path)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "These have changes in the editor that are not saved; searched was what is on the disk: {}",
            names.join(", ")
        )
    })
}

/// The compiled pattern.
fn matcher(input: &Value) -> Result<RegexMatcher, ModelError> {
    let pattern = super::text(input, "pattern")?;
    let fixed = super::switch(input, "fixed_strings");
    if pattern.is_empty() {
        return Err(ModelError::new("`pattern` is empty: every line would match. To see a file, use `read`."));
    }
    if pattern.contains('\n') {
        return Err(ModelError::new("`pattern` has a line break, but lines are searched one at a time. Remove it."));
    }
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
    Files {
        root: folder(path),
        paths: path.file_name().map(PathBuf::from).into_iter().collect(),
        prefix: Prefix::new(folder(Path::new(name)).to_str()),
        problems: Vec::new(),
        stopped: None,
        denied: 0,
    }
}

fn files_below(
    context: &Context,
    name: Option<&str>,
    glob: Option<&Glob>,
    scope: Scope,
    deadline: &Deadline,
) -> Result<Files, ModelError> {
    let prefix = Prefix::new(name);
    let root = report::folder(context, name)?;
    let guard = Guard::new(context, Bounds::Readable);
    let walked = walk::walk(&root, &prefix, scope, context, &guard, deadline, |entry, path| {
        let wanted = entry.file_type()?.is_file() && glob.is_none_or(|glob| glob.matches(path));
        wanted.then(|| path.to_owned())
    })?;
    let mut paths = walked.kept;
    paths.sort_unstable();
    Ok(Files { root, paths, prefix, problems: walked.problems, stopped: walked.stopped, denied: walked.denied })
}

/// The results of the threads in the order of the files, only for the files that were searched.
fn search_all(files: &Files, search: &LineSearch, deadline: &Deadline) -> Vec<(usize, Result<SearchedFile, Unopened>)> {
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut searcher = search.searcher();
        let mut mine = Vec::new();
        while found.load(Ordering::Relaxed) <= search.limit && deadline.stopped().is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.paths.get(index) else { break };
            let named = (&*files.root.join(path), &*files.prefix.show(path));
            let result = search.file(&mut searcher, named, deadline);
            if let Ok(SearchedFile::Text(matches)) = &result {
                found.fetch_add(matches.count, Ordering::Relaxed);
            }
            mine.push((index, result));
        }
        mine
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(files.paths.len());
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
