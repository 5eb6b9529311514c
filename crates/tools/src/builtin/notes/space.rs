//! The folder of notes on the disk.
//!
//! Every page is judged by the file that its path leads to once all links are resolved: it must be below the folder, and the
//! user must not deny reading it. It is judged again when it is opened ([`Guard`]).

use std::{
    fs::Metadata,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::super::{
    deadline::Deadline,
    guard::{Guard, Unopened},
    replace::earlier_bytes,
    report::{self, Prefix},
    walk::{Scope, Walk},
};
use crate::{Access, Bounds, Context, paths};
use flemma_model::ModelError;
use flemma_notes::PageName;
use flemma_text::{
    suggest::nearest_few,
    truncate::format_size,
    visible::{differences, looks_same},
};

/// The largest page, in bytes.
const MAX_PAGE: u64 = 16 * 1024 * 1024;

/// The maximum number of names in an error.
const MAX_SUGGESTED: usize = 3;

/// The folder of notes.
pub(super) struct Space<'a> {
    /// What the call may use.
    pub(super) context: &'a Context,
    /// When the call has to stop.
    pub(super) deadline: Deadline,
    /// The folder, with links resolved.
    root: PathBuf,
    /// Judges what is opened.
    guard: Guard,
}

/// The pages that were found.
pub(super) struct Listed {
    /// Their names, sorted.
    pub(super) pages: Vec<PageName>,
    /// What is said about pages that were left out.
    pub(super) notes: Vec<String>,
}

impl<'a> Space<'a> {
    /// The folder of notes of a call.
    ///
    /// # Errors
    /// If there is no such folder, or the user denies reading it.
    pub(super) fn open(context: &'a Context) -> Result<Self, ModelError> {
        let written = &context.notes_root;
        let root = paths::real(written);
        if !root.is_dir() {
            bail!(
                "The folder of notes, {}, does not exist. The user sets it with `tools.notes.root`.",
                written.display()
            );
        }
        // An agent may permit only a part of it: each page is judged.
        let is_denied = [written, &root].iter().any(|path| context.denied.contains(path));
        ensure!(!is_denied, "The user's policy denies reading the folder of notes.");
        let guard = Guard::new(context, Bounds::Below(root.clone()));
        Ok(Self { context, deadline: Deadline::new(context), root, guard })
    }

    /// The file of a page, which does not have to exist.
    ///
    /// # Errors
    /// If it is not below the folder of notes, or the user denies reading it.
    pub(super) fn file(&self, page: &PageName) -> Result<PathBuf, ModelError> {
        self.below(&page.file(), page.as_str())
    }

