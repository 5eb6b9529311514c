//! Names and texts of others, as a person can read them on one line of a terminal.

use std::path::Path;

use serde_json::Value;

use flemma_text::visible::is_unseen;

/// A path as a person reads it, and can give it to a shell: as it is, unless something in it cannot be seen or would end the
/// line. Then it is quoted (`$'a\nb.chat'`).
pub(super) fn path(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    // A dash would make it an option.
    let start = if bytes.starts_with(b"-") { "./" } else { "" };
    if std::str::from_utf8(bytes).is_ok_and(|text| escape_unseen(text) == text) {
        return format!("{start}{}", path.display());
    }
    quoted(start, bytes)
}

/// A word of a file, such as the id of a call: quoted like a path if it is not one plain word.
pub(super) fn word(text: &str) -> String {
    let is_plain = !text.is_empty() && escape_unseen(text) == text && !text.contains(' ');
    if is_plain { text.to_owned() } else { quoted("", text.as_bytes()) }
}

/// A message on one line, whole. What cannot be seen is escaped: it could control a terminal, or hide in a command.
pub(super) fn message(text: &str) -> String {
    let blank = |letter: char| if letter.is_ascii_whitespace() { ' ' } else { letter };
    escape_unseen(&text.trim_end().chars().map(blank).collect::<String>())
}

/// JSON in which what cannot be seen is escaped. It is only in texts.
pub(super) fn json(json: &Value) -> String {
    let mut escaped = String::new();
    for letter in json.to_string().chars() {
        if is_hidden(letter, None) {
            letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}"));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// What cannot be seen after the letter before it, or looks like a blank and is none.
fn is_hidden(letter: char, before: Option<char>) -> bool {
    is_unseen(letter, before) || (letter.is_whitespace() && !letter.is_ascii())
}

/// In the quotes of a shell that take anything.
fn quoted(start: &str, bytes: &[u8]) -> String {
    let mut quoted = format!("$'{start}");
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|letter| quote(letter, &mut quoted));
        chunk.invalid().iter().for_each(|byte| quoted += &format!("\\x{byte:02x}"));
    }
    quoted + "'"
}

fn quote(letter: char, quoted: &mut String) {
    match letter {
        '\n' => *quoted += "\\n",
        '\t' => *quoted += "\\t",
        '\r' => *quoted += "\\r",
        '\\' | '\'' => quoted.extend(['\\', letter]),
        letter if letter.is_ascii_control() => *quoted += &format!("\\x{:02x}", letter as u32),
        letter if letter > '\u{ffff}' && is_hidden(letter, None) => *quoted += &format!("\\U{:08x}", letter as u32),
        letter if is_hidden(letter, None) => *quoted += &format!("\\u{:04x}", letter as u32),
        letter => quoted.push(letter),
    }
}

/// A text in which what cannot be seen, and what looks like a blank, is escaped: `\u{200b}`.
fn escape_unseen(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        if is_hidden(c, before) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
        before = Some(c);
    }
    escaped
}
