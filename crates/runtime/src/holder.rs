//! Which process holds a conversation. There is one at a time; the others watch the file until it is gone.
//!
//! The lock is a file beside the conversation ([`LockFile`]), so that everybody who can write the conversation meets it:
//! other users, and other machines on a shared folder. Two more lie in the state folder, by the file's real path and, where
//! it has several names (hard links), by its inode. They keep the processes of one user apart where the folder takes no
//! new file, and when somebody deletes the file beside the conversation.
//!
//! A conversation can be taken over from a holder that does not answer ([`BufferLocks::steal`]). That holder may still live,
//! so it looks at its locks ([`Guard`]) at the last moment before anything of it lands, and the one who takes over waits
//! until nothing can land for which that moment is past:
//!
//! - A record is appended while the journal is locked. The look comes after that lock was taken, and the one who takes over
//!   takes that lock, to read, after the locks of the conversation.
//! - A file is replaced by a temporary one. The look comes after that one was made, and the one who takes over deletes all
//!   temporary files of the conversation, so that there is nothing to put in its place. A file that is overwritten is locked
//!   meanwhile, and the one who takes over takes that lock.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, Metadata},
    io,
    ops::ControlFlow,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::{
    disk::{lock, private_folder, stem},
    lock_file::{self, LockFile, Owner, Refusal, Taken},
    save::{self, Stamp},
};
use flemma_tools::{own_files::LOCK, paths::real};

/// The mode of the locks of one user.
const PRIVATE: u32 = 0o600;

/// How often a lock is tried that this process is just giving back, or whose owner has not written its name into it yet, and
/// the pause in between.
const RETRIES: usize = 20;
const RETRY: Duration = Duration::from_millis(10);

/// The locks of a conversation. They are free once every copy is dropped, which may wait for the disk.
#[derive(Clone, Debug, Default)]
pub struct Held(Vec<Arc<LockFile>>);

impl Held {
    /// Gives the locks back, whoever has a copy of them. It may wait for the disk.
    pub fn release(&self) {
        self.0.iter().for_each(|lock| lock.release());
    }

    /// Gives back the locks that are left of a conversation that was taken over.
    pub fn lose(&self) {
        self.0.iter().for_each(|lock| lock.lose());
        self.release();
    }
}

/// Knows whether this process still holds a conversation. A clone is the same.
#[derive(Clone)]
pub struct Guard {
    /// The locks when it was made.
    held: Held,
    /// Those that this process has had since: somebody may have deleted a file, and it was made again.
    locks: BufferLocks,
    /// Whether the conversation's file is as this process knows it.
    is_current: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Hears that the conversation was taken over.
    lost: Arc<dyn Fn() + Send + Sync>,
}

impl Guard {
    /// A guard of these locks, which are among the `locks` of a buffer. `is_current` says, and may wait for the disk,
    /// whether the conversation's file is as this process knows it; `lost` hears that the conversation was taken over.
    pub fn new(
        held: Held,
        locks: BufferLocks,
        is_current: impl Fn() -> bool + Send + Sync + 'static,
        lost: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self { held, locks, is_current: Arc::new(is_current), lost: Arc::new(lost) }
    }

    /// Whether this process still holds the conversation. Once it does not, these locks never count again. It blocks on the
    /// disk.
    ///
    /// # Errors
    /// Who has taken it.
    pub fn check(&self) -> Result<(), Taken> {
        if self.held.0.iter().all(|lock| self.is_held(lock)) {
            return Ok(());
        }
        self.held.0.iter().for_each(|lock| lock.lose());
        (self.lost)();
        Err(Taken(
            self.held.0.iter().find_map(|lock| lock_file::owner(lock.path()).filter(|owner| *owner != Owner::this())),
        ))
    }

    fn is_held(&self, lock: &LockFile) -> bool {
        if lock.is_lost() {
            return false;
        }
        let is_there = |lock: &LockFile| !lock.is_lost() && lock.is_still_at(lock.path());
        let is_renewed = || self.locks.all().iter().any(|other| other.path() == lock.path() && is_there(other));
        // In the user's own folder nobody tidies up.
        let is_made_again = || is_beside(lock.path()) && (is_renewed() || self.was_deleted(lock));
        lock.is_released() || is_there(lock) || is_made_again()
    }

    /// The same guard, which does not keep the locks.
    pub fn loosen(self) -> LooseGuard {
        let locks = self.held.0.iter().map(Arc::downgrade).collect();
        LooseGuard { locks, guard: Self { held: Held::default(), ..self } }
    }

    /// Whether the file beside the conversation was deleted by somebody who wants to tidy up. A process that has taken the
    /// conversation over and is gone leaves the same behind: that makes no difference if it has written nothing.
    fn was_deleted(&self, lock: &LockFile) -> bool {
        let is_gone = || fs::symlink_metadata(lock.path()).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        is_gone() && (self.is_current)()
    }
}

/// A [`Guard`] that does not keep the locks.
pub struct LooseGuard {
    locks: Vec<Weak<LockFile>>,
    guard: Guard,
}

