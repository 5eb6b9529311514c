//! A conversation as a buffer: local options, motions, marks and modes.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, decision_keys, prose, reply, spinner},
    http::{Gate, Reply},
    support::{Nvim, Options},
};

/// Files that end with a modeline, as a model could have written it.
fn with_modeline() -> String {
    "@You:\nHello\n\n@Assistant:\nvim: set tabstop=3 shiftwidth=3:\n".to_owned()
}

fn tabstop(nvim: &mut Nvim) -> u64 {
    nvim.lua("return vim.bo.tabstop", &[]).as_u64().unwrap()
}

#[test]
fn modelines_in_a_conversation_never_take_effect() {
    let text = with_modeline();
    let session = "edit from_session.chat\n";
    let mut nvim = Nvim::start(&Options {
        init: "vim.o.modeline = true",
        files: &[
            ("argument.chat", &text),
            ("edited.chat", &text),
            ("split.chat", &text),
            ("from_session.chat", &text),
            ("Session.vim", session),
            ("late.txt", "vim: set tabstop=3:\n"),
            ("other.txt", "vim: set tabstop=3:\n"),
            ("by_hand.chat", &text),
            ("noname", &text),
        ],
        arguments: &["argument.chat"],
        ..Options::default()
    });
    assert_eq!(tabstop(&mut nvim), 8, "on the command line");
    for command in [
        "edit edited.chat",
        "edit!",
        "split split.chat",
        "source Session.vim",
        "set filetype=chat",
        "doautocmd FileType chat",
        "filetype detect",
        "doautocmd BufReadPost",
    ] {
        nvim.command(command);
        assert_eq!(tabstop(&mut nvim), 8, "{command}");
        assert_eq!(nvim.lua("return vim.bo.modeline", &[]), false, "{command}");
    }
    // A buffer without such a name, once it is a conversation.
    nvim.command("noautocmd edit noname");
    nvim.command("setlocal tabstop=8");
    nvim.command("setfiletype chat");
    nvim.command("doautocmd BufReadPost");
    assert_eq!(tabstop(&mut nvim), 8);
    // Other files keep the user's setting, and so does a buffer that is no longer a conversation.
    nvim.command("edit other.txt");
    assert_eq!(tabstop(&mut nvim), 3);
    assert_eq!(nvim.lua("return { vim.go.modeline, vim.bo.modeline }", &[]), json!([true, true]));
    nvim.command("edit late.txt");
    nvim.command("set filetype=chat");
    nvim.command("set filetype=text");
    assert_eq!(nvim.lua("return vim.bo.modeline", &[]), true);
    // Nothing depends on filetype detection.
    nvim.command("filetype off");
    nvim.command("edit by_hand.chat");
    assert_eq!(tabstop(&mut nvim), 8);
}

#[test]
fn without_the_library_no_modeline_takes_effect_either() {
    let mut nvim = Nvim::start(&Options {
        init: "vim.o.modeline = true",
        files: &[("notes.chat", &with_modeline())],
        arguments: &["notes.chat"],
        environment: &[("FLEMMA_NATIVE", "/nonexistent/flemma.so")],
        ..Options::default()
    });
    assert_eq!(tabstop(&mut nvim), 8);
}

#[test]
fn conversation_options_are_local_and_user_options_win() {
    let after = "vim.opt_local.breakindent = false\n";
    let mut nvim = Nvim::start(&Options {
        init: "vim.opt.runtimepath:append(vim.fn.getcwd() .. '/own/after')
               vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', command = 'setlocal textwidth=7' })",
        files: &[("notes.chat", "@You:\nHello\n"), ("own/after/ftplugin/chat.lua", after), ("other.txt", "x\n")],
        arguments: &["notes.chat"],
        ..Options::default()
    });
    let options = |nvim: &mut Nvim| {
        nvim.lua("return { vim.bo.commentstring, vim.wo.linebreak, vim.wo.breakindent, vim.bo.textwidth }", &[])
    };
    assert_eq!(options(&mut nvim), json!(["<!-- %s -->", true, false, 7]));
    nvim.command("split");
    assert_eq!(options(&mut nvim)[1], true);
    nvim.command("edit other.txt");
    assert_eq!(options(&mut nvim), json!(["", false, false, 0]));
    assert_eq!(nvim.lua("return { vim.go.linebreak, vim.go.breakindent }", &[]), json!([false, false]));
    nvim.command("edit notes.chat");
    nvim.command("set filetype=");
    assert_eq!(nvim.lua("return { vim.bo.commentstring, vim.wo.linebreak }", &[]), json!(["", false]));
}

