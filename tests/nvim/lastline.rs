//! The message in the last line of the screen, in every mode and at every width.

use serde_json::json;

use super::{
    chat::{Chat, Setup, prose, said},
    http::Reply,
    support::{Nvim, Options},
};

/// What the bottom row of the screen shows.
fn last_row(nvim: &Nvim) -> String {
    nvim.screen().last().cloned().unwrap_or_default()
}

/// Waits for a message that begins like this, in the last row or in the last ones.
fn wait_for_last_row(nvim: &mut Nvim, start: &str) {
    nvim.wait_for(&format!("`{start}` in the last row"), |nvim| {
        nvim.screen().iter().rev().take(6).any(|row| row.starts_with(start))
    });
    assert_eq!(nvim.request("nvim_get_mode", &[])["blocking"], false);
}

#[test]
fn what_answers_ctrl_bracket_in_insert_mode_is_on_the_screen() {
    let refused = || Reply::json(401, &json!({"type": "error", "error": {"type": "x", "message": "no such key"}}));
    let broken = "@You:\nHello\n\n@Assistant:\n\n**Tool Use:** `bash` (`toolu_1`)\n\n@You:\nHello";
    // No key, nothing to send, a file with a fault, a server that refuses.
    let cases = [
        (false, "@You:\nHello", vec![]),
        (true, "@You:\n", vec![]),
        (true, broken, vec![]),
        (true, "@You:\nHello", vec![refused()]),
    ];
    for (key, text, replies) in cases {
        let mut chat = Chat::start(&Setup { text: Some(text), key, ..Setup::default() }, replies);
        let nvim = &mut chat.nvim;
        nvim.input("GA<C-]>");
        wait_for_last_row(nvim, "Flemma:");
        // It is still there when everything is done, whatever the mode is then.
        nvim.wait_for("the end", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true);
        nvim.lua("vim.wait(20)", &[]);
        wait_for_last_row(nvim, "Flemma:");
        // The next keys in insert mode leave it there, and so does the end of insert mode.
        if nvim.mode() == "i" {
            nvim.input("typed");
            nvim.wait_for("the text", |nvim| nvim.text().contains("typed"));
            wait_for_last_row(nvim, "Flemma:");
        }
        nvim.input("<Esc>");
        nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
        wait_for_last_row(nvim, "Flemma:");
        nvim.input(":echo 'something else'<CR>");
        wait_for_last_row(nvim, "something else");
        assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()", &[]), 1);
        // It does not come again with the next insert mode.
        nvim.input("i");
        wait_for_last_row(nvim, "-- INSERT --");
    }
}

#[test]
fn insert_mode_and_its_name_come_back_after_a_silent_turn() {
    let mut chat = Chat::start(&Setup::default(), [prose(&["one"])]);
    chat.nvim.input(":Flemma nonsense<CR>");
    wait_for_last_row(&mut chat.nvim, "Flemma:");
    chat.nvim.input("A there<C-]>");
    chat.nvim.wait_for("insert mode", |nvim| nvim.text().contains("one\n\n@You:\n") && nvim.mode() == "i");
    wait_for_last_row(&mut chat.nvim, "-- INSERT --");
}

