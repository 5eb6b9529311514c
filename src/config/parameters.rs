//! `provider`, `model` and `parameters`: whom a conversation talks to, and how.
//!
//! General parameters hold for every provider; a provider's own table beats them for that provider.
//! [`Config::parameters_for`](super::Config::parameters_for) settles the two into one answer.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{
    kinds::{COUNT, SECONDS, TEXT, text, whole, within},
    reader::{Kind, Table},
    seconds, some_seconds,
};
use crate::provider::{
    CacheRetention, HeaderProblem, Headers, Thinking, ThinkingLevel, bounds::DEFAULT_REPLY_BYTES, openai::Effort,
    vertex::DEFAULT_LOCATION,
};

/// The fewest tokens that Anthropic takes as a thinking budget
/// (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking>).
const LEAST_ANTHROPIC_BUDGET: u32 = 1024;

/// A provider that is compiled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderName {
    /// The embedded script: no key, no network, no model.
    #[default]
    Rehearsal,
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    OpenAi,
    /// Any server that speaks OpenAI's Chat Completions.
    #[serde(rename = "openai_compatible")]
    OpenAiCompatible,
    /// Gemini on Vertex AI.
    Vertex,
}

impl ProviderName {
    /// Every provider.
    pub const ALL: [Self; 5] = [Self::Rehearsal, Self::Anthropic, Self::OpenAi, Self::OpenAiCompatible, Self::Vertex];

    /// The name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rehearsal => "rehearsal",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiCompatible => "openai_compatible",
            Self::Vertex => "vertex",
        }
    }

    /// The provider of this name in the configuration.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Whether the provider has this word of its own for how much a model thinks.
    pub(super) fn knows(self, word: &str) -> bool {
        match self {
            Self::Anthropic | Self::Vertex => word == "thinking_budget",
            Self::OpenAi => word == "reasoning",
            Self::Rehearsal | Self::OpenAiCompatible => false,
        }
    }

    /// The model that is asked when `model` is not set; empty where every server has its own.
    #[must_use]
    pub fn default_model(self) -> &'static str {
        match self {
            Self::Rehearsal => "welcome",
            Self::Anthropic => "claude-sonnet-5-5",
            Self::OpenAi => "gpt-5.6-terra",
            Self::OpenAiCompatible => "",
            Self::Vertex => "gemini-3.8-flash",
        }
    }
}

const THINKING: Kind<Thinking> = Kind {
    expected: r#"false, a number of tokens, or one of "minimal", "low", "medium", "high" and "max""#,
    read: |value| match value {
        Value::Bool(false) => Some(Thinking::Off),
        Value::Number(number) => {
            whole(number).map(|tokens| if tokens == 0 { Thinking::Off } else { Thinking::Budget(tokens) })
        }
        Value::String(word) => {
            ThinkingLevel::WORDS.iter().find(|(known, _)| known == word).map(|(_, level)| Thinking::Level(*level))
        }
        _ => None,
    },
};

/// The names of [`CacheRetention`].
const RETENTIONS: [(&str, CacheRetention); 3] =
    [("none", CacheRetention::None), ("short", CacheRetention::Short), ("long", CacheRetention::Long)];

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
    /// What holds for Anthropic alone.
    pub anthropic: Anthropic,
    /// What holds for OpenAI alone.
    pub openai: OpenAi,
    /// What holds for other servers of OpenAI's Chat Completions.
    pub openai_compatible: OpenAiCompatible,
    /// What holds for Vertex AI alone.
    pub vertex: Vertex,
    /// What holds for the embedded script alone.
    pub rehearsal: Rehearsal,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            max_tokens: 8_192,
            temperature: None,
            timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(10),
            max_reply_bytes: DEFAULT_REPLY_BYTES,
            thinking: Thinking::Off,
            cache_retention: CacheRetention::Short,
            anthropic: Anthropic::default(),
            openai: OpenAi::default(),
            openai_compatible: OpenAiCompatible::default(),
            vertex: Vertex::default(),
            rehearsal: Rehearsal::default(),
        }
    }
}

impl Parameters {
    /// What a provider has of the general parameters for itself.
    #[must_use]
    pub fn own(&self, provider: ProviderName) -> &Own {
        match provider {
            ProviderName::Rehearsal => &self.rehearsal.own,
            ProviderName::Anthropic => &self.anthropic.own,
            ProviderName::OpenAi => &self.openai.own,
            ProviderName::OpenAiCompatible => &self.openai_compatible.own,
            ProviderName::Vertex => &self.vertex.own,
        }
    }

    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.set("max_tokens", &mut self.max_tokens, &COUNT);
        table.set_some("temperature", &mut self.temperature, &TEMPERATURE);
        table.set("timeout", &mut self.timeout, &SECONDS);
        table.set("connect_timeout", &mut self.connect_timeout, &SECONDS);
        table.set("max_reply_bytes", &mut self.max_reply_bytes, &COUNT);
        table.set("thinking", &mut self.thinking, &THINKING);
        table.choose("cache_retention", &mut self.cache_retention, &RETENTIONS);
        table.table("anthropic", |table| self.anthropic.read(table));
        table.table("openai", |table| self.openai.read(table));
        table.table("openai_compatible", |table| self.openai_compatible.read(table));
        table.table("vertex", |table| self.vertex.read(table));
        table.table("rehearsal", |table| self.rehearsal.read(table));
    }
}

