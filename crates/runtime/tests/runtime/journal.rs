//! The journal on the disk, with real files and real processes.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use flemma_journal::{Actor, CallKey, Event, Record, RecordedResult, Role};
use flemma_model::{CallId, ToolInput};
use flemma_runtime::{COMPACT_ABOVE, Journal};
use jiff::Timestamp;
use serde_json::Value;

/// Long enough for any disk.
const LIMIT: Duration = Duration::from_secs(60);

fn key(id: &str) -> CallKey {
    CallKey::of(&CallId::from(id), "bash", &ToolInput::Json(Value::Null))
}

fn record(id: &str, event: Event) -> Record {
    let by = Actor { role: Role::User, process: std::process::id(), host: "here".into() };
    Record { at: Timestamp::UNIX_EPOCH, conversation: "/a.chat".into(), key: key(id), event, by }
}

fn opened(id: &str) -> Record {
    record(id, Event::Opened)
}

fn resolved(id: &str, bytes: usize) -> Record {
    record(id, Event::Resolved(RecordedResult { output: "x".repeat(bytes), ..RecordedResult::default() }))
}

/// A journal, and a conversation to write about.
struct Desk {
    folder: tempfile::TempDir,
    journal: Journal,
    chat: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path().join("state/journal"));
        let chat = folder.path().join("a.chat");
        Self { folder, journal, chat }
    }

    fn file(&self) -> PathBuf {
        self.journal.file(&self.chat)
    }

    /// Appends, and waits for the answer.
    fn append(&self, records: Vec<Record>) -> io::Result<()> {
        let (sender, answer) = mpsc::channel();
        self.journal.append(&self.chat, records, move |outcome| sender.send(outcome).unwrap());
        answer.recv_timeout(LIMIT).unwrap()
    }

    fn ids(&self) -> Vec<String> {
        self.journal.read(&self.chat).unwrap().into_iter().map(|record| record.key.id.0).collect()
    }

    /// Makes the journal's file one to which nothing can be written.
    fn fill_the_disk(&self) {
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        symlink("/dev/full", self.file()).unwrap();
    }

    /// Keeps the journal's thread from doing anything until the sender is dropped.
    fn hold_the_thread(&self) -> Sender<()> {
        let (release, released) = mpsc::channel::<()>();
        let (sender, reached) = mpsc::channel();
        self.journal.append(&self.folder.path().join("other.chat"), vec![opened("hold")], move |_| {
            sender.send(()).unwrap();
            let _ = released.recv();
        });
        reached.recv_timeout(LIMIT).unwrap();
        release
    }
}

/// What was heard, in order.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(usize, bool)>>>);

impl Heard {
    fn then(&self, number: usize) -> impl FnOnce(io::Result<()>) + Send + use<> {
        let heard = self.0.clone();
        move |outcome| heard.lock().unwrap().push((number, outcome.is_ok()))
    }

