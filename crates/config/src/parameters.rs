//! `provider`, `model` and `parameters`: whom a conversation talks to, and how.
//!
//! General parameters hold for every provider; a provider's own table beats them for that provider.
//! [`Config::parameters_for`](super::Config::parameters_for) settles the two into one answer.

use std::time::Duration;

use serde::Serialize;

use super::{
    general::{RETENTIONS, TEMPERATURE, THINKING},
    providers::Providers,
    seconds::seconds,
    tool_protocol::{TOOL_PROTOCOL, ToolProtocol},
};
use flemma_model::options::{
    Table,
    kinds::{COUNT, SECONDS},
};
use flemma_provider::{CacheRetention, Thinking, reply_limit::DEFAULT_REPLY_BYTES};

/// `parameters`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameters {
    /// The most tokens that a reply may have.
    pub max_tokens: u32,
    /// The sampling temperature; left to the provider when it is not set.
    pub temperature: Option<f64>,
    /// How long a provider may be silent, before the first byte and between two. Seconds in the options.
    #[serde(serialize_with = "seconds")]
    pub timeout: Duration,
    /// How long a connection may take. Seconds in the options.
    #[serde(serialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// The most bytes that a reply may bring; it is cut off there.
    pub max_reply_bytes: u32,
    /// How much the model may think.
    pub thinking: Thinking,
    /// For how long a provider keeps what it has read.
    pub cache_retention: CacheRetention,
    /// How models call tools.
    pub tool_protocol: ToolProtocol,
    /// What holds for one provider alone.
    #[serde(flatten)]
    pub providers: Providers,
}

impl Parameters {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            max_tokens: table.get("max_tokens", 8_192, &COUNT),
            temperature: table.some("temperature", &TEMPERATURE),
            timeout: table.get("timeout", Duration::from_secs(120), &SECONDS),
            connect_timeout: table.get("connect_timeout", Duration::from_secs(10), &SECONDS),
            max_reply_bytes: table.get("max_reply_bytes", DEFAULT_REPLY_BYTES, &COUNT),
            thinking: table.get("thinking", Thinking::Off, &THINKING),
            cache_retention: table.choose("cache_retention", &RETENTIONS).unwrap_or(CacheRetention::Short),
            tool_protocol: table.get("tool_protocol", ToolProtocol::Native, &TOOL_PROTOCOL),
            providers: Providers::read(table),
        }
    }
}
