//! A problem in a document, for the user.

/// The severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A warning.
    Warning,
    /// The document cannot be sent as it is.
    Error,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line, from 0.
    pub line: usize,
    /// The severity.
    pub severity: Severity,
    /// The message: what is wrong and how to fix it. It does not contain the line number.
    pub message: String,
}

impl Diagnostic {
    /// An error, which prevents sending.
    pub(super) fn error(line: usize, message: impl Into<String>) -> Self {
        Self { line, severity: Severity::Error, message: message.into() }
    }

    pub(super) fn warning(line: usize, message: impl Into<String>) -> Self {
        Self { line, severity: Severity::Warning, message: message.into() }
    }
}
