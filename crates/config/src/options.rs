//! All options together: how layers become a [`Config`], and what it says of one provider.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};

use super::{
    AgentOptions, ConversationOptions, Editing, Highlight, Keymaps, Logging, Looks, Notify, Parameters, ProviderTable,
    Tools,
    declare::{inner, options, or, some},
    editor, layers, switch,
};
use flemma_model::UserError;
use flemma_model::options::{
    self, Kind, OptionsError, Table,
    kinds::{NAMES, SWITCH, TEXT, text},
};
use flemma_provider as provider;
use flemma_provider::{ProviderName, VendorOptions, catalogue::Price};
use flemma_text::suggest::nearest;

options! {
    /// All options.
    pub struct Config {
        /// Whom conversations talk to.
        pub provider: ProviderName = provider_name;
        /// The model; the provider's default when it is not set. [`Config::model`] says which one it is.
        pub model: Option<String> = some(&TEXT);
        /// How models are asked.
        pub parameters: Parameters = inner(Parameters::read);
        /// What `:Flemma switch` knows by a name that begins with `$`, as it was written.
        pub presets: BTreeMap<String, Value> = switch::presets;
        /// The agent of all conversations: a name in `agents`. A file may choose a second one, which restricts further.
        pub agent: Option<String> = some(&TEXT);
        /// The system prompt of conversations that begin: texts, and presets such as [`CODING`].
        pub system: Vec<String> = or(vec![CODING.to_owned()], &SYSTEM);
        /// Whether conversations of a project begin with the rules for agents, such as `AGENTS.md`.
        pub rules: bool = or(true, &SWITCH);
        /// Whether they begin with the names of skills.
        pub skills: bool = or(true, &SWITCH);
        /// What tools may read and write, by the name of an agent.
        pub agents: BTreeMap<String, AgentOptions> = |table: &mut Table<'_>, key: &str| {
            table.entries(key, |agents, name| Some(agents.table(name, AgentOptions::read)))
        };
        /// Tools and their approval.
        pub tools: Tools = inner(Tools::read);
        /// Keys in a conversation's buffer.
        pub keymaps: Keymaps = inner(Keymaps::read);
        /// What is drawn over the text.
        pub looks: Looks = inner(Looks::read);
        /// Colours that differ from the defaults.
        pub highlights: BTreeMap<String, Highlight> = editor::highlights;
        /// Messages on the screen.
        pub notify: Notify = inner(Notify::read);
        /// What models cost, by their names, where the user says so.
        pub pricing: BTreeMap<String, Price> = prices;
        /// Limits on what models cost.
        pub budget: Budget = inner(Budget::read);
        /// The log.
        pub logging: Logging = inner(Logging::read);
        /// The buffer as a file.
        pub editing: Editing = inner(Editing::read);
        /// The conversations of projects.
        pub conversations: ConversationOptions = inner(ConversationOptions::read);
    }

    /// `budget`: limits in US dollars. A conversation pauses where one is reached.
    pub struct Budget {
        /// For what follows from one key press.
        pub turn: Option<f64> = some(&LIMIT);
        /// For a conversation, since the editor was started.
        pub conversation: Option<f64> = some(&LIMIT);
        /// For a day, in all editors.
        pub day: Option<f64> = some(&LIMIT);
    }

    /// What a preset may have.
    pub(super) struct Recipient {
        pub provider: ProviderName = provider_name;
        pub model: Option<String> = some(&TEXT);
        pub parameters: Parameters = inner(Parameters::read);
    }
}

/// The preset of `system` for work on a project.
pub const CODING: &str = "$coding";

/// A system prompt.
const SYSTEM: Kind<Vec<String>> = Kind {
    expected: "false, a text, `$coding`, or a list of these",
    read: |value| {
        let entries = match value {
            Value::Bool(false) => Vec::new(),
            Value::String(_) => vec![text(value)?.to_owned()],
            list => (NAMES.read)(list)?,
        };
        let is_known =
            |entry: &String| entry == CODING || !entry.starts_with('$') || entry.contains(char::is_whitespace);
        entries.iter().all(is_known).then_some(entries)
    },
};

fn provider_name(table: &mut Table<'_>, key: &str) -> ProviderName {
    let providers: Vec<_> = ProviderName::all().collect();
    table.choose(key, &providers).unwrap_or_default()
}

/// What one request to one provider needs: general parameters, beaten by the provider's own.
#[derive(Clone, Debug)]
pub struct ProviderOptions {
    /// The model to ask.
    pub model: String,
    /// What goes into the request.
    pub parameters: provider::RequestParameters,
    /// How long the provider may be silent, before the first byte and between two.
    pub timeout: Duration,
    /// How long the connection may take.
    pub connect_timeout: Duration,
    /// The most bytes that a reply may bring.
    pub max_reply_bytes: u32,
    /// The vendor's own options.
    pub vendor: VendorOptions,
}

