//! Undo and redo whose keys come faster than Neovim's main loop turns: a macro, keys from a plugin, keys under load.
//!
//! What the user typed stays theirs, and what others wrote stays theirs, at every place of the walk.

use serde_json::json;

use super::{
    chat::{Chat, Setup, prose, said},
    support::Nvim,
};

/// Moves through the history of two or more steps.
const MOVES: [&str; 14] = [
    "u",
    "u",
    "<C-r>",
    "<C-r>",
    "g-",
    "g+",
    "2u",
    "2<C-r>",
    ":undo 0<CR>",
    ":undo 1<CR>",
    ":undo 2<CR>",
    ":earlier 2<CR>",
    ":later 1<CR>",
    "GA more<Esc>",
];

/// A way to make Neovim take keys at once. The second part may be a macro, whose edits are one step of undo.
const WAYS: [&str; 3] = [
    "vim.api.nvim_input(table.concat({ ... }))",
    "vim.api.nvim_feedkeys(vim.keycode(table.concat({ ... })), 'mt', false)",
    "local edits, walk = ...
     vim.fn.setreg('q', vim.keycode(walk))
     vim.api.nvim_feedkeys(vim.keycode(edits) .. '@q', 'mt', false)",
];

/// `<F5>` notes what the frontmatter says and whether it counts, `<F6>` that the keys before it were taken.
const NOTES: &str = "vim.g.asked = 0
    vim.g.taken = 0
    notes = {}
    vim.ui.select = function() vim.g.asked = vim.g.asked + 1 end
    vim.keymap.set('n', '<F5>', function()
      local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, 3, false), '\\n')
      notes[#notes + 1] = { text, (require('flemma.tools.approval').resolve('bash', {})) }
    end)
    vim.keymap.set('n', '<F6>', function() vim.g.taken = vim.g.taken + 1 end)";

/// The same fence stands elsewhere in the file, written by somebody else.
const REST: &str = "@You:\nHello\n\n```lua\nlocal x = 1\n```\n";

fn start(files: &[(&str, &str)]) -> Chat {
    Chat::start(&Setup { files, lua: NOTES, ..Setup::default() }, std::iter::repeat_with(|| prose(&["ok"])).take(60))
}

/// Opens a file and types keys in one burst. Gives each frontmatter that there was, with whether it counted.
fn burst(nvim: &mut Nvim, file: &str, way: &str, (edits, walk): (&str, &str)) -> Vec<(String, bool)> {
    nvim.lua("vim.g.asked = 0 vim.g.taken = 0 notes = {}", &[]);
    nvim.command(&format!("silent edit! {file}"));
    nvim.wait_for("the file", |nvim| nvim.text().len() > 1);
    nvim.lua(way, &[json!(edits), json!(format!("{walk}<F6>"))]);
    nvim.wait_for(&format!("{edits}{walk} by {way}"), |nvim| nvim.lua("return vim.g.taken", &[]) == 1);
    let notes = nvim.lua("return notes", &[]);
    let note = |note: &serde_json::Value| (note[0].as_str().unwrap().to_owned(), note[1] == "approve");
    notes.as_array().into_iter().flatten().map(note).collect()
}

/// A walk through the history with a look after each step, from a generator of numbers.
fn walk(seed: u64, way: &str) -> String {
    // There, a beep at an end of the history discards the keys behind it.
    let is_discarded = way.contains("@q");
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap()
    };
    let length = 2 + next() % 6;
    let step = |chosen: &str| {
        let may_beep = is_discarded && (chosen.ends_with('u') || chosen.ends_with("<C-r>"));
        let quoted = chosen.replace("<C-r>", "<C-v><C-r>");
        if may_beep { format!(":silent! normal! {quoted}<CR><F5>") } else { format!("{chosen}<F5>") }
    };
    (0..length).map(|_| step(MOVES[next() % MOVES.len()])).collect()
}

#[test]
fn the_users_own_code_stays_trusted_in_a_burst_of_undo() {
    let mut chat = start(&[]);
    let typed = "ggO```lua<CR>flemma.opt.tools.auto_approve = {'read'}<CR>```<Esc><F5>:2substitute/read/bash/<CR><F5>";
    let own = "```lua\nflemma.opt.tools.auto_approve = {'bash'}\n```";
    let mut seen = 0;
    for seed in 0..24 {
        let file = format!("{seed}.chat");
        std::fs::write(chat.nvim.work().join(&file), REST).unwrap();
        let way = WAYS[usize::try_from(seed).unwrap() % WAYS.len()];
        let keys = format!("{}:undo 2<CR>G<F5><C-]>", walk(seed, way));
        let notes = burst(&mut chat.nvim, &file, way, (typed, &keys));
        for (text, counts) in &notes {
            assert_eq!(*counts, text == own, "{text}\n{keys} by {way}\n{notes:#?}");
            seen += usize::from(*counts);
        }
        chat.nvim.wait_for(&format!("the answer after {keys} by {way}"), |nvim| {
            let asked = nvim.lua("return vim.g.asked", &[]) != 0;
            assert!(!asked, "asked after {keys} by {way}: {}", said(nvim));
            nvim.text().contains("@Assistant:\nok")
        });
        chat.wait_until_idle();
        chat.nvim.command("silent bwipeout!");
    }
    assert!(seen > 50, "only {seen} looks at the user's own code");
}

#[test]
fn foreign_code_needs_trust_after_a_burst_of_undo() {
    let code = "flemma.opt.tools.auto_approve = {'bash'}";
    let text = format!("```lua\n{code}\n```\n\n{REST}");
    let mut chat = start(&[]);
    let edits = [
        ":1,3delete<CR><F5>:$delete<CR><F5>",
        "ggdj:undo 0<CR>ggdj<F5>GA more<Esc>",
        "2Gccmine()<Esc><F5>GA more<Esc>",
        "2GSmine()<Esc>U<F5>U<F5>U<F5>",
        "2GSmine()<Esc>:1,3delete<CR>u<F5>",
        ":2substitute/bash/read/<CR><F5>:2substitute/read/bash/<CR><F5>",
        "ggO```lua<CR>x = 1<CR>```<Esc><F5>u<F5>ggx<F5>",
        "gg3J<F5>u<F5>GA more<Esc>",
        "2Gccmine()<Esc>:2delete<CR>:1put!<CR><F5>u<F5>",
        "ggVjjd<F5>P<F5>u<F5>GA more<Esc>",
    ];
    let mut seen = 0;
    for seed in 0..24 {
        let file = format!("{seed}.chat");
        std::fs::write(chat.nvim.work().join(&file), &text).unwrap();
        let index = usize::try_from(seed).unwrap();
        let way = WAYS[(index / edits.len() + index) % WAYS.len()];
        let edits = edits[index % edits.len()];
        let keys = format!("{}:undo 0<CR>G<F5><C-]>", walk(seed + 100, way));
        let notes = burst(&mut chat.nvim, &file, way, (edits, &keys));
        for (text, counts) in &notes {
            assert!(!counts, "{text}\n{edits}{keys} by {way}\n{notes:#?}");
            seen += usize::from(text.contains(code));
        }
        chat.nvim.wait_for(&format!("the question after {edits}{keys} by {way}"), |nvim| {
            nvim.lua("return vim.g.asked", &[]) == 1
        });
        chat.nvim.command("silent bwipeout!");
    }
    assert!(seen > 50, "only {seen} looks at foreign code");
    assert!(chat.server.requests().is_empty());
}