impl LooseGuard {
    /// Whether this process still holds the conversation; `None` if it has given it back. See [`Guard::check`].
    pub fn check(&self) -> Option<Result<(), Taken>> {
        let held: Vec<_> = self.locks.iter().filter_map(Weak::upgrade).filter(|lock| !lock.is_released()).collect();
        (!held.is_empty()).then(|| Guard { held: Held(held), ..self.guard.clone() }.check())
    }
}

/// Whether this process holds a conversation.
#[derive(Debug)]
pub enum Hold {
    /// It does.
    Ours(Ours),
    /// Another process does, or this one for another buffer; who, if it is known.
    Theirs(Option<Owner>),
}

/// A conversation that this process holds.
#[derive(Debug)]
pub struct Ours {
    /// The locks. There is none where the system has none.
    pub held: Held,
    /// Which locks there could not be, and why.
    pub problems: Vec<String>,
    /// Whether the conversation was not held before, by this buffer either.
    pub is_new: bool,
}

/// The locks that this process has for one buffer, whoever has a copy of them. A clone is the same.
///
/// A buffer may be opened anew before the main thread has heard of a lock that was just taken for it, or while another thread
/// takes it. Every attempt for the buffer shares what the others have taken, so that none of them is in the way of the next.
#[derive(Clone, Debug, Default)]
pub struct BufferLocks {
    locks: Arc<Mutex<Vec<Weak<LockFile>>>>,
    /// Whether no more may be taken.
    is_closed: Arc<AtomicBool>,
    /// Where other programs of the user reach this process.
    server: Option<Arc<str>>,
}

impl BufferLocks {
    /// None yet. `server` is the address at which other programs reach this process.
    pub fn new(server: Option<&str>) -> Self {
        Self { server: server.map(Into::into), ..Self::default() }
    }

    /// Tries to hold the conversation at `path`, which need not be there yet. `folder` is where the locks of this user lie. It
    /// blocks on the disk, and for a fifth of a second at most on another owner.
    pub fn hold(&self, folder: &Path, path: &Path) -> Hold {
        let may_change = |owner: &Option<Owner>| owner.as_ref().is_none_or(|owner| *owner == Owner::this());
        let mut tries = 0..RETRIES;
        loop {
            match self.try_hold(folder, path) {
                Hold::Theirs(owner) if may_change(&owner) && tries.next().is_some() => thread::sleep(RETRY),
                hold => return hold,
            }
        }
    }

    /// Takes the conversation over from whoever holds it, and waits until nothing that they have begun to write can land any
    /// more. It blocks on the disk.
    ///
    /// # Errors
    /// Why it could not be taken over.
    pub fn steal(&self, folder: &Path, path: &Path) -> io::Result<Hold> {
        let take = |path: &Path, mode, server: Option<&str>| LockFile::steal(path, mode, server);
        let ours = match self.try_to(folder, path, take) {
            Hold::Ours(ours) => ours,
            theirs @ Hold::Theirs(_) => return Ok(theirs),
        };
        // Without a lock there is nothing that the other one could notice.
        if let Some(problem) = ours.problems.first() {
            return Err(io::Error::other(problem.clone()));
        }
        save::fence(&real(path))?;
        Ok(Hold::Ours(ours))
    }

    fn all(&self) -> Vec<Arc<LockFile>> {
        lock(&self.locks).iter().filter_map(Weak::upgrade).collect()
    }

    /// This process is about to end: gives back what is there, whoever has a copy of it, and takes no more. It waits for an attempt
    /// that is under way, and may wait for the disk.
    pub fn close(&self) {
        let all = lock(&self.locks);
        self.is_closed.store(true, Ordering::Relaxed);
        all.iter().filter_map(Weak::upgrade).for_each(|lock| lock.release());
    }

    /// Tries to hold it, and deletes the temporary files that a holder before has left behind.
    fn try_hold(&self, folder: &Path, path: &Path) -> Hold {
        let hold = self.try_to(folder, path, LockFile::take);
        if matches!(&hold, Hold::Ours(ours) if ours.is_new) {
            // What cannot be deleted is left for the next one.
            let _ = save::remove_temporary(&real(path));
        }
        hold
    }

