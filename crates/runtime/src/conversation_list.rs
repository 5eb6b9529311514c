//! The conversations in folders, with what can be told of each at a glance. This reads the disk.
//!
//! A folder may have thousands, so only the beginning and the end of each file are read, and only again when the file has
//! changed since.

use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::SystemTime,
};

use super::disk::{if_there, lock};
use flemma_chat::Glance;

/// How many conversations are looked at, the newest ones.
pub const MOST_LISTED: usize = 5000;

/// A conversation in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedConversation {
    /// Its file.
    pub path: PathBuf,
    /// When the file was written.
    pub modified: SystemTime,
    /// What it looks like.
    pub glance: Glance,
}

/// When a file was written, its size, and what it looked like then.
type Seen = (SystemTime, u64, Glance);

/// Lists conversations, and remembers what it has seen. A clone is the same list.
#[derive(Clone, Debug, Default)]
pub struct Conversations {
    seen: Arc<Mutex<HashMap<PathBuf, Seen>>>,
}

impl Conversations {
    /// The conversations directly in some folders, the newest first. A folder that is not there has none, and a file that
    /// cannot be read is left out.
    ///
    /// # Errors
    /// When a folder is there but cannot be read.
    pub fn list(&self, folders: &[PathBuf]) -> io::Result<Vec<ListedConversation>> {
        let mut found = Vec::new();
        for folder in folders {
            for entry in if_there(fs::read_dir(folder))?.into_iter().flatten().flatten() {
                let path = entry.path();
                let is_named = path.extension().is_some_and(|extension| extension == "chat");
                // Nothing but a file may be opened: a pipe would keep this thread.
                let Some(metadata) = is_named.then(|| fs::metadata(&path).ok()).flatten().filter(Metadata::is_file)
                else {
                    continue;
                };
                found.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path));
            }
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.truncate(MOST_LISTED);
        let listed = found.into_iter().filter_map(|(modified, size, path)| {
            let glance = self.glance(&path, modified, size).ok()?;
            Some(ListedConversation { path, modified, glance })
        });
        Ok(listed.collect())
    }

    fn glance(&self, path: &Path, modified: SystemTime, size: u64) -> io::Result<Glance> {
        if let Some((then, length, glance)) = lock(&self.seen).get(path)
            && (*then, *length) == (modified, size)
        {
            return Ok(glance.clone());
        }
        let glance = look(path, size)?;
        lock(&self.seen).insert(path.to_owned(), (modified, size, glance.clone()));
        Ok(glance)
    }
}

/// Reads the beginning and the end of a file.
fn look(path: &Path, size: u64) -> io::Result<Glance> {
    let most = Glance::BYTES as u64;
    let mut file = File::open(path)?;
    let mut beginning = Vec::new();
    (&mut file).take(most).read_to_end(&mut beginning)?;
    if size <= most {
        return Ok(Glance::of(&beginning, &beginning));
    }
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(size - most))?;
    file.take(most).read_to_end(&mut end)?;
    Ok(Glance::of(&beginning, &end))
}
