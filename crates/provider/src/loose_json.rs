//! JSON as servers write it, which is not always JSON.
//!
//! Small models and gateways cut a character outside the first 65,536 in two (its escape has two halves, `\ud83c\udf31`, and
//! each is sent in an event of its own), write half of one and nothing else, escape what has no escape, and write `NaN`, which
//! JSON does not know. None of that says anything about the rest of the event. It is read like this:
//!
//! | in the text                                 | in the value                                                     |
//! |---------------------------------------------|------------------------------------------------------------------|
//! | half of a character                         | a mark, from which [`Halves`] makes the character, or else U+FFFD |
//! | an escape that there is not, `\q` or `\u12` | its letters                                                      |
//! | a control character in a string             | the character                                                    |
//! | `NaN`, `Infinity`, `-Infinity`              | null                                                             |

use std::borrow::Cow;

use serde_json::Value;

use flemma_model::Event;

/// The marks of the halves U+D800 to U+DFFF: the last characters that are set aside for private use.
const MARKS: u32 = 0x10_F800;

/// The first half of all, the first of those that come second, and how many there are of each.
const FIRST: u32 = 0xD800;
const SECOND: u32 = 0xDC00;
const EACH: u32 = 0x400;

/// Numbers that JSON does not know.
const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Reads a value that is no strict JSON; `None` if it is none of this either.
pub(super) fn read(text: &str) -> Option<Value> {
    serde_json::from_str(&mended(text)).ok()
}

/// Reads the input of a call, whose pieces may have halves of characters where they were cut.
pub(super) fn read_input(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .ok()
        .filter(|_| !text.contains(is_mark))
        .or_else(|| serde_json::from_str(&whole(&mended(&whole(text)))).ok())
}

/// The text with everything in another form that JSON does not allow.
fn mended(text: &str) -> String {
    let (mut mended, mut rest, mut in_string) = (String::with_capacity(text.len()), text, false);
    while let Some(next) = rest.chars().next() {
        let word = WORDS.iter().find(|word| !in_string && rest.starts_with(**word));
        let (taken, meant): (usize, Cow<'_, str>) = match next {
            '\\' if in_string => escape(rest),
            control if in_string && control < ' ' => (1, format!("\\u{:04x}", u32::from(control)).into()),
            _ => word.map_or((next.len_utf8(), rest[..next.len_utf8()].into()), |word| (word.len(), "null".into())),
        };
        in_string ^= next == '"';
        mended.push_str(&meant);
        rest = &rest[taken..];
    }
    mended
}

/// How much of a text is the escape that it begins with, and how that is written.
fn escape(text: &str) -> (usize, Cow<'_, str>) {
    match (half(text), text.get(6..).and_then(half)) {
        (Some(first), Some(second)) if first < SECOND && second >= SECOND => (12, text[..12].into()),
        (Some(alone), _) => (6, char::from_u32(MARKS + alone - FIRST).unwrap_or_default().to_string().into()),
        _ if escaped(text).is_some() => (6, text[..6].into()),
        _ if text[1..].starts_with(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']) => (2, text[..2].into()),
        _ => (1, "\\\\".into()),
    }
}

/// The code in the escape that a text begins with, `\u` and four hex digits.
fn escaped(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// The half of a character that a text begins with.
fn half(text: &str) -> Option<u32> {
    escaped(text).filter(|code| (FIRST..FIRST + 2 * EACH).contains(code))
}

/// Puts marked halves together that stand next to each other. One that is alone is U+FFFD.
pub(super) fn whole(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(half) = marked(letter) else {
            whole.push(letter);
            continue;
        };
        let second = letters.next_if(|next| is_first(letter) && marked(*next).is_some_and(|half| half >= SECOND));
        let code = second.and_then(marked).map(|second| 0x1_0000 + (half - FIRST) * EACH + (second - SECOND));
        whole.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    whole
}

/// The half that a mark stands for.
fn marked(letter: char) -> Option<u32> {
    u32::from(letter).checked_sub(MARKS).map(|place| FIRST + place).filter(|half| *half < FIRST + 2 * EACH)
}

/// Makes whole characters of halves that came in different events.
#[derive(Default)]
pub(super) struct Halves {
    /// A piece that waits for its second half.
    waiting: Option<Event>,
}

impl Halves {
    /// The events without marks in their text.
    pub fn join(&mut self, events: impl Iterator<Item = Event>) -> Vec<Event> {
        let mut joined = Vec::new();
        for mut event in events {
            let waiting = self.waiting.take();
            match (&mut event, waiting) {
                (Event::Text(text), Some(Event::Text(half))) | (Event::Thinking(text), Some(Event::Thinking(half))) => {
                    text.insert_str(0, &half);
                }
                (_, waiting) => joined.extend(waiting.map(made_whole)),
            }
            if let Event::Text(text) | Event::Thinking(text) = &mut event
                && let Some(at) = text.char_indices().next_back().filter(|(_, last)| is_first(*last)).map(|(at, _)| at)
            {
                let half = text.split_off(at);
                let is_prose = matches!(event, Event::Text(_));
                self.waiting = Some(if is_prose { Event::Text(half) } else { Event::Thinking(half) });
            }
            joined.push(made_whole(event));
        }
        joined.retain(|event| !matches!(event, Event::Text(text) | Event::Thinking(text) if text.is_empty()));
        joined
    }
}

fn is_mark(letter: char) -> bool {
    marked(letter).is_some()
}

/// Whether a mark stands for a half that comes first.
fn is_first(letter: char) -> bool {
    marked(letter).is_some_and(|half| half < SECOND)
}

fn made_whole(event: Event) -> Event {
    match event {
        Event::Text(text) => Event::Text(whole(&text)),
        Event::Thinking(text) => Event::Thinking(whole(&text)),
        event => event,
    }
}
