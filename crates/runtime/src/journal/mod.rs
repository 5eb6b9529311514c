//! The journal on the disk: a file per conversation, to which records of its calls are appended.
//!
//! A [`Journal`] hands records to a thread of its own. The thread takes everything that waits, writes it file by file,
//! flushes each file once, and answers in the order of the appends. So the cost of a flush is shared by all that wait for
//! it, and nobody but the thread waits for the disk.
//!
//! A conversation belongs to one process at a time, but several may append to its journal: each write and each rewrite
//! holds a kernel lock on the file. With a [`crate::Fence`], an append looks once more, while it has that lock, whether the
//! conversation still belongs to this process.

mod lost;
mod writer;

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use self::{
    lost::named,
    writer::{Append, EXTENSION, Job, Then, Writer, answer},
};
use crate::{
    disk::{lock, remove, state_file, sync_folder},
    line_file::{self, Fence, Lock, Locked, create, open, open_existing, read_all, read_lines},
};
use flemma_journal::{CallKey, LineError, Record, kept};

/// The size in bytes above which a file is worth compacting.
pub const COMPACT_ABOVE: u64 = 1 << 20;

/// The journal below a folder. A copy is the same journal.
///
/// Its thread starts with the first append and ends with the last copy, after it has written what waits.
#[derive(Clone)]
pub struct Journal(Arc<Shared>, Option<Fence>);

struct Shared {
    folder: PathBuf,
    /// The way to the thread, if it has been started.
    thread: Mutex<Option<Sender<Job>>>,
    /// The number of the latest append.
    sent: Arc<AtomicU64>,
}

impl Journal {
    /// Journals below `folder`, which does not have to be there. Only this user can read it.
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Shared { folder, thread: Mutex::default(), sent: Arc::default() }), None)
    }

    /// The same journal, to which nothing is appended any more when the fence refuses it.
    pub fn fenced(&self, fence: Option<Fence>) -> Self {
        Self(Arc::clone(&self.0), fence)
    }

    /// Appends records in one write and flushes them to the disk. `then` hears of it on the journal's thread, in the order
    /// of the appends. On an error, the records are not in the journal.
    ///
    /// After an error, the records of the same calls that were appended before `then` heard of it are refused as well.
    pub fn append(
        &self,
        conversation: &Path,
        records: Vec<Record>,
        then: impl FnOnce(io::Result<()>) + Send + 'static,
    ) {
        let then: Then = Box::new(then);
        let mut thread = lock(&self.0.thread);
        let sender = match thread.take().map_or_else(|| self.start(), Ok) {
            Ok(sender) => thread.insert(sender),
            Err(error) => {
                drop(thread);
                return answer(then, Err(error));
            }
        };
        // Numbers are in the order of the jobs, since this holds the lock.
        let number = self.0.sent.fetch_add(1, Ordering::SeqCst) + 1;
        let append = Append { number, conversation: conversation.to_owned(), records, fence: self.1.clone(), then };
        if let Err(mpsc::SendError(Job::Append(append))) = sender.send(Job::Append(append)) {
            // The next append starts another thread.
            *thread = None;
            drop(thread);
            answer(append.then, Err(io::Error::other("the thread that writes the journal has ended")));
        }
    }

    /// Reads the records of a conversation, all or none. It blocks on the disk. If there is no file, there are no records;
    /// lines that were cut off while they were written are passed over. What another line says may be that a call has run: if it
    /// cannot be read, the file counts as one that cannot be read.
    ///
    /// # Errors
    /// When the file or one of its lines cannot be read, or another process keeps it locked.
    pub fn read(&self, conversation: &Path) -> io::Result<Vec<Record>> {
        let file = self.file(conversation);
        read_lines(&file, Some(Lock::Shared), Record::from_line).map_err(|error| named(&file, &error))
    }

    /// Reads the records of a conversation without a lock, for who only looks: nothing is made, and nobody waits for it. It
    /// blocks on the disk. A record that is being written may be among them or not.
    ///
    /// # Errors
    /// When the file or one of its lines cannot be read.
    pub fn look(&self, conversation: &Path) -> io::Result<Vec<Record>> {
        let file = self.file(conversation);
        read_lines(&file, None, Record::from_line).map_err(|error| named(&file, &error))
    }

    /// The conversations that have records, as far as their files can be read. It blocks on the disk. Those of buffers without
    /// a file have no absolute path.
    pub fn conversations(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| first(&entry.path())).map(|record| record.conversation.into()).collect()
    }

    /// Rewrites the file of a conversation in one step if it is larger than [`COMPACT_ABOVE`]: without the lives that ended
    /// and whose keys `keep` does not want. Says whether it was rewritten. It blocks on the disk.
    ///
    /// # Errors
    /// When the file cannot be read or written, or another process keeps it locked. The file is as it was then.
    pub fn compact(&self, conversation: &Path, keep: impl Fn(&CallKey) -> bool) -> io::Result<bool> {
        let file = self.file(conversation);
        compact(&file, COMPACT_ABOVE, keep).map_err(|error| named(&file, &error))
    }

    /// Waits until everything that was appended before is flushed and answered, at most `limit`. `false` if that took
    /// longer. Not for the journal's own thread.
    pub fn settle(&self, limit: Duration) -> bool {
        let (done, settled) = mpsc::sync_channel(1);
        let Some(thread) = lock(&self.0.thread).clone() else { return true };
        // If the thread has ended, nothing waits any more.
        thread.send(Job::Settle(done)).is_err() || settled.recv_timeout(limit).is_ok()
    }

    /// The file for a conversation. It blocks on the disk, to follow links.
    pub fn file(&self, conversation: &Path) -> PathBuf {
        state_file(&self.0.folder, conversation, EXTENSION)
    }

    fn start(&self) -> io::Result<Sender<Job>> {
        let (sender, jobs) = mpsc::channel();
        let writer = Writer::new(self.0.folder.clone(), self.0.sent.clone());
        thread::Builder::new().name("flemma-journal".into()).spawn(move || writer.run(&jobs))?;
        Ok(sender)
    }
}

