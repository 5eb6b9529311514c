//! Whole screens, with the text and the highlight groups of every cell, compared with files in `screens`.
//!
//! `FLEMMA_BLESS=1` writes the files anew; look at what has changed before you keep it. Below each row that has colours is a
//! row with a letter for each cell, and at the end of the file stands what the letters mean.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path};

use super::{
    super::{
        chat::{Chat, Setup, call},
        support::{Nvim, Options},
    },
    OPEN,
};

/// A conversation with every element.
pub const CONVERSATION: &str = include_str!("screens/conversation.chat");

/// The rows of the screen above the first that is empty to the end or the status line.
fn picture(nvim: &mut Nvim) -> String {
    nvim.command("redraw!");
    nvim.lua("return 1", &[]);
    let mut letters: BTreeMap<Vec<String>, char> = BTreeMap::new();
    let (mut picture, mut legend) = (String::new(), String::new());
    let rows = nvim.screen();
    for (row, runs) in rows.iter().zip(nvim.runs()) {
        if row == "~" || row.starts_with("notes.chat") {
            break;
        }
        let mut below = String::new();
        for (text, mut groups) in runs {
            groups.retain(|group| group != "Normal" && group != "NormalNC");
            groups.dedup();
            let letter = if groups.is_empty() {
                ' '
            } else {
                let next = char::from(b'a' + u8::try_from(letters.len() % 26).unwrap());
                let next = if letters.len() < 26 { next } else { next.to_ascii_uppercase() };
                *letters.entry(groups.clone()).or_insert_with(|| {
                    let _ = writeln!(legend, "{next} {}", groups.join(" "));
                    next
                })
            };
            below.extend(text.chars().map(|_| letter));
        }
        let _ = writeln!(picture, "{row}");
        if !below.trim().is_empty() {
            let _ = writeln!(picture, "{}", below.trim_end());
        }
    }
    format!("{picture}\n{legend}")
}

/// Compares a screen with its file.
fn assert_screen(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvim/overlays/screens").join(format!("{name}.txt"));
    if env::var_os("FLEMMA_BLESS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{name} is\n{found}\nand should be\n{wanted}");
}

fn open(options: &str, columns: u32) -> Nvim {
    let init = format!(
        "vim.o.termguicolors = true vim.o.shortmess = vim.o.shortmess .. 'F' require('flemma').setup({{ {options} }})"
    );
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", CONVERSATION)],
        init: &init,
        screen: None,
        ..Options::default()
    });
    nvim.attach_styled_ui(columns, 140);
    nvim.command("edit notes.chat");
    nvim.wait_for_screen(" Assistant");
    nvim
}

/// Waits until everything is drawn in its colours.
fn wait_for_colours(nvim: &mut Nvim) {
    assert_eq!(
        nvim.lua("return require('flemma.view.markdown').available()", &[]),
        true,
        "Neovim has parsers of its own"
    );
    let known = "return vim.b.ts_highlight";
    nvim.wait_for("the languages", |nvim| nvim.lua(known, &[]) == true);
}

#[test]
fn every_element_looks_as_it_should() {
    for columns in [30, 80, 200] {
        let mut nvim = open(OPEN, columns);
        wait_for_colours(&mut nvim);
        nvim.input("6G");
        nvim.wait_for("the preview", |nvim| nvim.row_with(" ? edit").is_some());
        let name = format!("open-{columns}");
        for background in ["light", "dark"] {
            nvim.command(&format!("set background={background}"));
            let found = picture(&mut nvim);
            assert_screen(&name, &found);
        }
    }
}

#[test]
fn folds_look_as_they_should() {
    for columns in [30, 80, 200] {
        let mut nvim = open("", columns);
        wait_for_colours(&mut nvim);
        nvim.input("6G");
        nvim.wait_for("the folds", |nvim| nvim.row_with("\u{25b8} read").is_some());
        for background in ["light", "dark"] {
            nvim.command(&format!("set background={background}"));
            let found = picture(&mut nvim);
            assert_screen(&format!("folds-{columns}"), &found);
        }
        nvim.input("zM");
        nvim.wait_for_screen("\u{25b8} You");
        let found = picture(&mut nvim);
        assert_screen(&format!("closed-{columns}"), &found);
    }
}

#[test]
fn live_output_has_the_colours_of_the_command() {
    let command =
        "printf '\\033[31mred\\033[0m plain\\033[1;44m bold on blue\\033[0m\\n'; while [ ! -e go ]; do sleep 0.1; done";
    let input = serde_json::json!({"label": null, "command": command, "timeout": null});
    let options = "tools = { auto_approve = { 'bash' } }";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, [call("toolu_1", "bash", &input)]);
    for columns in [30, 80, 200] {
        chat.nvim.attach_styled_ui(columns, 30);
        if columns == 30 {
            chat.nvim.input("<C-]>");
        }
        chat.nvim.wait_for_screen("red plain bold on blue");
        for background in ["light", "dark"] {
            chat.nvim.command(&format!("set background={background}"));
            chat.nvim.command("redraw!");
            chat.nvim.wait_for_screen("red plain bold on blue");
            let row = chat.nvim.row_with("red plain bold on blue").unwrap();
            let runs: Vec<(String, Vec<String>)> =
                chat.nvim.runs()[row].iter().filter(|(text, _)| !text.trim().is_empty()).cloned().collect();
            let last = |index: usize| runs[index].1.last().cloned().unwrap_or_default();
            assert_eq!(
                runs.iter().map(|(text, _)| text.trim()).collect::<Vec<_>>(),
                ["red", "plain", "bold on blue"],
                "{runs:?}"
            );
            assert!(!last(1).starts_with("FlemmaAnsi"), "{runs:?}");
            let look = |nvim: &mut Nvim, name: String| {
                nvim.lua("return vim.api.nvim_get_hl(0, { name = ... })", &[name.into()])
            };
            let (red, blue) = (look(&mut chat.nvim, last(0)), look(&mut chat.nvim, last(2)));
            assert_eq!((&red["ctermfg"], red["fg"].is_u64()), (&1.into(), true), "{background}: {red}");
            assert_eq!((&blue["ctermbg"], blue["bg"].is_u64()), (&4.into(), true), "{background}: {blue}");
            assert_eq!((&blue["bold"], &blue["cterm"]["bold"]), (&true.into(), &true.into()));
        }
    }
    assert!(!chat.nvim.text().contains('\u{1b}'), "no escape codes are in the file");
    std::fs::write(chat.nvim.work().join("go"), "").unwrap();
}
