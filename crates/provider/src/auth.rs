//! Keys: where they come from, and how they are kept out of messages and logs.
//!
//! A key is read from the environment when a request is made, so that `:let $ANTHROPIC_API_KEY = "…"`
//! works without a restart. The environment is a function that the caller passes in, so tests need no real one.
//! What is not in it may have been fetched before (see [`super::credential`]): then it is in the
//! environment that the provider is given, under the same name.

use std::{fmt, sync::Arc};

use super::{
    ErrorKind, ProviderError,
    redact::{Redaction, redact},
};

/// A vendor's key. It cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    value: String,
    origin: String,
}

impl Key {
    /// The key `value` that was found at `origin`: words that follow "the key", such as "in ANTHROPIC_API_KEY".
    /// White space around it is dropped: keys are often read from files that end in a line break.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] when it is empty or cannot be part of an HTTP header. The message names the
    /// origin, never the value.
    pub fn new(value: &str, origin: &str) -> Result<Self, ProviderError> {
        let value = value.trim();
        let why = match value {
            "" => "it is empty",
            _ if value.bytes().all(|byte| byte.is_ascii_graphic()) => "",
            _ => "it contains a space, a line break or a non-ASCII character",
        };
        if !why.is_empty() {
            let message = format!("the key {origin} cannot be used: {why}");
            return Err(ProviderError::new(ErrorKind::Authentication, message));
        }
        Ok(Self { value: value.to_owned(), origin: origin.to_owned() })
    }

    /// The key itself, for a request's header and for nothing else.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// Where it was found, in words that follow "the key".
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// `text` with `…` instead of the key, its parts and its other forms: for what a vendor or a gateway says
    /// back, which may quote what it was sent. A key of fewer than eight bytes is not a secret and is kept.
    pub fn redact(&self, text: &str) -> String {
        redact(text, &self.value, Redaction::Parts)
    }
}

impl From<&str> for Key {
    /// Takes a secret that is not looked up: one that only has to be kept out of messages.
    fn from(secret: &str) -> Self {
        Self { value: secret.to_owned(), origin: String::new() }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The environment variables that keys are read from, and the keys that were fetched instead of one.
#[derive(Clone)]
pub struct Environment {
    lookup: Arc<Lookup>,
    fetched: Vec<(String, Key)>,
}

impl Environment {
    /// An environment that asks `lookup`, which gives `None` for what is not set or not Unicode.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { lookup: Arc::new(lookup), fetched: Vec::new() }
    }

    /// The environment of this process, as it is at each lookup.
    pub fn of_process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// The same environment with `key` as the value of `variable`, where that is not set.
    pub fn with(mut self, variable: &str, key: Key) -> Self {
        self.fetched.push((variable.to_owned(), key));
        self
    }

    /// Whether `variable` is set and not empty, or something was fetched instead.
    pub fn has(&self, variable: &str) -> bool {
        self.value(variable).is_some()
    }

    /// The value of a variable that is not a secret; `None` if it is not set or empty.
    pub fn value(&self, variable: &str) -> Option<String> {
        self.set(variable).or_else(|| Some(self.fetched(variable)?.expose().to_owned()))
    }

    /// The key in `variable`, or the one that was fetched instead; `None` if there is neither.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] when the value cannot be part of an HTTP header.
    pub fn find(&self, variable: &str) -> Result<Option<Key>, ProviderError> {
        match self.set(variable) {
            Some(value) => Key::new(&value, &format!("in {variable}")).map(Some),
            None => Ok(self.fetched(variable).cloned()),
        }
    }

    fn set(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).filter(|value| !value.trim().is_empty())
    }

    fn fetched(&self, variable: &str) -> Option<&Key> {
        self.fetched.iter().find(|(name, _)| name == variable).map(|(_, key)| key)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
