//! A vendor as it is reached with the user's options: the address, the key, and the headers that the user adds.
//!
//! [`Server`] speaks every vendor's protocol. For each request it makes a [`Peer`]: the address of an endpoint with
//! the key that goes there, which makes the request and words what the other side refuses.

use std::borrow::Cow;

use serde_json::Value;
use url::Url;

use super::{
    CapabilityProbe, ErrorKind, Exchange, HttpRequest, ProviderError, ReadDocument, Refusal, Request, VendorOptions,
    attachment::AttachmentLimits,
    auth::Environment,
    connection::shown_url,
    dialect::{Dialect, USER},
    headers::Headers,
    models::ModelsRequest,
    refusal::Optional,
    reply::{ReadReply, StreamDecoder},
    vendor::Vendor,
    vendor_error::Peer,
};

/// How we name ourselves.
pub(super) const USER_AGENT: &str = concat!("flemma/", env!("CARGO_PKG_VERSION"));

/// A vendor, and the options with which it is reached. Keys are looked up in the environment for each request.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) options: VendorOptions,
    pub(super) environment: Environment,
    /// Reads a script.
    pub(super) read: ReadDocument,
    /// What its host has refused in this session.
    pub(super) refused: Vec<Refusal>,
}

impl Server {
    /// The vendor of `options`.
    pub fn new(options: VendorOptions, environment: Environment, read: ReadDocument) -> Self {
        Self { options, environment, read, refused: Vec::new() }
    }

    pub(super) fn vendor(&self) -> &'static Vendor {
        self.options.provider.row()
    }

    /// The endpoint at `path`, which begins with a slash, under the address in the options or else `default`. It has no
    /// key if the user's headers bring the header in which the key would be sent.
    ///
    /// # Errors
    /// [`ErrorKind::Options`] when there is no address of a host, and [`ErrorKind::Authentication`] when the vendor
    /// wants a key and there is none that can be one.
    pub(super) fn endpoint(&self, default: &str, path: &str) -> Result<Peer, ProviderError> {
        let vendor = self.vendor();
        let base: String = self.options.get("base_url").unwrap_or_else(|| default.to_owned());
        let base = base.trim();
        let (base, query) = base.split_at(base.find('?').unwrap_or(base.len()));
        let base = base.trim_end_matches('/');
        let host = host_of(vendor, base)?;
        let headers: Headers = self.options.get("headers").unwrap_or_default();
        let is_given = headers.has(vendor.key_header.0);
        let key = if is_given { None } else { self.environment.find(vendor.key_variable)? };
        if let Some(words) = vendor.no_key.filter(|_| key.is_none() && !is_given) {
            return Err(ProviderError::new(ErrorKind::Authentication, words(vendor)));
        }
        // Vertex has a query of its own.
        let query = if path.contains('?') { query.replacen('?', "&", 1) } else { query.to_owned() };
        let (url, (scope, optional)) = (format!("{base}{path}{query}"), Default::default());
        Ok(Peer { vendor, url, host, key, headers, scope, optional })
    }

    /// The name in the configuration (`provider = "anthropic"`).
    pub fn name(&self) -> &'static str {
        self.vendor().name
    }

    /// What images and PDFs it accepts for a model; `None` if it accepts none at all, and then none are read.
    pub fn attachment_limits(&self, model: &str) -> Option<AttachmentLimits> {
        let limits = self.vendor().limits?;
        let none = AttachmentLimits { vendor: "this model's server", kinds: &[], ..limits };
        Some(if self.dialect(model).files { limits } else { none })
    }

    /// The host that is asked, with its port if it is not the usual one; empty if the address is not one.
    pub(super) fn host(&self) -> String {
        let base = self.options.get("base_url").unwrap_or_else(|| self.vendor().base_url.to_owned());
        host_of(self.vendor(), base.trim()).unwrap_or_default()
    }

    /// What the server takes for a model.
    pub(super) fn dialect(&self, model: &str) -> Dialect {
        let mut dialect = Dialect::of(self.name(), &self.host(), model, self.options.get("dialect"));
        self.refused.iter().for_each(|refused| refused.apply(&mut dialect));
        dialect
    }

    /// What to ask the server about the model that a request is for, before its tools can be relied on; `None` where
    /// it is certain, or no server can be asked.
    pub fn capability_probe(&self, request: &Request) -> Option<CapabilityProbe> {
        (self.vendor().capability_probe)(self, request)
    }

    /// The request for the models that the server has; `None` for a vendor without a server.
    ///
    /// # Errors
    /// When the request cannot be made at all: the address is wrong, or there is no key that can be one.
    pub fn list_models(&self) -> Result<Option<ModelsRequest>, ProviderError> {
        let peer = (self.vendor().models_endpoint)(self)?;
        Ok(peer.map(|peer| ModelsRequest { request: peer.ask(peer.url.clone(), Vec::new()), peer }))
    }

    /// Turns a request into an exchange.
    ///
    /// # Errors
    /// When the request cannot be made at all: no key, or a conversation that the protocol cannot carry.
    /// The message names the fix.
    pub fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let Dialect { system_role, signed, .. } = self.dialect(&request.model);
        let mut request = Cow::Borrowed(request);
        if system_role == USER {
            request.to_mut().say_system();
        }
        if !signed {
            request.to_mut().drop_signed();
        }
        (self.vendor().prepare)(self, &request)
    }
}

