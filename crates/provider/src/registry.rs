//! The table of providers: one row for each vendor, and nothing else in the crate names one.
//!
//! A row ([`Vendor`]) is in the vendor's folder, with the functions that it names. To add a provider, write its folder
//! and add its row here.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    VendorOptions, anthropic,
    hosted::{HostedProblem, HostedTool},
    openai, openai_compatible, rehearsal,
    signature::is_one_word,
    vendor::Vendor,
    vertex,
};
use flemma_model::{Signature, options::Table};

/// Every vendor. Conversations talk to the first one when the options name none.
static ROWS: [&Vendor; 5] =
    [&rehearsal::VENDOR, &anthropic::VENDOR, &openai::VENDOR, &openai_compatible::VENDOR, &vertex::VENDOR];

/// A provider that is compiled in: the place of its row.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderName(usize);

impl ProviderName {
    /// Every provider, in the order in which they are offered.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..ROWS.len()).map(Self)
    }

    pub(super) fn row(self) -> &'static Vendor {
        ROWS[self.0]
    }

    /// The provider of this name in the configuration.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|provider| provider.name() == name)
    }

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// The model that is asked when `model` is not set; empty where every server has its own.
    pub fn default_model(self) -> &'static str {
        self.row().default_model
    }

    /// Models by name, for completion and for the pickers, the newest first. They are suggestions: any other name is
    /// sent as it is. `None` where every server has its own, which
    /// [`Server::list_models`](super::Server::list_models) asks for.
    pub fn models(self) -> Option<&'static [&'static str]> {
        self.row().models
    }

    /// General parameters that the vendor's table also takes by a name of the vendor's own, each with that name.
    pub fn other_names(self) -> &'static [(&'static str, &'static str)] {
        self.row().other_names
    }

    /// Reads the vendor's own options out of its table of `parameters`.
    pub fn read_options(self, table: &mut Table<'_>) -> VendorOptions {
        VendorOptions::new(self, (self.row().options)(table))
    }

    /// Whether the vendor runs `tool` itself for `model`. `alone`: no tool that runs here is offered with it.
    ///
    /// # Errors
    /// Why the tool cannot be offered.
    pub fn hosts(self, tool: &HostedTool, model: &str, alone: bool) -> Result<(), HostedProblem> {
        (self.row().hosts)(tool, model, alone)
    }
}

impl fmt::Debug for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for ProviderName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// The names for people of the providers that run `tool` themselves.
pub fn hosts_of(tool: &HostedTool) -> impl Iterator<Item = &'static str> {
    let hosts = ProviderName::all().filter(|provider| provider.hosts(tool, provider.default_model(), true).is_ok());
    hosts.map(ProviderName::title)
}

/// The variables of the environment that hold a provider's key, or lead to one. Commands that tools run do not inherit
/// them.
pub fn secret_variables() -> impl Iterator<Item = &'static str> {
    let variables = ROWS.iter().flat_map(|row| [row.key_variable].into_iter().chain(row.other_secrets.iter().copied()));
    variables.filter(|variable| !variable.is_empty())
}

/// The names of the providers that sign what they send.
pub fn signers() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(|row| row.reads_signature.is_some()).map(|row| row.name)
}

/// Hidden thinking that names no provider, as another tool may have written it: it belongs to the provider that
/// hides thinking. `None` if `text` is not data.
pub fn redacted_signature(text: &str) -> Option<Signature> {
    let provider = ROWS.iter().find(|row| row.hides_thinking)?.name;
    let is_data = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let lines = || text.lines().map(str::trim);
    let sound = lines().all(|line| line.chars().all(is_data));
    let value: String = lines().collect();
    (sound && !value.is_empty()).then(|| Signature { provider: provider.to_owned(), value })
}

/// The provider whose reply begins with this event, if it can be told.
pub(super) fn sender_of(event: &Value) -> Option<&'static str> {
    ROWS.iter().find(|row| (row.begins_with)(event)).map(|row| row.name)
}

/// Whether the provider of a signature could be sent it. It may have been damaged, or another tool may have written it in a form
/// of its own. A provider that is not known may read anything that has no white space in it.
pub fn is_readable(signature: &Signature) -> bool {
    let row = ROWS.iter().find(|row| row.name == signature.provider);
    row.and_then(|row| row.reads_signature).unwrap_or(is_one_word)(signature)
}

/// Whether a signature is also about the text of the thinking. Then its provider refuses it with any other text.
pub fn signs_text(signature: &Signature) -> bool {
    ROWS.iter().any(|row| row.name == signature.provider && (row.signs_text)(signature))
}
