//! The place of the cursor in Lua that sets options.
//!
//! The code ends at the cursor. It is read token by token, and only what leads to an option counts: `flemma.opt` and what follows
//! it, assignments to it, operations on lists, tables, and local names for a part of it (`local opt = flemma.opt`).

use std::collections::HashMap;

use crate::completion::slot::{Slot, Spot, join};
use flemma_config::buffer::{AUTO_APPROVE, TOOLS};

/// Words that are no names.
const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
    "repeat", "return", "then", "true", "until", "while",
];

/// A token of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Text(&'a str),
    Sign(&'a str),
    Number,
}

/// What the code ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A string of so many bytes.
    Text(usize),
    /// A name of so many bytes.
    Name(usize),
    /// Something that is over.
    Space,
    /// A comment, or a string of several lines.
    Nothing,
}

/// What an expression is, as far as it has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    /// `flemma`.
    Flemma,
    /// The option or table at a path; the empty one is `flemma.opt`.
    Option(String),
}

/// A bracket that is open at the cursor.
#[derive(Debug)]
enum Open {
    /// `{` with the options of a table, or the entries of a list. `key` is that of the entry at the cursor.
    Table { of: Option<String>, key: Option<String> },
    /// `[` behind something with options, or in a table.
    Index { of: Option<String>, text: Option<String>, is_key: bool },
    /// `(` of an operation on a list.
    Call { list: Option<String> },
}

/// What the next token belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Joint {
    #[default]
    Nothing,
    Dot,
    Colon,
}

/// What has been read.
#[derive(Default)]
struct Reader<'a> {
    open: Vec<Open>,
    /// Local names for options.
    names: HashMap<&'a str, Meaning>,
    /// What the expression before the cursor means.
    meaning: Option<Meaning>,
    joint: Joint,
    /// The option that the statement assigns to.
    target: Option<String>,
    /// Whether a value has to come now.
    is_value: bool,
    /// The list whose method was named last.
    method_of: Option<String>,
    /// The name that stands at the beginning of an entry of a table.
    entry: Option<&'a str>,
    /// The name that `local` declares, and whether the `=` behind it is there.
    local: Option<(&'a str, bool)>,
    last: Option<Token<'a>>,
}

/// The place of the cursor at the end of the code.
pub(crate) fn spot(code: &str) -> Option<Spot> {
    let (tokens, end) = tokens(code);
    let mut reader = Reader::default();
    let known = if matches!(end, End::Name(_)) { tokens.len() - 1 } else { tokens.len() };
    tokens[..known].iter().for_each(|token| reader.read(*token));
    let (typed, is_quoted, name) = match end {
        End::Nothing => return None,
        End::Text(length) => (length, true, None),
        End::Name(length) => (length, false, Some(&code[code.len() - length..])),
        End::Space => (0, false, None),
    };
    let begins_line = code[..code.len() - typed].rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    let slot = reader.slot(is_quoted, name, begins_line)?;
    Some(Spot { slot, typed, is_quoted })
}

impl<'a> Reader<'a> {
    fn read(&mut self, token: Token<'a>) {
        match token {
            Token::Name(name) => self.read_name(name),
            Token::Text(text) => {
                if let Some(Open::Index { text: kept, .. }) = self.open.last_mut() {
                    *kept = Some(text.to_owned());
                }
                self.value_is_over();
            }
            Token::Number => self.value_is_over(),
            Token::Sign(sign) => self.read_sign(sign),
        }
        self.last = Some(token);
    }

    /// A value has been read that is no option.
    fn value_is_over(&mut self) {
        self.meaning = None;
        self.joint = Joint::Nothing;
        self.is_value = false;
        self.method_of = None;
    }

