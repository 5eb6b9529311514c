//! Where a provider's key comes from when the environment does not have it.
//!
//! Fetching a key takes a process or a socket, which a provider does not have. So a vendor names the places as data,
//! the runtime asks them in their order before the provider is built (`flemma_runtime::Credentials`),
//! and what it finds is in the [`Environment`](super::auth::Environment) that the provider is given, as if it had been
//! set there. If the variable is set in the environment, no other place is asked.

use std::time::{Duration, SystemTime};

use super::{ErrorResponse, HttpRequest, ProviderError, auth::Key};

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
    /// A file that is exchanged for a token. Passed over if its variable is not set.
    TokenFile(&'static TokenFile),
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

/// A file that a variable of the environment names, and that is exchanged for a token at a server.
#[derive(Debug)]
pub struct TokenFile {
    /// The variable.
    pub variable: &'static str,
    /// Reads the text of the file, or says what is wrong with it in words that follow its name.
    pub read: fn(&str) -> Result<Box<dyn TokenExchange>, String>,
}

impl PartialEq for TokenFile {
    fn eq(&self, other: &Self) -> bool {
        self.variable == other.variable
    }
}

impl Eq for TokenFile {}

/// How one file is exchanged for a token. The runtime reads the file, sends the request and tells the time.
pub trait TokenExchange: Send + Sync {
    /// The request for a token. `now` must be about right: a server may refuse a request from the past or the future.
    ///
    /// # Errors
    /// When there cannot be one.
    fn request(&self, now: SystemTime) -> Result<HttpRequest, ProviderError>;

    /// Reads an answer whose status is a success.
    ///
    /// # Errors
    /// When it holds no token.
    fn token(&self, body: &[u8]) -> Result<AccessToken, ProviderError>;

    /// Turns an answer with any other status into an error.
    fn decode_error(&self, response: &ErrorResponse) -> ProviderError;

    /// Variables that the file also answers for where the environment does not have them, with their values.
    fn variables(&self) -> Vec<(&'static str, String)>;
}

/// A token, and how long it is valid.
#[derive(Debug)]
pub struct AccessToken {
    /// The token.
    pub key: Key,
    /// How long it is valid from now on.
    pub lifetime: Duration,
}

/// The service that keys are stored under in a keyring.
pub const KEYRING_SERVICE: &str = "flemma";
