//! The lines of `:Flemma status`.

use flemma_workspace::{OptionLayer, OptionRow, StatusView};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

fn row(name: &str, value: &str, layer: OptionLayer) -> OptionRow {
    OptionRow { name: name.to_owned(), value: value.to_owned(), layer }
}

fn view(rows: Vec<OptionRow>) -> StatusView {
    StatusView { fault: None, rows, activity: "idle".to_owned(), calls: Vec::new() }
}

#[test]
fn options_are_a_table_where_there_is_room() {
    let view = view(vec![row("provider", "anthropic", OptionLayer::Setup), row("model", "m", OptionLayer::Default)]);
    assert_eq!(view.lines(80, true), ["idle", "", "provider  anthropic  setup", "model     m          default"]);
    assert_eq!(view.lines(29, true).len(), 4, "just enough");
    assert_eq!(view.lines(27, true), ["idle", "", "provider: anthropic (setup)", "model: m (default)"]);
}

#[test]
fn a_long_value_stays_in_its_column() {
    let tools = "ask_user, bash, calculator, edit, find, grep, ls, read, 漢字, write";
    let view = view(vec![row("model", "m", OptionLayer::Setup), row("tools", tools, OptionLayer::Default)]);
    let value = "ask_user, bash, calculator, edit, find, grep,";
    assert_eq!(
        view.lines(62, true)[2..5],
        [
            format!("model  {:46}  setup", "m"),
            format!("tools  {value:46}  default"),
            format!("{:7}ls, read, 漢字, write", "")
        ]
    );
    for width in [80, 100, 200] {
        let lines = view.lines(width, true);
        let column = |line: &str, layer: &str| line[..line.rfind(layer).expect("its origin")].width();
        assert_eq!(column(&lines[2], "setup"), column(&lines[3], "default"), "{lines:#?}");
    }
}

#[test]
fn what_happens_and_waits_comes_first_and_then_the_fault() {
    let mut view = view(vec![row("model", "m", OptionLayer::File)]);
    view.fault = Some((4, "what is wrong".to_owned()));
    view.calls.push("  running  bash (a), 3 s".to_owned());
    let fault = "the frontmatter has no effect: line 5: what is wrong";
    assert_eq!(view.lines(80, false), ["idle", "  running  bash (a), 3 s", fault, "", "model  m  frontmatter"]);
}

#[test]
fn the_short_page_has_what_was_set_and_fits_a_screen() {
    let long = "words ".repeat(100);
    let set = ["a", "b", "c"].map(|name| row(name, &long, OptionLayer::Setup));
    let rows = [row("model", "m", OptionLayer::Default), row("tools.x", "1", OptionLayer::Default)];
    let mut view = view(rows.into_iter().chain(set).collect());
    view.calls.extend((0..30).map(|number| format!("  pending  bash ({number})")));
    let lines = view.lines(80, false);
    assert!(lines.len() <= 22, "{lines:#?}");
    assert_eq!(lines[7], "  and 24 more calls: `:Flemma tool:list`");
    assert!(!lines.iter().any(|line| line.contains("tools.x")), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("`:Flemma status all` also shows"), "{lines:#?}");
    let all = view.lines(80, true);
    assert!(all.iter().any(|line| line.contains("tools.x")) && all.iter().any(|line| line.contains("bash (29)")));
}

#[test]
fn long_lines_are_cut_between_words_and_indented() {
    let view = view(vec![row("tools", "bash, edit, find, grep", OptionLayer::Default)]);
    assert_eq!(view.lines(16, true), ["idle", "", "tools: bash,", "  edit, find,", "  grep (default)"]);
}

proptest! {
    #[test]
    fn no_line_is_too_wide_and_nothing_is_lost(
        words in prop::collection::vec("[a-z漢é]{1,12}", 1..12),
        width in 4..60_usize,
    ) {
        let value = words.join(" ");
        let view = view(vec![row("tools", &value, OptionLayer::Runtime), row("model", "x", OptionLayer::File)]);
        let lines = view.lines(width, true);
        for line in &lines {
            prop_assert!(line.width() <= width, "{line:?} is wider than {width}");
        }
        let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
        prop_assert!(letters(&lines.concat()).contains(&letters(&value)), "{lines:?}");
    }
}
