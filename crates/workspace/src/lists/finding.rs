//! Full-text search over conversations: `:Flemma find`.
//!
//! The files are read as they are, by all cores. Nothing is kept between two searches: what the system has cached of two thousand files
//! is read faster than an index of them could be checked.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::SystemTime,
};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde::Serialize;

use crate::{components::Lists, lists::chat_files::chat_files, projects::Projects};
use flemma_model::UserError;
use flemma_text::one_line;

/// The most lines of a conversation, and of all.
const MOST: (usize, usize) = (5, 500);

/// The most characters of a line.
const LONGEST: usize = 200;

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// A line of a conversation in which something was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundLine {
    /// The conversation.
    pub file: PathBuf,
    /// The line, from 0.
    pub line: usize,
    /// What it says.
    pub text: String,
}

impl Lists {
    /// Finds the conversations that have all of these words, whatever their case, of the project whose root is above `start` or else is
    /// `cwd`, or those of all projects. `then` is called with lines that have most of them: those of the conversation that was
    /// changed last come first.
    pub fn find_words(
        &self,
        (start, cwd): (&Path, &Path),
        is_all: bool,
        words: &str,
        then: impl FnOnce(&Self, Result<Vec<FoundLine>, UserError>) + Send + 'static,
    ) {
        let matchers: Result<Vec<RegexMatcher>, _> = words
            .split_whitespace()
            .map(|word| RegexMatcherBuilder::new().case_insensitive(true).fixed_strings(true).build(word))
            .collect();
        let matchers = match matchers {
            Ok(matchers) if !matchers.is_empty() => matchers,
            Ok(_) => return then(self, Err(UserError::new("`:Flemma find` needs words to look for"))),
            Err(problem) => {
                return then(self, Err(UserError::new(format!("`{words}` cannot be looked for: {problem}"))));
            }
        };
        let (find_root, home) = (self.projects.find_root(start, cwd), self.shared.projects.own_folder(Path::new("/")));
        let below = self.shared.config().conversations.folder.clone();
        let look = move || {
            let root = find_root();
            let own = if is_all { home } else { Projects::new(home).own_folder(&root) };
            let mut folders = vec![own, root.clone()];
            // It may be hidden, so that the folder of the project does not list it.
            folders.extend(below.map(|below| root.join(below)));
            let mut files: Vec<PathBuf> = folders
                .iter()
                .filter(|folder| folder.is_dir())
                .flat_map(|folder| chat_files(folder))
                .flatten()
                .collect();
            files.sort();
            files.dedup();
            find(&files, &matchers)
        };
        self.background.run(look, |this: &Self, found| then(this, Ok(found)));
    }
}

/// The lines of these files in which something is found.
fn find(files: &[PathBuf], matchers: &[RegexMatcher]) -> Vec<FoundLine> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found: Vec<(SystemTime, Vec<FoundLine>)> = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(find_in(file, matchers));
        }
        found
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(SystemTime, Vec<FoundLine>)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        own.into_iter().chain(others.into_iter().flat_map(|other| other.join().unwrap_or_default())).collect()
    });
    found.sort_by(|(one, lines), (other, others)| {
        (Reverse(one), &lines[0].file).cmp(&(Reverse(other), &others[0].file))
    });
    found.into_iter().flat_map(|(_, lines)| lines).take(MOST.1).collect()
}

/// The lines of a file that have most of what is looked for, if the file has all of it, and when it was changed.
fn find_in(file: &Path, matchers: &[RegexMatcher]) -> Option<(SystemTime, Vec<FoundLine>)> {
    let about = fs::metadata(file).ok().filter(|about| about.is_file() && about.len() <= MAX_FILE)?;
    let bytes = fs::read(file).ok()?;
    let has = |matcher: &&RegexMatcher, bytes: &[u8]| matcher.is_match(bytes).unwrap_or_default();
    if !matchers.iter().all(|matcher| has(&matcher, &bytes)) {
        return None;
    }
    let mut best: Vec<(usize, usize, &[u8])> = Vec::new();
    let mut whole = 0;
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let worth = matchers.iter().filter(|matcher| has(matcher, line)).count();
        if worth > 0 {
            best.push((worth, at, line));
        }
        whole += usize::from(worth == matchers.len());
        if whole == MOST.0 {
            break;
        }
    }
    best.sort_by_key(|(worth, at, _)| (Reverse(*worth), *at));
    best.truncate(MOST.0);
    best.sort_by_key(|(_, at, _)| *at);
    let found = best.into_iter().map(|(_, line, text)| FoundLine {
        file: file.to_owned(),
        line,
        text: one_line(&String::from_utf8_lossy(text), LONGEST),
    });
    let found: Vec<FoundLine> = found.collect();
    (!found.is_empty()).then(|| (about.modified().unwrap_or(SystemTime::UNIX_EPOCH), found))
}
