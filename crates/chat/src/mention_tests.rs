use proptest::prelude::*;

use super::*;

#[test]
fn a_whole_word_names_a_tool() {
    for line in [
        "@calc",
        "use @calc for it",
        "\t@calc",
        "(@calc)",
        "see [@calc], please",
        "@calc.",
        "is it @calc?!",
        "@{calc}",
        "use @{calc}s",
        "(@{calc})",
        "{@calc}",
        "<@calc>",
        "a `code` @calc",
        "one ` mark, then @calc",
        "@calc\u{a0}now",
    ] {
        assert_eq!(mentions(line), ["calc"], "{line}");
    }
    assert_eq!(mentions("@one @{two} and @three-3_x, @one"), ["one", "two", "three-3_x", "one"]);
}

#[test]
fn what_is_part_of_something_else_names_nothing() {
    for line in [
        "me@calc",
        "me@calc.org",
        "@calc.py",
        "@calc/x",
        "@types/node",
        "@./calc",
        "@../calc",
        "@~/calc",
        "@//calc",
        "\\@calc",
        "@@calc",
        "`@calc`",
        "``x ` @calc``",
        "x/@calc",
        ".@calc",
        "@calc,@calc",
        "@calcé",
        "@calc@host",
        "@",
        "@{calc",
        "@{}",
        "@{ calc }",
        "@{a.b}",
        "@é",
    ] {
        assert_eq!(mentions(line), [""; 0], "{line}");
    }
    let long = format!("@{}", "x".repeat(65));
    assert_eq!(mentions(&long), [""; 0]);
    assert_eq!(mentions(&long[..65]), [&long[1..65]]);
}

proptest! {
    #[test]
    fn a_name_is_found_whatever_stands_around_it(
        name in "[A-Za-z0-9_-]{1,64}", braces: bool, before in "([a-z@.]{0,5}[ \t(\\[{<])?", after in "([.,!?)\\]]{0,3}( [a-z@`]{0,8})?)?",
    ) {
        let written = if braces { format!("@{{{name}}}") } else { format!("@{name}") };
        let line = format!("{before}{written}{after}");
        prop_assert!(mentions(&line).contains(&name.as_str()), "{}", line);
    }

    #[test]
    fn a_letter_in_front_makes_it_another_word(before in "[a-z0-9._/@-]", name in "[a-z]{1,8}") {
        let line = format!("{before}@{name}");
        prop_assert!(mentions(&line).is_empty(), "{}", line);
    }

    #[test]
    fn code_names_nothing(name in "[a-z]{1,8}", marks in 1..4usize, inside in "[a-z @]{0,8}") {
        let marks = "`".repeat(marks);
        let line = format!("{marks}{inside} @{name} {inside}{marks}");
        prop_assert!(mentions(&line).is_empty(), "{}", line);
    }

    #[test]
    fn no_line_is_too_odd(line in "[@./~\\\\` {}%a()é*_,]{0,40}") {
        for name in mentions(&line) {
            let (plain, braced) = (format!("@{name}"), format!("@{{{name}}}"));
            prop_assert!(!name.is_empty() && (line.contains(&plain) || line.contains(&braced)));
        }
    }
}
