//! `:Flemma ask`: from code to the conversation.

use serde_json::json;

use super::super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, said},
    http::{Gate, Reply},
};

const CODE: &str = "one\ntwo\nthree\nfour\n";

const FILES: [(&str, &str); 3] =
    [("code/.git/HEAD", "ref: refs/heads/main\n"), ("code/src/my main.txt", CODE), ("notes.chat", "@You:\nHello\n")];

/// An editor with a file of a project.
fn start(replies: impl IntoIterator<Item = Reply>) -> Chat {
    let setup = Setup { text: None, files: &FILES, ..Setup::default() };
    let mut chat = Chat::start(&setup, replies);
    chat.nvim.command("edit code/src/my\\ main.txt");
    chat.nvim.command("bwipeout notes.chat");
    chat
}

/// A reply that stops after its first word until the gate is opened.
fn held(gate: &Gate) -> Reply {
    let stream = Stream::new().text(&["First ", "and last."]).end("end_turn");
    stream.events().iter().fold(Reply::stream(), |reply, event| {
        let reply = reply.chunk(event.as_str());
        if event.contains("First ") { reply.hold(gate) } else { reply }
    })
}

/// Waits until the current buffer has this text.
fn wait_for(chat: &mut Chat, text: &str) {
    chat.nvim.wait_for(text, |nvim| nvim.text().trim_end_matches('\n') == text.trim_end_matches('\n'));
}

#[test]
fn nothing_is_asked_in_a_conversation_that_is_held_elsewhere() {
    let mut first = start([]);
    first.nvim.command("Flemma new");
    first.nvim.input("ihello<Esc>:silent write<CR>");
    wait_for(&mut first, "@You:\nhello");
    let code = first.nvim.work().join("code/src/my main.txt");
    let mut second = Chat::another(&first, &code, ("", ""), []);
    for _ in 0..2 {
        second.nvim.command("messages clear");
        second.nvim.command("wincmd t");
        second.nvim.input(":2Flemma ask why?<CR>");
        second.nvim.wait_for("the refusal", |nvim| {
            // On a slow disk, it is not known at once who holds the conversation.
            if said(nvim).contains("it is not known yet") {
                nvim.command("messages clear");
                nvim.command("wincmd t");
                nvim.input(":2Flemma ask why?<CR>");
            }
            said(nvim).contains("`:Flemma new` begins another conversation.")
        });
        assert_eq!(second.nvim.lua("return vim.bo.filetype == 'chat' and vim.bo.modified", &[]), false);
        wait_for(&mut second, "@You:\nhello");
    }
}

#[test]
fn a_selection_becomes_a_reference_below_the_marker() {
    let mut chat = start([prose(&["ok"])]);
    chat.nvim.input("2GVj:Flemma ask<CR>");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L2-L3 ");
    // The cursor is where the user goes on.
    chat.nvim.wait_for("Insert mode", |nvim| nvim.mode() == "i");
    chat.nvim.input("why?<Esc>");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L2-L3 why?");
    // Once more, from the code.
    chat.nvim.input("<C-w>p1G:Flemma ask and this?<CR><Esc>");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L2-L3 why?\n\n@./src/my%20main.txt#L1 and this?");
    chat.nvim.input("u");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L2-L3 why?");
    chat.send_until("@Assistant:\nok");
    let sent = chat.messages(0)[0]["content"].to_string();
    assert!(sent.contains("2\\ttwo\\n3\\tthree") && !sent.contains("four"), "{sent}");
    assert!(!chat.nvim.messages().contains("Error"), "{}", chat.nvim.messages());
}

#[test]
fn keys_and_an_operator_ask() {
    let mut chat = start([]);
    chat.nvim.lua(
        "vim.keymap.set({ 'n', 'x' }, 'ga', '<Plug>(flemma-ask)')
         vim.keymap.set('n', 'gA', '<Plug>(flemma-ask-operator)')",
        &[],
    );
    chat.nvim.input("Gga<Esc>");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L4 ");
    chat.nvim.input("u<C-w>p3Gvkga<Esc>");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L2-L3 ");
    chat.nvim.input("u<C-w>pggg<Esc>gAj<Esc>");
    wait_for(&mut chat, "@You:\n@./src/my%20main.txt#L1-L2 ");
    // The code has lost its selection, and nothing was typed into it.
    chat.nvim.input("<C-w>p");
    assert_eq!((chat.nvim.text().as_str(), chat.nvim.mode().as_str()), (CODE, "n"));
}

