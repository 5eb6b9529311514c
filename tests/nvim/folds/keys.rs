//! Text objects, and the motions between calls that wait.

use serde_json::json;

use super::{
    TURN, WAITING,
    chat::{Chat, Setup, prose, said},
};

fn start(text: &str, lua: &str) -> Chat {
    let setup = Setup { text: Some(text), options: "editing = { foldlevel = 99 }", lua, ..Setup::default() };
    let mut chat = Chat::start(&setup, []);
    chat.wait_until_idle();
    chat
}

/// The lines that are selected, first and last, and the mode.
fn selection(chat: &mut Chat) -> serde_json::Value {
    chat.nvim.lua(
        "local a, b = vim.fn.line('v'), vim.fn.line('.')
         return { math.min(a, b), math.max(a, b), vim.api.nvim_get_mode().mode }",
        &[],
    )
}

/// The number of the first line with this text, from 1.
fn line(chat: &mut Chat, text: &str) -> usize {
    chat.nvim.lines(0).iter().position(|line| line.contains(text)).map_or(0, |line| line + 1)
}

#[test]
fn operators_take_messages_and_cards_and_dot_repeats_them() {
    let mut chat = start(TURN, "");
    chat.go_to("Please look");
    chat.nvim.input("dim");
    chat.nvim.wait_for("an empty message", |nvim| !nvim.text().contains("Please look"));
    assert!(chat.nvim.text().contains("@You:\n\n@Assistant:"), "{}", chat.nvim.text());
    chat.go_to("I read them");
    chat.nvim.input(".");
    chat.nvim
        .wait_for("the next one", |nvim| !nvim.text().contains("I read them") && !nvim.text().contains("<thinking>"));
    chat.nvim.input("uu");
    chat.nvim.wait_for("the text", |nvim| nvim.text() == TURN);
    chat.go_to("\"offset\":4");
    chat.nvim.input("diT");
    chat.nvim.wait_for("no input", |nvim| !nvim.text().contains("\"offset\":4"));
    chat.go_to("cargo test");
    chat.nvim.input(".");
    chat.nvim.wait_for("no command", |nvim| nvim.text().contains("`bash` (`toolu_2`)\n\n```json\n```\n"));
    chat.go_to("no such text");
    chat.nvim.input("daT");
    chat.nvim.wait_for("no result", |nvim| !nvim.text().contains("toolu_3` (error)"));
    chat.go_to("`read` (`toolu_1`)");
    chat.nvim.input("d2aT");
    chat.nvim.wait_for("no card", |nvim| !nvim.text().contains("`toolu_1`"));
    chat.nvim.input("ggdGi@You:<CR>One<CR><CR>@Assistant:<CR>Two<CR><CR>@You:<CR>Three<Esc>");
    chat.go_to("One");
    chat.nvim.input("d2am");
    chat.nvim.wait_for("one message", |nvim| nvim.text() == "@You:\nThree\n");
    chat.nvim.input("cimother<Esc>");
    chat.nvim.wait_for("another text", |nvim| nvim.text() == "@You:\nother\n");
}

#[test]
fn in_visual_mode_objects_grow() {
    let mut chat = start(TURN, "");
    let (ask, words) = (line(&mut chat, "Please look"), line(&mut chat, "I read them"));
    chat.go_to("Please look");
    chat.nvim.input("vim");
    chat.nvim.wait_for("the selection", |nvim| nvim.mode() == "V");
    assert_eq!(selection(&mut chat), json!([ask, ask, "V"]));
    chat.nvim.input("im");
    let results = line(&mut chat, "**Tool Result:** `toolu_1`");
    assert_eq!(selection(&mut chat), json!([ask, results - 3, "V"]));
    chat.nvim.input("<Esc>");
    chat.go_to("I read them");
    chat.nvim.input("vam");
    chat.nvim.wait_for("the selection", |nvim| nvim.mode() == "V");
    assert_eq!(selection(&mut chat), json!([words - 6, results - 2, "V"]));
    chat.nvim.input("<Esc>");
    chat.go_to("\"offset\":4");
    let input = line(&mut chat, "\"offset\":4");
    for (keys, first, last) in [("viT", input, input), ("iT", input - 3, input + 2), ("aT", input - 3, results + 7)] {
        chat.nvim.input(keys);
        chat.nvim.wait_for("the selection", |nvim| nvim.mode() == "V");
        assert_eq!(selection(&mut chat), json!([first, last, "V"]), "{keys}");
    }
    // Text on the line of the marker.
    chat.nvim.input("<Esc>gg0CThere is<Esc>Go<CR>@Assistant: one<CR>two<Esc>kvim");
    chat.nvim.wait_for("the selection", |nvim| nvim.mode() == "v");
    chat.nvim.input("y");
    chat.nvim.wait_for("the text", |nvim| nvim.lua("return vim.fn.getreg('\"')", &[]) == "one\ntwo");
}

