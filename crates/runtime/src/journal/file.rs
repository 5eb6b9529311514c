//! One file of the journal: see [`crate::line_file`].

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
};

use crate::{
    disk::{remove, sync_folder},
    line_file::{Lock, Locked, create, lock, open, open_existing, read_all},
};
use flemma_journal::{CallKey, LineError, Record, kept};

/// The first record of a file, for who only looks; `None` if it cannot be read.
pub(super) fn first(path: &Path) -> Option<Record> {
    let mut line = Vec::new();
    let mut file = BufReader::new(open(path, false).ok()?);
    file.read_until(b'\n', &mut line).ok()?;
    Record::from_line(line.trim_ascii_end()).ok()
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