#[test]
fn a_line_may_have_any_number_of_references() {
    let text = format!("@You:\n{}\n", "@./notes.md ".repeat(20_000));
    let mut nvim =
        Nvim::start(&Options { files: &[("notes.chat", &text)], arguments: &["notes.chat"], ..Options::default() });
    let marks = "return #(require('flemma.native').call('decorations', vim.fn.bufnr(), 1, 2) or {})";
    nvim.wait_for("the references", |nvim| nvim.lua(marks, &[]) == 1_000);
    assert_eq!(nvim.messages(), "");
}

const MESSAGES: &str = "@You:\none\n{ brace\n\n@Assistant:\ntwo\n\n@You:\nthree\n\n@Assistant:\nfour\n";

#[test]
fn motions_work_with_counts_selections_and_operators() {
    let mut nvim =
        Nvim::start(&Options { files: &[("notes.chat", MESSAGES)], arguments: &["notes.chat"], ..Options::default() });
    // Where the cursor is at first, the keys, where it is then, and the text that is left.
    let table = [
        ((1, 0), "]m", (5, 0), MESSAGES.to_owned()),
        ((1, 0), "2]m", (8, 0), MESSAGES.to_owned()),
        ((1, 0), "9]m", (11, 0), MESSAGES.to_owned()),
        ((12, 0), "2[m", (8, 0), MESSAGES.to_owned()),
        ((6, 1), "[m", (5, 0), MESSAGES.to_owned()),
        ((1, 0), "d]m", (1, 0), MESSAGES[MESSAGES.find("@Assistant").unwrap()..].to_owned()),
        ((1, 0), "d2]m", (1, 0), MESSAGES[MESSAGES.find("@You:\nthree").unwrap()..].to_owned()),
        ((1, 0), "2d]m", (1, 0), MESSAGES[MESSAGES.find("@You:\nthree").unwrap()..].to_owned()),
        ((9, 0), "d[m", (8, 0), MESSAGES.replace("@You:\nthree", "three")),
        // `.` looks for the next message again, with the count of then or with another one.
        ((1, 0), "d]m.", (1, 0), MESSAGES[MESSAGES.find("@You:\nthree").unwrap()..].to_owned()),
        ((1, 0), "d]m2.", (1, 0), "@Assistant:\nfour\n".to_owned()),
        ((1, 0), "d2]m.", (1, 0), "@Assistant:\nfour\n".to_owned()),
        ((9, 0), "d[m.", (5, 0), MESSAGES.replace("@Assistant:\ntwo\n\n@You:\nthree", "three")),
        ((1, 0), "d]m...", (1, 0), "@Assistant:\nfour\n".to_owned()),
        ((1, 0), "c]mX<Esc>G.", (9, 0), format!("X\n{}", &MESSAGES[MESSAGES.find("@Assistant").unwrap()..])),
        ((2, 0), "v]mkd", (2, 0), MESSAGES.replace("one\n{ brace\n\n@Assistant", "@Assistant")),
        ((1, 0), "V]mkd", (1, 0), MESSAGES[MESSAGES.find("@Assistant").unwrap()..].to_owned()),
        // Without a message to move to, an operator changes nothing, not even its own line.
        ((11, 0), "d]m", (11, 0), MESSAGES.to_owned()),
        ((11, 0), ">]m", (11, 0), MESSAGES.to_owned()),
        ((11, 0), "c]m", (11, 0), MESSAGES.to_owned()),
        ((11, 0), "]m", (11, 0), MESSAGES.to_owned()),
        ((1, 0), "d[m", (1, 0), MESSAGES.to_owned()),
    ];
    for plug in [false, true] {
        if plug {
            nvim.lua(
                "for _, mode in ipairs({ 'n', 'x', 'o' }) do
                   vim.keymap.del(mode, ']m', { buffer = 0 })
                   vim.keymap.del(mode, '[m', { buffer = 0 })
                   vim.keymap.set(mode, ']m', '<Plug>(flemma-next-message)')
                   vim.keymap.set(mode, '[m', '<Plug>(flemma-prev-message)')
                 end",
                &[],
            );
        }
        for ((line, column), keys, cursor, text) in &table {
            let lines: Vec<&str> = MESSAGES.lines().collect();
            nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(-1), json!(false), json!(lines)]);
            nvim.request("nvim_win_set_cursor", &[json!(0), json!([line, column])]);
            nvim.input(keys);
            nvim.wait_for(&format!("{keys} from {line}"), |nvim| {
                nvim.mode() == "n" && nvim.cursor() == *cursor && nvim.text() == *text
            });
        }
    }
    // The jump can be taken back.
    nvim.input("gg]m<C-o>");
    nvim.wait_for("the first line", |nvim| nvim.cursor().0 == 1);
}