/// No vendor takes more than 2; one that takes less says so itself.
const TEMPERATURE: Kind<f64> = Kind { expected: "a number from 0 to 2", read: |value| within(value, 0.0..=2.0) };

/// General parameters that a provider has for itself. What is set here beats what is set for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Own {
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
    /// Beats `parameters.thinking`. The provider's own words for it, `thinking_budget` and `reasoning`, beat both.
    pub thinking: Option<Thinking>,
    /// Beats `parameters.cache_retention`.
    pub cache_retention: Option<CacheRetention>,
}

impl Own {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("max_tokens", &mut self.max_tokens, &COUNT);
        table.set_some("temperature", &mut self.temperature, &TEMPERATURE);
        table.set_some("timeout", &mut self.timeout, &SECONDS);
        table.set_some("connect_timeout", &mut self.connect_timeout, &SECONDS);
        table.set_some("max_reply_bytes", &mut self.max_reply_bytes, &COUNT);
        table.set_some("thinking", &mut self.thinking, &THINKING);
        let mut retention = None;
        table.choose("cache_retention", &mut retention, &RETENTIONS.map(|(word, chosen)| (word, Some(chosen))));
        self.cache_retention = retention.or(self.cache_retention);
    }
}

/// `parameters.anthropic`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Anthropic {
    /// The host to ask in place of the vendor's, as `http://localhost:8080`; `/v1/messages` is added to it.
    pub base_url: Option<String>,
    /// Tokens to think with; 0 for none. Beats `parameters.thinking`.
    pub thinking_budget: Option<u32>,
    /// What it has of the general parameters for itself.
    #[serde(flatten)]
    pub own: Own,
    /// Headers that are added to every request.
    pub headers: Headers,
    /// What prints the key, if neither the environment nor the keyring has it.
    pub api_key_command: Option<Vec<String>>,
}

impl Anthropic {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &BASE_URL);
        table.set_some("thinking_budget", &mut self.thinking_budget, &ANTHROPIC_BUDGET);
        self.own.read(table);
        read_headers(&mut self.headers, table);
        table.set_some("api_key_command", &mut self.api_key_command, &COMMAND);
    }
}

/// `parameters.openai`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpenAi {
    /// The address to ask in place of the vendor's, as `https://gateway.example/v1`; `/responses` is added to it.
    pub base_url: Option<String>,
    /// How hard the model is asked to think. Beats `parameters.thinking`, and is sent as it is.
    pub reasoning: Option<Effort>,
    /// What it has of the general parameters for itself.
    #[serde(flatten)]
    pub own: Own,
    /// Headers that are added to every request.
    pub headers: Headers,
    /// What prints the key, if neither the environment nor the keyring has it.
    pub api_key_command: Option<Vec<String>>,
}

impl OpenAi {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &VERSIONED_URL);
        let mut effort = None;
        table.choose("reasoning", &mut effort, &Effort::WORDS.map(|(word, effort)| (word, Some(effort))));
        self.reasoning = effort.or(self.reasoning);
        self.own.read(table);
        read_headers(&mut self.headers, table);
        table.set_some("api_key_command", &mut self.api_key_command, &COMMAND);
    }
}

/// `parameters.openai_compatible`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpenAiCompatible {
    /// The server's address, as `http://localhost:11434/v1`; `/chat/completions` is added to it. There is no server
    /// to ask without it.
    pub base_url: Option<String>,
    /// What it has of the general parameters for itself.
    #[serde(flatten)]
    pub own: Own,
    /// Headers that are added to every request.
    pub headers: Headers,
    /// What prints the key, if neither the environment nor the keyring has it.
    pub api_key_command: Option<Vec<String>>,
}

impl OpenAiCompatible {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &VERSIONED_URL);
        self.own.read(table);
        read_headers(&mut self.headers, table);
        table.set_some("api_key_command", &mut self.api_key_command, &COMMAND);
    }
}

/// A command that prints a key: its program and arguments, or a line for the shell.
const COMMAND: Kind<Vec<String>> = Kind {
    expected: r#"a command: a string for the shell, or a list of its program and arguments such as {"pass", "show", "key"}"#,
    read: |value| match value {
        Value::Array(words) => {
            let words: Vec<String> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            words.first().is_some_and(|program| !program.trim().is_empty()).then_some(words)
        }
        line => {
            let line = text(line).filter(|line| !line.trim().is_empty())?;
            Some(["sh", "-c", line].map(str::to_owned).to_vec())
        }
    },
};

