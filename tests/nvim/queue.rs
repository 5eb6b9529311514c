//! Writing while a conversation is at work: the input window, its keys, and what is shown below the text.

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, prose, said},
    http::{Gate, Reply},
    support::Nvim,
};

/// A reply that stops after its first words until the gate is open.
pub(super) fn held(gate: &Gate) -> Reply {
    held_after(gate, "first words")
}

fn held_after(gate: &Gate, words: &str) -> Reply {
    let stream = Stream::new().text(&[words]).end("end_turn");
    let events = stream.events();
    let (before, after) = events.split_at(3);
    let reply = before.iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hold(gate);
    after.iter().fold(reply, |reply, event| reply.chunk(event.as_str()))
}

/// A conversation in the middle of its first reply.
pub(super) fn writing(setup: &Setup<'_>) -> (Chat, Gate) {
    let gate = Gate::new();
    let mut chat = Chat::start(setup, [held(&gate), prose(&["fine"]), prose(&["good"]), prose(&["done"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("first words"));
    (chat, gate)
}

/// A draft in the input window, in Normal mode.
fn drafting(setup: &Setup<'_>, text: &str) -> (Chat, Gate) {
    let (mut chat, gate) = writing(setup);
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input(&format!("{text}<Esc>"));
    chat.nvim.wait_for("the draft", |nvim| nvim.mode() == "n" && in_window(nvim) && nvim.text() == format!("{text}\n"));
    (chat, gate)
}

/// What is shown of the queue, whichever window the user is in.
pub(super) fn queued(nvim: &mut Nvim) -> Vec<String> {
    let found = nvim.lua(
        "local found, namespace = {}, vim.api.nvim_create_namespace('flemma.queue')
         for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('notes.chat'), namespace, 0, -1, { details = true })) do
           for _, line in ipairs(mark[4].virt_lines or {}) do
             found[#found + 1] = vim.iter(line):map(function(chunk) return chunk[1] end):join('')
           end
         end
         return found",
        &[],
    );
    found.as_array().into_iter().flatten().map(|line| line.as_str().unwrap_or_default().to_owned()).collect()
}

pub(super) fn in_window(nvim: &mut Nvim) -> bool {
    nvim.lua("return vim.bo.filetype == 'flemma_queue'", &[]) == true
}

pub(super) fn wait_for_window(nvim: &mut Nvim) {
    nvim.wait_for("the input window", in_window);
}

pub(super) fn wait_for_queued(nvim: &mut Nvim, words: &str) {
    nvim.wait_for(words, |nvim| !in_window(nvim) && queued(nvim).iter().any(|line| line.contains(words)));
}

/// The texts of the user in a request.
pub(super) fn user_texts(messages: &Value) -> Vec<String> {
    let own = messages.as_array().unwrap().iter().filter(|message| message["role"] == "user");
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect(),
    };
    own.map(text).collect()
}

#[test]
fn what_is_typed_while_a_reply_arrives_is_sent_after_it() {
    let (mut chat, gate) = writing(&Setup::default());
    for (key, words, end, shown) in [
        ("i", "one\ntwo", ":w | q<CR>", "two"),
        ("o", "three", "ZZ", "three"),
        ("a", "four", ":wq<CR>", "four"),
        ("i", "five", "<C-]>", "five"),
    ] {
        chat.nvim.input(key);
        wait_for_window(&mut chat.nvim);
        chat.nvim.type_text(words);
        chat.nvim.input("<Esc>");
        chat.nvim.input(end);
        wait_for_queued(&mut chat.nvim, shown);
    }
    assert_eq!(queued(&mut chat.nvim)[..3], ["Queued: sent when the turn ends", "  1 one", "    two"]);
    chat.nvim.wait_for_screen("queued; sent when the turn ends");
    for _ in 0..2 {
        chat.nvim.command("Flemma unqueue");
        wait_for_window(&mut chat.nvim);
        chat.nvim.command("wincmd k");
    }
    chat.nvim.command("Flemma queue");
    chat.nvim.wait_for("both", |nvim| nvim.text() == "four\n\nfive\n");
    chat.nvim.input("<Esc>:x<CR>");
    wait_for_queued(&mut chat.nvim, "five");
    gate.open();
    chat.wait_for_text(
        "@You:\nHello\n\n@Assistant:\nfirst words\n\n@You:\none\ntwo\n\n@Assistant:\nfine\n\n@You:\nthree\n\n\
         @Assistant:\ngood\n\n@You:\nfour\n\nfive\n\n@Assistant:\ndone\n\n@You:\n\n",
    );
    assert_eq!(user_texts(&chat.messages(2)), ["Hello", "one\ntwo", "three"]);
    chat.wait_until_idle();
    assert_eq!(queued(&mut chat.nvim), [""; 0]);
    // The keys are Neovim's own again.
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('i', 'n') .. vim.fn.maparg('o', 'n')", &[]), "");
    chat.nvim.input("Gifive<Esc>3A!<Esc>");
    chat.nvim.wait_for("typed text", |nvim| nvim.text().ends_with("@You:\nfive!!!\n"));
}

#[test]
fn the_window_is_left_as_any_buffer_with_changes() {
    let (mut chat, _gate) = drafting(&Setup::default(), "draft");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for_screen("E37: No write since last change");
    assert!(in_window(&mut chat.nvim));
    // A copy is Neovim's to write.
    chat.nvim.command("silent write copy.txt");
    assert_eq!((chat.nvim.file("copy.txt").as_str(), queued(&mut chat.nvim).len()), ("draft\n", 0));
    chat.nvim.input(":q!<CR>");
    chat.nvim.wait_for("the conversation", |nvim| !in_window(nvim));
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "\n", "it was thrown away");
    chat.nvim.input("<Esc>:q<CR>");
    chat.nvim.wait_for("the conversation", |nvim| !in_window(nvim));
    chat.nvim.command("Flemma unqueue");
    chat.nvim.wait_for("why not", |nvim| said(nvim).contains("nothing is queued"));
    chat.nvim.command("Flemma unqueue x");
    chat.nvim.wait_for("the mistake", |nvim| said(nvim).contains("takes the number of a queued message"));
    for key in ["dd", "x", "u", "p"] {
        chat.nvim.command("messages clear");
        chat.nvim.input(key);
        chat.nvim.wait_for("Neovim's own error", |nvim| said(nvim).contains("E21"));
    }
}