#[test]
fn marks_survive_what_is_written_below_and_above_them() {
    let input = json!({"label": null, "command": "echo done", "timeout": null});
    let setup = Setup { text: Some("@You:\nfirst\nlast"), ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "bash", &input), prose(&["a", "\n", "b"])]);
    let mark = |nvim: &mut Nvim, name: &str| {
        let line = nvim.lua("return vim.fn.getline(vim.fn.line(\"'\" .. ...))", &[name.into()]);
        line.as_str().unwrap_or_default().to_owned()
    };
    chat.nvim.input("GmambkmcGmL<C-]>");
    chat.nvim.wait_for("the call", |nvim| !decision_keys(nvim).is_empty());
    chat.wait_until_idle();
    for (name, line) in [("a", "last"), ("b", "last"), ("c", "first"), ("L", "last")] {
        assert_eq!(mark(&mut chat.nvim, name), line, "mark {name}");
    }
    // The user's prose below a call without a block stays below what is written.
    chat.nvim.input("Gomine<Esc>md");
    chat.nvim.wait_for("the mark", |nvim| mark(nvim, "d") == "mine");
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("\ndone\n"));
    chat.wait_until_idle();
    chat.send_until("a\nb");
    for (name, line) in [("a", "last"), ("c", "first"), ("d", "mine"), ("L", "last")] {
        assert_eq!(mark(&mut chat.nvim, name), line, "mark {name}");
    }
}

/// A reply that waits for the gate after its first words.
fn gated(gate: &Gate) -> Reply {
    let stream = Stream::new().text(&["some words ", "and more"]).end("end_turn");
    stream.events().iter().enumerate().fold(Reply::stream(), |reply, (n, event)| {
        let reply = reply.chunk(event.as_str());
        if n == 2 { reply.hold(gate) } else { reply }
    })
}

#[test]
fn insert_mode_comes_back_when_the_turn_is_over() {
    let lua = "entered = 0
        vim.api.nvim_create_autocmd('InsertEnter', { callback = function() entered = entered + 1 end })";
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [prose(&["one"]), prose(&["two"])]);
    chat.nvim.input("A there<C-]>");
    chat.nvim.wait_for("the prompt, in insert mode", |nvim| {
        nvim.text().contains("one\n\n@You:\n") && nvim.lua("return entered", &[]) == 2 && nvim.mode() == "i"
    });
    chat.nvim.type_text("more");
    chat.nvim.wait_for("the typed text", |nvim| nvim.text().ends_with("@You:\nmore\n"));
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the second prompt", |nvim| nvim.text().contains("two\n\n@You:\n") && nvim.mode() == "i");
    // In Insert mode, nobody would see the message.
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("Nothing to send");
    assert_eq!(chat.nvim.mode(), "n");
}