/// `parameters.vertex`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Vertex {
    /// The host to ask in place of the location's own; `/v1/projects/…` is added to it.
    pub base_url: Option<String>,
    /// The project that pays; `$GOOGLE_CLOUD_PROJECT` or the key file's own where there is none.
    pub project_id: Option<String>,
    /// Where the models run.
    pub location: String,
    /// Tokens to think with; 0 for as few as the model can do with. Beats `parameters.thinking`.
    pub thinking_budget: Option<u32>,
    /// What it has of the general parameters for itself.
    #[serde(flatten)]
    pub own: Own,
    /// Headers that are added to every request.
    pub headers: Headers,
}

impl Default for Vertex {
    fn default() -> Self {
        Self {
            base_url: None,
            project_id: None,
            location: DEFAULT_LOCATION.to_owned(),
            thinking_budget: None,
            own: Own::default(),
            headers: Headers::default(),
        }
    }
}

impl Vertex {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set_some("base_url", &mut self.base_url, &VERTEX_BASE_URL);
        table.set_some("project_id", &mut self.project_id, &TEXT);
        table.set("location", &mut self.location, &TEXT);
        table.set_some("thinking_budget", &mut self.thinking_budget, &VERTEX_BUDGET);
        self.own.read(table);
        read_headers(&mut self.headers, table);
    }
}

/// A host without the version, as Google's own library has it.
const VERTEX_BASE_URL: Kind<String> = Kind {
    expected: r#"a URL such as "https://aiplatform.googleapis.com", without /v1/projects, which is added to it"#,
    read: |value| {
        let url = text(value)?;
        let bare = without_scheme(url)?;
        let carries_path = bare.ends_with("/v1") || bare.ends_with("/v1beta1") || bare.contains("/projects");
        (!carries_path).then(|| url.to_owned())
    },
};

const VERTEX_BUDGET: Kind<u32> =
    Kind { expected: "a whole number of tokens", read: |value| value.as_number().and_then(whole) };

/// `headers` of a provider: names and values. A message never shows a value, which may be a secret.
fn read_headers(headers: &mut Headers, table: &mut Table<'_>) {
    let mut bad = Vec::new();
    table.entries("headers", |table, name| {
        let Some(value) = table.raw(name) else { return };
        let problem = match value.as_str() {
            Some(text) => headers.insert(name, text).err(),
            None => Some(HeaderProblem::Value),
        };
        match problem {
            None => {}
            Some(HeaderProblem::Value) => {
                table.wrong(name, "a string of printable ASCII characters on one line", &Value::from("…"));
            }
            Some(HeaderProblem::Name) => bad.push((name.to_owned(), "a table of header names and their values")),
            Some(HeaderProblem::Reserved) => {
                bad.push((name.to_owned(), "a table without headers that the connection itself sets"));
            }
        }
    });
    for (name, expected) in bad {
        table.wrong("headers", expected, &Value::from(name));
    }
}

/// A host. The path of the protocol is ours to add, so one that carries it already is refused: every
/// request to it would end in a 404 that names a strange address.
const BASE_URL: Kind<String> = Kind {
    expected: r#"a URL such as "https://api.anthropic.com", without /v1/messages, which is added to it"#,
    read: |value| {
        let url = text(value)?;
        let bare = without_scheme(url)?;
        let carries_path = bare.ends_with("/v1") || bare.ends_with("/v1/messages");
        (!carries_path).then(|| url.to_owned())
    },
};

/// An address with the version of the protocol at its end, as OpenAI's own SDK has it. A few servers have another path
/// there; none has no path at all, and what comes behind it is ours to add.
const VERSIONED_URL: Kind<String> = Kind {
    expected: r#"a URL that ends in the API's version, such as "http://localhost:11434/v1""#,
    read: |value| {
        let url = text(value)?;
        let (_, path) = without_scheme(url)?.split_once('/')?;
        let is_endpoint = ["responses", "completions", "models"].iter().any(|end| path.ends_with(end));
        (!is_endpoint).then(|| url.to_owned())
    },
};

/// Host and path of a URL that can be an address to add a path to.
fn without_scheme(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let bare = rest.trim_end_matches('/');
    let clean = !bare.is_empty() && !bare.contains(|c: char| c.is_whitespace() || c == '?' || c == '#');
    clean.then_some(bare)
}

const ANTHROPIC_BUDGET: Kind<u32> = Kind {
    expected: "0 (no thinking) or a whole number of tokens from 1024 up",
    read: |value| value.as_number().and_then(whole).filter(|tokens| *tokens == 0 || *tokens >= LEAST_ANTHROPIC_BUDGET),
};

/// The upper bound keeps a pause that is multiplied by it a time that a timer can hold.
const PACE: Kind<f64> = Kind { expected: "a number from 0 to 100", read: |value| within(value, 0.0..=100.0) };

/// `parameters.rehearsal`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rehearsal {
    /// What every pause of the script is multiplied by: 1 is the natural pace, 0 is no pauses.
    pub pace: f64,
    /// What it has of the general parameters for itself.
    #[serde(flatten)]
    pub own: Own,
}

impl Default for Rehearsal {
    fn default() -> Self {
        Self { pace: 1.0, own: Own::default() }
    }
}

impl Rehearsal {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set("pace", &mut self.pace, &PACE);
        self.own.read(table);
    }
}
