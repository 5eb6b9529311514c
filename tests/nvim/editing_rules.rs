//! The rules of `flemma-editing-rules`: what editing commands do while a reply arrives, and afterwards.

use std::{fs, path::Path};

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, KEY, Setup, init, prose, said},
    http::{Gate, Reply, Server},
    support::{Nvim, Options},
};

/// A reply whose end waits until the gate is open.
fn gated(gate: &Gate, first: &str, rest: &str) -> Reply {
    let stream = Stream::new().text(&[first, rest]).end("end_turn");
    stream.events().iter().fold(Reply::stream(), |reply, event| {
        let reply = if event.contains(rest) { reply.hold(gate) } else { reply };
        reply.chunk(event.as_str())
    })
}

/// A reply of which the first half has arrived.
fn replying(lua: &str, gate: &Gate) -> Chat {
    let setup = Setup { lua, ..Setup::default() };
    let mut chat = Chat::start(&setup, [gated(gate, "half ", "a reply"), prose(&["two"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("half"));
    chat
}

const SENT: &str = "@You:\nHello\n";
const WHOLE: &str = "@You:\nHello\n\n@Assistant:\nhalf a reply\n\n@You:\n\n";
const CUT_OFF: &str = "@You:\nHello\n\n@Assistant:\nhalf \n\n<!-- flemma:aborted -->\n\n@You:\n\n";

/// Nothing asked a question or threw.
fn nothing_odd(chat: &mut Chat) {
    assert_eq!(chat.nvim.request("nvim_get_mode", &[])["blocking"], false);
    let messages = said(&mut chat.nvim);
    for odd in ["E5108", "traceback", "internal error", "W11", "W12", "W13"] {
        assert!(!messages.contains(odd), "{messages}");
    }
}

/// The reply ends, and is in the buffer and in this file as a whole.
fn goes_on(chat: &mut Chat, gate: &Gate, file: &str) {
    gate.open();
    chat.wait_for_text(WHOLE);
    chat.wait_until_idle();
    chat.nvim.wait_for("the reply in the file", |nvim| nvim.file(file) == WHOLE);
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false);
    chat.nvim.command("checktime");
    nothing_odd(chat);
}

#[test]
fn a_write_keeps_what_has_arrived_and_the_reply_goes_on() {
    for write in ["write", "update", "wall", "write!"] {
        let gate = Gate::new();
        let mut chat = replying("", &gate);
        chat.nvim.command(&format!("silent {write}"));
        assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\n\n@Assistant:\nhalf \n", "{write}");
        goes_on(&mut chat, &gate, "notes.chat");
    }
}

#[test]
fn commands_that_need_a_bang_are_refused_and_stop_nothing() {
    let gate = Gate::new();
    let mut chat = replying("", &gate);
    for (command, code) in [
        ("bdelete", "E89"),
        ("bwipeout", "E89"),
        ("bunload", "E89"),
        ("edit", "E37"),
        ("undo", "E21"),
        ("normal! dd", "E21"),
        ("read notes.chat", "E21"),
    ] {
        chat.nvim.lua("vim.v.errmsg = ''", &[]);
        chat.nvim.command(&format!("silent! {command}"));
        let refused = chat.nvim.lua("return vim.v.errmsg", &[]);
        assert!(refused.as_str().unwrap().contains(code), "{command}: {refused}");
        assert_eq!(chat.nvim.lua("return vim.bo.modifiable", &[]), false, "{command}");
    }
    goes_on(&mut chat, &gate, "notes.chat");
}

#[test]
fn going_back_in_time_stops_a_reply_with_a_warning() {
    for keys in ["g-", ":earlier 1f<CR>"] {
        let mut chat = replying("", &Gate::new());
        chat.nvim.input(keys);
        chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("stopped"));
        chat.wait_until_idle();
        nothing_odd(&mut chat);
        assert!(chat.nvim.text().starts_with(SENT), "{}", chat.nvim.text());
    }
}

#[test]
fn a_view_that_was_saved_during_a_reply_does_not_lock() {
    let gate = Gate::new();
    let mut first = replying("", &gate);
    first.nvim.command("set viewoptions+=options,localoptions");
    first.nvim.command("silent mkview 1");
    let view = "vim.cmd('loadview 1')";
    first.nvim.lua(view, &[]);
    goes_on(&mut first, &gate, "notes.chat");
    first.nvim.lua(view, &[]);
    first.nvim.input("GAMore");
    first.nvim.wait_for("typed text", |nvim| nvim.text().ends_with("More\n"));
    first.nvim.input("<Esc>:wqall<CR>");
    first.nvim.wait_for_exit();
    let file = first.nvim.work().join("notes.chat");
    let mut chat = next(&first, &[file.to_str().unwrap()], [prose(&["two"])]);
    chat.nvim.lua(view, &[]);
    chat.nvim.input("GA and more<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("More and more\n\n@Assistant:\ntwo"));
    chat.wait_until_idle();
    nothing_odd(&mut chat);
}

#[test]
fn a_request_without_a_reply_ends_with_its_buffer() {
    for leave in ["bdelete", "bwipeout", "edit", "quit", "qall"] {
        let gate = Gate::new();
        let stream = Stream::new().text(&["late"]).end("end_turn");
        let reply =
            stream.events().iter().fold(Reply::stream().hold(&gate), |reply, event| reply.chunk(event.as_str()));
        let mut chat = Chat::start(&Setup::default(), [reply, prose(&["two"])]);
        chat.nvim.input("GA again<C-]>");
        chat.server.wait_for_requests(1);
        let sent = "@You:\nHello again\n";
        chat.nvim.wait_for("the message in the file", |nvim| {
            nvim.file("notes.chat") == sent && nvim.lua("return vim.bo.modified", &[]) == false
        });
        chat.nvim.input("<Esc>");
        let file = chat.nvim.work().join("notes.chat");
        let _ = chat.nvim.try_lua("vim.cmd((...))", &[leave.into()]);
        if leave.starts_with('q') {
            chat.nvim.wait_for_exit();
        } else {
            chat.nvim.wait_for("why it was stopped", |nvim| said(nvim).contains("both were stopped"));
            // It can be sent again.
            chat.nvim.command("silent edit notes.chat");
            chat.nvim.wait_for("the text", |nvim| nvim.text() == sent);
            chat.wait_until_idle();
            chat.send_until("@Assistant:\ntwo");
            nothing_odd(&mut chat);
        }
        assert!(fs::read_to_string(file).unwrap().starts_with(sent), "{leave}");
    }
}

#[test]
fn leaving_with_a_write_marks_the_reply_as_cut_off() {
    for leave in ["wqall", "xall", "wq", "xit", "normal! ZZ"] {
        let mut chat = replying("", &Gate::new());
        let file = chat.nvim.work().join("notes.chat");
        let _ = chat.nvim.try_lua("vim.cmd((...))", &[leave.into()]);
        chat.nvim.wait_for_exit();
        assert_eq!(fs::read_to_string(file).unwrap(), CUT_OFF, "{leave}");
    }
}

#[test]
fn a_reply_follows_its_buffer_to_a_new_name() {
    let gate = Gate::new();
    let mut chat = replying("", &gate);
    chat.nvim.command("silent saveas copy.chat");
    goes_on(&mut chat, &gate, "copy.chat");
    assert_eq!(chat.nvim.file("notes.chat"), SENT, "the old file has what was sent");
    // A name alone.
    let gate = Gate::new();
    let mut chat = replying("", &gate);
    chat.nvim.command("silent file copy.chat");
    goes_on(&mut chat, &gate, "copy.chat");
    assert_eq!(chat.nvim.file("notes.chat"), SENT);
    // A file that is there already is not overwritten silently.
    let gate = Gate::new();
    let mut chat = replying("", &gate);
    fs::write(chat.nvim.work().join("copy.chat"), "theirs\n").unwrap();
    chat.nvim.command("silent file copy.chat");
    gate.open();
    chat.wait_for_text(WHOLE);
    chat.wait_until_idle();
    chat.nvim.wait_for("why it is not written", |nvim| said(nvim).contains("copy.chat was not written"));
    assert_eq!((chat.nvim.file("copy.chat"), chat.nvim.file("notes.chat")), ("theirs\n".into(), SENT.into()));
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true);
}

/// The next editor of the same user, in the same folder.
fn next(first: &Chat, arguments: &[&str], replies: impl IntoIterator<Item = Reply>) -> Chat {
    let server = Server::start(replies);
    let (state, work) = (first.nvim.folder("state"), first.nvim.work());
    // A session names folders below the home.
    let home = work.parent().unwrap().to_str().unwrap();
    let nvim = Nvim::start(&Options {
        arguments,
        init: &init(&server.base_url(), ""),
        environment: &[("ANTHROPIC_API_KEY", KEY), ("XDG_STATE_HOME", state.to_str().unwrap()), ("HOME", home)],
        ..Options::default()
    });
    Chat { nvim, server }
}

#[test]
fn a_session_brings_conversations_back_unlocked_and_at_rest() {
    for options in ["", "set sessionoptions+=localoptions,options | "] {
        let gate = Gate::new();
        let mut first = replying("", &gate);
        first.nvim.command("silent vsplit other.txt | wincmd p");
        first.nvim.command(&format!("{options}mksession!"));
        let _ = first.nvim.try_lua("vim.cmd('silent write | qall!')", &[]);
        first.nvim.wait_for_exit();
        let session = first.nvim.work().join("Session.vim");
        let mut chat = next(&first, &["-S", session.to_str().unwrap()], [prose(&["two"])]);
        chat.wait_for_text(CUT_OFF);
        chat.wait_until_idle();
        assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 2);
        assert_eq!(chat.server.requests().len(), 0, "nothing is sent by itself");
        chat.nvim.input("GAMore<C-]>");
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\ntwo"));
        chat.wait_until_idle();
        nothing_odd(&mut chat);
    }
}

