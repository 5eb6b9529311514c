//! Where a text stops being JSON, in words for the user who wrote it.

use std::fmt;

use serde_json::Error;

use super::preview;

/// How much of the text is quoted, in display cells.
const QUOTE: usize = 30;

/// The first place at which a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is wrong there, what was found, and how to write it.
    what: String,
}

impl JsonFault {
    /// The fault of a text that gave this error.
    pub fn of(text: &str, error: &Error) -> Self {
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        if error.is_eof() {
            let missing = match words {
                "EOF while parsing a string" => "the `\"` that closes a text is missing",
                "EOF while parsing a list" => "the `]` that closes a list is missing",
                "EOF while parsing an object" => "the `}` that closes an object is missing",
                _ => "a value is missing",
            };
            // An error at the end is on the last line that has something.
            let line = text.trim_end().lines().count().max(1);
            return Self { line, what: format!("it ends too early: {missing}") };
        }
        // A line break has the line after it, and no column.
        let line = if error.column() == 0 { error.line().saturating_sub(1) } else { error.line() }.max(1);
        let found = text.lines().nth(line - 1).unwrap_or_default();
        let from = error.column().checked_sub(1).unwrap_or(found.len());
        let found = match found[found.floor_char_boundary(from.min(found.len()))..].trim() {
            "" => "the end of the line".to_owned(),
            rest => format!("`{}`", preview::clip(rest, QUOTE).replace('`', "'")),
        };
        // The one place where serde_json has no word for it.
        let is_comma = words == "key must be a string" && found.starts_with("`}");
        let words = if is_comma { "trailing comma" } else { words };
        let fix = match words {
            "trailing comma" => "remove the comma before it",
            "key must be a string" => "write each key in double quotes",
            "expected value" | "expected ident" => "write text in double quotes",
            "expected `:`" => "write a `:` after the key",
            "expected `,` or `}`" | "expected `,` or `]`" => "put a `,` between two values",
            "trailing characters" => "remove what follows the value",
            _ if words.starts_with("control character") => "write a line break in a text as `\\n`",
            _ => "",
        };
        let fix = if fix.is_empty() { String::new() } else { format!("; {fix}") };
        Self { line, what: format!("{words}, found {found}{fix}") }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not valid JSON: {}", self.what)
    }
}
