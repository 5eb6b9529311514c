//! The lexer for command lines: where words begin and end, what they say, and which commands are substituted in them.
//!
//! It follows the lexical rules in bash's manual ("Shell Grammar", "Quoting", "Redirections", "Here Documents") and rejects
//! everything that is rare, differs between shells, or has misled parsers: arithmetic, `${…}` with anything but a name, extended
//! globs, arrays, unusual here-document tags, `case` in a substitution, deep nesting, control characters, incomplete text.

use super::word::{DESCRIPTOR, Token, Written, is_name, is_number, is_of_name};

/// The longest command line that is accepted, in bytes.
const MAX_LENGTH: usize = 32 * 1024;

/// The maximum nesting depth of substitutions.
const MAX_DEPTH: usize = 12;

/// The operators, longer ones before their prefixes.
const OPERATORS: [&str; 23] = [
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "&", ";", "|",
    "<", ">", "(", ")",
];

/// The operators of redirections.
pub(super) const REDIRECTIONS: [&str; 12] = ["<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"];

/// The tokens of a command line; `None` if it is not accepted.
pub(super) fn tokens(source: &str) -> Option<Vec<Token>> {
    let odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if source.len() > MAX_LENGTH || source.contains(odd) {
        return None;
    }
    Lexer { source, at: 0, depth: 0 }.list(false)
}

/// Whether nothing follows a command with a here-document. Bash 5.2 and 5.3 write the commands of a substitution anew before
/// they run them, and leave out a `;` that comes after a here-document: two commands become one.
fn ends_with_documents(tokens: &[Token]) -> bool {
    let mut rest = tokens.iter().skip_while(|token| !matches!(token, Token::Operator("<<" | "<<-")));
    let separator = rest.find(|token| matches!(token, Token::Operator(";" | "&" | "\n")));
    separator.is_none_or(|token| token.raw() == "\n") && rest.all(|token| matches!(token.raw(), "\n" | ")"))
}

/// A here-document whose text begins on the next line.
struct Document {
    /// The position of its text in the tokens.
    place: usize,
    tag: String,
    strips_tabs: bool,
    expands: bool,
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    /// The number of enclosing substitutions.
    depth: usize,
}

impl<'a> Lexer<'a> {
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

