//! `parameters.openai`.

use std::sync::Arc;

use serde::Serialize;

use super::{DEFAULT_BASE_URL, Effort, KEY_VARIABLE, NAME, OpenAi, errors::VENDOR};
use crate::{
    Health, Provider, ProviderError, ReadDocument, VendorOptions,
    auth::Environment,
    connection::{Connection, VERSIONED_URL},
    credential::Credential,
};
use flemma_model::options::Table;

/// `parameters.openai`, without the general parameters in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// The address, which ends in the version; `/responses` is added to it.
    #[serde(flatten)]
    connection: Connection,
    /// How hard the model is asked to think. Beats `parameters.thinking`, and is sent as it is.
    reasoning: Option<Effort>,
}

impl Options {
    pub(crate) fn read(table: &mut Table<'_>) -> Self {
        let connection = Connection::read(table, &VERSIONED_URL);
        Self { connection, reasoning: table.choose("reasoning", &Effort::ALL) }
    }
}

impl VendorOptions for Options {
    fn credential(&self) -> Option<Credential> {
        Some(self.connection.credential(&VENDOR))
    }

    fn build(&self, environment: Environment, _: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        let access = self.connection.access(&VENDOR, DEFAULT_BASE_URL, environment);
        Ok(Arc::new(OpenAi { access, effort: self.reasoning }))
    }

    fn health(&self, model: &str, environment: &Environment) -> Health {
        Health::of_key(NAME, model, KEY_VARIABLE, environment)
    }
}
