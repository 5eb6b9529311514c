//! Reads the files that a request shows, on a thread that may wait for a disk.
//!
//! A conversation names the same files in every turn, so what was read stays in memory, up to [`MAX_KEPT`], for as
//! long as the file's time and size say that it is the same. What is in a file decides what becomes of it: a text
//! file that is called `.png`, or that a document calls an image, is never sent.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Cursor, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use super::ConversationId;
use crate::{
    provider::{
        Attachment, Content, Request,
        attachment::{Limits, Media, fit},
    },
    tools::{paths, truncate::format_size},
};

/// How much is kept of what was read, in bytes.
const MAX_KEPT: usize = 64 << 20;

/// Files that were read, and what the user was told about others.
#[derive(Debug, Default)]
pub struct Attachments(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kept: HashMap<PathBuf, Kept>,
    bytes: usize,
    /// Counts the uses, to know which is the oldest.
    clock: u64,
    /// What was said: a file that stays away is mentioned once, not in every turn.
    told: HashSet<(ConversationId, String)>,
}

/// A file that was read.
#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    data: Arc<[u8]>,
    media: Media,
    used: u64,
}

/// By what a file is known to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
}

impl Attachments {
    /// Reads what `request` shows, as far as `limits` let it through; the rest is marked with the reason. Relative
    /// paths start at `folder`. It blocks on the disk.
    ///
    /// Gives, for the user, what was left out and was not yet mentioned to this conversation.
    pub fn read(
        &self,
        conversation: ConversationId,
        request: &mut Request,
        folder: &Path,
        limits: &Limits,
    ) -> Vec<String> {
        let mut read = Vec::new();
        let mut attachments: Vec<&mut Attachment> = request.attachments_mut().collect();
        for attachment in &mut attachments {
            match self.file(&paths::resolve(folder, &attachment.path), limits.largest()) {
                Ok((data, media)) => {
                    media.kind.media_type().clone_into(&mut attachment.media_type);
                    attachment.content = Content::Read(data);
                    read.push(Some(media));
                }
                Err(why) => {
                    attachment.content = Content::LeftOut(why);
                    read.push(None);
                }
            }
        }
        let pairs =
            attachments.iter_mut().zip(read).filter_map(|(attachment, media)| Some((&mut **attachment, media?)));
        fit(&mut pairs.collect::<Vec<_>>(), limits);
        let left_out = attachments.iter().filter_map(|attachment| match &attachment.content {
            Content::LeftOut(why) => Some(format!("{} is not shown to the model: {why}", attachment.path.display())),
            Content::Read(_) | Content::Unread => None,
        });
        self.news(conversation, left_out.collect())
    }

    /// Of what is to be said, what was not said in the turn before.
    fn news(&self, conversation: ConversationId, problems: Vec<String>) -> Vec<String> {
        let mut state = self.lock();
        // What is no longer so may be said again.
        state.told.retain(|(other, problem)| *other != conversation || problems.contains(problem));
        problems.into_iter().filter(|problem| state.told.insert((conversation, problem.clone()))).collect()
    }

    /// What is in a file. `Err` is why it cannot be shown.
    fn file(&self, path: &Path, largest: usize) -> Result<(Arc<[u8]>, Media), String> {
        let file = open(path).map_err(|error| reason(&error))?;
        let metadata = file.metadata().map_err(|error| reason(&error))?;
        if !metadata.is_file() {
            return Err("it is no regular file".to_owned());
        }
        let stamp = Stamp { modified: metadata.modified().ok(), size: metadata.len() };
        if let Some(kept) = self.lock().find(path, stamp) {
            return Ok(kept);
        }
        if stamp.size > largest as u64 {
            let (size, largest) = (format_size(stamp.size), format_size(largest as u64));
            return Err(format!("the file has {size}, and {largest} is the most that can be sent"));
        }
        let mut data = Vec::new();
        // One byte more than there should be, to notice a file that grows; it is never read without end.
        file.take(stamp.size + 1).read_to_end(&mut data).map_err(|error| reason(&error))?;
        if data.len() as u64 != stamp.size {
            return Err("it was changed while it was read".to_owned());
        }
        let media = Media::look_at(&mut Cursor::new(data.as_slice())).map_err(|error| reason(&error))?;
        let Some(media) = media else {
            return Err("what is in it is no PNG, JPEG, GIF or WebP image and no PDF, so nothing of it was sent".into());
        };
        if media.is_damaged() {
            return Err(format!(
                "it begins like a {}, but its size cannot be read from it: it is damaged",
                media.kind.name()
            ));
        }
        let data: Arc<[u8]> = data.into();
        self.lock().keep(path, stamp, &data, media);
        Ok((data, media))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change leaves whole entries behind, also when a panic follows.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is kept of a file, if it is still the same.
    fn find(&mut self, path: &Path, stamp: Stamp) -> Option<(Arc<[u8]>, Media)> {
        self.clock += 1;
        let kept = self.kept.get_mut(path).filter(|kept| kept.stamp == stamp)?;
        kept.used = self.clock;
        Some((Arc::clone(&kept.data), kept.media))
    }

    /// Keeps a file; those that were not used for the longest time go when there is no room.
    fn keep(&mut self, path: &Path, stamp: Stamp, data: &Arc<[u8]>, media: Media) {
        self.forget(path);
        while self.bytes + data.len() > MAX_KEPT
            && let Some(oldest) = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(path, _)| path.clone())
        {
            self.forget(&oldest);
        }
        self.clock += 1;
        self.bytes += data.len();
        self.kept.insert(path.to_owned(), Kept { stamp, data: Arc::clone(data), media, used: self.clock });
    }

    fn forget(&mut self, path: &Path) {
        if let Some(old) = self.kept.remove(path) {
            self.bytes -= old.data.len();
        }
    }
}

/// Opens a file without ever waiting for a pipe to be written to.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is not there any more".to_owned(),
        io::ErrorKind::PermissionDenied => "it must not be read (permission denied)".to_owned(),
        _ => format!("it cannot be read ({error})"),
    }
}

#[cfg(test)]
#[path = "attachments_tests.rs"]
mod tests;
