//! `editing.auto_write`: the file is written whole, without a question, and Neovim knows the file as written.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, prose, said},
    http::{Gate, Reply},
    support::Nvim,
};

const OPTIONS: &str = "editing = { auto_write = true }, tools = { auto_approve = { 'bash' } }";

fn start(lua: &str, replies: impl IntoIterator<Item = Reply>) -> Chat {
    Chat::start(&Setup { options: OPTIONS, lua, ..Setup::default() }, replies)
}

/// Sends, and waits until the reply is there and the buffer is the user's.
fn send(chat: &mut Chat, answer: &str) {
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for(answer, |nvim| nvim.text().contains(answer));
    chat.wait_until_idle();
}

/// Waits until the buffer has no changes.
fn wait_until_written(nvim: &mut Nvim) {
    nvim.wait_for("the file to be written", |nvim| nvim.lua("return vim.bo.modified", &[]) == false);
}

/// Checks that Neovim does not wait for an answer, and has neither asked nor warned.
fn nothing_odd(nvim: &mut Nvim) {
    assert_eq!(nvim.request("nvim_get_mode", &[])["blocking"], false);
    let messages = said(nvim);
    for odd in
        ["W11", "W12", "W13", "W16", "WARNING", "E211", "Error", "traceback", "internal error", "was not written"]
    {
        assert!(!messages.contains(odd), "{odd}: {messages}");
    }
}

#[test]
fn neovim_accepts_an_automatic_write_as_its_own() {
    let lua = "vim.o.undofile = true
        vim.o.undodir = vim.fn.stdpath('state') .. '/undo'
        vim.fn.mkdir(vim.o.undodir, 'p')
        events = {}
        vim.api.nvim_create_autocmd({ 'BufWritePre', 'BufWritePost', 'BufReadPost', 'FileChangedShell' }, {
          pattern = '*.chat',
          callback = function(args) events[#events + 1] = args.event end,
        })";
    let mut chat = start(lua, [prose(&["first"]), prose(&["second"]), prose(&["third"])]);
    chat.nvim.lua("events = {}", &[]);
    send(&mut chat, "first");
    wait_until_written(&mut chat.nvim);
    assert_eq!(chat.nvim.file("notes.chat"), chat.nvim.text());
    assert_eq!(chat.nvim.lua("return events", &[]), json!(["BufWritePost"]), "plugins hear of the write");
    // 'autoread' is on: a file that Neovim takes for changed would be read anew, and the undo history with it.
    chat.nvim.command("checktime");
    chat.nvim.command("set noautoread | checktime");
    assert_eq!(chat.nvim.lua("return events", &[]), json!(["BufWritePost"]));
    // Undo leads away from what is in the file, and redo back to it.
    let text = chat.nvim.text();
    chat.nvim.command("undo");
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true);
    chat.nvim.command("redo");
    assert_eq!(chat.nvim.text(), text);
    // The history on the disk belongs to the text on the disk.
    chat.nvim.command("set nomodified | bwipeout | edit notes.chat");
    let steps = chat.nvim.lua("return vim.fn.undotree().seq_last", &[]).as_u64().unwrap();
    assert!(steps >= 1, "the undo file was read: {steps} steps");
    chat.nvim.input("Gosecond question<Esc>");
    send(&mut chat, "second");
    wait_until_written(&mut chat.nvim);
    // A `:write` right after an automatic write.
    chat.nvim.input("Gothird question<Esc>:write<CR>");
    wait_until_written(&mut chat.nvim);
    send(&mut chat, "third");
    wait_until_written(&mut chat.nvim);
    assert_eq!(chat.nvim.file("notes.chat"), chat.nvim.text());
    nothing_odd(&mut chat.nvim);
}

