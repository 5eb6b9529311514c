use super::*;

fn read(text: &str) -> Vec<(String, String)> {
    let runs = runs(text, &mut AnsiStyle::default());
    runs.into_iter().map(|(text, style)| (text.to_owned(), style.words())).collect()
}

fn run(text: &str, style: &str) -> (String, String) {
    (text.to_owned(), style.to_owned())
}

#[test]
fn colours_are_read() {
    assert_eq!(read("a\u{1b}[1;31mb\u{1b}[0mc"), [run("a", ""), run("b", "fg=1 bold"), run("c", "")]);
    assert_eq!(read("\u{1b}[92;44;3;4;7mx"), [run("x", "fg=10 bg=4 italic underline reverse")]);
    assert_eq!(read("\u{1b}[38;5;200m\u{1b}[48;2;1;2;255mx"), [run("x", "fg=200 bg=#0102ff")]);
    assert_eq!(read("\u{1b}[31m\u{1b}[mx"), [run("x", "")]);
    assert_eq!(read("\u{1b}[31;39;49;99mx"), [run("x", "")]);
}

#[test]
fn other_sequences_are_dropped() {
    let text = "a\u{1b}[2K\u{1b}[10;3Hb\u{1b}]0;title\u{7}c\u{1b}]8;;http://x\u{1b}\\d\u{1b}(Be\u{1b}7f\u{1b}";
    assert_eq!(plain(text), "abcdef");
    assert_eq!(plain("no sequences"), "no sequences");
    assert_eq!(coloured("\u{1b}[2K\u{1b}[31mx\u{1b}[0m"), "\u{1b}[31mx\u{1b}[0m");
}

#[test]
fn a_damaged_sequence_loses_no_text_and_leaves_no_escape() {
    let whole = "é\u{1b}[38;5;2mü\u{1b}]0;t\n漢\u{1b}[31\n字\u{1b}\u{1b}[0m.";
    for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let text = &whole[..end];
        let shown = plain(text);
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        assert_eq!(read(text).into_iter().map(|(text, _)| text).collect::<String>(), shown);
        for letter in ['é', 'ü', '漢', '字'] {
            assert_eq!(shown.contains(letter), text.contains(letter), "{text:?}");
        }
    }
}
