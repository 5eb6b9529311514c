//! The lines of `:Flemma status`.

use flemma::workspace::{OptionLayer, OptionRow, StatusView};
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
    assert_eq!(view.lines(80), ["provider  anthropic  setup", "model     m          default", "", "idle"]);
    assert_eq!(view.lines(29).len(), 4, "just enough");
    assert_eq!(view.lines(27), ["provider: anthropic (setup)", "model: m (default)", "", "idle"]);
}

#[test]
fn a_long_value_stays_in_its_column() {
    let tools = "ask_user, bash, calculator, edit, find, grep, ls, read, 漢字, write";
    let view = view(vec![row("model", "m", OptionLayer::Setup), row("tools", tools, OptionLayer::Default)]);
    let value = "ask_user, bash, calculator, edit, find, grep,";
    assert_eq!(
        view.lines(62)[..3],
        [
            format!("model  {:46}  setup", "m"),
            format!("tools  {value:46}  default"),
            format!("{:7}ls, read, 漢字, write", "")
        ]
    );
    for width in [80, 100, 200] {
        let lines = view.lines(width);
        let column = |line: &str, layer: &str| line[..line.rfind(layer).expect("its origin")].width();
        assert_eq!(column(&lines[0], "setup"), column(&lines[1], "default"), "{lines:#?}");
    }
}

#[test]
fn the_fault_comes_first_and_the_calls_last() {
    let mut view = view(vec![row("model", "m", OptionLayer::File)]);
    view.fault = Some((4, "what is wrong".to_owned()));
    view.calls.push("  running  bash (a), 3 s".to_owned());
    let lines = view.lines(80);
    assert_eq!(lines[..2], ["the frontmatter has no effect: line 5: what is wrong", ""]);
    assert_eq!(lines.last().unwrap(), "  running  bash (a), 3 s");
}

#[test]
fn long_lines_are_cut_between_words_and_indented() {
    let view = view(vec![row("tools", "bash, edit, find, grep", OptionLayer::Default)]);
    assert_eq!(view.lines(16), ["tools: bash,", "  edit, find,", "  grep (default)", "", "idle"]);
}

proptest! {
    #[test]
    fn no_line_is_too_wide_and_nothing_is_lost(
        words in prop::collection::vec("[a-z漢é]{1,12}", 1..12),
        width in 4..60_usize,
    ) {
        let value = words.join(" ");
        let view = view(vec![row("tools", &value, OptionLayer::Runtime), row("model", "x", OptionLayer::File)]);
        let lines = view.lines(width);
        for line in &lines {
            prop_assert!(line.width() <= width, "{line:?} is wider than {width}");
        }
        let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
        prop_assert!(letters(&lines.concat()).contains(&letters(&value)), "{lines:?}");
    }
}
