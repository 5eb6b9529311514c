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
    nvim.lua("return vim.bo.filetype == 'flemma_queue' and vim.api.nvim_win_get_config(0).relative == 'win'", &[])
        == true
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
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.type_text("one\ntwo");
    chat.nvim.input("<Esc><CR>");
    wait_for_queued(&mut chat.nvim, "two");
    let note = "Queued: sent when the turn ends  (i: change, o: another, u: take back)";
    assert_eq!(queued(&mut chat.nvim), [note, "  one", "  two"]);
    chat.nvim.wait_for_screen("Queued: sent when the turn ends");
    // Another one, and the first ways to write are as good as the others.
    chat.nvim.input("o");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("three<Esc>ZZ");
    wait_for_queued(&mut chat.nvim, "three");
    // The last one is changed.
    chat.nvim.input("A");
    wait_for_window(&mut chat.nvim);
    chat.nvim.wait_for("its text", |nvim| nvim.text() == "three\n");
    chat.nvim.input(" four<Esc>:wq<CR>");
    wait_for_queued(&mut chat.nvim, "three four");
    gate.open();
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("good"));
    chat.wait_for_text(
        "@You:\nHello\n\n@Assistant:\nfirst words\n\n@You:\none\ntwo\n\n@Assistant:\nfine\n\n@You:\nthree four\n\n\
         @Assistant:\ngood\n\n@You:\n\n",
    );
    assert_eq!(user_texts(&chat.messages(2)), ["Hello", "one\ntwo", "three four"]);
    chat.wait_until_idle();
    assert_eq!(queued(&mut chat.nvim), [""; 0]);
    // The keys are Neovim's own again.
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('i', 'n') .. vim.fn.maparg('u', 'n')", &[]), "");
    chat.nvim.input("Gifive<Esc>3A!<Esc>");
    chat.nvim.wait_for("typed text", |nvim| nvim.text().ends_with("@You:\nfive!!!\n"));
    chat.nvim.input("u.");
    chat.nvim.wait_for("undo and repetition", |nvim| nvim.text().ends_with("@You:\nfive!!!\n"));
}

#[test]
fn a_draft_is_kept_and_a_message_can_be_taken_back() {
    let (mut chat, gate) = writing(&Setup::default());
    // `:q` keeps what was typed.
    chat.nvim.input("idraft<Esc>:q<CR>");
    chat.nvim.wait_for("the conversation", |nvim| !in_window(nvim));
    chat.nvim.wait_for("the draft", |nvim| queued(nvim) == ["Draft, not queued: draft  (i: go on)"]);
    // `:wall` is not for it.
    chat.nvim.command("silent! wall");
    assert_eq!(queued(&mut chat.nvim), ["Draft, not queued: draft  (i: go on)"]);
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "draft\n");
    chat.nvim.input("!<C-]>");
    wait_for_queued(&mut chat.nvim, "draft!");
    chat.nvim.input("u");
    chat.nvim.wait_for("nothing queued", |nvim| queued(nvim) == ["Draft, not queued: draft!  (i: go on)"]);
    chat.nvim.command("Flemma unqueue");
    chat.nvim.wait_for("why not", |nvim| said(nvim).contains("nothing is queued"));
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "draft!\n");
    // What was queued and is left as it was keeps its place; an emptied message is taken back.
    chat.nvim.input("<Esc>:w<CR>");
    wait_for_queued(&mut chat.nvim, "draft!");
    chat.nvim.input("i");
    chat.nvim.wait_for("the note", |nvim| queued(nvim).iter().any(|line| line.contains("while you change it")));
    chat.nvim.input("<Esc>:q<CR>");
    wait_for_queued(&mut chat.nvim, "sent when the turn ends");
    chat.nvim.command("Flemma queue second message");
    wait_for_queued(&mut chat.nvim, "2 second message");
    chat.nvim.command("Flemma unqueue 1");
    chat.nvim.wait_for("the other one", |nvim| queued(nvim).contains(&"  second message".to_owned()));
    chat.nvim.command("Flemma unqueue x");
    chat.nvim.wait_for("the mistake", |nvim| said(nvim).contains("takes the number of a queued message"));
    gate.open();
    chat.nvim.wait_for("the second reply", |nvim| nvim.text().contains("second message\n\n@Assistant:\nfine"));
}

