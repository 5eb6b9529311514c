//! Files that the user names in a message, in a real editor.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, prose, said},
    support::Nvim,
};

/// A PNG of one white pixel.
const BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

const TEXT: &str = "@You:\nSee (@./my%20pic.png), @./notes.md and @./gone.png. Not `@./code.md`.\n";

/// Parts without Anthropic's cache marker, which moves to the newest message.
fn unmarked(mut parts: Value) -> Value {
    for part in parts.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.remove("cache_control");
    }
    parts
}

#[test]
fn a_message_shows_its_files_in_every_request() {
    let files = [("notes.md", "Remember.\n"), ("code.md", "Never.\n")];
    let setup = Setup { text: Some(TEXT), files: &files, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["I see."]), prose(&["again"])]);
    fs::write(chat.nvim.work().join("my pic.png"), BASE64_STANDARD.decode(BASE64).unwrap()).unwrap();
    chat.send_until("@Assistant:\nI see.");
    chat.nvim.input("Gothanks<Esc><C-]>");
    let shown = json!([
        {"type": "text", "text": TEXT.trim_start_matches("@You:\n").trim_end()},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
        {"type": "text", "text": "./notes.md (text/markdown):\n\n```\nRemember.\n```"},
        {"type": "text", "text": "[./gone.png was left out of this request: there is no such file.]"},
    ]);
    for n in 0..2 {
        assert_eq!(unmarked(chat.messages(n)[0]["content"].clone()), shown, "request {n}");
    }
    assert!(chat.nvim.text().starts_with(TEXT), "the message keeps its words");
    chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("./gone.png is not shown to the model: there is no"));
}

/// The lines and messages of the diagnostics.
fn diagnostics(nvim: &mut Nvim) -> Value {
    nvim.lua(
        "return vim.tbl_map(function(item) return { item.lnum, item.severity, item.message } end, vim.diagnostic.get(0))",
        &[],
    )
}

#[test]
fn a_bad_reference_has_a_warning_until_its_line_is_fixed() {
    let text = "@You:\nSee\n@./folder, @./data.bin and\n@./gone.png.\n";
    let files = [("folder/x", ""), ("data.bin", "\0")];
    let mut chat =
        Chat::start(&Setup { text: Some(text), files: &files, ..Setup::default() }, [prose(&["ok"]), prose(&["fine"])]);
    chat.send_until("@Assistant:\nok");
    let warning = 2;
    let none = "it is not text, a PNG, JPEG, GIF or WebP image, or a PDF";
    assert_eq!(
        diagnostics(&mut chat.nvim),
        json!([
            [2, warning, "./folder is not shown to the model: it is a folder; only files can be shown."],
            [2, warning, format!("./data.bin is not shown to the model: {none}.")],
            [3, warning, "./gone.png is not shown to the model: there is no such file."],
        ])
    );
    chat.nvim.command("3,4delete");
    chat.nvim.wait_for("no diagnostics", |nvim| diagnostics(nvim) == json!([]));
}

/// A file outside the conversation's folder.
fn elsewhere(chat: &Chat) -> PathBuf {
    let folder = fs::canonicalize(chat.nvim.work().join("..")).unwrap().join("elsewhere");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("secret.txt"), "sesame\n").unwrap();
    folder.join("secret.txt")
}

