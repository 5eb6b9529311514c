//! A strict lexer for the simple part of the shell's language: a second opinion on where words begin and end.
//!
//! [`tokens`] splits a command line into words, as written, and operators. It follows the lexical rules in bash's manual
//! ("Shell Grammar", "Quoting", "Redirections", "Here Documents") and rejects everything that is rare, differs between
//! shells, or has misled parsers: arithmetic, `${…}` with anything but a name, extended globs, arrays, unusual here-document
//! tags, deep nesting, control characters, incomplete text. `brush-parser` parses the full grammar. It only gets text that
//! was accepted here, and must find the same tokens. This also protects the editor, since the crate can panic or hang on
//! text that is not a shell command.

/// The longest command line that is accepted, in bytes.
const MAX_LENGTH: usize = 32 * 1024;

/// The maximum nesting depth of substitutions, and of parentheses.
const MAX_DEPTH: usize = 12;

/// The words that open a construct, which makes the parser recurse.
const OPENING: [&str; 10] = ["!", "[[", "case", "coproc", "for", "function", "if", "until", "while", "{"];

/// The maximum number of them.
const MAX_OPENING: usize = 24;

/// The operators, longer ones before their prefixes.
const OPERATORS: [&str; 23] = [
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "&", ";", "|",
    "<", ">", "(", ")",
];

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word with its quotes, or a part of a here-document: its tag, its text, its closing tag.
    Word(String),
    /// An operator, or the end of a line.
    Operator(String),
}

/// The tokens of a command line; `None` if it is not accepted.
pub(super) fn tokens(source: &str) -> Option<Vec<Token>> {
    let odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if source.len() > MAX_LENGTH || source.contains(odd) {
        return None;
    }
    Scanner::new(source).list(false)
}

/// The commands that are substituted in a word from [`tokens`]; `None` if the word is not accepted.
pub(super) fn code_in_word(word: &str) -> Option<Vec<String>> {
    let mut scanner = Scanner::new(word);
    scanner.word()?;
    (scanner.at == word.len()).then_some(scanner.code)
}

/// The commands that are substituted in the text of a here-document that the shell expands.
pub(super) fn code_in_document(text: &str) -> Option<Vec<String>> {
    let mut scanner = Scanner::new(text);
    scanner.expansions()?;
    Some(scanner.code)
}

/// Whether this is a valid name for a shell variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// A here-document whose text begins on the next line.
struct Pending {
    /// The position of its text in the tokens.
    place: usize,
    tag: String,
    strips_tabs: bool,
    expands: bool,
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    /// The number of enclosing substitutions.
    depth: usize,
    /// The commands of the outermost substitutions.
    code: Vec<String>,
}

