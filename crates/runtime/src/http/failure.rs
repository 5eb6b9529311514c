//! What went wrong on the way, in words that say what to check.
//!
//! reqwest's own messages name the whole URL and stop at "error sending request". The cause is
//! somewhere down the chain of sources: an `io::Error`, a `rustls::Error` (inside an `io::Error`), a
//! `hyper::Error`. The deepest one that is known decides.

use std::{env, error::Error, io, time::Duration};

use hyper_util::client::{
    legacy::connect::{HttpConnector, proxy::Tunnel},
    proxy::matcher::Matcher,
};
use reqwest::Url;
use tower_service::Service;

use flemma_provider::{ErrorKind, ProviderError, host};
use flemma_text::one_line;

/// The variables that name a proxy for `https` and for `http`, in the order in which reqwest reads them.
const TLS_PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const PLAIN_PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// The kinds of proxies that reqwest knows. It ignores any other, and connects directly.
const PROXY_KINDS: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// How often a request is sent to a server of the user's own that does not answer in time.
const ATTEMPTS_AT_OWN_SERVER: u32 = 2;

/// The other side of a request.
pub(super) struct HttpPeer {
    /// The host, with its port if it is not the usual one.
    pub name: String,
    /// Whether it is this machine.
    pub is_loopback: bool,
    /// Whether it is a server in the user's own network.
    pub is_own: bool,
    /// Whether the address begins with `https`.
    pub wants_tls: bool,
    host: String,
    port: u16,
}

/// The error of a proxy that does not connect. hyper-util has no name for its type, but the type of what returns it.
type TunnelError = <Tunnel<HttpConnector> as Service<hyper::Uri>>::Error;

