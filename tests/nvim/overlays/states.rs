//! What the cards of a turn say while it goes on: what runs, what comes next, what waits, and what became of the others.

use serde_json::json;

use super::super::{
    anthropic::Stream,
    chat::{Chat, Setup, reply},
    support::Nvim,
};

/// The tool and the state of each call on the screen, with the group that gives the state its colour.
fn states(nvim: &mut Nvim) -> Vec<(String, String, String)> {
    nvim.lua("return 1", &[]);
    let rows = nvim.runs();
    let signs = ['▸', '<', '?', '!', '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    // The line of a call has only the name of its tool.
    let is_card = |words: &str| {
        words.strip_prefix(' ').is_some_and(|row| row.starts_with(signs)) && words.split_whitespace().count() > 2
    };
    let cards = rows.iter().filter(|row| is_card(&row.iter().map(|(text, _)| text.as_str()).collect::<String>()));
    let cards = cards.map(|row| {
        let words: String = row.iter().map(|(text, _)| text.as_str()).collect();
        let tool = words.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let Some((_, groups)) = row.iter().rfind(|(text, _)| !text.trim().is_empty()) else {
            return Default::default();
        };
        // The group on top. The text below the card may have others, which divide the word.
        let group = groups.last();
        let pieces: Vec<&str> = row
            .iter()
            .rev()
            .skip_while(|(text, _)| text.trim().is_empty())
            .take_while(|(_, groups)| groups.last() == group)
            .map(|(text, _)| text.as_str())
            .collect();
        let state: String = pieces.into_iter().rev().collect();
        (tool, state.trim().to_owned(), group.cloned().unwrap_or_default())
    });
    cards.collect()
}

/// The group in the colour scheme that one of ours stands for.
fn group(nvim: &mut Nvim, name: &str) -> String {
    let linked = "return vim.fn.synIDattr(vim.fn.synIDtrans(vim.fn.hlID(...)), 'name')";
    nvim.lua(linked, &[name.into()]).as_str().unwrap_or_default().to_owned()
}

/// Waits until the cards say this, at every width, dark and light. A state may be followed by the time that the call took.
fn assert_states(chat: &mut Chat, expected: &[(&str, &str, &str)]) {
    for columns in [200, 80, 30] {
        chat.nvim.attach_styled_ui(columns, 60);
        for background in ["light", "dark"] {
            chat.nvim.command(&format!("set background={background}"));
            let wanted: Vec<_> =
                expected.iter().map(|(tool, state, name)| (*tool, *state, group(&mut chat.nvim, name))).collect();
            let mut found = Vec::new();
            chat.nvim.wait_for(&format!("{wanted:?} at {columns} columns"), |nvim| {
                nvim.command("redraw!");
                found = states(nvim);
                found.len() == wanted.len()
                    && wanted.iter().zip(&found).all(|((tool, state, group), found)| {
                        found.0 == *tool && found.1.starts_with(state) && found.2 == *group
                    })
            });
            assert!(chat.nvim.screen().iter().all(|row| row.chars().count() <= columns as usize), "{found:?}");
        }
    }
}

#[test]
fn a_card_shows_the_state_of_its_call_while_it_changes() {
    let bash = |command: &str| json!({"label": null, "command": command, "timeout": null}).to_string();
    let calls = Stream::new()
        .text(&["I look."])
        .tool_use("toolu_1", "bash", &[&bash("while [ ! -e go ]; do sleep 0.1; done")])
        .tool_use("toolu_2", "bash", &[&bash("false")])
        .tool_use("toolu_3", "ls", &[&json!({"label": null, "path": ".", "limit": null}).to_string()])
        .tool_use(
            "toolu_4",
            "ask_user",
            &[&json!({"question": "Which colour?", "options": ["red"], "default": null}).to_string()],
        )
        .tool_use("toolu_5", "write", &[&json!({"label": null, "path": "b.py", "content": "x\n"}).to_string()])
        .tool_use("toolu_6", "unknown", &["{}"])
        .tool_use(
            "toolu_7",
            "ask_user",
            &[&json!({"question": "Which?", "options": ["1"], "default": null}).to_string()],
        )
        .end("tool_use");
    let options = "tools = { auto_approve = { 'bash' }, max_concurrent = 1 }";
    let lua = "vim.o.termguicolors = true
        require('flemma.tools.approval').register('no ls', {
          priority = 200,
          resolve = function(name) return name == 'ls' and 'deny' or nil end,
        })";
    let mut chat = Chat::start(&Setup { options, lua, ..Setup::default() }, [reply(&calls)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the command", |nvim| nvim.text().contains("status=running"));
    chat.nvim.input("gg");
    let (ls, ask) = (("ls", "denied", "FlemmaRejected"), ("ask_user", "answer", "FlemmaWaiting"));
    assert_states(
        &mut chat,
        &[
            ("bash", "running", "FlemmaRunning"),
            ("bash", "approved", "FlemmaRunning"),
            ls,
            ask,
            ("write", "waits", "FlemmaWaiting"),
            ("unknown", "✗ failed", "FlemmaFailed"),
            ask,
        ],
    );
    std::fs::write(chat.nvim.work().join("go"), "").unwrap();
    chat.nvim.wait_for("the second command", |nvim| nvim.text().contains("(error)\n\n```\n"));
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_5`");
    chat.nvim.command("Flemma tool:reject not this one");
    chat.nvim.wait_for("the rejection", |nvim| nvim.text().contains("not this one"));
    // From afar: `--error` is no rejection.
    for (call, how) in [("toolu_4", "error"), ("toolu_7", "reject")] {
        let resolve = "local path = vim.api.nvim_buf_get_name(0)
            return require('flemma.command_line').resolve(path, ..., 'nobody knows')";
        let resolve = resolve.replace("...", &format!("'{call}', '{how}'"));
        assert_eq!(chat.nvim.lua(&resolve, &[]), "done");
    }
    chat.nvim.input("gg");
    assert_states(
        &mut chat,
        &[
            ("bash", "✓ ", "FlemmaToolDone"),
            ("bash", "✗ failed ", "FlemmaFailed"),
            ls,
            ("ask_user", "✗ failed", "FlemmaFailed"),
            ("write", "rejected", "FlemmaRejected"),
            ("unknown", "✗ failed", "FlemmaFailed"),
            ("ask_user", "rejected", "FlemmaRejected"),
        ],
    );
}
