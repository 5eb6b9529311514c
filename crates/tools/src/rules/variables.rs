//! Variables: which ones change what runs, and which ones a command line may set.
//!
//! A variable that is exported when the shell starts remains exported, and its new value reaches every program that runs
//! later. So an approved line sets no variables except those of loops, with names that are not in the environment and have
//! no meaning for a shell.

use std::collections::BTreeSet;

use super::{
    programs::NAMES,
    script::CommandRun,
    word::{Word, assigned, is_name},
};

/// Whether a variable with this name changes what runs.
pub(super) fn is_powerful(name: &str) -> bool {
    NAMES.variables.contains(name)
        || NAMES.variable_prefixes.iter().any(|prefix| name.starts_with(prefix))
        || NAMES.variable_suffixes.iter().any(|suffix| name.ends_with(suffix))
        || name.eq_ignore_ascii_case("path")
}

/// Lower-case names with a meaning in bash.
const OF_THE_SHELL: [&str; 2] = ["auto_resume", "histchars"];

/// Variables from which bash reads settings: with them, it may export more than is known.
const SETTINGS: [&str; 3] = ["BASH_ENV", "BASHOPTS", "SHELLOPTS"];

/// Built-in commands after which a POSIX shell keeps the assignments before them.
const SPECIAL: [&str; 6] = [":", "break", "continue", "exit", "return", "shift"];

/// Whether a loop's variable is only visible to the loop.
pub(super) fn stays_within(name: &str, exported: &BTreeSet<String>) -> bool {
    let is_small = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_';
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(is_small)
        && !is_powerful(name)
        && !OF_THE_SHELL.contains(&name)
        && !exported.contains(name)
        && !SETTINGS.iter().any(|setting| exported.contains(*setting))
}

/// Whether a command sets a variable of the shell that runs it, or evaluates the name of one, which may run the contents of
/// a subscript.
pub(super) fn touches(program: &str, run: &CommandRun) -> bool {
    match program {
        "printf" => {
            let mut arguments = run.words.iter().skip(1);
            let first = arguments.next();
            let format = if first.and_then(Word::known) == Some("--") { arguments.next() } else { first };
            // Without a format, it prints its usage.
            format.is_some_and(|format| format.known().is_none_or(|format| format.starts_with("-v") || counts(format)))
        }
        "test" | "[" => run.words.windows(2).any(|pair| {
            let asks = pair[0].known().is_none_or(|word| matches!(word, "-v" | "-R"));
            asks && !matches!(pair[1].known(), Some(name) if is_name(name) || name == "]")
        }),
        _ => SPECIAL.contains(&program) && !run.assignments.is_empty(),
    }
}

/// Whether a built-in command may run what its arguments contain: as a command, or in the subscript of a name.
pub(super) fn evaluates(program: &str, run: &CommandRun) -> bool {
    let is_plain = |text: &str| {
        let name = assigned(text).unwrap_or(text);
        (is_name(name) && !NAMES.code_variables.contains(name))
            || (text.starts_with('-') && !text.contains(['i', 'n', 'p']))
    };
    match program {
        "bind" | "compgen" | "complete" | "let" | "mapfile" | "readarray" => true,
        "declare" | "export" | "getopts" | "local" | "read" | "readonly" | "typeset" | "unset" | "wait" => {
            !run.words.iter().skip(1).all(|word| word.known().is_some_and(is_plain))
        }
        _ => false,
    }
}

/// Whether a format contains `%n`, which stores the number of printed characters in a variable.
fn counts(format: &str) -> bool {
    let after = |rest: &str| {
        let rest = rest.trim_start_matches(|flag: char| flag.is_ascii_digit() || "#'-+ .*$".contains(flag));
        rest.trim_start_matches(|size| "hjlLqtz".contains(size)).starts_with('n')
    };
    format.match_indices('%').any(|(place, _)| after(&format[place + 1..]))
}
