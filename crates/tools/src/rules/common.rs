//! Command lines that every POSIX shell reads as bash 5 does.
//!
//! Only what is certain is among them: simple commands in lists and pipes, plain words, text in quotes, and the redirections to
//! and from a file, `/dev/null` and descriptors of one digit.

use super::{
    programs::NAMES,
    strict_lexer::{self, Token},
};

/// The operators.
const OPERATORS: [&str; 10] = ["\n", ";", "&", "&&", "||", "|", "<", ">", ">>", ">&"];

/// Whether every POSIX shell reads a command line as bash 5 does.
pub(super) fn reads_alike(source: &str) -> bool {
    let Some(tokens) = strict_lexer::tokens(source) else { return false };
    is_plain(source)
        && tokens.iter().enumerate().all(|(place, token)| {
            let before = place.checked_sub(1).map(|before| &tokens[before]);
            let after = tokens.get(place + 1);
            match (token, before, after) {
                // It is the number of a descriptor, or not.
                (Token::Word(word), before, Some(after)) if is_number(word) && redirects(after) => {
                    word.len() == 1 && !before.is_some_and(redirects)
                }
                (Token::Word(word), None | Some(Token::Operator(_)), _) => !NAMES.shell_names.contains(word),
                (Token::Word(_), ..) => true,
                (Token::Operator(operator), _, Some(Token::Word(target))) if operator == ">&" => {
                    is_number(target) && target.len() == 1
                }
                (Token::Operator(operator), ..) => operator != ">&" && OPERATORS.contains(&operator.as_str()),
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

fn redirects(token: &Token) -> bool {
    matches!(token, Token::Operator(operator) if operator.starts_with(['<', '>']))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
