//! Attributes: the `key=value` words of a status block's info string and of a thinking tag.
//!
//! A value is one word, or a JSON string (`key="a \"b\""`), so that any text fits on the line. A word without `=` is a
//! flag. Words that cannot be read are reported and never dropped from the document: edits change single values in
//! place.

use std::{borrow::Cow, ops::Range};

/// One attribute, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub key: &'a str,
    /// The value without its quotes; `None` for a flag.
    pub value: Option<Cow<'a, str>>,
    /// The range of the value in the text, including quotes; empty for a flag.
    pub at: Range<usize>,
    /// False for a value with broken quotes and for a value without a key.
    pub sound: bool,
}

/// The first word of an info string, and the words behind it.
pub(super) fn split(info: &str) -> (&str, &str) {
    let info = info.trim();
    info.split_once(char::is_whitespace).unwrap_or((info, ""))
}

/// Reads the attributes in `text`, in order.
pub(super) fn read(text: &str) -> Vec<Attribute<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if at == text.len() {
            return found;
        }
        let word = text[at..].find(|c: char| c == '=' || c.is_whitespace()).map_or(text.len(), |end| at + end);
        let key = &text[at..word];
        if !text[word..].starts_with('=') {
            found.push(Attribute { key, value: None, at: word..word, sound: true });
            at = word;
            continue;
        }
        let start = word + 1;
        let (end, value, sound) = value(text, start);
        found.push(Attribute { key, value: Some(value), at: start..end, sound: sound && !key.is_empty() });
        at = end;
    }
}

/// The value that starts at `start`: its end, its text, and whether its quotes are valid.
fn value(text: &str, start: usize) -> (usize, Cow<'_, str>, bool) {
    let rest = &text[start..];
    if !rest.starts_with('"') {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        return (start + end, Cow::Borrowed(&rest[..end]), true);
    }
    let mut is_escaped = false;
    let closes = |byte: u8| {
        let was_escaped = is_escaped;
        is_escaped = byte == b'\\' && !was_escaped;
        byte == b'"' && !was_escaped
    };
    let Some(length) = rest.bytes().skip(1).position(closes) else {
        return (text.len(), Cow::Borrowed(&rest[1..]), false);
    };
    let plain = &rest[1..=length];
    let end = length + 2;
    let value = if plain.contains('\\') { serde_json::from_str(&rest[..end]).ok() } else { Some(plain.to_owned()) };
    let is_sound = value.is_some();
    (start + end, value.map_or(Cow::Borrowed(plain), Cow::Owned), is_sound)
}

/// What is wrong with a word that has no value.
pub(super) fn lacks_value(key: &str) -> String {
    format!("`{key}` has no value and is ignored. Write it as `{key}=value`.")
}

/// Writes a value in quotes. Backticks are written as `\u0060`: the info string of a fence of
/// backticks must not contain any.
pub(super) fn quote(value: &str) -> String {
    serde_json::Value::from(value).to_string().replace('`', "\\u0060").replace('\u{7f}', "\\u007f")
}

/// Writes a value, in quotes if it needs them.
pub(super) fn write(value: &str) -> Cow<'_, str> {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-.:+/@,%".contains(c);
    if !value.is_empty() && value.chars().all(bare) { Cow::Borrowed(value) } else { Cow::Owned(quote(value)) }
}

#[cfg(test)]
#[path = "attributes_tests.rs"]
mod tests;
