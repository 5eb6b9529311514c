//! Which page a link leads to.

use flemma_notes::{LinkKind, PageName, Pages};

#[test]
fn a_link_leads_to_the_page_that_it_names() {
    let names = ["A", "P/A", "P/Q/A", "P/B", "Q/b", "日記", "P/a b", "x@12", "C.md"];
    let pages: Vec<PageName> = names.iter().map(|name| PageName::parse(&format!("{name}.md")).unwrap()).collect();
    let pages = Pages::new(&pages);
    let table = [
        ("X", LinkKind::Wiki, "A", "A"),
        ("X", LinkKind::Wiki, "a", "A"),
        ("X", LinkKind::Wiki, "P/A", "P/A"),
        ("X", LinkKind::Wiki, "Q/A", "P/Q/A"),
        ("X", LinkKind::Wiki, "B", "P/B"),
        ("X", LinkKind::Wiki, "b", "Q/b"),
        ("X", LinkKind::Wiki, "日記#h", "日記"),
        ("X", LinkKind::Wiki, "A@120", "A"),
        ("X", LinkKind::Wiki, "A@L12#x", "A"),
        ("X", LinkKind::Wiki, "x@12", "x@12"),
        ("X", LinkKind::Wiki, "A@home", ""),
        ("X", LinkKind::Wiki, "nothing", ""),
        ("X", LinkKind::Wiki, "", ""),
        ("P/X", LinkKind::Wiki, "./A", "P/A"),
        ("P/X", LinkKind::Wiki, "../A", "A"),
        ("P/X", LinkKind::Wiki, "../../A", ""),
        ("P/X", LinkKind::Markdown, "A.md", "P/A"),
        ("P/X", LinkKind::Markdown, "../A.md", "A"),
        ("P/X", LinkKind::Markdown, "P/B.md", "P/B"),
        ("P/X", LinkKind::Markdown, "/A", "A"),
        ("P/X", LinkKind::Markdown, "a%20b.md?x#h", "P/a b"),
        ("P/X", LinkKind::Markdown, "%E6%97%A5%E8%A8%98.md", "日記"),
        ("P/X", LinkKind::Markdown, "b.txt", ""),
        ("P/X", LinkKind::Markdown, "../../A.md", ""),
    ];
    for (from, kind, link, expected) in table {
        let found = pages.resolve(&PageName::parse(from).unwrap(), kind, link);
        let found = found.map(|page| page.to_string()).unwrap_or_default();
        assert_eq!(found, expected, "{link} in {from}");
    }
}

#[test]
fn a_link_leads_to_a_page_composed_differently() {
    let composed = "caf\u{e9}/\u{c4}pfel";
    let decomposed = "cafe\u{301}/A\u{308}pfel";
    let page = |name: &str| PageName::parse(name).unwrap();
    for (name, link) in [(composed, decomposed), (decomposed, composed)] {
        let pages = Pages::new(&[page(name), page("B")]);
        let base = link.rsplit_once('/').unwrap().1;
        for link in [link, base, &link.to_lowercase(), &format!("/{link}#h")] {
            let found = pages.resolve(&page("B"), LinkKind::Wiki, link);
            assert_eq!(found.as_ref().map(PageName::as_str), Some(name), "{link:?}");
        }
        let found = pages.resolve(&page("B"), LinkKind::Markdown, &format!("{link}.md"));
        assert_eq!(found.as_ref().map(PageName::as_str), Some(name));
    }
    // Where there are both, a link leads to its own spelling.
    let both = Pages::new(&[page(composed), page(decomposed)]);
    for link in [composed, decomposed] {
        let found = both.resolve(&page("B"), LinkKind::Wiki, link).unwrap();
        assert_eq!(found.as_str(), link);
        assert_eq!(both.resolve(&page("B"), LinkKind::Wiki, link.rsplit_once('/').unwrap().1).unwrap().as_str(), link);
    }
}
