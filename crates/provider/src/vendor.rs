//! What a vendor's folder offers: one row of data and functions, and the options in the vendor's own table.
//!
//! The configuration reads the table into [`VendorOptions`], and the runtime builds the [`Server`] from them. Nothing
//! outside the folder knows one vendor from another.

use std::{fmt, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    CapabilityProbe, Exchange, ProviderError, ProviderName, Request, Server, Thinking,
    attachment::AttachmentLimits,
    credential::{Credential, KeySource},
    headers::Headers,
    hosted::{HostedProblem, HostedTool},
    vendor_error::{Facts, Peer, VendorFailure},
};
use flemma_model::{Message, Signature, UserError, options::Table};

/// Reads a `.chat` document into its messages, or says why it cannot. Those who build a provider bring it: a provider
/// may be a script in such a document, and reading one belongs to a layer above.
pub type ReadDocument = fn(&str) -> Result<Vec<Arc<Message>>, UserError>;

/// One vendor.
pub(super) struct Vendor {
    /// The name in the configuration, and the owner of the signatures that the vendor's protocol brings.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The model that is asked when `model` is not set; empty where every server has its own.
    pub default_model: &'static str,
    /// Suggestions, the newest first: any other name is sent as it is. `None` where every server has its own, and lists
    /// them.
    pub models: Option<&'static [&'static str]>,
    /// The variable that holds the key; empty if there is none.
    pub key_variable: &'static str,
    /// What the vendor calls a key.
    pub key_word: &'static str,
    /// The header that carries the key, and what precedes the key in it.
    pub key_header: (&'static str, &'static str),
    /// What is said where there is no key; `None` if that is no error.
    pub no_key: Option<fn(&Vendor) -> String>,
    /// Where the key may be if its variable is not set.
    pub key_sources: &'static [KeySource],
    /// Further variables that lead to a key.
    pub other_secrets: &'static [&'static str],
    /// Further headers of every request.
    pub headers: &'static [(&'static str, &'static str)],
    /// A `base_url` as it should be.
    pub base_url: &'static str,
    /// What is taken of images and PDFs; `None` if none are.
    pub limits: Option<AttachmentLimits>,
    /// General parameters that the vendor's table also takes by a name of the vendor's own.
    pub other_names: &'static [(&'static str, &'static str)],
    /// Whether a signature of the vendor in a document can be read; `None` if the vendor does not sign.
    pub reads_signature: Option<fn(&Signature) -> bool>,
    /// Whether the vendor hides thinking: hidden thinking that names no vendor is taken for this one's.
    pub hides_thinking: bool,
    /// Whether a signature of the vendor is also about the text of the thinking that it stands on.
    pub signs_text: fn(&Signature) -> bool,
    /// Whether the vendor runs a tool itself for a model. The last argument says that no other tool is offered.
    pub hosts: fn(&HostedTool, &str, bool) -> Result<(), HostedProblem>,
    /// Reads the vendor's own options, as an object of all of them.
    pub options: fn(&mut Table<'_>) -> Value,
    /// Where the server lists its models; `None` for a vendor without a server.
    pub models_endpoint: fn(&Server) -> Result<Option<Peer>, ProviderError>,
    /// Turns a request into an exchange.
    pub prepare: fn(&Server, &Request) -> Result<Exchange, ProviderError>,
    /// What to ask the server about the model that a request is for.
    pub capability_probe: fn(&Server, &Request) -> Option<CapabilityProbe>,
    /// Whether a reply in the vendor's protocol begins with this event.
    pub begins_with: fn(&Value) -> bool,
    /// What the vendor's name for an error means, or a status for which the vendor has a meaning of its own; `None` if
    /// that says nothing.
    pub failure: fn(&str) -> Option<VendorFailure>,
    /// What the user is told of a failure, where that is not what all vendors have in common.
    pub headline: fn(VendorFailure, &Facts<'_>) -> Option<String>,
}

impl Vendor {
    /// One that wants a key as a bearer, runs no tools, signs nothing, lists its models, and whose errors have no names.
    pub const fn new(
        name: &'static str,
        options: fn(&mut Table<'_>) -> Value,
        prepare: fn(&Server, &Request) -> Result<Exchange, ProviderError>,
    ) -> Self {
        Self {
            name,
            title: "",
            default_model: "",
            models: None,
            key_variable: "",
            key_word: "key",
            key_header: ("authorization", "Bearer "),
            no_key: Some(Self::unset),
            key_sources: &[],
            other_secrets: &[],
            headers: &[],
            base_url: "",
            limits: None,
            other_names: &[],
            reads_signature: None,
            hides_thinking: false,
            signs_text: |_| false,
            hosts: |_, _, _| Err(HostedProblem::NoSuchTool),
            options,
            models_endpoint: |server| server.endpoint(server.vendor().base_url, "/models").map(Some),
            prepare,
            capability_probe: |_, _| None,
            begins_with: |_| false,
            failure: |_| None,
            headline: |_, _| None,
        }
    }

    /// What is said where the key is not set.
    fn unset(&self) -> String {
        let Self { title, key_variable, .. } = self;
        format!(
            "{key_variable} is not set. Set it in the shell that starts Neovim (:help flemma-api-keys), \
             or for this session with :let ${key_variable} = \"…\"; there is no key for {title}"
        )
    }
}

/// The options of one vendor, in `parameters.<name>`, without the general parameters in it. They serialise as the
/// configuration writes them.
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct VendorOptions {
    #[serde(skip)]
    pub(super) provider: ProviderName,
    values: Value,
}

impl VendorOptions {
    /// The options `values`, an object of those that are set.
    pub fn new(provider: ProviderName, values: Value) -> Self {
        Self { provider, values }
    }

    /// The value of an option; `None` if it is not set.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.values.get(name)?.clone()).ok()
    }

    /// How much a model may think, if an option with a name of the vendor's own says so in tokens.
    pub fn thinking(&self) -> Option<Thinking> {
        self.get("thinking_budget").map(Thinking::of_tokens)
    }

    /// The key that the vendor wants, and where it may be; `None` if it wants none.
    pub fn credential(&self) -> Option<Credential> {
        let Vendor { key_variable: variable, key_sources, .. } = self.provider.row();
        let command = self.get("api_key_command").map(KeySource::Command);
        let sources = key_sources.iter().cloned().chain(command).collect();
        (!variable.is_empty()).then_some(Credential { variable, sources })
    }
}

/// Leaves out the values, which may be secrets.
impl fmt::Debug for VendorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with the headers {:?}", self.provider, self.get::<Headers>("headers"))
    }
}