/// The deepest cause in the chain that is known.
enum Cause<'a> {
    Tls(&'a rustls::Error),
    Http(&'a hyper::Error),
    Io(io::ErrorKind),
    Tunnel(&'a TunnelError),
    Unknown,
}

impl HttpPeer {
    /// The other side of a request to `url`; `None` if it names no host.
    pub fn of(url: &Url) -> Option<Self> {
        let host = url.host_str()?;
        let name = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Some(Self {
            name,
            is_loopback: host::is_loopback(host),
            is_own: host::is_private(host),
            wants_tls: url.scheme() == "https",
            host: host.to_owned(),
            port: url.port_or_known_default()?,
        })
    }

    /// Host and port, unless a proxy is in between.
    pub fn direct_address(&self) -> Option<(&str, u16)> {
        self.proxy().is_none().then_some((self.host.as_str(), self.port))
    }

    /// The error for a request that got no response.
    pub fn before_reply(&self, error: &reqwest::Error, connect: Duration) -> ProviderError {
        let name = &self.name;
        if error.is_connect() && error.is_timeout() {
            let message = format!(
                "no connection to {name} within {} s; check the network{} (the limit is `parameters.connect_timeout`)",
                connect.as_secs_f64(),
                self.proxy_hint()
            );
            return self.worth_less(ProviderError::new(ErrorKind::Timeout, message));
        }
        let connection = |message: String| ProviderError::new(ErrorKind::Connection, message);
        if error.is_dns() {
            let hint = self.proxy_hint();
            return connection(format!(
                "the name of {name} cannot be resolved; check the network and `base_url`{hint}"
            ));
        }
        match cause(error) {
            Cause::Tls(error) => ProviderError::new(ErrorKind::Tls, self.tls(error)),
            Cause::Http(error) if error.is_parse() => {
                let message = format!("{name} does not speak HTTP ({error}); check `base_url`");
                ProviderError::new(ErrorKind::Malformed, message)
            }
            Cause::Http(error) if error.is_incomplete_message() => {
                connection(format!("{name} closed the connection without an answer"))
            }
            Cause::Tunnel(why) => {
                let place = self.proxy().map_or("the system's settings", |(variable, _)| variable);
                connection(self.unconnected(&why.to_string(), place))
            }
            Cause::Io(io::ErrorKind::ConnectionRefused) => {
                let hint = self.proxy_hint();
                connection(format!("{name} refused the connection; start it, or check `base_url`{hint}"))
            }
            Cause::Io(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
                connection(format!("{name} cannot be reached; check the network{}", self.proxy_hint()))
            }
            Cause::Io(
                io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe,
            ) => connection(format!("{name} reset the connection without an answer")),
            Cause::Io(io::ErrorKind::UnexpectedEof) if error.is_connect() => {
                connection(format!("{name} closed the connection during the TLS handshake; check `base_url`"))
            }
            _ => connection(match self.proxy() {
                Some((variable, value)) if value.starts_with("socks") => self.unconnected(&innermost(error), variable),
                _ => format!("no connection to {name}: {}", innermost(error)),
            }),
        }
    }

    fn unconnected(&self, why: &str, place: &str) -> String {
        format!("the proxy does not connect to {} ({why}); check the proxy in {place}", self.name)
    }

    /// Checks that the proxy is of a kind that is known: a request must not go past a proxy that the user has set.
    ///
    /// # Errors
    /// The variable, the kind that it names, and those that are known.
    pub fn check_proxy(&self) -> Result<(), ProviderError> {
        let Some((variable, value)) = self.proxy() else { return Ok(()) };
        let Some((kind, _)) = value.split_once("://") else { return Ok(()) };
        let exceptions = env::var("NO_PROXY").or_else(|_| env::var("no_proxy")).unwrap_or_default();
        let is_exempt = |uri: hyper::Uri| {
            let other = Matcher::builder().all("http://proxy").no(exceptions.as_str()).build();
            other.intercept(&uri).is_none()
        };
        if PROXY_KINDS.contains(&kind) || format!("http://{}", self.name).parse().is_ok_and(is_exempt) {
            return Ok(());
        }
        // The rest of the value may have a password.
        let message = format!(
            "{variable} names a proxy of an unknown kind, `{kind}://`; write one of {}, as in socks5h://localhost:1080",
            PROXY_KINDS.map(|kind| format!("{kind}://")).join(", ")
        );
        Err(ProviderError::new(ErrorKind::Connection, message))
    }

    /// The error for a response that broke off.
    pub fn during_reply(&self, error: &reqwest::Error) -> ProviderError {
        let name = &self.name;
        match cause(error) {
            Cause::Http(error) if error.is_parse() => {
                let message = format!("{name} sent something that is not HTTP in the middle of the reply ({error})");
                ProviderError::new(ErrorKind::Malformed, message)
            }
            Cause::Io(kind) if is_packing(error, kind) => {
                let why = innermost(error);
                let message = format!("the reply of {name} cannot be unpacked ({why}); check what stands in between");
                ProviderError::new(ErrorKind::Malformed, message)
            }
            _ => {
                let message = format!("{name}: the connection closed in the middle of the reply");
                ProviderError::new(ErrorKind::Interrupted, message)
            }
        }
    }

    /// The error for a stage that took too long.
    pub fn silent(&self, what: &str, limit: Duration) -> ProviderError {
        let message = format!("{} {what} {} s (the limit is `parameters.timeout`)", self.name, limit.as_secs_f64());
        ProviderError::new(ErrorKind::Timeout, message)
    }

    /// The error for a reply of which nothing has come, even if the server has accepted the request.
    pub fn no_answer(&self, limit: Duration) -> ProviderError {
        self.worth_less(self.silent("did not answer within", limit))
    }

    /// The error for plain HTTP where TLS was asked for.
    pub fn plain_http(&self) -> ProviderError {
        let message = format!("{} speaks plain HTTP, not TLS; write http:// in `base_url`", self.name);
        ProviderError::new(ErrorKind::Tls, message)
    }

    /// A server of the user's own that was silent is busy with what it was asked, or is not there: asking it again and
    /// again makes it no faster.
    fn worth_less(&self, error: ProviderError) -> ProviderError {
        if self.is_own { ProviderError { attempts: ATTEMPTS_AT_OWN_SERVER, ..error } } else { error }
    }

    /// The error for an answer of more than `limit` bytes.
    pub fn too_long(&self, limit: usize) -> ProviderError {
        let message = format!("{} answered with more than {} KiB; check the address", self.name, limit / 1024);
        ProviderError::new(ErrorKind::Malformed, message)
    }

    /// The error for a web page instead of a stream.
    pub fn web_page(&self) -> ProviderError {
        let message = format!(
            "{} answered with a web page instead of a reply; check `base_url`, and whether this network requires a login",
            self.name
        );
        ProviderError::new(ErrorKind::Malformed, message)
    }

    fn tls(&self, error: &rustls::Error) -> String {
        let name = &self.name;
        match error {
            rustls::Error::InvalidMessage(_) => {
                format!("{name} does not speak TLS; if that is intended, write http:// in `base_url`")
            }
            rustls::Error::InvalidCertificate(why) => format!(
                "the certificate of {name} is not trusted ({}); check the system's clock and certificates, \
                 and whether a proxy stands in between",
                one_line(&why.to_string(), 200)
            ),
            _ => format!("TLS with {name} failed: {}", one_line(&error.to_string(), 200)),
        }
    }

    /// Points at the proxy, if one is set: then it may be the proxy that was not reached.
    fn proxy_hint(&self) -> String {
        self.proxy().map(|(variable, _)| format!(", and the proxy in {variable}")).unwrap_or_default()
    }

    /// The variable that names a proxy, and its value, if there is one for this host.
    fn proxy(&self) -> Option<(&'static str, String)> {
        let variables = if self.wants_tls { TLS_PROXIES } else { PLAIN_PROXIES };
        let value = |name| Some((name, env::var(name).ok().filter(|value| !value.is_empty())?));
        variables.into_iter().find_map(value).filter(|_| !self.is_loopback)
    }
}

/// The error for a client that cannot be built: in practice, a system without certificates.
pub(super) fn no_client(error: &reqwest::Error) -> ProviderError {
    let message = format!(
        "TLS cannot be set up ({}); check that the system's certificates are installed (`ca-certificates`)",
        innermost(error)
    );
    ProviderError::new(ErrorKind::Tls, message)
}

/// Whether what was sent is not in the form in which it should be packed: compressed, or in chunks.
fn is_packing(error: &reqwest::Error, kind: io::ErrorKind) -> bool {
    let is_broken = matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    is_broken || (kind == io::ErrorKind::UnexpectedEof && !chain(error).any(|error| error.is::<hyper::Error>()))
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The source of an `io::Error` that wraps another error is that error's source, not itself.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

fn cause(error: &reqwest::Error) -> Cause<'_> {
    let mut found = Cause::Unknown;
    for error in chain(error) {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Cause::Tls(error);
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            found = Cause::Http(error);
        } else if let Some(error) = error.downcast_ref::<io::Error>() {
            found = Cause::Io(error.kind());
        } else if let Some(error) = error.downcast_ref::<TunnelError>() {
            return Cause::Tunnel(error);
        }
    }
    found
}

/// The last words of the chain: the closest to what happened.
fn innermost(error: &reqwest::Error) -> String {
    chain(error).last().map(|error| one_line(&error.to_string(), 200)).unwrap_or_default()
}