#[test]
fn insert_mode_comes_back_after_a_turn_that_is_over_at_once() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["one"])]);
    chat.nvim.input("A there");
    chat.nvim.wait_for("insert mode", |nvim| nvim.mode() == "i");
    // All of it is one event for the editor, which leaves Insert mode afterwards.
    let lua = "entered = 0
        vim.api.nvim_create_autocmd('InsertEnter', { callback = function() entered = entered + 1 end })
        vim.cmd('Flemma send')
        return vim.wait(30000, function()
          return vim.fn.search([[^one$]], 'nw') ~= 0 and not require('flemma.buffer.lock').is_locked(0)
        end, 1)";
    assert_eq!(chat.nvim.lua(lua, &[]), true);
    chat.nvim.wait_for("insert mode, entered again", |nvim| nvim.lua("return entered", &[]) == 1 && nvim.mode() == "i");
    chat.nvim.type_text("more");
    chat.nvim.wait_for("the typed text", |nvim| nvim.text().ends_with("@You:\nmore\n"));
}

#[test]
fn insert_mode_does_not_come_back_after_another_key() {
    let keys = [
        ("gg", "n"),
        ("<C-w>n", "n"),
        ("ggv", "v"),
        ("<C-c>", "n"),
        // A key that leaves the cursor where it was counts as well.
        ("yy", "n"),
        ("<C-u>G", "n"),
        (":w<CR>", "n"),
        (":Flemma status<CR><C-w>p", "n"),
        (":e other.txt<CR>isome<Esc>:w<CR>:b notes.chat<CR>", "n"),
    ];
    for (keys, expected) in keys {
        let gate = Gate::new();
        let setup = Setup { options: "tools = { autopilot = { enabled = true } }", ..Setup::default() };
        let mut chat = Chat::start(&setup, [gated(&gate)]);
        chat.nvim.input("A there<C-]>");
        chat.nvim.wait_for_screen("some words");
        chat.nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
        chat.nvim.input(keys);
        if keys != "<C-c>" {
            gate.open();
        }
        chat.nvim.wait_for("the end", |nvim| {
            let lines = nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('notes.chat'), -2, -1, true)", &[]);
            lines == json!([""]) && nvim.lua("return vim.bo[vim.fn.bufnr('notes.chat')].modifiable", &[]) == true
        });
        // All scheduled work after the end is done by now.
        chat.nvim.lua("vim.wait(20)", &[]);
        assert_eq!(chat.nvim.mode(), expected, "{keys}");
        gate.open();
    }
}

#[test]
fn a_call_that_waits_leaves_the_user_in_normal_mode() {
    let input = json!({"label": null, "command": "echo done", "timeout": null});
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &input)]);
    chat.nvim.input("A there<C-]>");
    chat.nvim.wait_for("the call", |nvim| !decision_keys(nvim).is_empty());
    chat.wait_until_idle();
    chat.nvim.lua("vim.wait(20)", &[]);
    assert_eq!(chat.nvim.mode(), "n");
}

#[test]
fn the_preview_of_the_next_call_that_waits_can_be_read() {
    let input =
        |n: usize| json!({"label": null, "command": format!("echo number-{n}\ntrue"), "timeout": null}).to_string();
    let calls = (1..=6).fold(Stream::new(), |stream, n| stream.tool_use(&format!("toolu_{n}"), "bash", &[&input(n)]));
    let mut chat = Chat::start(&Setup::default(), [reply(&calls.end("tool_use")), prose(&["done"])]);
    chat.nvim.lua("vim.o.scrolloff = 0; vim.o.lines = 14", &[]);
    chat.nvim.input("<C-]>");
    for n in 1..=6 {
        chat.nvim.wait_for(&format!("the preview of call {n}"), |nvim| {
            nvim.row_with(&format!("bash: $ echo number-{n}")).is_some()
        });
        chat.nvim.wait_for(&format!("the cursor on call {n}"), |nvim| {
            let text = nvim.text();
            let line = nvim.cursor().0 as usize;
            text.lines().nth(line - 1).is_some_and(|header| header == format!("**Tool Result:** `toolu_{n}`"))
        });
        chat.nvim.command("Flemma tool:approve");
        chat.nvim.wait_for(&format!("call {n} to be taken"), |nvim| {
            nvim.row_with("status=running").is_some() || nvim.text().contains(&format!("\nnumber-{n}\n"))
        });
    }
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("@Assistant:\ndone"));
    assert_eq!(chat.server.requests().len(), 2);
}

