//! Where a provider's key comes from when the environment does not have it.
//!
//! Fetching a key takes a process or a socket, which a provider does not have. So a vendor names the places as data,
//! the runtime asks them in their order before the provider is built (`flemma_runtime::Credentials`),
//! and what it finds is in the [`Environment`](super::auth::Environment) that the provider is given, as if it had been
//! set there. If the variable is set in the environment, no other place is asked.

use std::time::Duration;

/// A provider's key, and the places where it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The variable that holds the key. If it is set, nothing else is asked.
    pub variable: &'static str,
    /// The places to ask, first to last.
    pub sources: Vec<KeySource>,
}

/// A place where a key may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The system's keyring: `secret-tool` on Linux, the Keychain on macOS, under the service [`KEYRING_SERVICE`] and
    /// this account. Passed over where there is no keyring or no such entry.
    Keyring(&'static str),
    /// What this command of the user's prints. It is an error if it fails.
    Command(Vec<String>),
    /// A file that this variable names, and that is exchanged for a token at a server ([`KeyFile`](crate::KeyFile)).
    /// Passed over if the variable is not set.
    KeyFile(&'static str),
    /// A program of the vendor's. Passed over where it is not installed.
    Program(&'static Program),
}

/// A program of a vendor's that prints a token.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub line: &'static [&'static str],
    /// What the user should do if it fails.
    pub fix: &'static str,
    /// How long a token that it prints is valid at least.
    pub lifetime: Duration,
}

/// The service that keys are stored under in a keyring.
pub const KEYRING_SERVICE: &str = "flemma";