#[test]
fn closing_one_of_several_windows_stops_nothing() {
    for (open, close) in [("split", "quit"), ("vsplit", "close"), ("tab split", "tabclose"), ("tab split", "quit")] {
        let gate = Gate::new();
        let mut chat = replying(&format!("vim.cmd('{open}')"), &gate);
        chat.nvim.command(close);
        assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 1);
        goes_on(&mut chat, &gate, "notes.chat");
    }
    // Both show it.
    let gate = Gate::new();
    let mut chat = replying("vim.cmd('vsplit')", &gate);
    gate.open();
    chat.nvim.wait_for("both windows", |nvim| nvim.screen().iter().any(|row| row.matches("half a reply").count() == 2));
}

#[test]
fn several_conversations_stream_at_once_without_mixing() {
    let gates = [Gate::new(), Gate::new()];
    let setup = Setup { lua: "vim.o.hidden = true", files: &[("b.chat", "@You:\nYou\n")], ..Setup::default() };
    let replies = [gated(&gates[0], "one ", "first"), gated(&gates[1], "two ", "second")];
    let mut chat = Chat::start(&setup, replies);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the first", |nvim| nvim.text().contains("one"));
    chat.nvim.command("edit b.chat");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the second", |nvim| nvim.text().contains("two"));
    let overview = "return require('flemma.statusline').overview()";
    assert_eq!(chat.nvim.lua(overview, &[]), "2 working");
    gates[0].open();
    chat.nvim.wait_for("the end of the first", |nvim| nvim.lua(overview, &[]) == "1 working");
    // A cancel is for the conversation in which it was given.
    chat.nvim.interrupt_until("the end of the second", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true);
    chat.wait_for_text("@You:\nYou\n\n@Assistant:\ntwo \n\n<!-- flemma:aborted -->\n\n@You:\n\n");
    chat.wait_until_idle();
    chat.nvim.wait_for("the files", |nvim| {
        nvim.file("notes.chat") == "@You:\nHello\n\n@Assistant:\none first\n\n@You:\n\n"
            && nvim.file("b.chat") == nvim.text()
    });
    nothing_odd(&mut chat);
}