#[test]
fn an_automatic_write_equals_a_write_by_neovim() {
    let mut chat = start("", []);
    let ours = chat.nvim.work().join("notes.chat");
    let theirs = chat.nvim.work().join("theirs.txt");
    let mut cases = Vec::new();
    for format in ["unix", "dos", "mac"] {
        for bits in 0..32_u32 {
            let on = |bit: u32| if bits & (1 << bit) == 0 { "no" } else { "" };
            cases.push(format!(
                "fileformat={format} {}bomb {}endofline {}fixendofline {}binary {}endoffile",
                on(0),
                on(1),
                on(2),
                on(3),
                on(4)
            ));
        }
    }
    for text in ["{ 'a', '', 'b\\r', 'nul\\n', 'no text \\255', 'ü' }", "{ '' }", "{ 'x' }"] {
        for case in &cases {
            let code = format!(
                "vim.cmd('setlocal {case}')
                 vim.api.nvim_buf_set_lines(0, 0, -1, false, {{}})
                 vim.fn.setline(1, {text})
                 vim.bo.modified = true
                 vim.cmd('silent noautocmd keepalt write! theirs.txt')
                 require('flemma.buffer.saving').write_now(0 + vim.api.nvim_get_current_buf())
                 return vim.bo.modified"
            );
            assert_eq!(chat.nvim.lua(&code, &[]), false, "{case} {text}: {}", said(&mut chat.nvim));
            assert_eq!(fs::read(&ours).unwrap(), fs::read(&theirs).unwrap(), "{case} {text}");
        }
    }
    // An empty buffer has no line.
    chat.nvim.command("set noautoread | silent %delete | silent noautocmd keepalt write! theirs.txt");
    chat.nvim.lua("require('flemma.buffer.saving').write_now(vim.api.nvim_get_current_buf())", &[]);
    assert_eq!(fs::read(&ours).unwrap(), fs::read(&theirs).unwrap());
}

/// What happens to the file, and the words of the message.
type Accident = (fn(&Path), &'static str);

fn accidents() -> [Accident; 5] {
    [
        (|file| fs::write(file, "somebody else's text\n").unwrap(), "something else has changed the file"),
        (|file| fs::remove_file(file).unwrap(), "the file was deleted"),
        (|file| fs::remove_dir_all(file.parent().unwrap()).unwrap(), "the file was deleted"),
        (
            |file| fs::set_permissions(file, fs::Permissions::from_mode(0o444)).unwrap(),
            "something else has changed the file",
        ),
        (
            |file| {
                fs::remove_file(file).unwrap();
                fs::create_dir(file).unwrap();
            },
            "it is not a regular file",
        ),
    ]
}

#[test]
fn a_file_that_cannot_be_written_is_reported_once() {
    let replies = accidents().iter().flat_map(|_| [prose(&["one"]), prose(&["two"])]).collect::<Vec<_>>();
    let mut chat = start("", replies);
    for (index, (accident, words)) in accidents().iter().enumerate() {
        let file = chat.nvim.work().join(format!("{index}/a.chat"));
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "@You:\nHello\n").unwrap();
        chat.nvim.command(&format!("edit {}", file.display()));
        // What happens to a file before its lock is got is read.
        let lock = file.with_file_name(".a.chat.flemma-lock");
        chat.nvim.wait_for("the lock", |_| lock.exists());
        let settled = "return require('flemma.native').call('state', vim.api.nvim_get_current_buf(), 'settled')";
        chat.nvim.wait_for("the journal", |nvim| nvim.lua(settled, &[]) == true);
        accident(&file);
        let before = fs::read(&file).ok();
        chat.nvim.command("messages clear");
        send(&mut chat, "one");
        chat.nvim.wait_for(words, |nvim| said(nvim).contains(words));
        chat.nvim.input("Gogo on<Esc>");
        send(&mut chat, "two");
        // What is written next is asked of the same thread, after that.
        chat.nvim.wait_for("the second write to end", |nvim| {
            nvim.lua("return vim.fn.exists('#flemma.saving.flight.' .. vim.api.nvim_get_current_buf())", &[]) == 0
        });
        let messages = said(&mut chat.nvim);
        assert_eq!(messages.matches("a.chat was not written").count(), 1, "{messages}");
        assert_eq!(messages.contains("`:write!` creates it again"), *words == "the file was deleted", "{messages}");
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true, "nothing is lost");
        assert_eq!(fs::read(&file).ok(), before);
        assert_eq!(chat.nvim.request("nvim_get_mode", &[])["blocking"], false);
        chat.nvim.command("set nomodified");
    }
    // After a `:write`, automatic writes continue.
    let file = chat.nvim.work().join("0/a.chat");
    chat.nvim.command(&format!("edit {} | edit!", file.display()));
    chat.nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { '@You:', 'mine' })", &[]);
    fs::write(&file, "theirs\n").unwrap();
    chat.nvim.command("silent write!");
    chat.nvim.lua("vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'more' })", &[]);
    chat.nvim.lua("require('flemma.buffer.saving').auto_write(vim.api.nvim_get_current_buf())", &[]);
    wait_until_written(&mut chat.nvim);
    assert_eq!(fs::read_to_string(&file).unwrap(), "@You:\nmine\nmore\n");
}

