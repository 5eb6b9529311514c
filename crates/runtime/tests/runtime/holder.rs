//! Which process holds a conversation. The other processes here are real ones.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, PermissionsExt, symlink},
    },
    path::PathBuf,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use flemma_runtime::{
    Owner,
    holder::{BufferLocks, Held, Hold, Ours, Sighting, Watch},
};
use serde_json::json;
use tempfile::TempDir;

use crate::other_holder::{Other, hold, spawn};

/// How long the processes that compete may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
fn ours(hold: Hold) -> Held {
    match hold {
        Hold::Ours(Ours { held, .. }) => held,
        Hold::Theirs(owner) => panic!("held by {owner:?}"),
    }
}

#[track_caller]
fn theirs(hold: Hold) -> Option<Owner> {
    match hold {
        Hold::Ours(_) => panic!("two processes hold it"),
        Hold::Theirs(owner) => owner,
    }
}

/// A conversation in a folder, and the folder of the locks.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.path("work")).unwrap();
        fs::write(place.file(), "@You:\n").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn file(&self) -> PathBuf {
        self.path("work/a.chat")
    }

    fn lock(&self) -> PathBuf {
        self.path("work/.a.chat.flemma-lock")
    }

    fn locks(&self) -> PathBuf {
        self.path("state/locks")
    }

    /// The folder of another user's locks.
    fn other_locks(&self) -> PathBuf {
        self.path("other/locks")
    }

    fn hold(&self) -> Hold {
        hold(&self.locks(), &self.file())
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("work")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn the_lock_beside_a_conversation_lasts_as_long_as_it_is_held() {
    let place = Place::new();
    let held = ours(place.hold());
    let line = fs::read_to_string(place.lock()).unwrap();
    let this = Owner::this();
    assert_eq!(line, format!("{{\"process\":{},\"host\":\"{}\"}}\n", this.process, this.host));
    assert!(!this.host.is_empty());
    assert_eq!(theirs(hold(&place.other_locks(), &place.file())), Some(this), "this is another user");
    drop(held);
    assert_eq!(place.names(), ["a.chat"]);
    assert_eq!(fs::read_dir(place.locks()).unwrap().count(), 0);
}

#[test]
fn a_kill_frees_the_conversation() {
    let place = Place::new();
    let mut other = Other::hold(&place.locks(), &place.file());
    assert_eq!(theirs(place.hold()), Some(other.owner()));
    other.kill();
    assert!(place.lock().exists(), "nobody was there to delete it");
    let held = ours(place.hold());
    assert!(fs::read_to_string(place.lock()).unwrap().contains(&std::process::id().to_string()));
    drop(held);
    assert_eq!(place.names(), ["a.chat"]);
}

/// Locks the file beside the conversation, as a process does that has not written its name into it yet.
fn lock_with(place: &Place, contents: &str) -> File {
    fs::write(place.lock(), contents).unwrap();
    let file = File::options().read(true).write(true).open(place.lock()).unwrap();
    file.try_lock().unwrap();
    file
}

#[test]
fn the_owner_of_a_lock_that_was_just_taken_is_waited_for() {
    let place = Place::new();
    let lock = lock_with(&place, "");
    // The process itself is not the owner: this one would be waited for in any case.
    let owner = Owner { process: std::os::unix::process::parent_id(), ..Owner::this() };
    let line = json!({ "process": owner.process, "host": owner.host }).to_string();
    let writer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        lock.write_all_at(line.as_bytes(), 0).unwrap();
        lock
    });
    assert_eq!(theirs(place.hold()), Some(owner));
    drop(writer.join().unwrap());
}

#[test]
fn a_process_that_has_ended_is_not_named_as_the_owner() {
    let place = Place::new();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let line = |process: u32, host: &str| json!({ "process": process, "host": host }).to_string();
    let lock = lock_with(&place, &line(ended.id(), &Owner::this().host));
    assert_eq!(theirs(place.hold()), None);
    drop(lock);
    // Nothing is known of the processes of another machine.
    let _lock = lock_with(&place, &line(ended.id(), "elsewhere"));
    assert_eq!(theirs(place.hold()), Some(Owner { process: ended.id(), host: "elsewhere".to_owned() }));
}

#[test]
fn every_name_of_a_conversation_leads_to_one_lock() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).unwrap();
    let (link, twin) = (place.path("elsewhere/link.chat"), place.path("elsewhere/twin.chat"));
    symlink(place.file(), &link).unwrap();
    fs::hard_link(place.file(), &twin).unwrap();
    let other = Other::hold(&place.locks(), &link);
    assert_eq!(place.names(), [".a.chat.flemma-lock", "a.chat"], "the lock is beside the file that the link leads to");
    for name in [&place.file(), &twin] {
        assert_eq!(theirs(hold(&place.locks(), name)), Some(other.owner()), "{}", name.display());
    }
    // Nothing of a hold that failed is left.
    assert_eq!(fs::read_dir(place.path("elsewhere")).unwrap().count(), 2);
}