#[test]
fn undo_waits_for_the_end_and_takes_back_the_whole_reply() {
    let gate = Gate::new();
    let mut chat = replying("", &gate);
    chat.nvim.input("u<C-r>U");
    gate.open();
    chat.wait_for_text(WHOLE);
    chat.wait_until_idle();
    chat.nvim.input("u");
    chat.wait_for_text(SENT);
    chat.nvim.input("<C-r>");
    chat.wait_for_text(WHOLE);
    // What was written after it comes first.
    chat.nvim.input("GAmore<Esc>u");
    chat.wait_for_text(WHOLE);
    chat.nvim.input("u");
    chat.wait_for_text(SENT);
}

#[test]
fn a_file_changed_by_others_during_a_reply_is_kept() {
    for settings in ["set noautoread", "set autoread"] {
        let gate = Gate::new();
        let mut chat = replying(&format!("vim.cmd('{settings}')"), &gate);
        let file = chat.nvim.work().join("notes.chat");
        fs::write(&file, "@You:\ntheirs, which is longer\n").unwrap();
        gate.open();
        chat.wait_for_text(WHOLE);
        chat.wait_until_idle();
        chat.nvim.wait_for("why it is not written", |nvim| said(nvim).contains("notes.chat was not written"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "@You:\ntheirs, which is longer\n", "{settings}");
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true);
        nothing_odd(&mut chat);
    }
}

