//! The words of a command line, and their values, as far as they are known before the command runs.

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

/// A piece of a command line.
#[derive(Debug)]
pub(super) enum Token {
    /// A word. After the operator of a here-document, it is the text of that.
    Word(Written),
    /// The number of a descriptor. A redirection follows.
    Descriptor(String),
    /// An operator, or the end of a line.
    Operator(&'static str),
}

impl Token {
    /// It as it is written.
    pub(super) fn raw(&self) -> &str {
        match self {
            Self::Word(word) => &word.raw,
            Self::Descriptor(text) => text,
            Self::Operator(text) => text,
        }
    }
}

/// A word as it is written.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Its text with its quotes, and without line continuations. Of a process substitution it is `<(` or `>(`.
    pub(super) raw: String,
    /// The commands that are substituted in it, in order.
    pub(super) code: Vec<Vec<Token>>,
    /// Its text without its quotes.
    pub(super) text: String,
    /// Where the text of the first substitution in quotes belongs.
    pub(super) filled: Option<usize>,
    /// Whether something in it is not known that may become any number of words.
    pub(super) is_unknown: bool,
    /// Whether it has a brace, and what the shell expands braces around: a comma or a range.
    pub(super) has_brace: bool,
    pub(super) has_list: bool,
}

impl Written {
    /// Its value.
    pub(super) fn word(&self) -> Word {
        match self.filled {
            // The command with this name; in any longer word, it may start a glob.
            _ if self.raw == "[" => Word::Known(self.raw.clone()),
            _ if self.is_unknown || (self.has_brace && self.has_list) => Word::Unknown,
            Some(end) => Word::Filled(self.text[..end].to_owned()),
            None => Word::Known(self.text.clone()),
        }
    }

    /// Adds a character outside quotes, where the shell looks for globs, braces and tildes.
    pub(super) fn push_bare(&mut self, character: char) {
        match character {
            '*' | '?' | '[' => self.is_unknown = true,
            '{' => self.has_brace = true,
            ',' => self.has_list = true,
            '.' => self.has_list |= self.text.ends_with('.'),
            '~' => self.is_unknown |= self.text.is_empty() || self.text.ends_with(['=', ':']),
            _ => {}
        }
        self.text.push(character);
    }

    /// Adds the output of a command.
    pub(super) fn push_code(&mut self, code: Vec<Token>, is_quoted: bool) {
        self.code.push(code);
        self.is_unknown |= !is_quoted;
        self.filled.get_or_insert(self.text.len());
    }
}

/// The name of the variable that a word sets: `NAME=value`.
pub(super) fn assigned(text: &str) -> Option<&str> {
    text.split_once('=').map(|(name, _)| name).filter(|name| is_name(name))
}

/// Whether this is a valid name for a shell variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit()) && !text.is_empty() && text.chars().all(is_of_name)
}

/// Whether a name of a variable may have this character.
pub(super) fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Whether a word is a number.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
