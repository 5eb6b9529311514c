//! The input window as a buffer: who may write it, what reads it again, and which text a changed message has.

use serde_json::json;

use super::{
    chat::{Chat, Setup, call, said},
    http::Gate,
    queue::{held, in_window, queued, wait_for_queued, wait_for_window, writing},
    support::Nvim,
};

/// A draft in the input window, in Normal mode.
fn drafting(setup: &Setup<'_>, text: &str) -> (Chat, Gate) {
    let (mut chat, gate) = writing(setup);
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input(&format!("{text}<Esc>"));
    chat.nvim.wait_for("the draft", |nvim| {
        nvim.lua("return vim.fn.mode()", &[]) == "n" && nvim.text().ends_with(&format!("{text}\n"))
    });
    (chat, gate)
}

fn no_message_is_queued(nvim: &mut Nvim) {
    assert!(!queued(nvim).iter().any(|line| line.starts_with("Queued")), "{:?}", queued(nvim));
}

#[test]
fn a_write_that_the_user_did_not_ask_for_queues_nothing() {
    let lua = "vim.o.autowrite = true
        vim.cmd('autocmd InsertLeave * ++nested silent! wall')
        vim.cmd('autocmd TextChangedI * ++nested silent! write')
        vim.cmd('autocmd FocusLost * silent! wall')";
    let (mut chat, gate) = drafting(&Setup { lua, ..Setup::default() }, "half a sentence");
    assert!(in_window(&mut chat.nvim));
    for command in ["silent !true", "wall", "doautocmd FocusLost", "set ff=dos | wall", "windo write"] {
        chat.nvim.input(&format!(":silent {command}<CR>"));
        let done = format!("done with {command}");
        chat.nvim.input(&format!(":let g:done = '{done}'<CR>"));
        chat.nvim.wait_for(command, |nvim| nvim.lua("return vim.g.done", &[]) == done);
        no_message_is_queued(&mut chat.nvim);
        assert_eq!(chat.nvim.text(), "half a sentence\n", "{command}");
    }
    chat.nvim.lua("vim.schedule(function() vim.cmd('silent! write') vim.g.timed = 1 end)", &[]);
    chat.nvim.wait_for("the timer", |nvim| nvim.lua("return vim.g.timed", &[]) == 1);
    no_message_is_queued(&mut chat.nvim);
    // The text can be taken elsewhere.
    let file = chat.nvim.work().join("copy.txt");
    for command in [":w copy.txt", ":1w! copy.txt", ":saveas! copy.txt"] {
        let _ = std::fs::remove_file(&file);
        chat.nvim.input(&format!("{command}<CR>"));
        chat.nvim
            .wait_for(command, |_| std::fs::read_to_string(&file).is_ok_and(|text| text.starts_with("half a sen")));
        no_message_is_queued(&mut chat.nvim);
    }
    chat.nvim.wait_for("its name", |nvim| {
        nvim.lua("return vim.fn.bufname()", &[]).as_str().unwrap().starts_with("flemma://")
    });
    gate.open();
    chat.nvim.wait_for("the end", |nvim| nvim.lua("return vim.bo[vim.fn.bufnr('notes.chat')].modifiable", &[]) == true);
    assert_eq!(chat.server.requests().len(), 1);
    chat.nvim.input(":x<CR>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@You:\nhalf a sentence\n\n@Assistant:\nfine"));
}

#[test]
fn every_way_to_write_the_input_window_queues_it() {
    let lua = "vim.keymap.set('n', '<F2>', '<Cmd>write<CR>')
        vim.keymap.set('n', '<F3>', function() vim.cmd.write() end)
        vim.keymap.set('n', '<F4>', ':silent write<CR>')
        vim.cmd('command! W write')";
    let (mut chat, _gate) = writing(&Setup { lua, ..Setup::default() });
    let ways =
        [":w<CR>", ":update<CR>", ":x<CR>", ":wq<CR>", "ZZ", "<F2>", "<F3>", "<F4>", ":W<CR>", ":stopinsert | w<CR>"];
    for (at, keys) in ways.iter().enumerate() {
        chat.nvim.input("o");
        wait_for_window(&mut chat.nvim);
        chat.nvim.input(&format!("message {at}.<Esc>{keys}"));
        wait_for_queued(&mut chat.nvim, &format!("message {at}."));
    }
}

