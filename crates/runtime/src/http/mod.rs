//! Performs one HTTP request of a provider and feeds its streamed response to the decoder.
//!
//! The flow: connect, send, wait for the status; a status that is not a success goes to the decoder as a
//! whole and comes back as an error; otherwise every chunk goes to the decoder, and the events that it
//! completes go to the sink at once. Each stage has its own limit of silence. Dropping the future
//! cancels the request and closes its connection.
//!
//! Redirects are not followed: the headers carry a key, and the API has none.

mod failure;
mod plain;
mod proxy;
mod reading;

use std::{
    collections::HashSet,
    sync::Mutex,
    time::{Duration, SystemTime},
};

use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect,
};
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use self::reading::Reading;

use self::{failure::HttpPeer, proxy::Route};
use super::disk::lock;
use flemma_config::ProviderOptions;
use flemma_model::Event;
use flemma_provider::{ErrorResponse, HttpRequest, ProviderError};

/// The most that is read of the body of an error.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The most that is read of an answer that is not a stream.
const MAX_ANSWER: usize = 1024 * 1024;

/// How long the body of an error may take: its status alone is worth showing.
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// How long the end of a stream may take after the reply is complete. Reading it lets the next request
/// of the conversation have the same connection.
const END_TIME: Duration = Duration::from_millis(100);

/// How long a count may still take after the server has said why the reply ends. Some send none and leave the connection open.
const COUNT_TIME: Duration = Duration::from_secs(3);

/// How long a server of the user's own may take for TLS before it is found out whether it speaks any.
const TLS_TIME: Duration = Duration::from_secs(2);

/// How often a connection is asked whether it still lives while a reply is awaited: one that died in a
/// suspended laptop is found out long before the reply counts as late.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// How long it has for its answer.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How long each stage may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established, TLS included.
    pub connect: Duration,
    /// From there to the response's status.
    pub first_byte: Duration,
    /// Between two pieces of the response.
    pub idle: Duration,
}

impl Timeouts {
    /// The timeouts that the options of a provider set.
    pub fn of(options: &ProviderOptions) -> Self {
        Self { connect: options.connect_timeout, first_byte: options.timeout, idle: options.timeout }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: Duration::from_secs(120), idle: Duration::from_secs(120) }
    }
}

/// Performs requests. Keep one: it holds the connections that the next request may reuse.
#[derive(Debug, Default)]
pub struct Http {
    /// The client and what it was built for. It is built at the first request, because reading the
    /// system's certificates takes a while, and again when the settings change.
    client: Mutex<Option<(ClientSettings, Client)>>,
    /// The servers that have answered, so that it is known what they speak.
    answered: Mutex<HashSet<String>>,
}

/// What a client cannot change later.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClientSettings {
    connect_timeout: Duration,
    route: Route,
}

impl Http {
    /// Sends `request` and feeds the response to `reading`. Must run on a tokio runtime with I/O and time. An error of the sink
    /// ends the exchange.
    ///
    /// # Errors
    /// One line for the user that names the host, and what to check. The events that came before the
    /// error have been given to the sink. The message holds no query, header or key.
    pub async fn perform<S: FnMut(Event) -> Result<(), ProviderError>>(
        &self,
        request: HttpRequest,
        reading: &Mutex<Reading<S>>,
        timeouts: Timeouts,
    ) -> Result<(), ProviderError> {
        let (peer, response) = self.send(request, timeouts).await?;
        let mut response = match response {
            Ok(response) => response,
            Err(refusal) => return Err(lock(reading).decoder.decode_error(&refusal)),
        };
        // Until when a count is waited for, once the reply may end. Keep-alive comments do not put it off.
        let mut end = None;
        loop {
            let idle = Instant::now() + timeouts.idle;
            let chunk = timeout_at(end.map_or(idle, |end: Instant| end.min(idle)), response.chunk()).await;
            let mut reading = lock(reading);
            let brought = match chunk {
                Ok(Ok(Some(bytes))) => reading.feed(&bytes)?,
                Ok(Ok(None)) => return reading.end(None),
                Ok(Err(error)) => return reading.end(Some(peer.during_reply(&error))),
                Err(_) => {
                    let what = "stopped in the middle of the reply and sent nothing for";
                    let has_begun = reading.has_begun;
                    let late = if has_begun { peer.silent(what, timeouts.idle) } else { peer.no_answer(timeouts.idle) };
                    return reading.end(Some(late));
                }
            };
            if reading.is_over {
                break;
            }
            end = end.filter(|_| !brought).or_else(|| reading.decoder.may_end().then(|| Instant::now() + COUNT_TIME));
        }
        // The reply is complete, so an error of the connection no longer matters.
        let _ = timeout(END_TIME, async { while let Ok(Some(_)) = response.chunk().await {} }).await;
        Ok(())
    }

