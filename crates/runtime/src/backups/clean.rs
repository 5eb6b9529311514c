//! Deletes what is too old or too much.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs, io,
    sync::atomic::Ordering,
    time::{Duration, SystemTime},
};

use super::{Backups, Limits, log};
use crate::{disk::if_there, line_file::Lock};
use flemma_journal::changes::History;
use flemma_model::Digest;

/// How many of the last changes of an open conversation are kept before everything else.
const LAST: usize = 20;

/// How long what is left of a content may lie there that was never completed, where the file system has no locks.
const UNFINISHED: Duration = Duration::from_secs(24 * 60 * 60);

/// What speaks for keeping a content: whether an open conversation needs it for its last changes, and the latest change that has
/// replaced it.
type Worth = (bool, SystemTime);

/// Deletes contents that are older than the limit, then the oldest ones until the rest is not too much, and logs that nobody has
/// written to for so long. What the last changes of open conversations need goes last.
pub(super) fn clean(backups: &Backups, limits: Limits) -> io::Result<()> {
    let lock = backups.lock(Lock::Exclusive)?;
    let now = SystemTime::now();
    let is_old = |at: SystemTime| limits.max_age.is_some_and(|age| now.duration_since(at).is_ok_and(|old| old > age));
    let worth = worth_of_all(backups, &is_old)?;
    let mut kept = Vec::new();
    for content in backups.contents().all()? {
        let known = content.digest.as_ref().and_then(|digest| worth.get(digest));
        let is_gone = match known {
            Some((is_needed, at)) => !is_needed && is_old(*at),
            // Nobody is adding it now: there are no shared locks.
            None => lock.is_locked || now.duration_since(content.modified).is_ok_and(|age| age > UNFINISHED),
        };
        match known {
            _ if is_gone => drop(fs::remove_file(&content.path)),
            Some(worth) => kept.push((*worth, content)),
            None => {}
        }
    }
    let mut total: u64 = kept.iter().map(|(_, content)| content.bytes).sum();
    kept.sort_by_key(|(worth, _)| *worth);
    for (_, content) in kept {
        if total <= limits.max_bytes {
            break;
        }
        if fs::remove_file(&content.path).is_ok() {
            total -= content.bytes;
        }
    }
    backups.grown.store(0, Ordering::Relaxed);
    Ok(())
}

/// What each content is worth to the logs. Logs that are too old are deleted.
fn worth_of_all(backups: &Backups, is_old: &dyn Fn(SystemTime) -> bool) -> io::Result<HashMap<Digest, Worth>> {
    let mut worth: HashMap<Digest, Worth> = HashMap::new();
    for entry in if_there(fs::read_dir(backups.logs()))?.into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(stem) =
            path.file_stem().and_then(OsStr::to_str).filter(|_| path.extension() == Some("jsonl".as_ref()))
        else {
            continue;
        };
        let is_open = backups.is_open(stem);
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or_else(|_| SystemTime::now());
        if !is_open && is_old(modified) {
            let _ = fs::remove_file(&path);
            continue;
        }
        // What cannot be read may need anything: nothing is deleted then.
        let history = History::of(log::read(&path, None)?.0);
        let made: Vec<_> = history.made().collect();
        for (place, change) in made.iter().enumerate() {
            let is_needed = is_open && place + LAST >= made.len();
            let Some(digest) = change.old.digest() else { continue };
            let this = (is_needed, SystemTime::from(change.at));
            let best = worth.entry(digest.clone()).or_insert(this);
            *best = (*best).max(this);
        }
    }
    Ok(worth)
}
