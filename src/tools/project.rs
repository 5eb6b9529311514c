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
    disk::{Answer, Lookup},
    paths::{plain, real},
    rules::PathBase,
    sensitive::is_sensitive,
};

/// The entries that mark the root of a repository.
const MARKS: [&str; 2] = [".git", ".jj"];

/// The maximum size of a `.git` file, in bytes.
const MAX_POINTER: u64 = 8192;

/// The project's root folder with links resolved; `None` if there is none. This reads the disk.
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

/// Whether a file is an ordinary file of the project: it is below the root folder after resolving links; it does not cause
/// something else to run later or hold secrets, judging by its name and its folder; and it has no other hard link, under
/// which it could be anything. It is not where the disk does not say.
pub(super) fn is_ordinary(path: &Path, path_base: &PathBase) -> bool {
    let PathBase { folder, home, disk, .. } = path_base;
    let lookup = Lookup::IsOrdinary { path: path.to_owned(), folder: folder.clone(), home: home.clone() };
    disk.is_if_known(lookup, look).unwrap_or(false)
}

/// The answer of the disk.
fn look(lookup: &Lookup) -> Answer {
    let Lookup::IsOrdinary { path, folder, home } = lookup else { return Answer::Is(false) };
    let path_base = PathBase { folder: folder.clone(), home: home.clone(), ..PathBase::default() };
    Answer::Is(is_ordinary_now(path, &path_base))
}

fn is_ordinary_now(path: &Path, path_base: &PathBase) -> bool {
    let Some(root) = root(path_base) else { return false };
    let found = real(path);
    let is_named = |path: &Path| {
        let homes = [path_base.home.clone(), path_base.home.as_deref().map(real)];
        homes.iter().any(|home| is_sensitive(path, home.as_deref()))
    };
    let is_kept = |path: &Path| is_named(path) || is_managed(path, &root);
    found.starts_with(&root) && !is_kept(&found) && !is_kept(&plain(path)) && !has_other_names(&found)
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

fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}

/// Whether a folder is a git directory, bare or not, or that of a worktree.
fn is_repository(folder: &Path) -> bool {
    has(folder, "HEAD") && ["objects", "refs", "reftable", "commondir"].into_iter().any(|name| has(folder, name))
}

/// Whether a folder is a virtual environment, whose programs have the names of other programs.
fn is_environment(folder: &Path) -> bool {
    has(folder, "pyvenv.cfg") || (has(folder, "bin/activate") && has(folder, "bin/python"))
}

/// The git directory that the file `.git` in a folder points to, with links followed.
fn git_directory(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    // Git only writes a short regular file. Anything else might never end.
    if !fs::metadata(&file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_POINTER) {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let to = text.strip_prefix("gitdir:")?.trim();
    (!to.is_empty()).then(|| real(&folder.join(to)))
}

/// Whether an existing file has several hard links. Writing changes it under all of its names, and some may be elsewhere.
fn has_other_names(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir() && metadata.nlink() > 1)
}
