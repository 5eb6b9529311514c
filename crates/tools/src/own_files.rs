//! The files that Flemma puts beside those of the user for a while.

use std::ffi::OsStr;

/// How the name of a lock file beside a conversation ends.
pub const LOCK: &str = ".flemma-lock";

/// What the name of a file that is about to replace another one has before a few letters and digits.
pub const REPLACEMENT: &str = ".flemma-new-";

/// Whether a file of this name is one of them. They are there for moments, or while a conversation is open, and say nothing to a model.
pub fn is_own_file(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_replacement = |at: usize| {
        let random = &name[at + REPLACEMENT.len()..];
        !random.is_empty() && random.chars().all(|letter| letter.is_ascii_alphanumeric())
    };
    name.starts_with('.') && (name.ends_with(LOCK) || name.rfind(REPLACEMENT).is_some_and(is_replacement))
}
