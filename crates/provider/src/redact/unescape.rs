//! A text without its escapes, and the way back to the places in the text.
//!
//! `%2F`, `\u002f`, `\/`, `&#47;` and `&#x2f;` are all a slash. A text may be escaped more than once: JSON inside JSON.

use std::ops::Range;

/// How often a text is unescaped at most.
const DEPTH: usize = 3;

/// The HTML entities for ASCII characters of markup.
const ENTITIES: [(&str, char); 5] = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\'')];

/// One way to read a text.
pub(super) struct DecodedView {
    /// The text in this view.
    pub text: String,
    /// For each byte of it, the bytes of the original text that it represents.
    places: Vec<Range<usize>>,
}

impl DecodedView {
    /// The bytes of the original text that a range of this one represents. The range is not empty.
    pub fn place(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| self.places.get(at).cloned().unwrap_or_default();
        place(range.start).start..place(range.end.saturating_sub(1)).end
    }

    /// The text with one layer of escapes taken off; `None` if there are none.
    fn unescaped(&self) -> Option<Self> {
        let mut next = Self { text: String::with_capacity(self.text.len()), places: Vec::new() };
        let (mut at, mut any) = (0, false);
        while let Some(char) = self.text[at..].chars().next() {
            let escape = escape(&self.text[at..]);
            let (char, length) = escape.unwrap_or((char, char.len_utf8()));
            any |= escape.is_some();
            let place = self.place(&(at..at + length));
            next.text.push(char);
            if escape.is_some() {
                next.places.extend(std::iter::repeat_n(place, char.len_utf8()));
            } else {
                next.places.extend_from_slice(&self.places[at..at + length]);
            }
            at += length;
        }
        any.then_some(next)
    }
}

/// The text as it is, and then with ever more of its escapes taken off.
pub(super) fn views(text: &str) -> Vec<DecodedView> {
    let places = text.char_indices().flat_map(|(at, char)| {
        let end = at + char.len_utf8();
        std::iter::repeat_n(at..end, end - at)
    });
    let mut views = vec![DecodedView { text: text.to_owned(), places: places.collect() }];
    while views.len() <= DEPTH
        && let Some(next) = views.last().and_then(DecodedView::unescaped)
    {
        views.push(next);
    }
    views
}

/// The character that an escape at the start of `text` represents, and the length of the escape. Only ASCII characters
/// count: a key has no others.
fn escape(text: &str) -> Option<(char, usize)> {
    let ascii = |digits: Option<&str>, radix: u32| {
        let code = u8::from_str_radix(digits?, radix).ok()?;
        code.is_ascii_graphic().then(|| char::from(code))
    };
    if text.starts_with('%') {
        return Some((ascii(text.get(1..3), 16)?, 3));
    }
    if let Some(rest) = text.strip_prefix('\\') {
        return match rest.chars().next()? {
            'u' => Some((ascii(rest.get(1..5), 16)?, 6)),
            char @ ('/' | '"' | '\\') => Some((char, 2)),
            _ => None,
        };
    }
    if let Some(rest) = text.strip_prefix("&#") {
        let digits = &rest[..rest.find(';').filter(|end| *end <= 4)?];
        let char = match digits.strip_prefix(['x', 'X']) {
            Some(hex) => ascii(Some(hex), 16),
            None => ascii(Some(digits), 10),
        };
        return Some((char?, digits.len() + 3));
    }
    ENTITIES.iter().find(|(entity, _)| text.starts_with(entity)).map(|(entity, char)| (*char, entity.len()))
}
