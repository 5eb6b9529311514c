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
    rules::Ground,
    sensitive::is_sensitive,
};

/// What a repository has in its topmost folder.
const MARKS: [&str; 2] = [".git", ".jj"];

/// The project's topmost folder, without links; `None` where there is none. It looks at the disk.
pub fn root(ground: &Ground) -> Option<PathBuf> {
    let base = real(&ground.base);
    let home = ground.home.as_deref().map(real);
    let is_around_home = |folder: &Path| {
        folder.parent().is_none()
            || [home.as_deref(), ground.home.as_deref()].into_iter().flatten().any(|home| home.starts_with(folder))
    };
    if !base.is_absolute() || is_around_home(&base) {
        return None;
    }
    let has_mark = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).symlink_metadata().is_ok());
    let folders = base.ancestors().take_while(|folder| !is_around_home(folder));
    Some({ folders }.find(has_mark).unwrap_or(&base).to_owned())
}

/// Whether a file is an ordinary one of the project: it lies below its topmost folder, where links have led; it is not
/// one of those that make something else run later or hold secrets; and it has no other name, under which it could be
/// anything. It looks at the disk.
pub(super) fn is_ordinary(path: &Path, ground: &Ground) -> bool {
    let Some(root) = root(ground) else { return false };
    let found = real(path);
    let is_named = |path: &Path| {
        let homes = [ground.home.clone(), ground.home.as_deref().map(real)];
        homes.iter().any(|home| is_sensitive(path, home.as_deref()))
    };
    found.starts_with(&root) && !is_named(&found) && !is_named(&plain(path)) && !has_other_names(&found)
}

/// Whether a file that is there has hard links. Writing changes it under all of its names, and some may be elsewhere.
fn has_other_names(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir() && metadata.nlink() > 1)
}
