//! The names of the files of new conversations.

/// The most characters of a title that become part of a name.
const MAX_TITLE: usize = 50;

/// The name for a new conversation: its date, and its title, or the time if that has no letters. `number` tells apart those
/// with the same name, from 1.
#[must_use]
pub fn file_name(title: &str, date: &str, time: &str, number: usize) -> String {
    let mut words = String::new();
    for character in title.chars() {
        if character.is_alphanumeric() {
            words.extend(character.to_lowercase());
        } else if !words.is_empty() && !words.ends_with('-') {
            words.push('-');
        }
        if words.chars().count() >= MAX_TITLE {
            break;
        }
    }
    let words = words.trim_end_matches('-');
    let words = if words.is_empty() { time } else { words };
    match number {
        0 | 1 => format!("{date}-{words}.chat"),
        number => format!("{date}-{words}-{number}.chat"),
    }
}
