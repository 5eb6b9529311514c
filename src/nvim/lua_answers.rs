//! What a tool written in Lua answers: from the value that it gave to the text in the document.
//!
//! The value is read on the main thread, where Lua lives, and nothing more is done there than must be: the bytes of a
//! string are copied once, and of a table no more than [`MAX_VALUES`] is converted. Everything that grows with the answer
//! (is it UTF-8? how many lines? where to cut, and where to save the whole?) is left to a thread that may take its
//! time.

use std::{borrow::Cow, path::PathBuf};

use mlua::{Lua, Table, Value};
use tokio::runtime::Handle;

use super::{
    convert::{self, Room},
    lua_tools::Answering,
};
use crate::{
    chat::Language,
    text::truncate::{self, Limits, MAX_BYTES, MAX_LINES},
    tools::{Outcome, Output, Rendered, overflow},
};

/// How many values of a table are converted, and how many bytes of text: more than a result shows, and no more than the
/// editor can spare the time for.
const MAX_VALUES: usize = 20_000;
const MAX_TEXT: usize = 2 << 20;

/// What a tool said, as it came out of Lua.
pub(super) struct Said {
    words: Words,
    /// Whether a table was cut off at [`MAX_VALUES`] or [`MAX_TEXT`].
    is_part: bool,
}

enum Words {
    Text(Vec<u8>),
    Failure { error: Vec<u8>, output: Option<Vec<u8>> },
    Structured { ok: bool, value: serde_json::Value },
    Table(serde_json::Value),
}

impl Said {
    /// A failure with a message of ours.
    pub(super) fn failure(message: impl Into<String>) -> Self {
        Self { words: Words::Failure { error: message.into().into_bytes(), output: None }, is_part: false }
    }

    /// What a tool's value means. `problem` is what came behind it: Lua's own functions return `nil` and a reason.
    pub(super) fn read(lua: &Lua, tool: &str, value: Value, problem: Value) -> Self {
        let text = |bytes: Vec<u8>| Self { words: Words::Text(bytes), is_part: false };
        match value {
            Value::Nil if let Value::String(problem) = problem => {
                Self { words: Words::Failure { error: problem.as_bytes().to_vec(), output: None }, is_part: false }
            }
            Value::String(string) => text(string.as_bytes().to_vec()),
            value @ (Value::Integer(_) | Value::Number(_) | Value::Boolean(_)) => {
                text(value.to_string().unwrap_or_default().into_bytes())
            }
            Value::Table(table) => Self::of_table(lua, tool, &table),
            Value::Nil => Self::failure(format!(
                "The tool `{tool}` returned nothing. (For its author: return a string or a table; a tool that answers \
                 later sets `async = true` and calls its callback.)"
            )),
            other => Self::failure(format!(
                "The tool `{tool}` returned a {}. (For its author: return a string or a table. A tool that answers \
                 later sets `async = true`; only then may it return a function, which stops it.)",
                other.type_name()
            )),
        }
    }

    /// `{ success = true, output = … }`, `{ success = false, error = …, output = … }`, a table with a boolean `ok`, or
    /// any other table.
    fn of_table(lua: &Lua, tool: &str, table: &Table) -> Self {
        let mut room = Room::new(MAX_VALUES, MAX_TEXT);
        let mut json = |value: Value| {
            convert::to_json_within(lua, value, &mut room).map_err(|error| {
                format!(
                    "The tool `{tool}` returned a table that cannot be written as JSON: {}.",
                    convert::words(&error)
                )
            })
        };
        let field = |name: &str| table.get::<Value>(name).unwrap_or(Value::Nil);
        let mut read = || -> Result<Words, String> {
            let mut text = |value: Value| match value {
                Value::Nil => Ok(None),
                Value::String(text) => Ok(Some(text.as_bytes().to_vec())),
                value @ Value::Table(_) => json(value).map(|value| Some(value.to_string().into_bytes())),
                other => Ok(other.to_string().ok().map(String::into_bytes)),
            };
            Ok(match (field("success"), field("ok")) {
                (Value::Boolean(true), _) => match field("output") {
                    value @ Value::Table(_) => Words::Table(json(value)?),
                    other => Words::Text(text(other)?.unwrap_or_default()),
                },
                (Value::Boolean(false), _) => {
                    let silence = || format!("The tool `{tool}` failed and gave no reason.").into_bytes();
                    let error = text(field("error"))?.unwrap_or_else(silence);
                    Words::Failure { error, output: text(field("output"))? }
                }
                (_, Value::Boolean(ok)) => Words::Structured { ok, value: json(Value::Table(table.clone()))? },
                _ => Words::Table(json(Value::Table(table.clone()))?),
            })
        };
        match read() {
            Ok(words) => Self { words, is_part: room.is_over() },
            Err(problem) => Self::failure(problem),
        }
    }