#[test]
fn messages_that_are_taken_back_keep_their_order() {
    let (mut chat, gate) = writing(&Setup::default());
    for (words, number) in [("FIRST", ""), ("SECOND", "2 "), ("THIRD", "3 ")] {
        chat.nvim.input(&format!(":Flemma queue {words}<CR>"));
        wait_for_queued(&mut chat.nvim, &format!("{number}{words}"));
    }
    // What is being written is newer than what is queued.
    chat.nvim.input("o");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("own<Esc>:q<CR>u");
    let drafted = |words: &str| format!("Draft, not queued: {words} …  (i: go on)");
    chat.nvim.wait_for("the last one", |nvim| queued(nvim).contains(&drafted("THIRD")));
    chat.nvim.input(":Flemma unqueue 1<CR>");
    chat.nvim.wait_for("the first one", |nvim| queued(nvim).contains(&drafted("FIRST")));
    chat.nvim.input("u");
    chat.nvim.wait_for("nothing queued", |nvim| queued(nvim) == [drafted("FIRST")]);
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "FIRST\n\nSECOND\n\nTHIRD\n\nown\n");
    chat.nvim.input("<Esc>ZZ");
    chat.nvim.wait_for("the message", |nvim| !in_window(nvim));
    gate.open();
    chat.nvim.wait_for("it is sent", |nvim| nvim.text().contains("THIRD\n\nown\n\n@Assistant:\nfine"));
}

#[test]
fn the_turn_may_end_while_a_message_is_written() {
    let (mut chat, gate) = writing(&Setup::default());
    chat.nvim.command("Flemma queue first");
    wait_for_queued(&mut chat.nvim, "first");
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input(" and more");
    gate.open();
    let conversation = chat.nvim.lua("return vim.fn.bufnr('notes.chat')", &[]);
    let is_open = "return vim.bo[...].modifiable";
    chat.nvim.wait_for("the end", |nvim| nvim.lua(is_open, std::slice::from_ref(&conversation)) == true);
    // It waits for the user, who is still there.
    assert!(in_window(&mut chat.nvim));
    assert_eq!(chat.server.requests().len(), 1);
    chat.nvim.input("<Esc><CR>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@You:\nfirst and more\n\n@Assistant:\nfine"));
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
    let lua = "vim.keymap.set('n', 's', function() vim.g.jumped = true end)
        vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', callback = function(args)
          vim.keymap.set('n', 'o', function() vim.g.own = true end, { buffer = args.buf })
        end })";
    let (mut chat, gate) = writing(&Setup { lua, ..Setup::default() });
    chat.nvim.input("so");
    chat.nvim.wait_for("the own mappings", |nvim| nvim.lua("return vim.g.jumped and vim.g.own", &[]) == true);
    assert!(!in_window(&mut chat.nvim));
    // A macro was recorded for the text.
    chat.nvim.lua("vim.fn.setreg('q', 'Alost')", &[]);
    chat.nvim.input("@q");
    chat.nvim.wait_for("Neovim's own error", |nvim| said(nvim).contains("E21"));
    assert!(!in_window(&mut chat.nvim));
    // A mapping that the user makes meanwhile outlives the lock.
    chat.nvim.command("nnoremap <buffer> a :let g:late = 1<CR>");
    gate.open();
    chat.wait_until_idle();
    chat.nvim.input("sao");
    chat.nvim.wait_for("the late mapping", |nvim| nvim.lua("return vim.g.late", &[]) == 1);
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('o', 'n', false, true).buffer", &[]), 1);
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('i', 'n')", &[]), "");
}

#[test]
fn the_keys_can_be_turned_off() {
    let (mut chat, _gate) = writing(&Setup { options: "keymaps = { queue = false }", ..Setup::default() });
    chat.nvim.input("i");
    chat.nvim.wait_for("Neovim's own error", |nvim| said(nvim).contains("E21"));
    chat.nvim.command("Flemma queue words");
    wait_for_queued(&mut chat.nvim, "words");
    assert!(queued(&mut chat.nvim)[0].ends_with("(:Flemma queue, :Flemma unqueue)"));
}