#[test]
fn a_preview_that_the_user_scrolls_away_stays_away() {
    let input =
        |n: usize| json!({"label": null, "command": format!("echo number-{n}\ntrue"), "timeout": null}).to_string();
    let calls = (1..=6).fold(Stream::new(), |stream, n| stream.tool_use(&format!("toolu_{n}"), "bash", &[&input(n)]));
    let mut chat = Chat::start(&Setup::default(), [reply(&calls.end("tool_use"))]);
    chat.nvim.lua("vim.o.scrolloff = 0; vim.o.lines = 14", &[]);
    chat.nvim.input("<C-]>");
    let preview = |nvim: &mut Nvim| nvim.row_with("bash: $ echo number-1").is_some();
    chat.nvim.wait_for("the preview", |nvim| preview(nvim));
    chat.wait_until_idle();
    chat.nvim.wait_for("the preview to be off the screen", |nvim| {
        nvim.input("<C-y>");
        !preview(nvim)
    });
    // What is drawn over the text is looked at again, and so are the folds.
    chat.nvim.lua(
        "local buf = vim.api.nvim_get_current_buf()
         require('flemma.view.refresh').schedule(buf)
         require('flemma.view.folds').rest(buf)
         vim.schedule(function() vim.schedule(function() vim.g.is_drawn = true end) end)",
        &[],
    );
    chat.nvim.wait_for("the refresh", |nvim| nvim.lua("return vim.g.is_drawn", &[]) == true);
    assert!(!preview(&mut chat.nvim), "{:?}", chat.nvim.screen());
}

