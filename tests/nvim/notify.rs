//! Messages on the command line: none asks for Enter, and `:messages` has all of each.

use serde_json::json;

use super::{
    chat::{Chat, Setup, prose, said},
    support::{Nvim, Options},
};

fn last_row(nvim: &Nvim) -> String {
    nvim.screen().last().cloned().unwrap_or_default()
}

fn wait_for_last_row(nvim: &mut Nvim, start: &str) {
    nvim.wait_for(&format!("`{start}` in the last row"), |nvim| last_row(nvim).starts_with(start));
    assert_eq!(nvim.request("nvim_get_mode", &[])["blocking"], false);
}

fn say(nvim: &mut Nvim, message: &str) {
    nvim.lua("require('flemma.notify').say(vim.log.levels.WARN, ...)", &[json!(message)]);
}

#[test]
fn no_message_makes_neovim_wait_for_enter() {
    let mut nvim =
        Nvim::start(&Options { files: &[("notes.txt", "one two\n")], arguments: &["notes.txt"], ..Options::default() });
    let path = format!("/{}", "a-long-folder/".repeat(20));
    let messages = ["short".to_owned(), path, "日本語の".repeat(40), "many words ".repeat(30)];
    let mut count = 0;
    for width in [30, 80, 200] {
        nvim.request("nvim_ui_try_resize", &[json!(width), json!(24)]);
        nvim.wait_for("the size", |nvim| nvim.lua("return vim.o.columns", &[]) == width);
        // In 30 columns, what 'ruler' and 'showcmd' show leaves no room beside them.
        let settings = ["cmdheight=1", "cmdheight=0", "cmdheight=1 ruler laststatus=0"];
        for setting in settings.into_iter().take(if width < 80 { 2 } else { 3 }) {
            nvim.command(&format!("set showcmd laststatus=2 {setting}"));
            // When `v` would cover a message, Neovim shows it for three seconds more.
            for (keys, messages) in [("", &messages[..]), ("v", &messages[if width == 80 { 3 } else { 4 }..])] {
                for message in messages {
                    count += 1;
                    nvim.input(&format!("<Esc>{keys}"));
                    let mode = if keys.is_empty() { "n" } else { keys };
                    nvim.wait_for("the mode", |nvim| nvim.mode() == mode);
                    say(&mut nvim, "another one");
                    say(&mut nvim, &format!("{count} {message}"));
                    wait_for_last_row(&mut nvim, &format!("Flemma: {count}"));
                    // What is cut says where the rest is, unless there is no room for that.
                    let is_cut = message.len() > width && width > 30 && keys.is_empty();
                    assert!(!is_cut || last_row(&nvim).contains(" … (:messages)"), "{}", last_row(&nvim));
                }
            }
        }
        nvim.input("<Esc>");
    }
    let all = said(&mut nvim).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains(&format!("{count} {}", messages[3].trim())), "{all}");
    // One that comes while the user is at the command line waits until they are done.
    nvim.input(":echo 'mine'");
    nvim.wait_for_screen(":echo 'mine'");
    say(&mut nvim, "patient");
    nvim.lua("vim.wait(20)", &[]);
    assert_eq!(last_row(&nvim), ":echo 'mine'");
    nvim.input("<C-c>");
    wait_for_last_row(&mut nvim, "Flemma: patient");
}

#[test]
fn what_answers_a_key_in_insert_mode_stays_on_the_screen() {
    // No key, and nothing to send.
    let keyless = Setup { text: Some("@You:\nHello"), environment: &[], ..Setup::default() };
    for setup in [keyless, Setup { text: Some("@You:\n"), ..Setup::default() }] {
        let mut chat = Chat::start(&setup, []);
        chat.nvim.input("GA<C-]>");
        wait_for_last_row(&mut chat.nvim, "Flemma:");
        chat.nvim.wait_for("the end", |nvim| nvim.lua("return vim.bo.modifiable", &[]) == true && nvim.mode() == "n");
        wait_for_last_row(&mut chat.nvim, "Flemma:");
    }
    let mut chat = Chat::start(&Setup::default(), [prose(&["one"])]);
    chat.nvim.input(":Flemma nonsense<CR>");
    wait_for_last_row(&mut chat.nvim, "Flemma:");
    chat.nvim.input("A there<C-]>");
    chat.nvim.wait_for("insert mode", |nvim| nvim.text().contains("one\n\n@You:\n") && nvim.mode() == "i");
    wait_for_last_row(&mut chat.nvim, "-- INSERT --");
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
