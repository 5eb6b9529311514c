//! Code spans: names and ids in the headers of a document.

/// `text` as a code span that nothing inside can end
/// (<https://spec.commonmark.org/0.31.2/#code-spans>).
///
/// Names and ids come from a model. Control characters, which could break the line, become U+FFFD; an empty text
/// becomes a dash.
pub fn code_span(text: &str) -> String {
    let text = plain(text);
    let marks = "`".repeat(longest_run(&text) + 1);
    let spaced = text.starts_with(' ') && text.ends_with(' ') && !text.trim().is_empty();
    let pad = if text.starts_with('`') || text.ends_with('`') || spaced { " " } else { "" };
    format!("{marks}{pad}{text}{pad}{marks}")
}

/// The length of the longest run of backticks in a text.
pub(super) fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A name or id made safe for a header. See [`code_span`].
pub fn plain(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// Reads a code span at the start of `text`: its content and what follows it.
pub fn read_code_span(text: &str) -> Option<(&str, &str)> {
    let marks = text.len() - text.trim_start_matches('`').len();
    if marks == 0 {
        return None;
    }
    let inside = &text[marks..];
    let mut at = 0;
    while let Some(found) = inside[at..].find('`') {
        let start = at + found;
        let length = inside[start..].len() - inside[start..].trim_start_matches('`').len();
        if length == marks {
            let content = &inside[..start];
            let spaced = content.starts_with(' ') && content.ends_with(' ') && !content.trim_matches(' ').is_empty();
            let content = if spaced { &content[1..content.len() - 1] } else { content };
            return Some((content, &inside[start + length..]));
        }
        at = start + length;
    }
    None
}

#[cfg(test)]
#[path = "code_span_tests.rs"]
mod tests;