#[test]
fn a_draft_that_ends_with_enter_changes_nothing_else() {
    // Neovim takes white space off the line of the cursor when Insert mode ends after Enter.
    let gate = Gate::new();
    let replies = [prose(&["one"]), held_after(&gate, "first words "), prose(&["fine"])];
    let mut chat = Chat::start(&Setup::default(), replies);
    chat.send_until("@Assistant:\none");
    chat.nvim.input("Gothanks<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("first words "));
    chat.nvim.wait_for("Normal mode", |nvim| nvim.mode() == "n");
    chat.nvim.input("Gi");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("more<CR><C-]>");
    wait_for_queued(&mut chat.nvim, "more");
    assert!(chat.nvim.text().contains("first words ") && !said(&mut chat.nvim).contains("something else"));
    gate.open();
    chat.nvim.wait_for("the next reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
}

#[test]
fn a_plugin_that_saves_buffers_queues_nothing() {
    let lua = "vim.api.nvim_create_autocmd('InsertLeave', { nested = true, command = 'silent! write' })";
    let (mut chat, _gate) = drafting(&Setup { lua, ..Setup::default() }, "half a");
    let is_written = "return not vim.bo.modified";
    chat.nvim.wait_for("the write", |nvim| in_window(nvim) && nvim.lua(is_written, &[]) == true);
    chat.nvim.input("a thought<Esc>");
    chat.nvim.wait_for("the write", |nvim| in_window(nvim) && nvim.lua(is_written, &[]) == true);
    assert_eq!(queued(&mut chat.nvim), [""; 0]);
    chat.nvim.input(":q<CR>");
    wait_for_queued(&mut chat.nvim, "half a thought");
}

#[test]
fn a_message_that_is_written_outlives_its_conversation() {
    let (mut chat, gate) = drafting(&Setup::default(), "half a thought");
    chat.nvim.command("silent write");
    gate.open();
    chat.nvim.command("wincmd k");
    chat.wait_until_idle();
    chat.nvim.command("silent write");
    chat.nvim.command("bwipeout!");
    chat.nvim.command("wincmd j");
    // It is queued nowhere, so Neovim warns before it is thrown away.
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for_screen("E37: No write since last change");
    assert_eq!(chat.nvim.text(), "half a thought\n");
}

#[test]
fn the_turn_may_end_while_a_message_is_written() {
    let (mut chat, gate) = drafting(&Setup::default(), "my words");
    gate.open();
    let is_open = "return vim.bo[vim.fn.bufnr('notes.chat')].modifiable";
    chat.nvim.wait_for("the end", |nvim| nvim.lua(is_open, &[]) == true);
    // It waits for the user, who is still there.
    assert!(in_window(&mut chat.nvim));
    assert_eq!(chat.server.requests().len(), 1);
    chat.nvim.input(":wq<CR>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@You:\nmy words\n\n@Assistant:\nfine"));
}

#[test]
fn the_input_window_completes_references_and_tools() {
    let files = &[("src/lib.rs", ""), ("plan.md", "")];
    let (mut chat, gate) = writing(&Setup { files, ..Setup::default() });
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("@./pl<C-x><C-o>");
    chat.nvim.wait_for("the file", |nvim| nvim.text() == "@./plan.md\n");
    chat.nvim.input(" and @calculator_a<C-x><C-o>");
    chat.nvim.wait_for("the tool", |nvim| nvim.text() == "@./plan.md and @calculator_async\n");
    // At the beginning of a line there is no role to choose.
    chat.nvim.input("<CR><C-x><C-o>x");
    chat.nvim.wait_for("the letter", |nvim| nvim.text() == "@./plan.md and @calculator_async\nx\n");
    chat.nvim.input("<Esc>ddZZ");
    wait_for_queued(&mut chat.nvim, "@./plan.md and @calculator_async");
    gate.open();
    chat.nvim
        .wait_for("the reply", |nvim| nvim.text().contains("@./plan.md and @calculator_async\n\n@Assistant:\nfine"));
}

#[test]
fn mappings_of_the_user_are_left_alone() {
    let lua = "vim.keymap.set('n', 'i', function() vim.g.jumped = true end)
        vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', callback = function(args)
          vim.keymap.set('n', 'o', function() vim.g.own = true end, { buffer = args.buf })
        end })";
    let (mut chat, gate) = writing(&Setup { lua, ..Setup::default() });
    chat.nvim.input("io");
    chat.nvim.wait_for("the own mappings", |nvim| nvim.lua("return vim.g.jumped and vim.g.own", &[]) == true);
    assert!(!in_window(&mut chat.nvim));
    // A mapping that the user makes meanwhile outlives the lock.
    chat.nvim.command("nnoremap <buffer> a :let g:late = 1<CR>");
    gate.open();
    chat.wait_until_idle();
    chat.nvim.input("iao");
    chat.nvim.wait_for("the late mapping", |nvim| nvim.lua("return vim.g.late", &[]) == 1);
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('o', 'n', false, true).buffer", &[]), 1);
}

