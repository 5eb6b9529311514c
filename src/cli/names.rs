//! Names and texts of others, as a person can read them on one line of a terminal.

use std::path::Path;

use crate::text::one_line;

/// The longest piece of text on a line, in characters.
const LONGEST: usize = 400;

/// A path as a person reads it, and can give it to a shell: as it is, unless something in it cannot be seen or would end the
/// line. Then it is quoted (`$'a\nb.chat'`).
pub(super) fn path(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    // A dash would make it an option.
    let start = if bytes.starts_with(b"-") { "./" } else { "" };
    let is_plain = std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(is_hidden));
    if is_plain {
        return format!("{start}{}", path.display());
    }
    let mut quoted = format!("$'{start}");
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|letter| quote(letter, &mut quoted));
        chunk.invalid().iter().for_each(|byte| quoted += &format!("\\x{byte:02x}"));
    }
    quoted + "'"
}

/// A word of a file, such as the id of a call: quoted like a path if it is not one plain word.
pub(super) fn word(text: &str) -> String {
    let is_plain = !text.is_empty() && !text.chars().any(|letter| is_hidden(letter) || letter.is_whitespace());
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = "$'".to_owned();
    text.chars().for_each(|letter| quote(letter, &mut quoted));
    quoted + "'"
}

/// A text on one line, without what could control a terminal or hide in it.
pub(super) fn plain(text: &str) -> String {
    let text: String = text.chars().map(|letter| if is_hidden(letter) { ' ' } else { letter }).collect();
    one_line(&text, LONGEST)
}

/// A message on one line, whole.
pub(super) fn message(text: &str) -> String {
    let text: String = text.trim_end().chars().map(|letter| if is_hidden(letter) { ' ' } else { letter }).collect();
    text
}

/// What cannot be seen, or changes how the letters around it are shown.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn quote(letter: char, quoted: &mut String) {
    match letter {
        '\n' => *quoted += "\\n",
        '\t' => *quoted += "\\t",
        '\r' => *quoted += "\\r",
        '\\' | '\'' => quoted.extend(['\\', letter]),
        letter if letter.is_ascii_control() => *quoted += &format!("\\x{:02x}", letter as u32),
        letter if is_hidden(letter) => *quoted += &format!("\\u{:04x}", letter as u32),
        letter => quoted.push(letter),
    }
}
