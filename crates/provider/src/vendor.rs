//! What a vendor's folder offers: the vendor's own options, and all that follows from them.
//!
//! Each folder has a type for the options in its table of `parameters` and implements [`VendorOptions`] for it. The
//! configuration reads the table through that trait, the runtime builds the provider through it, and `:checkhealth`
//! asks it what is missing. Nothing outside the folder knows the type.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Provider, ProviderError, Thinking, auth::Environment, credential::Credential};
use flemma_model::{Message, UserError};

/// Reads a `.chat` document into its messages, or says why it cannot. Those who build a provider bring it: a provider
/// may be a script in such a document, and reading one belongs to a layer above.
pub type ReadDocument = fn(&str) -> Result<Vec<Arc<Message>>, UserError>;

/// The options of one vendor, in `parameters.<name>`.
pub trait VendorOptions: Boxed + fmt::Debug + Send + Sync {
    /// How much a model may think, if an option with a name of the vendor's own says so.
    fn thinking(&self) -> Option<Thinking> {
        None
    }

    /// The key that the vendor wants, and where it may be; `None` if it wants none.
    fn credential(&self) -> Option<Credential>;

    /// The provider with these options. It looks its key up in `environment`.
    ///
    /// # Errors
    /// When there cannot be one.
    fn build(&self, environment: Environment, read: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError>;

    /// What `:checkhealth` says when conversations talk to `model` with these options. It starts no process and opens
    /// no socket, since those may take a minute or ask for a password.
    fn health(&self, model: &str, environment: &Environment) -> Health;
}

/// What a [`VendorOptions`] behind a pointer can do. Every type that is `Clone` and `Serialize` has it.
pub trait Boxed {
    /// A copy.
    fn boxed(&self) -> Box<dyn VendorOptions>;

    /// The options as the configuration writes them.
    fn to_json(&self) -> Value;
}

impl<T: VendorOptions + Clone + Serialize + 'static> Boxed for T {
    fn boxed(&self) -> Box<dyn VendorOptions> {
        Box::new(self.clone())
    }

    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Clone for Box<dyn VendorOptions> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl PartialEq for dyn VendorOptions {
    fn eq(&self, other: &Self) -> bool {
        self.to_json() == other.to_json()
    }
}

impl Serialize for dyn VendorOptions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

/// What `:checkhealth` says about a provider, with the level that it is shown at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All is well.
    Ok(String),
    /// Nothing is known to be missing.
    Info(String),
    /// Something may be missing.
    Warn(String),
    /// Requests cannot succeed.
    Error(String),
}

impl Health {
    /// Whether the key of the provider `name` is in `variable`.
    pub(super) fn of_key(name: &str, model: &str, variable: &str, environment: &Environment) -> Self {
        let provider = format!("provider `{name}`, model {model}");
        match environment.find(variable) {
            Ok(Some(_)) => Self::Ok(format!("{provider}: {variable} is set")),
            Ok(None) => Self::Warn(format!(
                "{provider}: {variable} is not set; the keyring and `api_key_command` are tried when a key is needed"
            )),
            Err(error) => Self::Error(error.to_string()),
        }
    }

    /// The level and the message. The level is the name of a function in Neovim's `vim.health`.
    #[must_use]
    pub fn into_parts(self) -> (&'static str, String) {
        match self {
            Self::Ok(message) => ("ok", message),
            Self::Info(message) => ("info", message),
            Self::Warn(message) => ("warn", message),
            Self::Error(message) => ("error", message),
        }
    }
}
