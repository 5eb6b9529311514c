//! Memory that is not freed.

use super::{
    anthropic::Stream,
    conversation::conversation,
    http::Reply,
    lab::{Lab, file, row, title},
};

const TIMES: usize = 50;

/// Repeatedly opens, sends and closes a conversation. The memory of the editor must not grow.
pub fn measure() {
    title("memory of the editor, 80,000 lines opened, sent, closed", &["at first", "after 10", "after 50"]);
    let text = file(&conversation(80_000)) + "\n@You:\nGo on.\n";
    let reply = || {
        let stream = Stream::new().text(&["Some words.\n"; 100]).end("end_turn");
        stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str()))
    };
    let replies: Vec<Reply> = (0..TIMES).map(|_| reply()).collect();
    let mut lab = Lab::start(&[("notes.chat", &text)], false, replies);
    let mut columns = vec![memory(&mut lab)];
    for time in 1..=TIMES {
        // The reply is in the file.
        std::fs::write(lab.nvim.work().join("notes.chat"), &text).expect("the conversation is written");
        lab.measure("Probe.open('notes.chat', Probe.is_parsed)");
        lab.measure("Probe.send()");
        lab.nvim.command("bwipeout!");
        if time == 10 || time == TIMES {
            columns.push(memory(&mut lab));
        }
    }
    row("Flemma", &columns);
}

fn memory(lab: &mut Lab) -> String {
    format!("{:.0} MiB", lab.memory())
}