#[test]
fn a_question_with_a_bang_is_sent() {
    for command in ["2Flemma! ask why so?", "2Flemma ask! why so?"] {
        let mut chat = start([prose(&["ok"])]);
        chat.nvim.input(&format!(":{command}<CR>"));
        chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("why so?") && nvim.text().contains("\nok"));
        chat.wait_until_idle();
        assert!(chat.messages(0)[0]["content"].to_string().contains("2\\ttwo"));
    }
    let mut chat = start([]);
    chat.nvim.input(":Flemma! ask<CR>");
    chat.nvim.wait_for("an error", |nvim| said(nvim).contains("nothing is sent without words"));
    chat.nvim.input(":Flemma! toggle<CR>");
    chat.nvim.wait_for("an error", |nvim| said(nvim).contains("`:Flemma toggle` takes no `!`"));
}

#[test]
fn unsaved_changes_are_asked_about() {
    let fenced = "@You:\nFrom code/src/my main.txt, lines 1 to 2:\n\n```text\nnew\ntwo\n```\n\nwhy?";
    let by_reference = "@You:\n@./src/my%20main.txt#L1-L2 why?";
    for (choice, expected, is_modified) in [(1, fenced, true), (2, by_reference, false), (3, by_reference, true)] {
        let mut chat = start([]);
        chat.record_questions();
        chat.nvim.command("setlocal filetype=text | call setline(1, 'new')");
        chat.nvim.input(":1,2Flemma ask why?<CR>");
        assert_eq!(
            chat.wait_for_question(1),
            "my main.txt has changes that are not saved, so the file on the disk may have other lines:"
        );
        chat.nvim.lua("choose(...)", &[json!(choice)]);
        wait_for(&mut chat, expected);
        let modified = chat.nvim.lua("return vim.bo[vim.fn.bufnr('main.txt')].modified", &[]);
        assert_eq!(modified, is_modified, "choice {choice}");
    }
}

#[test]
fn text_without_a_file_goes_into_the_message() {
    let mut chat = start([]);
    chat.nvim.command("cd code | enew | call setline(1, ['@You:', '@diff ```', 'x'])");
    chat.nvim.input(":%Flemma ask<CR>");
    chat.nvim.wait_for("Insert mode", |nvim| nvim.mode() == "i");
    chat.nvim.input("what?<Esc>");
    wait_for(&mut chat, "@You:\n````\n\\@You:\n@diff ```\nx\n````\n\nwhat?");
    // A conversation is not code.
    chat.nvim.input(":Flemma ask<CR>");
    chat.nvim.wait_for("an error", |nvim| said(nvim).contains("`:Flemma ask` is for code"));
}

#[test]
fn a_question_to_a_busy_conversation_is_queued() {
    let gate = Gate::new();
    let mut chat = start([held(&gate), prose(&["Second answer."])]);
    chat.nvim.input(":Flemma! ask why?<CR>");
    chat.nvim.wait_for("the first words", |nvim| nvim.text().contains("First"));
    chat.nvim.input("<C-w>p3G:Flemma! ask more?<CR>");
    chat.nvim.wait_for_screen("more?");
    assert!(!chat.nvim.text().contains("more?"), "{}", chat.nvim.text());
    gate.open();
    chat.nvim.wait_for("the second answer", |nvim| nvim.text().contains("Second answer."));
    assert!(chat.nvim.text().contains("#L3 more?"), "{}", chat.nvim.text());
}

#[test]
fn a_question_can_be_written_while_it_works() {
    let gate = Gate::new();
    let mut chat = start([held(&gate), prose(&["Second answer."])]);
    chat.nvim.input(":Flemma! ask why?<CR>");
    chat.nvim.wait_for("the first words", |nvim| nvim.text().contains("First"));
    chat.nvim.input("<C-w>p3G:Flemma ask<CR>");
    chat.nvim.wait_for_screen("Queue a message");
    chat.nvim.wait_for("Insert mode", |nvim| nvim.mode() == "i");
    chat.nvim.input("what?");
    chat.nvim.wait_for("the draft", |nvim| nvim.text().trim_end().ends_with("#L3 what?"));
    chat.nvim.input("<Esc>:wq<CR>");
    gate.open();
    chat.nvim.wait_for("the second answer", |nvim| nvim.text().contains("Second answer."));
    assert!(chat.nvim.text().contains("#L3 what?"), "{}", chat.nvim.text());
}
