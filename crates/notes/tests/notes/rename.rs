//! What becomes of links when a page gets another name.

use std::collections::BTreeMap;

use flemma_notes::{Outline, PageName, Pages, rename::Renaming};
use proptest::prelude::*;

use crate::vault::Vault;

fn page(name: &str) -> PageName {
    PageName::parse(name).unwrap()
}

/// All pages after one got another name.
fn renamed(contents: &BTreeMap<String, String>, old: &str, new: &str) -> BTreeMap<String, String> {
    let pages: Vec<PageName> = contents.keys().map(|name| page(&format!("{name}.md"))).collect();
    let (old, new) = (page(old), page(new));
    let renaming = Renaming::new(&pages, &old, &new);
    let content = |name: &PageName, content: &String| match renaming.relink(name, content.as_bytes()) {
        Some(relinked) => String::from_utf8(relinked.content).unwrap(),
        None => content.clone(),
    };
    let new_name = |name: &PageName| if *name == old { new.to_string() } else { name.to_string() };
    pages.iter().map(|name| (new_name(name), content(name, &contents[name.as_str()]))).collect()
}

fn one(from: &str, text: &str, others: &[&str], old: &str, new: &str) -> String {
    let mut contents: BTreeMap<String, String> = others.iter().map(|&name| (name.to_owned(), String::new())).collect();
    contents.insert(from.to_owned(), text.to_owned());
    renamed(&contents, old, new).remove(if from == old { new } else { from }).unwrap()
}

#[test]
fn links_in_a_vault_are_those_of_a_vault_written_anew() {
    let vault = Vault::new(7, 300);
    let contents = vault.contents();
    for (at, new) in [
        (0, "Page zero"),
        (1, "Projects/renamed 1"),
        (6, "Projects/Old ones/Page 6"),
        (9, "Журнал/Bob's 100% 9"),
        (23, "日記/новая"),
        (44, "a/b/c/d/deep"),
        (5, "top (level) & more"),
        (102, "Projects/Projects"),
    ] {
        let found = renamed(&contents, &vault.names[at], new);
        let expected = vault.renamed(at, new);
        for (name, expected) in &expected {
            assert_eq!(&found[name], expected, "{name}, {} -> {new}", vault.names[at]);
        }
        assert_eq!(found.len(), expected.len());
    }
}

#[test]
fn every_form_of_a_link_keeps_its_form() {
    let table = [
        ("[[A]]", "[[B/C]]"),
        ("[[ A ]]", "[[ B/C ]]"),
        ("[[A|words]]", "[[B/C|words]]"),
        ("[[A#H|words]]", "[[B/C#H|words]]"),
        ("[[A@120]]", "[[B/C@120]]"),
        ("[[/A]]", "[[/B/C]]"),
        ("[[./A]]", "[[./B/C]]"),
        ("[[A.md]]", "[[B/C.md]]"),
        ("![[A]]", "![[B/C]]"),
        ("[[a]]", "[[B/C]]"),
        ("[x](A.md)", "[x](B/C.md)"),
        ("[x](A)", "[x](B/C)"),
        ("[x](./A.md)", "[x](B/C.md)"),
        ("[x](/A.md)", "[x](/B/C.md)"),
        ("[x](A.md#h)", "[x](B/C.md#h)"),
        ("[x](<A.md> 'title')", "[x](<B/C.md> 'title')"),
        ("![x](A.md)", "![x](B/C.md)"),
        ("[x]( A.md )", "[x]( B/C.md )"),
        ("[x]\n\n[x]: A.md", "[x]\n\n[x]: B/C.md"),
        ("[x]\n\n> [x]:\n>  <A.md>", "[x]\n\n> [x]:\n>  <B/C.md>"),
        (
            "| [[A\\|x]] | [[A]] |\n|---|---|\n| [[A\\|y]] | z |",
            "| [[B/C\\|x]] | [[B/C]] |\n|---|---|\n| [[B/C\\|y]] | z |",
        ),
        ("[a `](A.md)` b](A.md)", "[a `](A.md)` b](B/C.md)"),
        ("[![](i.png)](A.md)", "[![](i.png)](B/C.md)"),
    ];
    for (text, expected) in table {
        assert_eq!(one("X", text, &["A"], "A", "B/C"), expected);
    }
}

