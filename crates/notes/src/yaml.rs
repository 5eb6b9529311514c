//! YAML with the positions of its top-level keys, and values as YAML.
//!
//! The parser is `saphyr-parser`. Its positions count characters; here they are bytes.

use std::{iter::Peekable, ops::Range, vec};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Number, Value};

/// How deep values may be nested.
const MAX_DEPTH: usize = 64;

/// A top-level key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// The key as text.
    pub(super) key: String,
    /// Where the key stands, with its quotes.
    pub(super) at: Range<usize>,
    /// The start of the value; the end of the key for an empty value.
    pub(super) start: usize,
    /// The end of the last thing that belongs to the value.
    pub(super) end: usize,
    /// The value. An alias is an object with the anchor's number in place of what it stands for.
    pub(super) value: Value,
    /// Whether the value is a list or a table in lines of its own.
    pub(super) is_block: bool,
}

/// A scalar in the YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    /// Where it stands, with its quotes.
    pub(super) at: Range<usize>,
    /// Its quotes.
    pub(super) quote: Option<char>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// The entries in their order.
    pub(super) entries: Vec<Entry>,
    /// All scalars, in their order.
    pub(super) scalars: Vec<Scalar>,
    /// Whether the table is written in braces.
    pub(super) in_braces: bool,
}

/// Why YAML cannot be read, in words that continue a sentence: "line 3: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Fault(String);

impl From<ScanError> for Fault {
    fn from(error: ScanError) -> Self {
        Self(format!("line {}: {}", error.marker().line(), error.info()))
    }
}

/// Reads a YAML document that is a table, or nothing.
pub(super) fn read(yaml: &str) -> Result<Table, Fault> {
    let mut reader = Reader { events: events(yaml)?.into_iter().peekable(), table: Table::default() };
    reader.document()?;
    Ok(reader.table)
}

fn events(yaml: &str) -> Result<Vec<(Event<'_>, Range<usize>)>, Fault> {
    let mut offsets: Vec<usize> = yaml.char_indices().map(|(at, _)| at).collect();
    offsets.push(yaml.len());
    let byte = |index: usize| offsets.get(index).copied().unwrap_or(yaml.len());
    let range = |span: Span| byte(span.start.index())..byte(span.end.index()).max(byte(span.start.index()));
    let mut found = Vec::new();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event?;
        if !matches!(event, Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Nothing) {
            let mut at = range(span);
            match &event {
                // The empty lines behind it belong to nothing.
                Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                    at.end = at.start + yaml[at.clone()].trim_end().len();
                }
                // The parser counts a comment behind it as a part of it.
                Event::Scalar(_, style, ..) => {
                    if let Some(quote) = quote_of(*style) {
                        at.end = end_of_quoted(yaml, at.start, quote);
                    }
                }
                _ => {}
            }
            found.push((event, at));
        }
    }
    Ok(found)
}

fn quote_of(style: ScalarStyle) -> Option<char> {
    match style {
        ScalarStyle::SingleQuoted => Some('\''),
        ScalarStyle::DoubleQuoted => Some('"'),
        _ => None,
    }
}

/// The end of a scalar in quotes. In single quotes, two of them stand for one; in double quotes, a backslash escapes the next
/// character.
fn end_of_quoted(yaml: &str, start: usize, quote: char) -> usize {
    let bytes = yaml.as_bytes();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        let is_pair = if quote == '"' { *byte == b'\\' } else { bytes[at..].starts_with(b"''") };
        if char::from(*byte) == quote && !is_pair {
            return at + 1;
        }
        at += 1 + usize::from(is_pair);
    }
    bytes.len()
}

struct Reader<'a> {
    events: Peekable<vec::IntoIter<(Event<'a>, Range<usize>)>>,
    table: Table,
}

/// A value that was read: where it ends, and whether that is known.
struct Read {
    value: Value,
    start: usize,
    end: usize,
    is_block: bool,
}

