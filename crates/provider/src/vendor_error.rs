//! Every way in which a vendor says no, as one line for the user.
//!
//! An error comes as a response with its own status, whose body is the vendor's JSON, a gateway's web
//! page, plain text or nothing; or as an event in the middle of a stream. Where the vendor names a kind of
//! error that its [`Vendor`] knows, that decides; otherwise the status does. What the vendor wrote is passed
//! on, because it knows best, with every secret taken out should it be quoted.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value;
use url::form_urlencoded;

use super::{
    ErrorKind, ErrorResponse, ProviderError,
    auth::Key,
    connection::shown_url,
    context_overflow::context_overflow,
    headers::Headers,
    redact::{Redaction, SHORTEST, is_secret, redact},
    refusal::{Optional, Refusal},
    reply::{items, str_of},
    vendor::Vendor,
};
use flemma_text::one_line;

/// The most characters of the vendor's own words in a message.
const MAX_WORDS: usize = 400;

/// What a headline is made of.
pub(super) struct Facts<'a> {
    pub host: &'a str,
    /// The key, and where it came from.
    pub key: &'a str,
    /// The status, or the vendor's name for the error.
    pub code: &'a str,
    /// The project and its location, where requests are about one.
    pub scope: &'a (String, String),
}

/// What is wrong, as far as it changes what the user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VendorFailure {
    /// No key, or a wrong one.
    Key,
    /// The key may not do this.
    Forbidden,
    /// The account has no credit left: waiting does not help.
    Credit,
    /// Too many requests.
    RateLimit,
    Overloaded,
    Server,
    Timeout,
    /// The conversation has more tokens than the model reads.
    Overflow,
    /// The body has too many bytes.
    TooLarge,
    /// No such model, or no such address.
    NotFound,
    Redirect,
    /// Anything else that is wrong with the request.
    Refused,
}

impl VendorFailure {
    fn kind(self) -> ErrorKind {
        match self {
            Self::Key | Self::Forbidden => ErrorKind::Authentication,
            Self::RateLimit => ErrorKind::RateLimited,
            Self::Overloaded => ErrorKind::Overloaded,
            Self::Server => ErrorKind::Server,
            Self::Timeout => ErrorKind::Timeout,
            Self::Credit | Self::Overflow | Self::TooLarge | Self::NotFound | Self::Redirect | Self::Refused => {
                ErrorKind::InvalidRequest
            }
        }
    }

    fn of_status(status: Option<u16>) -> Self {
        match status {
            Some(401) => Self::Key,
            Some(402) => Self::Credit,
            Some(403) => Self::Forbidden,
            Some(404) => Self::NotFound,
            Some(408) => Self::Timeout,
            Some(413) => Self::TooLarge,
            // What is not implemented will not be in a moment.
            Some(501) => Self::Refused,
            Some(429) => Self::RateLimit,
            Some(503 | 529) => Self::Overloaded,
            Some(300..=399) => Self::Redirect,
            Some(400..=499) => Self::Refused,
            _ => Self::Server,
        }
    }
}

/// The other side of one request: an endpoint, and the key for it.
pub(super) struct Peer {
    pub vendor: &'static Vendor,
    /// The absolute URL.
    pub url: String,
    /// The host, with its port if it is not the usual one, for messages.
    pub host: String,
    pub key: Option<Key>,
    /// The headers that the user adds.
    pub headers: Headers,
    /// The project and its location, where requests are about one.
    pub scope: (String, String),
    /// What the request can do without.
    pub optional: Optional,
}

/// What an error's body or event says.
#[derive(Default)]
struct ErrorBody {
    /// The vendor's names for the error, the most precise one first, and for what it is about; empty if it is not the
    /// vendor's JSON.
    names: Vec<String>,
    /// The words.
    message: String,
    request_id: Option<String>,
    /// A status in the body: that is how gateways pass on another server's.
    status: Option<u16>,
    /// Tokens of the request and tokens that the model reads, where the body has fields for them.
    tokens: Option<(u64, u64)>,
    /// Seconds to wait.
    retry_after: Option<f64>,
}

