//! Walks a folder and collects the entries for a search.
//!
//! Several threads walk in parallel, so the caller sorts the entries. Hidden files and files listed in the project's ignore
//! files (`.gitignore`, with or without a repository, `.ignore`, git's own excludes) are left out unless all files are
//! requested. The contents of a `.git` folder are always left out, unless the walk starts there, and so are Flemma's own files.
//! Files that the user denies reading, or that an agent does not permit, are left out and counted. Links are not followed, so there are no loops.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState};

use super::{
    deadline::{Deadline, Stopped},
    files,
    guard::Guard,
    report::Prefix,
};
use crate::{
    Bounds, Context,
    ignore_files::{GitRules, IgnoreFiles},
    own_files::is_own_file,
};
use flemma_model::ModelError;
use flemma_text::bounds;

/// The maximum number of entries that are kept. More would not be useful, and memory is limited.
const MAX_KEPT: usize = 1_000_000;

/// The maximum number of threads.
const MAX_THREADS: usize = 12;

/// Which entries a walk includes besides the usual ones, which are neither hidden nor ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// Those that are hidden.
    pub(super) hidden: bool,
    /// Those that are ignored.
    pub(super) ignored: bool,
}

impl Scope {
    /// What a search includes: everything, if that was asked for, or hidden entries, if the glob names them.
    pub(super) fn of(all: bool, names_hidden: bool) -> Self {
        Self { hidden: all || names_hidden, ignored: all }
    }

    /// What a model is told of the entries that a search left out, after a sentence.
    pub(super) const fn left_out(self) -> &'static str {
        match (self.ignored, self.hidden) {
            (true, _) => "",
            (false, true) => " Files ignored by .gitignore were left out; `all` = true includes them.",
            (false, false) => {
                " Hidden files and files ignored by .gitignore were left out; `all` = true includes them."
            }
        }
    }

    /// Says whether it includes an entry below `root`.
    fn includes(self, root: &Path) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
        let ignored = (!self.ignored).then(|| IgnoreFiles::new(root, GitRules::Everywhere));
        move |entry| {
            let ignored = ignored.as_ref().and_then(|files| files.ignores(entry.path(), is_folder(entry)));
            let is_hidden = || !self.hidden && entry.file_name().as_encoded_bytes().starts_with(b".");
            !ignored.unwrap_or_else(is_hidden)
        }
    }
}

/// A folder to walk through.
pub(super) struct Walk {
    /// What may be found.
    pub(super) guard: Guard,
    /// When it has to stop.
    pub(super) deadline: Deadline,
    /// The folder: an absolute path without links.
    pub(super) root: PathBuf,
    /// How places are shown.
    pub(super) prefix: Prefix,
    /// Which entries it includes.
    pub(super) scope: Scope,
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

impl Walk {
    /// A walk through the folder that the model calls `name`; `None` for the one where relative paths start.
    ///
    /// # Errors
    /// A message that names it: it may not be read, does not exist, is not a folder, or cannot be accessed.
    pub(super) fn through(context: &Context, name: Option<&str>, scope: Scope) -> Result<Self, ModelError> {
        let (guard, deadline) = (Guard::new(context, Bounds::Readable), Deadline::new(context));
        let written = name.unwrap_or(".");
        let root = guard.folder(&context.resolve(written), written)?;
        Ok(Self { guard, deadline, root, prefix: Prefix::new(name), scope })
    }

    /// Keeps the result of `keep` for each entry and its path relative to the root, as far as it may be found. The root itself is
    /// not an entry.
    ///
    /// # Errors
    /// A message if too many entries are kept.
    pub(super) fn keep<T: Send>(
        &self,
        keep: impl Fn(&DirEntry, &Path) -> Option<T> + Sync,
    ) -> Result<WalkResult<T>, ModelError> {
        let left_out = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::channel();
        let count = AtomicUsize::new(0);
        let see = |sender: &mpsc::Sender<_>, entry: Result<DirEntry, ignore::Error>| {
            if self.deadline.stopped().is_some() || count.load(Ordering::Relaxed) > MAX_KEPT {
                return WalkState::Quit;
            }
            let found = match entry {
                Ok(entry) if entry.depth() == 0 => None,
                // A folder on the way to what is permitted, or an entry of one that was a link when it was listed.
                Ok(entry) if !self.guard.finds(entry.path()) => None,
                Ok(entry) => entry.path().strip_prefix(&self.root).ok().and_then(|path| keep(&entry, path)).map(Ok),
                Err(error) => self.problem(&error).map(Err),
            };
            if let Some(found) = found {
                count.fetch_add(1, Ordering::Relaxed);
                // The receiver lives until the walk is over.
                let _ = sender.send(found);
            }
            WalkState::Continue
        };
        let mut builder = self.builder(&left_out);
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        if threads > 1 && are_to_be_had(threads) {
            builder.threads(threads).build_parallel().run(|| {
                let (sender, see) = (sender.clone(), &see);
                Box::new(move |entry| see(&sender, entry))
            });
        } else {
            let _ = builder.build().map(|entry| see(&sender, entry)).find(|state| matches!(state, WalkState::Quit));
        }
        drop(sender);
        let is_kept = count.into_inner() <= MAX_KEPT;
        ensure!(is_kept, "There are more than {MAX_KEPT} files to search. Choose a smaller `path`.");
        let (mut kept, mut problems) = (Vec::new(), Vec::new());
        for found in receiver {
            found.map_or_else(|problem| problems.push(problem), |found| kept.push(found));
        }
        Ok(WalkResult { kept, problems, stopped: self.deadline.stopped(), denied: left_out.load(Ordering::Relaxed) })
    }

