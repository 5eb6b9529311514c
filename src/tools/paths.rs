//! Where a path really leads.

use std::path::{Component, Path, PathBuf};

/// How many links to nothing are followed, one to the next: as many as Linux follows.
const MAX_LINKS: usize = 40;

/// The absolute path of what a model or a rule calls `path`: relative paths start at `base`; `~` and `~/…` are the user's
/// home; absolute paths stay.
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home,
        (Ok(rest), Some(home)) => home.join(rest),
        // An absolute path replaces the base.
        _ => base.join(path),
    }
}

/// The path that a file would have: links are followed as far as there is something, the rest is taken by its words.
///
/// `path` is absolute. Nothing need exist, and two paths that lead to one file give the same. A link to what does not
/// exist is followed too, since writing to it makes the file that it names.
pub fn real(path: &Path) -> PathBuf {
    follow(path, MAX_LINKS)
}

fn follow(path: &Path, links: usize) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            component => {
                real.push(component);
                if let Ok(found) = real.canonicalize() {
                    real = found;
                } else if links > 0
                    && let Ok(target) = real.read_link()
                {
                    real.pop();
                    real = follow(&real.join(target), links - 1);
                }
            }
        }
    }
    real
}

/// The path by its words alone: `.` and `..` are taken out, links are not followed.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            component => plain.push(component),
        }
    }
    plain
}