    fn read_name(&mut self, name: &'a str) {
        let (joint, is_value) = (std::mem::take(&mut self.joint), self.is_value);
        let follows_value = matches!(self.last, Some(Token::Name(last)) if !KEYWORDS.contains(&last))
            || matches!(self.last, Some(Token::Text(_) | Token::Number | Token::Sign(")" | "}" | "]")));
        match (joint, self.meaning.take()) {
            (Joint::Dot, Some(Meaning::Flemma)) if name == "opt" => self.meaning = Some(Meaning::Option(String::new())),
            (Joint::Dot, Some(Meaning::Option(path))) => self.meaning = Some(Meaning::Option(join(&path, name))),
            (Joint::Colon, Some(Meaning::Option(path))) => self.method_of = Some(path),
            (Joint::Dot | Joint::Colon, _) => {}
            (Joint::Nothing, _) => {
                self.method_of = None;
                if self.open.is_empty() && (follows_value || KEYWORDS.contains(&name)) {
                    self.target = None;
                }
                self.is_value = false;
                self.entry = self.begins_entry().then_some(name);
                self.meaning = match name {
                    "flemma" => Some(Meaning::Flemma),
                    name => self.names.get(name).cloned(),
                };
                if self.last == Some(Token::Name("local")) {
                    self.local = Some((name, false));
                    self.meaning = None;
                } else if follows_value || !is_value {
                    self.local = None;
                }
            }
        }
        if let (Some((local, true)), Some(meaning)) = (self.local, &self.meaning) {
            self.names.insert(local, meaning.clone());
        }
    }

    fn read_sign(&mut self, sign: &'a str) {
        let meaning = self.meaning.take();
        let method_of = self.method_of.take();
        let is_value = std::mem::take(&mut self.is_value);
        self.joint = Joint::Nothing;
        match sign {
            "." => (self.meaning, self.joint) = (meaning, Joint::Dot),
            ":" => (self.meaning, self.joint) = (meaning, Joint::Colon),
            "[" => {
                let is_key = self.begins_entry();
                let of = match meaning {
                    Some(Meaning::Option(path)) => Some(path),
                    _ if is_key => self.table(),
                    _ => None,
                };
                self.open.push(Open::Index { of, text: None, is_key });
            }
            "]" => {
                if let Some(Open::Index { of, text, is_key }) = self.open.pop() {
                    let path = of.zip(text).map(|(of, text)| join(&of, &text));
                    match self.open.last_mut() {
                        Some(Open::Table { key, .. }) if is_key => *key = path,
                        _ => self.meaning = path.map(Meaning::Option),
                    }
                }
            }
            "(" => self.open.push(Open::Call { list: method_of }),
            "{" => {
                let of = match self.open.last() {
                    Some(Open::Call { list }) => list.clone().or(method_of),
                    _ if method_of.is_some() => method_of,
                    Some(Open::Table { key, .. }) if is_value => key.clone(),
                    None if is_value => self.target.clone(),
                    _ => None,
                };
                self.open.push(Open::Table { of, key: None });
            }
            ")" | "}" => drop(self.open.pop()),
            "," | ";" => match self.open.last_mut() {
                Some(Open::Table { key, .. }) => *key = None,
                Some(_) => {}
                None => self.target = None,
            },
            "=" => self.assign(meaning),
            "+" | "-" | "^" | ".." => self.is_value = true,
            _ => {}
        }
        if sign != "=" && sign != "." && self.local.is_some_and(|(_, is_assigned)| is_assigned) {
            self.local = None;
        }
    }

    fn assign(&mut self, meaning: Option<Meaning>) {
        self.is_value = true;
        if let Some((_, is_assigned)) = &mut self.local {
            *is_assigned = true;
            return;
        }
        let entry = self.entry.take();
        match self.open.last_mut() {
            Some(Open::Table { of, key }) => {
                if key.is_none() {
                    *key = of.as_deref().zip(entry).map(|(of, entry)| join(of, entry));
                }
            }
            Some(_) => {}
            None => {
                self.target = match meaning {
                    Some(Meaning::Option(path)) => Some(path),
                    _ => None,
                }
            }
        }
    }

    /// Whether an entry of a table begins here.
    fn begins_entry(&self) -> bool {
        matches!(self.open.last(), Some(Open::Table { .. })) && matches!(self.last, Some(Token::Sign("{" | "," | ";")))
    }

    /// The path of the table that is open.
    fn table(&self) -> Option<String> {
        match self.open.last() {
            Some(Open::Table { of, .. }) => of.clone(),
            _ => None,
        }
    }

    /// The option whose value has to come now.
    fn expected(&self) -> Option<String> {
        match self.open.last() {
            Some(Open::Call { list }) => list.clone(),
            Some(Open::Table { key, .. }) if self.is_value => key.clone(),
            Some(Open::Table { of, .. }) if self.begins_entry() => of.clone().filter(|of| is_list(of)),
            Some(_) => None,
            None if self.is_value => self.target.clone(),
            None => None,
        }
    }

