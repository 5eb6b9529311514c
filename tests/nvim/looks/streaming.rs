//! Screens while a reply streams at the pace of a fast model: what is there stays where it is.

use std::{env, time::Duration};

use serde_json::json;

use super::super::{
    anthropic::{Stream, text_delta},
    chat::{Chat, Setup, prose},
    folds::TURN,
    http::{Gate, Reply},
    support::Nvim,
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
    // The note in the corner covers a piece of a row.
    let options = "notify = { usage = false }, looks = { activity = false }";
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
    let options = "notify = { usage = false }";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, [prose(&[&words, "the end."]), prose(&["x"])]);
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

/// A reply of six hundred words that ends when the gate opens.
fn held_words(gate: &Gate) -> Reply {
    held_text(gate, &(0..600).map(|number| format!("w{number} ")).collect::<String>())
}

/// A reply that ends when the gate opens.
fn held_text(gate: &Gate, text: &str) -> Reply {
    let stream = Stream::new().text(&[text]).end("end_turn");
    let (before, after) = stream.events().split_at(3);
    let reply = before.iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hold(gate);
    after.iter().fold(reply, |reply, event| reply.chunk(event.as_str()))
}

#[test]
fn every_window_says_that_a_conversation_works() {
    let gate = Gate::new();
    let reply = held_words(&gate);
    let options = "notify = { usage = false }";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, [reply]);
    chat.nvim.request("nvim_ui_try_resize", &[100.into(), 20.into()]);
    chat.nvim.input(":split<CR>gg<C-w>jG<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("w599"));
    let notes =
        |nvim: &mut Nvim| nvim.screen().iter().filter(|row| row.ends_with('s') && row.contains(" writing, ")).count();
    chat.nvim.wait_for("a note in both windows", |nvim| {
        nvim.command("redraw");
        notes(nvim) + nvim.screen().iter().filter(|row| row.contains("tokens")).count() >= 2
    });
    let windows = "return vim.tbl_filter(function(win)
        return vim.api.nvim_win_get_config(win).relative ~= '' end, vim.api.nvim_list_wins())";
    assert!(!chat.nvim.lua(windows, &[]).as_array().unwrap().is_empty());
    // It follows its window, and goes with it.
    chat.nvim.input("<C-w>k:q<CR>");
    chat.nvim.wait_for("one window", |nvim| nvim.lua("return #vim.fn.win_findbuf(1)", &[]) == 1);
    gate.open();
    chat.wait_until_idle();
    chat.nvim.wait_for("no note", |nvim| nvim.lua(windows, &[]).as_array().unwrap().is_empty());
    assert!(!chat.nvim.screen().iter().any(|row| row.contains("writing")));
}

#[test]
fn the_note_about_work_goes_where_there_is_no_room_for_it() {
    let gate = Gate::new();
    let reply = held_words(&gate);
    let mut chat = Chat::start(&Setup { options: "notify = { usage = false }", ..Setup::default() }, [reply]);
    chat.nvim.request("nvim_ui_try_resize", &[100.into(), 20.into()]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("w599"));
    chat.nvim.input("gg");
    let notes = |nvim: &mut Nvim| {
        let floats = "return #vim.tbl_filter(function(win)
            return vim.api.nvim_win_get_config(win).relative ~= '' end, vim.api.nvim_list_wins())";
        nvim.lua(floats, &[]).as_u64().unwrap()
    };
    for (split, shrink, back) in [
        ("vsplit", "vertical resize 15", "wincmd ="),
        ("split", "resize 1", "wincmd ="),
        ("vsplit", "set laststatus=2 statusline=%{%v:lua.require'flemma.statusline'.component()%}", "set statusline&"),
    ] {
        chat.nvim.command(split);
        chat.nvim.wait_for("two notes", |nvim| notes(nvim) == 2);
        chat.nvim.command(shrink);
        chat.nvim.wait_for("fewer notes", |nvim| notes(nvim) < 2);
        chat.nvim.command(back);
        chat.nvim.wait_for("two notes again", |nvim| notes(nvim) == 2);
        chat.nvim.command("close");
    }
    assert_eq!(chat.nvim.messages(), "");
    gate.open();
    chat.wait_until_idle();
}

#[test]
fn the_note_about_work_covers_no_text() {
    let gate = Gate::new();
    let full: Vec<String> = (10..60).map(|number| format!("{number}").repeat(50)).collect();
    let reply = held_text(&gate, &full.join("\n"));
    let text = "@You:\nHello\n";
    let setup = Setup { text: Some(text), options: "notify = { usage = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply]);
    chat.nvim.request("nvim_ui_try_resize", &[100.into(), 20.into()]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains(&full[49]));
    // Above, a user who reads the beginning; below, the reply, in rows that are full.
    chat.nvim.input(":split<CR>gg");
    chat.nvim.wait_for("a note beside the short line", |nvim| {
        nvim.screen().iter().any(|row| row.starts_with("Hello   ") && row.contains(" writing, "))
    });
    let notes = |nvim: &Nvim| nvim.screen().iter().filter(|row| row.contains(" writing, ")).count();
    assert_eq!(notes(&chat.nvim), 1, "{:#?}", chat.nvim.screen());
    // It stays there, and only its words change.
    let mut words: Vec<String> = Vec::new();
    chat.nvim.wait_for("three notes", |nvim| {
        let note = nvim.screen().into_iter().find(|row| row.contains(" writing, ")).expect("a note");
        assert!(note.starts_with("Hello   "), "{note}");
        if words.last() != Some(&note) {
            words.push(note);
        }
        words.len() > 3
    });
    // Where all rows are full, the user who reads further up has it all the same.
    chat.nvim.input("20Gzt");
    chat.nvim.wait_for("a note at the end of a row", |nvim| {
        nvim.screen().iter().any(|row| row.starts_with("2") && row.contains(" writing, "))
    });
    // The end of the text says it itself.
    chat.nvim.input(":close<CR>Gzz");
    chat.nvim.wait_for("the line below the text", |nvim| {
        let rows = nvim.screen();
        rows.iter().any(|row| row.contains(" tokens")) && notes(nvim) == 1
    });
    let floats = "return #vim.api.nvim_list_wins() - 1";
    chat.nvim.wait_for("no note", |nvim| nvim.lua(floats, &[]) == 0);
    // A row with room at its end takes it.
    chat.nvim.input("gg");
    chat.nvim.wait_for("a note beside the short line", |nvim| {
        nvim.screen().iter().any(|row| row.starts_with("Hello   ") && row.contains(" writing, "))
    });
    gate.open();
    chat.wait_until_idle();
    chat.nvim.wait_for("no note", |nvim| notes(nvim) == 0 && nvim.lua(floats, &[]) == 0);
}