#[test]
fn files_that_must_not_be_written_are_left_alone() {
    let mut chat = start("", []);
    let auto_write = "require('flemma.buffer.saving').auto_write(vim.api.nvim_get_current_buf())
                      return vim.fn.exists('#flemma.saving.flight.' .. vim.api.nvim_get_current_buf()) == 1";
    for (set, unset, words) in [
        ("setlocal readonly", "setlocal noreadonly", "'readonly' is set"),
        ("autocmd BufWriteCmd *.chat let g:x = 1", "autocmd! BufWriteCmd *.chat", "another plugin writes this file"),
        // It was reported already.
        ("autocmd BufWriteCmd <buffer> let g:x = 1", "autocmd! BufWriteCmd <buffer>", ""),
        ("set nowrite", "set write", "the option 'write' is off"),
        ("setlocal buftype=nofile", "setlocal buftype=", ""),
        ("silent noautocmd file scp://host/a.chat", "silent noautocmd file notes.chat", ""),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.command(set);
        chat.nvim.command("set modified");
        assert_eq!(chat.nvim.lua(auto_write, &[]), false, "{set}");
        if !words.is_empty() {
            chat.nvim.wait_for(words, |nvim| said(nvim).contains(words));
        }
        chat.nvim.command(unset);
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true, "{set}");
    }
    assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\n");
}

#[test]
fn user_commands_during_a_background_write_work_normally() {
    let mut chat = start("vim.g.written = 0 vim.cmd('autocmd BufWritePost *.chat let g:written += 1')", []);
    // In one chunk, so that the end of the automatic write cannot be processed in between.
    let begin = "local buf = vim.api.nvim_get_current_buf()
        vim.api.nvim_buf_set_lines(buf, -1, -1, false, { (...) })
        require('flemma.buffer.saving').auto_write(buf)
        assert(vim.fn.exists('#flemma.saving.flight.' .. buf) == 1)";
    let landed = |nvim: &mut Nvim| {
        nvim.wait_for("the write to end", |nvim| {
            nvim.lua("return vim.fn.exists('#flemma.saving.flight.' .. vim.api.nvim_get_current_buf())", &[]) == 0
        });
    };
    chat.nvim.lua(
        &format!("{begin} vim.api.nvim_buf_set_lines(buf, -1, -1, false, {{ 'and more' }}) vim.cmd('write')"),
        &["one".into()],
    );
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false);
    landed(&mut chat.nvim);
    assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\none\nand more\n");
    chat.nvim.lua(&format!("{begin} vim.cmd('write! copy.txt')"), &["two".into()]);
    assert_eq!(chat.nvim.file("copy.txt"), "@You:\nHello\none\nand more\ntwo\n");
    landed(&mut chat.nvim);
    // The file is checked when it is new on the disk and Neovim does not know yet.
    chat.nvim.lua(
        &format!(
            "{begin} vim.wait(30000, function() return #vim.fn.readfile('notes.chat') == 6 end, 5, true)
             vim.cmd('checktime')"
        ),
        &["three".into()],
    );
    landed(&mut chat.nvim);
    // Text that was typed meanwhile stays a change.
    chat.nvim.lua(&format!("{begin} vim.api.nvim_buf_set_lines(buf, -1, -1, false, {{ 'typed' }})"), &["four".into()]);
    landed(&mut chat.nvim);
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true);
    assert!(chat.nvim.file("notes.chat").ends_with("three\nfour\n"));
    chat.nvim.command("checktime | write | checktime");
    assert!(chat.nvim.file("notes.chat").ends_with("four\ntyped\n"));
    // Wiping a buffer does not lose a write in progress.
    chat.nvim.lua(&format!("{begin} vim.cmd('bwipeout!')"), &["five".into()]);
    let file = chat.nvim.work().join("notes.chat");
    chat.nvim.wait_for("the last line", |_| fs::read_to_string(&file).unwrap().ends_with("typed\nfive\n"));
    nothing_odd(&mut chat.nvim);
}

