//! The place of the cursor in code that sets options: which option or value belongs there.
//!
//! The code ends at the cursor, so it is never complete, and it may be wrong before that. It is read backwards from the cursor, token
//! by token. Only what leads to an option counts: brackets and keys, and in Lua `flemma.opt` and what follows it, assignments to it,
//! operations on lists, and local names for a part of it (`local opt = flemma.opt`). JSON has the same strings, names and signs as Lua.

use flemma_config::buffer::{AUTO_APPROVE, OPERATIONS, TOOLS};

/// What belongs where the cursor is. Paths are those of options in a file; the empty one is that of all options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// `flemma.opt`.
    Root,
    /// What follows `flemma.`.
    Opt,
    /// The name of an option in this table.
    Name(String),
    /// The value of this option; for a list, one of its entries.
    Value(String),
    /// An operation on a list, as a method.
    Method,
}

/// The place of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// What belongs there.
    pub(crate) slot: Slot,
    /// How many bytes before the cursor already belong to it.
    pub(crate) typed: usize,
    /// Whether the cursor is in a string.
    pub(crate) is_quoted: bool,
}

/// A token of the code. A number is an empty text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Text(&'a str),
    Sign(&'a str),
}

use Token::{Name, Sign, Text};

/// What an expression is.
enum Meaning {
    /// `flemma`.
    Flemma,
    /// The option or table at a path; the empty one is `flemma.opt`.
    Option(String),
}

/// The place at the end of Lua.
pub(crate) fn in_lua(code: &str) -> Option<Spot> {
    spot(code, |tokens, is_quoted, typed| {
        let before = &code[..code.len() - typed];
        let begins_line = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
        lua_slot(tokens, is_quoted, typed > 0, begins_line)
    })
}

/// The place at the end of JSON.
pub(crate) fn in_json(code: &str) -> Option<Spot> {
    spot(code, |tokens, _, _| json_slot(tokens))
}

