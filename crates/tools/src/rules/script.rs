//! The commands that a command line runs: every simple command in it, wherever it is.
//!
//! [`read`] walks the grammar's tree through lists, pipes, groups, conditions, loops, functions and substitutions and
//! collects one [`CommandRun`] for each simple command. It also records whether something in the line must never run without
//! approval, whatever the rules say about the commands (it writes to a file, or changes the meaning of names), and whether
//! there may be commands that were not found. The match over the tree is exhaustive on purpose: additions in a newer version
//! of the grammar do not compile until they are handled.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::{
    ParserOptions, Token as GrammarToken,
    ast::{
        AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, BinaryPredicate, Command,
        CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, IoFileRedirectKind,
        IoFileRedirectTarget, IoRedirect, Pipeline, ProcessSubstitutionKind, Program, RedirectList, SimpleCommand,
        SubshellCommand, UnaryPredicate, Word as Raw,
    },
};

use super::{
    strict_lexer::{self, Token},
    unapprovable,
    word::{self, DESCRIPTOR, Word},
};

/// The maximum depth of nested code: substitutions, and text that is passed to shells.
pub(super) const MAX_DEPTH: usize = 12;

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
}

/// The result for a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellScript {
    /// Its simple commands, in order.
    pub(super) runs: Vec<CommandRun>,
    /// Whether it does nothing that always needs approval.
    pub(super) approvable: bool,
    /// Whether it may run something that is not among `runs`.
    pub(super) hides: bool,
    /// The input texts of its groups, loops and the like.
    pub(super) inputs: Vec<Word>,
    /// The variables of its loops.
    pub(super) variables: Vec<String>,
}

/// Parses a command line.
pub(super) fn read(source: &str) -> ShellScript {
    let script =
        ShellScript { runs: Vec::new(), approvable: true, hides: false, inputs: Vec::new(), variables: Vec::new() };
    let mut reader = ScriptReader { script, depth: 0, fed: false };
    reader.source(source);
    reader.script
}

/// The tree of a command line, if both parsers agree.
fn parse(source: &str) -> Option<Program> {
    let expected = strict_lexer::tokens(source)?;
    let options = ParserOptions::default();
    // The crate may panic. It never gets text that is known to cause this, but it is not our code.
    catch_unwind(AssertUnwindSafe(|| {
        let found = brush_parser::uncached_tokenize_str(source, &options.tokenizer_options()).ok()?;
        let same = |(found, expected): (&GrammarToken, &Token)| match (found, expected) {
            (GrammarToken::Word(found, _), Token::Word(expected)) => found == expected,
            (GrammarToken::Operator(found, _), Token::Operator(expected)) => found == expected,
            _ => false,
        };
        let agree = found.len() == expected.len() && found.iter().zip(&expected).all(same);
        if agree { brush_parser::parse_tokens(&found, &options).ok() } else { None }
    }))
    .ok()
    .flatten()
}

struct ScriptReader {
    script: ShellScript,
    depth: usize,
    /// Whether the current commands share an input.
    fed: bool,
}

impl ScriptReader {
    fn source(&mut self, source: &str) {
        if self.depth == MAX_DEPTH {
            return self.unreadable();
        }
        self.depth += 1;
        match parse(source) {
            Some(program) => program.complete_commands.iter().for_each(|list| self.list(list)),
            None => self.unreadable(),
        }
        self.depth -= 1;
    }

    fn unreadable(&mut self) {
        self.script.hides = true;
        self.script.approvable = false;
    }

    fn never(&mut self) {
        self.script.approvable = false;
    }

