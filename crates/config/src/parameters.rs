//! `provider`, `model` and `parameters`: whom a conversation talks to, and how.
//!
//! General parameters hold for every provider; a provider's own table beats them for that provider.
//! [`Config::parameters_for`](super::Config::parameters_for) settles the two into one answer.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    declare::{options, or, some, some_of},
    providers::Providers,
    tool_protocol::{TOOL_PROTOCOL, ToolProtocol},
};
use flemma_model::options::{
    Kind, Table,
    kinds::{COUNT, SECONDS, whole, within},
};
use flemma_provider::{CacheRetention, Thinking, reply_limit::DEFAULT_REPLY_BYTES};

/// How much a model may think.
const THINKING: Kind<Thinking> = Kind {
    expected: r#"false, a number of tokens, or one of "minimal", "low", "medium", "high" and "max""#,
    read: |value| match value {
        Value::Bool(false) => Some(Thinking::Off),
        Value::Number(number) => whole(number).map(Thinking::of_tokens),
        Value::String(_) => serde_json::from_value(value.clone()).ok().map(Thinking::Level),
        _ => None,
    },
};

/// What `cache_retention` may be.
const RETENTIONS: [CacheRetention; 3] = [CacheRetention::None, CacheRetention::Short, CacheRetention::Long];

/// No vendor takes more than 2; one that takes less says so itself.
const TEMPERATURE: Kind<f64> = Kind { expected: "a number from 0 to 2", read: |value| within(value, 0.0..=2.0) };

options! {
    /// `parameters`.
    pub struct Parameters {
        /// The most tokens that a reply may have.
        pub max_tokens: u32 = or(8_192, &COUNT);
        /// The sampling temperature; left to the provider when it is not set.
        pub temperature: Option<f64> = some(&TEMPERATURE);
        /// How long a provider may be silent, before the first byte and between two. Seconds in the options.
        #[serde(serialize_with = "seconds")]
        pub timeout: Duration = or(Duration::from_secs(120), &SECONDS);
        /// How long a connection may take. Seconds in the options.
        #[serde(serialize_with = "seconds")]
        pub connect_timeout: Duration = or(Duration::from_secs(10), &SECONDS);
        /// The most bytes that a reply may bring; it is cut off there.
        pub max_reply_bytes: u32 = or(DEFAULT_REPLY_BYTES, &COUNT);
        /// How much the model may think.
        pub thinking: Thinking = or(Thinking::Off, &THINKING);
        /// For how long a provider keeps what it has read.
        pub cache_retention: CacheRetention = |table: &mut Table<'_>, key: &str| {
            table.choose(key, &RETENTIONS).unwrap_or(CacheRetention::Short)
        };
        /// How models call tools.
        pub tool_protocol: ToolProtocol = or(ToolProtocol::Native, &TOOL_PROTOCOL);
        /// What holds for one provider alone.
        #[serde(flatten)]
        pub providers: Providers = |table: &mut Table<'_>, _: &str| Providers::read(table);
    }

    /// General parameters that a provider has for itself. What is set here beats what is set for all.
    pub struct ProviderOverrides {
        /// Beats `parameters.max_tokens`.
        pub max_tokens: Option<u32> = some(&COUNT);
        /// Beats `parameters.temperature`.
        pub temperature: Option<f64> = some(&TEMPERATURE);
        /// Beats `parameters.timeout`.
        #[serde(serialize_with = "some_seconds")]
        pub timeout: Option<Duration> = some(&SECONDS);
        /// Beats `parameters.connect_timeout`.
        #[serde(serialize_with = "some_seconds")]
        pub connect_timeout: Option<Duration> = some(&SECONDS);
        /// Beats `parameters.max_reply_bytes`.
        pub max_reply_bytes: Option<u32> = some(&COUNT);
        /// Beats `parameters.thinking`. A name that the vendor has for it beats both.
        pub thinking: Option<Thinking> = some(&THINKING);
        /// Beats `parameters.cache_retention`.
        pub cache_retention: Option<CacheRetention> = some_of(&RETENTIONS);
        /// Beats `parameters.tool_protocol`.
        pub tool_protocol: Option<ToolProtocol> = some(&TOOL_PROTOCOL);
    }
}

/// A stretch of time as the options write it: in seconds.
pub(super) fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// The same where it may not be set.
pub(super) fn some_seconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(to)
}