    fn slot(&self, is_quoted: bool, name: Option<&str>, begins_line: bool) -> Option<Slot> {
        if let Some(Open::Index { of, .. }) = self.open.last() {
            return of.clone().filter(|_| is_quoted).map(Slot::Name);
        }
        if !is_quoted {
            match (self.joint, &self.meaning) {
                (Joint::Dot, Some(Meaning::Flemma)) => return Some(Slot::Opt),
                (Joint::Dot, Some(Meaning::Option(path))) => return Some(Slot::Name(path.clone())),
                (Joint::Colon, Some(Meaning::Option(path))) => return is_list(path).then_some(Slot::Method),
                (Joint::Dot | Joint::Colon, _) => return None,
                (Joint::Nothing, _) => {}
            }
            // Behind a value, an operator or a new statement comes.
            let is_over = self.meaning.is_some() && name.is_none();
            if self.begins_entry()
                && let Some(of) = self.table().filter(|of| !is_list(of))
            {
                return Some(Slot::Name(of));
            }
            if is_over {
                return None;
            }
        }
        // A method may take a string without brackets.
        let expected = self.expected().or_else(|| self.method_of.clone().filter(|_| is_quoted));
        if let Some(path) = expected {
            return Some(Slot::Value(path));
        }
        (!is_quoted && self.open.is_empty() && begins_line && !self.is_value).then_some(Slot::Root)
    }
}

/// Whether there is a list at a path.
fn is_list(path: &str) -> bool {
    matches!(path, TOOLS | AUTO_APPROVE)
}

/// The tokens of the code, and what it ends in. A string or a comment that is open at the end is no token; a name is.
fn tokens(code: &str) -> (Vec<Token<'_>>, End) {
    let mut found = Vec::new();
    let mut rest = code;
    let mut end = End::Space;
    while let Some(first) = rest.chars().next() {
        end = End::Space;
        let length = match first {
            '-' if rest.starts_with("--") => match long_bracket(&rest[2..]) {
                Some(Ok(length)) => 2 + length,
                Some(Err(())) => return (found, End::Nothing),
                None => match rest.find('\n') {
                    Some(length) => length,
                    None => return (found, End::Nothing),
                },
            },
            '[' => match long_bracket(rest) {
                Some(Ok(length)) => {
                    found.push(Token::Text(""));
                    length
                }
                Some(Err(())) => return (found, End::Nothing),
                None => {
                    found.push(Token::Sign("["));
                    1
                }
            },
            '"' | '\'' => {
                let inside = &rest[1..];
                match string_length(inside, first) {
                    Some(length) => {
                        found.push(Token::Text(&inside[..length]));
                        length + 2
                    }
                    // A line break ends what was not closed.
                    None => match inside.find('\n') {
                        Some(length) => 1 + length,
                        None => return (found, End::Text(inside.len())),
                    },
                }
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.push(Token::Name(&rest[..length]));
                end = End::Name(length);
                length
            }
            c if c.is_ascii_digit() => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
                found.push(Token::Number);
                // Nothing is to be completed there.
                if length == rest.len() {
                    return (found, End::Nothing);
                }
                length
            }
            c if c.is_whitespace() => c.len_utf8(),
            c => {
                let twin = ["..", "==", "~=", "<=", ">="].into_iter().find(|sign| rest.starts_with(sign));
                let length = twin.map_or(c.len_utf8(), str::len);
                found.push(Token::Sign(&rest[..length]));
                length
            }
        };
        rest = &rest[length..];
    }
    (found, end)
}

/// The length of what stands in long brackets here; an error if they are not closed, and `None` if there are none.
fn long_bracket(text: &str) -> Option<Result<usize, ()>> {
    let marks = text.strip_prefix('[')?;
    let level = marks.len() - marks.trim_start_matches('=').len();
    marks[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    Some(text.find(&close).map(|at| at + close.len()).ok_or(()))
}

/// The length of the string that begins here, without its closing quote; `None` if that is missing in its line.
fn string_length(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' if !is_escaped => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}