    /// The rest, without line continuations at its beginning.
    fn joined(&self) -> &'a str {
        self.rest().trim_start_matches("\\\n")
    }

    /// The text up to a character, which is read as well.
    fn until(&mut self, end: char) -> Option<&'a str> {
        let (text, _) = self.rest().split_once(end)?;
        self.at += text.len() + end.len_utf8();
        Some(text)
    }

    /// The tokens up to the end or, in a substitution, up to and including the closing parenthesis.
    fn list(&mut self, in_substitution: bool) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut documents: Vec<Document> = Vec::new();
        let mut open = 0_usize;
        loop {
            let Some(character) = self.peek() else {
                return (documents.is_empty() && !in_substitution).then_some(tokens);
            };
            match character {
                ' ' | '\t' => self.at += 1,
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '\n' => {
                    self.at += 1;
                    tokens.push(Token::Operator("\n"));
                    for document in documents.drain(..) {
                        tokens[document.place] = Token::Word(self.document(&document)?);
                    }
                }
                ')' if in_substitution && open == 0 => {
                    self.at += 1;
                    return (documents.is_empty() && ends_with_documents(&tokens)).then_some(tokens);
                }
                '&' | '|' | ';' | '<' | '>' | '(' | ')' => {
                    let operator = *OPERATORS.iter().find(|operator| self.rest().starts_with(**operator))?;
                    self.at += operator.len();
                    let opens = self.peek() == Some('(');
                    // Bash joins the lines before it reads an operator, which may go on behind the end of a line.
                    if self.peek() == Some('\\') && self.joined().starts_with(['&', '|', ';', '<', '>', '(', ')']) {
                        return None;
                    }
                    match operator {
                        "<" | ">" if opens => {
                            tokens.push(Token::Word(self.process(operator)?));
                            continue;
                        }
                        // Two begin arithmetic.
                        "(" if opens => return None,
                        "(" => open += 1,
                        // An extra one closes a pattern of `case`; the grammar knows whether there is one.
                        ")" => open = open.saturating_sub(1),
                        _ => {}
                    }
                    tokens.push(Token::Operator(operator));
                    if let "<<" | "<<-" = operator {
                        documents.push(self.tag(tokens.len(), operator == "<<-")?);
                        tokens.push(Token::Word(Written::default()));
                    }
                }
                _ => {
                    let word = self.word()?;
                    // Its patterns have parentheses of their own, which do not close the substitution.
                    if in_substitution && word.raw == "case" {
                        return None;
                    }
                    let token = self.descriptor_or_word(word, tokens.last())?;
                    tokens.push(token);
                }
            }
        }
    }

    /// A word or, in front of a redirection, the number of a descriptor.
    fn descriptor_or_word(&self, word: Written, before: Option<&Token>) -> Option<Token> {
        if !self.rest().starts_with(['<', '>']) {
            return Some(Token::Word(word));
        }
        let is_number = is_number(&word.raw);
        // A process substitution in a word, and the name of a variable that takes a descriptor.
        let is_odd = self.rest()[1..].starts_with('(') || (word.raw.starts_with('{') && word.raw.ends_with('}'));
        if is_odd || (is_number && word.raw.len() > 2) {
            return None;
        }
        match before {
            Some(Token::Operator("<&" | ">&")) => Some(Token::Word(word)),
            Some(Token::Operator(operator)) if is_number && REDIRECTIONS.contains(operator) => None,
            _ if is_number => Some(Token::Descriptor(word.raw)),
            _ => Some(Token::Word(word)),
        }
    }

    /// A process substitution, after its first character.
    fn process(&mut self, operator: &str) -> Option<Written> {
        self.at += 1;
        let mut word = Written { raw: format!("{operator}("), text: DESCRIPTOR.into(), ..Written::default() };
        word.push_code(self.substituted()?, true);
        let ends = |next| matches!(next, ' ' | '\t' | '\n' | '&' | '|' | ';' | ')');
        self.peek().is_none_or(ends).then_some(word)
    }

    /// The commands of a substitution, after the opening parenthesis.
    fn substituted(&mut self) -> Option<Vec<Token>> {
        // Two parentheses begin arithmetic.
        if self.joined().starts_with('(') || self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let tokens = self.list(true)?;
        self.depth -= 1;
        Some(tokens)
    }

    /// The tag of a here-document: a name, optionally in quotes.
    fn tag(&mut self, place: usize, strips_tabs: bool) -> Option<Document> {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let raw = self.word()?.raw;
        let unquoted = ['\'', '"'].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote));
        let tag = unquoted.unwrap_or(&raw).to_owned();
        let is_plain = !tag.is_empty() && tag.chars().all(is_of_name);
        is_plain.then_some(Document { place, tag, strips_tabs, expands: unquoted.is_none() })
    }

    /// The text of a here-document. The line with its tag is read as well.
    fn document(&mut self, document: &Document) -> Option<Written> {
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
        if !document.expands {
            return Some(Written { text, ..Written::default() });
        }
        let mut word = Written::default();
        Lexer { source: &text, at: 0, depth: self.depth }.quoted(&mut word, None)?;
        Some(word)
    }

    /// A word.
    fn word(&mut self) -> Option<Written> {
        let mut word = Written::default();
        while let Some(character) = self.peek() {
            let start = self.at;
            if matches!(character, ' ' | '\t' | '\n' | '&' | '|' | ';' | ')' | '<' | '>') {
                break;
            }
            if character == '(' {
                // The name of a function.
                return (self.rest().starts_with("()") && is_name(&word.raw)).then_some(word);
            }
            self.next();
            match character {
                '\\' => match self.next()? {
                    '\n' => continue,
                    escaped => word.text.push(escaped),
                },
                '\'' => word.text.push_str(self.until('\'')?),
                '"' => self.quoted(&mut word, Some('"'))?,
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backticks(&mut word, false)?,
                other => word.push_bare(other),
            }
            word.raw.push_str(&self.source[start..self.at]);
        }
        Some(word)
    }

    /// Text in double quotes up to and including the closing one, or in a here-document up to its end.
    fn quoted(&mut self, word: &mut Written, end: Option<char>) -> Option<()> {
        loop {
            let next = self.next();
            if next == end {
                return Some(());
            }
            match next? {
                '\\' => match self.next()? {
                    // Bash joins the lines before it reads them.
                    '\n' => return None,
                    escaped if "$`\\".contains(escaped) || Some(escaped) == end => word.text.push(escaped),
                    other => word.text.extend(['\\', other]),
                },
                '$' => self.dollar(word, true)?,
                '`' => self.backticks(word, true)?,
                other => word.text.push(other),
            }
        }
    }

    /// What starts with a dollar sign, after that.
    fn dollar(&mut self, word: &mut Written, is_quoted: bool) -> Option<()> {
        let rest = self.rest();
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let code = self.substituted()?;
                word.push_code(code, is_quoted);
            }
            Some('{') => {
                self.at += 1;
                word.is_unknown = is_name(self.until('}')?);
                return word.is_unknown.then_some(());
            }
            // Bash joins the lines before it interprets the dollar sign.
            Some('\\') if rest.starts_with("\\\n") => return None,
            Some('[') => return None,
            Some('"') if !is_quoted => return None,
            Some('\'') if !is_quoted => {
                self.at += 1;
                self.ansi_c(word)?;
            }
            Some(first) if is_of_name(first) || "@*#?-$!".contains(first) => {
                word.is_unknown = true;
                let length = rest.find(|other| !is_of_name(other)).unwrap_or(rest.len());
                self.at += if is_name(&rest[..1]) { length } else { 1 };
            }
            _ => word.text.push('$'),
        }
        Some(())
    }

    /// The text in `$'…'`, according to "ANSI-C Quoting" in bash's manual, after the opening quote. It counts as unknown if it is
    /// unusual or no text.
    fn ansi_c(&mut self, word: &mut Written) -> Option<()> {
        loop {
            let character = match self.next()? {
                '\'' => return Some(()),
                '\\' => match self.next()? {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    quote @ ('\\' | '\'' | '"' | '?') => Some(quote),
                    'x' => self.code(16, 2),
                    '0'..='7' => {
                        self.at -= 1;
                        self.code(8, 3)
                    }
                    _ => None,
                },
                other => Some(other),
            };
            word.is_unknown |= character.is_none();
            word.text.extend(character);
        }
    }

    /// The character with this code, of which at most so many digits are read. `None` if it is not plain text.
    fn code(&mut self, radix: u32, most: usize) -> Option<char> {
        let digits = self.rest().chars().take(most).take_while(|digit| digit.is_digit(radix)).count();
        let code = u32::from_str_radix(&self.rest()[..digits], radix);
        self.at += digits;
        char::from_u32(code.ok()?).filter(|character| matches!(character, ' '..='~' | '\n' | '\t'))
    }

    /// A command between backticks, after the first one. Backslashes have too many meanings in it.
    fn backticks(&mut self, word: &mut Written, is_quoted: bool) -> Option<()> {
        let source = self.until('`')?;
        if source.contains('\\') || self.depth == MAX_DEPTH {
            return None;
        }
        word.push_code(Lexer { source, at: 0, depth: self.depth + 1 }.list(false)?, is_quoted);
        Some(())
    }
}
