//! What a host takes of its protocol, and in which form.
//!
//! Servers that speak the same protocol refuse different things. What is known of them is data, in `dialects.json`: rows
//! by protocol, host and model, each with the pages that say so and the day they were read. The rows that match are
//! laid over each other, the user's options over them, and over those what the host has refused in this session. What comes
//! out is a [`Dialect`]: [`wire::turns`](super::wire::turns) puts the conversation into its order, and the encoders ask
//! it for the rest.

use once_cell::sync::Lazy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::host::without_port;
use flemma_model::options::{
    Table,
    kinds::{NAMES, SWITCH},
};

/// The role of the user, which may have to say the instructions.
pub(super) const USER: &str = "user";

/// The embedded file. A test reads it; should it be broken all the same, every host takes what most take.
static KNOWN: Lazy<Known> = Lazy::new(|| serde_json::from_str(include_str!("dialects.json")).unwrap_or_default());

#[derive(Default, Deserialize)]
struct Known {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    protocol: Option<String>,
    /// Ends of names.
    #[serde(default)]
    hosts: Vec<String>,
    /// Names in which `*` is anything.
    #[serde(default)]
    models: Vec<String>,
    takes: Map<String, Value>,
}

/// What one host takes for one model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Dialect {
    /// The field with the most tokens of a reply.
    pub limit: String,
    /// The role of the instructions; with [`USER`] they stand in front of what the user says first.
    pub system_role: String,
    /// The letters of the ids of calls.
    pub call_ids: CallIdForm,
    /// The conversation has to begin with the user.
    pub user_first: bool,
    /// What a reply says must not be the last of the conversation.
    pub user_last: bool,
    /// Between results and what the user says next has to be a reply.
    pub reply_after_results: bool,
    /// Calls are only taken with thinking.
    pub thinking_with_calls: bool,
    /// Content may be null where there are calls.
    pub null_content: bool,
    /// What a server has signed is taken back.
    pub signed: bool,
    /// Images and PDFs are taken.
    pub files: bool,
    /// The fields of the body that are not taken.
    pub without: Vec<String>,
}

/// The form of the ids of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallIdForm {
    /// As they came: a model may know its own again (Kimi's `functions.read:0`).
    Any,
    /// At most 40 letters, digits, `_` and `-`.
    Plain,
    /// Nine letters and digits.
    Nine,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            limit: "max_tokens".to_owned(),
            system_role: "system".to_owned(),
            call_ids: CallIdForm::Any,
            user_first: false,
            user_last: false,
            reply_after_results: false,
            thinking_with_calls: false,
            null_content: true,
            signed: true,
            files: true,
            without: Vec::new(),
        }
    }
}

impl Dialect {
    /// What `host` takes for `model`, as far as that is known and as `own` options say.
    pub fn of(protocol: &str, host: &str, model: &str, own: Option<Map<String, Value>>) -> Self {
        let (mut takes, mut without) = (Map::new(), Vec::new());
        for row in KNOWN.rows.iter().filter(|row| row.is_about(protocol, host, model)) {
            takes.extend(row.takes.clone());
            without.extend(row.takes.get("without").and_then(Value::as_array).into_iter().flatten().cloned());
        }
        takes.insert("without".to_owned(), without.into());
        takes.extend(own.into_iter().flatten().filter(|(_, value)| !value.is_null()));
        serde_json::from_value(takes.into()).unwrap_or_default()
    }

    /// Reads the user's options.
    pub fn read(table: &mut Table<'_>) -> Value {
        json!({
            "limit": table.choose("limit", &["max_tokens", "max_completion_tokens"]),
            "system_role": table.choose("system_role", &["system", "developer", USER]),
            "call_ids": table.choose("call_ids", &["any", "plain", "nine"]),
            "user_first": table.some("user_first", &SWITCH),
            "user_last": table.some("user_last", &SWITCH),
            "reply_after_results": table.some("reply_after_results", &SWITCH),
            "thinking_with_calls": table.some("thinking_with_calls", &SWITCH),
            "null_content": table.some("null_content", &SWITCH),
            "files": table.some("files", &SWITCH),
            "without": table.some("without", &NAMES),
        })
    }
}

impl Row {
    fn is_about(&self, protocol: &str, host: &str, model: &str) -> bool {
        let host = without_port(host);
        let ends =
            |end: &String| host.strip_suffix(end.as_str()).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
        let model = model.to_ascii_lowercase();
        // A gateway may write the vendor in front.
        let name = model.rsplit('/').next().unwrap_or_default();
        self.protocol.as_ref().is_none_or(|own| own == protocol)
            && (self.hosts.is_empty() || self.hosts.iter().any(ends))
            && (self.models.is_empty() || self.models.iter().any(|pattern| is_like(pattern, name)))
    }
}

/// Whether a name is as a pattern has it, in which `*` is anything.
fn is_like(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| is_like(rest, &name[at..]))
}
