//! The line of a message.

use std::{fmt::Write as _, fs};

use serde_json::json;

use super::{
    super::{
        chat::{Chat, KEY, Setup, init, prose},
        support::{Nvim, Options},
    },
    TEXT, cell, open, rows,
};

#[test]
fn a_message_has_a_line_with_its_role_at_every_width() {
    for columns in [30, 80, 200] {
        for background in ["dark", "light"] {
            let mut nvim = open(TEXT, &format!("vim.o.background = '{background}'"), columns);
            let shown = rows(&mut nvim);
            assert_eq!(shown[0], " System", "{columns} {background}");
            assert_eq!(shown[3], " You");
            let edge = columns as usize - 1;
            let normal = cell(&mut nvim, 1, edge)["background"].clone();
            let lines = [0, 3, 6].map(|row| {
                let (first, last) = (cell(&mut nvim, row, 1), cell(&mut nvim, row, edge));
                assert_eq!(first["background"], last["background"], "the background ends before the edge");
                assert_ne!(first["background"], normal, "{columns} {background}");
                assert_eq!(first["bold"], true);
                first
            });
            assert_ne!(lines[1], lines[2], "the roles look the same");
        }
    }
}

#[test]
fn text_behind_a_marker_stays_where_it_is() {
    let mut nvim = open("@You:  hello\n  @You: no marker\n@Assistant:\nyes\n", "", 40);
    assert_eq!(rows(&mut nvim), [" You   hello", "  @You: no marker", " Assistant", "yes"]);
}

#[test]
fn a_marker_shows_its_text_where_the_user_writes() {
    let mut nvim = open("@You:\nhello\n\n@Assistant:\nyes\n", "", 40);
    nvim.input("gg");
    assert_eq!(rows(&mut nvim)[0], " You");
    nvim.input("A");
    nvim.wait_for("the text", |nvim| rows(nvim)[0] == "@You:");
    nvim.input("<Space>dear<Esc>");
    nvim.wait_for("the look", |nvim| rows(nvim)[0] == " You  dear");
    nvim.input("u4GV");
    nvim.wait_for("the text", |nvim| rows(nvim)[..4] == [" You", "hello", "", "@Assistant:"]);
    nvim.input("<Esc>");
    nvim.wait_for("the line", |nvim| rows(nvim)[3] == " Assistant");
}

/// The row of the screen with the line of the last reply that is complete.
fn reply_row(nvim: &mut Nvim) -> String {
    rows(nvim).into_iter().find(|row| row.starts_with(" Assistant")).unwrap_or_default()
}

