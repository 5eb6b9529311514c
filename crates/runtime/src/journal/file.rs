//! One file of the journal: see [`crate::line_file`].

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
};

use crate::{
    disk::{if_there, remove, sync_folder},
    line_file::{Lock, Locked, create, lock, open, open_existing, read_all},
};
use flemma_journal::{CallKey, LineError, Record, kept};

/// Reads the records. A file that is not there has none, and lines that were cut off are passed over. What another line
/// says may be that a call has run: if it cannot be read, the file counts as one that cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Vec<Record>> {
    match open_existing(path, Lock::Shared)? {
        None => Ok(Vec::new()),
        Some(mut locked) => records(&read_all(&mut locked.file)?),
    }
}

/// The same without a lock, so that it waits for nobody: for who only looks. A line that is being written counts as cut
/// off.
pub(super) fn look(path: &Path) -> io::Result<Vec<Record>> {
    match if_there(open(path, false))? {
        None => Ok(Vec::new()),
        Some(mut file) => records(&read_all(&mut file)?),
    }
}

/// The first record of a file, for who only looks; `None` if it cannot be read.
pub(super) fn first(path: &Path) -> Option<Record> {
    let mut line = Vec::new();
    let mut file = BufReader::new(open(path, false).ok()?);
    file.read_until(b'\n', &mut line).ok()?;
    Record::from_line(line.trim_ascii_end()).ok()
}

fn records(bytes: &[u8]) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        match Record::from_line(line) {
            Ok(record) => records.push(record),
            Err(LineError::Torn) => {}
            Err(error) => {
                let message = format!("line {} {error}", index + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
    }
    Ok(records)
}

/// Rewrites a file of more than `above` bytes in one step, without the lives that ended and that `keep` does not want.
/// Says whether it was rewritten.
pub(super) fn compact(path: &Path, above: u64, keep: impl Fn(&CallKey) -> bool) -> io::Result<bool> {
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
        let is_locked = lock(&file, Lock::Exclusive)?;
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
    let (mut records, mut kinds) = (Vec::new(), Vec::new());
    for line in lines(bytes) {
        let record = Record::from_line(line);
        kinds.push((line, record.as_ref().map(|_| ()).map_err(|error| *error)));
        records.extend(record);
    }
    let mut is_kept = kept(&records, keep).into_iter();
    let mut shorter = Vec::new();
    for (line, kind) in kinds {
        let is_needed = match kind {
            Ok(()) => is_kept.next().unwrap_or(true),
            // They matter to who reads them.
            Err(LineError::Newer | LineError::Broken) => true,
            Err(LineError::Torn) => false,
        };
        if is_needed {
            shorter.extend_from_slice(line);
            shorter.push(b'\n');
        }
    }
    (shorter.len() < bytes.len()).then_some(shorter)
}

/// The lines, without their line breaks and without empty ones.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}
