//! What went wrong on the way, in words that say what to check.
//!
//! reqwest's own messages name the whole URL and stop at "error sending request". The cause is
//! somewhere down the chain of sources: an `io::Error`, a `rustls::Error` (inside an `io::Error`), a
//! `hyper::Error`. The deepest one that is known decides.

use std::{error::Error, io, time::Duration};

use hyper_util::client::legacy::connect::{HttpConnector, proxy::Tunnel};
use reqwest::Url;
use tower_service::Service;

use super::proxy::{Proxy, Route};
use flemma_provider::{ErrorKind, ProviderError, host};
use flemma_text::one_line;

/// How often a request is sent to a server of the user's own that does not answer in time.
const ATTEMPTS_AT_OWN_SERVER: u32 = 2;

/// The other side of a request.
pub(super) struct HttpPeer {
    /// The host, with its port if it is not the usual one.
    pub name: String,
    /// Whether it is a server in the user's own network.
    pub is_own: bool,
    /// Whether the address begins with `https`.
    pub wants_tls: bool,
    pub route: Route,
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
    /// The other side of a request to `url`.
    ///
    /// # Errors
    /// When it names no host, or the way there is not known.
    pub fn of(url: &Url) -> Result<Self, ProviderError> {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(ProviderError::bug("the address of the request cannot be sent"));
        };
        let name = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let (is_own, wants_tls) = (host::is_private(host), url.scheme() == "https");
        Ok(Self { name, is_own, wants_tls, route: Route::to(url)?, host: host.to_owned(), port })
    }

    /// Host and port, unless a proxy is in between.
    pub fn direct_address(&self) -> Option<(&str, u16)> {
        self.route.proxy().is_none().then_some((self.host.as_str(), self.port))
    }

    /// The error for a request that got no response. Where a proxy is in between, it is the proxy that was to be reached.
    pub fn before_reply(&self, error: &reqwest::Error, connect: Duration) -> ProviderError {
        let proxy = self.route.proxy().filter(|_| error.is_connect());
        let name = &proxy.map_or_else(|| self.name.clone(), Proxy::to_string);
        // What to check besides the network.
        let place = proxy.map_or("`base_url`", |proxy| proxy.variable);
        if error.is_connect() && error.is_timeout() {
            let hint = proxy.map(|_| format!(" and {place}")).unwrap_or_default();
            let message = format!(
                "no connection to {name} within {} s; check the network{hint} (the limit is `parameters.connect_timeout`)",
                connect.as_secs_f64(),
            );
            return self.worth_less(ProviderError::new(ErrorKind::Timeout, message));
        }
        let connection = |message: String| ProviderError::new(ErrorKind::Connection, message);
        if error.is_dns() {
            return connection(format!("the name of {name} cannot be resolved; check the network and {place}"));
        }
        match cause(error) {
            Cause::Tls(error) => ProviderError::new(ErrorKind::Tls, self.tls(error)),
            Cause::Http(error) if error.is_parse() => {
                let message = format!("{name} does not speak HTTP ({error}); check {place}");
                ProviderError::new(ErrorKind::Malformed, message)
            }
            Cause::Http(error) if error.is_incomplete_message() => {
                connection(format!("{name} closed the connection without an answer"))
            }
            Cause::Tunnel(why) => connection(self.unconnected(&why.to_string())),
            Cause::Io(io::ErrorKind::ConnectionRefused) => {
                connection(format!("{name} refused the connection; start it, or check {place}"))
            }
            Cause::Io(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
                connection(format!("{name} cannot be reached; check the network and {place}"))
            }
            Cause::Io(
                io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe,
            ) => connection(format!("{name} reset the connection without an answer")),
            Cause::Io(io::ErrorKind::UnexpectedEof) if error.is_connect() => {
                let name = &self.name;
                connection(format!("{name} closed the connection during the TLS handshake; check {place}"))
            }
            _ if proxy.is_some_and(|proxy| proxy.url.scheme().starts_with("socks")) => {
                connection(self.unconnected(&innermost(error)))
            }
            _ => connection(format!("no connection to {name}: {}", innermost(error))),
        }
    }

    fn unconnected(&self, why: &str) -> String {
        let proxy =
            self.route.proxy().map_or_else(|| "the proxy in the system's settings".to_owned(), Proxy::to_string);
        format!("{proxy} does not connect to {} ({why}); check the proxy", self.name)
    }

    /// The error for a proxy that answers in place of the server, because it does not know the user.
    pub fn unknown_to_proxy(&self) -> Option<ProviderError> {
        let proxy = self.route.proxy()?;
        let message =
            format!("{proxy} requires a name and a password (407); write them as in http://name:password@host");
        Some(ProviderError::new(ErrorKind::Options, message))
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
