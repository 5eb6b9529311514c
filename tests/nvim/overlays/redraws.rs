//! After a change, only the lines that look different are drawn again. The screen is the same as if all of it were.

use serde_json::json;

use super::{TEXT, open, support::Nvim};

/// A piece of a row, and its highlight groups.
type Run = (String, Vec<String>);

/// What is typed into a line. Everything that has a meaning in Markdown or in a conversation is among it.
const WORDS: [&str; 24] = [
    "words",
    "**strong**",
    "**",
    "`code",
    "`",
    "```",
    "```lua",
    "local x = [[",
    "]] -- end",
    "- item",
    "  more of it",
    "    code",
    "# Heading",
    "| a | b |",
    "|---|---|",
    "> quoted",
    "===",
    "---",
    "<thinking>",
    "</thinking>",
    "@You:",
    "@Assistant:",
    "**Tool Use:** `read` (`toolu_9`)",
    "[a](https://example.org",
];

/// Numbers by xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    /// The keys of an edit in Normal mode, after which Neovim may still be in Insert mode.
    fn keys(&mut self, lines: usize) -> String {
        let line = self.below(lines) + 1;
        let word = WORDS[self.below(WORDS.len())].replace('<', "<LT>");
        let keys = match self.below(14) {
            0 => format!("o{word}<Esc>"),
            1 => format!("O{word}<Esc>"),
            2 => format!("A {word}<Esc>"),
            3 => format!("I{word} <Esc>"),
            4 => format!("cc{word}<Esc>"),
            5 => format!("o{word}<CR><CR>{word}"),
            6 => format!("A{word}"),
            7 => "dd".to_owned(),
            8 => "3dd".to_owned(),
            9 => "yyp".to_owned(),
            10 => "J".to_owned(),
            11 => "o<Esc>".to_owned(),
            12 => "u".to_owned(),
            _ => "<C-r>".to_owned(),
        };
        format!("<Esc>{line}G{keys}")
    }
}

/// Several edits between two redraws.
const MACRO: &str = "for _, keys in ipairs(...) do vim.cmd.normal({ vim.keycode(keys), bang = true }) end";

/// The rows and their groups, without the lines below the text, where messages are.
fn drawn(nvim: &mut Nvim, how: &str) -> Vec<Vec<Run>> {
    // What was scheduled by the change has its turn first.
    nvim.lua("vim.wait(1) vim.cmd(...)", &[how.into()]);
    nvim.lua("return 1", &[]);
    let mut rows = nvim.runs();
    rows.truncate(rows.len() - 2);
    for (_, groups) in rows.iter_mut().flatten() {
        // Lines that are drawn in parts may have the same groups twice, which looks the same.
        let all = groups.clone();
        let mut index = 0;
        groups.retain(|group| {
            index += 1;
            !all[index..].contains(group)
        });
    }
    rows
}

/// An editor with this conversation, without the colours of Markdown, which Neovim draws when it has parsed it.
fn open_uncoloured(text: &str) -> Nvim {
    let mut nvim = open(text, "", 80);
    nvim.attach_styled_ui(80, 60);
    nvim.wait_for("the highlighter", |nvim| nvim.lua("return vim.b.ts_highlight", &[]) == true);
    nvim.lua("vim.treesitter.stop()", &[]);
    nvim
}

#[test]
fn a_change_draws_all_that_looks_different() {
    // Without a call that waits: its preview comes when the file was looked at.
    let text = TEXT.replace("flemma:tool status=pending", "");
    let mut nvim = open_uncoloured(&text);
    for seed in 1..=6 {
        nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(..., '\\n'))", &[text.as_str().into()]);
        let mut chance = Chance(0x9E37_79B9_7F4A_7C15 ^ seed);
        let mut log = Vec::new();
        for _ in 0..50 {
            let lines = nvim.lua("return vim.fn.line('$')", &[]).as_u64().unwrap();
            let lines = usize::try_from(lines).unwrap();
            if chance.below(4) == 0 {
                let edits: Vec<String> = (0..3).map(|_| chance.keys(lines)).collect();
                nvim.input("<Esc>");
                nvim.lua(MACRO, &[json!(edits)]);
                log.extend(edits);
            } else {
                let keys = chance.keys(lines);
                nvim.input(&keys);
                log.push(keys);
            }
            let (changed, whole) = (drawn(&mut nvim, "redraw"), drawn(&mut nvim, "redraw!"));
            let wrong = changed.iter().zip(&whole).position(|(one, other)| one != other);
            if let Some(row) = wrong {
                let what = format!("seed {seed}, row {row}\n{:?}\n{:?}\n{log:#?}", changed[row], whole[row]);
                nvim.fail(&what);
            }
        }
    }
}

#[test]
fn a_change_in_a_long_message_draws_its_paragraph() {
    let mut nvim = open(&format!("@You:\n{}", "Some words.\n\n".repeat(100)), "", 80);
    nvim.attach_styled_ui(80, 60);
    // Its marker is on the screen as well.
    nvim.input("gg42G");
    nvim.lua(
        "Lines = 0
         vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace('counted'), {
           on_win = function() return true end,
           on_line = function() Lines = Lines + 1 end,
         })
         vim.cmd('redraw!')",
        &[],
    );
    let all = nvim.lua("return Lines", &[]).as_u64().unwrap();
    assert!(all > 40, "{all}");
    // The whole screen is drawn once more when the file has been looked at.
    nvim.wait_for("a few lines to be drawn for a change", |nvim| {
        let drawn = nvim.lua("Lines = 0 vim.cmd('normal! 0~') vim.cmd.redraw() return Lines", &[]);
        (1..=20).contains(&drawn.as_u64().unwrap())
    });
}
