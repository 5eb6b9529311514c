//! `parameters.<provider>`: one table for each provider.
//!
//! A table has two halves. It may contain general parameters, which beat those that hold for all providers; the rest
//! are the vendor's own options, which only the vendor's folder knows.

use serde::{Serialize, Serializer};

use super::ProviderOverrides;
use flemma_model::options::{Table, defaults};
use flemma_provider::{ProviderName, VendorOptions};

/// The tables of all providers, in the order of the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct Providers(Vec<(ProviderName, ProviderTable)>);

/// The table of one provider.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderTable {
    /// What it has of the general parameters for itself.
    #[serde(flatten)]
    pub own: ProviderOverrides,
    /// The vendor's own options.
    #[serde(flatten)]
    pub vendor: VendorOptions,
}

impl ProviderTable {
    fn read(provider: ProviderName, table: &mut Table<'_>) -> Self {
        Self { vendor: provider.read_options(table), own: ProviderOverrides::read(table) }
    }
}

impl Providers {
    /// The table of a provider.
    pub fn table(&self, provider: ProviderName) -> ProviderTable {
        let found = self.0.iter().find(|(owner, _)| *owner == provider).map(|(_, table)| table.clone());
        found.unwrap_or_else(|| defaults(|table| ProviderTable::read(provider, table)))
    }

    pub(super) fn read(parameters: &mut Table<'_>) -> Self {
        let read = |provider: ProviderName| {
            let table = parameters.table(provider.name(), |table| ProviderTable::read(provider, table));
            (provider, table)
        };
        Self(ProviderName::all().map(read).collect())
    }
}

impl Serialize for Providers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(provider, table)| (provider.name(), table)))
    }
}