impl Config {
    /// Reads options from layers, lowest first: a later layer beats an earlier one key by key, tables
    /// merge, lists and plain values replace. `null` takes back what the layers below said, and so does another
    /// `provider` for the `model`, which belongs to the provider that it was named with.
    ///
    /// To tell the user which layer is at fault, read each one alone when it is set: the layers are
    /// independent, so what is right alone is right together.
    ///
    /// # Errors
    /// Every unknown key and every value of the wrong kind.
    pub fn from_layers(layers: &[Value]) -> Result<Self, OptionsError> {
        let mut options = Value::Object(Map::new());
        for layer in Self::settled(layers).iter().filter(|layer| !layer.is_null()) {
            layers::lay(&mut options, layer);
        }
        options::read(&options, Self::read)
    }

    /// The layers as they count, lowest first: one that takes something back without saying so gets a `null` for it.
    pub fn settled(layers: &[Value]) -> Vec<Value> {
        layers::settled(layers)
    }

    /// The paths of all options, those of tables included, as `tools.autopilot.max_turns`: what documentation has
    /// to cover.
    pub fn paths() -> Vec<String> {
        options::paths(Self::read)
    }

    /// What is wrong with the name of an agent; `None` if there is one of this name.
    pub fn unknown_agent(&self, name: &str) -> Option<UserError> {
        if self.agents.contains_key(name) {
            return None;
        }
        let hint = match nearest(name, self.agents.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "define it in `agents` of `setup`".to_owned(),
        };
        Some(UserError::new(format!("`agent`: there is no agent `{name}`; {hint}")))
    }

    /// The model that conversations ask.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(self.provider.default_model())
    }

    /// The parameters for a provider, its own beating the general ones.
    ///
    /// `model` belongs to `provider`; for another provider than the configured one the answer has that
    /// one's default model.
    pub fn parameters_for(&self, provider: ProviderName) -> ProviderOptions {
        let general = &self.parameters;
        let model = if provider == self.provider { self.model() } else { provider.default_model() };
        let ProviderTable { own, vendor } = general.providers.table(provider);
        ProviderOptions {
            model: model.to_owned(),
            parameters: provider::RequestParameters {
                max_tokens: Some(own.max_tokens.unwrap_or(general.max_tokens)),
                temperature: own.temperature.or(general.temperature),
                thinking: vendor.thinking().or(own.thinking).unwrap_or(general.thinking),
                cache_retention: own.cache_retention.unwrap_or(general.cache_retention),
                calls_in_xml: own.tool_protocol.as_ref().unwrap_or(&general.tool_protocol).is_xml(model),
            },
            timeout: own.timeout.unwrap_or(general.timeout),
            connect_timeout: own.connect_timeout.unwrap_or(general.connect_timeout),
            max_reply_bytes: own.max_reply_bytes.unwrap_or(general.max_reply_bytes),
            vendor,
        }
    }
}

impl Budget {
    /// Whether there is any limit.
    pub fn is_set(&self) -> bool {
        self.turn.or(self.conversation).or(self.day).is_some()
    }
}

/// A limit in US dollars.
const LIMIT: Kind<f64> = Kind {
    expected: "an amount of US dollars above 0",
    read: |value| value.as_f64().filter(|limit| *limit > 0.0 && limit.is_finite()),
};

/// An amount of US dollars for a million tokens.
const DOLLARS: Kind<f64> = Kind {
    expected: "a price in dollars for a million tokens, from 0 up",
    read: |value| value.as_f64().filter(|price| *price >= 0.0 && price.is_finite()),
};

/// Reads `pricing`: the name of a model, as `model` has it, to its prices.
fn prices(table: &mut Table<'_>, key: &str) -> BTreeMap<String, Price> {
    table.entries(key, |models, name| {
        let price = models.table(name, |table| {
            let (input, output) = (table.some("input", &DOLLARS), table.some("output", &DOLLARS));
            let (cache_read, cache_write) = (table.some("cache_read", &DOLLARS), table.some("cache_write", &DOLLARS));
            Some(Price { input: input?, output: output?, cache_read, cache_write, ..Price::default() })
        });
        let is_missing = |value: &Value| value.get("input").is_none() || value.get("output").is_none();
        if let Some(value) = models.raw(name).filter(|value| value.is_object() && is_missing(value)) {
            models.wrong(name, "a table with at least `input` and `output`", value);
        }
        price
    })
}
