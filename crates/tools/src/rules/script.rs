//! The commands that a command line runs: every simple command in it, wherever it is.
//!
//! [`read`] follows bash's grammar through lists, pipes, groups, conditions, loops, functions and substitutions, and
//! collects one [`CommandRun`] for each simple command. It also records whether something in the line must never run without
//! approval, whatever the rules say about the commands (it writes to a file, or changes the meaning of names), and whether
//! there may be commands that were not found, because bash reads the line in a way that is not known here.

use super::{
    lexer::{self, REDIRECTIONS},
    unapprovable,
    word::{Token, Word, Written, is_name, is_of_name},
};

/// The maximum depth of constructs and substitutions in each other.
const MAX_DEPTH: usize = 24;

/// Words and operators at which a list of commands ends.
const ENDS: [&str; 12] = [")", ";;", ";&", ";;&", "then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// The parts of a construct: the word before a list of commands, and those that may end it.
const PARTS: [(&str, &[&str]); 9] = [
    ("(", &[")"]),
    ("{", &["}"]),
    ("if", &["then"]),
    ("then", &["elif", "else", "fi"]),
    ("elif", &["then"]),
    ("else", &["fi"]),
    ("while", &["do"]),
    ("until", &["do"]),
    ("do", &["done"]),
];

/// Operators of `[[ … ]]` that evaluate a word as arithmetic, which runs the contents of a subscript.
const ARITHMETIC: [&str; 8] = ["-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandRun {
    /// The variables that are set in its environment, as `NAME=value`.
    pub(super) assignments: Vec<Word>,
    /// Its name and arguments.
    pub(super) words: Vec<Word>,
    /// The text of its input, if it is in the command line.
    pub(super) input: Option<Word>,
    /// Whether it has input: from a pipe, a file or the command line, directly or through the enclosing construct.
    pub(super) fed: bool,
    /// Whether it is the word `time`, whose command is a run of its own.
    pub(super) keyword: bool,
}

impl CommandRun {
    /// The name of its program ([`unapprovable::program`]), if it is known.
    pub(super) fn program(&self) -> Option<String> {
        self.words.first().and_then(Word::known).map(unapprovable::program)
    }

    /// A command with the same input.
    pub(super) fn running(&self, words: Vec<Word>) -> Self {
        Self { words, input: self.input.clone(), fed: self.fed, ..Self::default() }
    }
}

/// The result for a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellScript {
    /// Its simple commands, in order.
    pub(super) runs: Vec<CommandRun>,
    /// Whether it does something that always needs approval.
    pub(super) needs_approval: bool,
    /// Whether it may run something that is not among `runs`.
    pub(super) hides: bool,
    /// The input texts of its groups, loops and the like.
    pub(super) inputs: Vec<Word>,
    /// The variables of its loops.
    pub(super) variables: Vec<String>,
}

impl ShellScript {
    /// Something in it is not known.
    fn unreadable(&mut self) {
        self.needs_approval = true;
        self.hides = true;
    }

    /// The commands from this one on have input.
    fn feed(&mut self, first: usize) {
        self.runs[first..].iter_mut().for_each(|run| run.fed = true);
    }
}

/// Parses a command line.
pub(super) fn read(source: &str) -> ShellScript {
    let mut script = ShellScript::default();
    match lexer::tokens(source) {
        Some(tokens) => ScriptReader { script: &mut script, rest: &tokens, depth: 0 }.all(),
        None => script.unreadable(),
    }
    script
}

/// Reads commands. Its methods give `None` where bash's grammar has something else.
struct ScriptReader<'a> {
    script: &'a mut ShellScript,
    rest: &'a [Token],
    depth: usize,
}

impl<'a> ScriptReader<'a> {
    fn all(&mut self) {
        if self.list().is_none() || !self.rest.is_empty() {
            self.script.unreadable();
        }
    }

