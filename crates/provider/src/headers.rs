//! Headers that the user adds to a provider's requests (`parameters.<provider>.headers`).
//!
//! Gateways want them: an organisation, a team, a token of their own. One that has the name of a header of
//! ours takes its place. Their values may be secrets, so nothing here prints them.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Headers that say where the body ends or what becomes of the connection: they are not the user's to set.
const RESERVED: [&str; 5] = ["connection", "content-length", "te", "transfer-encoding", "upgrade"];

/// Header names, in lower case, and their values.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers(BTreeMap<String, String>);

/// Why a header cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderProblem {
    /// The name is not a header name (RFC 9110, 5.1), or one that only the connection sets: what a table of headers is, as
    /// the end of "must be ...".
    Name(&'static str),
    /// The value has a line break, a control character or a character outside ASCII in it.
    Value,
}

impl Headers {
    /// Adds a header; a later one of the same name, in upper or lower case, replaces an earlier one. White space around
    /// the value is dropped.
    ///
    /// # Errors
    /// What is wrong with it; nothing is added then.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), HeaderProblem> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let name = name.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(HeaderProblem::Name("a table of header names and their values"));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(HeaderProblem::Name("a table without headers that the connection itself sets"));
        }
        let value = value.trim();
        if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(HeaderProblem::Value);
        }
        self.0.insert(name, value.to_owned());
        Ok(())
    }

    /// Whether there is a header of this name, written in lower case.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Names and values, to keep the values out of messages.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// These headers and those of `own` that they do not replace.
    pub(super) fn lay_over(&self, mut own: Vec<(&'static str, String)>) -> Vec<(Cow<'static, str>, String)> {
        own.retain(|(name, _)| !self.has(name));
        let own = own.into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
        own.chain(self.0.iter().map(|(name, value)| (Cow::Owned(name.clone()), value.clone()))).collect()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "…"))).finish()
    }
}
