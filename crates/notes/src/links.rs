//! Links in a page.

use std::ops::Range;

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// `[[Page]]`.
    Wiki,
    /// `[words](page.md)`, or the definition `[label]: page.md`.
    Markdown,
}

/// Where a link stands, which says how its destination is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// In the text, without angle brackets.
    None,
    /// In angle brackets.
    Brackets,
    /// In the frontmatter, in a value without quotes.
    Plain,
    /// In the frontmatter, in single quotes.
    Single,
    /// In the frontmatter, in double quotes.
    Double,
}

/// A link in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// Where its destination stands in the content: without the words that are shown, and without brackets.
    pub at: Range<usize>,
    /// The destination, with its heading. Escapes of Markdown are resolved; escapes with `%` are not.
    pub destination: String,
    /// How the destination is quoted.
    pub quote: Quote,
}

/// Whether a destination leads elsewhere than into the notes: a URL, or a place in the same page.
pub(super) fn is_elsewhere(destination: &str) -> bool {
    let scheme = destination.split_once(':').map(|(scheme, _)| scheme);
    destination.is_empty()
        || destination.starts_with(['#', '?'])
        || destination.starts_with("//")
        || scheme.is_some_and(|scheme| {
            scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
                && scheme.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign))
        })
}
