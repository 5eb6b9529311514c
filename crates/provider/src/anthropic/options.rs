//! `parameters.anthropic`.

use std::sync::Arc;

use serde::Serialize;

use super::{Anthropic, DEFAULT_BASE_URL, KEY_VARIABLE, NAME};
use crate::{
    Headers, Health, Provider, ProviderError, ReadDocument, Thinking, VendorOptions,
    auth::Environment,
    connection::{COMMAND, read_headers, without_scheme},
    credential::Credential,
};
use flemma_model::options::{
    Kind, Table,
    kinds::{text, whole},
};

/// The fewest tokens that the API takes as a thinking budget
/// (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking>).
const LEAST_BUDGET: u32 = 1024;

/// A host. The path of the protocol is added to it, so an address that has the path already is refused: every request
/// to it would end in a 404 that names a strange address.
const BASE_URL: Kind<String> = Kind {
    expected: r#"a URL such as "https://api.anthropic.com", without /v1/messages, which is added to it"#,
    read: |value| {
        let url = text(value)?;
        let bare = without_scheme(url)?;
        let carries_path = bare.ends_with("/v1") || bare.ends_with("/v1/messages");
        (!carries_path).then(|| url.to_owned())
    },
};

const BUDGET: Kind<u32> = Kind {
    expected: "0 (no thinking) or a whole number of tokens from 1024 up",
    read: |value| value.as_number().and_then(whole).filter(|tokens| *tokens == 0 || *tokens >= LEAST_BUDGET),
};

/// `parameters.anthropic`, without the general parameters in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Options {
    /// The host to ask instead of the vendor's, as `http://localhost:8080`; `/v1/messages` is added to it.
    pub base_url: Option<String>,
    /// Tokens to think with; 0 for none. Beats `parameters.thinking`.
    pub thinking_budget: Option<u32>,
    /// Headers that are added to every request.
    pub headers: Headers,
    /// What prints the key, if neither the environment nor the keyring has it.
    pub api_key_command: Option<Vec<String>>,
}

impl VendorOptions for Options {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &BASE_URL);
        table.set_some("thinking_budget", &mut self.thinking_budget, &BUDGET);
        read_headers(&mut self.headers, table);
        table.set_some("api_key_command", &mut self.api_key_command, &COMMAND);
    }

    fn thinking(&self) -> Option<Thinking> {
        self.thinking_budget.map(Thinking::of_tokens)
    }

    fn credential(&self) -> Option<Credential> {
        Some(Credential::api_key(NAME, KEY_VARIABLE, self.api_key_command.as_deref()))
    }

    fn build(&self, environment: Environment, _: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        let base_url = self.base_url.as_deref().unwrap_or(DEFAULT_BASE_URL);
        Ok(Arc::new(Anthropic::new(base_url, environment).with_headers(self.headers.clone())))
    }

    fn health(&self, model: &str, environment: &Environment) -> Health {
        Health::of_key(NAME, model, KEY_VARIABLE, environment)
    }
}
