//! Texts with wildcards.

/// Pieces of text, with any text between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wildcard(pub(super) Vec<String>);

impl Wildcard {
    /// A text in which each `*` matches any text.
    pub(super) fn new(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    /// The text, if it has no wildcard.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [text] => Some(text),
            _ => None,
        }
    }

    /// Whether it matches any text.
    pub(super) fn is_anything(&self) -> bool {
        self.0.len() == 2 && self.0.iter().all(String::is_empty)
    }

    /// Whether it matches a text.
    pub(super) fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else { return self.literal() == Some(text) };
        let inner = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
        let Some(mut rest) = inner else { return false };
        for piece in middle {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        true
    }
}
