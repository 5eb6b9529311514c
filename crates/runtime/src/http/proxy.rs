//! Which proxy a request goes through.
//!
//! A request must not go past a proxy that the user has set, so the variables are read here and the client is told what
//! came out: it would ignore a value that it cannot use.

use std::{env, fmt};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use flemma_provider::{ErrorKind, ProviderError, host};

/// The variables that name a proxy for `https` and for `http`. The first that is not empty counts.
const TLS_PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const PLAIN_PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Those that name the hosts without one.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The kinds of proxies that there are.
const KINDS: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// The way to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Direct,
    /// As the system's settings have it, where no variable does.
    System,
    Proxy(Proxy),
}

/// A proxy.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    pub variable: &'static str,
    pub url: Url,
}

impl Route {
    /// The way to the host of `url`.
    ///
    /// # Errors
    /// The variable whose value is not a proxy, and what to write.
    pub fn to(url: &Url) -> Result<Self, ProviderError> {
        let first = |names: &[&'static str]| {
            names.iter().find_map(|name| Some((*name, env::var(name).ok().filter(|value| !value.trim().is_empty())?)))
        };
        let variables = if url.scheme() == "https" { TLS_PROXIES } else { PLAIN_PROXIES };
        let exceptions = first(&EXCEPTIONS).map(|(_, list)| exceptions(&list, url.port_or_known_default()));
        let goes_through = |proxy: &str, exceptions: String| {
            let matcher = Matcher::builder().all(proxy).no(exceptions).build();
            url.as_str().parse().is_ok_and(|url| matcher.intercept(&url).is_some())
        };
        if url.host_str().is_none_or(host::is_loopback) || !goes_through("http://proxy", exceptions.unwrap_or_default())
        {
            return Ok(Self::Direct);
        }
        let Some((variable, value)) = first(&variables) else { return Ok(Self::System) };
        // The value may have a password in it.
        let refuse = |why: String| Err(ProviderError::new(ErrorKind::Options, format!("{variable} {why}")));
        let value = value.trim();
        let kind = value.split_once("://").map(|(kind, _)| kind.to_ascii_lowercase());
        if let Some(kind) = kind.as_ref().filter(|kind| !KINDS.contains(&kind.as_str())) {
            let kinds = KINDS.map(|kind| format!("{kind}://")).join(", ");
            return refuse(format!(
                "names a proxy of an unknown kind, `{kind}://`; write one of {kinds}, as in socks5h://localhost:1080"
            ));
        }
        let proxy = Url::parse(&if kind.is_some() { value.to_owned() } else { format!("http://{value}") });
        let is_usable = |proxy: &Url| {
            ["", "/"].contains(&proxy.path()) && proxy.has_host() && goes_through(proxy.as_str(), String::new())
        };
        match proxy.ok().filter(is_usable) {
            Some(url) => Ok(Self::Proxy(Proxy { variable, url })),
            None => refuse(
                "is not the address of a proxy; write it as in http://user:password@proxy.example:3128, or unset it"
                    .to_owned(),
            ),
        }
    }

    /// The proxy, if one is set.
    pub fn proxy(&self) -> Option<&Proxy> {
        if let Self::Proxy(proxy) = self { Some(proxy) } else { None }
    }
}

/// Leaves out the password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy {}", self.url.host_str().unwrap_or_default())?;
        self.url.port().map_or(Ok(()), |port| write!(f, ":{port}"))?;
        write!(f, " in {}", self.variable)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The exceptions for requests to a port, as hyper-util reads them: it knows no `*.` and no port.
fn exceptions(list: &str, port: Option<u16>) -> String {
    let plain = |entry: &'_ str| {
        let entry = entry.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(entry);
        // An address of IPv6 without brackets has no port.
        let with_port = entry.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
        let (host, of) = with_port.map_or((entry, None), |(host, of)| (host, Some(of)));
        let is_meant = of.is_none_or(|of| port.is_some_and(|port| of.parse() == Ok(port)));
        is_meant.then(|| host.trim_matches(['[', ']']).to_owned())
    };
    list.split(|c: char| c == ',' || c.is_whitespace()).filter_map(plain).collect::<Vec<_>>().join(",")
}