#[test]
fn a_result_does_not_take_the_cursor_from_a_call_that_waits() {
    let command = |line: &str| json!({"label": null, "command": line, "timeout": null}).to_string();
    let stream = Stream::new()
        .tool_use("toolu_1", "bash", &[&command("echo one")])
        .tool_use("toolu_2", "bash", &[&command("while ! test -e go; do sleep 0.01; done; echo two")])
        .tool_use("toolu_3", "bash", &[&command("echo three")])
        .end("tool_use");
    let mut chat = Chat::start(&Setup::default(), [reply(&stream)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the calls", |nvim| decision_keys(nvim).len() == 3);
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_2`");
    chat.nvim.command("Flemma tool:approve");
    let waits_at = |nvim: &mut Nvim| {
        let line = nvim.cursor().0 as usize;
        nvim.lines(0).get(line - 1).cloned().unwrap_or_default()
    };
    chat.nvim.wait_for("the cursor on the third", |nvim| waits_at(nvim) == "**Tool Result:** `toolu_3`");
    std::fs::write(chat.nvim.work().join("go"), "").unwrap();
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("\ntwo\n"));
    chat.wait_until_idle();
    assert_eq!(waits_at(&mut chat.nvim), "**Tool Result:** `toolu_3`", "{}", chat.nvim.text());
}

#[test]
fn the_spinner_says_for_how_long_and_how_many_tokens() {
    let gate = Gate::new();
    let mut chat = Chat::start(&Setup::default(), [gated(&gate)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the spinner", |nvim| {
        spinner(nvim).iter().any(|(_, text)| {
            let words = text.split_once("writing, ").map(|(_, rest)| rest.split(", ").collect::<Vec<_>>());
            words.is_some_and(|words| {
                words.len() == 2
                    && words[0].strip_suffix(" s").is_some_and(|seconds| seconds.parse::<u64>().is_ok())
                    && words[1].strip_suffix(" tokens").is_some_and(|tokens| tokens.starts_with('~'))
            })
        })
    });
    gate.open();
    chat.wait_until_idle();
}

#[test]
fn status_fits_into_thirty_columns() {
    let mut chat = Chat::start(&Setup::default(), []);
    let columns = 30;
    chat.nvim.lua("vim.o.columns = ...", &[json!(columns)]);
    chat.nvim.command("Flemma status");
    chat.nvim.wait_for_screen("model: claude-test");
    let text = chat.nvim.lines(0);
    for line in &text {
        assert!(line.chars().count() <= columns, "{line}");
    }
    let words = text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["provider: anthropic (setup)", "model: claude-test (setup)", "idle"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    let shown = chat.nvim.screen();
    assert!(shown.iter().all(|row| row.chars().count() <= columns), "{shown:?}");
}

#[test]
fn undo_restores_a_file_that_was_emptied_outside() {
    let question = "@You:\nHello there\n\nand more\n";
    let greeting = "@You:\n\n";
    for reload in ["checktime", "edit", "edit!", "enew | bunload # | buffer notes.chat"] {
        let setup = Setup { text: Some(question), lua: "vim.o.undofile = true", ..Setup::default() };
        let mut chat = Chat::start(&setup, []);
        chat.nvim.input("Gotyped<Esc>:silent write<CR>");
        let text = format!("{question}typed\n");
        // Not by the file: Neovim takes its time stamp after that, and would take that of the next line's.
        let is_written = "return not vim.bo.modified and vim.fn.getline('$') == 'typed'";
        chat.nvim.wait_for("the end of `:write`", |nvim| nvim.lua(is_written, &[]) == true);
        std::fs::write(chat.nvim.work().join("notes.chat"), "").unwrap();
        chat.nvim.command(&format!("silent {reload}"));
        chat.wait_for_text(greeting);
        assert_eq!(chat.nvim.lua("return vim.bo.modified", &[]), false, "{reload}");
        if !reload.starts_with("enew") {
            chat.nvim.input("u");
            chat.nvim.wait_for_value(&format!("the text before {reload}"), &text, Nvim::text);
            chat.nvim.input("<C-r>");
            chat.wait_for_text(greeting);
        }
    }
    // A new file that is typed and then reloaded.
    let mut chat = Chat::start(&Setup { text: None, ..Setup::default() }, []);
    chat.wait_for_text(greeting);
    chat.nvim.input("itext<Esc>");
    chat.wait_for_text("@You:\ntext\n");
    chat.nvim.command("silent edit!");
    chat.wait_for_text(greeting);
    chat.nvim.input("u");
    chat.wait_for_text("@You:\ntext\n");
}

#[test]
fn one_command_on_many_lines_counts_as_each_line_typed() {
    let text: String = (0..200).map(|_| "x @You:\nprose\n").collect();
    let mut nvim = Nvim::start(&Options {
        files: &[("many.chat", &format!("@You:\n{text}"))],
        arguments: &["many.chat"],
        ..Options::default()
    });
    let markers = |nvim: &mut Nvim| {
        let marks = "require('flemma.native').call('decorations', vim.fn.bufnr(), 0, 500)";
        nvim.lua(&format!("return #{marks}"), &[]).as_u64().unwrap()
    };
    let before = markers(&mut nvim);
    nvim.command("%substitute/^x //");
    let after = markers(&mut nvim);
    assert!(after > before + 190, "every other line is a marker now: {before}, {after}");
    // Neovim reports undo and redo line by line, from the bottom and from the top.
    for _ in 0..2 {
        nvim.command("undo");
        assert_eq!(markers(&mut nvim), before);
        nvim.command("redo");
        assert_eq!(markers(&mut nvim), after);
    }
    nvim.command("undo");
    // Single lines change, and then the same command deletes lines, some of which have just changed.
    nvim.command("global/^x /substitute/^x // | if line('.') == 302 | 290,300delete | endif");
    assert_eq!(nvim.lua("return vim.api.nvim_buf_line_count(0)", &[]), 390);
    let rest = markers(&mut nvim);
    nvim.command("edit!");
    nvim.command("%substitute/^x //");
    nvim.command("290,300delete");
    assert_eq!(markers(&mut nvim), rest);
}

/// Runs the same random commands in two buffers with the same text. In the second one every change is reported by itself.
const TWINS: &str = r#"
    local seed, native, burst = ..., require('flemma.native'), require('flemma.buffer.batch')
    local text = { '@You:' }
    for n = 1, 150 do
      text[#text + 1] = ({ 'line %d of it', 'x %d', '', '```lua', 'flemma.opt.x = %d', '```', '@You:' })[n % 7 + 1]:format(n)
    end
    local function open(name)
      vim.fn.writefile(text, name)
      vim.cmd('silent edit! ' .. name)
      return vim.api.nvim_get_current_buf()
    end
    local together, alone = open('together.chat'), open('alone.chat')
    local takes = burst.takes
    local taken = 0
    burst.takes = function(buf, ...)
      local took = buf ~= alone and takes(buf, ...)
      taken = taken + (took and 1 or 0)
      return took
    end
    local commands = {
      '%s/i/o/', '%s/$/ y/', '%s/^x /z /', 'g/of/s/$/ w/', 'g/x/d', 'g/8/m0', 'g/9/t.', 'v/1/normal! Ax',
      '%normal! Ix', 'g/line/normal! ddp', '20,90join', 'sort', 'sort!', '30,80move 2', '30,80copy 0', 'undo', 'undo', 'redo',
      'undo | redo', 'undo | undo', 'earlier 3', 'later 2', '40,100delete | 0put', '0put', 'normal! Omy own words', 'normal! 40@q',
      -- What stood in a line for a moment comes back.
      'exe "20,140g/./s/$/v/" | 100,120yank | exe "100,139g/./s/$/u/" | 0put', 'exe "20,140g/^/s/$/p/" | 90yank | 90s/p/o/ | 0put',
      'exe "20,140g/./s/$/r/" | 20,140yank | exe "20,140g/./s/$/s/" | 40,80delete | 0put',
      'exe "20,140g/^/s/$/w/" | 60,100delete | 0put', 'exe "20,140g/^/s/$/k/" | 60,100move 0', 'exe "20,140normal! At" | 60,100copy 0',
      'exe "5,120g/^/s/$/q/" | silent %yank | silent undo | 0put', 'exe "1,150g/^/s/$/d/" | undo | redo | 60,100copy 0',
      '50,120left 2', '50,120>', 'g/y/s/y// | 3delete', 'g/^/if line(".") > 60 | 5,6delete | endif', '1,70normal! J',
    }
    vim.fn.setreg('q', 'Avj')
    math.randomseed(seed)
    local owned, log = 0, {}
    for _ = 1, 25 do
      local command = commands[math.random(#commands)]
      log[#log + 1] = command
      local own = {}
      for index, buf in ipairs({ together, alone }) do
        vim.api.nvim_set_current_buf(buf)
        -- Some do not fit every text.
        pcall(vim.cmd, 'silent! ' .. command)
      end
      -- The next key of the user's: what waits for it is done.
      vim.wait(0)
      for index, buf in ipairs({ together, alone }) do
        own[index] = native.call('fault', 'own_lines', buf)
      end
      local function lines(buf)
        return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      end
      if not vim.deep_equal(lines(together), lines(alone)) then
        return 'the texts differ after ' .. table.concat(log, '; ')
      end
      for line, is_own in ipairs(own[1]) do
        if is_own and not own[2][line] then
          return ('line %d, `%s`, is own after %s'):format(line, lines(together)[line], table.concat(log, '; '))
        end
        owned = owned + (is_own and 1 or 0)
      end
    end
    burst.takes = takes
    vim.cmd('silent! %bwipeout!')
    return { owned, taken }"#;

#[test]
fn no_line_becomes_the_users_by_joined_changes() {
    let mut nvim = Nvim::start(&Options { environment: &[("FLEMMA_FAULTS", "1")], ..Options::default() });
    // A range is extended to closed folds, and the copy that is compared has none.
    nvim.lua("vim.o.swapfile = false vim.o.foldenable = false", &[]);
    let rounds: u64 = std::env::var("FLEMMA_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(40);
    let (mut owned, mut taken) = (0, 0);
    for seed in 1..=rounds {
        let found = nvim.lua(TWINS, &[seed.into()]);
        owned += found[0].as_u64().unwrap_or_else(|| panic!("seed {seed}: {found}"));
        taken += found[1].as_u64().unwrap();
    }
    assert!(owned > 1_000, "the user has written {owned} lines");
    assert!(taken > 1_000, "{taken} changes were told together");
}

#[test]
fn text_is_followed_while_neovim_is_verbose() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["Yes."])]);
    // Functions then print what they otherwise do not.
    chat.nvim.lua("vim.o.verbose = 1; vim.cmd([[1put =split('one two')]])", &[]);
    assert_eq!(chat.nvim.text(), "@You:\none\ntwo\nHello\n");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("Yes."));
    chat.nvim.lua("vim.o.verbose = 0", &[]);
    chat.wait_until_idle();
    let messages = chat.nvim.messages();
    assert!(!messages.contains("E496") && !messages.contains("callback failed"), "{messages}");
}

#[test]
fn a_long_first_request_is_read_in_slices_and_can_be_cancelled() {
    let round = "@You:\nPlease.\n\n@Assistant:\nSome prose\nof several\nlines.\n\n";
    let text = format!("{}@You:\nThe end.\n", round.repeat(8_000));
    // Ctrl-C would discard the key before it, if that was not read yet.
    let cancels = "vim.keymap.set('n', '<F2>', require('flemma.core').cancel)";
    let setup = Setup { text: Some(&text), lua: cancels, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["Yes."])]);
    // Keys that are typed ahead are read between two slices.
    chat.nvim.input("<C-]><F2>");
    chat.nvim.wait_for("the message", |nvim| nvim.messages().contains("cancelled: nothing was sent"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.text(), text);
    assert_eq!(chat.server.requests().len(), 0);
    // Pressed twice, it is sent once, and all of it.
    chat.nvim.input("<C-]><C-]>");
    let messages = chat.messages(0);
    assert_eq!(messages.as_array().map(Vec::len), Some(16_001));
    assert_eq!(messages[15_999]["content"][0]["text"], "Some prose\nof several\nlines.");
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("Yes."));
    assert_eq!(chat.server.requests().len(), 1);
}

#[test]
fn another_filetype_leaves_no_option_behind() {
    let files = [("notes.chat", "@You:\nHello\n\n@Assistant:\nHi\n"), ("plain.md", "text\n")];
    let mut nvim = Nvim::start(&Options { files: &files, ..Options::default() });
    // All local options, apart from those that tell one buffer from another.
    let options = "local found = {}
        for name, info in pairs(vim.api.nvim_get_all_options_info()) do
          if info.scope ~= 'global' and name ~= 'filetype' and name ~= 'scroll' then
            found[name] = vim.api.nvim_get_option_value(name, { scope = 'local' })
          end
        end
        return found";
    nvim.lua("require('flemma').setup({})", &[]);
    nvim.command("edit plain.md");
    let expected = nvim.lua(options, &[]);
    for method in
        ["", "setlocal foldmethod=indent", "setlocal foldmethod=expr foldexpr=0", "split", "setlocal conceallevel=3"]
    {
        nvim.command("new");
        nvim.command("edit notes.chat");
        nvim.wait_for("folds", |nvim| nvim.lua("return vim.wo.foldtext:find('flemma') ~= nil", &[]) == true);
        nvim.command(method);
        nvim.command("set filetype=markdown");
        let mut left = nvim.lua(options, &[]);
        if method.starts_with("setlocal") {
            for word in method.split_whitespace().skip(1) {
                let (name, value) = word.split_once('=').unwrap();
                assert_eq!(left[name].to_string().trim_matches('"'), value, "what the user has set stays");
                left[name] = expected[name].clone();
            }
        }
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&left[name], value, "{name} after `{method}`");
        }
        assert!(!nvim.messages().contains("E352"), "{}", nvim.messages());
        let parsed =
            nvim.lua("return vim.treesitter.get_parser(0, 'markdown'):parse(true)[1]:root():byte_length()", &[]);
        assert_eq!(parsed, 28, "whoever colours it now gets all of it");
        nvim.command("bwipeout!");
    }
}
