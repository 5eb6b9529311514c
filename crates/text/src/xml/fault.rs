//! Where a text stops being XML, in words for whoever wrote it.

use std::fmt;

use quick_xml::{
    Error,
    errors::{IllFormedError, SyntaxError},
};

/// The first place at which a text is not XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlFault {
    /// The line of the text, from 1.
    pub line: usize,
    what: String,
}

impl XmlFault {
    /// The fault at this byte of a text.
    pub(super) fn at(text: &str, byte: u64, what: impl Into<String>) -> Self {
        let byte = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
        let line = text.as_bytes()[..byte].iter().filter(|byte| **byte == b'\n').count() + 1;
        Self { line, what: what.into() }
    }

    /// The fault of a text that gave this error there.
    pub(super) fn of(text: &str, byte: u64, error: &Error) -> Self {
        let what = match error {
            Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
                format!("`<{expected}>` is closed by `</{found}>`; write `</{expected}>` before it")
            }
            Error::IllFormed(IllFormedError::UnmatchedEndTag(name)) => {
                format!("`</{name}>` closes nothing; remove it, or write `<{name}>` before it")
            }
            Error::IllFormed(IllFormedError::MissingEndTag(name)) => format!("`<{name}>` is not closed"),
            Error::Syntax(SyntaxError::UnclosedCData) => "`<![CDATA[` is not closed by `]]>`".to_owned(),
            Error::Syntax(SyntaxError::UnclosedComment) => "`<!--` is not closed by `-->`".to_owned(),
            Error::Syntax(_) => {
                "a `<` begins no element; write a `<` in a text as `&lt;`, or put the text in <![CDATA[ and ]]>"
                    .to_owned()
            }
            Error::InvalidAttr(error) => format!("an attribute is wrong ({error}); write it as name=\"value\""),
            error => error.to_string(),
        };
        Self::at(text, byte, what)
    }
}

impl fmt::Display for XmlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not valid XML: line {}: {}", self.line, self.what)
    }
}
