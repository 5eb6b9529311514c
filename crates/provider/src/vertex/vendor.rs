//! What the registry asks of the options: where the token comes from, the provider, and what `:checkhealth` says.

use std::sync::Arc;

use super::{NAME, Options, TOKEN_VARIABLE, Vertex, credential, token};
use crate::{
    Health, Provider, ProviderError, ReadDocument, Thinking, VendorOptions, auth::Environment, credential::Credential,
};

impl VendorOptions for Options {
    fn thinking(&self) -> Option<Thinking> {
        self.thinking_budget.map(Thinking::of_tokens)
    }

    fn credential(&self) -> Option<Credential> {
        Some(credential())
    }

    fn build(&self, environment: Environment, _: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(Vertex::new(self.clone(), environment)))
    }

    fn health(&self, model: &str, environment: &Environment) -> Health {
        let variables = [TOKEN_VARIABLE, token::FILE_VARIABLE];
        let found = variables.into_iter().find(|variable| environment.has(variable));
        let source = found.map_or_else(|| "the token comes from `gcloud`".to_owned(), |name| format!("{name} is set"));
        Health::Info(format!("provider `{NAME}`, model {model}: {source}"))
    }
}