#[test]
fn a_changed_message_waits_until_the_change_is_queued() {
    let (mut chat, gate) = writing(&Setup::default());
    chat.nvim.command("Flemma queue delete all files");
    wait_for_queued(&mut chat.nvim, "delete all files");
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("<Esc>Ido not <Esc>:q<CR>");
    wait_for_queued(&mut chat.nvim, "(being changed) do not delete all files");
    gate.open();
    chat.wait_until_idle();
    assert_eq!(chat.server.requests().len(), 1);
    wait_for_queued(&mut chat.nvim, "it waits until you queue your change");
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("<Esc><CR>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@You:\ndo not delete all files\n\n@Assistant:\nfine"));
    chat.wait_until_idle();
    assert_eq!(queued(&mut chat.nvim), [""; 0]);
    assert_eq!(chat.server.requests().len(), 2);
}

#[test]
fn a_cancelled_turn_takes_the_change_and_not_both_texts() {
    let (mut chat, _gate) = writing(&Setup::default());
    chat.nvim.command("Flemma queue old words");
    wait_for_queued(&mut chat.nvim, "old words");
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("<Esc>ccnew words<Esc>:q<CR>");
    wait_for_queued(&mut chat.nvim, "new words");
    chat.nvim.input("<C-c>");
    chat.nvim.wait_for("the text", |nvim| nvim.text().ends_with("@You:\nnew words\n"));
    assert!(!chat.nvim.text().contains("old words"));
    assert_eq!(queued(&mut chat.nvim), [""; 0]);
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "\n", "it is not in the window as well");
}

#[test]
fn taking_back_what_is_being_changed_gives_one_text() {
    let (mut chat, _gate) = writing(&Setup::default());
    for close in ["<C-w>k", ":q<CR>"] {
        chat.nvim.command("Flemma queue mine");
        wait_for_queued(&mut chat.nvim, "mine");
        chat.nvim.input("i");
        wait_for_window(&mut chat.nvim);
        chat.nvim.input(&format!("!<Esc>{close}"));
        chat.nvim.wait_for("the conversation", |nvim| !in_window(nvim));
        chat.nvim.input("u");
        chat.nvim.wait_for("nothing queued", |nvim| !queued(nvim).iter().any(|line| line.starts_with("Queued")));
        chat.nvim.input("i");
        wait_for_window(&mut chat.nvim);
        assert_eq!(chat.nvim.text(), "mine!\n");
        assert!(!said(&mut chat.nvim).contains("no longer queued"));
        chat.nvim.input("<Esc>");
        chat.nvim.wait_for("Normal mode", |nvim| nvim.lua("return vim.fn.mode()", &[]) == "n");
        chat.nvim.input("<CR>");
        wait_for_queued(&mut chat.nvim, "mine!");
        chat.nvim.command("Flemma unqueue");
        chat.nvim.command("Flemma queue");
        wait_for_window(&mut chat.nvim);
        chat.nvim.input("<Esc>ggdG:q<CR>");
        chat.nvim.wait_for("nothing left", |nvim| !in_window(nvim) && queued(nvim).is_empty());
    }
}

#[test]
fn reading_the_input_window_again_restores_it() {
    let (mut chat, _gate) = writing(&Setup::default());
    chat.nvim.command("Flemma queue mine");
    wait_for_queued(&mut chat.nvim, "mine");
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("<Esc>ccother<Esc>:e!<CR>");
    chat.nvim.wait_for("the queued text", |nvim| nvim.text() == "mine\n");
    chat.nvim.input("u");
    chat.nvim.wait_for("undo", |nvim| nvim.text() == "other\n");
    chat.nvim.input(":e!<CR>");
    chat.nvim.wait_for("the queued text", |nvim| nvim.text() == "mine\n");
    chat.nvim.input(":w<CR>");
    wait_for_queued(&mut chat.nvim, "mine");
    assert_eq!(chat.nvim.lua("return #require('flemma.native').call('queued', vim.fn.bufnr('notes.chat'))", &[]), 1);
}

#[test]
fn an_empty_register_and_locked_new_buffers_do_no_harm() {
    let (mut chat, gate) = writing(&Setup::default());
    chat.nvim.input("\"zp");
    chat.nvim.wait_for("why not", |nvim| said(nvim).contains("there is nothing in the register `z`"));
    assert!(!in_window(&mut chat.nvim));
    chat.nvim.command("setglobal nomodifiable");
    chat.nvim.input("i");
    wait_for_window(&mut chat.nvim);
    chat.nvim.input("words<Esc><CR>");
    wait_for_queued(&mut chat.nvim, "words");
    gate.open();
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("words\n\n@Assistant:\nfine"));
    chat.wait_until_idle();
    chat.nvim.command("Flemma status");
    chat.nvim.wait_for("the status", |nvim| nvim.lua("return vim.api.nvim_win_get_config(0).relative", &[]) != "");
    let told = said(&mut chat.nvim);
    assert!(!told.contains("E5108") && !told.contains("traceback") && !told.contains("E21"), "{told}");
}