    /// Whether it can be dealt with at once.
    fn is_small(&self) -> bool {
        !self.is_part
            && match &self.words {
                Words::Text(text) => text.len() <= MAX_BYTES,
                Words::Failure { error, output } => error.len() + output.as_ref().map_or(0, Vec::len) <= MAX_BYTES,
                // How much that is shows only when it is written.
                Words::Structured { .. } | Words::Table(_) => false,
            }
    }

    /// What stands in the result, as it came: text, or bytes that are none.
    fn written(self) -> Written {
        let (bytes, is_error) = match self.words {
            Words::Text(text) => (text, false),
            Words::Failure { error, output: None } => (error, true),
            Words::Failure { mut error, output: Some(output) } => {
                error.extend_from_slice(b"\n\n");
                error.extend_from_slice(&output);
                (error, true)
            }
            Words::Structured { ok, value } => return Written::of(&Outcome::Structured { ok, value }),
            Words::Table(value) => return Written::of(&Outcome::Success(Output::Json(value))),
        };
        Written { bytes, is_error, language: Language::Plain }
    }

    /// Hands it on, off the main thread where it may take long. A text that is too long is cut, and its whole saved in
    /// the folder `outputs`.
    pub(super) fn hand_on(self, threads: Option<&Handle>, outputs: PathBuf, answering: Answering) {
        match threads.filter(|_| !self.is_small()) {
            Some(threads) => {
                threads.spawn_blocking(move || answering.push(self.in_size(&outputs, &answering)));
            }
            None => answering.push(self.in_size(&outputs, &answering)),
        }
    }

    fn in_size(self, outputs: &std::path::Path, answering: &Answering) -> Rendered {
        let is_part = self.is_part;
        let Written { bytes, is_error, language } = self.written();
        let rendered = |text, language| Rendered { text, is_error, language, attachments: Vec::new() };
        let cut = truncate::truncate_head(&bytes, Limits::default());
        let is_long = bytes.len() > MAX_BYTES || cut.total_lines > MAX_LINES;
        if !is_long && !is_part {
            return rendered(text_of(bytes), language);
        }
        let mut notes = Vec::new();
        let shown = if cut.first_line_exceeds_limit { beginning(&bytes) } else { cut.content };
        if is_long {
            let range = if cut.first_line_exceeds_limit {
                format!("the first {} of line 1", truncate::format_size(shown.len() as u64))
            } else if cut.output_lines == 1 {
                "line 1".to_owned()
            } else {
                format!("lines 1-{}", cut.output_lines)
            };
            let size = truncate::format_size(bytes.len() as u64);
            let place = match overflow::save(outputs, &answering.tool, &bytes) {
                Ok(path) => format!("The whole output ({size}) is in {}", path.display()),
                Err(error) => format!("The whole output ({size}) could not be saved: {error}"),
            };
            notes.push(format!("Showing {range} of {}. {place}", cut.total_lines));
        }
        if is_part {
            notes.push(format!(
                "The tool returned a table of more than {} values or {}, and what is beyond was left out. (For its \
                 author: return less, or a string)",
                MAX_VALUES,
                truncate::format_size(MAX_TEXT as u64)
            ));
        }
        rendered(format!("{shown}\n\n[{}]", notes.join(". ")), Language::Plain)
    }
}

/// What stands in a result.
struct Written {
    bytes: Vec<u8>,
    is_error: bool,
    language: Language,
}

impl Written {
    fn of(outcome: &Outcome) -> Self {
        let Rendered { text, is_error, language, .. } = outcome.render();
        Self { bytes: text.into_bytes(), is_error, language }
    }
}

/// Bytes as text, without a copy where they are UTF-8.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// As much of the beginning as a result has room for, cut between characters.
fn beginning(bytes: &[u8]) -> Cow<'_, str> {
    // A character that is cut begins in front of the limit or behind it, and does not count then.
    let part = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES + 3)]);
    match part {
        Cow::Borrowed(part) => Cow::Borrowed(truncate::prefix(part, MAX_BYTES)),
        Cow::Owned(part) => Cow::Owned(truncate::prefix(&part, MAX_BYTES).to_owned()),
    }
}
