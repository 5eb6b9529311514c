//! `parameters.openai`.

use std::sync::Arc;

use serde::Serialize;

use super::{DEFAULT_BASE_URL, Effort, KEY_VARIABLE, NAME, OpenAi};
use crate::{
    Headers, Health, Provider, ProviderError, ReadDocument, VendorOptions,
    auth::Environment,
    connection::{COMMAND, VERSIONED_URL, read_headers},
    credential::Credential,
};
use flemma_model::options::Table;

/// `parameters.openai`, without the general parameters in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Options {
    /// The address to ask instead of the vendor's, as `https://gateway.example/v1`; `/responses` is added to it.
    pub base_url: Option<String>,
    /// How hard the model is asked to think. Beats `parameters.thinking`, and is sent as it is.
    pub reasoning: Option<Effort>,
    /// Headers that are added to every request.
    pub headers: Headers,
    /// What prints the key, if neither the environment nor the keyring has it.
    pub api_key_command: Option<Vec<String>>,
}

impl VendorOptions for Options {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &VERSIONED_URL);
        let mut effort = None;
        table.choose("reasoning", &mut effort, &Effort::WORDS.map(|(word, effort)| (word, Some(effort))));
        self.reasoning = effort.or(self.reasoning);
        read_headers(&mut self.headers, table);
        table.set_some("api_key_command", &mut self.api_key_command, &COMMAND);
    }

    fn credential(&self) -> Option<Credential> {
        Some(Credential::api_key(NAME, KEY_VARIABLE, self.api_key_command.as_deref()))
    }

    fn build(&self, environment: Environment, _: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        let base_url = self.base_url.as_deref().unwrap_or(DEFAULT_BASE_URL);
        let provider = OpenAi::new(base_url, environment).with_headers(self.headers.clone());
        Ok(Arc::new(provider.with_effort(self.reasoning)))
    }

    fn health(&self, model: &str, environment: &Environment) -> Health {
        Health::of_key(NAME, model, KEY_VARIABLE, environment)
    }
}
