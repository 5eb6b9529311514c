//! What a command does with its standard input.
//!
//! A here-document, a here-string, a pipe and `< file` give a command text that no rule covers. Many programs take commands
//! from there: an editor that git starts, a database's shell, a client. So a command with input is only approved if its
//! program is known to treat the input as plain data.

use super::{folders, git, programs::NAMES, script::CommandRun, word::Word};

/// Whether a command, which is not a wrapper, treats its input only as data.
pub(super) fn is_data_for(run: &CommandRun) -> bool {
    folders::reads_and_prints(run)
        || folders::quiet_program(run).is_some_and(|program| match program.as_str() {
            "git" => is_data_for_git(&run.words),
            program => NAMES.filters.contains(program),
        })
}

fn is_data_for_git(words: &[Word]) -> bool {
    let command = git::subcommand(words).and_then(|place| words[place].known());
    let is_harmless =
        |(place, word): (usize, &Word)| word.known().is_some_and(|text| git::is_harmless(words, place, text));
    command.is_some_and(|command| NAMES.git_reading.contains(command))
        && words.iter().enumerate().skip(1).all(is_harmless)
}