/// The first record of a file, for who only looks; `None` if it cannot be read.
fn first(path: &Path) -> Option<Record> {
    let mut line = Vec::new();
    let mut file = BufReader::new(open(path, false).ok()?);
    file.read_until(b'\n', &mut line).ok()?;
    Record::from_line(line.trim_ascii_end()).ok()
}

/// Rewrites a file of more than `above` bytes in one step, without the lives that ended and that `keep` does not want.
/// Says whether it was rewritten.
fn compact(path: &Path, above: u64, keep: impl Fn(&CallKey) -> bool) -> io::Result<bool> {
    let Some(mut locked) = open_existing(path, Lock::Exclusive)? else { return Ok(false) };
    if !locked.is_locked || locked.file.metadata()?.len() <= above {
        return Ok(false);
    }
    let bytes = read_all(&mut locked.file)?;
    let Some(shorter) = shorter(&bytes, keep) else { return Ok(false) };
    // Only who holds the lock touches this file, so one that is there was left behind by a kill.
    let new = path.with_extension("new");
    remove(&new)?;
    let replaced = create(&new).and_then(|mut file| {
        file.write_all(&shorter)?;
        file.sync_all()?;
        // Nobody may append to it before its name is safe, or what they append could be lost with it.
        let is_locked = line_file::lock(&file, Lock::Exclusive)?;
        fs::rename(&new, path)?;
        sync_folder(path)?;
        drop(Locked { file, is_locked });
        Ok(())
    });
    if replaced.is_err() {
        let _ = remove(&new);
    }
    replaced.map(|()| true)
}

/// What a rewritten file has; `None` if everything in it is still needed.
fn shorter(bytes: &[u8], keep: impl Fn(&CallKey) -> bool) -> Option<Vec<u8>> {
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').map(|line| (line, Record::from_line(line))).collect();
    let records: Vec<&Record> = lines.iter().filter_map(|(_, record)| record.as_ref().ok()).collect();
    let mut is_kept = kept(&records, keep).into_iter();
    let mut shorter = Vec::new();
    for (line, record) in &lines {
        let is_needed = match record {
            Ok(_) => is_kept.next().unwrap_or(true),
            // What else cannot be read matters to who reads it.
            Err(error) => *error != LineError::Torn,
        };
        if is_needed {
            shorter.extend_from_slice(line);
            shorter.push(b'\n');
        }
    }
    (shorter.len() < bytes.len()).then_some(shorter)
}
