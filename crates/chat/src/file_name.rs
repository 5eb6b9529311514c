//! The names of the files of new conversations.

/// The most characters of a title that become part of a name.
const MAX_TITLE: usize = 50;

/// The name for a new conversation: its date, and its title, or the time if that has no letters. `number` tells apart those
/// with the same name, from 1.
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

/// The title that the user gave a conversation, from the name of its file without `.chat`; `None` if it has no date, or the time in place
/// of a title.
pub fn given_title(name: &str) -> Option<String> {
    let is_like = |text: &str, form: &str| {
        text.len() == form.len()
            && text
                .bytes()
                .zip(form.bytes())
                .all(|(byte, form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form })
    };
    let (_, words) = name.split_at_checked("0000-00-00-".len()).filter(|(date, _)| is_like(date, "0000-00-00-"))?;
    let (time, number) = words.split_once('-').unwrap_or((words, "1"));
    let is_time = is_like(time, "0000") && number.bytes().all(|byte| byte.is_ascii_digit());
    (!is_time && !words.is_empty()).then(|| words.replace('-', " "))
}
