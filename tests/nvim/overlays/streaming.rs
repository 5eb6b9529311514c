//! Screens while a reply streams at the pace of a fast model: what is there stays where it is.

use std::{env, time::Duration};

use serde_json::json;

use super::super::{
    anthropic::{Stream, text_delta},
    chat::{Chat, Setup, prose},
    folds::TURN,
    http::Reply,
};

/// How long the reply takes, in seconds, unless the environment variable `FLEMMA_STREAM_SECONDS` says otherwise.
const SECONDS: u64 = 4;

/// The pieces of a reply per second.
const PACE: u64 = 100;

#[test]
fn nothing_above_a_reply_moves_in_any_window() {
    let seconds = env::var("FLEMMA_STREAM_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let stream = Stream::new().text(&[]).end("end_turn");
    let [start, open, rest @ ..] = stream.events() else { panic!("a stream has a beginning") };
    let begin = Reply::stream().chunk(start.as_str()).chunk(open.as_str());
    let reply = (0..seconds * PACE).fold(begin, |reply, number| {
        let end = if number % 12 == 11 { "\n\n" } else { " " };
        reply.tick(Duration::from_millis(1000 / PACE)).chunk(text_delta(0, &format!("**w{number}** `x`{end}")))
    });
    let reply = rest.iter().fold(reply.chunk(text_delta(0, "The end.")), |reply, event| reply.chunk(event.as_str()));
    let text = TURN.repeat(12).replace("```lua\n-- The options of this file.\n```\n\n", "");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [reply]);
    chat.wait_until_idle();
    // Above, a reader in the middle of the text; below, the window that follows the reply.
    chat.nvim.input("G:split<CR>60Gzt3j");
    chat.nvim.input("<C-w>jG<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("**w3**"));
    let top = "local win = vim.fn.win_getid(1) return { vim.fn.getwininfo(win)[1].topline, vim.api.nvim_win_get_cursor(win) }";
    let before = chat.nvim.lua(top, &[]);
    let height = chat.nvim.lua("return vim.api.nvim_win_get_height(vim.fn.win_getid(1))", &[]).as_u64().unwrap();
    let height = usize::try_from(height).unwrap();
    let upper: Vec<String> = chat.nvim.screen()[..height].to_vec();
    // What has been written above the last row that was being written never changes; rows only scroll.
    let mut last: Vec<String> = Vec::new();
    let mut frames = 0;
    chat.nvim.wait_for("the end of the reply", |nvim| {
        let now = nvim.screen();
        assert_eq!(now[..height], upper[..], "the reader's window has changed");
        let lower: Vec<String> =
            now[height + 1..].iter().take_while(|row| !row.starts_with("notes.chat")).cloned().collect();
        let written = |rows: &[String]| {
            let end = rows.iter().position(|row| row.contains("writing,") || row == "~").unwrap_or(rows.len());
            // The row that is being written, and the one before it, which a word may leave.
            rows[..end.saturating_sub(2)].to_vec()
        };
        let (old, new) = (written(&last), written(&lower));
        if !old.is_empty() && last != lower {
            frames += 1;
            // In the top row, `<<<` may cover three cells, where the line begins further up.
            let same = |(old, new): (&String, &String)| {
                old == new || new.strip_prefix("<<<").is_some_and(|rest| old.get(3..).is_some_and(|old| old == rest))
            };
            let stays = (0..old.len()).any(|by| new.len() >= old.len() - by && old[by..].iter().zip(&new).all(same));
            assert!(stays, "{last:#?}\nbecame\n{lower:#?}");
        }
        last = lower;
        nvim.text().contains("The end.")
    });
    assert!(frames > seconds, "only {frames} different screens were seen");
    assert_eq!(chat.nvim.lua(top, &[]), before);
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua(top, &[]), before);
    // One step back takes the reply away, and the reader's window stays.
    chat.nvim.input("u");
    chat.nvim.wait_for("the undo", |nvim| !nvim.text().contains("**w3**"));
    assert_eq!(chat.nvim.lua(top, &[]), before);
    chat.nvim.request("nvim_ui_try_resize", &[json!(60), json!(30)]);
    chat.nvim.command("edit!");
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua("return vim.v.errmsg", &[]), "");
}

#[test]
fn the_end_of_a_tall_reply_stays_on_the_screen() {
    let words: String = (0..600).map(|number| format!("w{number} ")).collect();
    let mut chat = Chat::start(&Setup::default(), [prose(&[&words, "the end."]), prose(&["x"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().ends_with("the end.\n\n@You:\n\n"));
    chat.wait_until_idle();
    for (columns, height, keys) in [(30, 24, ""), (80, 12, "gg"), (30, 12, "")] {
        chat.nvim.request("nvim_ui_try_resize", &[columns.into(), height.into()]);
        if !keys.is_empty() {
            chat.nvim.input(keys);
            chat.nvim.wait_for_screen("Hello");
            chat.nvim.input("G");
        }
        chat.nvim.wait_for(&format!("the end at {columns} columns"), |nvim| {
            nvim.command("redraw");
            let rows = nvim.screen();
            let end = rows.iter().position(|row| row.ends_with("the end."));
            // The prompt is below it, and the reply fills the rest. Neovim's `<<<` says that there is more above.
            end.is_some_and(|end| end + 6 >= rows.len() && rows[1..end].iter().all(|row| row.starts_with('w')))
        });
    }
    // It is for conversations alone, and the user's own value wins.
    chat.nvim.command("edit! other.txt");
    assert_eq!(chat.nvim.lua("return vim.wo.smoothscroll", &[]), false);
    chat.nvim.command("buffer notes.chat");
    assert_eq!(chat.nvim.lua("return vim.wo.smoothscroll", &[]), true);
    chat.nvim.command("setlocal nosmoothscroll");
    for command in ["split", "edit other.txt", "buffer notes.chat"] {
        chat.nvim.command(command);
        assert_eq!(chat.nvim.lua("return vim.wo.smoothscroll", &[]), false, "{command}");
    }
    // A value for all windows counts, which may be the default one.
    let own = Setup { lua: "vim.o.smoothscroll = false", ..Setup::default() };
    let mut chat = Chat::start(&own, []);
    assert_eq!(chat.nvim.lua("return vim.wo.smoothscroll", &[]), false);
}
