//! The thread that writes the journal.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io, iter,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use super::lost::{Failure, Lost};
use crate::{
    line_file::{self, Fault, Fence, Flush},
    state_file::state_file,
};
use flemma_journal::{CallKey, Record};

/// What the names of journals end with.
pub(super) const EXTENSION: &str = "jsonl";

/// How many jobs share a flush at most.
const MAX_BATCH: usize = 1024;

/// How long a write for which nobody waits may stay without a flush. An append that somebody waits for comes first, and
/// flushes it too.
const FLUSH_AFTER: Duration = Duration::from_millis(50);

/// What the thread is asked to do.
pub(super) enum Job {
    Append(Append),
    /// Flush everything, and say when that is done.
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
pub(super) struct Then {
    /// Whether somebody waits for the flush.
    pub(super) is_awaited: bool,
    pub(super) answer: Box<dyn FnOnce(io::Result<()>) + Send>,
}

impl Then {
    /// Answers. A panic in an answer ends there, since the other answers still have to be given.
    pub(super) fn answer(self, outcome: io::Result<()>) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.answer)(outcome)));
    }
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
struct Lines {
    bytes: Vec<u8>,
    flush: Flush,
    fences: Vec<Fence>,
}

/// What was written to a file and not flushed yet.
struct Unflushed {
    since: Instant,
    appends: Vec<Pending>,
}

/// The state of the thread.
pub(super) struct Writer {
    folder: PathBuf,
    /// The number of the latest append that was sent.
    sent: Arc<AtomicU64>,
    /// The number of the latest append that was performed.
    performed: u64,
    unflushed: BTreeMap<PathBuf, Unflushed>,
    lost: Lost,
}

impl Writer {
    pub(super) fn new(folder: PathBuf, sent: Arc<AtomicU64>) -> Self {
        Self { folder, sent, performed: 0, unflushed: BTreeMap::new(), lost: Lost::default() }
    }

    /// Works until nobody can send any more.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let due = self.unflushed.values().map(|unflushed| unflushed.since + FLUSH_AFTER).min();
            let first = match due {
                Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match first {
                Ok(first) => self.perform(iter::once(first).chain(jobs.try_iter()).take(MAX_BATCH)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.flush(|_| true);
                    return;
                }
            }
            self.flush(|unflushed| unflushed.since.elapsed() >= FLUSH_AFTER);
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
        if !settles.is_empty() {
            self.flush(|_| true);
        }
        self.answer(pending);
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
                let empty = || Lines { bytes: Vec::new(), flush: Flush::Later, fences: Vec::new() };
                let lines = lines.entry(file.clone()).or_insert_with(empty);
                lines.fences.extend(fence);
                for record in &records {
                    lines.bytes.extend_from_slice(record.to_line().as_bytes());
                    lines.bytes.push(b'\n');
                }
                if then.is_awaited {
                    lines.flush = Flush::Now;
                }
            }
        }
        Pending { number, file, keys, then, failure }
    }

    /// Writes the lines for a file, and notes with the appends that they come from what became of them.
    fn write(&mut self, file: &Path, lines: &Lines, pending: &mut Vec<Pending>) {
        let is_ours = |append: &Pending| append.failure.is_none() && append.file == file;
        let failure = match line_file::append(file, &lines.bytes, lines.flush, &lines.fences) {
            Ok(()) if lines.flush == Flush::Now => {
                self.unflushed.remove(file);
                return;
            }
            Ok(()) => {
                let empty = || Unflushed { since: Instant::now(), appends: Vec::new() };
                let unflushed = self.unflushed.entry(file.to_owned()).or_insert_with(empty);
                unflushed.appends.extend(pending.extract_if(.., |append| is_ours(append)));
                return;
            }
            Err(Fault::NotWritten(error)) => Failure::of(file, &error),
            Err(Fault::NotFlushed(error)) => {
                let failure = Failure::of(file, &error);
                self.fail_unflushed(file, &failure);
                failure
            }
        };
        for append in pending.iter_mut().filter(|append| is_ours(append)) {
            self.lost.insert(append.number, file, &append.keys, &failure);
            append.failure = Some(failure.clone());
        }
    }

    /// Flushes the files that are due.
    fn flush(&mut self, is_due: impl Fn(&Unflushed) -> bool) {
        let due = self.unflushed.iter().filter(|(_, unflushed)| is_due(unflushed));
        for file in due.map(|(file, _)| file.clone()).collect::<Vec<_>>() {
            match line_file::flush(&file) {
                Ok(()) => drop(self.unflushed.remove(&file)),
                Err(error) => self.fail_unflushed(&file, &Failure::of(&file, &error)),
            }
        }
    }

    /// Nobody knows what the disk has of what was written to a file and not flushed.
    fn fail_unflushed(&mut self, file: &Path, failure: &Failure) {
        let Some(mut unflushed) = self.unflushed.remove(file) else { return };
        for append in &mut unflushed.appends {
            self.lost.insert(append.number, file, &append.keys, failure);
            append.failure = Some(failure.clone());
        }
        self.answer(unflushed.appends);
    }

    /// Answers in order.
    fn answer(&mut self, pending: Vec<Pending>) {
        for Pending { file, keys, then, failure, .. } in pending {
            let outcome = match failure {
                None => Ok(()),
                Some(failure) => {
                    self.lost.answered(&file, &keys, self.sent.load(Ordering::SeqCst));
                    Err(failure.error())
                }
            };
            then.answer(outcome);
        }
    }
}