    /// Reads commands that have input if `feeds` is true or the enclosing construct has input.
    fn feeding(&mut self, feeds: bool, read: impl FnOnce(&mut Self)) {
        let outer = self.fed;
        self.fed |= feeds;
        read(self);
        self.fed = outer;
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            let AndOrList { first, additional } = &item.0;
            self.pipeline(first);
            for AndOr::And(pipeline) | AndOr::Or(pipeline) in additional {
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let first = self.script.runs.len();
        for (place, command) in pipeline.seq.iter().enumerate() {
            self.feeding(place > 0, |reader| reader.command(command));
        }
        if pipeline.timed.is_some() {
            let mut words = vec![Word::Known("time".into())];
            if let ([Command::Simple(_)], Some(run)) = (pipeline.seq.as_slice(), self.script.runs.get(first)) {
                words.extend(run.words.iter().cloned());
            }
            self.script.runs.push(CommandRun { words, keyword: true, ..CommandRun::default() });
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(command) => self.simple(command),
            Command::Compound(command, redirects) => {
                self.feeding(feed(redirects.as_ref()), |reader| reader.compound(command));
                self.redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                // From here on, the name runs something other than the rules assume.
                self.never();
                self.feeding(feed(function.body.1.as_ref()), |reader| reader.compound(&function.body.0));
                self.redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                // No rule covers it.
                self.never();
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, command: &CompoundCommand) {
        match command {
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => self.unreadable(),
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.script.variables.push(clause.variable_name.clone());
                for value in clause.values.iter().flatten() {
                    self.settled(value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.settled(&clause.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|pattern| {
                        // Its globs are compared with the value and do not match files.
                        self.word(pattern);
                    });
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => {
                self.never();
                self.feeding(true, |reader| reader.command(&coprocess.body));
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                let word = self.word(word);
                if matches!(predicate, UnaryPredicate::ShellVariableIsSetAndAssigned) {
                    self.arithmetic(&word);
                }
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let operands = [self.word(left), self.word(right)];
                if matches!(
                    predicate,
                    BinaryPredicate::ArithmeticEqualTo
                        | BinaryPredicate::ArithmeticNotEqualTo
                        | BinaryPredicate::ArithmeticLessThan
                        | BinaryPredicate::ArithmeticLessThanOrEqualTo
                        | BinaryPredicate::ArithmeticGreaterThan
                        | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
                ) {
                    operands.iter().for_each(|word| self.arithmetic(word));
                }
            }
        }
    }

    /// A word that is evaluated as arithmetic, which runs the contents of a subscript.
    fn arithmetic(&mut self, word: &Word) {
        if !word.known().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
            self.unreadable();
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let mut run = CommandRun { fed: self.fed, ..CommandRun::default() };
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, raw) => {
                    let word = self.assignment(assignment, raw);
                    run.assignments.push(word);
                }
                CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                    // A file that another command writes could become the command.
                    self.list(&subshell.list);
                    self.unreadable();
                }
                item => self.item(item, &mut run),
            }
        }
        if let Some(name) = &command.word_or_name {
            let name = self.word(name);
            run.words.insert(0, name);
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut run);
        }
        // A redirection on its own creates or empties a file, or does nothing. Assignments on their own affect what follows.
        if run.words.is_empty() {
            self.never();
        }
        self.script.runs.push(run);
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, run: &mut CommandRun) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                run.fed |= feeds(redirect);
                if let Some(input) = self.redirect(redirect) {
                    run.input = Some(input);
                }
            }
            CommandPrefixOrSuffixItem::Word(raw) | CommandPrefixOrSuffixItem::AssignmentWord(_, raw) => {
                let word = self.word(raw);
                run.words.push(word);
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                self.feeding(is_written_to(kind), |reader| reader.list(&subshell.list));
                run.words.push(Word::Filled(DESCRIPTOR.into()));
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment, raw: &Raw) -> Word {
        let word = self.word(raw);
        let simple = matches!(assignment.name, AssignmentName::VariableName(_))
            && matches!(assignment.value, AssignmentValue::Scalar(_))
            && !assignment.append;
        if simple {
            // The value is not split into words, so the name is certain.
            let name = raw.value.split('=').next().unwrap_or_default();
            return if word == Word::Unknown { Word::Filled(format!("{name}=")) } else { word };
        }
        // A subscript is arithmetic, in which names and commands are expanded.
        self.unreadable();
        Word::Unknown
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            let input = self.redirect(redirect);
            self.script.inputs.extend(input);
        }
    }

    /// Checks a redirection. The value is the input text that it provides, if any.
    fn redirect(&mut self, redirect: &IoRedirect) -> Option<Word> {
        match redirect {
            IoRedirect::File(_, kind, target) => {
                self.file(kind, target);
                None
            }
            IoRedirect::OutputAndError(target, _) => {
                self.output(target);
                None
            }
            IoRedirect::HereString(_, raw) => Some(self.settled(raw)),
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let Some(decoded) = word::decode_document(&document.doc.value) else {
                    self.unreadable();
                    return Some(Word::Unknown);
                };
                decoded.code.iter().for_each(|code| self.source(code));
                if decoded.word == Word::Unknown {
                    self.never();
                }
                Some(decoded.word)
            }
            IoRedirect::HereDocument(_, document) => Some(Word::Known(document.doc.value.clone())),
        }
    }

    fn file(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) {
        match (kind, target) {
            (_, IoFileRedirectTarget::ProcessSubstitution(direction, SubshellCommand { list, .. })) => {
                self.feeding(is_written_to(direction), |reader| reader.list(list));
                if is_written_to(direction) {
                    self.never();
                }
            }
            (_, IoFileRedirectTarget::Fd(_)) => {}
            (
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput,
                IoFileRedirectTarget::Duplicate(raw) | IoFileRedirectTarget::Filename(raw),
            ) => {
                let number = raw.value.strip_suffix('-').unwrap_or(&raw.value);
                if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    // Bash expands this word twice, and then finds code in what quotes hide.
                    let is_plain =
                        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
                    if !is_plain(&raw.value) {
                        self.unreadable();
                    }
                    self.output(raw);
                }
            }
            (IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(raw) | IoFileRedirectTarget::Duplicate(raw)) => {
                let source = self.settled(raw);
                // Bash opens a connection for these, whether or not such a file exists.
                if source.known().is_none_or(|path| path.contains("/dev/tcp") || path.contains("/dev/udp")) {
                    self.never();
                }
            }
            (
                IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::ReadAndWrite
                | IoFileRedirectKind::Clobber,
                IoFileRedirectTarget::Filename(raw) | IoFileRedirectTarget::Duplicate(raw),
            ) => self.output(raw),
        }
    }

    fn output(&mut self, target: &Raw) {
        if self.word(target).known() != Some("/dev/null") {
            self.never();
        }
    }

    /// A word that rules do not check. It must not run anything itself.
    fn settled(&mut self, raw: &Raw) -> Word {
        let word = self.word(raw);
        if word == Word::Unknown {
            self.never();
        }
        word
    }

    /// The value of a word. The commands that it runs are read too.
    fn word(&mut self, raw: &Raw) -> Word {
        let Some(decoded) = word::decode(&raw.value) else {
            self.unreadable();
            return Word::Unknown;
        };
        decoded.code.iter().for_each(|code| self.source(code));
        decoded.word
    }
}

fn is_written_to(direction: &ProcessSubstitutionKind) -> bool {
    matches!(direction, ProcessSubstitutionKind::Write)
}

/// Whether redirections provide input.
fn feed(redirects: Option<&RedirectList>) -> bool {
    redirects.iter().flat_map(|list| &list.0).any(feeds)
}

/// Whether a redirection provides input on any descriptor: another redirection may make it the standard input.
fn feeds(redirect: &IoRedirect) -> bool {
    match redirect {
        IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => true,
        IoRedirect::OutputAndError(..) => false,
        IoRedirect::File(_, kind, target) => match (kind, target) {
            (IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(raw) | IoFileRedirectTarget::Duplicate(raw)) => {
                raw.value != "/dev/null"
            }
            (IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite, _) => true,
            // Copies of descriptors, which belong to the shell or were opened by another redirection.
            (
                IoFileRedirectKind::DuplicateInput
                | IoFileRedirectKind::DuplicateOutput
                | IoFileRedirectKind::Write
                | IoFileRedirectKind::Append
                | IoFileRedirectKind::Clobber,
                _,
            ) => false,
        },
    }
}
