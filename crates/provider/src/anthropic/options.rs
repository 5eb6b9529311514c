//! `parameters.anthropic`.

use std::sync::Arc;

use serde::Serialize;

use super::{Anthropic, DEFAULT_BASE_URL, KEY_VARIABLE, NAME, errors::VENDOR};
use crate::{
    Health, Provider, ProviderError, ReadDocument, Thinking, VendorOptions,
    auth::Environment,
    connection::{Connection, without_scheme},
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// The host; `/v1/messages` is added to it.
    #[serde(flatten)]
    connection: Connection,
    /// Tokens to think with; 0 for none. Beats `parameters.thinking`.
    thinking_budget: Option<u32>,
}

impl Options {
    pub(crate) fn read(table: &mut Table<'_>) -> Self {
        let connection = Connection::read(table, &BASE_URL);
        Self { connection, thinking_budget: table.some("thinking_budget", &BUDGET) }
    }
}

impl VendorOptions for Options {
    fn thinking(&self) -> Option<Thinking> {
        self.thinking_budget.map(Thinking::of_tokens)
    }

    fn credential(&self) -> Option<Credential> {
        Some(self.connection.credential(&VENDOR))
    }

    fn build(&self, environment: Environment, _: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(Anthropic(self.connection.access(&VENDOR, DEFAULT_BASE_URL, environment))))
    }

    fn health(&self, model: &str, environment: &Environment) -> Health {
        Health::of_key(NAME, model, KEY_VARIABLE, environment)
    }
}
