//! `parameters.openai_compatible`.

use std::sync::Arc;

use serde::Serialize;

use super::{KEY_VARIABLE, NAME, OpenAiCompatible};
use crate::{
    Headers, Health, Provider, ProviderError, ReadDocument, VendorOptions,
    auth::Environment,
    connection::{COMMAND, VERSIONED_URL, read_headers},
    credential::Credential,
};
use flemma_model::options::Table;

/// `parameters.openai_compatible`, without the general parameters in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Options {
    /// The server's address, as `http://localhost:11434/v1`; `/chat/completions` is added to it. There is no server
    /// to ask without it.
    pub base_url: Option<String>,
    /// Headers that are added to every request.
    pub headers: Headers,
    /// What prints the key, if neither the environment nor the keyring has it.
    pub api_key_command: Option<Vec<String>>,
}

impl Options {
    fn server(&self, environment: Environment) -> OpenAiCompatible {
        let base_url = self.base_url.as_deref().unwrap_or_default();
        OpenAiCompatible::new(base_url, environment).with_headers(self.headers.clone())
    }
}

impl VendorOptions for Options {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &VERSIONED_URL);
        read_headers(&mut self.headers, table);
        table.set_some("api_key_command", &mut self.api_key_command, &COMMAND);
    }

    fn credential(&self) -> Option<Credential> {
        Some(Credential::api_key(NAME, KEY_VARIABLE, self.api_key_command.as_deref()))
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
