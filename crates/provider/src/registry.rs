//! The table of providers: one row for each vendor, and nothing else in the crate names one.
//!
//! A row has what is plainly data, and one function that makes the vendor's options. All that follows from those
//! options (how they are read, where the key comes from, how the provider is built, what `:checkhealth` says) is in the
//! vendor's folder, behind [`VendorOptions`]. To add a provider, write its folder and its row.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{
    VendorOptions, anthropic,
    hosted::{HostedProblem, HostedTool, HostedToolSpec, SearchLimits},
    openai, openai_compatible, rehearsal,
    signature::is_one_word,
    vertex,
};
use flemma_model::{Signature, options::Table};

/// One vendor.
pub struct ProviderEntry {
    /// The name in the configuration, and the owner of the signatures that the vendor's protocol brings.
    name: &'static str,
    /// The name for people.
    title: &'static str,
    /// The models, as far as they are known.
    models: Models,
    /// Variables of the environment that hold the vendor's key, or lead to one.
    secrets: &'static [&'static str],
    /// General parameters that the vendor's table also takes by a name of the vendor's own.
    other_names: &'static [(&'static str, &'static str)],
    /// How signatures of the vendor come back.
    signatures: Signatures,
    /// Whether a signature of the vendor is also about the text of the thinking that it stands on.
    signs_text: fn(&Signature) -> bool,
    /// Whether the vendor runs a tool itself for a model. The last argument says that no other tool is offered.
    hosts: fn(&HostedToolSpec, &str, bool) -> Result<(), HostedProblem>,
    /// Reads the vendor's own options.
    options: fn(&mut Table<'_>) -> Box<dyn VendorOptions>,
}

/// Which models a vendor has.
enum Models {
    /// The one that is asked when `model` is not set, and suggestions, the newest first. Any other name is sent as it
    /// is.
    Known { default: &'static str, all: &'static [&'static str] },
    /// Every server has its own.
    Listed,
}

/// What a document holds of a vendor's signatures.
enum Signatures {
    /// Nothing: the vendor does not sign.
    None,
    /// Signatures that this function can read.
    Read(fn(&Signature) -> bool),
    /// The same, and the vendor hides thinking: hidden thinking that names no vendor is taken for this one's.
    Hidden(fn(&Signature) -> bool),
}

/// Every vendor. Conversations talk to the first one when the options name none.
static ROWS: [ProviderEntry; 5] = [
    ProviderEntry {
        name: rehearsal::NAME,
        title: "the embedded script",
        models: Models::Known { default: "welcome", all: &["welcome", "tour"] },
        secrets: &[],
        other_names: &[],
        signatures: Signatures::None,
        signs_text: |_| false,
        hosts: HostedToolSpec::nowhere,
        options: |table| Box::new(rehearsal::Options::read(table)),
    },
    ProviderEntry {
        name: anthropic::NAME,
        title: "Anthropic",
        models: Models::Known {
            default: "claude-sonnet-5-5",
            all: &["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-sonnet-4-5"],
        },
        secrets: &[anthropic::KEY_VARIABLE],
        other_names: &[("thinking", "thinking_budget")],
        signatures: Signatures::Hidden(anthropic::reads),
        signs_text: |_| true,
        hosts: anthropic::hosts,
        options: |table| Box::new(anthropic::Options::read(table)),
    },
    ProviderEntry {
        name: openai::NAME,
        title: "OpenAI",
        models: Models::Known {
            default: "gpt-5.6-terra",
            all: &["gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"],
        },
        secrets: &[openai::KEY_VARIABLE],
        other_names: &[("thinking", "reasoning")],
        signatures: Signatures::Read(openai::reads),
        signs_text: |_| false,
        hosts: openai::hosts,
        options: |table| Box::new(openai::Options::read(table)),
    },
    ProviderEntry {
        name: openai_compatible::NAME,
        title: "a Chat Completions server",
        models: Models::Listed,
        secrets: &[openai_compatible::KEY_VARIABLE],
        other_names: &[],
        signatures: Signatures::Read(openai_compatible::reads),
        signs_text: |_| false,
        hosts: HostedToolSpec::nowhere,
        options: |table| Box::new(openai_compatible::Options::read(table)),
    },
    ProviderEntry {
        name: vertex::NAME,
        title: "Vertex AI",
        models: Models::Known {
            default: "gemini-3.8-flash",
            all: &["gemini-3.8-flash", "gemini-3.5-flash-lite", "gemini-3.1-pro-preview", "gemini-2.5-pro"],
        },
        secrets: &[vertex::TOKEN_VARIABLE, vertex::token::FILE_VARIABLE],
        other_names: &[("thinking", "thinking_budget")],
        signatures: Signatures::Read(vertex::reads),
        signs_text: vertex::signs_text,
        hosts: vertex::hosts,
        options: |table| Box::new(vertex::Options::read(table)),
    },
];

/// A provider that is compiled in.
#[derive(Clone, Copy)]
pub struct ProviderName(&'static ProviderEntry);

impl ProviderName {
    /// Every provider, in the order in which they are offered.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        ROWS.iter().map(Self)
    }

    /// The provider of this name in the configuration.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|provider| provider.name() == name)
    }

    /// The name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The model that is asked when `model` is not set; empty where every server has its own.
    #[must_use]
    pub fn default_model(self) -> &'static str {
        match self.0.models {
            Models::Known { default, .. } => default,
            Models::Listed => "",
        }
    }

