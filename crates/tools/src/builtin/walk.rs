//! Walks a folder and collects the entries for a search.
//!
//! Several threads walk in parallel, so the caller sorts the entries. Hidden files and files listed in the project's ignore
//! files (`.gitignore`, with or without a repository, `.ignore`, git's own excludes) are left out unless all files are
//! requested. The contents of a `.git` folder are always left out, unless the walk starts there, and so are Flemma's own files.
//! Files that the user denies reading, or that an agent does not permit, are left out and counted. Links are not followed, so there are no loops.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::{
    deadline::{Deadline, Stopped},
    files,
    guard::Guard,
    report::Prefix,
};
use crate::{
    Context,
    ignore_files::{GitRules, IgnoreFiles},
    own_files::is_own_file,
};
use flemma_model::ModelError;

/// The maximum number of entries that are kept. More would not be useful, and memory is limited.
const MAX_KEPT: usize = 1_000_000;

/// The maximum number of threads.
const MAX_THREADS: usize = 12;

/// Which entries a walk includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Entries that are neither hidden nor ignored.
    Usual,
    /// Entries that are not ignored.
    Hidden,
    /// Entries that are not hidden, whether or not they are ignored.
    Visible,
    /// Everything.
    All,
}

impl Scope {
    /// Says whether it includes an entry below `root`.
    fn includes(self, root: &Path) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
        let leaves_out_ignored = matches!(self, Self::Usual | Self::Hidden);
        let leaves_out_hidden = matches!(self, Self::Usual | Self::Visible);
        let ignored = leaves_out_ignored.then(|| IgnoreFiles::new(root, GitRules::Everywhere));
        move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_ignored = ignored.as_ref().and_then(|files| files.ignores(entry.path(), is_folder));
            let is_hidden = || leaves_out_hidden && entry.file_name().as_encoded_bytes().starts_with(b".");
            !is_ignored.unwrap_or_else(is_hidden)
        }
    }
}

/// The result of a walk.
pub(super) struct WalkResult<T> {
    /// The entries that were kept, in no particular order.
    pub(super) kept: Vec<T>,
    /// Places that could not be read, each with its reason.
    pub(super) problems: Vec<String>,
    /// Why the walk is incomplete, if it is.
    pub(super) stopped: Option<Stopped>,
    /// The number of files and folders that were left out because the user denies reading them.
    pub(super) denied: usize,
}

/// Walks through `root`, an absolute path without links, and keeps the result of `keep` for each entry and its path
/// relative to `root`, as far as `guard` lets it be found. The root itself is not an entry. Places in messages are shown with `prefix`.
///
/// # Errors
/// A message if too many entries are kept.
pub(super) fn walk<T: Send>(
    root: &Path,
    prefix: &Prefix,
    scope: Scope,
    context: &Context,
    guard: &Guard,
    deadline: &Deadline,
    keep: impl Fn(&DirEntry, &Path) -> Option<T> + Sync,
) -> Result<WalkResult<T>, ModelError> {
    let mut builder = WalkBuilder::new(root);
    let left_out = Arc::new(AtomicUsize::new(0));
    let may_be_read = {
        let (denied, permitted) = (Arc::clone(&context.denied), Arc::clone(&context.permitted));
        let left_out = Arc::clone(&left_out);
        move |entry: &DirEntry| {
            let path = entry.path();
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if !is_folder && is_own_file(entry.file_name()) {
                return false;
            }
            let is_shown = permitted.shows(path) || (is_folder && permitted.leads_on(path));
            let is_left_out = denied.contains(path) || !is_shown;
            left_out.fetch_add(usize::from(is_left_out), Ordering::Relaxed);
            !is_left_out
        }
    };
    let is_included = scope.includes(root);
    builder.standard_filters(false).filter_entry(move |entry| {
        entry.depth() == 0 || (entry.file_name() != ".git" && is_included(entry) && may_be_read(entry))
    });
    let (sender, receiver) = mpsc::channel();
    let count = AtomicUsize::new(0);
    let see = |sender: &mpsc::Sender<_>, entry: Result<DirEntry, ignore::Error>| {
        if deadline.stopped().is_some() || count.load(Ordering::Relaxed) > MAX_KEPT {
            return WalkState::Quit;
        }
        let found = match entry {
            Ok(entry) if entry.depth() == 0 => return WalkState::Continue,
            // A folder on the way to what is permitted, or an entry of one that was a link when it was listed.
            Ok(entry) if !guard.finds(entry.path()) => return WalkState::Continue,
            Ok(entry) => match entry.path().strip_prefix(root).ok().and_then(|path| keep(&entry, path)) {
                None => return WalkState::Continue,
                Some(kept) => Ok(kept),
            },
            Err(error) => match problem(&error, root, prefix) {
                None => return WalkState::Continue,
                Some(problem) => Err(problem),
            },
        };
        count.fetch_add(1, Ordering::Relaxed);
        // The receiver lives until the walk is over.
        let _ = sender.send(found);
        WalkState::Continue
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    if threads > 1 && are_to_be_had(threads) {
        builder.threads(threads).build_parallel().run(|| {
            let (sender, see) = (sender.clone(), &see);
            Box::new(move |entry| see(&sender, entry))
        });
    } else {
        for entry in builder.build() {
            if matches!(see(&sender, entry), WalkState::Quit) {
                break;
            }
        }
    }
    drop(sender);
    if count.into_inner() > MAX_KEPT {
        return Err(ModelError::new(format!(
            "There are more than {MAX_KEPT} files to search. Choose a smaller `path`."
        )));
    }
    let (mut kept, mut problems) = (Vec::new(), Vec::new());
    for found in receiver {
        match found {
            Ok(entry) => kept.push(entry),
            Err(problem) => problems.push(problem),
        }
    }
    Ok(WalkResult { kept, problems, stopped: deadline.stopped(), denied: left_out.load(Ordering::Relaxed) })
}

/// Whether the system can start this many threads now. The parallel walk assumes that it can.
fn are_to_be_had(threads: usize) -> bool {
    thread::scope(|scope| {
        let park = || thread::Builder::new().spawn_scoped(scope, thread::park).ok();
        let parked: Vec<_> = (0..threads).map_while(|_| park()).collect();
        parked.iter().for_each(|thread| thread.thread().unpark());
        parked.len() == threads
    })
}

/// The message for an error; `None` for entries that disappeared during the walk.
fn problem(error: &ignore::Error, root: &Path, prefix: &Prefix) -> Option<String> {
    let io = error.io_error()?;
    if io.kind() == io::ErrorKind::NotFound {
        return None;
    }
    let place = match path_of(error).map(|path| path.strip_prefix(root).unwrap_or(path)) {
        Some(path) if !path.as_os_str().is_empty() => prefix.show(path),
        _ => prefix.folder().to_owned(),
    };
    Some(format!("{place} ({})", files::reason(io)))
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}
