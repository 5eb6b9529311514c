//! A file of lines, to which several processes append.
//!
//! Every line ends with a line break. A write that was cut off, by a kill or a loss of power, leaves a last line without
//! one; the next write closes it, so that it spoils no other line. A write that fails is taken back.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    disk::{if_there, make_folder, sync_folder},
    lock_file::Taken,
};
use flemma_journal::LineError;

/// How long a write waits for a lock. Others hold it for a write and a flush.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The longest pause between two attempts to take a lock.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Says at the last moment whether records may be appended. It may wait for the disk.
pub type Fence = Arc<dyn Fn() -> Result<(), Taken> + Send + Sync>;

/// When an append is flushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// At once.
    Now,
    /// When the system does it: nothing depends on it.
    Later,
}

/// Who else may lock a file at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Others that only read.
    Shared,
    /// Nobody.
    Exclusive,
}

/// An open file, locked where the file system has locks. The lock ends with it.
pub(crate) struct Locked {
    /// The file.
    pub file: File,
    /// Whether the file system has locks.
    pub is_locked: bool,
}

/// Appends lines, each of which ends with a line break, if all of `fences` let them through. Makes the file if it is not
/// there.
pub(crate) fn append(path: &Path, lines: &[u8], flush: Flush, fences: &[Fence]) -> io::Result<()> {
    let mut locked = open_or_create(path)?;
    for fence in fences {
        // Under the lock: see `runtime::holder`.
        fence().map_err(|taken| io::Error::new(io::ErrorKind::ResourceBusy, taken.to_string()))?;
    }
    let length = locked.file.metadata()?.len();
    let outcome = is_torn(&locked.file, length).and_then(|is_torn| {
        // In one write, so that what is written is cut off in one place at most.
        let closed = if is_torn { [b"\n", lines].concat() } else { Vec::new() };
        locked.file.write_all(if is_torn { &closed } else { lines })?;
        if flush == Flush::Now { locked.file.sync_data() } else { Ok(()) }
    });
    if outcome.is_err() && locked.is_locked {
        // Nobody else has written since. If this fails too, the next append closes what is left.
        let _ = locked.file.set_len(length);
    }
    outcome
}

/// What the lines of a file say; nothing if it is not there. Lines that were cut off are passed over. Without a lock it waits for
/// nobody, and a line that is being written counts as cut off.
pub(crate) fn read_lines<T>(
    path: &Path,
    kind: Option<Lock>,
    read: impl Fn(&[u8]) -> Result<T, LineError>,
) -> io::Result<Vec<T>> {
    let bytes = match kind {
        Some(kind) => open_existing(path, kind)?.map(|mut locked| read_all(&mut locked.file)),
        None => if_there(open(path, false))?.map(|mut file| read_all(&mut file)),
    };
    let mut found = Vec::new();
    for (index, line) in bytes.transpose()?.unwrap_or_default().split(|byte| *byte == b'\n').enumerate() {
        match read(line) {
            Ok(read) => found.push(read),
            Err(LineError::Torn) => {}
            Err(error) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("line {} {error}", index + 1)));
            }
        }
    }
    Ok(found)
}

pub(crate) fn read_all(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the last line has no line break.
fn is_torn(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

fn open_or_create(path: &Path) -> io::Result<Locked> {
    loop {
        if let Some(locked) = open_existing(path, Lock::Exclusive)? {
            if locked.file.metadata()?.len() == 0 {
                // It is new. Whoever made it may have been killed before its name was safe.
                sync_folder(path)?;
            }
            return Ok(locked);
        }
        make_folder(path)?;
        match create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
}

/// Opens a file, to append to it or only to read it. A pipe that is in the way is an error, and not waited for.
pub(crate) fn open(path: &Path, appends: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Without the flag, opening a pipe would wait for somebody at its other end.
    options.read(true).append(appends).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is a pipe, and not a regular file"));
    }
    Ok(file)
}

/// Opens and locks the file that has this name; `None` if there is none.
pub(crate) fn open_existing(path: &Path, kind: Lock) -> io::Result<Option<Locked>> {
    loop {
        let Some(file) = if_there(open(path, kind == Lock::Exclusive))? else { return Ok(None) };
        let is_locked = lock(&file, kind)?;
        let ours = file.metadata()?;
        // It may have been replaced while this process waited for the lock.
        let named = if_there(fs::metadata(path))?;
        if named.is_some_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())) {
            return Ok(Some(Locked { file, is_locked }));
        }
    }
}

pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)
}

/// Waits for the lock. `false` if the file system has no locks: then nothing is rewritten or taken back.
pub(crate) fn lock(file: &File, kind: Lock) -> io::Result<bool> {
    let deadline = Instant::now() + LOCK_WAIT;
    let mut pause = Duration::from_millis(1);
    loop {
        let tried = match kind {
            Lock::Shared => file.try_lock_shared(),
            Lock::Exclusive => file.try_lock(),
        };
        match tried {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let seconds = LOCK_WAIT.as_secs();
                let note =
                    format!("another process has kept it locked for {seconds} seconds; end or resume that process");
                return Err(io::Error::new(io::ErrorKind::TimedOut, note));
            }
            Err(TryLockError::Error(error)) if has_no_locks(&error) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn has_no_locks(error: &io::Error) -> bool {
    let no_locks = rustix::io::Errno::NOLCK.raw_os_error();
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(no_locks)
}