/// On most disks, `note.md` is gone when it is `Note.md`.
#[test]
fn a_rename_of_the_case_alone_changes_links_spelled_so() {
    let table = [
        ("[n](note.md)", "[n](Note.md)"),
        ("[n](note)", "[n](Note)"),
        ("[n](/note.md#h)", "[n](/Note.md#h)"),
        ("[n]\n\n[n]: ./note.md", "[n]\n\n[n]: Note.md"),
        ("[[note]] [[NOTE]] [[./note]] [[/note]]", "[[Note]] [[Note]] [[./Note]] [[/Note]]"),
        // It was spelled otherwise before.
        ("[n](NOTE.md)", "[n](NOTE.md)"),
        ("[n](Note.md)", "[n](Note.md)"),
    ];
    for (text, expected) in table {
        assert_eq!(one("x", text, &["note"], "note", "Note"), expected);
    }
    assert_eq!(one("x", "[n](d/note.md) [[note]]", &["d/note"], "d/note", "d/Note"), "[n](d/Note.md) [[Note]]");
    assert_eq!(one("x", "[n](caf\u{e9}.md)", &["caf\u{e9}"], "caf\u{e9}", "cafe\u{301}"), "[n](cafe\u{301}.md)");
    // A relative link of the page to itself goes along.
    assert_eq!(one("note", "[n](note.md)", &[], "note", "d/note"), "[n](note.md)");
}

#[test]
fn links_in_frontmatter_are_changed_where_yaml_allows_it() {
    let with = |yaml: &str| format!("---\n{yaml}\n---\n[[A]]\n");
    let table = [
        ("x: \"[[A]]\"", "Bob's \"B\"", "x: \"[[Bob's \\\"B\\\"]]\""),
        ("x: '[[A|w]]' # [[A]]", "Bob's", "x: '[[Bob''s|w]]' # [[A]]"),
        ("x:\n  - [[A]]\n  - \"[[A#h]]\"", "P/B c", "x:\n  - [[P/B c]]\n  - \"[[P/B c#h]]\""),
        ("x: see [[A]] there", "B", "x: see [[B]] there"),
        ("x: |\n  [[A]]\n\n      [[A]]", "B", "x: |\n  [[B]]\n\n      [[A]]"),
        // It would be another value.
        ("x: [[A]]", "a, b", "x: [[A]]"),
        ("x: see [[A]]", "a: b", "x: see [[A]]"),
        ("x: [", "B", "x: ["),
    ];
    for (yaml, new, expected) in table {
        assert_eq!(
            one("X", &with(yaml), &["A"], "A", new),
            with(expected).replace("---\n[[A]]", &format!("---\n[[{new}]]"))
        );
    }
}

#[test]
fn what_is_no_link_to_the_page_stays_as_it_is() {
    let table = [
        "`[[A]]`",
        "```\n[[A]]\n```",
        "    [[A]]",
        "\\[[A]]",
        "<!-- [[A]] -->",
        "[[#A]]",
        "[[AB]]",
        "[x](https://A.md)",
        "[x](//A.md)",
        "[x](#A)",
        "[x](mailto:A)",
        "[[https://A]]",
        "[x](../A.md)",
        "[[]]",
        "---\ntitle: x\n---\n",
        "A",
    ];
    for text in table {
        assert_eq!(one("X", text, &["A"], "A", "B/C"), text);
    }
}

#[test]
fn links_by_the_end_of_a_name_stay_short() {
    let pages = ["P/A", "Q/Other"];
    assert_eq!(one("X", "[[A]]", &pages, "P/A", "P/B"), "[[B]]");
    // It still leads there.
    assert_eq!(one("X", "[[A]]", &pages, "P/A", "R/A"), "[[A]]");
    // A page of the new name is there already, with a shorter path.
    assert_eq!(one("X", "[[A]]", &["P/A", "B"], "P/A", "P/B"), "[[P/B]]");
    // The new name would take the meaning of a link to another page.
    assert_eq!(one("X", "[[A]] [[Z]]", &["P/A", "Z"], "Z", "A"), "[[P/A]] [[A]]");
}

#[test]
fn a_link_that_waits_for_the_new_page_stays_as_it_is() {
    let text = "[x](B.md) [x](./B) [[B]] [[A]]";
    assert_eq!(one("X", text, &["A"], "A", "B"), "[x](B.md) [x](./B) [[B]] [[B]]");
}

