//! How a vendor is reached: the address, the key, and the headers that the user adds.
//!
//! Every HTTP provider holds one [`Access`]. It turns `base_url` and a path into the address of an endpoint,
//! finds the key, and makes the [`Peer`] that words what the other side refuses.

use std::borrow::Cow;

use url::Url;

use super::{
    ErrorKind, ProviderError,
    auth::{Environment, Key},
    headers::Headers,
    vendor_error::{Peer, Vendor},
};

/// How one vendor is reached.
#[derive(Clone, Debug)]
pub(super) struct Access {
    vendor: &'static Vendor,
    base_url: String,
    environment: Environment,
    headers: Headers,
}

/// The address of an endpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// The absolute URL.
    pub url: String,
    /// The host, with its port if it is not the usual one, for messages.
    pub host: String,
}

impl Access {
    pub fn new(vendor: &'static Vendor, base_url: &str, environment: Environment) -> Self {
        Self {
            vendor,
            base_url: base_url.trim().trim_end_matches('/').to_owned(),
            environment,
            headers: Headers::default(),
        }
    }

    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// The address as it was set, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address of `path`, which begins with a slash.
    ///
    /// # Errors
    /// [`ErrorKind::Options`] when `base_url` is not the address of a host. The message names the option.
    pub fn endpoint(&self, path: &str) -> Result<Endpoint, ProviderError> {
        let base = &self.base_url;
        let host = host_of(self.vendor.name, base, self.vendor.base_url)?;
        Ok(Endpoint { url: format!("{base}{path}"), host })
    }

    /// The key, unless the user's headers bring `header`, in which it would be sent.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] when there is none, or none that can be one.
    pub fn key(&self, header: &str) -> Result<Option<Key>, ProviderError> {
        if self.headers.has(header) {
            return Ok(None);
        }
        self.environment.key(self.vendor.title, self.vendor.key_variable).map(Some)
    }

    /// The same for a vendor that may not require a key: then it is not an error if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] when what is set cannot be a key.
    pub fn optional_key(&self, header: &str) -> Result<Option<Key>, ProviderError> {
        if self.headers.has(header) || !self.environment.has(self.vendor.key_variable) {
            return Ok(None);
        }
        self.environment.key(self.vendor.title, self.vendor.key_variable).map(Some)
    }

    /// The headers of a request whose reply is streamed: `own` and those that all requests have, replaced by the user's
    /// where they have the same name.
    pub fn post_headers(&self, mut own: Vec<(&'static str, String)>) -> Vec<(Cow<'static, str>, String)> {
        own.push(("content-type", "application/json".to_owned()));
        own.push(("accept", "text/event-stream".to_owned()));
        self.with_own(own)
    }

    /// The same for a request that has no body, and whose reply is one piece of JSON.
    pub fn get_headers(&self, mut own: Vec<(&'static str, String)>) -> Vec<(Cow<'static, str>, String)> {
        own.push(("accept", "application/json".to_owned()));
        self.with_own(own)
    }

    fn with_own(&self, mut own: Vec<(&'static str, String)>) -> Vec<(Cow<'static, str>, String)> {
        own.push(("user-agent", format!("flemma/{}", env!("CARGO_PKG_VERSION"))));
        self.headers.lay_over(own)
    }

    /// The other side of a request that is sent to `host` with `key`.
    pub fn peer(&self, host: String, key: Option<Key>) -> Peer {
        Peer::new(self.vendor, host, key, &self.headers)
    }
}

/// The host in the `base_url` of the provider `name`, with its port if it is not the usual one. `example` is an address
/// as it should be.
///
/// # Errors
/// [`ErrorKind::Options`] when `base` is not the address of a host. The message names the option.
pub(super) fn host_of(name: &str, base: &str, example: &str) -> Result<String, ProviderError> {
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