impl Peer {
    /// The exchange of `request` with this body; `reply` reads what comes, of at most `limit` tokens.
    ///
    /// # Errors
    /// When the body cannot be written.
    pub fn exchange(
        mut self,
        request: &Request,
        body: &Value,
        reply: impl ReadReply + 'static,
        limit: Option<u32>,
    ) -> Result<Exchange, ProviderError> {
        self.optional = Optional::of(request, &self.host, body);
        let body = serde_json::to_vec(body)
            .map_err(|error| ProviderError::bug(format!("the request cannot be written as JSON ({error})")))?;
        let sent = HttpRequest { url: self.url.clone(), headers: self.headers("text/event-stream", &body), body };
        Ok(Exchange::Http { request: sent, decoder: Box::new(StreamDecoder::new(self, reply, request, limit)) })
    }

    /// A request to `url`, at the same host, whose answer is one piece of JSON.
    pub fn ask(&self, url: String, body: Vec<u8>) -> HttpRequest {
        HttpRequest { url, headers: self.headers("application/json", &body), body }
    }

    /// Our headers, replaced by the user's where they have the same name.
    fn headers(&self, accept: &str, body: &[u8]) -> Vec<(Cow<'static, str>, String)> {
        let Vendor { key_header: (name, prefix), headers, .. } = self.vendor;
        let mut own: Vec<_> = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        own.extend(self.key.iter().map(|key| (*name, format!("{prefix}{}", key.expose()))));
        own.extend((!body.is_empty()).then(|| ("content-type", "application/json".to_owned())));
        // What is compressed all the same is undone; a gateway that compresses a stream may hold it back.
        own.extend(
            [("accept", accept), ("accept-encoding", "identity"), ("user-agent", USER_AGENT)]
                .map(|(name, value)| (name, value.to_owned())),
        );
        self.headers.lay_over(own)
    }
}

/// The host in a `base_url` of `vendor`, with its port if it is not the usual one.
///
/// # Errors
/// [`ErrorKind::Options`] when `base` is not the address of a host. The message names the option.
fn host_of(vendor: &Vendor, base: &str) -> Result<String, ProviderError> {
    let Vendor { name, base_url: example, .. } = vendor;
    let refuse = |why: &str| {
        let message = format!("`parameters.{name}.base_url` is {why}, as in {example}");
        ProviderError::new(ErrorKind::Options, message)
    };
    let refuse_it = |why: &str| refuse(&format!("\"{}\": {why}", shown_url(base)));
    if base.is_empty() {
        return Err(refuse("not set; write the server's address"));
    }
    let url = Url::parse(base).map_err(|_| refuse_it("that is not an address; write scheme and host"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse_it("write http:// or https:// and the host"));
    }
    if url.fragment().is_some() {
        return Err(refuse_it("remove the # and everything after it"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let message = format!(
            "`parameters.{name}.base_url` is \"{}\": a name and a password are not sent from there; remove them, and write \
             `headers = {{ Authorization = \"Basic …\" }}` beside it, with name:password in base64",
            shown_url(base)
        );
        return Err(ProviderError::new(ErrorKind::Options, message));
    }
    let host = url.host_str().ok_or_else(|| refuse_it("the host is missing"))?;
    Ok(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}
