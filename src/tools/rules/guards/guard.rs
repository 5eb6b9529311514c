//! One row of the tables: what is dangerous in the arguments of a program.

/// What is dangerous in the arguments of a program.
pub(in crate::tools::rules) struct Guard {
    /// Its names.
    pub(super) programs: &'static [&'static str],
    /// Its subcommand that this is about; empty for all.
    pub(super) subcommand: &'static str,
    /// Letters of short options.
    pub(super) short: &'static str,
    /// Options by their names.
    pub(super) long: &'static [&'static str],
    /// Names of harmless options with which one of those begins.
    pub(super) plain: &'static [&'static str],
    /// Whole words.
    pub(super) words: &'static [&'static str],
    /// Beginnings of words.
    pub(super) prefixes: &'static [&'static str],
    /// What a word may not have anywhere in it.
    pub(super) parts: &'static [&'static str],
}

/// A guard that minds nothing: what the tables leave out.
pub(super) const NONE: Guard =
    Guard { programs: &[], subcommand: "", short: "", long: &[], plain: &[], words: &[], prefixes: &[], parts: &[] };

impl Guard {
    /// Whether a word is an option of this table that the rule does not write out. `literal` is the text that the
    /// word of the rule begins with, before its wildcard.
    pub(in crate::tools::rules) fn forbids(&self, text: &str, literal: &str, program: &str, place: usize) -> bool {
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
