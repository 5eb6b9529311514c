//! The project of a conversation: where `$default` lets files be written.
//!
//! It is the nearest folder, from the conversation's own upward, in which a repository lies (`.git`, also as a file, or
//! `.jj`); without one it is the conversation's own folder. It is never the home folder, nor one around it: a
//! conversation right there has no project, and every write asks.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    paths::{plain, real},
    rules::PathBase,
    sensitive::is_sensitive,
};

/// What a repository has in its topmost folder.
const MARKS: [&str; 2] = [".git", ".jj"];

/// The most bytes of a `.git` file.
const MAX_POINTER: u64 = 8192;

/// The project's topmost folder, without links; `None` where there is none. It looks at the disk.
pub fn root(path_base: &PathBase) -> Option<PathBuf> {
    let base = real(&path_base.folder);
    let home = path_base.home.as_deref().map(real);
    let is_around_home = |folder: &Path| {
        folder.parent().is_none()
            || [home.as_deref(), path_base.home.as_deref()].into_iter().flatten().any(|home| home.starts_with(folder))
    };
    if !base.is_absolute() || is_around_home(&base) {
        return None;
    }
    let has_mark = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).symlink_metadata().is_ok());
    let folders = base.ancestors().take_while(|folder| !is_around_home(folder));
    Some({ folders }.find(has_mark).unwrap_or(&base).to_owned())
}

/// Whether a file is an ordinary one of the project: it lies below its topmost folder, where links have led; it is not
/// one of those that make something else run later or hold secrets, by its name or by the folder it is in; and it has no other name, under which it could be
/// anything. It looks at the disk.
pub(super) fn is_ordinary(path: &Path, path_base: &PathBase) -> bool {
    let Some(root) = root(path_base) else { return false };
    let found = real(path);
    let is_named = |path: &Path| {
        let homes = [path_base.home.clone(), path_base.home.as_deref().map(real)];
        homes.iter().any(|home| is_sensitive(path, home.as_deref()))
    };
    let is_kept = |path: &Path| is_named(path) || is_managed(path, &root);
    found.starts_with(&root) && !is_kept(&found) && !is_kept(&plain(path)) && !has_other_names(&found)
}

/// Whether a file lies in a folder that a program manages, whatever the folder is called: a repository from the inside, or
/// a virtual environment. The folders are known by what is in them. `root` is the project's topmost folder.
fn is_managed(path: &Path, root: &Path) -> bool {
    path.ancestors().skip(1).any(|folder| {
        is_repository(folder)
            || (folder.starts_with(root)
                && (is_environment(folder) || git_directory(folder).is_some_and(|inside| path.starts_with(inside))))
    })
}

fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}

/// Whether a folder is a git directory, bare or not; also that of a worktree.
fn is_repository(folder: &Path) -> bool {
    has(folder, "HEAD") && ["objects", "refs", "reftable", "commondir"].into_iter().any(|name| has(folder, name))
}

/// Whether a folder is a virtual environment, whose programs run under the names of others.
fn is_environment(folder: &Path) -> bool {
    has(folder, "pyvenv.cfg") || (has(folder, "bin/activate") && has(folder, "bin/python"))
}

/// The git directory that the file `.git` in a folder points to, with links followed.
fn git_directory(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    // Anything but a short plain file is none of git's, and might never end.
    if !fs::metadata(&file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_POINTER) {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let to = text.strip_prefix("gitdir:")?.trim();
    (!to.is_empty()).then(|| real(&folder.join(to)))
}

/// Whether a file that is there has hard links. Writing changes it under all of its names, and some may be elsewhere.
fn has_other_names(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir() && metadata.nlink() > 1)
}