#[test]
fn a_colon_in_a_name_does_not_make_it_a_url() {
    assert_eq!(one("X", "[x](A.md) [[A]]", &["A"], "A", "C: d"), "[x](./C:%20d.md) [[C: d]]");
    assert_eq!(one("F/X", "[x](/A) [y](../A.md#h)", &["A"], "A", "F/C:d"), "[x](/F/C:d) [y](./C:d.md#h)");
}

#[test]
fn a_page_that_moves_keeps_its_relative_links() {
    let text = "[a](B.md) [b](../Q/C.md) ![i](img/x.png) [[./B]] [[B]] [own](A.md) [out](../../x.md) [up](/P/B.md)";
    let expected = "[a](../P/B.md) [b](../Q/C.md) ![i](../P/img/x.png) [[../P/B]] [[B]] [own](D.md) [out](../../x.md) [up](/P/B.md)";
    assert_eq!(one("P/A", text, &["P/B", "Q/C"], "P/A", "Q/D"), expected);
}

#[test]
fn bytes_that_are_no_text_stay_where_they_are() {
    let pages = [page("A"), page("X")];
    let (old, new) = (page("A"), page("Ä"));
    let renaming = Renaming::new(&pages, &old, &new);
    let content = b"\xef\xbb\xbf---\r\nx: \xff\r\n---\r\n\xfe [[A]] \xc3\x28 [x](A.md)\r\n\x00";
    let relinked = renaming.relink(&page("X"), content).unwrap();
    assert_eq!(
        relinked.content,
        b"\xef\xbb\xbf---\r\nx: \xff\r\n---\r\n\xfe [[\xc3\x84]] \xc3\x28 [x](\xc3\x84.md)\r\n\x00"
    );
    assert_eq!(relinked.links, 2);
}

/// Where every link of every page leads.
fn targets(contents: &BTreeMap<String, String>) -> Vec<(String, Vec<Option<String>>)> {
    let pages: Vec<PageName> = contents.keys().map(|name| page(&format!("{name}.md"))).collect();
    let all = Pages::new(&pages);
    let resolve = |from: &PageName| {
        let outline = Outline::new(contents[from.as_str()].as_bytes());
        let target =
            |link: &flemma_notes::Link| all.resolve(from, link.kind, &link.destination).map(|page| page.to_string());
        outline.links.iter().map(target).collect()
    };
    pages.iter().map(|from| (from.to_string(), resolve(from))).collect()
}

fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["A", "a", "B", "Ü", "x y", "A.b"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn link() -> impl Strategy<Value = String> {
    let before = prop::sample::select(vec!["", "/", "./", "../", "../../"]);
    let form =
        prop::sample::select(vec!["[[@]]", "[[@|w]]", "[[@#H]]", "[w](<@.md>)", "[w](<@>)", "[@]: <@.md#h>\n\n"]);
    (before, name(), form)
        .prop_map(|(before, name, form)| form.replacen("[@]:", "\n\n[n]:", 1).replace('@', &format!("{before}{name}")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_link_leads_where_it_led(
        pages in prop::collection::btree_map(name(), prop::collection::vec(link(), 0..6), 1..8),
        new in name(),
        at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!pages.contains_key(&new));
        let contents: BTreeMap<String, String> =
            pages.into_iter().map(|(name, links)| (name, links.join(" words "))).collect();
        let old = contents.keys().nth(at.index(contents.len())).unwrap().clone();
        let after = renamed(&contents, &old, &new);
        let after: BTreeMap<_, _> = targets(&after).into_iter().collect();
        for (from, before) in targets(&contents) {
            let from = if from == old { new.clone() } else { from };
            prop_assert_eq!(before.len(), after[&from].len());
            for (before, after) in before.iter().zip(&after[&from]) {
                // A link that led to no page may find one.
                if let Some(before) = before {
                    let expected = if *before == old { &new } else { before };
                    prop_assert_eq!(after.as_ref(), Some(expected));
                }
            }
        }
    }

    #[test]
    fn renaming_in_a_folder_and_back_changes_nothing(seed in 0_u64..1000, at in 0_usize..40) {
        let vault = Vault::new(seed, 40);
        let contents = vault.contents();
        let name = &vault.names[at];
        let other = name.rsplit_once('/').map_or("else".to_owned(), |(folder, _)| format!("{folder}/else"));
        let back = renamed(&renamed(&contents, name, &other), &other, name);
        for (page, content) in &contents {
            prop_assert_eq!(&back[page], content);
        }
    }
}