    fn all(&self) -> Vec<(usize, bool)> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn what_was_appended_is_read_again_by_any_name() {
    let desk = Desk::new();
    assert_eq!(desk.journal.read(&desk.chat).unwrap(), [], "no file has no records");
    assert!(desk.journal.settle(LIMIT), "nothing waits");
    let records = vec![opened("a"), record("a", Event::Started), resolved("a", 10)];
    desk.append(records.clone()).unwrap();
    desk.append(vec![opened("b")]).unwrap();
    assert_eq!(desk.journal.read(&desk.chat).unwrap(), [records, vec![opened("b")]].concat());
    fs::write(&desk.chat, "").unwrap();
    let link = desk.folder.path().join("link.chat");
    symlink(&desk.chat, &link).unwrap();
    assert_eq!(desk.journal.read(&link).unwrap().len(), 4, "a link leads to the same conversation");
    assert_eq!(desk.journal.read(&desk.folder.path().join("other.chat")).unwrap(), []);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let state = desk.folder.path().join("state");
    assert_eq!((mode(&desk.file()), mode(&state), mode(&state.join("journal"))), (0o600, 0o700, 0o700));
}

#[test]
fn a_line_that_was_cut_off_spoils_no_other() {
    let desk = Desk::new();
    desk.append(vec![opened("a")]).unwrap();
    let line = fs::read(desk.file()).unwrap();
    for length in [1, line.len() / 2, line.len() - 2] {
        OpenOptions::new().append(true).open(desk.file()).unwrap().write_all(&line[..length]).unwrap();
        assert_eq!(desk.ids(), ["a"], "a part of a line is no record");
        desk.append(vec![opened("b")]).unwrap();
        assert_eq!(desk.ids(), ["a", "b"]);
        fs::write(desk.file(), &line).unwrap();
    }
    // A loss of power can leave zeros.
    let zeros = [b"\0\0\0\xFF{}\n\n", &line[..line.len() / 2], b"\0\0\n", line.as_slice(), b"\0\0"].concat();
    fs::write(desk.file(), zeros).unwrap();
    desk.append(vec![opened("b")]).unwrap();
    assert_eq!(desk.ids(), ["a", "b"]);
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let desk = Desk::new();
    desk.append(vec![opened("a"), record("a", Event::Started), opened("b")]).unwrap();
    let whole = fs::read_to_string(desk.file()).unwrap();
    let cases = [
        ("\"started\"", "\"stXrted\"", "damaged; if you can do without what it says about a call, delete that line"),
        ("\"started\"", "\"started", "damaged"),
        ("\"a\",\"tool\"", "\"a\"\"tool\"", "damaged"),
        ("\"started\"", "\"st\u{7f}\u{1}rted\"", "damaged"),
        ("\"v\":1", "\"v\":9", "newer version"),
    ];
    for (from, to, cause) in cases {
        let lines: Vec<_> = whole.lines().map(str::to_owned).collect();
        assert!(lines[1].contains(from), "{}", lines[1]);
        let text = [lines[0].clone(), lines[1].replace(from, to), lines[2].clone(), String::new()].join("\n");
        fs::write(desk.file(), &text).unwrap();
        // Appending is still possible, and repairs nothing.
        desk.append(vec![opened("c")]).unwrap();
        let error = desk.journal.read(&desk.chat).unwrap_err();
        let (said, expected) = (error.to_string(), format!("{}: line 2 ", desk.file().display()));
        assert!(said.starts_with(&expected) && said.contains(cause), "{to}: {said}");
        // It ends without a full stop, because it is a part of sentences.
        assert!(!said.ends_with('.') && !said.contains(['(', ')']), "{said}");
        // The user deletes it.
        let rest: String = fs::read_to_string(desk.file())
            .unwrap()
            .lines()
            .enumerate()
            .fold(String::new(), |rest, (index, line)| if index == 1 { rest } else { rest + line + "\n" });
        fs::write(desk.file(), rest).unwrap();
        assert_eq!(desk.ids(), ["a", "b", "c"]);
    }
}

#[test]
fn a_file_that_is_no_journal_cannot_be_read() {
    let desk = Desk::new();
    fs::create_dir_all(desk.file()).unwrap();
    desk.journal.read(&desk.chat).unwrap_err();
    fs::remove_dir(desk.file()).unwrap();
    symlink(desk.file(), desk.file()).unwrap();
    desk.journal.read(&desk.chat).unwrap_err();
    fs::remove_file(desk.file()).unwrap();
    assert!(Command::new("mkfifo").arg(desk.file()).status().unwrap().success());
    let error = desk.journal.read(&desk.chat).unwrap_err();
    assert!(error.to_string().contains("it is a pipe"), "{error}");
}

#[test]
#[ignore = "slow"]
fn a_file_that_stays_locked_cannot_be_read() {
    let desk = Desk::new();
    desk.append(vec![opened("a")]).unwrap();
    let lock = File::open(desk.file()).unwrap();
    lock.lock().unwrap();
    let error = desk.journal.read(&desk.chat).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().ends_with("locked for 10 seconds; end or resume that process"), "{error}");
    drop(lock);
    assert_eq!(desk.ids(), ["a"]);
}

#[test]
fn thousands_of_appends_are_answered_in_order() {
    let (desk, heard) = (Desk::new(), Heard::default());
    let chats = ["a", "b", "c"].map(|name| desk.folder.path().join(name));
    for number in 0..6000 {
        let records = vec![opened(&number.to_string())];
        desk.journal.append(&chats[number % 3], records, heard.then(number));
    }
    assert!(desk.journal.settle(LIMIT));
    assert_eq!(heard.all(), (0..6000).map(|number| (number, true)).collect::<Vec<_>>());
    for (first, chat) in chats.iter().enumerate() {
        let expected: Vec<_> = (first..6000).step_by(3).map(|number| opened(&number.to_string())).collect();
        assert_eq!(desk.journal.read(chat).unwrap(), expected);
    }
}

