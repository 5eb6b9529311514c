//! Every way in which the API says no, as one line for the user.
//!
//! An error comes as a response with its own status, whose body is the vendor's JSON, a gateway's web
//! page, plain text or nothing; or as an `error` event in the middle of a stream. Both name a type; where
//! they do not, the status decides. What the vendor wrote is passed on, because it knows best ("prompt
//! is too long: 213462 tokens > 200000 maximum"), with the key taken out should it be quoted.

use std::fmt::Write as _;

use serde_json::Value;

use super::KEY_VARIABLE;
use crate::provider::{ErrorKind, ErrorResponse, ProviderError, auth::Key, one_line};

/// The most characters of the vendor's own words in a message.
const MAX_WORDS: usize = 400;

/// Who we talk to.
pub(super) struct Peer {
    /// The host, for messages.
    pub host: String,
    /// The key, to keep it out of them.
    pub key: Key,
}

/// What an error's body or event says.
#[derive(Default)]
struct Said {
    /// The vendor's type of error; empty if it is not the vendor's JSON.
    kind: String,
    /// The words.
    message: String,
    request_id: Option<String>,
}

impl Peer {
    /// The error for a response whose status is no success.
    pub fn refuse(&self, response: &ErrorResponse) -> ProviderError {
        let mut said = read_body(&response.body);
        said.request_id = response.request_id.clone().or(said.request_id);
        self.explain(Some(response.status), response.retry_after, &said)
    }

    /// The error for an `error` event.
    pub fn interrupt(&self, event: &Value) -> ProviderError {
        self.explain(None, None, &read_json(event))
    }

    /// A malformed event: says what is wrong with it and shows its beginning.
    pub fn malformed(&self, what: &str, data: &str) -> ProviderError {
        let excerpt = self.quote(data, 80);
        let message = format!("{} sent something that is not its protocol: {what} in `{excerpt}`", self.host);
        ProviderError::new(ErrorKind::Malformed, message)
    }

    /// The first `limit` characters of foreign text on one line, without the key.
    fn quote(&self, text: &str, limit: usize) -> String {
        one_line(&self.key.redact(text), limit)
    }

    fn explain(&self, status: Option<u16>, retry_after: Option<f64>, said: &Said) -> ProviderError {
        let kind = kind(&said.kind, status);
        let mut message = self.headline(kind, status, &said.kind);
        if let Some(seconds) = retry_after.filter(|_| matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded)) {
            let _ = write!(message, "; it asks to wait {seconds} s");
        }
        let words = self.quote(&said.message, MAX_WORDS);
        if !words.is_empty() {
            let _ = write!(message, ": {words}");
        }
        if let Some(id) = &said.request_id {
            let _ = write!(message, " [request {}]", self.quote(id, 80));
        }
        ProviderError { kind, message, retry_after }
    }

    /// What happened and, where there is one, the mend.
    fn headline(&self, kind: ErrorKind, status: Option<u16>, name: &str) -> String {
        let host = &self.host;
        let code = match status {
            Some(status) => status.to_string(),
            None if name.is_empty() => "error event".to_owned(),
            None => self.quote(name, 40),
        };
        match (kind, status) {
            (ErrorKind::Authentication, _) if name == "permission_error" || status == Some(403) => {
                format!("{host} does not allow this with the key in {KEY_VARIABLE} ({code})")
            }
            (ErrorKind::Authentication, _) => {
                format!("{host} does not accept the key in {KEY_VARIABLE} ({code})")
            }
            (ErrorKind::RateLimited, _) => format!("{host} has had too many requests ({code})"),
            (ErrorKind::Overloaded, _) => format!("{host} is overloaded ({code})"),
            (ErrorKind::Server, _) => format!("{host} failed ({code})"),
            (ErrorKind::Timeout, _) => format!("{host} gave up on the request ({code})"),
            (_, Some(300..=399)) => format!(
                "{host} answered with a redirect ({code}), which is not followed because it would carry the key \
                 elsewhere; set `parameters.anthropic.base_url` to the final address"
            ),
            (_, Some(404)) => format!(
                "{host} knows no such model or address ({code}); check `model` and `parameters.anthropic.base_url`"
            ),
            _ if name == "request_too_large" || status == Some(413) => {
                format!("the conversation is too large for {host} ({code}); shorten it")
            }
            _ => format!("{host} refused the request ({code})"),
        }
    }
}

/// The kind of failure: the vendor's type where it is one we know, the status otherwise.
fn kind(name: &str, status: Option<u16>) -> ErrorKind {
    match name {
        "authentication_error" | "permission_error" => ErrorKind::Authentication,
        "invalid_request_error" | "not_found_error" | "request_too_large" | "billing_error" => {
            ErrorKind::InvalidRequest
        }
        "rate_limit_error" => ErrorKind::RateLimited,
        "overloaded_error" => ErrorKind::Overloaded,
        "timeout_error" => ErrorKind::Timeout,
        "api_error" => ErrorKind::Server,
        _ => match status {
            Some(401 | 403) => ErrorKind::Authentication,
            Some(408) => ErrorKind::Timeout,
            Some(429) => ErrorKind::RateLimited,
            Some(503 | 529) => ErrorKind::Overloaded,
            Some(300..=499) => ErrorKind::InvalidRequest,
            _ => ErrorKind::Server,
        },
    }
}

/// What a body says, whoever wrote it.
fn read_body(body: &[u8]) -> Said {
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        return read_json(&json);
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let message = if text.starts_with('<') {
        match title(text) {
            Some(title) => format!("a web page, \"{title}\""),
            None => "a web page".to_owned(),
        }
    } else {
        text.to_owned()
    };
    Said { message, ..Said::default() }
}

/// The vendor's `{"error": {"type", "message"}, "request_id"}`, or what gateways write in its place.
fn read_json(json: &Value) -> Said {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let error = json.get("error");
    let message = text(error.and_then(|error| error.get("message")))
        .or_else(|| text(error))
        .or_else(|| text(json.get("message")))
        .or_else(|| text(json.get("detail")))
        .or_else(|| text(Some(json)))
        .unwrap_or_else(|| json.to_string());
    Said {
        kind: text(error.and_then(|error| error.get("type"))).unwrap_or_default(),
        message,
        request_id: text(json.get("request_id")),
    }
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
