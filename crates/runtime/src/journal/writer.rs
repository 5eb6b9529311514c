//! The thread that writes the journal.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io, iter,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender},
    },
};

use super::lost::{Failure, Lost, named};
use crate::{
    disk::state_file,
    line_file::{self, Fence, Flush},
};
use flemma_journal::{CallKey, Record};

/// What the names of journals end with.
pub(super) const EXTENSION: &str = "jsonl";

/// How many jobs share a flush at most.
const MAX_BATCH: usize = 1024;

/// What the thread is asked to do.
pub(super) enum Job {
    Append(Append),
    /// Say when all that was asked before is done.
    Settle(SyncSender<()>),
}

/// Records for one conversation.
pub(super) struct Append {
    /// Appends are numbered as they are sent.
    pub(super) number: u64,
    pub(super) conversation: PathBuf,
    pub(super) records: Vec<Record>,
    pub(super) fence: Option<Fence>,
    pub(super) then: Then,
}

/// Who hears of an append.
pub(super) type Then = Box<dyn FnOnce(io::Result<()>) + Send>;

/// Answers. A panic in an answer ends there, since the other answers still have to be given.
pub(super) fn answer(then: Then, outcome: io::Result<()>) {
    let _ = catch_unwind(AssertUnwindSafe(|| then(outcome)));
}

/// An append that is being performed.
struct Pending {
    number: u64,
    file: PathBuf,
    keys: HashSet<CallKey>,
    then: Then,
    failure: Option<Failure>,
}

/// The lines for one file.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    fences: Vec<Fence>,
}

/// The state of the thread.
pub(super) struct Writer {
    folder: PathBuf,
    /// The number of the latest append that was sent.
    sent: Arc<AtomicU64>,
    /// The number of the latest append that was performed.
    performed: u64,
    lost: Lost,
}

impl Writer {
    pub(super) fn new(folder: PathBuf, sent: Arc<AtomicU64>) -> Self {
        Self { folder, sent, performed: 0, lost: Lost::default() }
    }

    /// Works until nobody can send any more.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            self.perform(iter::once(first).chain(jobs.try_iter()).take(MAX_BATCH));
            self.lost.forget(self.performed);
        }
    }

    /// Performs jobs that share a flush.
    fn perform(&mut self, jobs: impl Iterator<Item = Job>) {
        let (mut pending, mut settles) = (Vec::new(), Vec::new());
        let mut lines = BTreeMap::new();
        let mut files = HashMap::new();
        for job in jobs {
            match job {
                Job::Append(append) => {
                    self.performed = append.number;
                    pending.push(self.prepare(append, &mut files, &mut lines));
                }
                Job::Settle(done) => settles.push(done),
            }
        }
        for (file, lines) in lines {
            self.write(&file, &lines, &mut pending);
        }
        for Pending { file, keys, then, failure, .. } in pending {
            let outcome = match failure {
                None => Ok(()),
                Some(failure) => {
                    self.lost.answered(&file, &keys, self.sent.load(Ordering::SeqCst));
                    Err(io::Error::new(failure.kind(), failure.to_string()))
                }
            };
            answer(then, outcome);
        }
        for done in settles {
            // Who asked may have stopped waiting.
            let _ = done.try_send(());
        }
    }

    /// Adds the records of an append to the lines of its file, unless it has to be refused.
    fn prepare(
        &mut self,
        append: Append,
        files: &mut HashMap<PathBuf, PathBuf>,
        lines: &mut BTreeMap<PathBuf, Lines>,
    ) -> Pending {
        let Append { number, conversation, records, fence, then } = append;
        let file =
            files.entry(conversation).or_insert_with_key(|path| state_file(&self.folder, path, EXTENSION)).clone();
        let keys = records.iter().map(|record| record.key.clone()).collect();
        let failure = self.lost.before(number, &file, &keys);
        match &failure {
            Some(failure) => self.lost.insert(number, &file, &keys, failure),
            None => {
                let lines = lines.entry(file.clone()).or_default();
                lines.fences.extend(fence);
                for record in &records {
                    lines.bytes.extend_from_slice(record.to_line().as_bytes());
                    lines.bytes.push(b'\n');
                }
            }
        }
        Pending { number, file, keys, then, failure }
    }

    /// Writes the lines for a file. An error is noted with the appends that they come from.
    fn write(&mut self, file: &Path, lines: &Lines, pending: &mut [Pending]) {
        let Err(error) = line_file::append(file, &lines.bytes, Flush::Now, &lines.fences) else { return };
        let failure = Failure::new(named(file, &error));
        for append in pending.iter_mut().filter(|append| append.failure.is_none() && append.file == file) {
            self.lost.insert(append.number, file, &append.keys, &failure);
            append.failure = Some(failure.clone());
        }
    }
}