    /// Models by name, for completion and for the pickers, the newest first. They are suggestions: any other name is
    /// sent as it is. `None` where every server has its own, which
    /// [`Provider::list_models`](super::Provider::list_models) asks for.
    #[must_use]
    pub fn models(self) -> Option<&'static [&'static str]> {
        match self.0.models {
            Models::Known { all, .. } => Some(all),
            Models::Listed => None,
        }
    }

    /// General parameters that the vendor's table also takes by a name of the vendor's own, each with that name.
    #[must_use]
    pub fn other_names(self) -> &'static [(&'static str, &'static str)] {
        self.0.other_names
    }

    /// Reads the vendor's own options out of its table of `parameters`.
    pub fn read_options(self, table: &mut Table<'_>) -> Box<dyn VendorOptions> {
        (self.0.options)(table)
    }

    /// Whether the vendor runs `tool` itself for `model`. `alone`: no tool that runs here is offered with it.
    ///
    /// # Errors
    /// Why the tool cannot be offered.
    pub fn hosts(self, tool: &HostedToolSpec, model: &str, alone: bool) -> Result<(), HostedProblem> {
        (self.0.hosts)(tool, model, alone)
    }
}

impl Default for ProviderName {
    fn default() -> Self {
        Self(&ROWS[0])
    }
}

impl PartialEq for ProviderName {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for ProviderName {}

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
pub fn hosts_of(tool: HostedTool) -> impl Iterator<Item = &'static str> {
    let tool = HostedToolSpec::of(tool, &SearchLimits::default());
    let hosts =
        ProviderName::all().filter(move |provider| provider.hosts(&tool, provider.default_model(), true).is_ok());
    hosts.map(ProviderName::title)
}

/// The variables of the environment that hold a provider's key, or lead to one. Commands that tools run do not inherit
/// them.
pub fn secret_variables() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|row| row.secrets).copied()
}

/// The names of the providers that sign what they send.
pub fn signers() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(|row| !matches!(row.signatures, Signatures::None)).map(|row| row.name)
}

/// Hidden thinking that names no provider, as another tool may have written it: it belongs to the provider that
/// hides thinking. `None` if `text` is not data.
#[must_use]
pub fn redacted_signature(text: &str) -> Option<Signature> {
    let provider = ROWS.iter().find(|row| matches!(row.signatures, Signatures::Hidden(_)))?.name;
    let is_data = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let lines = || text.lines().map(str::trim);
    let sound = lines().all(|line| line.chars().all(is_data));
    let value: String = lines().collect();
    (sound && !value.is_empty()).then(|| Signature { provider: provider.to_owned(), value })
}

/// Whether the provider of a signature could be sent it. It may have been damaged, or another tool may have written it in a form
/// of its own. A provider that is not known may read anything that has no white space in it.
#[must_use]
pub fn is_readable(signature: &Signature) -> bool {
    let row = ROWS.iter().find(|row| row.name == signature.provider);
    match row.map(|row| &row.signatures) {
        Some(Signatures::Read(reads) | Signatures::Hidden(reads)) => reads(signature),
        Some(Signatures::None) | None => is_one_word(signature),
    }
}

/// Whether a signature is also about the text of the thinking. Then its provider refuses it with any other text.
#[must_use]
pub fn signs_text(signature: &Signature) -> bool {
    ROWS.iter().any(|row| row.name == signature.provider && (row.signs_text)(signature))
}
