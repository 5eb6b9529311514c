//! Screens while a reply streams at the pace of a fast model: what is there stays where it is.

use std::{env, time::Duration};

use serde_json::json;

use super::super::{
    anthropic::{Stream, text_delta},
    chat::{Chat, Setup},
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
    let options = "notify = { usage = false }";
    let mut chat = Chat::start(&Setup { text: Some(&text), options, ..Setup::default() }, [reply]);
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
            let stays = (0..old.len()).any(|by| new.len() >= old.len() - by && new[..old.len() - by] == old[by..]);
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
