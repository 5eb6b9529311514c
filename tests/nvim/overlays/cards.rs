//! The line of a call and of its result.

use super::{super::support::Nvim, OPEN, TEXT, cell, open, rows};

/// The rows that begin with the sign of a call or of a result.
fn card_rows(rows: &[String]) -> Vec<String> {
    let signs = [" > ", " < ", " ! ", " ? "];
    rows.iter().filter(|row| signs.iter().any(|sign| row.starts_with(sign))).cloned().collect()
}

fn aligned(left: &str, right: &str, columns: usize) -> String {
    let blank = columns - 1 - left.chars().count() - right.chars().count();
    format!("{left}{}{right}", " ".repeat(blank))
}

#[test]
fn a_card_says_what_a_call_is_about_and_what_became_of_it() {
    for columns in [80, 200] {
        let mut nvim = open(TEXT, "", columns);
        let shown = rows(&mut nvim);
        let row = |left: &str, right: &str| aligned(left, right, columns as usize);
        assert_eq!(
            card_rows(&shown),
            [
                " > read".to_owned(),
                " > bash".to_owned(),
                row(" < read greet.lua 4-6  the greeting", "1 line  ✓"),
                row(" ! bash make test  what fails?", "1 line  ✗ failed"),
                " > edit".to_owned(),
                row(" ? edit a.py +2 -1  fix", "waits"),
            ]
        );
        assert!(!shown.iter().any(|row| row.contains("status=") || row.contains("signature")), "{shown:#?}");
    }
}

#[test]
fn a_card_fits_a_narrow_window() {
    let mut nvim = open(TEXT, "", 30);
    let shown = rows(&mut nvim);
    assert!(shown.iter().all(|row| row.chars().count() <= 30), "{shown:#?}");
    let cards = card_rows(&shown);
    assert_eq!(cards[0], " > read");
    assert_eq!(cards[5], aligned(" ? edit a.py +2 -1", "waits", 30));
    assert!(!shown.iter().any(|row| row.contains("**Tool") || row.contains("toolu_")), "{shown:#?}");
}

#[test]
fn the_state_of_a_call_has_a_colour() {
    let mut nvim = open(TEXT, "", 80);
    let shown = rows(&mut nvim);
    let colour = |nvim: &mut super::Nvim, text: &str| {
        let (row, column) = shown
            .iter()
            .enumerate()
            .find_map(|(row, line)| Some((row, line[..line.find(text)?].chars().count())))
            .unwrap();
        cell(nvim, row, column)["foreground"].clone()
    };
    let states = ["✓", "✗ failed", "waits", "the greeting"].map(|text| colour(&mut nvim, text));
    for (index, state) in states.iter().enumerate() {
        assert!(!states[..index].contains(state), "{states:?}");
    }
}

#[test]
fn signs_follow_the_option_and_the_font() {
    let setup = |icons: &str| format!("require('flemma').setup({{ {OPEN}, looks = {{ icons = '{icons}' }} }})");
    let mut nvim = open(TEXT, &setup("ascii"), 80);
    let shown = rows(&mut nvim);
    assert_eq!(card_rows(&shown)[2], aligned(" < read greet.lua 4-6  the greeting", "1 line  ok", 80));
    assert_eq!(card_rows(&shown)[3], aligned(" ! bash make test  what fails?", "1 line  failed", 80));
    let nerd = " \u{f120} bash make test";
    let mut nvim = open(TEXT, &setup("nerd"), 80);
    assert!(rows(&mut nvim).iter().any(|row| row.starts_with(nerd)));
    let mut nvim = open(TEXT, "vim.g.have_nerd_font = true", 80);
    assert!(rows(&mut nvim).iter().any(|row| row.starts_with(nerd)));
}

#[test]
fn a_result_without_its_call_is_drawn_all_the_same() {
    let mut nvim = open("@You:\nHello\n\n**Tool Result:** `x`\n\n```\nout\n```\n\n**Tool Result:** `y`\n", "", 40);
    let shown = rows(&mut nvim);
    assert_eq!(shown[3], aligned(" < result", "✓", 40));
    assert!(shown.contains(&"out".to_owned()));
    assert!(shown.contains(&aligned(" < result", "no result", 40)), "{shown:#?}");
}

#[test]
fn a_result_has_the_colours_of_the_file_that_was_read() {
    let mut nvim = open(TEXT, "", 80);
    assert_eq!(nvim.lua("return require('flemma.view.markdown').available()", &[]), true);
    nvim.wait_for("Lua", |nvim| nvim.lua("return vim.b.ts_highlight", &[]) == true);
    let shown = rows(&mut nvim);
    let row = shown.iter().position(|row| row == "local x = 1").unwrap();
    assert_ne!(cell(&mut nvim, row, 0), cell(&mut nvim, row, 6), "a keyword looks like a name");
}

#[test]
fn the_status_of_a_call_is_brighter_than_the_rest_of_its_line() {
    let ask = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `ask_user` (`a`)\n\n```json\n{\"question\":\"Which colour?\"}\n```\n\n\
               @You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending kind=elicitation executor=human\n```\n";
    let mut nvim = open(ask, "", 80);
    let text = |nvim: &mut Nvim, row, column| cell(nvim, row, column)["foreground"].clone();
    nvim.wait_for_screen(" ? ask_user Which colour?");
    let row = nvim.row_with(" ? ask_user Which colour?").unwrap();
    let question = text(&mut nvim, row, 14);
    let plain = nvim.lua("return vim.api.nvim_get_hl(0, { name = 'Normal' }).fg", &[]);
    assert_eq!(question, plain, "the question is plain text");
    nvim.input("/status=<CR>");
    let raw = "```flemma:tool status=pending kind=elicitation executor=human";
    nvim.wait_for_screen(raw);
    let row = nvim.row_with(raw).unwrap();
    let (status, rest) = (text(&mut nvim, row, 15), text(&mut nvim, row, 40));
    assert_ne!(status, rest);
}
