//! The structure of a page.

use flemma_notes::{
    Outline, PageName,
    sections::{self, Mode},
};
use proptest::prelude::*;

fn titles(text: &str) -> Vec<(usize, String)> {
    Outline::new(text.as_bytes()).sections.into_iter().map(|section| (section.level, section.title)).collect()
}

#[test]
fn headings_are_those_of_markdown() {
    let text = "# One *two* `three`\n\ntext\n\nSet\n===\n\n## Four ##\n\n```\n# no\n```\n\n> # quoted\n\n- # in a list\n\n#no\n\n\
                    # code\n\n<!--\n# no\n-->\n\nSub\n---\n";
    let expected = [(1, "One two three"), (1, "Set"), (2, "Four"), (1, "code"), (2, "Sub")];
    let expected: Vec<_> = expected.iter().map(|(level, title)| (*level, (*title).to_owned())).collect();
    assert_eq!(titles(text), expected);
}

#[test]
fn a_section_ends_where_the_next_of_its_level_begins() {
    let text = "intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne";
    let outline = Outline::new(text.as_bytes());
    let part = |title: &str| {
        let found = sections::find(&outline, title, None).unwrap();
        &text[found.section.heading.start..found.section.end]
    };
    assert_eq!(part("A"), "# A\na\n## B\nb\n### C\nc\n## D\nd\n");
    assert_eq!(part("B"), "## B\nb\n### C\nc\n");
    assert_eq!(part("C"), "### C\nc\n");
    assert_eq!(part("E"), "# E\ne");
    assert_eq!(outline.sections[1].line, 4);
}

#[test]
fn frontmatter_is_only_at_the_beginning() {
    let body = |text: &str| text[Outline::new(text.as_bytes()).body..].to_owned();
    let yaml = |text: &str| Outline::new(text.as_bytes()).frontmatter.map(|range| text[range].to_owned());
    assert_eq!(yaml("---\na: 1\n---\nb"), Some("a: 1\n".into()));
    assert_eq!(body("---\na: 1\n---\nb"), "b");
    assert_eq!(yaml("---\r\na: 1\r\n...\r\nb"), Some("a: 1\r\n".into()));
    assert_eq!(yaml("\u{feff}---\n---"), Some(String::new()));
    for text in ["b\n---\na: 1\n---\n", "---\na: 1\n", "----\na\n---\n", "\n---\na: 1\n---\n", ""] {
        assert_eq!(yaml(text), None, "{text:?}");
        assert_eq!(body(text), text);
    }
}

#[test]
fn tags_stand_in_text_and_nowhere_else() {
    let text = "#one text (#two-three) #área/x_y, #12 a#no `#no` [#no](x) &#35; https://x/#no\n\n```\n#no\n```\n\n- #four\n\n#five";
    assert_eq!(Outline::new(text.as_bytes()).tags, ["one", "two-three", "área/x_y", "four", "five"]);
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in [
        "",
        "..",
        "../x",
        "a/../../x",
        "a/../b",
        "/etc/passwd",
        "~/x",
        "~",
        "a//b",
        "a/",
        ".hidden",
        "a/.git/x",
        "./a",
        "a\0b",
        "a\nb",
        ".md",
        "a/.md",
        "\u{7f}",
    ] {
        assert!(PageName::parse(name).is_err(), "{name:?}");
    }
    for (name, expected) in [("a", "a"), ("a.md", "a"), ("a/b c", "a/b c"), ("..a..b/ü…", "")] {
        let found = PageName::parse(name).map(|page| page.to_string()).unwrap_or_default();
        assert_eq!(found, expected);
    }
    assert!(PageName::parse("．．／x").is_ok(), "a full-width dot is a letter");
    for name in ["a|b", "a#b", "a[b", "a]b", "a^b", "a\\b", " a", "a /b", "a`b", "a<b"] {
        assert!(PageName::parse(name).unwrap().check_new().is_err(), "{name:?}");
    }
}

#[test]
fn a_destination_may_begin_with_an_angle_bracket() {
    for (text, destination) in [
        ("\n[(]: >", ">"),
        ("[a]: >>b", ">>b"),
        ("[a](>)", ">"),
        ("[a]( >b )", ">b"),
        ("> [a]: >b", ">b"),
        ("> [a]:\n> b", "b"),
        ("> > [a]:\r\n> > b", "b"),
        ("> [a](\n> b)", "b"),
        ("[a]:\n     >b", ">b"),
        ("> [a]:\n>      >", ">"),
    ] {
        let outline = Outline::new(text.as_bytes());
        let found: Vec<_> =
            outline.links.iter().map(|link| (&text[link.at.clone()], link.destination.as_str())).collect();
        assert_eq!(found, [(destination, destination)], "{text:?}");
        assert_eq!(outline.lost, 0, "{text:?}");
    }
}

