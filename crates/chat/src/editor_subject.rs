//! What a reference to the editor is about.

use std::fmt;

/// What a reference to the editor is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EditorSubject {
    /// The text of a buffer.
    Buffer,
    /// The diagnostics of a buffer.
    Diagnostics,
    /// What `git diff` says of the working tree.
    Diff,
    /// The quickfix list.
    Quickfix,
    /// The function, or whatever else has a name, around the cursor.
    Symbol,
}

impl EditorSubject {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Buffer, Self::Diagnostics, Self::Diff, Self::Quickfix, Self::Symbol];

    /// The name behind the `@`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Diagnostics => "diagnostics",
            Self::Diff => "diff",
            Self::Quickfix => "quickfix",
            Self::Symbol => "symbol",
        }
    }

    /// The subject of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
    }
}

impl fmt::Display for EditorSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
