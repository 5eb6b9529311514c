//! What a rule can speak of in a call.

use std::path::Path;

/// What a rule can speak of in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command line for bash.
    Command(&'a str),
    /// The file or folder that the tool is given; absolute, as the tool would open it.
    Path(&'a Path),
    /// Neither: only rules about the whole tool speak.
    Other,
}
