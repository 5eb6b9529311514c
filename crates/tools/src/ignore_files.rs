//! Ignore files: which entries of folders searches, lists and completion leave out.
//!
//! These are `.ignore`, `.gitignore` and `.git/info/exclude` of every folder up to the root, in this order, and the user's own
//! file for git. They may be a stranger's, so they are read here and not by the walker: a glob that its parser cannot take is
//! left out.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::lock;
use flemma_text::bounds;

/// The most bytes of a file that are read.
const MAX_BYTES: u64 = 1 << 20;

/// Where the files of git count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitRules {
    /// Everywhere.
    Everywhere,
    /// In repositories.
    InRepositories,
}

/// Ignore files, as far as they were needed.
#[derive(Debug)]
pub struct IgnoreFiles {
    git: GitRules,
    /// The user's own file for git.
    own: Gitignore,
    known: Mutex<HashMap<PathBuf, Arc<Folder>>>,
}

/// The files that count for the entries of a folder: of each kind first its own, then those of the folders around it.
#[derive(Clone, Debug, Default)]
struct Folder {
    files: [Vec<Arc<Gitignore>>; 3],
    is_in_repository: bool,
}

impl IgnoreFiles {
    /// The ignore files for what is in `base`, an absolute path without links.
    pub fn new(base: &Path, git: GitRules) -> Self {
        Self { git, own: GitignoreBuilder::new(base).build_global().0, known: Mutex::default() }
    }

    /// Whether an entry is ignored. `Some(false)` if a rule says that it is not; `None` if no rule names it. It reads the
    /// files that are not known yet.
    pub fn ignores(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let folder = self.folder(path.parent()?);
        let kinds = if self.git == GitRules::Everywhere || folder.is_in_repository { 3 } else { 1 };
        let files = folder.files[..kinds].iter().flatten().map(AsRef::as_ref);
        let own = Some(&self.own).filter(|_| kinds > 1);
        files.chain(own).find_map(|file| match file.matched(path, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        })
    }

    fn folder(&self, path: &Path) -> Arc<Folder> {
        if let Some(folder) = lock(&self.known).get(path) {
            return Arc::clone(folder);
        }
        let outer = path.parent().map(|outer| self.folder(outer)).unwrap_or_default();
        let folder = Arc::new(outer.inner(path));
        lock(&self.known).insert(path.to_owned(), Arc::clone(&folder));
        folder
    }
}

impl Folder {
    /// The same for a folder in this one.
    fn inner(&self, path: &Path) -> Self {
        let mut inner = self.clone();
        let git = path.join(".git");
        let is_repository = git.symlink_metadata().is_ok();
        if is_repository {
            // What is around a repository says nothing about it.
            inner.files[1..].iter_mut().for_each(Vec::clear);
            inner.is_in_repository = true;
        }
        let exclude = is_repository.then(|| common_folder(git).join("info/exclude"));
        let names = [Some(path.join(".ignore")), Some(path.join(".gitignore")), exclude];
        for (files, name) in inner.files.iter_mut().zip(names) {
            let file = name.and_then(|name| read(path, &name));
            files.splice(0..0, file.map(Arc::new));
        }
        inner
    }
}

/// The folder of a repository that all of its work trees share.
fn common_folder(git: PathBuf) -> PathBuf {
    let named = |file: &Path, before: &str| {
        let text = content(file)?;
        text.lines().next()?.strip_prefix(before).map(|name| file.parent().unwrap_or(file).join(name))
    };
    let Some(own) = named(&git, "gitdir: ") else { return git };
    named(&own.join("commondir"), "").unwrap_or(own)
}

/// The rules of a file for what is in `folder`; `None` if there are none.
fn read(folder: &Path, file: &Path) -> Option<Gitignore> {
    let text = content(file)?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines().filter(|line| bounds::glob(line).is_ok()) {
        // A line that is no glob ignores nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// The text of a plain file.
fn content(file: &Path) -> Option<String> {
    // Opening a pipe would wait for its writer.
    fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