impl<'a> Scanner<'a> {
    fn new(source: &'a str) -> Self {
        Self { source, at: 0, depth: 0, code: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The tokens up to the end or, in a substitution, up to and including the closing parenthesis.
    fn list(&mut self, in_substitution: bool) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut pending: Vec<Pending> = Vec::new();
        // For each open parenthesis, whether it belongs to a process substitution.
        let mut open: Vec<bool> = Vec::new();
        let mut opening = 0;
        loop {
            let Some(character) = self.peek() else {
                let complete = pending.is_empty() && open.is_empty() && !in_substitution;
                return complete.then_some(tokens);
            };
            match character {
                ' ' | '\t' => self.at += 1,
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '\n' => {
                    self.at += 1;
                    tokens.push(Token::Operator("\n".into()));
                    for document in pending.drain(..) {
                        let text = self.document(&document)?;
                        tokens.insert(document.place, Token::Word(text));
                    }
                }
                ')' if in_substitution && open.is_empty() => {
                    self.at += 1;
                    return pending.is_empty().then_some(tokens);
                }
                '&' | '|' | ';' | '<' | '>' | '(' | ')' => {
                    let operator = *OPERATORS.iter().find(|operator| self.rest().starts_with(**operator))?;
                    self.at += operator.len();
                    tokens.push(Token::Operator(operator.into()));
                    match operator {
                        "(" => {
                            if self.peek() == Some('(') || open.len() == MAX_DEPTH {
                                return None;
                            }
                            open.push(false);
                        }
                        ")" => {
                            // An extra one closes a pattern of `case`; the grammar checks whether there is one.
                            let substitutes = open.pop() == Some(true);
                            if substitutes && !self.at_the_end_of_a_word() {
                                return None;
                            }
                        }
                        "<" | ">" if self.eat("(") => {
                            if self.peek() == Some('(') || open.len() == MAX_DEPTH {
                                return None;
                            }
                            tokens.push(Token::Operator("(".into()));
                            open.push(true);
                        }
                        "<<" | "<<-" => pending.push(self.tag(&mut tokens, operator == "<<-", pending.len())?),
                        _ => {}
                    }
                }
                _ => {
                    let word = self.word()?;
                    // Its patterns have parentheses of their own, which do not close the substitution.
                    if in_substitution && word == "case" {
                        return None;
                    }
                    opening += usize::from(OPENING.contains(&word.as_str()));
                    if opening > MAX_OPENING {
                        return None;
                    }
                    tokens.push(Token::Word(word));
                }
            }
        }
    }

    fn at_the_end_of_a_word(&self) -> bool {
        self.peek().is_none_or(|next| matches!(next, ' ' | '\t' | '\n' | '&' | '|' | ';' | ')'))
    }

    /// The tag of a here-document: a name, optionally in quotes.
    fn tag(&mut self, tokens: &mut Vec<Token>, strips_tabs: bool, before: usize) -> Option<Pending> {
        while self.eat(" ") || self.eat("\t") {}
        let start = self.at;
        let quote = self.peek().filter(|first| matches!(first, '\'' | '"'));
        if quote.is_some() {
            self.at += 1;
        }
        let length = self.rest().find(|other: char| !(other.is_ascii_alphanumeric() || other == '_'))?;
        let tag = self.rest()[..length].to_owned();
        self.at += length;
        if tag.is_empty() || (quote.is_some() && self.next() != quote) {
            return None;
        }
        if !self.peek().is_some_and(|next| matches!(next, ' ' | '\t' | '\n' | '|' | ';' | '&' | '<' | '>' | ')')) {
            return None;
        }
        tokens.push(Token::Word(self.source[start..self.at].to_owned()));
        // The texts of earlier ones are inserted first and move it.
        let place = tokens.len() + before;
        tokens.push(Token::Word(tag.clone()));
        Some(Pending { place, tag, strips_tabs, expands: quote.is_none() })
    }

    /// The text of a here-document, up to and including the line with its tag.
    fn document(&mut self, document: &Pending) -> Option<String> {
        let mut text = String::new();
        loop {
            let line = self.rest().split_inclusive('\n').next()?;
            self.at += line.len();
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
            if line.strip_suffix('\n').unwrap_or(line) == document.tag {
                break;
            }
            // In a substitution, bash ends the document at the tag, whatever follows it. If it expands the text, it first
            // joins lines, which may create a tag or a dollar sign.
            if line.starts_with(&document.tag) || (document.expands && line.ends_with("\\\n")) {
                return None;
            }
            text.push_str(line);
        }
        if document.expands {
            Scanner { depth: self.depth, ..Scanner::new(&text) }.expansions()?;
        }
        Some(text)
    }

    /// The parts of a here-document, up to its end, that the shell expands.
    fn expansions(&mut self) -> Option<()> {
        while let Some(character) = self.next() {
            match character {
                '\\' => {
                    self.next()?;
                }
                '$' => self.dollar(true)?,
                '`' => self.backticks()?,
                _ => {}
            }
        }
        Some(())
    }

    /// A word as written, without line continuations.
    fn word(&mut self) -> Option<String> {
        let mut word = String::new();
        while let Some(character) = self.peek() {
            let start = self.at;
            match character {
                ' ' | '\t' | '\n' | '&' | '|' | ';' | ')' => break,
                '<' | '>' => {
                    // The number of a descriptor, or the name of a variable that takes one.
                    let descriptor = word.bytes().all(|byte| byte.is_ascii_digit());
                    let variable = word.starts_with('{') && word.ends_with('}');
                    if self.rest()[1..].starts_with('(') || (descriptor && word.len() > 2) || variable {
                        return None;
                    }
                    break;
                }
                '(' if self.rest().starts_with("()") && is_name(&word) => break,
                '(' => return None,
                '\\' => {
                    self.at += 1;
                    if self.next()? == '\n' {
                        continue;
                    }
                }
                '\'' => self.quoted()?,
                '"' => {
                    self.at += 1;
                    self.double_quoted()?;
                }
                '$' => {
                    self.at += 1;
                    self.dollar(false)?;
                }
                '`' => {
                    self.at += 1;
                    self.backticks()?;
                }
                other => self.at += other.len_utf8(),
            }
            word.push_str(&self.source[start..self.at]);
        }
        Some(word)
    }

    fn quoted(&mut self) -> Option<()> {
        self.at += 1;
        self.at += self.rest().find('\'')? + 1;
        Some(())
    }

    /// The text between double quotes, after the opening quote.
    fn double_quoted(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' if self.next()? == '\n' => return None,
                '$' => self.dollar(true)?,
                '`' => self.backticks()?,
                _ => {}
            }
        }
    }

    /// The construct that starts with a dollar sign, after the dollar sign.
    fn dollar(&mut self, in_quotes: bool) -> Option<()> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                if self.peek() == Some('(') || self.depth == MAX_DEPTH {
                    return None;
                }
                let start = self.at;
                self.depth += 1;
                self.list(true)?;
                self.depth -= 1;
                self.substitutes(start);
            }
            Some('{') => {
                let end = self.rest().find('}')?;
                if !is_name(&self.rest()[1..end]) {
                    return None;
                }
                self.at += end + 1;
            }
            // Bash joins the lines before it interprets the dollar sign.
            Some('\\') if self.rest().starts_with("\\\n") => return None,
            Some('[') => return None,
            Some('"') if !in_quotes => return None,
            Some('\'') if !in_quotes => {
                self.at += 1;
                loop {
                    match self.next()? {
                        '\'' => break,
                        '\\' => {
                            self.next()?;
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// A command between backticks, after the first one. Backslashes have too many meanings in it.
    fn backticks(&mut self) -> Option<()> {
        let end = self.rest().find('`')?;
        if self.rest()[..end].contains('\\') {
            return None;
        }
        let start = self.at;
        self.at += end + 1;
        self.substitutes(start);
        Some(())
    }

    /// Records the command from `start` up to its closing character, which was just consumed.
    fn substitutes(&mut self, start: usize) {
        if self.depth == 0 {
            self.code.push(self.source[start..self.at - 1].to_owned());
        }
    }
}