#[test]
fn a_steering_message_goes_out_with_the_results_of_tools() {
    let input = json!({ "label": null, "command": "while [ ! -e go ]; do sleep 0.02; done", "timeout": null });
    let setup = Setup { options: "tools = { auto_approve = { 'bash' } }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input), prose(&["fine"]), prose(&["good"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the tool", |nvim| nvim.text().contains("status=running"));
    chat.nvim.command("Flemma queue later");
    chat.nvim.command("Flemma steer now");
    wait_for_queued(&mut chat.nvim, "1 now");
    assert!(queued(&mut chat.nvim)[0].starts_with("Queued: sent before the next request"));
    std::fs::write(chat.nvim.work().join("go"), "").unwrap();
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("good"));
    let messages = chat.messages(1);
    let last = messages.as_array().unwrap().last().unwrap()["content"].as_array().unwrap().clone();
    let kinds: Vec<&str> = last.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!((kinds, &last[1]["text"]), (vec!["tool_result", "text"], &json!("now")));
    assert_eq!(user_texts(&chat.messages(2)).last().unwrap(), "later");
}

#[test]
fn nothing_is_sent_before_the_user_has_decided() {
    let input = json!({ "label": null, "command": "echo one", "timeout": null });
    let mut chat =
        Chat::start(&Setup::default(), [call("toolu_1", "bash", &input), prose(&["fine"]), prose(&["good"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
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
fn leaving_something_queued_behind_is_refused_once() {
    let (mut chat, _gate) = writing(&Setup::default());
    chat.nvim.command("Flemma queue mine");
    wait_for_queued(&mut chat.nvim, "mine");
    chat.nvim.wait_for("the file", |nvim| {
        nvim.lua("vim.bo.modified = false return not require('flemma.saving').is_writing(0)", &[]) == true
    });
    for leave in [":q", ":qa", ":wqa", ":xa", ":wq", ":set autowriteall | q"] {
        chat.nvim.input(&format!(":messages clear<CR>{leave}<CR>"));
        let why = "a queued message is unsent; `:qa!` exits anyway (notes.chat)";
        chat.nvim.wait_for(leave, |nvim| said(nvim).contains(why));
        assert!(!said(&mut chat.nvim).contains("E37"), "it was written");
        assert_eq!(
            chat.nvim.lua("return { #vim.api.nvim_list_tabpages(), #vim.api.nvim_list_wins() }", &[]),
            json!([1, 1])
        );
    }
    assert_eq!(queued(&mut chat.nvim).last().unwrap(), "  mine");
    let file = chat.nvim.work().join("notes.chat");
    chat.nvim.input(":q!<CR>");
    chat.nvim.wait_for_exit();
    // It was cut off, and what was queued is the user's to send.
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("first words\n\n<!-- flemma:aborted -->\n\n@You:\nmine\n"), "{text}");
}

#[test]
fn what_was_queued_is_there_after_a_kill() {
    let (mut chat, _gate) = writing(&Setup::default());
    chat.nvim.command("Flemma queue mine @Assistant: too");
    wait_for_queued(&mut chat.nvim, "mine");
    let outbox = chat.nvim.folder("state").join("nvim/flemma/outbox");
    let is_kept = |file: std::io::Result<std::fs::DirEntry>| {
        file.is_ok_and(|file| file.path().extension().is_some_and(|extension| extension == "json"))
    };
    chat.nvim.wait_for("the disk", |_| std::fs::read_dir(&outbox).is_ok_and(|mut files| files.any(is_kept)));
    chat.nvim.kill();
    let file = chat.nvim.work().join("notes.chat");
    let mut again = Chat::another(&chat, &file, ("", ""), [prose(&["fine"])]);
    again.wait_for_text("@You:\nHello\n\nmine @Assistant: too\n");
    again.nvim.wait_for("the message", |nvim| said(nvim).contains("Your queued message was not sent"));
    assert_eq!(again.server.requests().len(), 0);
    again.nvim.input("<C-]>");
    again.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    assert_eq!(user_texts(&again.messages(0)), ["Hello\n\nmine @Assistant: too"]);
}

#[test]
fn the_input_window_fits_the_windows_around_it() {
    let (mut chat, _gate) = writing(&Setup::default());
    chat.nvim.command("vsplit");
    chat.nvim.command("vertical resize 30");
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    let size = "local c = vim.api.nvim_win_get_config(0); return { c.width, vim.api.nvim_win_get_width(c.win) }";
    let measured = chat.nvim.lua(size, &[]);
    assert_eq!(measured[0], measured[1]);
    chat.nvim.command("tabnew | tabclose");
    chat.nvim.command("wincmd =");
    chat.nvim.wait_for("the new width", |nvim| {
        let measured = nvim.lua(size, &[]);
        measured[0] == measured[1]
    });
    // A long text makes it higher, up to half of the window; the conversation's last line stays in view.
    for _ in 0..30 {
        chat.nvim.input("a line<CR>");
    }
    chat.nvim.wait_for("the height", |nvim| nvim.lua("return vim.api.nvim_win_get_height(0) > 10", &[]) == true);
    chat.nvim.wait_for_screen("first words");
    // Closing the conversation's window closes it.
    chat.nvim.lua("vim.api.nvim_win_close(vim.api.nvim_win_get_config(0).win, false)", &[]);
    chat.nvim.wait_for("the window to close", |nvim| {
        let count = "return #vim.tbl_filter(function(win) return vim.api.nvim_win_get_config(win).relative ~= '' end,
            vim.api.nvim_list_wins())";
        nvim.lua(count, &[]) == 0
    });
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    assert!(chat.nvim.text().starts_with("a line\n"), "the draft is kept");
}

#[test]
fn the_text_ends_above_the_input_window_on_a_small_screen() {
    for paragraphs in [&["word ".repeat(110)][..], &["more ".repeat(40), "word ".repeat(60)]] {
        let gate = Gate::new();
        let mut chat = Chat::start(&Setup::default(), [held_after(&gate, &(paragraphs.join("\n\n") + "here"))]);
        chat.nvim.request("nvim_ui_try_resize", &[30.into(), 20.into()]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for_screen("here");
        chat.nvim.input("i");
        wait_for_window(&mut chat.nvim);
        chat.nvim.wait_for("a full window", |nvim| {
            let rows = nvim.screen();
            let float = rows.iter().position(|row| row.contains("Queue a message"));
            let end = rows.iter().position(|row| row.ends_with("here"));
            let (Some(float), Some(end)) = (float, end) else { return false };
            // Between them is the line that says what goes on.
            let is_full = rows[..end].iter().all(|row| row.contains("word") || row.contains("more") || row.is_empty());
            float == 14 && is_full && end + 2 >= float && rows[end + 1..float].iter().all(|row| row.contains("writing"))
        });
        // What is written makes it higher.
        chat.nvim.input("a<CR>b<CR>c<CR>d<CR>e");
        chat.nvim.wait_for("the end above the window", |nvim| {
            let rows = nvim.screen();
            let float = rows.iter().position(|row| row.contains("Queue a message"));
            let end = rows.iter().position(|row| row.ends_with("here"));
            float.is_some_and(|float| float < 14 && end.is_some_and(|end| end + 2 >= float && end < float))
        });
        gate.open();
        chat.nvim
            .wait_for("the end", |nvim| nvim.lua("return vim.bo[vim.fn.bufnr('notes.chat')].modifiable", &[]) == true);
    }
}

#[test]
fn what_is_queued_off_the_screen_is_said_to_be_queued() {
    let text = format!("{}\n@You:\nHello\n", "@You:\nEarlier words.\n\n@Assistant:\nAn answer.\n\n".repeat(20));
    let (mut chat, gate) = writing(&Setup { text: Some(&text), ..Setup::default() });
    // At the end of the text, the screen shows it.
    chat.nvim.command("Flemma queue one");
    wait_for_queued(&mut chat.nvim, "one");
    chat.nvim.wait_for_screen("Queued: sent when the turn ends");
    assert!(!said(&mut chat.nvim).contains("queued; it is sent"), "{}", said(&mut chat.nvim));
    chat.nvim.input("ggi");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("!<Esc><CR>");
    wait_for_queued(&mut chat.nvim, "one!");
    chat.nvim.wait_for_screen("Flemma: queued; it is sent when the turn ends");
    gate.open();
    chat.wait_until_idle();
}
