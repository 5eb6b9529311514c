//! Changing a section or a page.

use flemma_notes::{
    Outline,
    replacing::{Which, replace},
    sections::{self, Mode},
};
use proptest::prelude::*;

fn change(text: &str, section: &str, new: &str, mode: Mode) -> String {
    let outline = Outline::new(text.as_bytes());
    let found = sections::find(&outline, section, None).unwrap();
    String::from_utf8(sections::update_section(text.as_bytes(), found.section, new, mode)).unwrap()
}

fn page(text: &str, new: &str, mode: Mode) -> String {
    String::from_utf8(sections::update_page(text.as_bytes(), new, mode)).unwrap()
}

const TEXT: &str = "# A\n\none\n\n## B\n\ntwo\n\n# C\nthree";

#[test]
fn a_section_is_changed_and_nothing_else() {
    let table = [
        ("A", "new", Mode::Replace, "# A\n\nnew\n\n# C\nthree"),
        ("A", "# A\n\nnew\n", Mode::Replace, "# A\n\nnew\n\n# C\nthree"),
        ("B", "new\n\nmore\n", Mode::Replace, "# A\n\none\n\n## B\n\nnew\n\nmore\n\n# C\nthree"),
        ("## B", "new", Mode::Append, "# A\n\none\n\n## B\n\ntwo\nnew\n\n# C\nthree"),
        ("B", "\nnew\n", Mode::Append, "# A\n\none\n\n## B\n\ntwo\n\nnew\n\n# C\nthree"),
        ("B", "new", Mode::Prepend, "# A\n\none\n\n## B\n\nnew\ntwo\n\n# C\nthree"),
        ("A", "new", Mode::Append, "# A\n\none\n\n## B\n\ntwo\nnew\n\n# C\nthree"),
        ("c", "new", Mode::Append, "# A\n\none\n\n## B\n\ntwo\n\n# C\nthree\nnew\n"),
        ("c", "new", Mode::Prepend, "# A\n\none\n\n## B\n\ntwo\n\n# C\nnew\nthree"),
        ("C", "new", Mode::Replace, "# A\n\none\n\n## B\n\ntwo\n\n# C\nnew\n"),
        ("B", "", Mode::Replace, "# A\n\none\n\n## B\n\n\n# C\nthree"),
    ];
    for (section, new, mode, expected) in table {
        assert_eq!(change(TEXT, section, new, mode), expected, "{section} {new:?} {mode:?}");
    }
}

#[test]
fn a_section_without_text_gets_some() {
    for mode in [Mode::Replace, Mode::Append, Mode::Prepend] {
        assert_eq!(change("# A\n# B\n", "A", "new", mode), "# A\nnew\n# B\n");
        assert_eq!(change("# A\n\n# B\n", "A", "new", mode), "# A\n\nnew\n# B\n");
        assert_eq!(change("# A", "A", "new", mode), "# A\nnew\n");
        assert_eq!(change("A\n=", "A", "new", mode), "A\n=\nnew\n");
        assert_eq!(
            change("# A\r\n\r\nx\r\n\r\n# B\r\n", "B", "new\nline", mode),
            "# A\r\n\r\nx\r\n\r\n# B\r\nnew\r\nline\r\n"
        );
    }
}

#[test]
fn a_page_keeps_its_frontmatter() {
    let text = "---\na: 1\n---\nold\n";
    assert_eq!(page(text, "new", Mode::Replace), "---\na: 1\n---\nnew\n");
    assert_eq!(page(text, "---\nb: 2\n---\nnew\n", Mode::Replace), "---\nb: 2\n---\nnew\n");
    assert_eq!(page(text, "new", Mode::Prepend), "---\na: 1\n---\nnew\nold\n");
    assert_eq!(page(text, "new", Mode::Append), "---\na: 1\n---\nold\nnew\n");
    assert_eq!(page("", "new", Mode::Append), "new\n");
    assert_eq!(page("old", "new", Mode::Append), "old\nnew\n");
    assert_eq!(page("\u{feff}old\r\n", "a\nb", Mode::Replace), "\u{feff}a\r\nb\r\n");
    assert_eq!(page("\u{feff}old\r\n", "a", Mode::Prepend), "\u{feff}a\r\nold\r\n");
}

