//! Which process holds a conversation: a kernel lock on a file in the state folder, named after the conversation's.
//!
//! The lock ends with the process, even if it crashes, so that nothing is left to clean up. It is taken by the file's
//! real path, which the links to it have in common, and where the file has several names (hard links) by its inode as
//! well.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest, Sha256};

use crate::tools::paths::real;

/// The locks of a conversation. They are free once every copy is dropped.
#[derive(Clone, Debug)]
pub struct Held(Arc<Vec<File>>);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Whether this process holds a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Hold {
    /// It does.
    Ours(Held),
    /// Another process does; its number, if it says.
    Theirs(Option<u32>),
}

/// Tries to hold the conversation at `path`, which need not be there yet. `folder` is where the locks lie. It blocks on
/// the disk, but not on other processes.
///
/// # Errors
/// When the system has no locks there.
pub fn hold(folder: &Path, path: &Path) -> io::Result<Hold> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut files = Vec::new();
    for name in names(path) {
        // Not truncated: it may be another's.
        let place = folder.join(name);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(place)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                write!(file, "{}", std::process::id())?;
                files.push(file);
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder)?;
                return Ok(Hold::Theirs(holder.trim().parse().ok()));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(Hold::Ours(Held(Arc::new(files))))
}

/// The names of the locks of a conversation.
fn names(path: &Path) -> Vec<PathBuf> {
    let path = real(path);
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let mut names = vec![PathBuf::from(format!("path-{hex}"))];
    // The inode of a file with one name changes whenever it is written in one step.
    if let Some(metadata) = fs::metadata(&path).ok().filter(|metadata| metadata.nlink() > 1) {
        names.push(PathBuf::from(format!("inode-{}-{}", metadata.dev(), metadata.ino())));
    }
    names
}