#[test]
fn another_buffer_in_the_window_hides_the_conversation() {
    // With 'hidden', which is the default, the reply goes on.
    let gate = Gate::new();
    let mut chat = replying("vim.o.autowrite = true", &gate);
    chat.nvim.command("edit other.txt");
    gate.open();
    chat.nvim.wait_for("the reply in the file", |nvim| nvim.file("notes.chat") == WHOLE);
    chat.nvim.command("buffer notes.chat");
    chat.wait_for_text(WHOLE);
    nothing_odd(&mut chat);
    // Without it, Neovim keeps the buffer that has changes.
    let gate = Gate::new();
    let mut chat = replying("vim.o.hidden = false", &gate);
    let refused = chat.nvim.try_lua("vim.cmd('edit other.txt')", &[]).unwrap_err();
    assert!(refused.contains("E37"), "{refused}");
    goes_on(&mut chat, &gate, "notes.chat");
    // 'autowrite' writes and unloads it: the reply ends there, and the file says so.
    let mut chat = replying("vim.o.hidden = false vim.o.autowriteall = true", &Gate::new());
    chat.nvim.command("edit other.txt");
    chat.nvim.wait_for("why it was stopped", |nvim| said(nvim).contains("both were stopped"));
    assert_eq!(chat.nvim.file("notes.chat"), CUT_OFF);
}

/// Whether a folder has a swap file.
fn has_swap(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        if entry.path().is_dir() {
            has_swap(&entry.path())
        } else {
            entry.path().extension().is_some_and(|it| it == "swp")
        }
    })
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_what_was_sent_and_a_swap_file() {
    for signal in ["TERM", "HUP"] {
        let mut chat = replying("", &Gate::new());
        let pid = chat.nvim.lua("return vim.uv.os_getpid()", &[]).to_string();
        let kill = std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        assert!(kill.success());
        chat.nvim.wait_for_exit();
        let text = chat.nvim.file("notes.chat");
        assert!(text == SENT || text == CUT_OFF, "{signal}: {text}");
        if text == SENT {
            assert!(has_swap(&chat.nvim.folder("state")), "{signal}: what had arrived is in the swap file");
        }
        let file = chat.nvim.work().join("notes.chat");
        let mut again = next(&chat, &["-n", "-R", file.to_str().unwrap()], []);
        assert_eq!(again.nvim.text(), text);
        assert_eq!(again.server.requests().len(), 0, "{}", json!(signal));
    }
}
