//! The plain part of the shell's language, read strictly: a second opinion on where words begin and end.
//!
//! [`tokens`] splits a command line into words, as they are written, and operators. It follows the lexical rules of
//! bash's manual ("Shell Grammar", "Quoting", "Redirections", "Here Documents") and gives up on whatever is rare,
//! differs between shells, or has led parsers astray: arithmetic, `${…}` with anything but a name, extended globs,
//! arrays, unusual here-document tags, deep nesting, control characters, text that ends too early. The grammar proper
//! is read by `brush-parser`; it only ever sees what was understood here, and must find the same tokens. That guards
//! the editor too, since the crate can panic, or never return, on text that is no shell at all.

/// The longest command line that is read, in bytes.
const MAX_LENGTH: usize = 32 * 1024;

/// How deep substitutions may stand in one another, and parentheses likewise.
const MAX_DEPTH: usize = 12;

/// The words that open a construct, by which the grammar descends.
const OPENING: [&str; 10] = ["!", "[[", "case", "coproc", "for", "function", "if", "until", "while", "{"];

/// How many of them there may be.
const MAX_OPENING: usize = 24;

/// The operators, the longer before those that they begin with.
const OPERATORS: [&str; 23] = [
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "&", ";", "|",
    "<", ">", "(", ")",
];

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word with its quotes, or what belongs to a here-document: its tag, its text, its tag again.
    Word(String),
    /// An operator, or the end of a line.
    Operator(String),
}

/// The tokens of a command line; `None` where it is not plain.
pub(super) fn tokens(source: &str) -> Option<Vec<Token>> {
    let odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if source.len() > MAX_LENGTH || source.contains(odd) {
        return None;
    }
    Scanner::new(source).list(false)
}

/// The commands that are substituted in a word, which [`tokens`] has given; `None` where it is no plain word.
pub(super) fn code_in_word(word: &str) -> Option<Vec<String>> {
    let mut scanner = Scanner::new(word);
    scanner.word()?;
    (scanner.at == word.len()).then_some(scanner.code)
}

/// The commands that are substituted in the text of a here-document in which the shell expands.
pub(super) fn code_in_document(text: &str) -> Option<Vec<String>> {
    let mut scanner = Scanner::new(text);
    scanner.expansions()?;
    Some(scanner.code)
}

/// Whether a name of a variable, as the shell has them.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// A here-document whose text begins on the next line.
struct Pending {
    /// Where in the tokens its text goes.
    place: usize,
    tag: String,
    strips_tabs: bool,
    expands: bool,
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    /// How many substitutions this is in.
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

    /// The tokens up to the end, or, in a substitution, up to the parenthesis that closes it, which is passed.
    fn list(&mut self, in_substitution: bool) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut pending: Vec<Pending> = Vec::new();
        // For each open parenthesis, whether it is a process substitution's.
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
                            // One too many closes a pattern of `case`; the grammar knows whether there is one.
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

    /// The tag of a here-document: a name, bare or in quotes.
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
        // The texts of those before it, which are put in first, push it on.
        let place = tokens.len() + before;
        tokens.push(Token::Word(tag.clone()));
        Some(Pending { place, tag, strips_tabs, expands: quote.is_none() })
    }

    /// The text of a here-document, up to the line that is its tag, which is passed.
    fn document(&mut self, document: &Pending) -> Option<String> {
        let mut text = String::new();
        loop {
            let line = self.rest().split_inclusive('\n').next()?;
            self.at += line.len();
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
            if line.strip_suffix('\n').unwrap_or(line) == document.tag {
                break;
            }
            // Within a substitution bash ends the document at the tag alone, whatever comes after it; and where it
            // expands, it first joins lines, which may make a tag or a dollar sign of what was none.
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

    /// What a here-document, up to its end, has in it that the shell expands.
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

    /// A word as it is written, without the line continuations in it.
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

    /// What stands between double quotes, the first of which is passed.
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

    /// What a dollar sign, which is passed, begins.
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
            // Bash joins the lines before it looks what the dollar sign is for.
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

    /// A command between backticks, the first of which is passed. Backslashes mean too many things in there.
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

    /// Notes the command from `start` up to what closes it, which has just been passed.
    fn substitutes(&mut self, start: usize) {
        if self.depth == 0 {
            self.code.push(self.source[start..self.at - 1].to_owned());
        }
    }
}
