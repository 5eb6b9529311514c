//! General parameters: what values they take, and those that one provider has for itself.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{
    seconds::some_seconds,
    tool_protocol::{TOOL_PROTOCOL, ToolProtocol},
};
use flemma_model::options::{
    Kind, Table,
    kinds::{COUNT, SECONDS, whole, within},
};
use flemma_provider::{CacheRetention, Thinking};

/// How much a model may think.
pub(super) const THINKING: Kind<Thinking> = Kind {
    expected: r#"false, a number of tokens, or one of "minimal", "low", "medium", "high" and "max""#,
    read: |value| match value {
        Value::Bool(false) => Some(Thinking::Off),
        Value::Number(number) => whole(number).map(Thinking::of_tokens),
        Value::String(_) => serde_json::from_value(value.clone()).ok().map(Thinking::Level),
        _ => None,
    },
};

/// What `cache_retention` may be.
pub(super) const RETENTIONS: [CacheRetention; 3] = [CacheRetention::None, CacheRetention::Short, CacheRetention::Long];

/// No vendor takes more than 2; one that takes less says so itself.
pub(super) const TEMPERATURE: Kind<f64> =
    Kind { expected: "a number from 0 to 2", read: |value| within(value, 0.0..=2.0) };

/// General parameters that a provider has for itself. What is set here beats what is set for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderOverrides {
    /// Beats `parameters.max_tokens`.
    pub max_tokens: Option<u32>,
    /// Beats `parameters.temperature`.
    pub temperature: Option<f64>,
    /// Beats `parameters.timeout`.
    #[serde(serialize_with = "some_seconds")]
    pub timeout: Option<Duration>,
    /// Beats `parameters.connect_timeout`.
    #[serde(serialize_with = "some_seconds")]
    pub connect_timeout: Option<Duration>,
    /// Beats `parameters.max_reply_bytes`.
    pub max_reply_bytes: Option<u32>,
    /// Beats `parameters.thinking`. A name that the vendor has for it beats both.
    pub thinking: Option<Thinking>,
    /// Beats `parameters.cache_retention`.
    pub cache_retention: Option<CacheRetention>,
    /// Beats `parameters.tool_protocol`.
    pub tool_protocol: Option<ToolProtocol>,
}

impl ProviderOverrides {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            max_tokens: table.some("max_tokens", &COUNT),
            temperature: table.some("temperature", &TEMPERATURE),
            timeout: table.some("timeout", &SECONDS),
            connect_timeout: table.some("connect_timeout", &SECONDS),
            max_reply_bytes: table.some("max_reply_bytes", &COUNT),
            thinking: table.some("thinking", &THINKING),
            cache_retention: table.choose("cache_retention", &RETENTIONS),
            tool_protocol: table.some("tool_protocol", &TOOL_PROTOCOL),
        }
    }
}
