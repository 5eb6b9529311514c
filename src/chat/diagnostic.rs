//! One thing that is wrong with a document, for the user.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// The document cannot be sent as it is.
    Error,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line, from 0.
    pub line: usize,
    /// How bad it is.
    pub severity: Severity,
    /// For the user: what, and the mend. It names no line number.
    pub message: String,
}

impl Diagnostic {
    /// What keeps the document from being sent.
    pub(super) fn error(line: usize, message: impl Into<String>) -> Self {
        Self { line, severity: Severity::Error, message: message.into() }
    }

    pub(super) fn warning(line: usize, message: impl Into<String>) -> Self {
        Self { line, severity: Severity::Warning, message: message.into() }
    }
}