#[test]
fn what_is_no_lock_file_is_neither_followed_nor_deleted() {
    let place = Place::new();
    let (lock, target) = (place.lock(), place.path("work/target"));
    let obstacles: [(&str, &dyn Fn()); 5] = [
        ("a link to a file", &|| {
            fs::write(&target, "").unwrap();
            symlink(&target, &lock).unwrap();
        }),
        ("a link to nothing", &|| {
            let _ = fs::remove_file(&target);
            symlink(&target, &lock).unwrap();
        }),
        ("a folder", &|| fs::create_dir(&lock).unwrap()),
        ("a pipe", &|| {
            let pipe = Command::new("mkfifo").arg(&lock).status().unwrap();
            assert!(pipe.success());
        }),
        ("another file of the user's", &|| fs::write(&lock, "mine\n").unwrap()),
    ];
    for (what, make) in obstacles {
        make();
        let before = (fs::symlink_metadata(&lock).unwrap().file_type(), place.names());
        let other = Other::hold(&place.locks(), &place.file());
        theirs(place.hold());
        drop(other);
        drop(ours(place.hold()));
        assert_eq!((fs::symlink_metadata(&lock).unwrap().file_type(), place.names()), before, "{what}");
        if before.0.is_file() {
            assert_eq!(fs::read_to_string(&lock).unwrap(), "mine\n");
        }
        assert!(fs::read(&target).is_ok_and(|text| text.is_empty()) || !target.exists(), "{what}");
        let _ = fs::remove_file(&lock).or_else(|_| fs::remove_dir(&lock));
    }
}

#[test]
fn without_room_for_a_lock_beside_it_the_state_folder_has_one() {
    let place = Place::new();
    // No folder, and a name to which nothing can be added.
    for file in [place.path("work/later/a.chat"), place.path(&format!("work/{}.chat", "n".repeat(245)))] {
        let other = Other::hold(&place.locks(), &file);
        assert_eq!(theirs(hold(&place.locks(), &file)), Some(other.owner()));
        drop(other);
        let Hold::Ours(ours) = hold(&place.locks(), &file) else { panic!("nobody holds it") };
        assert_eq!(ours.problems.len(), 1, "{:?}", ours.problems);
        assert_eq!(place.names(), ["a.chat"]);
    }
}

#[test]
fn a_folder_that_takes_no_new_file_leaves_the_state_folder() {
    let place = Place::new();
    fs::set_permissions(place.path("work"), Permissions::from_mode(0o555)).unwrap();
    if fs::write(place.path("work/probe"), "").is_ok() {
        // Nothing is forbidden to this user.
        return;
    }
    let other = Other::hold(&place.locks(), &place.file());
    assert_eq!(theirs(place.hold()), Some(other.owner()));
    drop(other);
    drop(ours(place.hold()));
    assert_eq!(place.names(), ["a.chat"]);
}

#[test]
fn a_lock_file_that_cannot_be_written_is_locked_all_the_same() {
    let place = Place::new();
    let owner = Owner { process: 1, ..Owner::this() };
    fs::write(place.lock(), serde_json::to_string(&owner).unwrap()).unwrap();
    fs::set_permissions(place.lock(), Permissions::from_mode(0o444)).unwrap();
    let _held = ours(place.hold());
    theirs(hold(&place.other_locks(), &place.file()));
}

#[test]
fn without_any_lock_a_conversation_is_held_all_the_same() {
    let place = Place::new();
    fs::write(place.path("state"), "not a folder").unwrap();
    let Hold::Ours(ours) = hold(&place.locks(), &place.path("work/later/a.chat")) else { panic!("it is free") };
    assert_eq!(ours.problems.len(), 2, "{:?}", ours.problems);
}

#[test]
fn a_holder_that_goes_on_keeps_its_locks() {
    let place = Place::new();
    let locks = BufferLocks::default();
    let first = ours(locks.hold(&place.locks(), &place.file()));
    theirs(place.hold());
    let second = ours(locks.hold(&place.locks(), &place.file()));
    drop(first);
    theirs(hold(&place.other_locks(), &place.file()));
    // The same file under another name needs another lock beside it, and not the old one.
    fs::hard_link(place.file(), place.path("work/b.chat")).unwrap();
    let third = ours(locks.hold(&place.locks(), &place.path("work/b.chat")));
    drop(second);
    assert_eq!(place.names(), [".b.chat.flemma-lock", "a.chat", "b.chat"]);
    // Somebody deletes the lock: it is made again, and the state folder has kept others out.
    fs::remove_file(place.path("work/.b.chat.flemma-lock")).unwrap();
    theirs(hold(&place.locks(), &place.path("work/b.chat")));
    let fourth = ours(locks.hold(&place.locks(), &place.path("work/b.chat")));
    drop(third);
    theirs(hold(&place.other_locks(), &place.path("work/b.chat")));
    assert!(locks.is_used());
    drop(fourth);
    assert!(!locks.is_used());
}

