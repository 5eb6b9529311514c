//! Files that the user names in a message, in a real editor, over all four protocols.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    anthropic,
    chat::{Chat, KEY, Setup, prose, said},
    completions,
    http::{Reply, Server},
    responses,
    support::{Nvim, Options},
    vertex,
};

/// A PNG of one white pixel.
const BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

const TEXT: &str = "@You:\nSee (@./my%20pic.png), @./notes.md and @./gone.png. Not `@./code.md`.\n";

/// What the notes become.
const NOTES: &str = "./notes.md (text/markdown):\n\n```\nRemember.\n```";

/// The text sent in place of the missing file.
const GONE: &str = "[./gone.png was left out of this request: there is no such file.]";

fn picture(chat: &Chat) {
    fs::write(chat.nvim.work().join("my pic.png"), BASE64_STANDARD.decode(BASE64).unwrap()).unwrap();
}

/// An editor with [`TEXT`] that talks to a server in a provider's protocol.
fn start(provider: &str, replies: impl IntoIterator<Item = Vec<u8>>) -> Chat {
    let server = Server::start(replies.into_iter().map(|reply| Reply::stream().chunk(reply)));
    let base_url = server.base_url();
    let base_url = if provider.starts_with("openai") { format!("{base_url}/v1") } else { base_url };
    let project = if provider == "vertex" { ", project_id = 'p'" } else { "" };
    let init = format!(
        "require('flemma').setup({{ provider = '{provider}', model = 'gemini-2.5-flash',
         parameters = {{ {provider} = {{ base_url = '{base_url}'{project} }} }} }})"
    );
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_COMPATIBLE_API_KEY", "VERTEX_AI_ACCESS_TOKEN"];
    let nvim = Nvim::start(&Options {
        files: &[("notes.chat", TEXT), ("notes.md", "Remember.\n"), ("code.md", "Never.\n")],
        arguments: &["notes.chat"],
        init: &init,
        environment: &keys.map(|key| (key, KEY)),
        screen: Some((100, 40)),
    });
    let chat = Chat { nvim, server };
    picture(&chat);
    chat
}

/// Parts without Anthropic's cache marker, which moves to the newest message.
fn unmarked(mut parts: Value) -> Value {
    for part in parts.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.remove("cache_control");
    }
    parts
}

/// Sends, and sends again: the parts of the user's message, the same both times, with the text and the files in it.
fn shown(provider: &str, replies: [Vec<u8>; 2], pointer: &str) -> Value {
    let mut chat = start(provider, replies);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nI see."));
    chat.wait_until_idle();
    chat.nvim.input("Gothanks<Esc><C-]>");
    let requests = chat.server.wait_for_requests(2);
    let found = |n: usize| unmarked(requests[n].json().pointer(pointer).cloned().unwrap_or_default());
    assert_eq!(found(0), found(1), "the request is the same while the files are");
    assert!(!requests[0].json().to_string().contains("Never."));
    assert!(chat.nvim.text().starts_with(TEXT), "the message keeps its words");
    chat.nvim.wait_for("the warning", |nvim| said(nvim).contains("./gone.png is not shown to the model: there is no"));
    found(0)
}

fn text() -> &'static str {
    TEXT.trim_start_matches("@You:\n").trim_end()
}

#[test]
fn anthropic_is_shown_the_files_of_a_message() {
    let reply = || anthropic::Stream::new().text(&["I see."]).end("end_turn").bytes();
    assert_eq!(
        shown("anthropic", [reply(), reply()], "/messages/0/content"),
        json!([
            {"type": "text", "text": text()},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
            {"type": "text", "text": NOTES},
            {"type": "text", "text": GONE},
        ])
    );
}

#[test]
fn openai_is_shown_the_files_of_a_message() {
    let reply = || responses::Stream::new().text(&["I see."]).end().bytes();
    assert_eq!(
        shown("openai", [reply(), reply()], "/input/0/content"),
        json!([
            {"type": "input_text", "text": text()},
            {"type": "input_image", "image_url": format!("data:image/png;base64,{BASE64}"), "detail": "auto"},
            {"type": "input_text", "text": NOTES},
            {"type": "input_text", "text": GONE},
        ])
    );
}

