//! The place of the cursor in JSON that sets options.
//!
//! The code ends at the cursor, so it is never complete, and it may be wrong before that: whatever it is, a place is found from
//! the brackets, strings and signs.

use crate::completion::slot::{Slot, Spot, join};
use flemma_config::buffer::{AUTO_APPROVE, OPERATIONS, TOOLS};

/// An object or a list that is open at the cursor.
enum Open {
    /// An object of options. `key` is that of the entry at the cursor, and `is_value` says that the colon behind it is there.
    Object { path: String, key: String, is_value: bool },
    /// A list with the value of an option.
    List { path: String },
}

/// The path of an entry. An operation on a list is about the list itself.
fn path_of(table: &str, key: &str) -> String {
    let is_operation = matches!(table, TOOLS | AUTO_APPROVE) && OPERATIONS.contains(&key);
    if is_operation { table.to_owned() } else { join(table, key) }
}

/// The place of the cursor at the end of the code.
pub(crate) fn spot(code: &str) -> Option<Spot> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        let start = at;
        at += c.len_utf8();
        match c {
            '"' => {
                let Some(length) = string_length(&code[at..]) else {
                    let is_broken = code[at..].contains('\n');
                    return if is_broken { None } else { place(&open, code.len() - at, true) };
                };
                let text = &code[at..at + length];
                at += length + 1;
                if let Some(Open::Object { key, is_value: false, .. }) = open.last_mut() {
                    text.clone_into(key);
                }
            }
            '{' | '[' => {
                let path = match open.last() {
                    Some(Open::Object { path, key, .. }) => path_of(path, key),
                    Some(Open::List { path }) => path.clone(),
                    None => String::new(),
                };
                open.push(match c {
                    '{' => Open::Object { path, key: String::new(), is_value: false },
                    _ => Open::List { path },
                });
            }
            '}' | ']' => drop(open.pop()),
            ':' => {
                if let Some(Open::Object { is_value, .. }) = open.last_mut() {
                    *is_value = true;
                }
            }
            ',' => {
                if let Some(Open::Object { key, is_value, .. }) = open.last_mut() {
                    key.clear();
                    *is_value = false;
                }
            }
            c if c.is_alphanumeric() || c == '_' => {
                let rest = &code[start..];
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                at = start + length;
                if at == code.len() {
                    return place(&open, length, false);
                }
            }
            _ => {}
        }
    }
    // Behind a value, a sign is missing first.
    let last = code.trim_end().chars().next_back()?;
    if "{[,:".contains(last) { place(&open, 0, false) } else { None }
}

fn place(open: &[Open], typed: usize, is_quoted: bool) -> Option<Spot> {
    let slot = match open.last()? {
        Open::Object { path, is_value: false, .. } => Slot::Name(path.clone()),
        Open::Object { path, key, is_value: true } => Slot::Value(path_of(path, key)),
        Open::List { path } => Slot::Value(path.clone()),
    };
    Some(Spot { slot, typed, is_quoted })
}

/// The length of the string that begins here, without its closing quote; `None` if that is missing in its line.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}