/// A text with a line feed for each carriage return that ends a line alone, which changes nothing for Markdown.
fn fed(text: &str) -> String {
    text.replace("\r\n", "\0").replace('\r', "\n").replace('\0', "\r\n")
}

#[test]
fn a_carriage_return_alone_ends_a_line() {
    let text = "\u{e}\n-\r#\t";
    let outline = Outline::new(text.as_bytes());
    let headings: Vec<_> = outline.sections.iter().map(|section| &text[section.heading.clone()]).collect();
    assert_eq!(headings, ["\u{e}\n-\r", "#\t"]);

    let old = "---\rtags: one\r---\r# A\ra\r# B\rb\r";
    let outline = Outline::new(old.as_bytes());
    assert_eq!(outline.frontmatter.clone().map(|range| &old[range]), Some("tags: one\r"));
    assert_eq!(titles(old), [(1, "A".to_owned()), (1, "B".to_owned())]);
    let found = sections::find(&outline, "A", None).unwrap();
    let new = |text: &str, mode| String::from_utf8(sections::update_section(old.as_bytes(), found.section, text, mode));
    assert_eq!(new("x\ny\n", Mode::Replace).unwrap(), "---\rtags: one\r---\r# A\rx\ry\r# B\rb\r");
    assert_eq!(new("x", Mode::Append).unwrap(), "---\rtags: one\r---\r# A\ra\rx\r# B\rb\r");
    assert_eq!(new("x", Mode::Prepend).unwrap(), "---\rtags: one\r---\r# A\rx\ra\r# B\rb\r");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_have_an_outline(content in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(prop::sample::select(b"\r\n\t #-=>*+1.`~[](){}<>|!\\&:;a\0\x0b\x0c\xff\xc2\x85\xa0".to_vec()), 0..40),
    ]) {
        let outline = Outline::new(&content);
        let mut last = outline.body;
        for section in &outline.sections {
            prop_assert!(last <= section.heading.start, "{:?}", outline.sections);
            prop_assert!(section.heading.start < section.heading.end && section.heading.end <= section.end);
            prop_assert!(section.end <= content.len());
            last = section.heading.end;
        }
    }

    #[test]
    fn lines_may_end_in_a_carriage_return(parts in prop::collection::vec(prop::sample::select(vec![
        "\r", "\r", "\n", "\r\n", "# ", "#", "-", "---", "===", "> ", "- ", "1. ", "a", "#t", "ü", " ", "    ", "```", "[a](b)", "[[c]]", "[a]: ", "<!--", "x: y",
    ]), 0..30)) {
        let text = parts.concat();
        let (with, without) = (Outline::new(text.as_bytes()), Outline::new(fed(&text).as_bytes()));
        let sections = |outline: &Outline| -> Vec<_> {
            let of = |section: &flemma_notes::Section| (section.title.clone(), section.level, section.heading.clone(), section.end);
            outline.sections.iter().map(of).collect()
        };
        prop_assert_eq!(sections(&with), sections(&without));
        prop_assert_eq!((&with.frontmatter, with.body, &with.tags), (&without.frontmatter, without.body, &without.tags));
        let links = |outline: &Outline| outline.links.iter().map(|link| link.at.clone()).collect::<Vec<_>>();
        prop_assert_eq!(links(&with), links(&without));
    }

    #[test]
    fn any_markdown_has_an_outline(parts in prop::collection::vec(prop::sample::select(vec![
        "[", "]", "(", ")", "[[", "]]", "|", "\\", "`", "# ", "\n", "\n\n", "> ", "- ", "a", "ü", "<", ">", "![", "]: ", "```", "\r\n", "\r", " ", "---\n", "&amp;", "#t",
    ]), 0..40)) {
        let text = parts.concat();
        let outline = Outline::new(text.as_bytes());
        for link in &outline.links {
            prop_assert!(text.is_char_boundary(link.at.start) && text.is_char_boundary(link.at.end));
            let matter = outline.frontmatter.clone().unwrap_or_default();
            prop_assert!(link.at.start >= outline.body || matter.start <= link.at.start && link.at.end <= matter.end);
        }
        prop_assert_eq!(outline.lost, 0, "{:?}", text);
    }
}
