//! The arguments with which a program runs something else, or writes where it usually reads, for each program.
//!
//! They are matched in the most general way in which any program parses its options: a word that begins with a dash matches with any
//! number of dashes (npm and others accept them), by any abbreviation (`--outp=x`), with its value after `=` or in the next word, in
//! any case after two dashes, with `_` for `-`, and also after `--`. Letters of short options are found inside clusters (`-uo`). If
//! this rejects a harmless option, the user is asked; the opposite mistake would run something.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{git, programs, word::Word};

/// The dangerous arguments of programs: one row of the table.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Guard {
    /// Their names.
    programs: Vec<String>,
    /// The subcommand that this applies to; empty for all.
    subcommand: String,
    /// Letters of short options.
    short: String,
    /// Names of long options.
    long: Vec<String>,
    /// Names of harmless options that are prefixes of one of those.
    plain: Vec<String>,
    /// Whole words.
    words: Vec<String>,
    /// Beginnings of words: `@file`, a TeX program or the name of a format.
    prefixes: Vec<String>,
    /// Text that must not occur anywhere in a word: the colon of another machine, the `=` of a variable.
    parts: Vec<String>,
}

static GUARDS: LazyLock<Vec<Guard>> = LazyLock::new(|| programs::table(include_str!("programs/guards.json")));

/// The guards for a command of this program.
pub(super) fn of(program: &str, words: &[Word]) -> Vec<&'static Guard> {
    let names = names(program);
    let is_meant = |guard: &&Guard| guard.programs.iter().any(|name| names.contains(&name.as_str()));
    GUARDS.iter().filter(|guard| is_meant(guard) && guard.concerns(words)).collect()
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

impl Guard {
    /// Whether it applies to the subcommand, if there is one.
    fn concerns(&self, words: &[Word]) -> bool {
        self.subcommand.is_empty()
            || git::subcommand(words)
                .is_none_or(|place| words[place].known().is_none_or(|word| word == self.subcommand))
    }

    /// Whether a word is an option in this table that the rule does not contain. `literal` is the text of the rule's word
    /// before its wildcard.
    pub(super) fn forbids(&self, text: &str, literal: &str, program: &str, place: usize) -> bool {
        if self.words.iter().any(|word| text == word)
            || self.prefixes.iter().any(|prefix| text.starts_with(prefix))
            || self.parts.iter().any(|part| text.contains(part))
        {
            return true;
        }
        let name = text.trim_start_matches('-');
        let dashes = text.len() - name.len();
        // The text of the rule up to the `=` is the option that it approves.
        let is_plain = dashes > 0 && self.plain.iter().any(|plain| name.split('=').next() == Some(plain));
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
            // Some programs accept a letter after any number of dashes.
            _ => name.starts_with(is_short) && name[1..].chars().next().is_none_or(|next| !next.is_alphanumeric()),
        }
    }
}

/// Whether a word, without its leading dashes, may be taken for an option.
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
