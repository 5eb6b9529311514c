//! `parameters.openai_compatible`.

use std::sync::Arc;

use serde::Serialize;

use super::{NAME, OpenAiCompatible, errors::VENDOR};
use crate::{
    Health, Provider, ProviderError, ReadDocument, VendorOptions,
    auth::Environment,
    connection::{Connection, VERSIONED_URL},
    credential::Credential,
};
use flemma_model::options::Table;

/// `parameters.openai_compatible`, without the general parameters in it. There is no server to ask where the address is
/// not set; `/chat/completions` is added to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options(Connection);

impl Options {
    pub(crate) fn read(table: &mut Table<'_>) -> Self {
        Self(Connection::read(table, &VERSIONED_URL))
    }

    fn server(&self, environment: Environment) -> OpenAiCompatible {
        OpenAiCompatible(self.0.access(&VENDOR, "", environment))
    }
}

impl VendorOptions for Options {
    fn credential(&self) -> Option<Credential> {
        Some(self.0.credential(&VENDOR))
    }

    fn build(&self, environment: Environment, _: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(self.server(environment)))
    }

    fn health(&self, model: &str, environment: &Environment) -> Health {
        match self.server(environment.clone()).list_models() {
            Ok(_) if model.is_empty() => Health::Error(format!("provider `{NAME}`: `model` is not set")),
            Ok(_) => Health::Ok(format!("provider `{NAME}`, model {model}")),
            Err(error) => Health::Error(error.to_string()),
        }
    }
}