#[test]
fn a_watch_sees_the_file_change_and_the_holder_go() {
    let place = Place::new();
    let mut other = Other::hold(&place.locks(), &place.file());
    let mut watch = Watch::new(BufferLocks::default(), place.locks(), place.file(), Some(other.owner()));
    let look = |watch: &mut Watch| match watch.look() {
        ControlFlow::Continue(seen) => seen,
        ControlFlow::Break(sighting) => Some(sighting),
    };
    assert!(matches!(look(&mut watch), Some(Sighting::Changed)), "it may have been written before the first look");
    assert!(look(&mut watch).is_none());
    fs::write(place.file(), "@You:\nHello\n").unwrap();
    assert!(matches!(look(&mut watch), Some(Sighting::Changed)));
    fs::remove_file(place.file()).unwrap();
    assert!(matches!(look(&mut watch), Some(Sighting::Changed)));
    assert!(look(&mut watch).is_none());
    // One holder after the other, without a look in between.
    other.kill();
    let mut next = Other::hold(&place.locks(), &place.file());
    let seen = look(&mut watch);
    assert!(matches!(&seen, Some(Sighting::Owner(Some(owner))) if *owner == next.owner()), "{seen:?}");
    assert!(look(&mut watch).is_none());
    next.kill();
    let seen = look(&mut watch);
    assert!(matches!(seen, Some(Sighting::Ours(_))), "{seen:?}");
    theirs(place.hold());
}

#[test]
fn a_name_in_a_lock_file_cannot_change_a_message() {
    let place = Place::new();
    let _held = ours(place.hold());
    let line = serde_json::json!({ "process": 7, "host": format!("evil\u{1b}[2J\n%#Error#{}", "x".repeat(900)) });
    fs::write(place.lock(), line.to_string()).unwrap();
    let owner = theirs(hold(&place.other_locks(), &place.file())).unwrap().to_string();
    assert!(owner.starts_with("process 7 on evil2JError") && owner.len() < 90, "{owner}");
}

#[test]
fn many_processes_never_hold_a_conversation_at_once() {
    const PROCESSES: usize = 8;
    const KILLS: usize = 60;
    let place = Place::new();
    fs::write(place.path("work/a.witness"), "").unwrap();
    let (heard, says) = io::pipe().unwrap();
    // Half of them are another user's.
    let begin = |n: usize| {
        let locks = if n.is_multiple_of(2) { place.locks() } else { place.other_locks() };
        spawn("compete", &locks, &place.file(), says.try_clone().unwrap())
    };
    let mut children: Vec<Child> = (0..PROCESSES).map(begin).collect();
    let (mut holds, mut kills, mut winners) = (0, 0, std::collections::BTreeSet::new());
    let begun = Instant::now();
    let mut lines = BufReader::new(heard).lines();
    while kills < KILLS || holds < 10 * KILLS {
        assert!(begun.elapsed() < PATIENCE, "{holds} holds and {kills} kills");
        let line = lines.next().unwrap().unwrap();
        if line.contains("two holders") {
            children.iter_mut().for_each(|child| drop(child.kill()));
            panic!("two processes held the conversation at once, after {holds} holds and {kills} kills");
        }
        let Some((_, process)) = line.split_once("held by ") else { continue };
        let process: u32 = process.parse().unwrap();
        winners.insert(process);
        holds += 1;
        // It may hold the conversation just now, or be giving it back.
        if holds % 10 == 0
            && kills < KILLS
            && let Some(at) = children.iter().position(|child| child.id() == process)
        {
            children[at].kill().unwrap();
            children[at].wait().unwrap();
            children[at] = begin(at + kills);
            kills += 1;
        }
    }
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(winners.len() > PROCESSES, "{} processes held it", winners.len());
    drop(ours(place.hold()));
    assert_eq!(place.names(), ["a.chat", "a.witness"]);
}

#[test]
fn names_that_are_not_utf_8_are_held_as_well() {
    let place = Place::new();
    let file = place.path("work").join(std::ffi::OsStr::from_bytes(b"caf\xe9.chat"));
    let _held = ours(hold(&place.locks(), &file));
    assert!(theirs(hold(&place.other_locks(), &file)).is_some());
}
