//! The arguments by which a program runs something else, or writes where it usually reads, program by program.
//!
//! What the tables say was taken from the programs' manuals. They are read in the widest way that any program reads
//! its options: a word that begins with a dash is one of them with any number of dashes (npm and others take them
//! all), by any beginning of its name (`--outp=x`), with its value after `=` or in the next word, in any case after
//! two dashes, with `_` for `-`, and also after `--`. Letters of short options are found inside clusters (`-uo`).
//! Where that refuses an option that is harmless, the user is asked; the other mistake would run something.
//!
//! | file       | programs                                                       |
//! |------------|----------------------------------------------------------------|
//! | `build`    | compilers, linkers, build tools                                |
//! | `language` | package managers, test runners and linters of languages        |
//! | `network`  | version control, transfers, containers, clusters, keys         |
//! | `text`     | searching, viewing, archives, documents                        |

mod build;
mod language;
mod network;
mod text;

use super::{git::subcommand, word::Word};

/// What is dangerous in the arguments of a program.
pub(super) struct Guard {
    /// Its names.
    programs: &'static [&'static str],
    /// Its subcommand that this is about; empty for all.
    subcommand: &'static str,
    /// Letters of short options.
    short: &'static str,
    /// Options by their names.
    long: &'static [&'static str],
    /// Names of harmless options with which one of those begins.
    plain: &'static [&'static str],
    /// Whole words.
    words: &'static [&'static str],
    /// Beginnings of words.
    prefixes: &'static [&'static str],
    /// What a word may not have anywhere in it.
    parts: &'static [&'static str],
}

const NONE: Guard =
    Guard { programs: &[], subcommand: "", short: "", long: &[], plain: &[], words: &[], prefixes: &[], parts: &[] };

/// The guards of all programs.
fn all() -> impl Iterator<Item = &'static Guard> {
    build::GUARDS.iter().chain(language::GUARDS).chain(network::GUARDS).chain(text::GUARDS)
}

/// What is to be minded in a command of this program.
pub(super) fn of(program: &str, words: &[Word]) -> Vec<&'static Guard> {
    let names = names(program);
    let is_meant = |guard: &&Guard| guard.programs.iter().any(|name| names.contains(name));
    all().filter(|guard| is_meant(guard) && concerns(guard, words)).collect()
}

/// The names by which a program is in the tables: `gcc` for `gcc`, `gcc-12` and `x86_64-linux-gnu-gcc-12`.
pub(super) fn names(program: &str) -> Vec<&str> {
    let plain = program.strip_suffix(".exe").unwrap_or(program);
    let unversioned = plain.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let unversioned = unversioned.strip_suffix('-').unwrap_or(unversioned);
    let mut names = vec![program, plain, unversioned];
    // A compiler's name begins with what it compiles for.
    names.extend(unversioned.rsplit_once('-').filter(|(target, _)| target.contains('-')).map(|(_, name)| name));
    names
}

/// Whether a guard is about the subcommand, if there is one.
fn concerns(guard: &Guard, words: &[Word]) -> bool {
    guard.subcommand.is_empty()
        || subcommand(words).is_none_or(|place| words[place].known().is_none_or(|word| word == guard.subcommand))
}

impl Guard {
    /// Whether a word is an option of this table that the rule does not write out. `literal` is the text that the
    /// word of the rule begins with, before its wildcard.
    pub(super) fn forbids(&self, text: &str, literal: &str, program: &str, place: usize) -> bool {
        if self.words.contains(&text)
            || self.prefixes.iter().any(|prefix| text.starts_with(prefix))
            || self.parts.iter().any(|part| text.contains(part))
        {
            return true;
        }
        let name = text.trim_start_matches('-');
        let dashes = text.len() - name.len();
        // What the rule writes up to the `=` is the option that it means.
        let is_plain = dashes > 0 && self.plain.contains(&name.split('=').next().unwrap_or_default());
        if dashes > 0
            && !is_plain
            && !literal.contains('=')
            && self.long.iter().any(|option| may_be(name, dashes, option))
        {
            return true;
        }
        // The first word of `tar xf` is a cluster as well.
        let bundled = program.ends_with("tar") && place == 1;
        let written = |letter: char| literal.len() > 1 && literal.contains(letter);
        let is_short = |letter: char| self.short.contains(letter) && !written(letter);
        match dashes {
            0 if !bundled => false,
            0 | 1 => name.chars().any(is_short),
            // Programs that count no dashes find a letter behind any number of them.
            _ => name.starts_with(is_short) && name[1..].chars().next().is_none_or(|next| !next.is_alphanumeric()),
        }
    }
}

/// Whether a word, without the dashes before it, may be taken for an option.
fn may_be(word: &str, dashes: usize, option: &str) -> bool {
    let name = word.split(['=', ':', ' ']).next().unwrap_or_default().replace('_', "-");
    let option = option.replace('_', "-");
    if name == option {
        return true;
    }
    match dashes {
        // After one dash a single letter is an option of its own.
        1 => name.len() > 1 && option.starts_with(&name),
        _ => !name.is_empty() && option.to_ascii_lowercase().starts_with(&name.to_ascii_lowercase()),
    }
}
