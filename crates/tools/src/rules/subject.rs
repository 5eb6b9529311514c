//! The part of a call that a rule can match.

use std::path::{Path, PathBuf};

/// The part of a call that a rule can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command line for bash.
    Command(&'a str),
    /// The file or folder that is passed to the tool; absolute, as the tool would open it.
    Path(&'a Path),
    /// Several of them: a denial of one applies to the call, and an approval has to cover each.
    Paths(&'a [PathBuf]),
    /// Neither: only rules about the whole tool apply.
    Other,
}