    /// What goes through the entries that are included and may be read. It counts those that may not.
    fn builder(&self, left_out: &Arc<AtomicUsize>) -> WalkBuilder {
        let (denied, permitted) = (Arc::clone(&self.guard.denied), Arc::clone(&self.guard.permitted));
        let (left_out, is_included) = (Arc::clone(left_out), self.scope.includes(&self.root));
        let may_be_read = move |entry: &DirEntry| {
            let path = entry.path();
            let is_shown = permitted.shows(path) || (is_folder(entry) && permitted.leads_on(path));
            let is_left_out = denied.contains(path) || !is_shown;
            left_out.fetch_add(usize::from(is_left_out), Ordering::Relaxed);
            !is_left_out
        };
        let mut builder = WalkBuilder::new(&self.root);
        builder.standard_filters(false).filter_entry(move |entry| {
            let is_own = || !is_folder(entry) && is_own_file(entry.file_name());
            entry.depth() == 0 || (entry.file_name() != ".git" && is_included(entry) && !is_own() && may_be_read(entry))
        });
        builder
    }

    /// The message for an error; `None` for entries that disappeared during the walk.
    fn problem(&self, error: &ignore::Error) -> Option<String> {
        let io = error.io_error()?;
        if io.kind() == io::ErrorKind::NotFound {
            return None;
        }
        let place = match path_of(error).map(|path| path.strip_prefix(&self.root).unwrap_or(path)) {
            Some(path) if !path.as_os_str().is_empty() => self.prefix.show(path),
            _ => self.prefix.folder().to_owned(),
        };
        Some(format!("{place} ({})", files::reason(io)))
    }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
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

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// A parsed glob, as models write them: `*.rs`, `src/**/*.{ts,tsx}`, `Makefile`.
///
/// A glob without a slash matches the name of a file in any folder. A glob with a slash matches the path relative to the
/// searched folder. `*` and `?` do not match a slash, `**` does. Case matters.
pub(super) struct Glob {
    matcher: GlobMatcher,
    /// Whether it matches the whole path.
    whole_path: bool,
    /// Whether it includes names that begin with a dot.
    hidden: bool,
}

impl Glob {
    /// Parses `glob`, which is `field` in the input.
    ///
    /// # Errors
    /// A message for the model if it is not a valid glob, or cannot match anything.
    pub(super) fn new(glob: &str, field: &str) -> Result<Self, ModelError> {
        let relative = glob.strip_prefix("./").unwrap_or(glob);
        ensure!(!relative.is_empty(), "`{field}` is empty. Give a glob like `*.rs`; `*` matches every name.");
        if relative.starts_with('/') || relative.split('/').any(|part| part == "..") {
            bail!(
                "`{field}` matches paths below the searched folder, so `{glob}` cannot match anything: put the folder \
                 in `path` instead."
            );
        }
        bounds::glob(relative)
            .map_err(|excess| ModelError::new(format!("`{field}` is not a glob that can be matched: {excess}.")))?;
        let matcher = GlobBuilder::new(relative)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| ModelError::new(format!("`{field}` is not a valid glob: {} in `{glob}`.", error.kind())))?
            .compile_matcher();
        let hidden = relative.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        Ok(Self { matcher, whole_path: relative.contains('/'), hidden })
    }

    /// Whether it matches a path, relative to the searched folder.
    pub(super) fn matches(&self, path: &Path) -> bool {
        if self.whole_path {
            return self.matcher.is_match(path);
        }
        path.file_name().is_some_and(|name| self.matcher.is_match(Path::new(name)))
    }

    /// Whether it contains a name that begins with a dot, so that hidden files are included.
    pub(super) fn asks_for_hidden(&self) -> bool {
        self.hidden
    }
}