#[test]
fn leaving_waits_for_a_write_in_progress() {
    let mut chat = start("", []);
    let file = chat.nvim.work().join("notes.chat");
    let _ = chat.nvim.try_lua(
        "vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'last words' })
         require('flemma.buffer.saving').auto_write(vim.api.nvim_get_current_buf())
         vim.cmd('qall!')",
        &[],
    );
    chat.nvim.wait_for_exit();
    assert_eq!(fs::read_to_string(file).unwrap(), "@You:\nHello\nlast words\n");
}

#[test]
fn a_file_changed_by_a_tool_is_reported_without_a_question() {
    let command = "for f in clean mine new; do echo theirs >$f.txt; done; touch -d 2030-01-01 touched.txt; rm gone.txt";
    let input = json!({ "label": null, "command": command, "timeout": null });
    let files = ["clean", "mine", "new", "touched", "gone"].map(|name| (format!("{name}.txt"), "old\n"));
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let mut chat = Chat::start(
        &Setup { options: OPTIONS, files: &files, ..Setup::default() },
        [call("toolu_1", "bash", &input), prose(&["done"])],
    );
    for (name, ..) in &files {
        chat.nvim.command(&format!("split {name}"));
        match *name {
            "mine.txt" => chat.nvim.command("call setline(1, 'mine')"),
            "new.txt" => chat.nvim.command("setlocal noautoread"),
            _ => {}
        }
        chat.nvim.command("wincmd p");
    }
    chat.nvim.command("1wincmd w | buffer notes.chat | only");
    send(&mut chat, "done");
    for words in
        ["mine.txt was changed on disk and in its buffer", "new.txt was changed on disk", "gone.txt is open here"]
    {
        chat.nvim.wait_for(words, |nvim| said(nvim).contains(words));
    }
    assert_eq!(chat.nvim.request("nvim_get_mode", &[])["blocking"], false);
    let text = |nvim: &mut Nvim, name: &str| nvim.lua("return vim.fn.getbufline((...), 1)[1]", &[name.into()]);
    assert_eq!(text(&mut chat.nvim, "clean.txt"), "theirs");
    assert_eq!(text(&mut chat.nvim, "mine.txt"), "mine");
    assert_eq!(text(&mut chat.nvim, "new.txt"), "old");
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains("touched.txt") && !messages.contains("W12") && !messages.contains("E211"), "{messages}");
    // The write of a conversation that is under way does not matter.
    chat.nvim.command("messages clear");
    fs::write(chat.nvim.work().join("mine.txt"), "theirs again\n").unwrap();
    during_a_write(&mut chat, "more", "require('flemma.buffer.checktime').all()");
    assert!(
        said(&mut chat.nvim).contains("mine.txt was changed on disk and in its buffer"),
        "{}",
        said(&mut chat.nvim)
    );
    chat.nvim.command("buffer touched.txt | call setline(1, 'x') | write");
    assert_eq!(chat.nvim.file("touched.txt"), "x\n", "a new time alone is nothing to ask about");
}

