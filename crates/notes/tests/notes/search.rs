//! Full-text search.

use flemma_notes::{PageName, search::Query};

fn ranked(query: &str, pages: &[(&str, &str)]) -> Vec<String> {
    let query = Query::parse(query).unwrap();
    let look = |(name, text): &(&str, &str)| query.look(&PageName::parse(name).unwrap(), text.as_bytes());
    let found = pages.iter().filter_map(look).collect();
    query.rank(found, pages.len()).into_iter().map(|found| found.page.to_string()).collect()
}

#[test]
fn the_best_page_comes_first() {
    let long = format!("{} tomato", "word ".repeat(500));
    let pages = [
        ("Soup", "A tomato, and more."),
        ("Tomato", "Red."),
        ("Long", long.as_str()),
        ("Salad", "# Tomato and basil\n\nFresh basil."),
        ("Other", "Nothing of the kind. And and and."),
    ];
    assert_eq!(ranked("tomato", &pages), ["Tomato", "Salad", "Soup", "Long"]);
    // A rare word counts more.
    assert_eq!(ranked("and basil", &pages)[0], "Salad");
    assert_eq!(ranked("TOMATO", &pages).len(), 4);
    assert_eq!(ranked("\"and more\"", &pages), ["Soup"]);
    assert_eq!(ranked("zebra", &pages).len(), 0);
    assert!(Query::parse("  ?! ").is_err());
}

#[test]
fn the_lines_that_match_best_are_shown() {
    let query = Query::parse("milk \"ripe eggs\"").unwrap();
    let text = "milk\nnothing\nmilk\nmilk and ripe eggs\nmilk\nmilk";
    let found = query.look(&PageName::parse("x").unwrap(), text.as_bytes()).unwrap();
    let lines: Vec<usize> = found.lines.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 4]);
}

/// What a keyboard writes as one character, macOS and some applications save as two.
#[test]
fn composed_and_decomposed_characters_are_the_same() {
    let (composed, decomposed) = ("\u{fc}bung", "u\u{308}bung");
    for (query, word) in [(composed, decomposed), (decomposed, composed)] {
        let pages = [
            (word, "nothing"),
            ("heading", &*format!("# Alte {word}")),
            ("text", &*format!("Die {} ist alt.", word.to_uppercase())),
            ("other", "Die Ubung"),
        ];
        assert_eq!(ranked(query, &pages), [word, "heading", "text"], "{query:?}");
        assert_eq!(ranked(&format!("\"alte {query}\""), &pages), ["heading"], "{query:?}");
        let found =
            Query::parse(query).unwrap().look(&PageName::parse("text").unwrap(), pages[2].1.as_bytes()).unwrap();
        assert_eq!(found.lines, [(1, pages[2].1.to_owned())], "a line is shown as it is");
    }
}