    /// Sends `request` and returns the whole of a short answer, or the response whose status is not a success. Must run
    /// on a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// One line for the user that names the host, and what to check. The message holds no query, header or key.
    pub async fn fetch(
        &self,
        request: &HttpRequest,
        timeouts: Timeouts,
    ) -> Result<Result<Vec<u8>, ErrorResponse>, ProviderError> {
        let (peer, response) = self.send(request.clone(), timeouts).await?;
        let mut response = match response {
            Ok(response) => response,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let late = |_| peer.silent("stopped in the middle of the answer and sent nothing for", timeouts.idle);
        let mut body = Vec::new();
        loop {
            match timeout(timeouts.idle, response.chunk()).await.map_err(late)? {
                Ok(Some(bytes)) if body.len() + bytes.len() <= MAX_ANSWER => body.extend_from_slice(&bytes),
                Ok(Some(_)) => return Err(peer.too_long(MAX_ANSWER)),
                Ok(None) => return Ok(Ok(body)),
                Err(error) => return Err(peer.during_reply(&error)),
            }
        }
    }

    /// Sends `request` and waits for the status. Whatever is in between and answers with a web page is an error.
    async fn send(
        &self,
        request: HttpRequest,
        timeouts: Timeouts,
    ) -> Result<(HttpPeer, Result<Response, ErrorResponse>), ProviderError> {
        let (peer, request) = build(request)?;
        let client = self.client(ClientSettings { connect_timeout: timeouts.connect, route: peer.route.clone() })?;
        let asked = timeout(timeouts.connect + timeouts.first_byte, client.execute(request));
        let response = tokio::select! {
            response = asked => response,
            () = self.until_plain_http(&peer) => return Err(peer.plain_http()),
        };
        let response = match response {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() && self.is_plain_http(&peer).await => return Err(peer.plain_http()),
            Ok(Err(error)) => return Err(peer.before_reply(&error, timeouts.connect)),
            Err(_) => return Err(peer.no_answer(timeouts.first_byte)),
        };
        if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && let Some(error) = peer.unknown_to_proxy()
        {
            return Err(error);
        }
        lock(&self.answered).insert(peer.name.clone());
        if !response.status().is_success() {
            return Ok((peer, Err(error_response(response).await)));
        }
        if is_web_page(&response) { Err(peer.web_page()) } else { Ok((peer, Ok(response))) }
    }

    /// Comes back only for a server of the user's own that should speak TLS, has taken a while, and speaks plain HTTP.
    async fn until_plain_http(&self, peer: &HttpPeer) {
        if peer.is_own && peer.wants_tls && !lock(&self.answered).contains(peer.name.as_str()) {
            sleep(TLS_TIME).await;
            if self.is_plain_http(peer).await {
                return;
            }
        }
        std::future::pending().await
    }

    /// Whether a server that should speak TLS speaks plain HTTP. Behind a proxy no server is asked.
    async fn is_plain_http(&self, peer: &HttpPeer) -> bool {
        match peer.direct_address().filter(|_| peer.wants_tls) {
            Some((host, port)) => plain::speaks_plain_http(host, port).await,
            None => false,
        }
    }

    fn client(&self, settings: ClientSettings) -> Result<Client, ProviderError> {
        let mut slot = lock(&self.client);
        if let Some((built_for, client)) = &*slot
            && *built_for == settings
        {
            return Ok(client.clone());
        }
        // ring is the process's cryptography. Other code may have chosen already; that is fine as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .connect_timeout(settings.connect_timeout)
            .redirect(redirect::Policy::none())
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT);
        builder = match &settings.route {
            Route::Direct => builder.no_proxy(),
            Route::System => builder,
            Route::Proxy(proxy) => {
                builder.proxy(reqwest::Proxy::all(proxy.url.clone()).map_err(|error| failure::no_client(&error))?)
            }
        };
        let client = builder.build().map_err(|error| failure::no_client(&error))?;
        *slot = Some((settings, client.clone()));
        Ok(client)
    }
}

fn build(request: HttpRequest) -> Result<(HttpPeer, reqwest::Request), ProviderError> {
    // A provider checks what the user configured; what is wrong here is ours.
    let bug = |what: &str| ProviderError::bug(format!("{what} of the request cannot be sent"));
    let url = Url::parse(&request.url).map_err(|_| bug("the address"))?;
    let peer = HttpPeer::of(&url)?;
    let mut headers = HeaderMap::with_capacity(request.headers.len());
    for (name, value) in request.headers {
        let mut value = HeaderValue::try_from(value).map_err(|_| bug(&format!("the header `{name}`")))?;
        // Only the provider knows which of them is a secret: none of them is ever printed.
        value.set_sensitive(true);
        let name = HeaderName::try_from(&*name).map_err(|_| bug("the name of a header"))?;
        headers.insert(name, value);
    }
    let has_body = !request.body.is_empty();
    let mut built = reqwest::Request::new(if has_body { Method::POST } else { Method::GET }, url);
    *built.headers_mut() = headers;
    *built.body_mut() = has_body.then(|| request.body.into());
    Ok((peer, built))
}

/// Whether something in between (a hotspot's login page, a gateway) answered instead of the API.
fn is_web_page(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

async fn error_response(mut response: Response) -> ErrorResponse {
    let headers = response.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let number = |name: &str| seconds_to_wait(&text(name)?, SystemTime::now());
    // The vendors' own SDKs take this one first.
    let precise = number("retry-after-ms").map(|milliseconds| milliseconds / 1000.0);
    let retry_after = precise.or_else(|| number(RETRY_AFTER.as_str()));
    let request_id = text("request-id").or_else(|| text("x-request-id"));
    let status = response.status().as_u16();
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() >= MAX_ERROR_BODY {
                body.truncate(MAX_ERROR_BODY);
                break;
            }
        }
    };
    // Too slow or cut short: what has come will do.
    let _ = timeout(ERROR_BODY_TIME, read).await;
    ErrorResponse { status, retry_after, request_id, body }
}

/// The value of `retry-after` (RFC 9110, 10.2.3) in seconds: a number, or a date.
fn seconds_to_wait(value: &str, now: SystemTime) -> Option<f64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Some(seconds).filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).map_or(0.0, |wait| wait.as_secs_f64().ceil()))
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