/// Adds lines, begins an automatic write, and runs `then` before the end of the write can be processed.
fn during_a_write(chat: &mut Chat, line: &str, then: &str) {
    let code = format!(
        "local buf = vim.api.nvim_get_current_buf()
         vim.api.nvim_buf_set_lines(buf, -1, -1, false, {{ (...) }})
         require('flemma.buffer.saving').auto_write(buf)
         assert(vim.fn.exists('#flemma.saving.flight.' .. buf) == 1)
         {then}"
    );
    chat.nvim.lua(&code, &[line.into()]);
    chat.nvim.wait_for("the write to end", |nvim| {
        nvim.lua("return vim.fn.exists('#flemma.saving.flight.' .. vim.api.nvim_get_current_buf())", &[]) == 0
    });
}

#[test]
fn a_filetype_change_settles_the_write_under_way() {
    for filetype in ["set filetype=text", "set filetype=text | set filetype=chat"] {
        let mut chat = start("", []);
        during_a_write(&mut chat, "one", &format!("vim.cmd('{filetype}')"));
        wait_until_written(&mut chat.nvim);
        assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\none\n");
        chat.nvim.command("set noautoread | checktime | call append(line('$'), 'two') | write");
        assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\none\ntwo\n");
        if filetype.ends_with("chat") {
            during_a_write(&mut chat, "three", "");
            wait_until_written(&mut chat.nvim);
            assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\none\ntwo\nthree\n");
        }
        nothing_odd(&mut chat.nvim);
    }
    // The cancel caused by the new filetype begins another write.
    let stream = Stream::new().text(&["half a reply"]);
    let reply = stream.events().iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hang();
    let mut chat = start("", [reply]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("half a reply"));
    chat.nvim.command("set filetype=text");
    wait_until_written(&mut chat.nvim);
    assert_eq!(chat.nvim.file("notes.chat"), chat.nvim.text());
    chat.nvim.command("set noautoread | checktime | call append(line('$'), 'more') | write");
    nothing_odd(&mut chat.nvim);
}

#[test]
fn a_buffer_renamed_during_a_write_is_saved_under_its_new_name() {
    for before in [None, Some("old text\n")] {
        let mut chat = start("", []);
        let file = chat.nvim.work().join("b.chat");
        if let Some(text) = before {
            fs::write(&file, text).unwrap();
        }
        during_a_write(&mut chat, "one", "vim.cmd('saveas! b.chat')");
        assert_eq!(fs::read_to_string(&file).unwrap(), "@You:\nHello\none\n");
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false);
        during_a_write(&mut chat, "two", "");
        wait_until_written(&mut chat.nvim);
        assert_eq!(fs::read_to_string(&file).unwrap(), "@You:\nHello\none\ntwo\n");
        // A name alone: nothing has the text yet.
        during_a_write(&mut chat, "three", "vim.cmd('file c.chat')");
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true, "c.chat was never written");
        assert!(!chat.nvim.work().join("c.chat").exists());
        chat.nvim.command("silent write | set noautoread | checktime");
        assert_eq!(chat.nvim.file("c.chat"), chat.nvim.text());
        nothing_odd(&mut chat.nvim);
    }
}

