//! The lock of a buffer ends with its reply or tool, whatever happens to the buffer.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, init, prose, said},
    http::{Gate, Reply, Server},
    support::{Nvim, Options},
};

/// How many timers turn spinners.
fn spinners(nvim: &mut Nvim) -> u64 {
    let count = nvim.lua(
        "local count = 0
         vim.uv.walk(function(handle)
           if handle:get_type() == 'timer' and handle:is_active() and handle:get_repeat() == 100 then count = count + 1 end
         end)
         return count",
        &[],
    );
    count.as_u64().unwrap_or(0)
}

/// A reply that stops after its first words.
fn held(gate: &Gate) -> Reply {
    let stream = Stream::new().text(&["first words"]);
    stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hold(gate)
}

fn start(options: &str) -> (Chat, Gate) {
    let gate = Gate::new();
    let mut chat = Chat::start(&Setup { lua: options, ..Setup::default() }, [held(&gate), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("first words"));
    (chat, gate)
}

#[test]
fn reloading_the_file_stops_the_reply_and_unlocks_the_buffer() {
    let (mut chat, _gate) = start("");
    assert_eq!(spinners(&mut chat.nvim), 1);
    // There is no call at the cursor, and there cannot be one yet.
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("why not", |nvim| said(nvim).contains("a reply or a tool is still running"));
    chat.nvim.command("edit!");
    chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("both were stopped"));
    chat.nvim.wait_for("the spinner's timer to rest", |nvim| spinners(nvim) == 0);
    chat.nvim.input("Gotyped<Esc>");
    chat.wait_for_text("@You:\nHello\ntyped\n");
    // The conversation continues from there and ends unlocked.
    chat.send_until("fine");
    chat.nvim.input("Gimore<Esc>");
    chat.nvim.wait_for("typed text", |nvim| nvim.text().ends_with("more\n"));
}

#[test]
fn reading_the_file_anew_stops_a_tool_as_well() {
    let input = json!({"label": null, "command": "sleep 300", "timeout": null});
    let setup = Setup { options: "tools = { auto_approve = { 'bash' } }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the tool", |nvim| nvim.text().contains("status=running"));
    // The file is written when the tool starts.
    chat.nvim.wait_for("the file", |nvim| nvim.lua("return vim.bo.modified", &[]) == false);
    chat.nvim.command("edit!");
    chat.wait_until_idle();
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("The user cancelled this call while it was running."));
}

#[test]
fn a_buffer_of_another_filetype_is_let_go() {
    let (mut chat, _gate) = start("");
    chat.nvim.command("set filetype=text");
    chat.nvim.wait_for("the buffer to be the user's", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true);
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('<C-]>', 'n')", &[]), "");
    chat.nvim.input("ggdd");
    chat.nvim.wait_for("an ordinary buffer", |nvim| nvim.text().starts_with("Hello\n"));
}

#[test]
fn what_is_written_on_leaving_says_that_the_reply_was_cut_off() {
    let (mut chat, _gate) = start("");
    let path = chat.nvim.work().join("notes.chat");
    chat.nvim.input(":wq<CR>");
    chat.nvim.wait_for_exit();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("first words\n\n<!-- flemma:aborted -->\n"), "{text}");
}

#[test]
fn a_selection_is_not_moved_by_what_arrives() {
    let gate = Gate::new();
    let stream = Stream::new().text(&["one\n", "two\n", "three\n", "four"]).end("end_turn");
    let reply = stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == 3 { reply.hold(&gate) } else { reply }
    });
    let mut chat = Chat::start(&Setup::default(), [reply]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("two");
    chat.nvim.input("V");
    let before = chat.nvim.cursor();
    gate.open();
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("four"));
    chat.wait_until_idle();
    assert_eq!((chat.nvim.cursor(), chat.nvim.mode().as_str()), (before, "V"));
}

#[test]
fn sending_from_the_middle_in_insert_mode_follows_the_reply() {
    let text = format!("@You:\nHello\n{}", "filler\n".repeat(60));
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [prose(&["one\ntwo"])]);
    chat.nvim.input("2GA there<C-]>");
    chat.nvim.wait_for_screen("two");
    chat.wait_until_idle();
    let last = chat.nvim.lines(0).len() as u64;
    assert_eq!(chat.nvim.cursor().0, last);
}

#[test]
fn a_result_and_the_reply_after_it_are_two_steps_of_undo() {
    let input = json!({"path": "notes.txt", "label": null, "offset": null, "limit": null});
    let setup = Setup { files: &[("notes.txt", "text\n")], ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "read", &input), prose(&["fine"])]);
    chat.send_until("fine");
    chat.nvim.input("u");
    chat.nvim.wait_for("the reply to go", |nvim| !nvim.text().contains("fine"));
    assert!(chat.nvim.text().ends_with("```\ntext\n```\n"), "{}", chat.nvim.text());
    chat.nvim.input("u");
    chat.nvim.wait_for("the result to go", |nvim| !nvim.text().contains("Tool Result"));
    assert!(chat.nvim.text().contains("**Tool Use:** `read`"));
    chat.nvim.input("u");
    chat.wait_for_text("@You:\nHello\n");
}

#[test]
fn the_users_own_modifiable_is_restored() {
    // The user's own `nomodifiable` is not the plugin's lock, before and after a turn.
    let (mut chat, _gate) = start("");
    chat.nvim.input("<C-c>");
    chat.wait_until_idle();
    chat.nvim.command("setlocal nomodifiable");
    chat.nvim.interrupt_until("the answer", |nvim| said(nvim).contains("nothing is running here"));
    assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false);
    // What sets it during a reply does not lock the buffer for good.
    let (mut chat, gate) = start("");
    chat.nvim.lua("vim.bo.modifiable = true vim.bo.modifiable = false", &[]);
    gate.open();
    chat.wait_until_idle();
}

#[test]
fn what_is_typed_after_the_key_is_not_sent() {
    let mut nvim = Nvim::start(&Options { files: &[("notes.chat", "@You:\nHello\n")], ..Options::default() });
    let server = Server::start([prose(&["fine"])]);
    nvim.lua(&init(&server.base_url(), ""), &[]);
    // The journal of the file is not read yet.
    nvim.lua(
        "vim.env.ANTHROPIC_API_KEY = 'test-key'
         vim.cmd('edit notes.chat')
         require('flemma.core').send_or_execute()
         vim.cmd('silent! normal! Gotyped')",
        &[],
    );
    let request = &server.wait_for_requests(1)[0];
    assert!(!request.json()["messages"].to_string().contains("typed"));
    nvim.wait_for("the reply", |nvim| nvim.text().contains("@You:\nHello\n\n@Assistant:\nfine"));
    // With nothing to send, it is given back.
    let mut nvim = Nvim::start(&Options { files: &[("notes.chat", "@You:\n")], ..Options::default() });
    nvim.lua(&init(&server.base_url(), ""), &[]);
    nvim.lua("vim.cmd('edit notes.chat') require('flemma.core').send_or_execute()", &[]);
    nvim.wait_for("why not", |nvim| said(nvim).contains("Nothing to send"));
    assert_eq!(nvim.lua("return vim.bo.modifiable", &[]), true);
}
