//! One row of the tables: the dangerous arguments of a program.

/// The dangerous arguments of a program.
pub(in crate::rules) struct Guard {
    /// Its names.
    pub(super) programs: &'static [&'static str],
    /// The subcommand that this applies to; empty for all.
    pub(super) subcommand: &'static str,
    /// Letters of short options.
    pub(super) short: &'static str,
    /// Names of long options.
    pub(super) long: &'static [&'static str],
    /// Names of harmless options that are prefixes of one of those.
    pub(super) plain: &'static [&'static str],
    /// Whole words.
    pub(super) words: &'static [&'static str],
    /// Beginnings of words.
    pub(super) prefixes: &'static [&'static str],
    /// Text that must not occur anywhere in a word.
    pub(super) parts: &'static [&'static str],
}

/// A guard without entries, for the fields that the tables leave out.
pub(super) const NONE: Guard =
    Guard { programs: &[], subcommand: "", short: "", long: &[], plain: &[], words: &[], prefixes: &[], parts: &[] };

impl Guard {
    /// Whether a word is an option in this table that the rule does not contain. `literal` is the text of the rule's word
    /// before its wildcard.
    pub(in crate::rules) fn forbids(&self, text: &str, literal: &str, program: &str, place: usize) -> bool {
        if self.words.contains(&text)
            || self.prefixes.iter().any(|prefix| text.starts_with(prefix))
            || self.parts.iter().any(|part| text.contains(part))
        {
            return true;
        }
        let name = text.trim_start_matches('-');
        let dashes = text.len() - name.len();
        // The text of the rule up to the `=` is the option that it approves.
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