#[test]
fn the_keys_can_be_turned_off() {
    let (mut chat, _gate) = writing(&Setup { options: "keymaps = { queue = false }", ..Setup::default() });
    chat.nvim.input("i");
    chat.nvim.wait_for("Neovim's own error", |nvim| said(nvim).contains("E21"));
    chat.nvim.command("Flemma queue words");
    wait_for_queued(&mut chat.nvim, "words");
    chat.nvim.command("Flemma steer now");
    wait_for_queued(&mut chat.nvim, "1 now");
}

#[test]
fn nothing_is_sent_before_the_user_has_decided() {
    let input = json!({ "label": null, "command": "echo one", "timeout": null });
    let mut chat =
        Chat::start(&Setup::default(), [call("toolu_1", "bash", &input), prose(&["fine"]), prose(&["good"])]);
    chat.send_until("status=pending");
    chat.nvim.command("Flemma queue later");
    wait_for_queued(&mut chat.nvim, "it waits for your decision about `bash`");
    // CTRL-C takes it back into the text.
    chat.nvim.interrupt_until("the text", |nvim| nvim.text().ends_with("```\n\nlater\n"));
    assert_eq!(queued(&mut chat.nvim), [""; 0]);
    chat.nvim.input("u");
    chat.nvim.wait_for("undo", |nvim| !nvim.text().contains("later"));
    chat.nvim.command("Flemma queue later");
    wait_for_queued(&mut chat.nvim, "it waits for your decision");
    chat.go_to("status=pending");
    chat.nvim.command("Flemma tool:approve");
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("later\n\n@Assistant:\ngood"));
}