#[test]
fn a_draft_is_there_when_the_conversation_is_opened_again() {
    let (mut chat, gate) = drafting(&Setup::default(), "half a thought");
    gate.open();
    chat.nvim.input(":q<CR>");
    chat.wait_until_idle();
    chat.nvim.command("silent write");
    chat.nvim.command("bwipeout!");
    let drafts = "return #vim.tbl_filter(function(buf) return vim.bo[buf].filetype == 'flemma_queue' end, vim.api.nvim_list_bufs())";
    chat.nvim.wait_for("no draft left over", |nvim| nvim.lua(drafts, &[]) == 0);
    chat.nvim.command("edit notes.chat");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("a message that you were writing here was kept"));
    chat.nvim.command("Flemma queue");
    wait_for_window(&mut chat.nvim);
    assert_eq!(chat.nvim.text(), "half a thought\n");
}

#[test]
fn the_title_of_the_input_window_says_what_it_does_now() {
    let (mut chat, gate) = drafting(&Setup::default(), "half a thought");
    chat.nvim.wait_for_screen("Queue a message ─ Enter or :w queues it, :q keeps it");
    for command in ["bwipeout! notes.chat", "bdelete notes.chat", "bunload! 1"] {
        chat.nvim.command("messages clear");
        chat.nvim.input(&format!(":{command}<CR>"));
        chat.nvim.wait_for(command, |nvim| said(nvim).contains("the conversation is below this window: `:q` first"));
        assert!(in_window(&mut chat.nvim), "{command}");
    }
    gate.open();
    chat.nvim.wait_for_screen("Write a message ─ Enter or :w sends it, :q keeps it");
    chat.nvim.input("<CR>");
    chat.wait_for_text(
        "@You:\nHello\n\n@Assistant:\nfirst words\n\n@You:\nhalf a thought\n\n@Assistant:\nfine\n\n@You:\n\n",
    );
}

#[test]
fn what_is_typed_without_a_pause_outlives_a_kill() {
    let (mut chat, _gate) = drafting(&Setup::default(), "half a thought");
    // No pause is long enough.
    chat.nvim.command("set updatetime=100000");
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
fn typing_before_a_status_block_is_said_to_break_it() {
    let calling = call("toolu_1", "bash", &json!({ "label": "list", "command": "ls", "timeout": null }));
    let mut chat = Chat::start(&Setup::default(), [calling]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.row_with("bash: $ ls").is_some());
    // The buffer is unlocked, so its keys are Neovim's own.
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('i', 'n')", &[]), "");
    let words = "this breaks the block of the call";
    // The word of the status is the user's to change.
    chat.nvim.input("/pending<CR>cwrejected<Esc>");
    chat.nvim.wait_for("the status", |nvim| nvim.text().contains("flemma:tool status=rejected"));
    assert!(!said(&mut chat.nvim).contains(words), "{}", said(&mut chat.nvim));
    chat.nvim.input("u0iplease hurry");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains(words));
    chat.nvim.input("<Esc>u");
    chat.nvim.wait_for("the block", |nvim| nvim.text().contains("\n```flemma:tool status=pending\n"));
}

