//! The provider of a conversation, as its options describe it.

use flemma_config::Config;
use flemma_provider::auth::Environment;
use flemma_runtime::{Recipient, http::Timeouts};

/// The provider that the options name, and the key that it needs.
pub(crate) fn recipient(config: &Config) -> Recipient {
    Recipient::of(config.parameters_for(config.provider), Environment::of_process())
}

/// How long it may be silent.
pub(crate) fn timeouts(config: &Config) -> Timeouts {
    Timeouts::of(&config.parameters_for(config.provider))
}
