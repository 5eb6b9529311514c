//! The arguments with which a program runs something else, or writes where it usually reads, for each program.
//!
//! The tables are based on the programs' manuals. They are matched in the most general way in which any program parses its
//! options: a word that begins with a dash matches with any number of dashes (npm and others accept them), by any
//! abbreviation (`--outp=x`), with its value after `=` or in the next word, in any case after two dashes, with `_` for `-`,
//! and also after `--`. Letters of short options are found inside clusters (`-uo`). If this rejects a harmless option, the
//! user is asked; the opposite mistake would run something.
//!
//! | file       | programs                                                       |
//! |------------|----------------------------------------------------------------|
//! | `build`    | compilers, linkers, build tools                                |
//! | `language` | package managers, test runners and linters of languages        |
//! | `network`  | version control, transfers, containers, clusters, keys         |
//! | `text`     | searching, viewing, archives, documents                        |

mod build;
mod guard;
mod language;
mod network;
mod text;

use self::guard::Guard;
use super::{git::subcommand, word::Word};

/// The guards of all programs.
fn all() -> impl Iterator<Item = &'static Guard> {
    build::GUARDS.iter().chain(language::GUARDS).chain(network::GUARDS).chain(text::GUARDS)
}

/// The guards for a command of this program.
pub(super) fn of(program: &str, words: &[Word]) -> Vec<&'static Guard> {
    let names = names(program);
    let is_meant = |guard: &&Guard| guard.programs.iter().any(|name| names.contains(name));
    all().filter(|guard| is_meant(guard) && concerns(guard, words)).collect()
}

/// The names of a program in the tables: `gcc` for `gcc`, `gcc-12` and `x86_64-linux-gnu-gcc-12`.
pub(super) fn names(program: &str) -> Vec<&str> {
    let plain = program.strip_suffix(".exe").unwrap_or(program);
    let unversioned = plain.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let unversioned = unversioned.strip_suffix('-').unwrap_or(unversioned);
    let mut names = vec![program, plain, unversioned];
    // A compiler's name may begin with its target.
    names.extend(unversioned.rsplit_once('-').filter(|(target, _)| target.contains('-')).map(|(_, name)| name));
    names
}

/// Whether a guard applies to the subcommand, if there is one.
fn concerns(guard: &Guard, words: &[Word]) -> bool {
    guard.subcommand.is_empty()
        || subcommand(words).is_none_or(|place| words[place].known().is_none_or(|word| word == guard.subcommand))
}