#[test]
fn a_foreign_file_asks_before_sending_files_outside_its_folder() {
    let text = "@You:\nHello\n@../elsewhere/secret.txt and @./link.txt\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, [prose(&["ok"]), prose(&["again"])]);
    let secret = elsewhere(&chat);
    symlink(&secret, chat.nvim.work().join("link.txt")).unwrap();
    chat.record_questions();
    chat.nvim.input("gg<C-]>");
    let prompt = chat.wait_for_question(1);
    assert_eq!(
        prompt,
        format!(
            "notes.chat would send files outside its folder that you did not name yourself: {}",
            chat.nvim.lua("return vim.fn.fnamemodify(..., ':~')", &[json!(secret)]).as_str().unwrap()
        )
    );
    assert_eq!(
        chat.nvim.lua("return vim.g.items", &[]),
        json!(["Show where, without sending anything", "Send these files, now and in later requests", "Not now"])
    );
    chat.nvim.lua("choose(3)", &[]);
    chat.nvim.input("<C-]>");
    chat.wait_for_question(2);
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (3, 0));
    assert!(chat.server.requests().is_empty());

    // After the answer, the action of the key continues.
    chat.nvim.input("<C-]>");
    chat.wait_for_question(3);
    chat.nvim.lua("choose(2)", &[]);
    let sent = unmarked(chat.messages(0)[0]["content"].clone());
    assert_eq!(sent[1]["text"], "../elsewhere/secret.txt (text/plain):\n\n```\nsesame\n```");
    assert_eq!(sent[2]["text"], "./link.txt (text/plain):\n\n```\nsesame\n```");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    chat.wait_until_idle();

    // The answer is kept: there is no question when the file is opened again.
    chat.nvim.wait_for("the store", |nvim| nvim.folder("state").join("nvim/flemma/trust.jsonl").exists());
    chat.nvim.command("silent write");
    chat.nvim.command("edit!");
    chat.nvim.input("Gothanks<Esc><C-]>");
    assert_eq!(unmarked(chat.messages(1)[0]["content"].clone()), sent);
    assert_eq!(chat.questions(), 3);
}

#[test]
fn a_hidden_file_in_its_folder_is_asked_about_as_well() {
    let text = "@You:\n@./.env and @./open.txt\n";
    let files = [(".env", "KEY=sesame\n"), ("open.txt", "open\n")];
    let mut chat = Chat::start(&Setup { text: Some(text), files: &files, ..Setup::default() }, [prose(&["ok"])]);
    chat.record_questions();
    chat.nvim.input("<C-]>");
    let prompt = chat.wait_for_question(1);
    assert_eq!(
        prompt,
        "notes.chat would send hidden files or files outside its folder that you did not name yourself: ~/work/.env"
    );
    assert!(chat.server.requests().is_empty());
    chat.nvim.lua("choose(2)", &[]);
    let sent = unmarked(chat.messages(0)[0]["content"].clone());
    assert!(sent.to_string().contains("sesame"), "{sent}");
}

#[test]
fn a_foreign_file_asks_about_its_attachments_too() {
    let text = "@You:\nLook.\n\n@Assistant:\n**Tool Use:** `read` (`a`)\n\n```json\n{\"path\":\"x\"}\n```\n\n@You:\n\
                **Tool Result:** `a`\n\n```flemma:attachment type=image/png path=\"../elsewhere/x.png\"\nx\n```\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    chat.record_questions();
    chat.nvim.input("<C-]>");
    chat.wait_for_question(1);
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (14, 0));
    assert!(chat.server.requests().is_empty());
}

#[test]
fn typed_references_never_cause_a_question() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["ok"]), prose(&["again"])]);
    let secret = elsewhere(&chat);
    chat.record_questions();
    chat.nvim.input(&format!("Gosee @/{}<Esc><C-]>", secret.display()));
    let content = unmarked(chat.messages(0)[0]["content"].clone());
    assert!(content[1]["text"].as_str().unwrap().ends_with("(text/plain):\n\n```\nsesame\n```"), "{content}");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    chat.wait_until_idle();
    chat.nvim.command("silent write");
    chat.nvim.wait_for("the store", |nvim| nvim.folder("state").join("nvim/flemma/trust.jsonl").exists());
    chat.nvim.command("edit!");
    chat.nvim.input("Gothanks<Esc><C-]>");
    assert_eq!(unmarked(chat.messages(1)[0]["content"].clone()), content);
    assert_eq!(chat.questions(), 0);
}

