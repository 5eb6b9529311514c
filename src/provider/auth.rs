//! Keys: where they come from, and how they stay out of sight.
//!
//! A key is read from the environment when a request is made, so that `:let $ANTHROPIC_API_KEY = "…"`
//! works without a restart. The environment is a function that the caller hands in: tests need none.

use std::{fmt, sync::Arc};

use super::{ErrorKind, ProviderError};

/// A vendor's key. It cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key itself, for a request's header and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of the key replaced by `…`: for what a vendor or a gateway says
    /// back, which may quote what it was sent.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl From<&str> for Key {
    /// Takes a secret that came from elsewhere than the environment.
    fn from(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The environment variables that keys are read from.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

impl Environment {
    /// An environment that asks `lookup`, which gives `None` for what is not set or not Unicode.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    /// The environment of this process, as it is at each lookup.
    #[must_use]
    pub fn of_process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// Whether `variable` is set and not empty.
    #[must_use]
    pub fn has(&self, variable: &str) -> bool {
        (self.0)(variable).is_some_and(|value| !value.trim().is_empty())
    }

    /// Reads the key of `vendor` from `variable`. White space around it is dropped: keys are often
    /// read from files that end in a line break.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] when the variable is not set or empty, or when its value cannot
    /// stand in an HTTP header. The message names the variable and the mend, never the value.
    pub fn key(&self, vendor: &str, variable: &str) -> Result<Key, ProviderError> {
        let value = (self.0)(variable).unwrap_or_default();
        let value = value.trim();
        let message = if value.is_empty() {
            format!(
                "no key for {vendor}: {variable} is not set. Set it in the shell that starts Neovim, \
                 or for this session with :let ${variable} = \"…\""
            )
        } else if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            format!(
                "the value of {variable} is no key: it has a space, a line break or a character outside ASCII in it"
            )
        } else {
            return Ok(Key(value.to_owned()));
        };
        Err(ProviderError::new(ErrorKind::Authentication, message))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
