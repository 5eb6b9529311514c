//! The cost of tools: a table of times, each the best of a few runs.
//!
//! Compare the first rows: counting the lines of a long output must take as long as reading its memory.

use std::{
    fs,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use flemma_text::truncate::{Limits, count_lines, truncate_head, truncate_tail};
use flemma_tools::{Context, Executor, Registry, Runner};
use serde_json::{Value, json};

const RUNS: usize = 5;

/// The number of files in the project that is searched.
const FILES: usize = 20_000;

fn main() {
    println!("{:<62}{:>12}", "", "best of 5");
    let output = "0123456789 0123456789 0123456789 abcdef\n".repeat((100 << 20) / 40);
    row("reading 100 MB of memory", best(|| black_box(sum(black_box(output.as_bytes())))));
    row("counting the lines of 100 MB", best(|| black_box(count_lines(black_box(output.as_bytes())))));
    row("truncate_head, 100 MB", best(|| black_box(truncate_head(black_box(&output), Limits::default()).total_lines)));
    row("truncate_tail, 100 MB", best(|| black_box(truncate_tail(black_box(&output), Limits::default()).total_lines)));
    let mut bytes = output.into_bytes();
    bytes.iter_mut().step_by(40).for_each(|byte| *byte = 0xFF);
    let tail = || truncate_tail(black_box(&bytes), Limits::default()).total_lines;
    row("truncate_tail, 100 MB that is no UTF-8", best(|| black_box(tail())));
    drop(bytes);

    let Ok(folder) = tempfile::tempdir() else {
        return println!("the folder for the project to search could not be created");
    };
    if let Err(error) = project(folder.path()) {
        return println!("the project to search could not be created: {error}");
    }
    let tools = Tools::new(folder.path());
    let grep = |pattern: &str| json!({ "pattern": pattern });
    row(&format!("grep, a word in every one of {FILES} files"), best(|| tools.call("grep", grep("number"))));
    row(&format!("grep, a word in none of {FILES} files"), best(|| tools.call("grep", grep("nowhere"))));
    row(&format!("grep, an expression, {FILES} files"), best(|| tools.call("grep", grep(r"\w+ 19999 \w+|x{3,}y"))));
    row(&format!("find, one of {FILES} files"), best(|| tools.call("find", json!({ "pattern": "file-19999.txt" }))));
    row("ls, 200 names", best(|| tools.call("ls", json!({ "path": "000" }))));
    row("calculator", best(|| tools.call("calculator", json!({ "expression": "sqrt(2)^2 + 1/3" }))));
}

/// The cost of touching every byte.
fn sum(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    sum as usize + rest.len()
}

/// Files of about one kilobyte, 200 per folder.
fn project(root: &Path) -> std::io::Result<()> {
    for index in 0..FILES {
        let folder = root.join(format!("{:03}", index / 200));
        if index % 200 == 0 {
            fs::create_dir(&folder)?;
        }
        let text = format!("this is a line with number {index} in it\n").repeat(25);
        fs::write(folder.join(format!("file-{index}.txt")), text)?;
    }
    Ok(())
}

/// The built-in tools, run in the same way as by a conversation.
struct Tools {
    registry: Registry,
    context: Context,
    runtime: tokio::runtime::Runtime,
}

impl Tools {
    fn new(folder: &Path) -> Self {
        let context = Context::new(folder.to_owned(), Duration::from_secs(60), folder.join("outputs"));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        #[allow(clippy::expect_used)]
        Self { registry: Registry::with_builtins(), context, runtime: runtime.expect("a runtime") }
    }

    /// The size of the call's result.
    fn call(&self, name: &str, input: Value) -> usize {
        let Some(Executor::Server(Runner::Native(tool))) = self.registry.get(name).map(|tool| tool.executor.clone())
        else {
            panic!("there is no tool {name}")
        };
        let rendered = self.runtime.block_on(tool.run(input, self.context.clone())).render();
        assert!(!rendered.is_error, "{}", rendered.text);
        rendered.text.len()
    }
}

fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let time = || {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    std::iter::repeat_with(time).take(RUNS).min().unwrap_or_default()
}

fn row(name: &str, time: Duration) {
    println!("{name:<62}{:>12}", format!("{time:.1?}"));
}
