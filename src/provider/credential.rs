//! Where a provider's key comes from when the environment does not have it.
//!
//! To fetch a key takes a process or a socket, which a provider has not. So a provider names the places as data, the
//! runtime asks them in their order before the provider is built
//! ([`Credentials`](crate::runtime::Credentials)), and what it finds stands in the
//! [`Environment`](super::auth::Environment) that the provider is given, as if it had been set there. An environment
//! that has the variable is never asked to go further.

/// A provider's key, and the places where it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The variable that the key stands in, and that nothing else is asked for if it is set.
    pub variable: &'static str,
    /// The places to ask, first to last.
    pub sources: Vec<Source>,
}

/// A place where a key may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The system's keyring: `secret-tool` on Linux, the Keychain on macOS, under the service [`KEYRING_SERVICE`] and
    /// this account. Passed over where there is no keyring or no such entry.
    Keyring(&'static str),
    /// What this command of the user's prints. It is an error if it fails.
    Command(Vec<String>),
    /// The key file that [`FILE_VARIABLE`](super::vertex::token::FILE_VARIABLE) names; passed over if it names none.
    GoogleKeyFile,
    /// `gcloud auth print-access-token`; passed over where there is no `gcloud`.
    Gcloud,
}

/// The service that keys stand under in a keyring.
pub const KEYRING_SERVICE: &str = "flemma";

impl Credential {
    /// A plain key: from the keyring under the provider's name, then from `command`, if the user has one.
    #[must_use]
    pub fn api_key(provider: &'static str, variable: &'static str, command: Option<&[String]>) -> Self {
        let mut sources = vec![Source::Keyring(provider)];
        sources.extend(command.map(|line| Source::Command(line.to_vec())));
        Self { variable, sources }
    }
}