#[test]
fn the_last_copy_leaves_nothing_unwritten() {
    let mut desk = Desk::new();
    let release = desk.hold_the_thread();
    let heard = Heard::default();
    desk.journal.append(&desk.chat, vec![opened("a")], heard.then(1));
    desk.journal.append(&desk.chat, vec![opened("b")], Result::unwrap);
    desk.journal = Journal::new(desk.folder.path().join("state/journal"));
    drop(release);
    while desk.ids() != ["a", "b"] || heard.all() != [(1, true)] {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn waiting_for_the_journal_has_a_limit() {
    let (desk, heard) = (Desk::new(), Heard::default());
    let release = desk.hold_the_thread();
    desk.journal.append(&desk.chat, vec![opened("a")], heard.then(1));
    assert!(!desk.journal.settle(Duration::from_millis(20)));
    assert_eq!(heard.all(), []);
    drop(release);
    assert!(desk.journal.settle(LIMIT));
    assert_eq!(heard.all(), [(1, true)]);
}

#[test]
fn a_panic_in_an_answer_leaves_the_others_alone() {
    let desk = Desk::new();
    desk.journal.append(&desk.chat, vec![opened("a")], |_| panic!("this is part of the test"));
    desk.append(vec![opened("b")]).unwrap();
    assert_eq!(desk.ids(), ["a", "b"]);
}

#[test]
fn an_error_names_the_file_and_nothing_is_left_of_the_append() {
    let desk = Desk::new();
    desk.fill_the_disk();
    let error = desk.append(vec![opened("a")]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().starts_with(&format!("{}: ", desk.file().display())), "{error}");
    fs::remove_file(desk.file()).unwrap();
    desk.append(vec![opened("a")]).unwrap();
    assert_eq!(desk.ids(), ["a"]);
    fs::remove_dir_all(desk.folder.path().join("state")).unwrap();
    fs::write(desk.folder.path().join("state"), "a file in place of the folder").unwrap();
    desk.append(vec![opened("a")]).unwrap_err();
}

#[test]
fn nothing_follows_a_lost_record_of_the_same_call() {
    let (desk, heard) = (Desk::new(), Heard::default());
    desk.fill_the_disk();
    let release = desk.hold_the_thread();
    let (file, then) = (desk.file(), heard.then(0));
    desk.journal.append(&desk.chat, vec![opened("x")], move |outcome| {
        // From here on there is room.
        fs::remove_file(file).unwrap();
        then(outcome);
    });
    // More than are written at once.
    for number in 1..5000 {
        desk.journal.append(&desk.chat, vec![opened(&format!("filler {number}"))], heard.then(number));
    }
    desk.journal.append(&desk.chat, vec![record("x", Event::Started)], heard.then(5000));
    desk.journal.append(&desk.chat, vec![record("x", Event::Started), opened("y")], heard.then(5001));
    desk.journal.append(&desk.chat, vec![record("y", Event::Started)], heard.then(5002));
    desk.journal.append(&desk.chat, vec![opened("z")], heard.then(5003));
    drop(release);
    assert!(desk.journal.settle(LIMIT));
    let heard = heard.all();
    assert_eq!(heard[0], (0, false));
    assert_eq!(heard[4999..], [(4999, true), (5000, false), (5001, false), (5002, false), (5003, true)]);
    assert!(desk.ids().iter().all(|id| id != "x" && id != "y"));
    desk.append(vec![record("x", Event::Started)]).unwrap();
    assert_eq!(desk.ids().last().unwrap(), "x", "a new attempt counts");
}

#[test]
fn an_append_waits_for_the_lock_and_follows_the_name() {
    let (desk, heard) = (Desk::new(), Heard::default());
    desk.append(vec![opened("a")]).unwrap();
    let old = File::open(desk.file()).unwrap();
    old.lock().unwrap();
    desk.journal.append(&desk.chat, vec![opened("b")], heard.then(1));
    assert!(!desk.journal.settle(Duration::from_millis(50)));
    let new = desk.folder.path().join("new");
    fs::copy(desk.file(), &new).unwrap();
    fs::rename(&new, desk.file()).unwrap();
    drop(old);
    assert!(desk.journal.settle(LIMIT));
    assert_eq!(desk.ids(), ["a", "b"], "the record is not in the file that was replaced");
}

#[test]
fn only_a_large_file_is_rewritten() {
    let desk = Desk::new();
    assert!(!desk.journal.compact(&desk.chat, |_| false).unwrap(), "there is no file");
    desk.append(vec![opened("a"), resolved("a", 10), opened("b"), opened("c"), resolved("c", 10)]).unwrap();
    assert!(!desk.journal.compact(&desk.chat, |_| false).unwrap(), "it is small");
    desk.append(vec![opened("d"), resolved("d", COMPACT_ABOVE as usize)]).unwrap();
    assert!(!desk.journal.compact(&desk.chat, |_| true).unwrap(), "everything is still needed");
    let newer = opened("e").to_line().replace("\"v\":1", "\"v\":9");
    let mut file = OpenOptions::new().append(true).open(desk.file()).unwrap();
    write!(file, "broken\n{newer}\n{{\"v\":1").unwrap();
    // A rewrite that was killed left this behind.
    fs::write(desk.file().with_extension("new"), "nothing").unwrap();
    assert!(desk.journal.compact(&desk.chat, |wanted| *wanted == key("c")).unwrap());
    let shorter = fs::read_to_string(desk.file()).unwrap();
    let (records, unknown) = shorter.split_once("broken\n").unwrap();
    assert_eq!(unknown, format!("{newer}\n"), "what cannot be read stays, and what was cut off goes");
    fs::write(desk.file(), records).unwrap();
    assert_eq!(desk.ids(), ["b", "c", "c"]);
    assert_eq!(fs::metadata(desk.file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(desk.file().parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
    desk.append(vec![opened("f")]).unwrap();
    assert_eq!(desk.ids(), ["b", "c", "c", "f"]);
}

/// What the other process is told: the conversation, and what it does.
const TOLD: [&str; 2] = ["FLEMMA_TEST_JOURNAL_OF", "FLEMMA_TEST_JOURNAL_NAME"];

/// Another process that appends records `NAME-0`, `NAME-1`, …, each with a large result of another call, and says which of
/// them are safe. It stops at the first error, or after 400.
struct Other {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Other {
    /// With a limit of the size of its files in units of 512 bytes.
    fn append(desk: &Desk, name: &str, limit: Option<u32>) -> Self {
        // The signal for this limit would end the process.
        let limit = limit.map_or(String::new(), |limit| format!("trap '' XFSZ; ulimit -f {limit}; "));
        let mut child = Command::new("sh")
            .args(["-c", &format!("{limit}exec \"$0\" \"$@\"")])
            .arg(env::current_exe().unwrap())
            .args(["--exact", "journal::another_process", "--ignored", "--nocapture"])
            .env(TOLD[0], &desk.chat)
            .env(TOLD[1], name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// The next record that is safe; `None` once it has stopped.
    fn safe(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "it ended without a word");
            if let Some((_, id)) = line.trim_end().split_once("safe ") {
                return Some(id.to_owned());
            }
            if line.contains("stopped") {
                return None;
            }
        }
    }

    /// Kills it; gives what else was safe by then.
    fn kill(&mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        let rest = rest.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        rest.filter_map(|line| Some(line.trim_end().split_once("safe ")?.1.to_owned())).collect()
    }

    fn all_safe(mut self) -> Vec<String> {
        std::iter::from_fn(|| self.safe()).collect()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The name of a process that rewrites the file again and again, until it is killed.
const REWRITER: &str = "rewriter";

/// What the other process does. As a test of its own it has nothing to do.
#[test]
#[ignore = "the other process of the tests in this file"]
fn another_process() {
    let (Some(chat), Some(name)) = (env::var_os(TOLD[0]), env::var(TOLD[1]).ok()) else { return };
    let chat = PathBuf::from(chat);
    let journal = Journal::new(chat.parent().unwrap().join("state/journal"));
    let append = |records| {
        let (sender, answer): (_, Receiver<io::Result<()>>) = mpsc::channel();
        journal.append(&chat, records, move |outcome| sender.send(outcome).unwrap());
        answer.recv_timeout(LIMIT).unwrap()
    };
    if name == REWRITER {
        loop {
            append(vec![opened("junk"), resolved("junk", COMPACT_ABOVE as usize)]).unwrap();
            if journal.compact(&chat, |_| false).unwrap() {
                println!("safe {REWRITER}");
            }
            io::stdout().flush().unwrap();
        }
    }
    for number in 0..400 {
        let (id, junk) = (format!("{name}-{number}"), format!("junk-{name}-{number}"));
        let records = vec![opened(&junk), resolved(&junk, 8000), opened(&id)];
        match append(records) {
            Ok(()) => println!("safe {id}"),
            Err(_) => break,
        }
        io::stdout().flush().unwrap();
    }
    println!("stopped");
}

/// The records in the journal that are not junk.
fn open_ids(desk: &Desk) -> Vec<String> {
    desk.ids().into_iter().filter(|id| !id.starts_with("junk")).collect()
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let desk = Desk::new();
    // The limit is in the middle of a record.
    let safe = Other::append(&desk, "a", Some(301)).all_safe();
    assert!((10..30).contains(&safe.len()), "{safe:?}");
    assert_eq!(open_ids(&desk), safe, "what failed has left no record");
    assert_eq!(fs::read(desk.file()).unwrap().last(), Some(&b'\n'));
    desk.append(vec![opened("b")]).unwrap();
    assert_eq!(desk.ids().last().unwrap(), "b");
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let desk = Desk::new();
    let mut safe = Vec::new();
    for round in 0..8 {
        let mut other = Other::append(&desk, &round.to_string(), None);
        for _ in 0..1 + round * 5 {
            safe.push(other.safe().unwrap());
        }
        safe.extend(other.kill());
        let found = open_ids(&desk);
        assert!(safe.iter().all(|id| found.contains(id)), "{safe:?}: {found:?}");
        desk.append(vec![opened(&format!("after {round}"))]).unwrap();
        assert_eq!(open_ids(&desk).last().unwrap(), &format!("after {round}"));
    }
}

#[test]
#[ignore = "slow"]
fn a_rewrite_that_is_killed_loses_nothing() {
    let desk = Desk::new();
    // The state folder may be anywhere.
    fs::create_dir(desk.folder.path().join("elsewhere")).unwrap();
    symlink("elsewhere", desk.folder.path().join("state")).unwrap();
    let mut safe = [Vec::new(), Vec::new()];
    let mut rewrites = 0;
    for round in 0..8 {
        let names = ["a", "b"].map(|name| format!("{name}{round}"));
        let mut appenders = names.each_ref().map(|name| Other::append(&desk, name, None));
        let mut rewriter = Other::append(&desk, REWRITER, None);
        for _ in 0..=round {
            rewriter.safe().unwrap();
            rewrites += 1;
        }
        if round % 2 == 0 {
            // In the middle of a rewrite, or just before or after it.
            thread::sleep(Duration::from_micros(137 * round));
            rewrites += rewriter.kill().len();
        }
        for (appender, safe) in appenders.iter_mut().zip(&mut safe) {
            safe.push(appender.safe().unwrap());
            safe.extend(appender.kill());
        }
        drop(rewriter);
        let found = open_ids(&desk);
        for (name, safe) in ["a", "b"].into_iter().zip(&safe) {
            let theirs: Vec<_> = found.iter().filter(|id| id.starts_with(name) && safe.contains(id)).collect();
            assert_eq!(theirs, safe.iter().collect::<Vec<_>>(), "each of them once, in order");
        }
    }
    assert!(rewrites >= 36);
    desk.append(vec![opened("junk"), resolved("junk", COMPACT_ABOVE as usize)]).unwrap();
    assert!(desk.journal.compact(&desk.chat, |_| false).unwrap());
    assert_eq!(fs::read_dir(desk.file().parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_folder_that_is_deleted_is_made_again() {
    let desk = Desk::new();
    desk.append(vec![opened("a")]).unwrap();
    fs::remove_dir_all(desk.folder.path().join("state")).unwrap();
    desk.append(vec![opened("b")]).unwrap();
    assert_eq!(desk.ids(), ["b"]);
    let mode = fs::metadata(desk.file().parent().unwrap()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    fs::remove_file(desk.file()).unwrap();
    desk.append(vec![opened("c")]).unwrap();
    assert_eq!(desk.ids(), ["c"]);
}

#[test]
fn processes_append_to_one_file_while_it_is_rewritten() {
    let desk = Desk::new();
    let others = ["a", "b"].map(|name| {
        thread::spawn({
            let other = Other::append(&desk, name, None);
            move || other.all_safe()
        })
    });
    let mut rewrites = 0;
    while !others.iter().all(thread::JoinHandle::is_finished) {
        rewrites += usize::from(desk.journal.compact(&desk.chat, |_| false).unwrap());
        desk.append(vec![opened("ours")]).unwrap();
    }
    assert!(rewrites > 0);
    let found = open_ids(&desk);
    for (other, name) in others.into_iter().zip(["a", "b"]) {
        let safe = other.join().unwrap();
        assert_eq!(safe.len(), 400);
        let theirs: Vec<_> = found.iter().filter(|id| id.starts_with(&format!("{name}-"))).cloned().collect();
        assert_eq!(theirs, safe, "each of them once, in order");
    }
}
