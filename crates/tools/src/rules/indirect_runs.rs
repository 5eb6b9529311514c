//! Denied programs that a command line only names, so that another program might run them.
//!
//! More programs run other programs than any table can list (`su -c`, `ssh host`, `docker run`, `awk`, `git -c alias.x=`). So
//! if one of them may get the name of a denied program, its effect is unknown. The name may be in its arguments, also as part
//! of an option (`git grep -Orm`), in its input, or in the output of another command.

use super::{
    folders, input,
    programs::NAMES,
    rule::Pattern,
    script::{CommandRun, ShellScript},
    unapprovable,
    word::Word,
    wrappers,
};

/// The maximum number of letters before a value that is part of its option.
const MAX_GLUED: usize = 3;

/// The names of the denied programs.
pub(super) struct DeniedPrograms(Vec<String>);

impl DeniedPrograms {
    /// The programs in denying rules.
    pub(super) fn of(denying: &[&Pattern]) -> Self {
        Self(
            denying
                .iter()
                .filter_map(|pattern| pattern.command.as_ref()?.program().map(unapprovable::program))
                .collect(),
        )
    }

    /// Whether a command may run a denied program that its own words or its input name, or whose name comes from outside
    /// the line.
    pub(super) fn may_be_run_by(&self, run: &CommandRun) -> bool {
        let program = run.program();
        let is_inert = program.as_ref().is_some_and(|program| NAMES.inert.contains(program));
        let arguments = run.words.iter().skip(1).filter(|_| !is_inert);
        let mut told = run.assignments.iter().chain(arguments).filter_map(text);
        let is_dark = run.fed
            && run.input.as_ref().is_none_or(|input| input.known().is_none())
            && program.is_some_and(|program| wrappers::is_runner(&program) || NAMES.deferring.contains(&program));
        is_dark || told.any(|text| self.is_in(text) || starts_a_file(text)) || self.is_read_by(run)
    }

    fn is_read_by(&self, run: &CommandRun) -> bool {
        let is_named = run.input.as_ref().and_then(text).is_some_and(|text| self.is_in(text));
        is_named && !is_data_for(run)
    }

    /// Whether a line names a denied program anywhere, and passes data to a command that may run it.
    pub(super) fn may_be_handed_on_in(&self, script: &ShellScript) -> bool {
        let takes = |run: &CommandRun| run.fed || run.words.iter().skip(1).any(|word| word.known().is_none());
        let words =
            script.runs.iter().flat_map(|run| run.words.iter().skip(1).chain(&run.assignments).chain(&run.input));
        script.runs.iter().any(|run| takes(run) && !is_data_for(run))
            && words.chain(&script.inputs).filter_map(text).any(|text| self.is_in(text))
    }

    fn is_in(&self, text: &str) -> bool {
        let tokens = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_.+-".contains(letter)));
        tokens.into_iter().any(|token| self.0.iter().any(|program| is_named(program, token)))
    }
}

/// Whether a part of a word names a program, on its own or after the letters of an option.
fn is_named(program: &str, token: &str) -> bool {
    let token = token.to_ascii_lowercase();
    let is_glued = |letters: &str| {
        letters.strip_prefix('-').is_some_and(|letters| {
            (1..=MAX_GLUED).contains(&letters.len()) && letters.bytes().all(|letter| letter.is_ascii_alphanumeric())
        })
    };
    token == *program || (!program.is_empty() && token.strip_suffix(program).is_some_and(is_glued))
}

/// Whether `NAME=value` causes a program that starts later to run a file.
fn starts_a_file(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| NAMES.code_variables.contains(name))
}

/// The known part of a word.
fn text(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) | Word::Filled(text) => Some(text),
        Word::Unknown => None,
    }
}

/// Whether input is data for a command, and for what it wraps.
fn is_data_for(run: &CommandRun) -> bool {
    let (inner, is_whole) = folders::innermost(run);
    is_whole && input::is_data_for(&inner)
}