#[test]
fn no_message_makes_neovim_wait_for_enter() {
    let mut nvim =
        Nvim::start(&Options { files: &[("notes.txt", "text\n")], arguments: &["notes.txt"], ..Options::default() });
    let path = format!("/{}", "a-long-folder/".repeat(20));
    let messages = [
        "short".to_owned(),
        format!("there is no {path} here"),
        path.clone(),
        "日本語の".repeat(40),
        "many words ".repeat(60),
    ];
    let mut count = 0;
    for (width, height) in [(12, 6), (13, 4), (19, 24), (30, 10), (31, 24), (45, 24), (60, 24), (80, 24), (100, 24)] {
        nvim.request("nvim_ui_try_resize", &[json!(width), json!(height)]);
        nvim.wait_for("the size", |nvim| {
            nvim.screen().len() == height && nvim.lua("return vim.o.columns", &[]) == width
        });
        for setting in ["cmdheight=1", "cmdheight=0", "cmdheight=1 noshowcmd", "cmdheight=1 ruler laststatus=0"] {
            nvim.command(&format!("set showcmd laststatus=2 {setting}"));
            for keys in ["", "i", "R", "v"] {
                for (n, message) in messages.iter().enumerate() {
                    count += 1;
                    nvim.input(&format!("<Esc>{keys}"));
                    nvim.lua(
                        "local text, more = ...
                         local notify = require('flemma.notify')
                         notify.say(vim.log.levels.WARN, text)
                         if more then notify.say(vim.log.levels.ERROR, text) end",
                        &[json!(format!("{count} {message}")), json!(n == 1)],
                    );
                    wait_for_last_row(&mut nvim, &format!("Flemma: {count}"));
                }
            }
        }
        nvim.input("<Esc>");
    }
    let all = said(&mut nvim);
    assert!(all.contains(&format!("{count} {}", messages[4].trim())), "{all}");
    // One that comes while the user is at the command line waits until they are done.
    nvim.input(":echo 'mine'");
    nvim.wait_for_screen(":echo 'mine'");
    nvim.lua("require('flemma.notify').say(vim.log.levels.WARN, 'patient')", &[]);
    nvim.lua("vim.wait(20)", &[]);
    assert_eq!(last_row(&nvim), ":echo 'mine'");
    nvim.input("<C-c>");
    wait_for_last_row(&mut nvim, "Flemma: patient");
}

#[test]
fn a_long_message_takes_the_rows_below_the_cursor() {
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.txt", &"text\n".repeat(30))],
        arguments: &["notes.txt"],
        screen: Some((40, 20)),
        ..Options::default()
    });
    let message = "a message that says a lot about something, and in the end what to do about it";
    let say = |nvim: &mut Nvim| {
        nvim.lua("require('flemma.notify').say(vim.log.levels.WARN, ...)", &[json!(message)]);
        nvim.wait_for_screen("Flemma: a message");
    };
    say(&mut nvim);
    nvim.wait_for("all of it", |nvim| {
        let rows = nvim.screen();
        let shown = rows.iter().skip_while(|row| !row.starts_with("Flemma:")).map(|row| row.trim());
        shown.collect::<Vec<_>>().join(" ") == format!("Flemma: {message}")
    });
    nvim.input("j");
    nvim.wait_for("its beginning", |nvim| last_row(nvim).starts_with("Flemma:"));
    nvim.wait_for_screen("notes.txt");
    assert!(last_row(&nvim).contains("… :messages"));
    // The line of the cursor stays visible.
    nvim.input("18Gzb");
    nvim.wait_for("the cursor", |nvim| nvim.lua("return vim.fn.screenrow()", &[]) == 18);
    say(&mut nvim);
    nvim.wait_for("two rows of it", |nvim| {
        let rows = nvim.screen();
        rows[17] == "text" && rows[18].starts_with("Flemma: a message") && rows[19].ends_with("… :messages")
    });
    // A question of Neovim's is not covered, and what a key brings to the command line stays there.
    nvim.input("gg");
    say(&mut nvim);
    nvim.input(":call confirm(\"one\\ntwo\", \"&Yes\\n&No\")<CR>");
    nvim.wait_for("the question", |nvim| {
        ["one", "two"].iter().all(|words| nvim.screen().iter().any(|row| row == words))
    });
    nvim.input("y");
    say(&mut nvim);
    nvim.input(":echo 'mine'<CR>");
    nvim.wait_for("the float to go", |nvim| nvim.lua("return #vim.api.nvim_list_wins()", &[]) == 1);
    assert!(last_row(&nvim).starts_with("mine"), "{:?}", nvim.screen());
}

#[test]
fn a_message_is_cut_into_lines_that_fit() {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    let message = "there is no /a/very/long/path/to/some/file/or/other.so. 日本語の長い言葉です and so on";
    for room in 2..100 {
        let lines = nvim.lua("return require('flemma.notify').wrap(...)", &[json!(message), json!(room)]);
        let lines: Vec<&str> = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        for line in &lines {
            let width = nvim.lua("return vim.fn.strdisplaywidth(...)", &[json!(line)]).as_u64().unwrap();
            assert!(width <= room && !line.trim().is_empty(), "{room}: {lines:?}");
        }
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeeze(&lines.concat()), squeeze(message), "{room}");
    }
}
