//! Web pages that a reply cites.

/// A page that a reply cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSource {
    /// The URL, without white space.
    pub url: String,
    /// The page's title on one line; may be empty.
    pub title: String,
}

impl WebSource {
    /// A source that fits on one line: white space and control characters are replaced, since pages may have any title.
    pub fn new(url: &str, title: &str) -> Self {
        let words = |text: &str, gap: &str| {
            let text: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
            text.split_whitespace().collect::<Vec<_>>().join(gap)
        };
        Self { url: words(url, "%20"), title: words(title, " ") }
    }

    /// Adds the source unless its URL is empty or already in the list.
    pub fn add(self, to: &mut Vec<Self>) {
        if !self.url.is_empty() && to.iter().all(|other| other.url != self.url) {
            to.push(self);
        }
    }
}