#[test]
fn a_late_automatic_write_leaves_out_half_a_reply() {
    let (more, rest) = (Gate::new(), Gate::new());
    let stream = Stream::new().text(&["The beginning", " and then", " the end"]).end("end_turn");
    let reply = stream.events().iter().fold(Reply::stream(), |reply, event| {
        let gate = [(" and then", &more), (" the end", &rest)].into_iter().find(|(words, _)| event.contains(words));
        gate.map_or(reply.clone(), |(_, gate)| reply.hold(gate)).chunk(event.as_str())
    });
    let mut chat = start("", [reply]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("The beginning"));
    assert!(!chat.nvim.file("notes.chat").contains("The beginning"), "the write of what was sent has half a reply");
    // Another write is wanted while one is under way, as when a request is sent right after a result. On a slow machine,
    // part of the reply has arrived when that write ends.
    let slow = "local saving = require('flemma.buffer.saving')
        local finished = saving.finished
        saving.finished = function(...)
          local ended = { ... }
          saving.finished = finished
          _G.finish = function() finished(unpack(ended)) end
        end
        saving.auto_write(vim.api.nvim_get_current_buf())
        saving.auto_write(vim.api.nvim_get_current_buf())";
    chat.nvim.lua(slow, &[]);
    more.open();
    chat.nvim.wait_for("more", |nvim| nvim.text().contains(" and then"));
    chat.nvim.wait_for("the end of the write", |nvim| nvim.lua("return _G.finish ~= nil", &[]) == true);
    chat.nvim.lua("_G.finish()", &[]);
    chat.nvim.wait_for("no write", |nvim| {
        nvim.lua("return vim.fn.exists('#flemma.saving.flight.' .. vim.api.nvim_get_current_buf())", &[]) == 0
    });
    assert!(!chat.nvim.file("notes.chat").contains(" and then"), "{}", chat.nvim.file("notes.chat"));
    rest.open();
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains(" the end"));
    chat.wait_until_idle();
    wait_until_written(&mut chat.nvim);
    assert_eq!(chat.nvim.file("notes.chat"), chat.nvim.text());
}

#[test]
fn the_user_writes_right_after_a_refused_automatic_write() {
    let mut chat = start("", []);
    // The buffer is modified when it becomes a conversation.
    let code = "vim.cmd([[set filetype=text | call append(2, 'one') | set filetype=chat]])
        require('flemma.buffer.saving').auto_write(vim.api.nvim_get_current_buf())
        vim.cmd('silent write')
        return vim.bo.modified";
    assert_eq!(chat.nvim.lua(code, &[]), false, "{}", said(&mut chat.nvim));
    assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\none\n");
    let refused = said(&mut chat.nvim).matches("was not written").count();
    assert_eq!(refused, 1, "it is not known when the file was read");
}

#[test]
fn a_write_with_a_bang_overrides_an_automatic_write() {
    let change = "vim.fn.writefile({ 'theirs' }, 'notes.chat')";
    let mut chat = start("", []);
    // Without a bang their text stays.
    chat.nvim.lua(
        &format!(
            "{change} vim.fn.append(2, 'one') require('flemma.buffer.saving').auto_write(vim.api.nvim_get_current_buf())"
        ),
        &[],
    );
    chat.nvim.wait_for("the reason", |nvim| said(nvim).contains("something else has changed the file"));
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), true);
    assert_eq!(chat.nvim.file("notes.chat"), "theirs\n");
    chat.nvim.command("silent write!");
    during_a_write(&mut chat, "two", "vim.bo.readonly = true vim.cmd('write!') vim.bo.readonly = false");
    assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false);
    assert_eq!(chat.nvim.file("notes.chat"), "@You:\nHello\none\ntwo\n");
    chat.nvim.command("set noautoread | checktime");
    during_a_write(&mut chat, "three", "");
    wait_until_written(&mut chat.nvim);
    assert_eq!(chat.nvim.request("nvim_get_mode", &[])["blocking"], false);
}

/// Writes that no autocommand hears of.
const SILENT_WRITES: [&str; 3] =
    ["noautocmd write", "noautocmd wall", "execute 'autocmd User Left silent! wall' | doautocmd User Left"];