#[test]
fn without_an_object_nothing_happens() {
    let mut chat = start(TURN, "");
    let before = chat.nvim.text();
    chat.go_to("I read them");
    chat.nvim.input("ciTx<Esc>");
    chat.nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
    // Escape has cancelled the operator, so `x` deletes a character.
    chat.nvim.wait_for("one letter less", |nvim| nvim.text() == before.replace("I read", " read"));
}

#[test]
fn motions_go_to_what_waits_with_counts() {
    let mut chat = start(WAITING, "");
    let waits: Vec<usize> = chat
        .nvim
        .lines(0)
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("status=pending"))
        // The header of its block is the card.
        .map(|(line, _)| line - 1)
        .collect();
    let first = (waits[0] as u64, 0);
    let second = (waits[1] as u64, 0);
    chat.nvim.wait_for("the journal", |nvim| nvim.lua("return #require('flemma.tools').pending()", &[]) == 2);
    for (keys, expected) in [("gg]w", first), ("]w", second), ("[w", first), ("gg2]w", second), ("G2[w", first)] {
        chat.nvim.input(keys);
        chat.nvim.wait_for(keys, |nvim| nvim.cursor() == expected);
    }
    chat.nvim.input("zMgg]w");
    chat.nvim
        .wait_for("the call", |nvim| nvim.cursor() == first && nvim.lua("return vim.fn.foldclosed('.')", &[]) == -1);
    chat.nvim.input("G]w");
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains("no call is waiting below"));
    chat.nvim.input("ggd]w");
    chat.nvim.wait_for("a deletion", |nvim| nvim.lines(0)[0].contains("**Tool Result:**"));
    let mut chat = start(TURN, "");
    chat.nvim.input("gg]w");
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains("no call is waiting in this conversation"));
}

#[test]
fn mappings_of_the_user_are_not_replaced() {
    let lua = "vim.keymap.set('n', ']w', '<Cmd>let g:pressed = 1<CR>')
        vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', callback = function()
          vim.keymap.set('n', ']m', '<Cmd>let g:local = 1<CR>', { buffer = true })
          vim.keymap.set({ 'o', 'x' }, 'am', 'ip', { buffer = true })
        end })";
    let mut chat = start(WAITING, lua);
    chat.nvim.input("gg]w]m");
    chat.nvim.wait_for("both", |nvim| nvim.lua("return vim.g.pressed == 1 and vim.g['local'] == 1", &[]) == true);
    chat.go_to("Please look");
    chat.nvim.input("dam");
    chat.nvim.wait_for("a paragraph", |nvim| !nvim.text().contains("Please look"));
    assert!(chat.nvim.text().starts_with("\n@Assistant:"), "{}", chat.nvim.text());
    let setup = Setup {
        text: Some(WAITING),
        options: "keymaps = { normal = { next_waiting = 'gw', prev_waiting = false }, objects = { around_message = 'aM' } }",
        ..Setup::default()
    };
    let mut chat = Chat::start(&setup, []);
    chat.nvim.wait_for("the journal", |nvim| nvim.lua("return #require('flemma.tools').pending()", &[]) == 2);
    chat.nvim.input("gggw");
    chat.nvim.wait_for("the call", |nvim| nvim.cursor().0 > 5);
    assert_eq!(chat.nvim.lua("return vim.fn.maparg('[w', 'n')", &[]), "");
    assert_ne!(chat.nvim.lua("return vim.fn.maparg('aM', 'o')", &[]), json!(null));
    assert_eq!(chat.nvim.lua("return vim.fn.mapcheck('<Plug>(flemma-inner-tool)', 'x') ~= ''", &[]), true);
}

/// A closed fold is one line, so a key there is about what is in it.
#[test]
fn a_key_on_a_closed_fold_is_about_the_call_in_it() {
    for keys in ["<M-CR>", ":Flemma tool:approve<CR>"] {
        let text = "@You:\nGo\n\n@Assistant:\nI will.\n\n**Tool Use:** `bash` (`toolu_1`)\n\n```json\n\
            {\"command\":\"echo two\",\"label\":null,\"timeout\":null}\n```\n\n@You:\n**Tool Result:** `toolu_1`\n\n\
            ```flemma:tool status=pending\n```\n";
        let mut chat = Chat::start(&Setup { text: Some(text), ..Setup::default() }, [prose(&["fine"])]);
        chat.nvim.wait_for("the journal", |nvim| nvim.lua("return #require('flemma.tools').pending()", &[]) == 1);
        chat.go_to("@Assistant:");
        chat.nvim.input("zM");
        chat.nvim.wait_for("a closed fold", |nvim| nvim.lua("return vim.fn.foldclosed('.')", &[]) == 4);
        chat.nvim.input(keys);
        chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert!(chat.nvim.text().contains("two\n"), "{}", chat.nvim.text());
    }
    // Of several, nobody says which one is meant.
    let mut chat = start(WAITING, "");
    chat.nvim.wait_for("the journal", |nvim| nvim.lua("return #require('flemma.tools').pending()", &[]) == 2);
    chat.nvim.input("G?^@Assistant<CR>zM<M-CR>");
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains("no tool call under the cursor"));
}
