//! Command lines that every POSIX shell reads as bash 5 does.
//!
//! Only what is certain is among them: simple commands in lists and pipes, plain words, text in quotes, and the redirections to
//! and from a file, `/dev/null` and descriptors of one digit.

use super::{
    lexer::{self, REDIRECTIONS},
    programs::NAMES,
    word::{Token, is_number},
};

/// The operators.
const OPERATORS: [&str; 10] = ["\n", ";", "&", "&&", "||", "|", "<", ">", ">>", ">&"];

/// Whether every POSIX shell reads a command line as bash 5 does.
pub(super) fn reads_alike(source: &str) -> bool {
    let Some(tokens) = lexer::tokens(source) else { return false };
    let raw = |place: usize| tokens.get(place).map_or("", Token::raw);
    is_plain(source)
        && tokens.iter().enumerate().all(|(place, token)| {
            let before = tokens[..place].last();
            let is_digit = |text: &str| is_number(text) && text.len() == 1;
            match token {
                Token::Operator(">&") => is_digit(raw(place + 1)),
                Token::Operator(operator) => OPERATORS.contains(operator),
                // It is the number of a descriptor, or not.
                Token::Descriptor(number) => is_digit(number),
                Token::Word(word) if is_number(&word.raw) && REDIRECTIONS.contains(&raw(place + 1)) => {
                    is_digit(&word.raw) && !before.is_some_and(|before| REDIRECTIONS.contains(&before.raw()))
                }
                Token::Word(word) if matches!(before, None | Some(Token::Operator(_))) => {
                    !NAMES.shell_names.contains(&word.raw)
                }
                Token::Word(_) => true,
            }
        })
}

/// Whether a line has no character with a meaning that differs, outside quotes or in them.
fn is_plain(source: &str) -> bool {
    let mut quote = None;
    source.chars().all(|character| match (quote, character) {
        (Some(open), _) if open == character => {
            quote = None;
            true
        }
        (Some('"'), '$' | '`' | '\\') => false,
        (Some(_), _) => character.is_ascii(),
        (None, '\'' | '"') => {
            quote = Some(character);
            true
        }
        (None, _) => character.is_ascii_alphanumeric() || "_-./,:=+@% \t\n;&|<>".contains(character),
    })
}
