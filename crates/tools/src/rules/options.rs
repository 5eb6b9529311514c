//! Arguments that a wildcard never matches: those with which a program runs something else, or writes where it usually reads.
//!
//! [`allows`] only examines the words that a wildcard matched: if a rule contains such an argument, the user has approved it.
//! Most of the data is in the tables of [`guards`] and [`known_programs`]; programs whose arguments are a language of their
//! own have a function.

use super::{
    filters, git, guards, known_programs,
    pattern::CommandMatch,
    programs::NAMES,
    unapprovable::{self, CodeSource},
    word::{DESCRIPTOR, Word},
    wrappers,
};

/// Programs that run the program after one of [`wrappers::EXEC`], and no other.
const SEARCHERS: [&str; 4] = ["bfs", "fd", "fdfind", "find"];

/// The maximum number of programs that are searched for in the arguments of others.
const MAX_LAUNCHES: usize = 4;

/// Whether a wildcard may match the words of a command that it matched.
pub(super) fn allows(words: &[Word], found: &CommandMatch) -> bool {
    allows_program(words, &found.wild, 0)
}

/// The same for a command that may be the end of another one, whose launches count.
fn allows_program(words: &[Word], wild: &[(usize, String)], launches: usize) -> bool {
    let Some(program) = words.first().and_then(Word::known).map(unapprovable::program) else { return false };
    let guards = guards::of(&program, words);
    let known = known_programs::of(&program);
    let runner = wrappers::is_runner(&program);
    let is_allowed = |(place, literal): &(usize, String)| {
        let text = match &words[*place] {
            Word::Known(text) => text,
            // Its unknown end may make it anything: a subcommand, `NAME=value`, an option. Only a descriptor's path is safe.
            Word::Filled(start) => {
                let guarded = !guards.is_empty() || known.is_some() || is_special(&program);
                return !runner
                    && is_ascii_text(start)
                    && (!guarded || is_message(words, *place) || (start == DESCRIPTOR && !is_special(&program)));
            }
            Word::Unknown => return false,
        };
        !runner
            && is_ascii_text(text)
            && !guards.iter().any(|guard| guard.forbids(text, literal, &program, *place))
            && known.is_none_or(|known| known.allows(words, *place, text, literal))
            && {
                match program.as_str() {
                    "git" => git::is_harmless(words, *place, text),
                    "make" | "gmake" | "bmake" | "remake" => !text.contains('=') || text.starts_with('-'),
                    "curl" => !(text.starts_with('-') && text.contains('@')),
                    program if filters::is_one(program) => filters::allows(program, words, *place, text),
                    program if writes(program) => words.iter().skip(1).filter(|word| !word.is_option()).count() < 2,
                    _ if unapprovable::code(words).is_some() => interpreter(words, *place, text),
                    _ => true,
                }
            }
    };
    wild.iter().all(is_allowed) && launched(words, &program, wild, launches)
}

/// Whether the wildcards are harmless for the program that the command launches and that the rule contains: `pytest` in
/// `uv run pytest *` and in `python3 -m pytest *`.
fn launched(words: &[Word], program: &str, wild: &[(usize, String)], launches: usize) -> bool {
    let launches_others =
        NAMES.launchers.contains(program) || SEARCHERS.contains(&program) || unapprovable::code(words).is_some();
    if !launches_others {
        return true;
    }
    let is_literal = |place: &usize| wild.iter().all(|(other, _)| other != place);
    let is_program = |place: &usize| {
        let after_exec = words[*place - 1].known().is_some_and(|word| wrappers::EXEC.contains(&word));
        (after_exec || !SEARCHERS.contains(&program))
            && words[*place].known().is_some_and(|text| !text.starts_with('-') && !NO_PROGRAMS.contains(&text))
    };
    (1..words.len()).filter(is_literal).filter(is_program).all(|place| {
        let inner = &words[place..];
        let wild: Vec<(usize, String)> = wild
            .iter()
            .filter(|(other, _)| *other > place)
            .map(|(other, literal)| (other - place, literal.clone()))
            .collect();
        let is_given = matches!(unapprovable::code(inner), Some(CodeSource::Given { .. }));
        !is_given && (wild.is_empty() || (launches < MAX_LAUNCHES && allows_program(inner, &wild, launches + 1)))
    })
}

/// Words that are subcommands of a launcher.
const NO_PROGRAMS: [&str; 5] = ["test", "run", "exec", "build", "start"];

/// Whether the wildcard does not match the options before the script, which may load code.
fn interpreter(words: &[Word], place: usize, text: &str) -> bool {
    let before = words[1..place].iter().all(Word::is_option);
    !before || !text.starts_with(['-', '+']) || matches!(text, "--version" | "--help" | "-V" | "-h")
}

/// Whether the arguments of a program are code, or have an effect through their number.
fn is_special(program: &str) -> bool {
    filters::is_one(program) || writes(program)
}

/// Whether the second argument of a program is the file that it writes.
fn writes(program: &str) -> bool {
    guards::names(program).iter().any(|name| NAMES.writers.contains(*name))
}

/// Whether a word is the message of `git commit -m`, which is always text.
fn is_message(words: &[Word], place: usize) -> bool {
    let known: Vec<Option<&str>> = words[..place].iter().map(Word::known).collect();
    matches!(known.as_slice(), [Some("git"), Some("commit"), Some("-m" | "-am" | "--message")])
}

/// Whether a text contains nothing that could be mistaken for something else.
pub(super) fn is_ascii_text(text: &str) -> bool {
    text.chars().all(|character| matches!(character, ' '..='~' | '\n' | '\t'))
}
