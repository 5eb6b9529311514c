//! Errors by who has to act on them.
//!
//! A [`ModelError`] becomes the result of a call, where the model reads it. A [`UserError`] is shown to the user. Neither
//! becomes the other by itself: whoever passes an error to another audience writes a sentence for that audience. (Errors
//! of requests carry their audience in `ErrorKind`, see `flemma_provider`.)

use thiserror::Error;

/// Why a call did not do what it was asked. The model acts on it, by calling differently or by doing without.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ModelError(String);

impl ModelError {
    /// An error with a message, which says what is wrong and what to do instead.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// # Errors
    /// With this message where a condition holds.
    pub fn when(condition: bool, message: impl Into<String>) -> Result<(), Self> {
        if condition { Err(Self::new(message)) } else { Ok(()) }
    }
}

/// Why something that the user wants was not done. The user acts on it, by changing an option, a file or a command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{words}{}", .advice.as_ref().map(|advice| format!(" {advice}")).unwrap_or_default())]
pub struct UserError {
    words: String,
    /// What to do about it in an editor.
    advice: Option<String>,
}

impl UserError {
    /// An error with a message, which says what is wrong and what to do about it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { words: message.into(), advice: None }
    }

    /// The same, with what to do about it in an editor: a sentence that names keys or commands.
    pub fn with_advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// The same for a user who has no editor there.
    pub fn without_advice(self) -> Self {
        Self { advice: None, ..self }
    }
}
