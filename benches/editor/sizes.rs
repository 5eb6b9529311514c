//! Inputs of sizes that nobody has on purpose: the longest time without a response to keys.

use std::fmt::Write as _;

use serde_json::json;

use super::{
    anthropic::Stream,
    http::Reply,
    lab::{Lab, Measured, ms, row, title},
};

/// Measures a file or a reply of each size.
pub fn measure() {
    title("sizes, the longest stall", &["to open", "its CPU", "to go on", "its CPU"]);
    for calls in [100, 200, 400] {
        with_file(&format!("{calls} approved calls of bash"), &calls_of(calls, "bash", "approved", &command(20)));
    }
    for calls in [250, 500] {
        let input = json!({"label": "look", "path": "notes.md"}).to_string();
        with_file(&format!("{calls} approved calls of read"), &calls_of(calls, "read", "approved", &input));
    }
    let passed = "pending kind=approval executor=server expires=2020-01-01T00:00:00Z";
    with_file("3,000 calls with a passed deadline", &calls_of(3_000, "bash", passed, &command(20)));
    with_file("2,000 open calls of 4 KB", &calls_of(2_000, "bash", "pending", &command(4_000)));
    with_reply(
        "a reply with 40 calls of 31 KB",
        &(0..40).fold(Stream::new(), |reply, call| {
            reply.tool_use(&format!("toolu_{call}"), "bash", &pieces(&command(31_000)))
        }),
    );
    with_reply("a reply of one line of 5 MB", &Stream::new().text(&pieces(&"word ".repeat(1_000_000))));
    let thoughts = "so\n".repeat(2_500_000);
    with_reply("2,500,000 lines of thinking", &Stream::new().thinking(&pieces(&thoughts), "sig"));
    let options: Vec<String> = (0..20_000).map(|option| format!("Option {option}")).collect();
    let question = json!({"label": "ask", "question": "Which?", "options": options, "default": null}).to_string();
    with_reply("a question with 20,000 options", &Stream::new().tool_use("toolu_1", "ask_user", &pieces(&question)));
    with_file("one line of 10 MB", &format!("@You:\n{}\n", "word ".repeat(2_000_000)));
    with_plain("one line of 10 MB as text", &format!("@You:\n{}\n", "word ".repeat(2_000_000)));
    let key = format!("{{\"{}\":1}}", "k".repeat(2_000_000));
    with_file("a JSON key of 2 MB", &calls_of(1, "bash", "pending", &key));
    with_reply("a call with a JSON key of 2 MB", &Stream::new().tool_use("toolu_1", "bash", &pieces(&key)));
    let references: Vec<String> = (0..100_000).map(|at| format!("@./notes{at}.md")).collect();
    with_file("100,000 references", &format!("@You:\n{}\n", references.join("\n")));
    with_file("100,000 references in a line", &format!("@You:\n{}\n", references.join(" ")));
    let wide = format!("pending note=\"{}\"", "x".repeat(1_000_000));
    with_file("a status attribute of 1 MB", &calls_of(1, "bash", &wide, &command(20)));
}

/// Opens the file, and presses the key that sends.
fn with_file(name: &str, text: &str) {
    if skipped(name) {
        return;
    }
    let files = [("notes.chat", text), ("notes.md", "Notes.\n")];
    let mut lab = Lab::start(&files, false, [reply(&Stream::new().text(&["Yes."]))]);
    let opened = lab.try_measure("Probe.open('notes.chat', Probe.is_parsed)");
    let went_on = opened.as_ref().and_then(|_| lab.try_measure("Probe.press('G$<C-]>')"));
    report(name, &[opened, went_on]);
}

/// Opens a text that is no conversation, and goes to its end: what Neovim itself does.
fn with_plain(name: &str, text: &str) {
    if skipped(name) {
        return;
    }
    let mut lab = Lab::start(&[("notes.txt", text)], false, []);
    let opened = lab.try_measure("Probe.open('notes.txt', function() return true end)");
    let went_on = opened.as_ref().and_then(|_| lab.try_measure("Probe.press('G$')"));
    report(name, &[opened, went_on]);
}

/// Sends a short file, and gets the reply.
fn with_reply(name: &str, stream: &Stream) {
    if skipped(name) {
        return;
    }
    let mut lab = Lab::start(&[("notes.chat", "@You:\nGo on.\n")], true, [reply(stream)]);
    report(name, &[Some(Measured::of("stall", 0.0).with("busy", 0.0)), lab.try_measure("Probe.send_to_rest()")]);
}

/// Whether the environment asks for other rows only.
fn skipped(name: &str) -> bool {
    std::env::var("SIZES").is_ok_and(|part| !name.contains(&part))
}

/// The CPU time of the main thread says what Flemma does also on a machine that does other things.
fn report(name: &str, found: &[Option<Measured>]) {
    let columns = found.iter().flat_map(|found| {
        let time = |name: &str| found.as_ref().map_or_else(|| "no answer".to_owned(), |found| ms(found.get(name)));
        ["stall", "busy"].map(time)
    });
    row(name, &columns.collect::<Vec<_>>());
}

/// A file whose last reply has so many calls, each with this status and this input.
fn calls_of(count: usize, tool: &str, status: &str, input: &str) -> String {
    let mut text = "@You:\nGo on.\n\n@Assistant:\n".to_owned();
    for call in 0..count {
        let _ = writeln!(text, "**Tool Use:** `{tool}` (`toolu_{call}`)\n\n```json\n{input}\n```\n");
    }
    text.push_str("@You:\n");
    for call in 0..count {
        let _ = writeln!(text, "**Tool Result:** `toolu_{call}`\n\n```flemma:tool status={status}\n```\n");
    }
    text
}

/// The input of `bash` for a harmless command of about so many bytes.
fn command(bytes: usize) -> String {
    let words = "some words to print ".repeat(bytes / 20);
    json!({"label": "print", "command": format!("echo {words}")}).to_string()
}

/// A text as it arrives, in pieces of 4 KB.
fn pieces(text: &str) -> Vec<&str> {
    text.as_bytes().chunks(4096).map(|piece| std::str::from_utf8(piece).unwrap()).collect()
}

fn reply(stream: &Stream) -> Reply {
    stream.clone().end("end_turn").events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str()))
}
