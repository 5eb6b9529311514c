//! The project of a conversation: where `$default` allows writing files.
//!
//! It is the nearest folder that contains a repository (`.git`, also as a file, or `.jj`), starting from the conversation's
//! own folder and going up. Without one, it is the conversation's own folder. It is never the home folder or a folder above
//! it: a conversation directly in one of these has no project, and every write asks.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    file_class::{FileClass, Owner, git_directory, has, is_repository},
    linked::Linked,
    paths::{plain, real},
    sensitive::is_sensitive,
};

/// The entries that mark the root of a repository.
const MARKS: [&str; 2] = [".git", ".jj"];

/// The root folder of the project that is found from `folder`, with links resolved; `None` if there is none. This reads the disk.
pub fn root(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    Some(root_and_mark(folder, home)?.0)
}

/// The same, and whether it is a repository.
fn root_and_mark(folder: &Path, home: Option<&Path>) -> Option<(PathBuf, bool)> {
    let (base, real_home) = (real(folder), home.map(real));
    let is_around_home = |folder: &Path| {
        folder.parent().is_none()
            || [real_home.as_deref(), home].into_iter().flatten().any(|home| home.starts_with(folder))
    };
    if !base.is_absolute() || is_around_home(&base) {
        return None;
    }
    let marked = base.ancestors().take_while(|folder| !is_around_home(folder)).find(|folder| is_marked(folder));
    Some(marked.map_or_else(|| (base.clone(), false), |folder| (folder.to_owned(), true)))
}

/// Whether a folder is the root of a repository. A mark of another user does not count, nor does one that leads nowhere: in a folder
/// that several users write to, anybody can make one.
fn is_marked(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    MARKS.iter().any(|mark| {
        let mark = folder.join(mark);
        let is_own = mark.symlink_metadata().is_ok_and(|found| found.uid() == own);
        let leads_to = fs::metadata(&mark);
        let is_folder = leads_to.as_ref().is_ok_and(|found| found.is_dir() && found.uid() == own);
        is_own && (is_folder || git_directory(folder).is_some_and(|inside| inside.is_dir()))
    })
}

/// Whether a file is an ordinary file of the project: it is below the root folder after resolving links; it does not cause
/// something else to run later or hold secrets, judging by its name and its folder; and it has no other hard link, under
/// which it could be anything. `folder` is where the project is found from. This reads the disk.
pub(super) fn is_ordinary(path: &Path, folder: &Path, home: Option<&Path>) -> bool {
    let Some((root, is_repository)) = root_and_mark(folder, home) else { return false };
    let found = real(path);
    // Without a repository, nothing says that a hidden folder is a project.
    let hidden_from = if is_repository { &root } else { root.parent().unwrap_or(&root) };
    let is_kept = |path: &Path| is_sensitive(path, hidden_from) || is_managed(path, &root);
    let owner = Owner { home: home.map(Path::to_owned), ..Owner::default() };
    found.starts_with(&root)
        && !is_kept(&found)
        && !is_kept(&plain(path))
        && Linked::at(&found).is_none()
        && owner.class_of(path) == FileClass::Ordinary
}

/// Whether a file is in a folder that a program manages, whatever the folder is called: the inside of a repository, or a
/// virtual environment. The folders are recognised by their contents. `root` is the project's root folder.
fn is_managed(path: &Path, root: &Path) -> bool {
    path.ancestors().skip(1).any(|folder| {
        is_repository(folder)
            || (folder.starts_with(root)
                && (is_environment(folder) || git_directory(folder).is_some_and(|inside| path.starts_with(inside))))
    })
}

/// Whether a folder is a virtual environment, whose programs have the names of other programs.
fn is_environment(folder: &Path) -> bool {
    has(folder, "pyvenv.cfg") || (has(folder, "bin/activate") && has(folder, "bin/python"))
}