/// The place at the end of the code, where `slot` says what belongs there: from the tokens before it, from whether it is in a string, and
/// from how many bytes are there already.
fn spot(code: &str, slot: impl FnOnce(&[Token<'_>], bool, usize) -> Option<Slot>) -> Option<Spot> {
    let (tokens, typed, is_quoted) = tokens(code)?;
    Some(Spot { slot: slot(&tokens, is_quoted, typed)?, typed, is_quoted })
}

fn json_slot(tokens: &[Token<'_>]) -> Option<Slot> {
    let at = enclosing(tokens)?;
    let path = json_path(&tokens[..at]);
    match tokens {
        [.., Text(key), Sign(":")] => Some(Slot::Value(json_entry(path, key))),
        [.., Sign("[" | "{" | ",")] if tokens[at] == Sign("[") => Some(Slot::Value(path)),
        [.., Sign("{" | ",")] => Some(Slot::Name(path)),
        _ => None,
    }
}

/// The path of the object or the list that opens behind these tokens.
fn json_path(tokens: &[Token<'_>]) -> String {
    let Some(at) = enclosing(tokens) else { return String::new() };
    let table = json_path(&tokens[..at]);
    match tokens {
        [.., Text(key), Sign(":")] => json_entry(table, key),
        _ => table,
    }
}

/// The path of an entry. An operation on a list is about the list itself.
fn json_entry(table: String, key: &str) -> String {
    if is_list(&table) && OPERATIONS.contains(&key) { table } else { join(&table, key) }
}

fn lua_slot(tokens: &[Token<'_>], is_quoted: bool, has_name: bool, begins_line: bool) -> Option<Slot> {
    let open = enclosing(tokens);
    if let Some(at) = open.filter(|at| tokens[*at] == Sign("[")) {
        let indexed = option(&tokens[..at]).or_else(|| entered(&tokens[..at]));
        return indexed.filter(|_| is_quoted).map(Slot::Name);
    }
    let table = entered(tokens);
    let value = value(tokens);
    if !is_quoted {
        match tokens {
            [before @ .., Sign(".")] => {
                return Some(match meaning(before)? {
                    Meaning::Flemma => Slot::Opt,
                    Meaning::Option(path) => Slot::Name(path),
                });
            }
            [before @ .., Sign(":")] => return option(before).filter(|path| is_list(path)).map(|_| Slot::Method),
            _ => {}
        }
        if let Some(table) = table.clone().filter(|table| !is_list(table)) {
            return Some(Slot::Name(table));
        }
        // Behind a value, an operator or a new statement comes.
        if !has_name && meaning(tokens).is_some() {
            return None;
        }
    }
    // A method may take a string without brackets.
    let expected = value.or_else(|| table.filter(|table| is_list(table)));
    if let Some(path) = expected.or_else(|| method(tokens).filter(|_| is_quoted)) {
        return Some(Slot::Value(path));
    }
    let wants_value = matches!(tokens, [.., Sign("=" | "+" | "-" | "^" | "..")]);
    (!is_quoted && open.is_none() && begins_line && !wants_value).then_some(Slot::Root)
}

/// The innermost bracket that is open at the end of these tokens.
fn enclosing(tokens: &[Token<'_>]) -> Option<usize> {
    let mut closed = 0;
    tokens.iter().rposition(|token| match token {
        Sign(")" | "}" | "]") => {
            closed += 1;
            false
        }
        Sign("(" | "{" | "[") if closed == 0 => true,
        Sign("(" | "{" | "[") => {
            closed -= 1;
            false
        }
        _ => false,
    })
}

/// What the expression at the end of these tokens means.
fn meaning(tokens: &[Token<'_>]) -> Option<Meaning> {
    match tokens {
        [before @ .., Sign("."), Name(name)] => match meaning(before)? {
            Meaning::Flemma if *name == "opt" => Some(Meaning::Option(String::new())),
            Meaning::Flemma => None,
            Meaning::Option(path) => Some(Meaning::Option(join(&path, name))),
        },
        [before @ .., Sign("["), Text(name), Sign("]")] => Some(Meaning::Option(join(&option(before)?, name))),
        [.., Sign(":"), Name(_)] => None,
        [.., Name("flemma")] => Some(Meaning::Flemma),
        [before @ .., Name(name)] => local(before, name),
        _ => None,
    }
}

/// What the local name means that was declared before.
fn local(tokens: &[Token<'_>], name: &str) -> Option<Meaning> {
    let declares =
        |at: &usize| matches!(tokens[*at..], [Name("local"), Name(other), Sign("="), _, ..] if other == name);
    let first = (0..tokens.len()).rev().find(declares)? + 3;
    let mut end = first + 1;
    loop {
        end += match tokens[end..] {
            [Sign("."), Name(_), ..] => 2,
            [Sign("["), Text(_), Sign("]"), ..] => 3,
            _ => return meaning(&tokens[..end]),
        };
    }
}

/// The option that the expression at the end of these tokens is.
fn option(tokens: &[Token<'_>]) -> Option<String> {
    match meaning(tokens)? {
        Meaning::Option(path) => Some(path),
        Meaning::Flemma => None,
    }
}

/// The list whose method is named last.
fn method(tokens: &[Token<'_>]) -> Option<String> {
    match tokens {
        [before @ .., Sign(":"), Name(_)] => option(before),
        _ => None,
    }
}

/// The option whose value has to come behind these tokens.
fn value(tokens: &[Token<'_>]) -> Option<String> {
    match tokens {
        [before @ .., Sign("=")] => target(before),
        [before @ .., Sign("+" | "-" | "^" | "..")] => value(without_operand(before)?),
        _ => {
            let at = enclosing(tokens).filter(|at| tokens[*at] == Sign("("))?;
            method(&tokens[..at])
        }
    }
}

/// The option that an `=` behind these tokens assigns to.
fn target(tokens: &[Token<'_>]) -> Option<String> {
    let Some(at) = enclosing(tokens) else { return option(tokens) };
    match tokens {
        [.., Sign("{" | "," | ";"), Name(key)] | [.., Sign("{" | "," | ";"), Sign("["), Text(key), Sign("]")]
            if tokens[at] == Sign("{") =>
        {
            Some(join(&table(&tokens[..at])?, key))
        }
        _ => None,
    }
}

/// The option whose table or list opens behind these tokens.
fn table(tokens: &[Token<'_>]) -> Option<String> {
    method(tokens).or_else(|| value(tokens))
}

/// The table or list of which an entry begins behind these tokens.
fn entered(tokens: &[Token<'_>]) -> Option<String> {
    let at = enclosing(tokens).filter(|at| tokens[*at] == Sign("{"))?;
    matches!(tokens, [.., Sign("{" | "," | ";")]).then(|| table(&tokens[..at]))?
}

/// The tokens without the operand at their end.
fn without_operand<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<&'a [Token<'b>]> {
    match tokens {
        [before @ .., Sign(")" | "}" | "]")] => {
            let before = &before[..enclosing(before)?];
            // What is called or indexed belongs to it.
            Some(without_operand(before).unwrap_or(before))
        }
        [before @ .., Sign("." | ":"), Name(_)] => without_operand(before),
        [before @ .., Name(_) | Text(_)] => Some(before),
        _ => None,
    }
}

/// The path of an option in a table.
fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// Whether there is a list at a path.
pub(crate) fn is_list(path: &str) -> bool {
    matches!(path, TOOLS | AUTO_APPROVE)
}

/// The tokens before the place at the end of the code, how many bytes are at that already, and whether it is in a string; `None` in a
/// comment, in a string of several lines and at a number.
fn tokens(code: &str) -> Option<(Vec<Token<'_>>, usize, bool)> {
    let mut found = Vec::new();
    let mut rest = code;
    // The length of the name that has been read last, if nothing follows it.
    let mut typed = 0;
    while let Some(first) = rest.chars().next() {
        typed = 0;
        let length = match first {
            '-' if rest.starts_with("--") => match long_bracket(&rest[2..]) {
                Some(length) => 2 + length?,
                None => rest.find('\n')?,
            },
            '[' => match long_bracket(rest) {
                Some(length) => {
                    found.push(Token::Text(""));
                    length?
                }
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
                        None => return Some((found, inside.len(), true)),
                    },
                }
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.push(Token::Name(&rest[..length]));
                typed = length;
                length
            }
            c if c.is_ascii_digit() => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
                found.push(Token::Text(""));
                // Nothing is to be completed there.
                if length == rest.len() {
                    return None;
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
    if typed > 0 {
        found.pop();
    }
    Some((found, typed, false))
}

/// The length of what stands in long brackets here, if they are closed; `None` if there are none.
fn long_bracket(text: &str) -> Option<Option<usize>> {
    let marks = text.strip_prefix('[')?;
    let level = marks.len() - marks.trim_start_matches('=').len();
    marks[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    Some(text.find(&close).map(|at| at + close.len()))
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