#[test]
fn a_section_is_found_by_its_heading() {
    let text = "# Tasks\n## **Bold** and `code`\n## Tasks\n# other\n### Tasks\n# C# ##\n";
    let outline = Outline::new(text.as_bytes());
    let line = |heading: &str, occurrence| {
        sections::find(&outline, heading, occurrence).map(|found| found.section.line).map_err(|error| error.to_string())
    };
    assert_eq!(line("Tasks", None), Ok(1));
    assert_eq!(line("tasks", Some(2)), Ok(3));
    assert_eq!(line("## Tasks", None), Ok(3));
    assert_eq!(line("### tasks", None), Ok(5));
    assert_eq!(line("Bold and code", None), Ok(2));
    assert_eq!(line("**Bold** and `code`", None), Ok(2));
    assert_eq!(line("C#", None), Ok(6));
    assert_eq!(
        line("Tasks", Some(4)),
        Err("`occurrence` is 4, but the page has 3 sections with the heading \"Tasks\".".into())
    );
    let missing = line("Taks", None).unwrap_err();
    assert!(
        missing.starts_with(
            "The page has no section \"Taks\". Did you mean \"Tasks\"? The sections are:\n# Tasks  (line 1)"
        ),
        "{missing}"
    );
}

#[test]
fn occurrences_are_replaced_as_asked() {
    let run = |which| {
        replace(b"a b\na a\n\xff", "a", "xy", which)
            .map(|done| (done.content, done.lines))
            .map_err(|error| error.to_string())
    };
    assert_eq!(run(Which::First), Ok((b"xy b\na a\n\xff".to_vec(), vec![1])));
    assert_eq!(run(Which::All), Ok((b"xy b\nxy xy\n\xff".to_vec(), vec![1, 2])));
    assert_eq!(run(Which::Nth(3)), Ok((b"a b\na xy\n\xff".to_vec(), vec![2])));
    assert_eq!(run(Which::Nth(4)), Err("`occurrence` is 4, but `search` occurs 3 times. Nothing was changed.".into()));
    let crlf = replace(b"a\r\nb\r\n", "a\nb", "c\nd", Which::First).unwrap();
    assert_eq!(crlf.content, b"c\r\nd\r\n");
    assert_eq!(replace(b"aaaa", "aa", "b", Which::All).unwrap().content, b"bb");
}

fn markdown() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "# A",
        "## B",
        "### C",
        "# A ",
        "text",
        "",
        "",
        "```",
        "> # q",
        "- item",
        "Set\n---",
        "    # code",
        "ünï",
        "<!-- # -->",
        "[[x]]",
    ]);
    (prop::collection::vec(line, 0..14), any::<bool>(), any::<bool>()).prop_map(|(lines, crlf, ends)| {
        let newline = if crlf { "\r\n" } else { "\n" };
        let text = lines.join("\n").replace('\n', newline);
        if ends { format!("{text}{newline}") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn everything_outside_a_section_stays(
        text in markdown(),
        at in any::<prop::sample::Index>(),
        new in prop::sample::select(vec!["new", "new\n", "\nnew\n", "two\nlines", "### own\n\ntext"]),
        mode in prop::sample::select(vec![Mode::Replace, Mode::Append, Mode::Prepend]),
    ) {
        let outline = Outline::new(text.as_bytes());
        prop_assume!(!outline.sections.is_empty());
        let section = &outline.sections[at.index(outline.sections.len())];
        let changed = sections::update_section(text.as_bytes(), section, new, mode);
        let changed = String::from_utf8(changed).unwrap();
        prop_assert!(changed.starts_with(&text[..section.heading.end]));
        prop_assert!(changed.ends_with(&text[section.end..]));
        let old = text[section.heading.end..section.end].trim();
        let inside = &changed[section.heading.end..changed.len() - (text.len() - section.end)];
        let wanted = new.trim();
        let is_crlf = text.contains("\r\n");
        let wanted = if is_crlf { wanted.replace('\n', "\r\n") } else { wanted.to_owned() };
        prop_assert!(inside.contains(&wanted));
        if mode != Mode::Replace {
            prop_assert!(inside.contains(old));
        }
        // Every line of one kind of break keeps it.
        prop_assert_eq!(is_crlf && changed.replace("\r\n", "").contains('\n'), false);
    }
}
