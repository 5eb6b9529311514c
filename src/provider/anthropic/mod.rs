//! Anthropic's Messages API, streamed.
//!
//! `encode` turns a request into the body of `POST /v1/messages`, `decode` turns the event stream
//! into [`Event`](super::Event)s, `refuse` turns every way of saying no into one line for the user.
//! The format is the one of <https://docs.claude.com/en/api/messages> and `…/messages-streaming`,
//! API version `2023-06-01`.

mod decode;
mod encode;
mod refuse;

use url::Url;

use self::{decode::Reader, refuse::Peer};
use super::{ErrorKind, Exchange, HttpRequest, Provider, ProviderError, Request, auth::Environment};

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub const NAME: &str = "anthropic";

/// Where requests go when the configuration names no other host.
pub const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";

/// The version of the API that is spoken here.
const API_VERSION: &str = "2023-06-01";

/// The Messages API at one host.
#[derive(Debug)]
pub struct Anthropic {
    base_url: String,
    environment: Environment,
}

impl Anthropic {
    /// The API at `base_url`: scheme and host, and a path if a gateway wants one, without `/v1`.
    /// The key is looked up in `environment` for each request.
    #[must_use]
    pub fn new(base_url: &str, environment: Environment) -> Self {
        Self { base_url: base_url.to_owned(), environment }
    }

    /// The address of the one endpoint, and the host for messages.
    fn endpoint(&self) -> Result<(String, String), ProviderError> {
        let base = self.base_url.trim().trim_end_matches('/');
        let refuse = |why: &str| {
            // An address may carry a password: then it is not shown.
            let shown = if base.contains('@') { "…" } else { base };
            let message = format!("`parameters.anthropic.base_url` is \"{shown}\": {why}, as in {DEFAULT_BASE_URL}");
            ProviderError::new(ErrorKind::InvalidRequest, message)
        };
        let url = Url::parse(base).map_err(|_| refuse("that is no address; write scheme and host"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("write http:// or https:// and the host"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("leave out everything from the ? or # on"));
        }
        let host = url.host_str().ok_or_else(|| refuse("the host is missing"))?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok((format!("{base}/v1/messages"), host))
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let (url, host) = self.endpoint()?;
        let key = self.environment.key("Anthropic", KEY_VARIABLE)?;
        let headers = vec![
            ("x-api-key", key.expose().to_owned()),
            ("anthropic-version", API_VERSION.to_owned()),
            ("content-type", "application/json".to_owned()),
            ("accept", "text/event-stream".to_owned()),
            ("user-agent", format!("flemma/{}", crate::VERSION)),
        ];
        Ok(Exchange::Http {
            request: HttpRequest { url, headers, body: encode::body(request)? },
            decoder: Box::new(Reader::new(Peer { host, key })),
        })
    }
}