    /// The next word or operator; empty at the end.
    fn peek(&self) -> &'a str {
        self.rest.first().map_or("", Token::raw)
    }

    /// Skips the next word or operator if it is this one.
    fn take(&mut self, text: &str) -> Option<()> {
        let (_, rest) = self.rest.split_first().filter(|(token, _)| token.raw() == text)?;
        self.rest = rest;
        Some(())
    }

    fn take_one_of(&mut self, texts: &[&str]) -> Option<()> {
        texts.iter().find_map(|text| self.take(text))
    }

    fn take_newlines(&mut self) {
        while self.take("\n").is_some() {}
    }

    fn take_word(&mut self) -> Option<&'a Written> {
        let [Token::Word(word), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(word)
    }

    /// Commands up to something at which a list ends.
    fn list(&mut self) -> Option<()> {
        loop {
            self.take_newlines();
            if self.rest.is_empty() || ENDS.contains(&self.peek()) {
                return Some(());
            }
            self.pipeline()?;
            while self.take_one_of(&["&&", "||"]).is_some() {
                self.take_newlines();
                self.pipeline()?;
            }
            if self.take_one_of(&[";", "&", "\n"]).is_none() {
                return Some(());
            }
        }
    }

    fn pipeline(&mut self) -> Option<()> {
        let mut is_timed = false;
        loop {
            if self.take("time").is_some() {
                is_timed = true;
                let _ = self.take("-p");
                let _ = self.take("--");
            } else if self.take("!").is_none() {
                break;
            }
        }
        let mut timed = vec![Word::Known("time".into())];
        if self.command()? && !matches!(self.peek(), "|" | "|&") {
            timed.extend(self.script.runs.last().into_iter().flat_map(|run| run.words.clone()));
        }
        while self.take_one_of(&["|", "|&"]).is_some() {
            self.take_newlines();
            let first = self.script.runs.len();
            self.command()?;
            self.script.feed(first);
        }
        if is_timed {
            self.script.runs.push(CommandRun { words: timed, keyword: true, ..CommandRun::default() });
        }
        Some(())
    }

    /// A command. Gives whether it is a simple one.
    fn command(&mut self) -> Option<bool> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        let first = self.script.runs.len();
        self.depth += 1;
        let is_compound = self.compound()?;
        self.depth -= 1;
        if !is_compound {
            self.simple()?;
            return Some(true);
        }
        let inner = first..self.script.runs.len();
        while self.is_redirection() {
            let (feeds, input) = self.redirection()?;
            self.script.runs[inner.clone()].iter_mut().for_each(|run| run.fed |= feeds);
            self.script.inputs.extend(input);
        }
        Some(false)
    }

    /// A construct without its redirections. Gives whether there is one.
    fn compound(&mut self) -> Option<bool> {
        if let [Token::Word(_), Token::Operator("("), Token::Operator(")"), rest @ ..] = self.rest {
            self.rest = rest;
            return self.function().map(|()| true);
        }
        let (opening, here) = (self.peek(), self.rest);
        self.rest = here.get(1..).unwrap_or_default();
        match opening {
            "(" | "{" | "if" | "while" | "until" => self.parts(opening)?,
            "for" => self.for_loop()?,
            "case" => self.case()?,
            "[[" => self.test()?,
            "function" => {
                self.take_word()?;
                if self.take("(").is_some() {
                    self.take(")")?;
                }
                self.function()?;
            }
            "coproc" => {
                self.script.needs_approval = true;
                // It may have a name.
                if matches!(self.rest, [Token::Word(_), next, ..] if matches!(next.raw(), "(" | "{")) {
                    self.take_word()?;
                }
                let first = self.script.runs.len();
                self.command()?;
                self.script.feed(first);
            }
            "!" | "select" => return None,
            end if ENDS.contains(&end) => return None,
            _ => {
                self.rest = here;
                return Some(false);
            }
        }
        Some(true)
    }

    /// The lists of a construct, after the first word of it that stands before one, and the words between and behind them.
    fn parts(&mut self, mut before: &'a str) -> Option<()> {
        while let Some((_, ends)) = PARTS.iter().find(|(word, _)| *word == before) {
            self.list()?;
            before = self.peek();
            self.take_one_of(ends)?;
        }
        Some(())
    }

    /// The body of a function. From here on, its name runs something other than the rules assume.
    fn function(&mut self) -> Option<()> {
        self.script.needs_approval = true;
        self.take_newlines();
        let is_simple = self.command()?;
        (!is_simple).then_some(())
    }

    fn for_loop(&mut self) -> Option<()> {
        let name = &self.take_word()?.raw;
        self.script.variables.push(name.clone());
        self.take_newlines();
        let has_values = self.take("in").is_some();
        while has_values && let Some(value) = self.take_word() {
            self.settled(value);
        }
        let is_separated = self.take_one_of(&[";", "\n"]).is_some();
        self.take_newlines();
        self.take("do").filter(|()| is_name(name) && (is_separated || !has_values))?;
        self.parts("do")
    }

    fn case(&mut self) -> Option<()> {
        let value = self.take_word()?;
        self.settled(value);
        self.take_newlines();
        self.take("in")?;
        self.take_newlines();
        while self.take("esac").is_none() {
            let _ = self.take("(");
            loop {
                // Its globs are compared with the value and do not match files.
                let pattern = self.take_word()?;
                self.word(pattern);
                if self.take("|").is_none() {
                    break;
                }
            }
            self.take(")")?;
            self.list()?;
            if self.take_one_of(&[";;", ";&", ";;&"]).is_none() && self.peek() != "esac" {
                return None;
            }
            self.take_newlines();
        }
        Some(())
    }

    /// `[[ … ]]`. No rule covers it.
    fn test(&mut self) -> Option<()> {
        self.script.needs_approval = true;
        while self.take("]]").is_none() {
            // Comments and here-documents do not begin in a regular expression.
            if ARITHMETIC.contains(&self.peek()) || self.peek() == "=~" {
                self.script.unreadable();
            }
            match self.take_word() {
                Some(word) => _ = self.word(word),
                None => self.rest = self.rest.get(1..)?,
            }
        }
        Some(())
    }

    fn simple(&mut self) -> Option<()> {
        let mut run = CommandRun::default();
        let before = self.rest.len();
        loop {
            if let Some(written) = self.take_word() {
                let word = self.word(written);
                match run.words.is_empty().then(|| self.assignment(written, &word)).flatten() {
                    Some(assignment) => run.assignments.push(assignment),
                    None => run.words.push(word),
                }
            } else if self.is_redirection() {
                let (feeds, input) = self.redirection()?;
                run.fed |= feeds;
                // Which of several the command reads is not known.
                run.input = match run.input {
                    Some(_) if input.is_some() => Some(Word::Unknown),
                    before => input.or(before),
                };
            } else {
                break;
            }
        }
        // A redirection on its own creates or empties a file, or does nothing. Assignments on their own affect what follows.
        self.script.needs_approval |= run.words.is_empty();
        self.script.runs.push(run);
        (self.rest.len() < before).then_some(())
    }

    /// The value of a word before a command that sets a variable, with the name of that.
    fn assignment(&mut self, written: &Written, word: &Word) -> Option<Word> {
        let (name, rest) = written.raw.split_at(written.raw.find(|other| !is_of_name(other))?);
        if !is_name(name) {
            return None;
        }
        if rest.starts_with('=') {
            // The value is not split into words, so the name is certain.
            return Some(if *word == Word::Unknown { Word::Filled(format!("{name}=")) } else { word.clone() });
        }
        // A subscript is arithmetic, in which names and commands are expanded.
        (rest.starts_with("+=") || rest.starts_with('[')).then(|| {
            self.script.unreadable();
            Word::Unknown
        })
    }

    fn is_redirection(&self) -> bool {
        matches!(self.rest, [Token::Descriptor(_), ..]) || REDIRECTIONS.contains(&self.peek())
    }

    /// A redirection. Gives whether it provides input, on any descriptor: another redirection may make it the standard input. With
    /// it comes the text of that, if it is in the line.
    fn redirection(&mut self) -> Option<(bool, Option<Word>)> {
        if let [Token::Descriptor(_), rest @ ..] = self.rest {
            self.rest = rest;
        }
        let [Token::Operator(operator), Token::Word(target), rest @ ..] = self.rest else { return None };
        self.rest = rest;
        let (raw, word) = (target.raw.as_str(), self.word(target));
        let is_null = word.known() == Some("/dev/null");
        let (feeds, is_harmless) = match *operator {
            "<<" | "<<-" | "<<<" => (true, word != Word::Unknown),
            // Bash opens a connection for these, whether or not such a file exists.
            "<" => {
                let is_device = |path: &str| path.contains("/dev/tcp") || path.contains("/dev/udp");
                (raw != "/dev/null", raw == "<(" || !word.known().is_none_or(is_device))
            }
            // Copies of descriptors, which belong to the shell or were opened by another redirection.
            ">&" | "<&" if raw.strip_suffix('-').unwrap_or(raw).bytes().all(|byte| byte.is_ascii_digit()) => {
                (false, true)
            }
            ">&" | "<&" => {
                // Bash expands this word twice, and then finds code in what quotes hide.
                if !raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte)) {
                    self.script.unreadable();
                }
                (false, is_null)
            }
            operator => (operator == "<>", is_null),
        };
        self.script.needs_approval |= !is_harmless;
        Some((feeds, Some(word).filter(|_| operator.starts_with("<<"))))
    }

    /// A word that rules do not check. It must not run anything itself.
    fn settled(&mut self, written: &Written) {
        self.script.needs_approval |= self.word(written) == Word::Unknown;
    }

    /// The value of a word. The commands that it runs are read too.
    fn word(&mut self, written: &Written) -> Word {
        let first = self.script.runs.len();
        for code in &written.code {
            ScriptReader { script: self.script, rest: code, depth: self.depth + 1 }.all();
        }
        if written.raw == ">(" {
            self.script.feed(first);
        }
        written.word()
    }
}
