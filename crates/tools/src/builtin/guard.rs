//! The one place where tools open files and folders.
//!
//! What a call may use is judged by paths. A path can lead elsewhere a moment later, when a folder in it is replaced by a link, and
//! looking up where it leads takes several steps as well. So a file is opened part by part without following links
//! ([`OpenFolder`]). The path by which that worked is the file's own, and is what is judged.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use rustix::{fs::FileType, io::Errno};

use super::{
    files,
    folder::{Found, OpenFolder},
};
use crate::{
    Access, Bounds, Content, Context, FileClass, Judged, Permitted,
    linked::Linked,
    paths::real,
    rules::{DeniedPaths, Names},
};
use flemma_model::ModelError;
use flemma_text::{escape_controls, truncate::format_size};

/// How often a path with links is looked up. If that does not do, something keeps replacing its folders.
const MAX_LOOKS: usize = 8;

/// What a call may use. Everything is judged by it that a tool opens.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    pub(super) permitted: Arc<Permitted>,
    pub(super) denied: Arc<DeniedPaths>,
    /// Where a file must be that the call uses.
    pub(super) bounds: Bounds,
    /// What was judged when the call was approved; `None` if nothing has to be.
    judged: Option<Arc<Judged>>,
}

/// Why a file was not opened.
#[derive(Debug)]
pub enum Unopened<E = ModelError> {
    /// It may not be used, or shown. A message for the user is the end of a sentence that begins with its name.
    Refused(E),
    /// The system did not open it.
    Failed(io::Error),
}

impl<E> From<io::Error> for Unopened<E> {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Guard {
    /// What a call may use within these bounds.
    pub(super) fn new(context: &Context, bounds: Bounds) -> Self {
        let judged = context.judged.clone();
        Self { permitted: Arc::clone(&context.permitted), denied: Arc::clone(&context.denied), bounds, judged }
    }

    /// What a call may use that shows files to the model.
    pub(super) fn reading(permitted: &Arc<Permitted>, denied: &Arc<DeniedPaths>) -> Self {
        Self { permitted: Arc::clone(permitted), denied: Arc::clone(denied), bounds: Bounds::Readable, judged: None }
    }

    /// Whether there is nothing to judge.
    fn is_open(&self) -> bool {
        let is_free = match &self.bounds {
            Bounds::Writable => true,
            Bounds::Readable => self.denied.is_empty(),
            Bounds::Below(_) => false,
        };
        is_free && self.permitted.is_everything() && self.judged.as_ref().is_none_or(|judged| judged.is_everything())
    }

    /// Judges the path of a file, in which there are no links. The model calls it `name`.
    ///
    /// # Errors
    /// If it is outside the bounds, denied, or an agent does not permit it.
    pub(super) fn check(&self, access: Access, real: &Path, name: &str) -> Result<(), ModelError> {
        if let Bounds::Below(folder) = &self.bounds
            && (!real.starts_with(folder) || real == folder)
        {
            bail!("`{}` leads out of the folder of notes.", escape_controls(name));
        }
        if self.bounds != Bounds::Writable && self.denied.contains(real) {
            return Err(denial(name));
        }
        self.permitted.check_real(access, real, name)
    }

    /// Judges the file at `real`, in whose path there are no links, to which `path` has led. The model calls it `name`.
    ///
    /// # Errors
    /// As [`check`](Self::check), or if it is not what was judged when the call was approved.
    pub(super) fn admit(&self, access: Access, path: &Path, real: &Path, name: &str) -> Result<(), ModelError> {
        self.check(access, real, name)?;
        match &self.judged {
            Some(judged) if !judged.admits(path, real) => {
                let real = escape_controls(&real.to_string_lossy()).into_owned();
                Err(judged.stray(name, &format!("leads to {real} now")))
            }
            _ => Ok(()),
        }
    }

