//! Where in a script one is: between which quotes, in a comment, in an expression.
//!
//! The script is read byte by byte. A stack has what is open: scripts (the whole, and those in `$( )`, `( )` and
//! backticks), quotes, `${ }`, expressions, here-documents. A word that is a script for another shell is read by a context
//! of its own.

use std::{collections::VecDeque, mem};

use super::nested::{self, DECLARES, Has, NestedScript};

/// Commands whose words are names of variables, with a subscript that is an expression.
const TAKES_NAMES: [&str; 10] =
    ["unset", "read", "mapfile", "readarray", "getopts", "declare", "typeset", "local", "export", "readonly"];

/// A place in a script.
pub(super) struct Context {
    pub(super) open: Vec<Open>,
    /// Whether a backslash comes before.
    pub(super) is_escaped: bool,
    /// Whether a dollar sign comes before.
    pub(super) is_dollar: bool,
    pub(super) has: Has,
}

/// Something that is open.
pub(super) enum Open {
    Script(Script),
    /// `' '`.
    Single,
    /// `$' '`.
    Ansi,
    /// `" "`.
    Double,
    /// `${ }`, and what it has so far.
    Brace(Vec<u8>),
    /// `$(( ))`, `(( ))` or `$[ ]`: how many brackets are open, and the one that closes.
    Expression(usize, u8),
    Comment,
    HereDocument(HereDocument),
}

/// What closes a script.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Text,
    Parenthesis,
    Backtick,
}

/// A script that is open.
#[derive(Default)]
pub(super) struct Script {
    end: End,
    /// Whether nothing of it was read.
    pub(super) is_new: bool,
    pub(super) word: Option<Word>,
    /// The words of the command before this one.
    pub(super) command: Vec<Vec<u8>>,
    /// How many `case` are open, in which a parenthesis closes a pattern.
    cases: usize,
    /// How many `<` come before.
    pub(super) less: usize,
    /// Whether the next word, or this one, is a here-string.
    pub(super) is_here_string: bool,
    /// The here-document whose delimiter is the next word.
    here: Option<HereDocument>,
    /// Here-documents that begin with the next line.
    documents: VecDeque<HereDocument>,
    /// The word that another shell reads.
    pub(super) nested: Option<(NestedScript, Box<Context>)>,
}

/// A word, as far as it was read, without quotes. A NUL stands for what only the shell knows.
#[derive(Default)]
pub(super) struct Word {
    pub(super) text: Vec<u8>,
    is_quoted: bool,
}

#[derive(Default)]
pub(super) struct HereDocument {
    delimiter: Vec<u8>,
    /// Whether nothing is expanded in it.
    is_quoted: bool,
    /// Whether tabs before the delimiter do not count.
    strips_tabs: bool,
    line: Vec<u8>,
}

impl Context {
    /// The start of a script.
    pub(super) fn of(script: &[u8]) -> Self {
        Self::start(Has::of(script))
    }

    fn start(has: Has) -> Self {
        let open = vec![Open::Script(Script::new(End::Text))];
        Self { open, is_escaped: false, is_dollar: false, has }
    }

    /// Reads on.
    pub(super) fn read(&mut self, byte: u8) {
        let is_dollar = mem::take(&mut self.is_dollar);
        if mem::take(&mut self.is_escaped) {
            return self.read_escaped(byte);
        }
        let Some(top) = self.open.last_mut() else { return };
        match top {
            Open::Script(_) => self.read_script(byte, is_dollar),
            Open::Single | Open::Ansi if byte == b'\'' => drop(self.open.pop()),
            Open::Ansi if byte == b'\\' => self.is_escaped = true,
            Open::Single | Open::Ansi => self.literal(byte),
            Open::Double if byte == b'"' => drop(self.open.pop()),
            Open::Brace(_) if byte == b'}' => drop(self.open.pop()),
            Open::Comment if byte == b'\n' => {
                self.open.pop();
                self.read(byte);
            }
            Open::Comment => {}
            Open::HereDocument(document) => {
                if byte == b'\n' {
                    let line = mem::take(&mut document.line);
                    let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
                    if line[if document.strips_tabs { tabs } else { 0 }..] == document.delimiter {
                        self.open.pop();
                        self.next_document();
                    }
                    return;
                }
                document.line.push(byte);
                if !document.is_quoted {
                    self.read_expansion(byte, is_dollar);
                }
            }
            Open::Expression(open, close) => {
                let opening = if *close == b']' { b'[' } else { b'(' };
                if byte == *close {
                    *open -= 1;
                    if *open == 0 {
                        self.open.pop();
                    }
                } else if byte == opening && !is_dollar {
                    *open += 1;
                } else if byte == b'"' || byte == b'\'' {
                    self.open.push(if byte == b'"' { Open::Double } else { Open::Single });
                } else {
                    self.read_expansion(byte, is_dollar);
                }
            }
            Open::Brace(text) => {
                text.push(byte);
                let is_in_double = self.is_in_double();
                match byte {
                    b'"' => self.open.push(Open::Double),
                    b'\'' if !is_in_double => self.open.push(if is_dollar { Open::Ansi } else { Open::Single }),
                    byte => self.read_expansion(byte, is_dollar),
                }
            }
            Open::Double => {
                if byte != b'\\' {
                    self.literal(if opens_expansion(byte, is_dollar) { 0 } else { byte });
                }
                self.read_expansion(byte, is_dollar);
            }
        }
    }

