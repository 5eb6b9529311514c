//! What holds for every command.

use flemma_tools::{approval::Decision, rules::Subject, rules::suggest};
use proptest::prelude::*;

use super::{GENEROUS, command, path_base, rules};

/// A word that a rule knows, quoted in one of the ways there are.
pub(super) fn quoted(word: &str, ways: &[u8]) -> String {
    let piece = |(letter, way): (char, &u8)| match way % 5 {
        0 => letter.to_string(),
        1 => format!("\\{letter}"),
        2 => format!("'{letter}'"),
        3 => format!("\"{letter}\""),
        _ => format!("$'{letter}'"),
    };
    word.chars().zip(ways.iter().cycle()).map(piece).collect()
}

/// A command that the rules approve, as long as `inner` is one.
fn around(inner: &str, way: u8) -> String {
    match way % 18 {
        0 => format!("ls; {inner}"),
        1 => format!("{inner} && ls"),
        2 => format!("ls | {inner}"),
        3 => format!("( {inner} )"),
        4 => format!("{{ {inner}\n}}"),
        5 => format!("echo \"$({inner}\n)\""),
        6 => format!("if {inner}\nthen ls; fi"),
        7 => format!("if ls; then {inner}\nelse cat a; fi"),
        8 => format!("for f in a b; do {inner}\ndone"),
        9 => format!("cat <<EOF\n$({inner}\n)\nEOF"),
        10 => format!("ls || {inner}"),
        11 => format!("cat <( {inner}\n)"),
        12 => format!("! {inner}"),
        13 => format!("cat <<'A' | wc -l\n$(x\nA\n{inner}"),
        14 => format!("until {inner}\ndo ls; done"),
        15 => format!("ls 'a;b' # (\n{inner}"),
        16 => format!("{inner} & git status"),
        _ => format!("case a in b) ls;; *) {inner}\n;; esac"),
    }
}

pub(super) fn nested(inner: &str, ways: &[u8]) -> String {
    ways.iter().fold(inner.to_owned(), |inner, way| around(&inner, *way))
}

/// Text that looks like shell.
fn shellish() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    let tokens = prop::sample::select(vec![
        "ls", "git", "status", "rm", "x", "echo", "cat", " ", " ", " ", "\n", ";", "&", "&&", "|", "||", "(", ")",
        "{", "}", "$", "$(", "`", "'", "\"", "\\", "<", ">", "<<", "<<<", "<(", "EOF", "#", "=", "A=b", "*", "if",
        "then", "fi", "for", "in", "do", "done", "case", "esac", "!", "[[", "]]", "((", "))", "${", "$'", "$\"",
        "2>&1", ">/dev/null", "~", "-c", "--", "99999999999", "\u{e9}", "\t",
    ]);
    prop::collection::vec(tokens, 0..24).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn an_approved_command_stays_approved_in_approved_ones(ways in prop::collection::vec(any::<u8>(), 0..2)) {
        let text = nested("git status", &ways);
        prop_assert_eq!(command(&rules(GENEROUS), &text), Some(Decision::Approve), "{}", text);
    }

    #[test]
    fn an_unapproved_command_is_not_approved_by_its_surroundings(
        inner in prop::sample::select(vec!["rm x", "eval ls", "ls > f", "git push --exec=x", "bash -c ls", "PATH=. ls", "ls $x", "find . -delete"]),
        ways in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let text = nested(inner, &ways);
        prop_assert_ne!(command(&rules(GENEROUS), &text), Some(Decision::Approve), "{}", text);
    }

    #[test]
    fn a_denied_command_is_never_let_through_by_what_is_around_it(ways in prop::collection::vec(any::<u8>(), 0..6)) {
        let text = nested("rm x", &ways);
        let said = command(&rules(&["bash", "!bash(rm *)"]), &text);
        prop_assert!(matches!(said, Some(Decision::Deny | Decision::RequireApproval)), "{}", text);
        if ways.len() < 2 {
            prop_assert_eq!(said, Some(Decision::Deny), "{}", text);
        }
    }

    #[test]
    fn quoting_a_literal_word_changes_nothing(
        words in prop::sample::subsequence(vec!["git", "push", "rm", "-rf", "ls", "a-b", "log"], 1..4),
        ways in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let quoted = words.iter().map(|word| quoted(word, &ways)).collect::<Vec<_>>().join(" ");
        let plain = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        for entries in [GENEROUS, &["bash", "!bash(rm *)", "!bash(git push *)"]] {
            prop_assert_eq!(command(&rules(entries), &quoted), command(&rules(entries), &plain), "{}", quoted);
        }
    }

    #[test]
    fn any_text_gets_an_answer(text in any::<String>(), shell in shellish()) {
        for text in [text, shell] {
            command(&rules(GENEROUS), &text);
            command(&rules(&["bash", "!bash(rm *)"]), &text);
            suggest("bash", &Subject::Command(&text), &path_base());
            let _ = flemma_tools::rules::Rule::parse(&text);
            let _ = flemma_tools::rules::Rule::parse(&format!("bash({text})"));
            let _ = flemma_tools::rules::Rule::parse(&format!("read({text})"));
        }
    }
}