#[test]
fn a_draft_is_there_when_the_conversation_is_opened_again() {
    let (mut chat, gate) = drafting(&Setup::default(), "half a thought");
    gate.open();
    chat.nvim.command("wincmd k");
    chat.wait_until_idle();
    chat.nvim.command("silent write");
    chat.nvim.command("bwipeout!");
    // What is in the window stays there.
    chat.nvim.command("wincmd j");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input(":w<CR>");
    chat.nvim.wait_for("why not", |nvim| said(nvim).contains("the conversation is not open any more"));
    assert_eq!(chat.nvim.text(), "half a thought\n");
    chat.nvim.command("wincmd k | edit notes.chat");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("a message that you were writing here was kept"));
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "half a thought\n");
}

#[test]
fn what_is_typed_without_a_pause_outlives_a_kill() {
    let (mut chat, _gate) = drafting(&Setup::default(), "half a thought");
    chat.nvim.input("A and the rest");
    let outbox = chat.nvim.folder("state").join("nvim/flemma/outbox");
    let holds = |file: std::io::Result<std::fs::DirEntry>| {
        file.is_ok_and(|file| {
            std::fs::read_to_string(file.path()).is_ok_and(|text| text.contains("thought and the rest"))
        })
    };
    chat.nvim.wait_for("the disk", |_| std::fs::read_dir(&outbox).is_ok_and(|mut files| files.any(holds)));
    assert_eq!(chat.nvim.lua("return vim.api.nvim_get_mode().mode", &[]), "i", "the user types on");
}

#[test]
fn what_is_queued_is_shown_below_a_call_that_waits() {
    let gate = Gate::new();
    let calling = call("toolu_1", "bash", &json!({ "label": "list", "command": "ls", "timeout": null }));
    let mut chat = Chat::start(&Setup::default(), [calling, held(&gate)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.row_with("bash ls  list").is_some());
    chat.nvim.command("Flemma queue later words");
    chat.nvim.wait_for("the message", |nvim| nvim.row_with("later words").is_some());
    let rows = |nvim: &mut Nvim| (nvim.row_with("bash ls  list").unwrap(), nvim.row_with("later words").unwrap());
    let (call, message) = rows(&mut chat.nvim);
    assert!(call < message, "{:#?}", chat.nvim.screen());
    // The closing fence of its block is shown while the cursor is there.
    for keys in ["G", "gg", "G"] {
        chat.nvim.input(keys);
        chat.nvim.wait_for("the message", |nvim| {
            nvim.command("redraw");
            let rows = nvim.screen();
            let message = rows.iter().position(|row| row.contains("later words"));
            let fence = rows.iter().rposition(|row| row.starts_with("```"));
            message.is_some() && fence < message
        });
    }
}

#[test]
fn commands_in_the_input_window_mean_its_conversation() {
    let (mut chat, _gate) = drafting(&Setup::default(), "half");
    chat.nvim.input(":%Flemma tool:approve<CR>");
    chat.nvim.wait_for_screen("Flemma: a range is for the conversation, not for this window");
    chat.nvim.input(":Flemma queue words<CR>");
    chat.nvim.wait_for("the words", |nvim| queued(nvim).iter().any(|line| line.contains("words")));
    chat.nvim.input(":Flemma steer<CR>");
    chat.nvim
        .wait_for("steering", |nvim| queued(nvim).first().is_some_and(|line| line.contains("before the next request")));
    chat.nvim.input("<C-c>");
    chat.nvim.wait_for("the end", |nvim| {
        let text = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('notes.chat'), 0, -1, false), '\\n')";
        nvim.lua(text, &[]).as_str().unwrap().ends_with("@You:\nwords")
    });
    assert!(in_window(&mut chat.nvim));
    assert_eq!(chat.nvim.text(), "half\n");
}

#[test]
fn setting_the_same_filetype_again_stops_nothing() {
    let (mut chat, gate) = writing(&Setup::default());
    chat.nvim.command("filetype detect");
    chat.nvim.command("doautocmd BufRead");
    chat.nvim.command("set filetype=chat");
    gate.open();
    chat.wait_until_idle();
    assert!(!chat.nvim.text().contains("aborted"), "{}", chat.nvim.text());
    chat.nvim.command("set filetype=text");
    assert_eq!(chat.nvim.lua("return require('flemma.buffer.target').is_attached(vim.fn.bufnr())", &[]), false);
}
