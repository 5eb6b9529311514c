//! Resolving paths.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use rustix::io::Errno;

/// The maximum number of links that are followed in a path that does not exist or may not be searched. All of them count
/// together: a link to a path that leads through the link twice would double the work at each step.
const MAX_LINKS: usize = 40;

/// The absolute path for a path from a model or a rule. Relative paths start at `base`. `~` and `~/…` are the user's home.
/// Absolute paths are not changed.
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home,
        (Ok(rest), Some(home)) => home.join(rest),
        // An absolute path replaces the base.
        _ => base.join(path),
    }
}

/// The path among these that leads to the same file as `file`, in which there are no links. It blocks on the disk.
pub fn find_same<'a>(paths: &'a [PathBuf], file: &Path) -> Option<&'a PathBuf> {
    paths.iter().find(|path| *path == file || real(path) == file)
}

/// The path that a file would have: links are resolved as far as the path exists, and the rest is taken literally.
///
/// `path` is absolute and does not have to exist. Two paths that lead to the same file give the same result. A dangling
/// link is followed too, since writing to it creates its target. A path with more links than the system follows is kept, as far as
/// they are too many: nothing can be opened by it.
pub fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let mut links = MAX_LINKS;
        follow(path, &mut links)
    })
}

fn follow(path: &Path, links: &mut usize) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            component => {
                real.push(component);
                match (real.canonicalize(), real.read_link()) {
                    (Ok(found), _) => real = found,
                    (Err(error), Ok(target)) if *links > 0 && !is_loop(&error) => {
                        *links -= 1;
                        real.pop();
                        real = follow(&real.join(target), links);
                    }
                    _ => {}
                }
            }
        }
    }
    real
}

/// Whether a path could not be opened because it leads through too many links, or through one that is not to be followed.
pub(crate) fn is_loop(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Whether a file is in a folder and not hidden in it. Links are resolved in both paths.
///
/// A hidden file (`.env`, `.git/config`) is not meant to be shared, and its name can be guessed.
pub fn is_shared(file: &Path, folder: &Path) -> bool {
    file.strip_prefix(folder).is_ok_and(|path| !path.iter().any(|name| name.as_encoded_bytes().starts_with(b".")))
}

/// The path in lexical form: `.` and `..` are resolved, links are not followed.
pub fn plain(path: &Path) -> PathBuf {
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