    /// The same with links resolved.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub(super) fn real(&self, page: &PageName) -> Result<PathBuf, ModelError> {
        self.file(page).map(|file| paths::real(&file))
    }

    /// A folder of pages; the folder of notes itself for an empty name.
    ///
    /// # Errors
    /// If it is not below the folder of notes, does not exist, or the user denies reading it.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, ModelError> {
        let name = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
        if name.is_empty() || name == "." {
            return Ok(self.root.clone());
        }
        // The parts of a folder's name are those of a page.
        let folder = PageName::parse(&format!("{name}/x"))?;
        let path = self.below(Path::new(folder.folder()), name)?;
        ensure!(path.is_dir(), "There is no folder `{name}` in the notes. List them with list_pages.");
        Ok(path)
    }

    /// A file or folder by its path from the folder of notes.
    ///
    /// # Errors
    /// If it is not below the folder of notes, or the user denies reading it.
    pub(super) fn below(&self, relative: &Path, name: &str) -> Result<PathBuf, ModelError> {
        let path = self.root.join(relative);
        self.guard.judge(Access::Read, &path, name)?;
        Ok(path)
    }

    /// Where a page must be that is changed.
    pub(in super::super) fn bounds(&self) -> Bounds {
        Bounds::Below(self.root.clone())
    }

    /// The content of a page.
    ///
    /// # Errors
    /// If it does not exist, with similar names, or cannot be read.
    pub(super) fn read(&self, page: &PageName) -> Result<Vec<u8>, ModelError> {
        let real = self.real(page)?;
        if let Some(content) = self.context.earlier.content(&real) {
            self.guard.check(Access::Read, &real, page.as_str())?;
            return earlier_bytes(content, page.as_str());
        }
        self.read_with_metadata(page).map(|(content, _)| content)
    }

    /// A tool in Lua has read a page, or found that there is none.
    pub(super) fn note_read(&self, page: &PageName, content: Option<&[u8]>) {
        if let Ok(file) = self.real(page) {
            self.context.seen.note(&file, content);
        }
    }

    /// Whether a page has a file, whatever that is, once the calls above are carried out.
    ///
    /// # Errors
    /// If it is not below the folder of notes, or the user denies reading it.
    pub(super) fn is_taken(&self, page: &PageName) -> Result<bool, ModelError> {
        let path = self.file(page)?;
        let earlier = self.context.earlier.content(&paths::real(&path));
        Ok(earlier.map_or_else(|| path.symlink_metadata().is_ok(), |content| content.is_some()))
    }

    /// Whether there is a page that can be read.
    ///
    /// # Errors
    /// If it is not below the folder of notes, or the user denies reading it.
    pub(super) fn exists(&self, page: &PageName) -> Result<bool, ModelError> {
        match self.guard.open(&self.file(page)?, page.as_str()) {
            Ok(_) => Ok(true),
            Err(Unopened::Refused(error)) => Err(error),
            Err(Unopened::Failed(error)) => Ok(error.kind() == io::ErrorKind::PermissionDenied),
        }
    }

    /// The content of a page, and what the system says of its file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_with_metadata(&self, page: &PageName) -> Result<(Vec<u8>, Metadata), ModelError> {
        let path = self.file(page)?;
        if path.symlink_metadata().is_err() {
            return Err(self.missing(page));
        }
        let (mut file, metadata) = self.guard.open_regular(&path, page.as_str())?;
        if metadata.len() > MAX_PAGE {
            let size = format_size(metadata.len());
            bail!("{page} ({size}) is too large: pages may have up to 16 MB.");
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|error| self.guard.problem(&path, page.as_str(), &error))?;
        Ok((content, metadata))
    }

    /// The message for a page that does not exist.
    pub(super) fn missing(&self, page: &PageName) -> ModelError {
        let pages = self.list("").map(|listed| listed.pages).unwrap_or_default();
        let names = || pages.iter().map(PageName::as_str);
        let alike = pages.iter().filter(|known| known.base().eq_ignore_ascii_case(page.base())).map(PageName::as_str);
        // With others beside it, nobody could see which one is meant.
        let twin = names().find(|name| looks_same(name, page.as_str()));
        let mut near: Vec<&str> = twin.map_or_else(|| alike.take(MAX_SUGGESTED).collect(), |twin| vec![twin]);
        if near.is_empty() {
            near = nearest_few(page.as_str(), names(), MAX_SUGGESTED);
        }
        let differ = twin.and_then(|twin| differences(twin, page.as_str(), None, "you wrote"));
        let differ = differ.map(|told| format!(" The two names only look the same: {told}.")).unwrap_or_default();
        let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
        let meant = if near.is_empty() { String::new() } else { format!(" Did you mean {}?{differ}", near.join(", ")) };
        ModelError::new(format!("There is no page `{page}`.{meant}"))
    }

    /// All pages in a folder and the folders below it. Hidden files are no pages. A link is one if it leads to a file below the
    /// folder of notes.
    ///
    /// # Errors
    /// If the folder cannot be listed, or time is too short.
    pub(super) fn list(&self, folder: &str) -> Result<Listed, ModelError> {
        let start = self.folder(folder)?;
        let below = start.strip_prefix(&self.root).unwrap_or(Path::new("")).to_owned();
        let walk = Walk {
            guard: self.guard.clone(),
            deadline: self.deadline.clone(),
            root: start.clone(),
            prefix: Prefix::new(Some(folder).filter(|folder| !folder.is_empty())),
            scope: Scope { hidden: false, ignored: true },
        };
        let found = walk.keep(|entry, path| {
            let page = PageName::of_file(&below.join(path))?;
            let kind = entry.file_type()?;
            let leads_to_page = || {
                let real = paths::real(entry.path());
                let is_below = real.starts_with(&self.root) && real != self.root;
                is_below && real.is_file() && !self.context.denied.contains(&real)
            };
            let is_page = kind.is_file() || (kind.is_symlink() && leads_to_page());
            is_page.then_some(page)
        })?;
        self.go_on()?;
        let mut pages = found.kept;
        let earlier = self.context.earlier.below(&start);
        let page_of = |path: &PathBuf| PageName::of_file(path.strip_prefix(&self.root).ok()?);
        let gone: Vec<PageName> = earlier.gone.iter().filter_map(page_of).collect();
        pages.retain(|page| !gone.contains(page));
        pages.extend(earlier.present.iter().filter_map(page_of));
        pages.sort_unstable();
        pages.dedup();
        let notes = report::unreadable(found.problems).into_iter().chain(report::denied(found.denied)).collect();
        Ok(Listed { pages, notes })
    }

    /// Whether a page is a symbolic link.
    pub(super) fn is_link(&self, page: &PageName) -> bool {
        self.root.join(page.file()).is_symlink()
    }

    /// # Errors
    /// If the call has to stop.
    pub(super) fn go_on(&self) -> Result<(), ModelError> {
        match self.deadline.stopped() {
            None => Ok(()),
            Some(_) if self.context.cancel.is_cancelled() => bail!("Cancelled by the user."),
            Some(_) => bail!("The notes could not be read in time."),
        }
    }
}

/// The file of a page below `root`, for a tool that the editor answers. Its links are not resolved.
///
/// # Errors
/// If the page has no such name, or its file is not below `root`.
pub fn page_file(root: &Path, page: &str) -> Result<PathBuf, ModelError> {
    let page = PageName::parse(page)?;
    let root = paths::real(root);
    let path = root.join(page.file());
    match paths::real(&path).starts_with(&root) {
        true => Ok(path),
        false => bail!("`{page}` leads out of the folder of notes."),
    }
}

/// The file that a page has by its name, without a look at the disk; `None` if no page can have this name.
pub(in super::super) fn named_file(context: &Context, page: &str) -> Option<PathBuf> {
    PageName::parse(page).ok().map(|page| context.notes_root.join(page.file()))
}