    /// Judges the other names of a file that is to be shown.
    ///
    /// # Errors
    /// If one of them is denied, or nobody can tell.
    pub(super) fn check_names(&self, file: Option<Linked>, name: &str) -> Result<(), ModelError> {
        match self.denied.judge_names(file) {
            Names::Allowed => Ok(()),
            Names::Denied { .. } => Err(denial(name)),
            Names::Unknown { rule } => bail!(
                "{} has several names (hard links), and whether the user's rule `{rule}` denies one of them could not be found \
                 out among so many files.",
                escape_controls(name)
            ),
        }
    }

    /// Judges a file once more before it is written. The model calls it `name`.
    ///
    /// # Errors
    /// If writing it asks every time and only a policy has approved it, or it has got other names (hard links) since it was judged.
    pub(super) fn check_written(
        &self,
        real: &Path,
        found: Option<&Found>,
        class: &FileClass,
        name: &str,
    ) -> Result<(), ModelError> {
        let Some(judged) = &self.judged else { return Ok(()) };
        if *class == FileClass::StartUp && judged.is_by_policy() {
            return Err(judged.stray(name, "is read by a program when it starts, so writing it asks every time"));
        }
        let is_linked = found.and_then(Found::linked).is_some();
        let is_new = is_linked && !judged.admits_linked(real);
        if is_new { Err(judged.stray(name, "has several names (hard links) now")) } else { Ok(()) }
    }

    /// Judges where a path leads, whether or not there is something. Without this, an error would tell what is at a path that may
    /// not be used. `path` is absolute, and the model calls it `name`.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(super) fn judge(&self, access: Access, path: &Path, name: &str) -> Result<(), ModelError> {
        if self.is_open() {
            return Ok(());
        }
        if self.bounds != Bounds::Writable && self.denied.contains(path) {
            return Err(denial(name));
        }
        self.admit(access, path, &real(path), name)
    }

    /// Whether a model may be told that there is something at a path.
    fn tells(&self, path: &Path) -> bool {
        let real = real(path);
        let is_denied = self.denied.contains(path) || self.denied.contains(&real);
        !is_denied && self.check(Access::Read, &real, "").is_ok()
    }

    /// The message for an error at a path that was judged; the model calls it `name`. For a missing file, it suggests those similar
    /// names that the model may be told.
    pub(super) fn problem(&self, path: &Path, name: &str, error: &io::Error) -> ModelError {
        files::problem(path, name, error, |near| self.tells(near))
    }

    /// The same for a file that was not opened.
    pub(super) fn told(&self, error: Unopened, path: &Path, name: &str) -> ModelError {
        match error {
            Unopened::Refused(error) => error,
            Unopened::Failed(error) => self.problem(path, name, &error),
        }
    }

    /// Looks at what a path leads to, and says where that is, without links. `path` is absolute, and the model calls it `name`.
    ///
    /// # Errors
    /// If it may not be used in this way, or there is nothing.
    pub(super) fn look(&self, access: Access, path: &Path, name: &str) -> Result<(Found, PathBuf), ModelError> {
        self.judge(access, path, name)?;
        let found = match self.is_open() {
            true => path.canonicalize().and_then(|real| Ok((Found::at(&real)?, real))),
            false => by_own_path(path, look_exactly),
        };
        let (found, real) = found.map_err(|error| self.problem(path, name, &error))?;
        self.admit(access, path, &real, name)?;
        Ok((found, real))
    }

    /// Looks at the regular file that a path leads to.
    ///
    /// # Errors
    /// If it may not be used in this way, does not exist, or is something else.
    pub(super) fn regular(&self, access: Access, path: &Path, name: &str) -> Result<Found, ModelError> {
        let (found, _) = self.look(access, path, name)?;
        match files::other_kind(found.kind()) {
            None => Ok(found),
            Some(_) if found.kind().is_dir() => bail!("{name} is a directory. List it with `ls`."),
            Some(kind) => bail!("{name} is {kind}, not a regular file."),
        }
    }

