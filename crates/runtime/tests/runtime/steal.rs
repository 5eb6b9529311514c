//! A conversation that is taken over from a holder that still lives.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use flemma_journal::{Actor, CallKey, Event, Record, Role};
use flemma_model::{CallId, ToolInput};
use flemma_runtime::{
    Fence, Journal, Taken,
    holder::{BufferLocks, Guard, Held, Hold, Ours},
    save::{SaveError, Stamp, save},
};
use serde_json::json;

/// How many interleavings there are.
const ROUNDS: usize = 200;

#[track_caller]
fn ours(hold: Hold) -> Held {
    match hold {
        Hold::Ours(Ours { held, .. }) => held,
        Hold::Theirs(owner) => panic!("held by {owner:?}"),
    }
}

/// One of the processes, as far as locks are concerned: kernel locks do not tell processes from opened files.
struct Process {
    locks: BufferLocks,
    folder: PathBuf,
    file: PathBuf,
    journal: Journal,
}

impl Process {
    fn new(root: &Path) -> Self {
        let journal = Journal::new(root.join("state/journal"));
        Self { locks: BufferLocks::default(), folder: root.join("state/locks"), file: root.join("a.chat"), journal }
    }

    fn hold(&self) -> Hold {
        self.locks.hold(&self.folder, &self.file)
    }

    fn guard(&self, held: Held) -> Guard {
        let (file, known) = (self.file.clone(), Stamp::of(&self.file).unwrap());
        Guard::new(held, self.locks.clone(), move || Stamp::of(&file).is_ok_and(|now| now == known), || {})
    }

    fn append(&self, fence: Fence, id: &str) -> io::Result<()> {
        let (tell, told) = mpsc::channel();
        let key = CallKey::of(&CallId(id.to_owned()), "bash", &ToolInput::Json(json!({})));
        let by = Actor { role: Role::User, process: 1, host: "here".to_owned() };
        let record = Record { at: jiff::Timestamp::now(), conversation: String::new(), key, event: Event::Opened, by };
        self.journal.fenced(Some(fence)).append(&self.file, vec![record], move |outcome| tell.send(outcome).unwrap());
        told.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    /// What is in the file and in the journal.
    fn landed(&self) -> (Vec<u8>, usize) {
        (fs::read(&self.file).unwrap(), self.journal.read(&self.file).unwrap().len())
    }
}

#[test]
#[ignore = "slow"]
fn nothing_of_the_old_holder_lands_after_a_steal() {
    let (mut before, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.chat"), "old").unwrap();
        if round % 2 == 1 {
            // It is overwritten in place.
            fs::hard_link(root.path().join("a.chat"), root.path().join("b.chat")).unwrap();
        }
        let (old, new) = (Process::new(root.path()), Process::new(root.path()));
        let guard = old.guard(ours(old.hold()));
        let (stop, landed) = (Arc::new(AtomicBool::default()), Arc::new(AtomicUsize::default()));
        let (ended, counted) = (stop.clone(), landed.clone());
        let mut random = fastrand::Rng::with_seed(round as u64);
        let wait = Duration::from_micros(random.u64(..4000));
        let holder = thread::spawn(move || {
            let mut errors = 0;
            for step in 0.. {
                if ended.load(Ordering::SeqCst) && errors > 4 {
                    return (errors, step);
                }
                // The worst moment for a steal is right after the look.
                let pause = Duration::from_micros(random.u64(..1500));
                let guard = guard.clone();
                let check = move || {
                    let looked = guard.check();
                    thread::sleep(pause);
                    looked
                };
                let is_done = if random.bool() {
                    old.append(Arc::new(check), &format!("call_{step}")).is_ok()
                } else {
                    let known = Stamp::of(&old.file).unwrap();
                    match save(&old.file, format!("text {step}").as_bytes(), known, check) {
                        Ok(_) => true,
                        Err(SaveError::Taken(_)) => false,
                        Err(error) => panic!("{error}"),
                    }
                };
                if is_done {
                    counted.fetch_add(1, Ordering::SeqCst);
                } else {
                    errors += 1;
                }
            }
            unreachable!()
        });
        thread::sleep(wait);
        let stolen = ours(new.locks.steal(&new.folder, &new.file).unwrap());
        // The one who takes over reads both, and acknowledges only then.
        let then = new.landed();
        if random_end(round) {
            drop(stolen);
        } else {
            std::mem::forget(stolen);
        }
        stop.store(true, Ordering::SeqCst);
        let (errors, _) = holder.join().unwrap();
        assert_eq!(new.landed(), then, "round {round}");
        before += landed.load(Ordering::SeqCst);
        refused += errors;
    }
    assert!(before > ROUNDS / 4 && refused > ROUNDS, "{before} {refused}");
}

/// Whether the one who has taken over is gone before the old holder looks again.
fn random_end(round: usize) -> bool {
    round.is_multiple_of(3)
}

#[test]
fn a_conversation_that_was_taken_over_is_held_by_one() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.chat"), "old").unwrap();
    let [old, new, third] = [(); 3].map(|()| Process::new(root.path()));
    let held = ours(old.hold());
    let guard = old.guard(held.clone());
    assert_eq!(guard.check(), Ok(()));
    let stolen = ours(new.locks.steal(&new.folder, &new.file).unwrap());
    assert_eq!(new.guard(stolen.clone()).check(), Ok(()));
    assert!(matches!(guard.check(), Err(Taken(_))));
    assert!(matches!(third.hold(), Hold::Theirs(_)));
    // The old one lets go of what is no longer its own.
    held.lose();
    drop(held);
    assert!(matches!(third.hold(), Hold::Theirs(_)) && matches!(old.hold(), Hold::Theirs(_)));
    drop(stolen);
    let _again = ours(old.hold());
    // What was begun before the loss counts no more.
    assert!(guard.check().is_err());
}

#[test]
fn what_is_no_lock_file_is_not_taken_away() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.chat"), "old").unwrap();
    let lock = root.path().join(".a.chat.flemma-lock");
    fs::write(&lock, "somebody's own").unwrap();
    let file = fs::File::open(&lock).unwrap();
    file.try_lock().unwrap();
    let new = Process::new(root.path());
    assert!(new.locks.steal(&new.folder, &new.file).is_err());
    assert_eq!(fs::read_to_string(&lock).unwrap(), "somebody's own");
}

#[test]
fn a_lock_that_is_tidied_away_is_not_taken_over() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("a.chat");
    fs::write(&file, "old").unwrap();
    let old = Process::new(root.path());
    let guard = old.guard(ours(old.hold()));
    fs::remove_file(root.path().join(".a.chat.flemma-lock")).unwrap();
    assert_eq!(guard.check(), Ok(()));
    // Whoever has taken it over from another machine may have written it, and be gone.
    fs::write(&file, "theirs").unwrap();
    assert!(guard.check().is_err());
    fs::write(&file, "old").unwrap();
    assert!(guard.check().is_err(), "once lost is lost");
}

#[test]
fn the_next_holder_deletes_what_a_kill_has_left() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.chat"), "old").unwrap();
    let left = root.path().join(".a.chat.flemma-new-abcdef");
    fs::write(&left, "half").unwrap();
    let place = Process::new(root.path());
    let held = ours(place.hold());
    assert!(!left.exists());
    // One that is being written now.
    fs::write(&left, "half").unwrap();
    let _again = ours(place.hold());
    assert!(left.exists());
    drop(held);
}