    /// Reads what a backslash comes before.
    fn read_escaped(&mut self, byte: u8) {
        match self.open.last_mut() {
            Some(Open::Double) if !matches!(byte, b'$' | b'`' | b'"' | b'\\' | b'\n') => {
                self.literal(b'\\');
                self.literal(byte);
            }
            Some(Open::Script(_) | Open::Double) if byte == b'\n' => {}
            Some(Open::Script(script)) => {
                script.begin_word(byte, self.has).is_quoted = true;
                self.literal(byte);
            }
            Some(Open::Double | Open::Ansi) => self.literal(byte),
            Some(Open::HereDocument(document)) => document.line.push(byte),
            Some(Open::Brace(text)) => text.push(byte),
            _ => {}
        }
    }

    /// What means the same in a script, in double quotes, braces, expressions and here-documents.
    fn read_expansion(&mut self, byte: u8, is_dollar: bool) {
        match (byte, is_dollar) {
            (b'\\', _) => self.is_escaped = true,
            (b'`', _) => self.read_backtick(),
            (b'(', true) => self.open.push(Open::Script(Script::new(End::Parenthesis))),
            (b'{', true) => self.open.push(Open::Brace(Vec::new())),
            (b'[', true) => self.open.push(Open::Expression(1, b']')),
            (b'$', false) => self.is_dollar = true,
            _ => {}
        }
    }

    fn read_backtick(&mut self) {
        let is_open = |open: &Open| matches!(open, Open::Script(script) if script.end == End::Backtick);
        match self.open.iter().rposition(is_open) {
            Some(at) => self.open.truncate(at),
            None => self.open.push(Open::Script(Script::new(End::Backtick))),
        }
    }

    fn read_script(&mut self, byte: u8, is_dollar: bool) {
        let Some(Open::Script(script)) = self.open.last_mut() else { return };
        let is_new = mem::take(&mut script.is_new);
        let less = mem::take(&mut script.less);
        if less == 2 && byte != b'<' {
            script.here = Some(HereDocument { strips_tabs: byte == b'-', ..HereDocument::default() });
            if byte == b'-' {
                return;
            }
        }
        match byte {
            b'(' if is_new && script.end == End::Parenthesis => {
                self.open.pop();
                self.open.push(Open::Expression(2, b')'));
            }
            b'(' if !is_dollar => {
                script.end_command();
                self.open.push(Open::Script(Script::new(End::Parenthesis)));
            }
            b')' => {
                script.end_command();
                if script.end == End::Parenthesis && script.cases == 0 {
                    self.open.pop();
                }
            }
            b'#' if script.word.is_none() => self.open.push(Open::Comment),
            b' ' | b'\t' => script.end_word(),
            b';' | b'&' | b'|' => script.end_command(),
            b'\n' => {
                script.end_command();
                self.next_document();
            }
            b'<' | b'>' => {
                script.end_word();
                script.less = if byte == b'<' { less + 1 } else { 0 };
                script.is_here_string = script.less == 3;
            }
            b'\'' | b'"' => {
                script.begin_word(byte, self.has).is_quoted = true;
                self.open.push(match byte {
                    b'"' => Open::Double,
                    _ if is_dollar => Open::Ansi,
                    _ => Open::Single,
                });
            }
            b'\\' => self.is_escaped = true,
            byte => {
                script.begin_word(byte, self.has);
                self.literal(if opens_expansion(byte, is_dollar) { 0 } else { byte });
                self.read_expansion(byte, is_dollar);
            }
        }
    }

