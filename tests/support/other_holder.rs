//! Other processes that hold a conversation, or try to.

use std::{
    env,
    fs::OpenOptions,
    io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use flemma_runtime::{
    Owner,
    holder::{BufferLocks, Hold},
};
use rustix::fs::{FlockOperation, fcntl_lock};

/// How long one holds a conversation unless it is ended before.
const PATIENCE: Duration = Duration::from_secs(40);

/// What a child process is told: what it does, the folder of the locks, and the conversation.
const TOLD: [&str; 3] = ["FLEMMA_TEST_PART", "FLEMMA_TEST_LOCKS", "FLEMMA_TEST_CONVERSATION"];

/// Another process, which ends when this is dropped.
pub struct Other {
    child: Child,
    heard: BufReader<PipeReader>,
}

impl Other {
    /// A process that holds a conversation; `locks` is the folder of its user's locks.
    pub fn hold(locks: &Path, file: &Path) -> Self {
        let (heard, says) = io::pipe().unwrap();
        let child = spawn("hold", locks, file, says);
        let mut other = Self { child, heard: BufReader::new(heard) };
        other.wait_for("holding");
        other
    }

    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert_ne!(self.heard.read_line(&mut line).unwrap(), 0, "the other process has ended");
        }
    }

    /// What its locks say.
    pub fn owner(&self) -> Owner {
        Owner { process: self.child.id(), ..Owner::this() }
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Tries to hold a conversation for a buffer of this process that nothing is known of.
pub fn hold(locks: &Path, file: &Path) -> Hold {
    BufferLocks::default().hold(locks, file)
}

/// A process that does its part, and says so.
pub fn spawn(part: &str, locks: &Path, file: &Path, says: PipeWriter) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "other_holder::another_process", "--ignored", "--nocapture"])
        .envs([(TOLD[0], part.as_ref()), (TOLD[1], locks.as_os_str()), (TOLD[2], file.as_os_str())])
        .stdin(Stdio::null())
        .stdout(says)
        .spawn()
        .unwrap()
}

/// What the other processes do. As a test of its own it has nothing to do.
#[test]
#[ignore = "the other processes of the tests in this file"]
fn another_process() {
    let [Some(part), Some(locks), Some(file)] = TOLD.map(env::var_os) else { return };
    let (locks, file) = (PathBuf::from(locks), PathBuf::from(file));
    if part == "compete" {
        return compete(&locks, &file);
    }
    let held = hold(&locks, &file);
    assert!(matches!(held, Hold::Ours(_)), "{held:?}");
    say("holding");
    thread::sleep(PATIENCE);
    drop(held);
}

fn say(line: &str) {
    println!("\n{line}");
    io::stdout().flush().unwrap();
}

/// Holds the conversation again and again. A second kernel lock, of another kind, knows whether it is the only one.
fn compete(locks: &Path, file: &Path) {
    // Opened first, so that a kill ends this lock before that of the holder.
    let witness = OpenOptions::new().read(true).write(true).open(file.with_extension("witness")).unwrap();
    loop {
        if let Hold::Ours(ours) = hold(locks, file) {
            if fcntl_lock(&witness, FlockOperation::NonBlockingLockExclusive).is_err() {
                say("two holders");
            }
            say(&format!("held by {}", std::process::id()));
            thread::sleep(Duration::from_micros(u64::from(fastrand::u16(..2000))));
            fcntl_lock(&witness, FlockOperation::Unlock).unwrap();
            drop(ours);
        }
        thread::sleep(Duration::from_micros(u64::from(fastrand::u16(..500))));
    }
}