#[test]
fn a_finished_reply_says_its_model_tokens_and_cost() {
    let options = "model = 'claude-sonnet-4-5'";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, [prose(&["Hi"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().trim_end().ends_with("@You:"));
    chat.wait_until_idle();
    let nvim = &mut chat.nvim;
    nvim.wait_for("the cost", |nvim| reply_row(nvim).ends_with("19 in · 34 out · $0.0006"));
    let row = reply_row(nvim);
    assert!(row.starts_with(" Assistant  claude-sonnet-4-5 "), "{row}");
    assert_eq!(row.chars().count(), 99, "one cell is free at the edge: {row}");
    // It moves with the text, and an undo takes it away with the message.
    nvim.input("ggOabove<Esc>");
    nvim.wait_for("the cost", |nvim| reply_row(nvim).ends_with("$0.0006"));
    nvim.request("nvim_ui_try_resize", &[json!(30), json!(40)]);
    nvim.wait_for("what fits", |nvim| reply_row(nvim) == " Assistant   34 out · $0.0006");
}

#[test]
fn an_empty_message_has_no_time() {
    // The results of tools are sent, with an empty prompt after them.
    let text = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `ls` (`t1`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `t1`\n\n\
        ```\na\n```\n\n@You:\n";
    let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, [prose(&["Hi"]), prose(&["Ho"])]);
    for answer in ["Hi", "Ho"] {
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for(answer, |nvim| nvim.text().contains(answer));
        chat.wait_until_idle();
        chat.nvim.wait_for("the tokens", |nvim| rows(nvim).iter().any(|row| row.contains("34 out")));
        let last = rows(&mut chat.nvim).into_iter().rfind(|row| row.starts_with(" You")).unwrap();
        assert_eq!(last.trim(), "You");
        chat.nvim.input("GAmore<Esc>");
    }
}

/// Opens the conversation in another Neovim of the same user.
fn again(first: &Chat) -> Nvim {
    let (state, cd) = (first.nvim.folder("state"), format!("cd {}", first.nvim.work().display()));
    let mut nvim = Nvim::start(&Options {
        arguments: &["--cmd", &cd],
        init: &init(&first.server.base_url(), ""),
        environment: &[("ANTHROPIC_API_KEY", KEY), ("XDG_STATE_HOME", state.to_str().unwrap())],
        ..Options::default()
    });
    nvim.command("edit notes.chat");
    nvim
}

#[test]
fn a_message_is_known_by_its_text_wherever_it_is() {
    let options = "model = 'claude-sonnet-4-5'";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, [prose(&["Hi"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().trim_end().ends_with("@You:"));
    chat.wait_until_idle();
    let has_facts =
        |row: &str| row.starts_with(" Assistant  claude-sonnet-4-5 ") && row.ends_with("19 in · 34 out · $0.0006");
    let known = |nvim: &mut Nvim| {
        nvim.input("2G");
        nvim.wait_for("the reply's line", |nvim| has_facts(&reply_row(nvim)));
        // When the user's message was sent.
        nvim.wait_for("the time", |nvim| {
            rows(nvim)[0].starts_with(" You") && rows(nvim)[0].ends_with(|c: char| c.is_ascii_digit())
        });
    };
    known(&mut chat.nvim);
    // It was taken away and brought back, and moved.
    chat.nvim.input("gg/Assist<CR>dG");
    chat.nvim.wait_for("no reply", |nvim| reply_row(nvim).is_empty());
    chat.nvim.input("u2G");
    known(&mut chat.nvim);
    chat.nvim.command("edit!");
    known(&mut chat.nvim);
    chat.nvim.command("write");
    let mut second = again(&chat);
    known(&mut second);
    fs::rename(chat.nvim.work().join("notes.chat"), chat.nvim.work().join("renamed.chat")).unwrap();
    second.command("edit renamed.chat");
    known(&mut second);
    // Another text is not what the model has written.
    second.input(":%s/Hi/Ho<CR>:write<CR>:edit!<CR>2G");
    second.wait_for("nothing", |nvim| reply_row(nvim) == " Assistant");
    // Two messages that are alike cannot be told apart.
    let stored = fs::read_to_string(chat.nvim.folder("state").join("nvim/flemma/messages.jsonl")).unwrap();
    assert!(!stored.contains("Hello"), "{stored}");
    let other = stored.replace("\"at\":\"20", "\"at\":\"19");
    fs::write(chat.nvim.folder("state").join("nvim/flemma/messages.jsonl"), format!("{stored}{other}")).unwrap();
    second.input(":%s/Ho/Hi<CR>:write<CR>:edit!<CR>2G");
    second.wait_for("nothing", |nvim| nvim.text().contains("Hi") && reply_row(nvim) == " Assistant");
    // The day is said if it is not today.
    fs::write(chat.nvim.folder("state").join("nvim/flemma/messages.jsonl"), other).unwrap();
    fs::rename(chat.nvim.work().join("renamed.chat"), chat.nvim.work().join("notes.chat")).unwrap();
    let mut third = again(&chat);
    third.input("2G");
    third.wait_for("the day", |nvim| {
        let row = reply_row(nvim);
        row.split(" · ").next().is_some_and(|left| left.contains(" 19")) && row.ends_with("34 out · $0.0006")
    });
}

#[test]
fn nothing_moves_while_a_reply_streams() {
    let mut text = String::new();
    for turn in 0..3 {
        let _ = write!(text, "@You:\nquestion {turn}\n\n@Assistant:\nanswer **{turn}**\n\n");
    }
    text.push_str("@You:\nlast\n");
    // All of it fits on the screen.
    let words: Vec<String> = (0..120).map(|word| format!("w{word} *x* ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [prose(&words)]);
    chat.nvim.input("G");
    let before = rows(&mut chat.nvim);
    chat.nvim.input("<C-]>");
    let mut shown: Vec<String> = Vec::new();
    chat.nvim.wait_for("the end of the reply", |nvim| {
        let now = nvim.screen();
        // The line of the message that is sent gets the time.
        assert_eq!(now[..before.len() - 2], before[..before.len() - 2], "what was there has moved");
        assert!(now[before.len() - 2].starts_with(" You") && now[before.len() - 1] == "last");
        // What has arrived stays: only the row that is being written, and what stands below it, changes.
        let is_same = |(at, (old, new)): (usize, (&String, &String))| old == new || at == before.len() - 2;
        let written = shown.iter().position(|row| row == "~" || row.contains("writing,")).unwrap_or(0);
        if written > 2 {
            let kept = shown[..written - 2].iter().zip(&now).enumerate().all(is_same);
            assert!(kept, "{shown:#?}\n{now:#?}");
        }
        shown = now;
        nvim.text().trim_end().ends_with("@You:")
    });
}