    /// Begins the next here-document, where there is one.
    fn next_document(&mut self) {
        if let Some(Open::Script(script)) = self.open.last_mut()
            && let Some(document) = script.documents.pop_front()
        {
            self.open.push(Open::HereDocument(document));
        }
    }

    /// Whether what is open stands in double quotes or in a here-document.
    pub(super) fn is_in_double(&self) -> bool {
        matches!(self.open.iter().rev().nth(1), Some(Open::Double | Open::HereDocument(_)))
    }

    /// The script whose word this is, where nothing but quotes is between.
    pub(super) fn word_script(&mut self) -> Option<&mut Script> {
        let is_quote = matches!(self.open.last()?, Open::Single | Open::Ansi | Open::Double);
        match self.open.iter_mut().rev().nth(usize::from(is_quote))? {
            Open::Script(script) => Some(script),
            _ => None,
        }
    }

    /// A byte of a word as the program gets it.
    fn literal(&mut self, byte: u8) {
        if let Some(script) = self.word_script() {
            script.word.get_or_insert_default().text.push(byte);
            if let Some((_, nested)) = &mut script.nested {
                nested.read(byte);
            }
        }
    }
}

/// Whether something begins that only the shell knows the text of.
fn opens_expansion(byte: u8, is_dollar: bool) -> bool {
    byte == b'`' || is_dollar && matches!(byte, b'(' | b'{' | b'[')
}

impl Script {
    fn new(end: End) -> Self {
        Self { end, is_new: true, ..Self::default() }
    }

    /// The word so far, without what stands for a value at its end.
    pub(super) fn text(&self) -> &[u8] {
        self.word.as_ref().map_or(&b""[..], |word| word.text.strip_suffix(b"\0").unwrap_or(&word.text))
    }

    /// The name of the command.
    fn program(&self) -> &str {
        self.command.first().map_or("", |first| std::str::from_utf8(first).unwrap_or_default())
    }

    /// Whether the word is evaluated as an expression.
    pub(super) fn evaluates(&self, has: Has) -> bool {
        let (program, word) = (self.program(), self.text());
        // `list[…]=value`.
        let takes_one = program.is_empty() || TAKES_NAMES.contains(&program);
        let is_subscript = takes_one && word.contains(&b'[') && !word.contains(&b']');
        let is_assigned = word.contains(&b'=') && (program.is_empty() || DECLARES.contains(&program));
        program == "let"
            || has.number_tests && program == "[["
            || is_subscript
            || has.evaluating_variables && is_assigned
    }

    /// Whether the word is the name of a variable.
    pub(super) fn takes_names(&self) -> bool {
        let is_tested = matches!(self.program(), "test" | "[" | "[[" | "printf")
            && self.command.last().is_some_and(|last| last == b"-v");
        is_tested || TAKES_NAMES.contains(&self.program()) && !self.text().contains(&b'=')
    }

    /// The word, which begins with this byte if there was none.
    pub(super) fn begin_word(&mut self, first: u8, has: Has) -> &mut Word {
        if self.word.is_none() && self.nested.is_none() && self.here.is_none() {
            let nested = nested::script(&self.command, first);
            self.nested = nested.map(|nested| (nested, Box::new(Context::start(has))));
        }
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        self.is_here_string = false;
        self.nested = None;
        if let Some(here) = self.here.take() {
            self.documents.push_back(HereDocument { delimiter: word.text, is_quoted: word.is_quoted, ..here });
            return;
        }
        if self.command.is_empty() && !word.is_quoted {
            match word.text.as_slice() {
                b"case" => self.cases += 1,
                b"esac" => self.cases = self.cases.saturating_sub(1),
                text if std::str::from_utf8(text).is_ok_and(nested::is_reserved) => return,
                _ => {}
            }
        }
        self.command.push(word.text);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.command.clear();
        self.nested = None;
        self.is_here_string = false;
    }
}