#[test]
fn a_chat_completions_server_is_shown_the_files_of_a_message() {
    let reply = || completions::Stream::new().text(&["I see."]).end("stop").bytes();
    assert_eq!(
        shown("openai_compatible", [reply(), reply()], "/messages/0/content"),
        json!([
            {"type": "text", "text": text()},
            {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{BASE64}")}},
            {"type": "text", "text": NOTES},
            {"type": "text", "text": GONE},
        ])
    );
}

#[test]
fn vertex_is_shown_the_files_of_a_message() {
    let reply = || vertex::Stream::new().text(&["I see."]).end("STOP").bytes();
    assert_eq!(
        shown("vertex", [reply(), reply()], "/contents/0/parts"),
        json!([
            {"text": text()},
            {"inlineData": {"mimeType": "image/png", "data": BASE64}},
            {"text": NOTES},
            {"text": GONE},
        ])
    );
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
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    chat.wait_until_idle();
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

/// Records the questions and their choices. `choose` answers.
fn ask(chat: &mut Chat) {
    chat.nvim.lua(
        "vim.g.asked = 0
         vim.ui.select = function(items, opts, choose)
           vim.g.asked = vim.g.asked + 1
           vim.g.prompt = opts.prompt
           vim.g.items = vim.tbl_map(opts.format_item, items)
           _G.choose = function(n) choose(items[n], n) end
         end",
        &[],
    );
}

fn wait_for_question(chat: &mut Chat, nth: u64) {
    chat.nvim.wait_for("the question", |nvim| nvim.lua("return vim.g.asked", &[]) == nth);
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
    ask(&mut chat);
    chat.nvim.input("gg<C-]>");
    wait_for_question(&mut chat, 1);
    assert_eq!(
        chat.nvim.lua("return vim.g.prompt", &[]),
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
    wait_for_question(&mut chat, 2);
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (3, 0));
    assert!(chat.server.requests().is_empty());

    // After the answer, the action of the key continues.
    chat.nvim.input("<C-]>");
    wait_for_question(&mut chat, 3);
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
    assert_eq!(chat.nvim.lua("return vim.g.asked", &[]), 3);
}

#[test]
fn a_hidden_file_in_its_folder_is_asked_about_as_well() {
    let text = "@You:\n@./.env and @./open.txt\n";
    let files = [(".env", "KEY=sesame\n"), ("open.txt", "open\n")];
    let mut chat = Chat::start(&Setup { text: Some(text), files: &files, ..Setup::default() }, [prose(&["ok"])]);
    ask(&mut chat);
    chat.nvim.input("<C-]>");
    wait_for_question(&mut chat, 1);
    assert_eq!(
        chat.nvim.lua("return vim.g.prompt", &[]),
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
    ask(&mut chat);
    chat.nvim.input("<C-]>");
    wait_for_question(&mut chat, 1);
    chat.nvim.lua("choose(1)", &[]);
    assert_eq!(chat.nvim.cursor(), (14, 0));
    assert!(chat.server.requests().is_empty());
}

#[test]
fn removing_a_fence_does_not_make_its_text_the_users() {
    let text = "@You:\nHello\n```\n@../elsewhere/secret.txt\n```\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, []);
    elsewhere(&chat);
    ask(&mut chat);
    chat.nvim.command("5delete");
    chat.nvim.command("3delete");
    chat.nvim.input("<C-]>");
    wait_for_question(&mut chat, 1);
    assert!(chat.server.requests().is_empty());
}

#[test]
fn typed_references_never_cause_a_question() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["ok"]), prose(&["again"])]);
    let secret = elsewhere(&chat);
    ask(&mut chat);
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
    assert_eq!(chat.nvim.lua("return vim.g.asked", &[]), 0);
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
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
        chat.wait_until_idle();
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
