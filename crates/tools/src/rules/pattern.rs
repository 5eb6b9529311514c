//! The words of a command rule: `git commit -m *`.
//!
//! A pattern is split into words like in a shell: words are separated by white space, and quotes and backslashes make
//! characters literal. An unquoted `*` matches any text within its word. On its own it matches one word, and as the last word
//! any number of words.

use super::word::{Word, assigned};
use crate::{Decision, wildcard::Wildcard};
use flemma_model::UserError;

/// A pattern for one simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPattern {
    /// `NAME=value` before the command, literally.
    pub(super) assignments: Vec<String>,
    /// Its words; never empty.
    words: Vec<Wildcard>,
    /// Whether any words may follow.
    open: bool,
}

/// How a pattern matched.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandMatch {
    /// For each word of the command that a wildcard matched: its position, and the literal text at the beginning of the
    /// rule's word.
    pub(super) wild: Vec<(usize, String)>,
}

/// Whether a pattern matches a command with unknown words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// It does not.
    No,
    /// It may.
    Maybe,
    /// It does.
    Yes,
}

impl Likeness {
    /// What denials decide that match so.
    pub(super) fn decision(self) -> Option<Decision> {
        match self {
            Self::Yes => Some(Decision::Deny),
            Self::Maybe => Some(Decision::RequireApproval),
            Self::No => None,
        }
    }

    /// That of something that may be denied if anything is.
    pub(super) fn maybe(is_possible: bool) -> Self {
        if is_possible { Self::Maybe } else { Self::No }
    }
}

impl CommandPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// What is wrong with it and the fix, as the end of a message that begins with the rule.
    pub(super) fn parse(text: &str) -> Result<Self, UserError> {
        let mut words = split(text)?;
        let command = words.iter().position(|word| assigned(&word.0[0]).is_none()).unwrap_or(words.len());
        let literal = |word: Wildcard| {
            let problem = || UserError::new("it sets a variable with a wildcard. Write out the value");
            word.literal().map(str::to_owned).ok_or_else(problem)
        };
        let assignments = words.drain(..command).map(literal).collect::<Result<_, _>>()?;
        let open = words.last().is_some_and(Wildcard::is_anything);
        if open && words.len() > 1 {
            words.pop();
        }
        if words.is_empty() {
            return Err(UserError::new("it names no command. Write one, like `git status`"));
        }
        Ok(Self { assignments, words, open })
    }

    /// The program, if it has no wildcard.
    pub(super) fn program(&self) -> Option<&str> {
        self.words.first().and_then(Wildcard::literal)
    }

    /// Whether and how this matches a command. Only the known parts of the command are matched.
    pub(super) fn matches(&self, words: &[Word]) -> Option<CommandMatch> {
        if words.len() < self.words.len() || (words.len() > self.words.len() && !self.open) {
            return None;
        }
        let mut wild = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let glob = self.words.get(place);
            let matches = match (glob, word) {
                (_, Word::Unknown) => false,
                (None, _) => true,
                (Some(glob), Word::Known(text)) => glob.matches(text),
                (Some(glob), Word::Filled(_)) => place > 0 && glob.is_anything(),
            };
            if !matches {
                return None;
            }
            match glob {
                Some(glob) if glob.literal().is_some() => {}
                glob => wild.push((place, glob.map(|glob| glob.0[0].clone()).unwrap_or_default())),
            }
        }
        Some(CommandMatch { wild })
    }

    /// Whether this matches a command that may have unknown words. The program is compared by the last component of its
    /// path, without case.
    pub(super) fn is_like(&self, words: &[Word]) -> Likeness {
        let mut likeness = Likeness::Yes;
        for (place, glob) in self.words.iter().enumerate() {
            match words.get(place) {
                // It may become any number of words.
                Some(Word::Unknown) => return Likeness::Maybe,
                Some(Word::Filled(_)) if glob.is_anything() => {}
                Some(Word::Filled(_)) => likeness = Likeness::Maybe,
                Some(Word::Known(text)) => {
                    let program = super::unapprovable::program(text);
                    let lower = Wildcard(glob.0.iter().map(|piece| piece.to_ascii_lowercase()).collect());
                    if !(glob.matches(text) || (place == 0 && lower.matches(&program))) {
                        return Likeness::No;
                    }
                }
                None => return Likeness::No,
            }
        }
        match &words[self.words.len()..] {
            _ if self.open => likeness,
            [] => likeness,
            rest if rest.iter().all(|word| *word == Word::Unknown) => Likeness::Maybe,
            _ => Likeness::No,
        }
    }
}

/// Splits a pattern into words.
fn split(text: &str) -> Result<Vec<Wildcard>, UserError> {
    let mut words = Vec::new();
    let mut word: Option<Vec<String>> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if quote.is_none() && matches!(character, ' ' | '\t' | '\n') {
            words.extend(word.take().map(Wildcard));
            continue;
        }
        if character == '#' && word.is_none() {
            return Err(UserError::new("`#` starts a comment in a shell. Quote it to match it literally"));
        }
        let pieces = word.get_or_insert_with(|| vec![String::new()]);
        let literal = match (quote, character) {
            (None, '*') => {
                pieces.push(String::new());
                continue;
            }
            (None, '\'' | '"') => {
                quote = Some(character);
                continue;
            }
            (Some(open), _) if open == character => {
                quote = None;
                continue;
            }
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`') => {
                return Err(UserError::new(format!(
                    "it has an unquoted `{character}`. A rule matches the words of a single command: write one rule \
                     for each command, and quote the character if it is part of a word"
                )));
            }
            (None, '\\') => {
                rest.next().ok_or_else(|| UserError::new("it ends in a backslash. Remove it, or write two"))?
            }
            (Some('"'), '\\') if rest.as_str().starts_with(['"', '\\', '$', '`']) => rest.next().unwrap_or(character),
            _ => character,
        };
        pieces.last_mut().into_iter().for_each(|last| last.push(literal));
    }
    if let Some(quote) = quote {
        return Err(UserError::new(format!("a quote `{quote}` in it is not closed")));
    }
    words.extend(word.take().map(Wildcard));
    Ok(words)
}