#[test]
fn what_is_queued_is_shown_below_a_call_that_waits() {
    let gate = Gate::new();
    let calling = call("toolu_1", "bash", &json!({ "label": "list", "command": "ls", "timeout": null }));
    let mut chat = Chat::start(&Setup::default(), [calling, held(&gate)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| nvim.row_with("bash: $ ls").is_some());
    chat.nvim.command("Flemma queue later words");
    chat.nvim.wait_for("the message", |nvim| nvim.row_with("later words").is_some());
    let rows = |nvim: &mut Nvim| (nvim.row_with("bash: $ ls").unwrap(), nvim.row_with("later words").unwrap());
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
    chat.nvim.wait_for("steering", |nvim| queued(nvim)[0].contains("before the next request"));
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
    assert_eq!(chat.nvim.lua("return require('flemma.buffer').is_attached(vim.fn.bufnr())", &[]), false);
}

#[test]
fn a_key_that_edits_says_who_holds_the_conversation() {
    let (chat, _gate) = writing(&Setup::default());
    let file = chat.nvim.work().join("notes.chat");
    let mut other = Chat::another(&chat, &file, ("", ""), []);
    let is_locked = "return not vim.bo.modifiable";
    other.nvim.wait_for("the lock", |nvim| nvim.lua(is_locked, &[]) == true);
    for key in ["i", "o", "p"] {
        other.nvim.command("messages clear");
        other.nvim.input(key);
        other.nvim.wait_for("the holder", |nvim| said(nvim).contains("is read-only here until"));
        assert!(!said(&mut other.nvim).contains("E21"));
        assert!(!in_window(&mut other.nvim));
    }
    // What Neovim refuses itself is explained, and said once.
    let why = "read-only here: open elsewhere (`:Flemma status` says where)";
    for columns in [80, 30] {
        other.nvim.request("nvim_ui_try_resize", &[columns.into(), 24.into()]);
        for keys in ["dd", "dd", "x", "VJ<Esc>", "ggguG", ":g/Hello/d<CR>"] {
            // Where the screen is narrow, only a key takes the message before it away.
            other.nvim.input("h");
            other.nvim.wait_for("the message before it to go", |nvim| {
                nvim.command("echo '' | redraw");
                nvim.row_with("Flemma:").is_none()
            });
            other.nvim.input(keys);
            other.nvim.wait_for_screen("Flemma: read-only");
            assert_eq!(other.nvim.request("nvim_get_mode", &[])["blocking"], false, "{keys}");
        }
    }
    assert_eq!(said(&mut other.nvim).matches(why).count(), 1, "{}", said(&mut other.nvim));
    other.nvim.request("nvim_ui_try_resize", &[80.into(), 24.into()]);
    drop(chat);
    other.nvim.wait_for("the lock to go", |nvim| nvim.lua(is_locked, &[]) == false);
    other.nvim.command("messages clear");
    other.nvim.input(":set nomodifiable<CR>dd:unknown<CR>");
    other.nvim.wait_for("another error", |nvim| said(nvim).contains("E492"));
    assert!(said(&mut other.nvim).contains("E21") && !said(&mut other.nvim).contains("elsewhere"));
}

#[test]
fn the_input_window_shows_no_other_buffer() {
    let (mut chat, _gate) =
        drafting(&Setup { files: &[("other.txt", "another file\n")], ..Setup::default() }, "my words");
    let typed = [
        ":e! other.txt",
        ":e other.txt",
        ":b! notes.chat",
        ":b #",
        ":enew!",
        ":enew",
        ":bnext",
        ":bnext!",
        ":sil! bn!",
    ];
    let keys = ["<C-^>", "gf", "<C-o>"];
    let mapped = ["e! other.txt", "enew!", "enew", "bnext!", "b! notes.chat", "b notes.chat"];
    for columns in [80, 30] {
        chat.nvim.request("nvim_ui_try_resize", &[columns.into(), 24.into()]);
        let typed = typed.iter().map(|command| format!("{command}<CR>"));
        for keys in typed.chain(keys.map(str::to_owned)).chain(mapped.map(str::to_owned)) {
            let is_mapped = mapped.contains(&keys.as_str());
            if is_mapped {
                chat.nvim.lua("vim.keymap.set('n', '<F7>', '<Cmd>' .. ... .. '<CR>')", &[keys.as_str().into()]);
            }
            chat.nvim.command("messages clear");
            chat.nvim.input(if is_mapped { "<F7>" } else { &keys });
            chat.nvim.wait_for(&format!("the input window after {keys} at {columns} columns"), |nvim| {
                in_window(nvim)
                    && nvim.text() == "my words\n"
                    && nvim.mode() == "n"
                    && (keys == "<C-o>" || said(nvim).contains("only for the message"))
            });
            // Where the error of 'winfixbuf' does not fit, the buffer is put back instead.
            let options = "return { vim.wo.winfixbuf, vim.wo.linebreak, vim.wo.number }";
            assert_eq!(chat.nvim.lua(options, &[]), serde_json::json!([columns == 80, true, false]), "{keys}");
            let rows = chat.nvim.screen();
            let says = |row: &String| row.starts_with("Flemma: this wi");
            assert!(keys == "<C-o>" || rows.iter().rev().take(5).any(says), "{keys}: {rows:#?}");
        }
    }
    // What leads nowhere else is Neovim's own.
    chat.nvim.input(":vsplit other.txt<CR>");
    chat.nvim.wait_for("the split", |nvim| nvim.text() == "another file\n");
    chat.nvim.input(":q<CR>");
    chat.nvim.wait_for("the file to be gone", |nvim| nvim.text() != "another file\n");
    let unnamed = "return #vim.tbl_filter(function(buf) return vim.bo[buf].buflisted and vim.fn.bufname(buf) == '' end,
        vim.api.nvim_list_bufs())";
    assert_eq!(chat.nvim.lua(unnamed, &[]), 0);
}
