//! How a vendor is reached: the address, the key, and the headers that the user adds.
//!
//! Every HTTP provider holds one [`Access`]. For each request it makes a [`Call`]: the address of an endpoint, with the
//! key that goes there. The call makes the request, and the [`Peer`] that words what the other side refuses.

use std::borrow::Cow;

use url::Url;

use super::{
    ErrorKind, Exchange, HttpRequest, ProviderError,
    auth::{Environment, Key},
    headers::Headers,
    reply::{ReadReply, StreamDecoder},
    vendor_error::{Peer, Vendor},
};

/// How we name ourselves.
pub(super) const USER_AGENT: &str = concat!("flemma/", env!("CARGO_PKG_VERSION"));

/// How one vendor is reached.
#[derive(Clone, Debug)]
pub(super) struct Access {
    vendor: &'static Vendor,
    base_url: String,
    environment: Environment,
    headers: Headers,
}

/// One endpoint, and the key for it.
pub(super) struct Call<'a> {
    access: &'a Access,
    /// The absolute URL.
    pub url: String,
    /// The host, with its port if it is not the usual one, for messages.
    pub host: String,
    key: Option<Key>,
    /// The project and its location, where requests are about one.
    pub scope: (String, String),
}

impl Access {
    pub fn new(vendor: &'static Vendor, base_url: &str, environment: Environment, headers: Headers) -> Self {
        Self { vendor, base_url: base_url.trim().trim_end_matches('/').to_owned(), environment, headers }
    }

    pub fn with_headers(self, headers: Headers) -> Self {
        Self { headers, ..self }
    }

    /// A call of `path`, which begins with a slash. It has no key if the user's headers bring the header in which the
    /// key would be sent.
    ///
    /// # Errors
    /// [`ErrorKind::Options`] when `base_url` is not the address of a host, and [`ErrorKind::Authentication`] when the
    /// vendor wants a key and there is none that can be one.
    pub fn call(&self, path: &str) -> Result<Call<'_>, ProviderError> {
        let Vendor { name, key_variable, key_header, no_key, base_url, .. } = self.vendor;
        let host = host_of(name, &self.base_url, base_url)?;
        let is_given = self.headers.has(key_header.0);
        let key = if is_given { None } else { self.environment.find(key_variable)? };
        if let Some(words) = no_key.filter(|_| key.is_none() && !is_given) {
            return Err(ProviderError::new(ErrorKind::Authentication, words(self.vendor)));
        }
        Ok(Call { access: self, url: format!("{}{path}", self.base_url), host, key, scope: Default::default() })
    }
}

impl Call<'_> {
    /// The exchange of a request with this body; `reply` reads what comes, of at most `limit` tokens.
    pub fn exchange(self, body: Vec<u8>, reply: impl ReadReply + 'static, limit: Option<u32>) -> Exchange {
        let request = HttpRequest { url: self.url.clone(), headers: self.headers("text/event-stream", &body), body };
        Exchange::Http { request, decoder: Box::new(StreamDecoder::new(self.peer(), reply, limit)) }
    }

    /// A request to `url`, at the same host, whose answer is one piece of JSON.
    pub fn ask(&self, url: String, body: Vec<u8>) -> HttpRequest {
        HttpRequest { url, headers: self.headers("application/json", &body), body }
    }

    /// The other side.
    pub fn peer(&self) -> Peer {
        Peer::new(self.access.vendor, self.host.clone(), self.key.clone(), &self.access.headers, self.scope.clone())
    }

    /// Our headers, replaced by the user's where they have the same name.
    fn headers(&self, accept: &str, body: &[u8]) -> Vec<(Cow<'static, str>, String)> {
        let Vendor { key_header: (name, prefix), headers, .. } = self.access.vendor;
        let mut own: Vec<_> = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        own.extend(self.key.iter().map(|key| (*name, format!("{prefix}{}", key.expose()))));
        own.extend((!body.is_empty()).then(|| ("content-type", "application/json".to_owned())));
        own.extend([("accept", accept.to_owned()), ("user-agent", USER_AGENT.to_owned())]);
        self.access.headers.lay_over(own)
    }
}

/// The host in the `base_url` of the provider `name`, with its port if it is not the usual one. `example` is an address
/// as it should be.
///
/// # Errors
/// [`ErrorKind::Options`] when `base` is not the address of a host. The message names the option.
fn host_of(name: &str, base: &str, example: &str) -> Result<String, ProviderError> {
    let option = format!("`parameters.{name}.base_url`");
    if base.is_empty() {
        let message = format!("{option} is not set; write the server's address, as in {example}");
        return Err(ProviderError::new(ErrorKind::Options, message));
    }
    let refuse = |why: &str| {
        // An address may contain a password: then it is not shown.
        let shown = if base.contains('@') { "…" } else { base };
        ProviderError::new(ErrorKind::Options, format!("{option} is \"{shown}\": {why}, as in {example}"))
    };
    let url = Url::parse(base).map_err(|_| refuse("that is not an address; write scheme and host"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("write http:// or https:// and the host"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("remove the ? or # and everything after it"));
    }
    let host = url.host_str().ok_or_else(|| refuse("the host is missing"))?;
    Ok(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}
