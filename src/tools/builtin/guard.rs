//! The one place where tools open files and folders.
//!
//! What a call may use is judged by paths. A path can lead elsewhere a moment later, when a folder in it is replaced by a link, and
//! looking up where it leads takes several steps as well. So a file is opened part by part without following links
//! ([`OpenFolder`]). The path by which that worked is the file's own, and is what is judged.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use rustix::io::Errno;

use super::{files, folder::OpenFolder};
use crate::{
    model::ModelError,
    text::escape_controls,
    tools::{Access, Bounds, Content, Context, Permitted, rules::DeniedPaths},
};

/// How often a path with links is looked up. If that does not do, something keeps replacing its folders.
const MAX_LOOKS: usize = 8;

/// What a call may use. Everything is judged by it that a tool opens.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    permitted: Arc<Permitted>,
    denied: Arc<DeniedPaths>,
    bounds: Bounds,
}

/// Why a file was not opened.
#[derive(Debug)]
pub(super) enum Unopened {
    /// It may not be used.
    Refused(ModelError),
    /// The system did not open it.
    Failed(io::Error),
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Unopened {
    /// For the model, which calls the file `name`.
    pub(super) fn told(self, path: &Path, name: &str) -> ModelError {
        match self {
            Self::Refused(error) => error,
            Self::Failed(error) => files::problem(path, name, &error),
        }
    }
}

impl Guard {
    /// What a call may use within these bounds.
    pub(super) fn new(context: &Context, bounds: Bounds) -> Self {
        Self { permitted: Arc::clone(&context.permitted), denied: Arc::clone(&context.denied), bounds }
    }

    /// What a call may use that shows files to the model.
    pub(super) fn reading(permitted: &Arc<Permitted>, denied: &Arc<DeniedPaths>) -> Self {
        Self { permitted: Arc::clone(permitted), denied: Arc::clone(denied), bounds: Bounds::Readable }
    }

    /// Whether there is nothing to judge.
    fn is_open(&self) -> bool {
        let is_free = match &self.bounds {
            Bounds::Writable => true,
            Bounds::Readable => self.denied.is_empty(),
            Bounds::Below(_) => false,
        };
        is_free && self.permitted.is_everything()
    }

    /// Judges the path of a file, in which there are no links. The model calls it `name`.
    ///
    /// # Errors
    /// If it is outside the bounds, denied, or an agent does not permit it.
    pub(super) fn check(&self, access: Access, real: &Path, name: &str) -> Result<(), ModelError> {
        if let Bounds::Below(folder) = &self.bounds
            && (!real.starts_with(folder) || real == folder)
        {
            return Err(ModelError::new(format!("`{}` leads out of the folder of notes.", escape_controls(name))));
        }
        if self.bounds != Bounds::Writable && self.denied.contains(real) {
            return Err(ModelError::new(format!("The user's policy denies reading {}.", escape_controls(name))));
        }
        self.permitted.check_real(access, real, name)
    }

    /// Opens a file for reading, without waiting if it is a pipe. `path` is absolute, and the model calls it `name`.
    ///
    /// # Errors
    /// If it may not be read, or cannot be opened.
    pub(super) fn open(&self, path: &Path, name: &str) -> Result<File, Unopened> {
        if self.is_open() {
            return Ok(files::open(path)?);
        }
        let (file, real) = by_own_path(path, open_exactly)?;
        self.check(Access::Read, &real, name).map_err(Unopened::Refused)?;
        Ok(file)
    }

    /// Opens a folder to list it, and says where it is. `path` is absolute, and the model calls it `name`.
    ///
    /// # Errors
    /// If it may not be read, or cannot be opened.
    pub(super) fn open_folder(&self, path: &Path, name: &str) -> Result<(File, PathBuf), Unopened> {
        let (folder, real) = by_own_path(path, |path| OpenFolder::open(path)?.list())?;
        self.check(Access::Read, &real, name).map_err(Unopened::Refused)?;
        Ok((folder, real))
    }

    /// Whether a search may name an entry that it has found, in a folder whose links are resolved. A name that is not there was
    /// found elsewhere: a folder of its path was a link for a moment.
    pub(super) fn finds(&self, entry: &Path) -> bool {
        if self.is_open() {
            return true;
        }
        let (folder, name) = parts(entry);
        let kind = OpenFolder::open(folder).and_then(|folder| folder.kind(name));
        let is_within = |path: &Path| self.check(Access::Read, path, "").is_ok();
        match kind {
            Err(_) => false,
            // What it leads to is judged when it is opened.
            Ok(kind) if kind.is_symlink() => !self.denied.contains(entry) && self.permitted.shows(entry),
            Ok(_) => is_within(entry),
        }
    }
}

/// Opens the file at an absolute path without links for reading.
///
/// # Errors
/// If it cannot be opened, or a part of the path is a link.
pub(super) fn open_exactly(path: &Path) -> io::Result<File> {
    let (folder, name) = parts(path);
    OpenFolder::open(folder)?.read_file(name)
}

/// The content of the file at an absolute path without links; `None` if there is none.
///
/// # Errors
/// If it cannot be read, or a part of the path is a link.
pub(super) fn content_at(path: &Path) -> io::Result<Option<Content>> {
    match open_exactly(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => Content::of_opened(&mut file?).map(Some),
    }
}

/// Opens what a path leads to, and says at which path without links that was.
fn by_own_path<T>(path: &Path, open: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let mut real = if goes_up { path.canonicalize()? } else { path.to_owned() };
    for _ in 0..MAX_LOOKS {
        match open(&real) {
            Ok(opened) => return Ok((opened, real)),
            Err(error) if is_link(&error) => real = path.canonicalize()?,
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it was replaced while it was opened. Try again"))
}

/// Whether a path could not be opened because a part of it is a link, or no folder.
fn is_link(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::NOTDIR | Errno::MLINK))
}

fn parts(path: &Path) -> (&Path, &OsStr) {
    (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or(OsStr::new(".")))
}