impl Peer {
    /// The error for a response whose status is not a success.
    pub fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        let mut said = read_body(&response.body);
        said.request_id = response.request_id.clone().or(said.request_id);
        said.retry_after = response.retry_after.or(said.retry_after);
        self.explain(Some(response.status), &said)
    }

    /// The error for an event that says so in the middle of a stream.
    pub fn interrupt(&self, event: &Value) -> ProviderError {
        self.explain(None, &read_json(event))
    }

    /// The error for a connection that closed too early; `when` ends the sentence.
    pub fn closed(&self, when: &str) -> ProviderError {
        ProviderError::new(ErrorKind::Interrupted, format!("{}: the connection closed {when}", self.host))
    }

    /// The error for a reply in another protocol.
    pub fn speaks(&self, what: &str) -> ProviderError {
        ProviderError::new(ErrorKind::InvalidRequest, format!("{} answers in {what}", self.host))
    }

    /// A malformed event: says what is wrong with it and shows its beginning, if there is any.
    pub fn malformed(&self, what: &str, data: &str) -> ProviderError {
        // What is wrong may hold what was sent.
        let (what, excerpt) = (self.quote(what, 120), self.quote(data, 80));
        let place = if excerpt.is_empty() { excerpt } else { format!(" in `{excerpt}`") };
        let message = format!("{} sent an invalid response: {what}{place}", self.host);
        ProviderError::new(ErrorKind::Malformed, message)
    }

    /// The error for a prompt that is not answered at all.
    pub fn block(&self, reason: &str, words: &str) -> ProviderError {
        let (reason, words) = (self.quote(reason, 40), self.quote(words, MAX_WORDS));
        let words = if words.is_empty() { words } else { format!(": {words}") };
        let message = format!("{} blocked the conversation ({reason}){words}", self.host);
        ProviderError::new(ErrorKind::InvalidRequest, message)
    }

    /// What a server may quote and no message may show: the key, the values of the user's headers, and secrets in the
    /// query of the address.
    fn secrets(&self) -> impl Iterator<Item = (Cow<'_, str>, Redaction)> {
        let key = self.key.iter().map(|key| (key.expose().into(), Redaction::Parts));
        let headers = self.headers.iter().map(|(name, value)| (value.into(), Redaction::of_header(name)));
        let query = self.url.split_once('?').map_or("", |(_, query)| query);
        let query = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| is_secret(name));
        let query = query.map(|(_, value)| (value, Redaction::Parts));
        key.chain(headers).chain(query).filter(|(value, _)| value.len() >= SHORTEST)
    }

    /// The first `limit` characters of foreign text on one line, without secrets.
    pub fn quote(&self, text: &str, limit: usize) -> String {
        let safe = self.secrets().fold(text.to_owned(), |text, (secret, hide)| redact(&text, &secret, hide));
        one_line(&safe, limit)
    }

    fn explain(&self, status: Option<u16>, said: &ErrorBody) -> ProviderError {
        let status = status.or(said.status);
        let over = context_overflow(&said.message, said.tokens);
        let mut failure = self.failure(status, said);
        if over.is_some() && failure.kind() == ErrorKind::InvalidRequest {
            failure = VendorFailure::Overflow;
        }
        let is_ours = failure.kind() == ErrorKind::InvalidRequest;
        let advice = self.optional.advice(&said.message, &said.names).filter(|_| is_ours && over.is_none());
        let may_be_a_part = matches!(failure, VendorFailure::Refused | VendorFailure::NotFound);
        let refused = self.optional.refused(&said.message, &said.names).filter(|_| may_be_a_part);
        let refused = refused.map(|refused| refused.or_other(&said.message.to_ascii_lowercase()));
        if may_be_a_part && (advice.is_some() || refused.is_some()) {
            failure = VendorFailure::Refused;
        }
        let mut message = self.headline(failure, status, said, over.flatten());
        if failure == VendorFailure::NotFound {
            let _ = write!(message, " (requested: {})", self.quote(&shown_url(&self.url), MAX_WORDS));
        }
        if let Some(sentence) = refused.as_ref().map(Refusal::sentence).or(advice) {
            let _ = write!(message, "; {sentence}");
        }
        let is_busy = matches!(failure, VendorFailure::RateLimit | VendorFailure::Overloaded);
        if let Some(seconds) = said.retry_after.filter(|_| is_busy) {
            let _ = write!(message, "; it asks to wait {seconds} s");
        }
        let words = self.quote(&said.message, MAX_WORDS);
        if !words.is_empty() {
            let _ = write!(message, ": {words}");
        }
        if let Some(id) = &said.request_id {
            let _ = write!(message, " [request {}]", self.quote(id, 80));
        }
        ProviderError { retry_after: said.retry_after, refused, ..ProviderError::new(failure.kind(), message) }
    }

    fn failure(&self, status: Option<u16>, said: &ErrorBody) -> VendorFailure {
        let of_status = VendorFailure::of_status(status);
        let status = status.map(|status| status.to_string());
        match said.names.iter().chain(&status).find_map(|name| (self.vendor.failure)(name)).unwrap_or(of_status) {
            // The status says more than "invalid request".
            VendorFailure::Refused if of_status.kind() == ErrorKind::InvalidRequest => of_status,
            VendorFailure::Server if is_lasting(&said.message) => VendorFailure::Refused,
            failure => failure,
        }
    }

    /// What happened and, where there is one, the fix. `over` are the tokens that are too many.
    fn headline(&self, failure: VendorFailure, status: Option<u16>, said: &ErrorBody, over: Option<u64>) -> String {
        let (host, Vendor { name, key_word, key_variable, .. }) = (&self.host, self.vendor);
        let code = match (status, said.names.first()) {
            (Some(status), _) => status.to_string(),
            (None, Some(name)) => self.quote(name, 40),
            (None, None) => "error event".to_owned(),
        };
        let key = match &self.key {
            Some(key) => format!("the {key_word} {}", key.origin()),
            None => format!("the headers in `parameters.{name}.headers`"),
        };
        let facts = Facts { host, key: &key, code: &code, scope: &self.scope };
        (self.vendor.headline)(failure, &facts).unwrap_or_else(|| match failure {
            VendorFailure::Key if !self.secrets().any(|(_, hide)| hide == Redaction::Parts) && self.key.is_none() => {
                format!("set {key_variable}: {host} requires a key ({code})")
            }
            VendorFailure::Key => format!("check {key}: not accepted by {host} ({code})"),
            VendorFailure::Forbidden => format!("{host} does not allow this with {key} ({code})"),
            VendorFailure::Credit => format!(
                "{host} refused the request because the account has no credit ({code}); check its balance and limits"
            ),
            VendorFailure::RateLimit => format!("{host} received too many requests ({code})"),
            VendorFailure::Overloaded => format!("{host} is overloaded ({code})"),
            VendorFailure::Server => format!("{host} failed ({code})"),
            VendorFailure::Timeout => format!("{host} timed out ({code})"),
            VendorFailure::Redirect => format!(
                "{host} answered with a redirect ({code}), which is not followed because it would send the {key_word} \
                 to another address; set `parameters.{name}.base_url` to the final address"
            ),
            VendorFailure::NotFound => {
                format!("{host} has no such model or address ({code}); check `model` and `parameters.{name}.base_url`")
            }
            VendorFailure::TooLarge => format!("the conversation is too large for {host} ({code}); shorten it"),
            VendorFailure::Overflow => {
                let tokens = over.map(|over| format!("{over} tokens ")).unwrap_or_default();
                format!("the conversation is {tokens}too long for the model ({host}: {code}); shorten it")
            }
            VendorFailure::Refused => format!("{host} refused the request ({code})"),
        })
    }
}

