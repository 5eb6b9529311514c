//! The part of a call that a rule can match.

use std::path::Path;

/// The part of a call that a rule can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command line for bash.
    Command(&'a str),
    /// The file or folder that is passed to the tool; absolute, as the tool would open it.
    Path(&'a Path),
    /// Neither: only rules about the whole tool apply.
    Other,
}
