//! The web pages behind a reply.

/// A page that a reply cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSource {
    /// The address, without white space.
    pub url: String,
    /// The page's title on one line; may be empty.
    pub title: String,
}

impl WebSource {
    /// A source as it can stand on a line of its own: pages have the titles that their authors gave them.
    #[must_use]
    pub fn new(url: &str, title: &str) -> Self {
        let words = |text: &str, gap: &str| {
            let text: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
            text.split_whitespace().collect::<Vec<_>>().join(gap)
        };
        Self { url: words(url, "%20"), title: words(title, " ") }
    }

    /// Adds a source unless its address is there, or it has none.
    pub(crate) fn add(self, to: &mut Vec<Self>) {
        if !self.url.is_empty() && to.iter().all(|other| other.url != self.url) {
            to.push(self);
        }
    }
}