    fn try_to(
        &self,
        folder: &Path,
        path: &Path,
        take: impl Fn(&Path, u32, Option<&str>) -> Result<LockFile, Refusal>,
    ) -> Hold {
        let mut all = lock(&self.locks);
        if self.is_closed.load(Ordering::Relaxed) {
            return Hold::Theirs(None);
        }
        let before: Vec<Arc<LockFile>> = all.iter().filter_map(Weak::upgrade).collect();
        let (mut locks, mut problems, mut is_new) = (Vec::new(), Vec::new(), true);
        // Without the folder each of its locks fails, and says so.
        let _ = private_folder(folder);
        for (path, mode) in places(folder, path) {
            let kept = before.iter().find(|lock| !lock.is_lost() && lock.is_still_at(&path));
            // Others could put another address where they can write.
            let server = self.server.as_deref().filter(|_| !is_beside(&path));
            is_new &= kept.is_none();
            match kept.map_or_else(|| take(&path, mode, server).map(Arc::new), |lock| Ok(Arc::clone(lock))) {
                Ok(lock) => locks.push(lock),
                Err(Refusal::Locked(owner)) => return Hold::Theirs(owner),
                Err(Refusal::Failed(error)) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        *all = before
            .iter()
            .filter(|lock| !locks.iter().any(|other| Arc::ptr_eq(lock, other)))
            .chain(&locks)
            .map(Arc::downgrade)
            .collect();
        let is_new = is_new && !locks.is_empty();
        Hold::Ours(Ours { held: Held(locks), problems, is_new })
    }

    /// Whether there is a lock, or somebody may be taking one.
    pub fn is_used(&self) -> bool {
        // Whoever is taking one has a clone, so this waits for nobody.
        let has_locks = || lock(&self.locks).iter().any(|lock| lock.strong_count() > 0);
        Arc::strong_count(&self.locks) > 1 || has_locks()
    }
}

/// Whether a lock is the one beside the conversation, which others can write and delete.
fn is_beside(lock: &Path) -> bool {
    lock.as_os_str().as_encoded_bytes().ends_with(LOCK.as_bytes())
}

/// Where the locks of a conversation are, in the order in which everybody takes them, and the modes of their files.
fn places(folder: &Path, path: &Path) -> Vec<(PathBuf, u32)> {
    let path = real(path);
    let metadata = fs::metadata(&path).ok();
    let mut places = Vec::new();
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
        let lock = [".".as_ref(), name, LOCK.as_ref()].map(OsStr::to_owned).into_iter().collect::<OsString>();
        // Whoever may write the conversation may write its lock.
        let mode = metadata.as_ref().map_or(0o666, |metadata| metadata.permissions().mode() & 0o666 | PRIVATE);
        places.push((parent.join(lock), mode));
    }
    places.push((folder.join(format!("path-{}", stem(&path))), PRIVATE));
    // The inode of a file with one name changes whenever it is written in one step.
    let is_linked = |metadata: &Metadata| metadata.nlink() > 1;
    if let Some(metadata) = metadata.filter(is_linked) {
        places.push((folder.join(format!("inode-{}-{}", metadata.dev(), metadata.ino())), PRIVATE));
    }
    places
}

/// Deletes what a process that was killed has left beside the conversation at `path`, if it has left a lock. It blocks on the
/// disk.
pub fn tidy(folder: &Path, path: &Path) {
    if places(folder, path).iter().any(|(lock, _)| is_beside(lock) && lock.exists()) {
        // Whoever holds it next deletes the rest, and gives it back here.
        drop(BufferLocks::default().try_hold(folder, path));
    }
}

/// Where the process of this user listens that holds the conversation at `path`, if it says so. It blocks on the disk.
pub fn server(folder: &Path, path: &Path) -> Option<PathBuf> {
    places(folder, path).iter().filter(|(lock, _)| !is_beside(lock)).find_map(|(lock, _)| lock_file::server(lock))
}

/// Whether a process holds the conversation at `path` now, for who only looks: nothing is made or kept. It blocks on the
/// disk. `None` if nobody does.
pub fn look(folder: &Path, path: &Path) -> Option<Option<Owner>> {
    places(folder, path).iter().find_map(|(lock, _)| lock_file::look(lock))
}

/// Watches a conversation that another process holds.
#[derive(Debug)]
pub struct Watch {
    locks: BufferLocks,
    folder: PathBuf,
    path: PathBuf,
    owner: Option<Owner>,
    /// The file, as it was last seen; `None` before the first look.
    seen: Option<Option<Stamp>>,
}

/// What a watch has seen.
#[derive(Debug)]
pub enum Sighting {
    /// The file has changed.
    Changed,
    /// Somebody else holds it now.
    Owner(Option<Owner>),
    /// This process holds it now, and the watch is over.
    Ours(Ours),
}

impl Watch {
    /// Watches the conversation at `path`, which `owner` holds, to take its `locks`. `folder` is where those of this user lie.
    pub fn new(locks: BufferLocks, folder: PathBuf, path: PathBuf, owner: Option<Owner>) -> Self {
        Self { locks, folder, path, owner, seen: None }
    }

    /// Looks once. The first look sees a change: the file may have been written since it was read. It blocks on the disk,
    /// but not on other processes.
    pub fn look(&mut self) -> ControlFlow<Sighting, Option<Sighting>> {
        match self.locks.try_hold(&self.folder, &self.path) {
            Hold::Ours(ours) => return ControlFlow::Break(Sighting::Ours(ours)),
            Hold::Theirs(owner) if owner.is_some() && owner != self.owner => {
                self.owner.clone_from(&owner);
                return ControlFlow::Continue(Some(Sighting::Owner(owner)));
            }
            Hold::Theirs(_) => {}
        }
        // What cannot be seen now is looked for again.
        let now = Stamp::of(&self.path).ok().filter(|now| self.seen.as_ref() != Some(now));
        ControlFlow::Continue(now.map(|now| {
            self.seen = Some(now);
            Sighting::Changed
        }))
    }
}