#[test]
fn references_have_a_colour_where_they_stand() {
    let text = "@You: see @./a.png, `@./b.png`\n```\n@./c.png\n```\né @~/d.pdf.\n\n@Assistant:\n@./e.png\n\n@You:\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    let marks = chat.nvim.lua(
        "local marks = require('flemma.native').call('decorations', vim.fn.bufnr(), 0, 99)
         return vim.tbl_map(function(mark) return { mark.line, mark.from, mark.to } end, vim.tbl_filter(function(mark)
           return mark.group == 'FlemmaReference'
         end, marks))",
        &[],
    );
    assert_eq!(marks, json!([[0, 10, 18], [4, 3, 11]]));
    chat.nvim.wait_for_screen("@./a.png");
    assert_eq!(said(&mut chat.nvim), "");
    assert_eq!(chat.nvim.lua("return vim.fn.hlexists('FlemmaReference')", &[]), 1);
}

#[test]
fn a_warning_moves_no_text() {
    let text = "@You:\nSee @./gone.png.\n";
    for (options, room) in [("", 0), ("vim.o.signcolumn = 'yes'", 2)] {
        let mut chat = Chat::start(&Setup { text: Some(text), lua: options, ..Setup::default() }, [prose(&["ok"])]);
        chat.send_until("@Assistant:\nok");
        assert_eq!(diagnostics(&mut chat.nvim).as_array().map(Vec::len), Some(1));
        let off = chat.nvim.lua("vim.cmd.redraw() return vim.fn.getwininfo(vim.fn.win_getid())[1].textoff", &[]);
        assert_eq!(off, room);
        let is_behind =
            chat.nvim.screen().iter().any(|row| row.contains("See @./gone.png.") && row.contains("is not shown"));
        assert!(is_behind, "{:#?}", chat.nvim.screen());
    }
}

#[test]
fn a_line_says_how_to_attach_a_file_that_it_names() {
    let setup = Setup { text: Some("@You:\n"), files: &[("README.md", "hello\n")], ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["fine"])]);
    chat.nvim.input("GoSee @READ");
    chat.nvim.wait_for_screen("See @READ");
    chat.nvim.input("ME.md");
    chat.nvim.wait_for_screen("See @README.md  `@./README.md` attaches this file");
    chat.nvim.input(" please");
    chat.nvim.wait_for_screen("See @README.md please  `@./README.md` attaches this file");
    // The one that attaches it needs no advice, and what was sent none either.
    chat.nvim.input("<Esc>:s/@/&.\\//<CR>");
    chat.nvim.wait_for("a reference", |nvim| nvim.row_with("attaches").is_none());
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("attaches this file");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("fine"));
    chat.nvim.wait_for("nothing to say", |nvim| nvim.row_with("attaches").is_none());
}

#[test]
fn an_image_of_the_clipboard_is_put_beside_the_conversation() {
    let setup = Setup { text: Some("@You:\nSee "), ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["I see."])]);
    let programs = chat.nvim.folder("programs");
    fs::create_dir(&programs).unwrap();
    chat.nvim.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", &[json!(programs)]);
    let put = |name: &str, code: &str| {
        let path = programs.join(name);
        fs::write(&path, format!("#!/bin/sh\n{code}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    // One that has no image, and one that fails after it has written something.
    put("wl-paste", "exit 0");
    put("xclip", "echo half; exit 1");
    chat.nvim.command("Flemma paste");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("there is no image in the clipboard"));
    let images = |chat: &Chat| {
        let names =
            fs::read_dir(chat.nvim.work()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".png")).collect::<Vec<_>>()
    };
    assert_eq!(images(&chat), [""; 0]);
    put("xclip", &format!("echo {BASE64} | base64 -d"));
    chat.nvim.input("G$");
    chat.nvim.command("Flemma paste");
    chat.nvim.wait_for("the reference", |nvim| nvim.text().contains("See @./notes-"));
    assert_eq!(images(&chat).len(), 1);
    chat.send_until("@Assistant:\nI see.");
    assert_eq!(chat.messages(0)[0]["content"][1]["source"]["data"], BASE64);
}
