//! The cost of the journal: a table of times, each the best and the median of a few hundred runs.
//!
//! The first row is a write and a flush without a journal. An append must cost little more than that, and a hundred
//! appends at once must share it.

use std::{
    fs::File,
    hint::black_box,
    io::{self, Write},
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

use flemma_journal::{Actor, CallKey, Event, Record, RecordedResult, Role};
use flemma_model::{CallId, ToolInput};
use flemma_runtime::Journal;
use jiff::Timestamp;
use serde_json::json;

const RUNS: usize = 300;

/// The size of a result.
const OUTPUT: usize = 4000;

fn main() {
    // On the disk of the build: the folder for temporary files may be in memory.
    if let Err(error) = measure(Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        println!("the journal could not be measured: {error}");
    }
}

fn measure(disk: &Path) -> io::Result<()> {
    let folder = tempfile::tempdir_in(disk)?;
    println!("{:<62}{:>12}{:>12}", "", "best", "median");

    let line = started().to_line();
    let mut file = File::create(folder.path().join("plain"))?;
    row("one write and one flush, without a journal", || {
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data())
    })?;

    let journal = Journal::new(folder.path().join("journal"));
    let chat = folder.path().join("notes.chat");
    row("append: a start, until it is safe", || append(&journal, &chat, 1))?;
    row("append: a hundred starts at once, until the last is safe", || append(&journal, &chat, 100))?;
    row("append: a result of 4 KB, until the caller goes on", || {
        journal.append(&chat, vec![black_box(resolved())], drop);
        Ok(())
    })?;
    if !journal.settle(Duration::from_secs(60)) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let size = std::fs::metadata(journal.file(&chat))?.len();
    row(&format!("read: {:.1} MB", size as f64 / 1e6), || journal.read(&chat).map(|records| drop(black_box(records))))
}

/// Appends that many records, each on its own, and waits for the last answer.
fn append(journal: &Journal, chat: &Path, count: usize) -> io::Result<()> {
    let (sender, answers) = mpsc::channel();
    for _ in 0..count {
        let sender = sender.clone();
        // The receiver waits for every answer.
        journal.append(chat, vec![started()], move |outcome| drop(sender.send(outcome)));
    }
    drop(sender);
    answers.into_iter().collect()
}

fn started() -> Record {
    record(Event::Started)
}

fn resolved() -> Record {
    record(Event::Resolved(RecordedResult { output: "x".repeat(OUTPUT), ..RecordedResult::default() }))
}

fn record(event: Event) -> Record {
    let input = ToolInput::Json(json!({ "label": "tests", "command": "cargo test", "timeout": null }));
    let key = CallKey::of(&CallId::from("toolu_01A09q90qw90lq917835lq9"), "bash", &input);
    let by = Actor { role: Role::User, process: std::process::id(), host: "laptop".into() };
    Record { at: Timestamp::UNIX_EPOCH, conversation: "/home/you/notes.chat".into(), key, event, by }
}

fn row(name: &str, mut run: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort();
    let (best, median) = (times[0], times[RUNS / 2]);
    println!("{name:<62}{:>12}{:>12}", format!("{best:.1?}"), format!("{median:.1?}"));
    Ok(())
}