impl Reader<'_> {
    /// Whether something follows in a list or a table, and not its end.
    fn goes_on(&mut self) -> bool {
        !matches!(self.events.peek(), Some((Event::SequenceEnd | Event::MappingEnd, _)) | None)
    }

    fn document(&mut self) -> Result<(), Fault> {
        if !matches!(self.events.next(), Some((Event::DocumentStart(_), _))) {
            return Ok(());
        }
        match self.events.next() {
            None => return Ok(()),
            Some((Event::Scalar(text, ScalarStyle::Plain, ..), _)) if text.is_empty() || &*text == "~" => {}
            Some((Event::MappingStart(..), at)) => {
                self.table.in_braces = !at.is_empty();
                while self.goes_on() {
                    let key = self.value(0)?;
                    let value = self.value(0)?;
                    self.table.entries.push(Entry {
                        key: plain_text(&key.value),
                        at: key.start..key.end,
                        start: value.start.max(key.end),
                        end: value.end.max(key.end),
                        value: value.value,
                        is_block: value.is_block,
                    });
                }
                self.events.next();
            }
            Some(_) => return Err(Fault("it is not a table of keys and values".to_owned())),
        }
        match self.events.peek() {
            Some((Event::DocumentStart(_), _)) => Err(Fault("it has more than one document".to_owned())),
            _ => Ok(()),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Read, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault(format!("its values are nested more than {MAX_DEPTH} deep")));
        }
        let Some((event, at)) = self.events.next() else { return Err(Fault("it ends too early".to_owned())) };
        let (start, mut end) = (at.start, at.end);
        let is_block = at.is_empty();
        let value = match event {
            Event::Scalar(text, style, _, tag) => {
                self.table.scalars.push(Scalar { at, quote: quote_of(style) });
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if is_plain { scalar(&text) } else { Value::String(text.into_owned()) };
                return Ok(Read { value, start, end, is_block: false });
            }
            Event::Alias(anchor) => {
                let value = Value::Object(Map::from_iter([("*".to_owned(), anchor.into())]));
                return Ok(Read { value, start, end, is_block: false });
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                while self.goes_on() {
                    let item = self.value(depth + 1)?;
                    end = end.max(item.end);
                    items.push(item.value);
                }
                Value::Array(items)
            }
            Event::MappingStart(..) => {
                let mut entries = Map::new();
                while self.goes_on() {
                    let key = self.value(depth + 1)?;
                    let value = self.value(depth + 1)?;
                    end = end.max(key.end).max(value.end);
                    entries.insert(plain_text(&key.value), value.value);
                }
                Value::Object(entries)
            }
            _ => return Err(Fault("it ends too early".to_owned())),
        };
        // The bracket that ends it. The end of a value in lines is where the next thing begins, which does not matter.
        if let Some((_, bracket)) = self.events.next()
            && !is_block
        {
            end = bracket.start + 1;
        }
        Ok(Read { value, start, end, is_block })
    }
}

/// A key as text.
fn plain_text(key: &Value) -> String {
    match key {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The value of a plain scalar, in the core schema of YAML 1.2.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = unsigned.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.')
        && unsigned.contains(|sign: char| sign.is_ascii_digit())
        && unsigned.chars().all(|sign| sign.is_ascii_digit() || "+-.eE".contains(sign));
    if is_number {
        let text = text.strip_prefix('+').unwrap_or(text);
        let whole = text.parse().map(i64::into).or_else(|_| text.parse().map(u64::into)).ok();
        let number = whole.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64));
        if let Some(number) = number {
            return Value::Number(number);
        }
    }
    Value::String(text.to_owned())
}

/// Words that are no text in YAML 1.1, which many programs still read.
const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// A text as YAML in one line, that may also stand in brackets.
pub(super) fn text(text: &str) -> String {
    let is_plain_sign = |sign: char| sign.is_alphanumeric() || " _-/.()+@'".contains(sign) || !sign.is_ascii();
    let is_plain = text.starts_with(|sign: char| sign.is_alphanumeric() || "_/".contains(sign) || !sign.is_ascii())
        && text.chars().all(|sign| is_plain_sign(sign) && !sign.is_control() && !is_break(sign))
        && text.trim() == text
        && !WORDS.contains(&text.to_lowercase().as_str())
        && scalar(text).is_string()
        && !is_old_number(text);
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// Line breaks and marks of Unicode that a plain scalar cannot contain.
fn is_break(sign: char) -> bool {
    matches!(sign, '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Whether YAML 1.1 takes a text for a number: `0x1f`, `1_000`, `12:30`.
fn is_old_number(text: &str) -> bool {
    let is_digit = |sign: char| sign.is_ascii_hexdigit() || "_xo.:".contains(sign);
    text.starts_with(|sign: char| sign.is_ascii_digit()) && text.chars().all(is_digit)
}

/// A text in double quotes.
fn quoted(text: &str) -> String {
    let is_escaped = |sign: char| is_break(sign) || ('\u{7f}'..'\u{a0}').contains(&sign);
    let write = |sign| if is_escaped(sign) { format!("\\u{:04x}", sign as u32) } else { String::from(sign) };
    Value::from(text).to_string().chars().map(write).collect()
}

/// A value in one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", text(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A value behind a key and its colon. A list of plain values is written in one line unless `in_lines`.
pub(super) fn after_key(value: &Value, in_lines: bool) -> String {
    let is_block = match value {
        Value::Null => return String::new(),
        Value::Array(items) => !items.is_empty() && (in_lines || items.iter().any(Value::is_object)),
        Value::Object(entries) => !entries.is_empty(),
        _ => false,
    };
    if !is_block {
        return format!(" {}", flow(value));
    }
    let mut written = String::new();
    block(value, 2, &mut written);
    written
}

/// A list or a table in lines of its own, each of them behind a line break.
fn block(value: &Value, indent: usize, written: &mut String) {
    let margin = " ".repeat(indent);
    match value {
        Value::Array(items) => written.extend(items.iter().map(|item| format!("\n{margin}- {}", flow(item)))),
        Value::Object(entries) => {
            for (key, value) in entries {
                written.push_str(&format!("\n{margin}{}:", text(key)));
                match value {
                    Value::Object(inner) if !inner.is_empty() && indent < 2 * MAX_DEPTH => {
                        block(value, indent + 2, written)
                    }
                    Value::Array(items) if items.iter().any(Value::is_object) => block(value, indent + 2, written),
                    value => written.push_str(&format!(" {}", flow(value))),
                }
            }
        }
        _ => {}
    }
}