/// What servers write that call everything a failure of theirs (llama.cpp's 500 most of all) and mean that they cannot
/// do what is asked: show an image to a model without eyes, or tools to a template without a place for them.
const LASTING: [&str; 7] =
    ["not support", "n't support", "unsupported", "not implemented", "requires --", "mmproj", "chat template"];

/// Whether a failure will be the same each time the request is sent.
fn is_lasting(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    LASTING.iter().any(|sign| words.contains(sign)) || (words.contains("requires") && words.contains("--jinja"))
}

/// What a body says, whether the vendor or a gateway wrote it.
fn read_body(body: &[u8]) -> ErrorBody {
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        return read_json(&json);
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let message = match title(text) {
        _ if !text.starts_with('<') => text.to_owned(),
        Some(title) => format!("a web page, \"{title}\""),
        None => "a web page".to_owned(),
    };
    ErrorBody { message, ..ErrorBody::default() }
}

/// The vendors' `{"error": {"type", "code", "message"}, "request_id"}`, perhaps in a list of one, the same without the
/// `error` around it, or what gateways write in its place. Google's has `status` for the name of the error, and
/// `details` about what was wrong with which field (`BadRequest`) and how long to wait (`RetryInfo`).
fn read_json(json: &Value) -> ErrorBody {
    let json = json.get(0).unwrap_or(json);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let error = json.get("error").filter(|error| !error.is_null());
    let inner = error.unwrap_or(json);
    let mut message = text(inner.get("message"))
        .or_else(|| text(error))
        .or_else(|| text(json.get("message")))
        .or_else(|| text(json.get("detail")))
        .or_else(|| text(Some(json)))
        .unwrap_or_else(|| json.to_string());
    // OpenRouter passes on the words of the model's host in here.
    if let Some(raw) = text(inner.pointer("/metadata/raw")).filter(|raw| !message.contains(raw.as_str())) {
        let _ = write!(message, " ({raw})");
    }
    // Groq shows what the model wrote that is no call.
    if let Some(written) = text(inner.get("failed_generation")).filter(|written| !written.is_empty()) {
        let _ = write!(message, " (the model wrote: {written})");
    }
    let details = items(inner, "details");
    for violation in details.iter().filter_map(|detail| detail.get("fieldViolations")?.as_array()).flatten() {
        let (field, words) = (str_of(violation, "field"), str_of(violation, "description"));
        // The message often holds them already.
        if !words.is_empty() && !message.contains(words) {
            let _ = write!(message, "; {field}: {words}");
        }
    }
    let number = |field| inner.get(field).and_then(Value::as_u64);
    ErrorBody {
        names: ["code", "type", "status", "param"].into_iter().filter_map(|field| text(inner.get(field))).collect(),
        message,
        request_id: text(json.get("request_id")),
        status: number("code").and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)),
        // As llama.cpp's server has it (https://github.com/ggml-org/llama.cpp/pull/15780).
        tokens: number("n_prompt_tokens").zip(number("n_ctx")),
        retry_after: details.iter().find_map(|detail| seconds(str_of(detail, "retryDelay"))),
    }
}

/// A `google.protobuf.Duration` in JSON, as `34.5s`, in seconds.
fn seconds(text: &str) -> Option<f64> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Some(seconds).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

/// The title of a web page.
fn title(html: &str) -> Option<&str> {
    // Lower-casing ASCII moves no byte: places found in one are places in the other.
    let lower = html.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    Some(html[start..end].trim()).filter(|title| !title.is_empty())
}
