//! `parameters.rehearsal`.

use std::sync::Arc;

use serde::Serialize;

use super::{NAME, Rehearsal};
use crate::{Health, Provider, ProviderError, ReadDocument, VendorOptions, auth::Environment, credential::Credential};
use flemma_model::options::{Kind, Table, kinds::within};

/// The upper bound keeps a pause that is multiplied by it a time that a timer can hold.
const PACE: Kind<f64> = Kind { expected: "a number from 0 to 100", read: |value| within(value, 0.0..=100.0) };

/// `parameters.rehearsal`, without the general parameters in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// What every pause of the script is multiplied by: 1 is the natural pace, 0 is no pauses.
    pub pace: f64,
}

impl Options {
    pub(crate) fn read(table: &mut Table<'_>) -> Self {
        Self { pace: table.get("pace", 1.0, &PACE) }
    }
}

impl VendorOptions for Options {
    fn credential(&self) -> Option<Credential> {
        None
    }

    fn build(&self, _: Environment, read: ReadDocument) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(Rehearsal::embedded(self.pace, read)?))
    }

    fn health(&self, _: &str, _: &Environment) -> Health {
        Health::Info(format!(
            "provider `{NAME}`: a script, not a model. Set `provider = \"anthropic\"` to talk to one."
        ))
    }
}