    /// Where the folder is that a path leads to, without links.
    ///
    /// # Errors
    /// If it may not be read, does not exist, or is something else.
    pub(super) fn folder(&self, path: &Path, name: &str) -> Result<PathBuf, ModelError> {
        let (found, real) = self.look(Access::Read, path, name)?;
        match files::other_kind(found.kind()) {
            Some(_) if found.kind().is_dir() => Ok(real),
            None => {
                let size = format_size(found.size());
                bail!("{name} is a file ({size}), not a directory. Read it with `read`.")
            }
            Some(kind) => bail!("{name} is {kind}, not a directory."),
        }
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
        self.admit(Access::Read, path, &real, name).map_err(Unopened::Refused)?;
        if self.bounds != Bounds::Writable {
            self.check_names(Linked::of(&file.metadata()?), name).map_err(Unopened::Refused)?;
        }
        Ok(file)
    }

    /// Opens a regular file for reading, and says what it is. `path` is absolute, and the model calls it `name`.
    ///
    /// # Errors
    /// If it may not be read, cannot be opened, or is no regular file.
    pub(super) fn open_regular(&self, path: &Path, name: &str) -> Result<(File, Metadata), ModelError> {
        // Checked before it is opened, since opening a device may have effects, and after, since it may have changed.
        self.regular(Access::Read, path, name)?;
        let file = self.open(path, name).map_err(|error| self.told(error, path, name))?;
        let metadata = file.metadata().map_err(|error| self.problem(path, name, &error))?;
        match files::other_kind(FileType::from_raw_mode(metadata.mode() as _)) {
            Some(kind) => bail!("{name} is {kind}, not a regular file."),
            None => Ok((file, metadata)),
        }
    }

    /// Opens a folder to list it, and says where it is. `path` is absolute, and the model calls it `name`.
    ///
    /// # Errors
    /// If it may not be read, or cannot be opened.
    pub(super) fn open_folder(&self, path: &Path, name: &str) -> Result<(File, PathBuf), Unopened> {
        let (folder, real) = by_own_path(path, |path| OpenFolder::open(path)?.list())?;
        self.admit(Access::Read, path, &real, name).map_err(Unopened::Refused)?;
        Ok((folder, real))
    }

    /// Whether a search may name an entry that it has found, in a folder whose links are resolved. A name that is not there was
    /// found elsewhere: a folder of its path was a link for a moment.
    pub(super) fn finds(&self, entry: &Path) -> bool {
        if self.is_open() {
            return true;
        }
        let (folder, name) = parts(entry);
        let kind = OpenFolder::open(folder).and_then(|folder| folder.look(name)).map(|found| found.kind());
        let is_judged = || self.judged.as_ref().is_none_or(|judged| judged.admits(entry, entry));
        match kind {
            Err(_) => false,
            // What it leads to is judged when it is opened.
            Ok(kind) if kind.is_symlink() => !self.denied.contains(entry) && self.permitted.shows(entry),
            Ok(_) => is_judged() && self.check(Access::Read, entry, "").is_ok(),
        }
    }
}

fn denial(name: &str) -> ModelError {
    ModelError::new(format!("The user's policy denies reading {}.", escape_controls(name)))
}

/// Looks at what there is at an absolute path without links.
///
/// # Errors
/// If there is nothing, or a part of the path is a link.
fn look_exactly(path: &Path) -> io::Result<Found> {
    let (folder, name) = parts(path);
    match OpenFolder::open(folder)?.look(name)? {
        found if found.kind().is_symlink() => Err(Errno::LOOP.into()),
        found => Ok(found),
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
pub(super) fn by_own_path<T>(path: &Path, open: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let mut real = if goes_up { path.canonicalize()? } else { path.components().collect() };
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

/// The folder of a path, and the name in it.
pub(super) fn parts(path: &Path) -> (&Path, &OsStr) {
    (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or(OsStr::new(".")))
}
