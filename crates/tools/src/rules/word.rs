//! The value of a word of a command line, as far as it is known before the command runs.

use brush_parser::{
    ParserOptions,
    word::{self, WordPiece, WordPieceWithSource},
};

use super::strict_lexer;

/// The beginning of the path of a process substitution.
pub(super) const DESCRIPTOR: &str = "/dev/fd/";

/// The value of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Exactly this, and one word.
    Known(String),
    /// One word with this beginning, followed by the output of a command.
    Filled(String),
    /// Anything, and any number of words.
    Unknown,
}

impl Word {
    /// The value, if it is known.
    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Word::Known(text) => Some(text),
            Word::Filled(_) | Word::Unknown => None,
        }
    }

    /// Whether it is known to be an option.
    pub(super) fn is_option(&self) -> bool {
        self.known().is_some_and(|text| text.starts_with('-') && text.len() > 1)
    }
}

/// A word and the commands that it runs.
#[derive(Debug)]
pub(super) struct Decoded {
    /// Its value.
    pub(super) word: Word,
    /// The commands that are substituted in it, in order.
    pub(super) code: Vec<String>,
}

/// Parses a word as written; `None` if it cannot be parsed.
pub(super) fn decode(raw: &str) -> Option<Decoded> {
    if raw == "[" {
        // The command with this name; in any longer word, it may start a glob.
        return Some(Decoded { word: Word::Known(raw.to_owned()), code: Vec::new() });
    }
    let pieces = word::parse(raw, &ParserOptions::default()).ok()?;
    agreed(&pieces, false, strict_lexer::code_in_word(raw)?)
}

/// Parses the text of a here-document that the shell expands; `None` if it cannot be parsed.
pub(super) fn decode_document(raw: &str) -> Option<Decoded> {
    let pieces = word::parse_heredoc(raw, &ParserOptions::default()).ok()?;
    agreed(&pieces, true, strict_lexer::code_in_document(raw)?)
}

/// What these pieces are, if both parsers find the same commands in them.
fn agreed(pieces: &[WordPieceWithSource], quoted: bool, expected: Vec<String>) -> Option<Decoded> {
    let mut decoder = WordDecoder::default();
    decoder.pieces(pieces, quoted);
    let word = match decoder.filled {
        // Braces are only expanded around a comma or a range.
        _ if decoder.unknown || (decoder.brace && decoder.list) => Word::Unknown,
        Some(start) => Word::Filled(start),
        None => Word::Known(decoder.text),
    };
    (decoder.code == expected).then_some(Decoded { word, code: expected })
}

#[derive(Default)]
struct WordDecoder {
    text: String,
    /// The text before the first substitution.
    filled: Option<String>,
    unknown: bool,
    brace: bool,
    list: bool,
    code: Vec<String>,
}

impl WordDecoder {
    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoted: bool) {
        for piece in pieces {
            self.piece(&piece.piece, quoted);
        }
    }

    fn piece(&mut self, piece: &WordPiece, quoted: bool) {
        match piece {
            WordPiece::Text(text) if quoted => self.text.push_str(text),
            WordPiece::Text(text) => self.bare(text),
            WordPiece::SingleQuotedText(text) => self.text.push_str(text),
            WordPiece::AnsiCQuotedText(text) => match ansi_c(text) {
                Some(text) => self.text.push_str(&text),
                None => self.unknown = true,
            },
            WordPiece::DoubleQuotedSequence(pieces) => self.pieces(pieces, true),
            WordPiece::EscapeSequence(escape) => self.text.push_str(escape.strip_prefix('\\').unwrap_or(escape)),
            WordPiece::CommandSubstitution(code) | WordPiece::BackquotedCommandSubstitution(code) => {
                self.code.push(code.clone());
                if quoted && self.filled.is_none() {
                    self.filled = Some(self.text.clone());
                }
                self.unknown |= !quoted;
            }
            WordPiece::GettextDoubleQuotedSequence(_)
            | WordPiece::TildeExpansion(_)
            | WordPiece::ParameterExpansion(_)
            | WordPiece::ArithmeticExpression(_) => self.unknown = true,
        }
    }

    /// Text outside quotes, in which the shell looks for globs, braces and tildes.
    fn bare(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '*' | '?' | '[' => self.unknown = true,
                '{' => self.brace = true,
                ',' => self.list = true,
                '.' => self.list |= self.text.ends_with('.'),
                '~' => self.unknown |= self.text.is_empty() || self.text.ends_with(['=', ':']),
                _ => {}
            }
            self.text.push(character);
        }
    }
}

/// The text in `$'…'`, according to "ANSI-C Quoting" in bash's manual; `None` if it is unusual or not text.
fn ansi_c(raw: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = raw.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let code = match rest.next()? {
            'n' => '\n',
            't' => '\t',
            quote @ ('\\' | '\'' | '"' | '?') => quote,
            'x' => {
                let mut code = rest.next()?.to_digit(16)?;
                if let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(16)) {
                    code = code * 16 + digit;
                    rest.next();
                }
                printable(code)?
            }
            digit => {
                let mut code = digit.to_digit(8)?;
                for _ in 0..2 {
                    if let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(8)) {
                        code = code * 8 + digit;
                        rest.next();
                    }
                }
                printable(code)?
            }
        };
        text.push(code);
    }
    Some(text)
}

fn printable(code: u32) -> Option<char> {
    char::from_u32(code).filter(|character| matches!(character, ' '..='~' | '\n' | '\t'))
}
