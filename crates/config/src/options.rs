//! All options together: how layers become a [`Config`], and what it says of one provider.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    AgentOptions, ConversationOptions, Editing, Highlight, Keymaps, Logging, Looks, Notify, Parameters, ProviderTable,
    Tools, editor, layers, pricing, switch,
};
use flemma_model::UserError;
use flemma_model::options::{self, OptionsError, Table, kinds::TEXT};
use flemma_provider as provider;
use flemma_provider::{ProviderName, VendorOptions, catalogue::Price};
use flemma_text::suggest::nearest;

/// All options.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Whom conversations talk to.
    pub provider: ProviderName,
    /// The model; the provider's default when it is not set. [`Config::model`] says which one it is.
    pub model: Option<String>,
    /// How models are asked.
    pub parameters: Parameters,
    /// What `:Flemma switch` knows by a name that begins with `$`, as it was written.
    pub presets: BTreeMap<String, Value>,
    /// The agent of all conversations: a name in `agents`. A file may choose a second one, which restricts further.
    pub agent: Option<String>,
    /// What tools may read and write, by the name of an agent.
    pub agents: BTreeMap<String, AgentOptions>,
    /// Tools and their approval.
    pub tools: Tools,
    /// Keys in a conversation's buffer.
    pub keymaps: Keymaps,
    /// What is drawn over the text.
    pub looks: Looks,
    /// Colours that differ from the defaults.
    pub highlights: BTreeMap<String, Highlight>,
    /// Messages on the screen.
    pub notify: Notify,
    /// What models cost, by their names, where the user says so.
    pub pricing: BTreeMap<String, Price>,
    /// The log.
    pub logging: Logging,
    /// The buffer as a file.
    pub editing: Editing,
    /// The conversations of projects.
    pub conversations: ConversationOptions,
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

impl Default for Config {
    fn default() -> Self {
        options::defaults(Self::read)
    }
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
    #[must_use]
    pub fn settled(layers: &[Value]) -> Vec<Value> {
        layers::settled(layers)
    }

    /// The paths of all options, those of tables included, as `tools.autopilot.max_turns`: what documentation has
    /// to cover.
    #[must_use]
    pub fn paths() -> Vec<String> {
        options::paths(Self::read)
    }

    fn read(table: &mut Table<'_>) -> Self {
        let (provider, model, parameters) = Self::read_recipient(table);
        Self {
            provider,
            model,
            parameters,
            presets: switch::read_presets(table),
            agent: table.some("agent", &TEXT),
            agents: table.entries("agents", |agents, name| Some(agents.table(name, AgentOptions::read))),
            tools: table.table("tools", Tools::read),
            keymaps: table.table("keymaps", Keymaps::read),
            looks: table.table("looks", Looks::read),
            highlights: editor::read_highlights(table),
            notify: table.table("notify", Notify::read),
            pricing: pricing::read(table),
            logging: table.table("logging", Logging::read),
            editing: table.table("editing", Editing::read),
            conversations: table.table("conversations", ConversationOptions::read),
        }
    }

    /// Reads whom conversations talk to, and how.
    pub(super) fn read_recipient(table: &mut Table<'_>) -> (ProviderName, Option<String>, Parameters) {
        let providers: Vec<_> = ProviderName::all().collect();
        let provider = table.choose("provider", &providers).unwrap_or_default();
        (provider, table.some("model", &TEXT), table.table("parameters", Parameters::read))
    }

    /// What is wrong with the name of an agent; `None` if there is one of this name.
    #[must_use]
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
    #[must_use]
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(self.provider.default_model())
    }

    /// The parameters for a provider, its own beating the general ones.
    ///
    /// `model` belongs to `provider`; for another provider than the configured one the answer has that
    /// one's default model.
    #[must_use]
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