#[test]
fn a_write_without_autocommands_is_neovims_own() {
    for write in SILENT_WRITES {
        let mut chat = start("", [prose(&["first"]), prose(&["second"])]);
        send(&mut chat, "first");
        wait_until_written(&mut chat.nvim);
        chat.nvim.input("GAmore<Esc>");
        chat.nvim.wait_for("the text", |nvim| nvim.text().ends_with("more\n"));
        chat.nvim.command(write);
        assert!(chat.nvim.file("notes.chat").ends_with("more\n"), "{write}");
        send(&mut chat, "second");
        wait_until_written(&mut chat.nvim);
        assert_eq!(chat.nvim.file("notes.chat"), chat.nvim.text(), "{write}");
        nothing_odd(&mut chat.nvim);
    }
}

#[test]
fn neovims_own_write_during_a_reply_is_recognised() {
    let here = SILENT_WRITES.iter().map(|write| (write, false));
    let away = SILENT_WRITES.iter().filter(|write| write.contains("wall")).map(|write| (write, true));
    for (write, is_away) in here.chain(away) {
        let gate = Gate::new();
        let stream = Stream::new().text(&["some words ", "and more"]).end("end_turn");
        let reply = stream.events().iter().fold(Reply::stream(), |reply, event| {
            let reply = if event.contains("and more") { reply.hold(&gate) } else { reply };
            reply.chunk(event.as_str())
        });
        let mut chat = start("", [reply]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the beginning", |nvim| nvim.text().contains("some words"));
        if is_away {
            chat.nvim.command("new other.txt");
        }
        chat.nvim.command(write);
        let file = chat.nvim.file("notes.chat");
        assert!(file.contains("some words"), "{write} {is_away}: {file}\n{}", said(&mut chat.nvim));
        gate.open();
        chat.nvim.wait_for("the end", |nvim| {
            nvim.lua("return vim.fn.getbufvar('notes.chat', '&modifiable')", &[]) == 1
                && nvim.file("notes.chat").contains("and more")
        });
        chat.nvim.command("buffer notes.chat");
        assert_eq!(chat.nvim.file("notes.chat"), chat.nvim.text(), "{write} {is_away}");
        nothing_odd(&mut chat.nvim);
    }
}

/// In latin1, there is no place for these.
const WIDE: &str = "漢字 und €";

#[test]
fn a_conversation_is_utf8_whatever_an_option_says() {
    let told = format!("@You:\n{WIDE}\n");
    for (charset, spoil) in
        [("latin1", ""), ("utf-16le", ""), ("utf-8", "set fileencoding=latin1"), ("latin1", "silent saveas other.chat")]
    {
        let config = format!("root = true\n[*]\ncharset = {charset}\n");
        let setup =
            Setup { text: Some(&told), files: &[(".editorconfig", &config)], options: OPTIONS, ..Setup::default() };
        let mut chat = Chat::start(&setup, [prose(&["é 字"])]);
        chat.nvim.command(spoil);
        assert!(chat.nvim.text().contains(WIDE));
        let name = if spoil.contains("saveas") { "other.chat" } else { "notes.chat" };
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), spoil.starts_with("set f"), "{charset} {spoil}");
        send(&mut chat, "é 字");
        wait_until_written(&mut chat.nvim);
        let text = chat.nvim.text();
        assert_eq!(chat.nvim.file(name), text, "{charset} {spoil}");
        // Their own write as well.
        chat.nvim.input("Gomehr €<Esc>");
        chat.nvim.command("write");
        let text = chat.nvim.text();
        assert!(text.contains("mehr €"));
        assert_eq!(chat.nvim.file(name), text, "{charset} {spoil}");
        assert_eq!(chat.nvim.lua("return { vim.bo.modified, vim.bo.fileencoding }", &[]), json!([false, "utf-8"]));
        nothing_odd(&mut chat.nvim);
    }
}

#[test]
fn a_byte_order_mark_of_a_conversation_stays() {
    let setup = Setup { text: Some("\u{feff}@You:\nHello\n"), options: OPTIONS, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["fine"])]);
    send(&mut chat, "fine");
    wait_until_written(&mut chat.nvim);
    assert_eq!(chat.nvim.file("notes.chat"), format!("\u{feff}{}", chat.nvim.text()));
}
