//! Every way in which the API says no, as one line for the user.
//!
//! Google's error is `{"error": {"code", "message", "status", "details"}}`
//! (<https://cloud.google.com/apis/design/errors>), alone or in a list of one, as the response to a request or in the
//! middle of a stream; a gateway may answer with a web page, plain text or nothing. `status` names the kind; where it
//! is missing, the HTTP status decides. `details` may hold how long to wait (`RetryInfo`) and what was wrong with
//! which field (`BadRequest`). What the vendor wrote is passed on, with the token taken out should it be quoted.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    ErrorKind, ErrorResponse, Headers, ProviderError, auth::Key, context_overflow::context_overflow, secrets::Secrets,
    vendor_error::plain_words,
};

/// The most characters of the vendor's own words in a message.
const MAX_WORDS: usize = 600;

/// Who we talk to.
pub(super) struct VertexPeer {
    /// The host, for messages.
    pub host: String,
    /// The access token; none if the user's headers bring one.
    token: Option<Key>,
    /// The token, and the values of the user's headers.
    secrets: Secrets,
    /// The project that is asked for.
    project: String,
    /// The location that is asked.
    location: String,
}

/// What an error's body or event says.
#[derive(Default)]
struct ErrorBody {
    /// Google's name of the error, as `RESOURCE_EXHAUSTED`; empty if it is not Google's JSON.
    name: String,
    /// The HTTP status in the body.
    code: Option<u16>,
    message: String,
    retry_after: Option<f64>,
}

impl VertexPeer {
    /// The project's models at `host`.
    pub fn new(host: String, token: Option<Key>, headers: &Headers, project: String, location: String) -> Self {
        let secrets = Secrets::new(token.as_ref(), headers);
        Self { host, token, secrets, project, location }
    }

    /// The error for a response whose status is not a success.
    pub fn decode_error(&self, response: &ErrorResponse) -> ProviderError {
        let mut said = read_body(&response.body);
        said.retry_after = response.retry_after.or(said.retry_after);
        self.explain(Some(response.status), response.request_id.as_deref(), &said)
    }

    /// The error for an error in the stream.
    pub fn interrupt(&self, event: &Value) -> ProviderError {
        let said = read_json(event);
        self.explain(said.code, None, &said)
    }

    /// The error for a prompt that is not answered at all.
    pub fn block(&self, reason: &str, words: &str) -> ProviderError {
        let mut message = format!("{} blocked the conversation ({})", self.host, self.quote(reason, 40));
        let words = self.quote(words, MAX_WORDS);
        if !words.is_empty() {
            let _ = write!(message, ": {words}");
        }
        ProviderError::new(ErrorKind::InvalidRequest, message)
    }

    /// A malformed event: says what is wrong with it and shows its beginning.
    pub fn malformed(&self, what: &str, data: &str) -> ProviderError {
        // What is wrong may hold what was sent.
        let (what, excerpt) = (self.quote(what, 120), self.quote(data, 80));
        let message = format!("{} sent an invalid response: {what} in `{excerpt}`", self.host);
        ProviderError::new(ErrorKind::Malformed, message)
    }

    /// The first `limit` characters of foreign text on one line, without secrets.
    pub fn quote(&self, text: &str, limit: usize) -> String {
        self.secrets.quote(text, limit)
    }

    fn explain(&self, status: Option<u16>, request_id: Option<&str>, said: &ErrorBody) -> ProviderError {
        let kind = kind(&said.name, status);
        let over = context_overflow(&said.message, None).filter(|_| kind == ErrorKind::InvalidRequest);
        let mut message = match over {
            Some(Some(over)) => format!("the conversation is {over} tokens too long for the model"),
            Some(None) => "the conversation is too long for the model".to_owned(),
            None => self.headline(kind, status, &said.name),
        };
        if over.is_some() {
            let code = status.map_or_else(|| self.quote(&said.name, 40), |status| status.to_string());
            let _ = write!(message, " ({}: {code}); shorten it", self.host);
        }
        let retry_after = said.retry_after;
        if let Some(seconds) = retry_after.filter(|_| matches!(kind, ErrorKind::RateLimited | ErrorKind::Overloaded)) {
            let _ = write!(message, "; it asks to wait {seconds} s");
        }
        let words = self.quote(&said.message, MAX_WORDS);
        if !words.is_empty() {
            let _ = write!(message, ": {words}");
        }
        if let Some(id) = request_id {
            let _ = write!(message, " [request {}]", self.quote(id, 80));
        }
        ProviderError { retry_after, ..ProviderError::new(kind, message) }
    }

    /// What happened and, where there is one, the fix.
    fn headline(&self, kind: ErrorKind, status: Option<u16>, name: &str) -> String {
        let Self { host, project, location, .. } = self;
        let token = match &self.token {
            Some(token) => format!("the access token {}", token.origin()),
            None => "the headers in `parameters.vertex.headers`".to_owned(),
        };
        let code = match status {
            Some(status) => status.to_string(),
            None if name.is_empty() => "error event".to_owned(),
            None => self.quote(name, 40),
        };
        match (kind, status) {
            (ErrorKind::Authentication, _) if name == "PERMISSION_DENIED" || status == Some(403) => format!(
                "{host} does not allow this with {token} ({code}); check that the Vertex AI API is \
                 enabled in the project {project} and that the account has the role Vertex AI User there"
            ),
            (ErrorKind::Authentication, _) => {
                format!("{host} does not accept {token} ({code}); access tokens expire after an hour; get a new one")
            }
            (ErrorKind::RateLimited, _) => {
                format!("{host} has no quota left for this model in project {project}, location {location} ({code})")
            }
            (ErrorKind::Overloaded, _) => format!("{host} is overloaded ({code})"),
            (ErrorKind::Server, _) => format!("{host} failed ({code})"),
            (ErrorKind::Timeout, _) => format!("{host} timed out ({code})"),
            (_, Some(300..=399)) => format!(
                "{host} answered with a redirect ({code}), which is not followed because it would send the token to \
                 another address; set `parameters.vertex.base_url` to the final address"
            ),
            _ if name == "NOT_FOUND" || status == Some(404) => format!(
                "{host} has no such model in project {project}, location {location} ({code}); check `model`, \
                 `parameters.vertex.location` and `parameters.vertex.project_id`"
            ),
            (_, Some(413)) => format!("the conversation is too large for {host} ({code}); shorten it"),
            _ => format!("{host} refused the request ({code})"),
        }
    }
}

/// The kind of failure: Google's name where it is one we know, the status otherwise.
fn kind(name: &str, status: Option<u16>) -> ErrorKind {
    match name {
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => ErrorKind::Authentication,
        "INVALID_ARGUMENT"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE"
        | "NOT_FOUND"
        | "ALREADY_EXISTS"
        | "UNIMPLEMENTED" => ErrorKind::InvalidRequest,
        "RESOURCE_EXHAUSTED" => ErrorKind::RateLimited,
        "UNAVAILABLE" => ErrorKind::Overloaded,
        "DEADLINE_EXCEEDED" => ErrorKind::Timeout,
        "INTERNAL" | "UNKNOWN" | "DATA_LOSS" | "ABORTED" | "CANCELLED" => ErrorKind::Server,
        _ => match status {
            Some(401 | 403) => ErrorKind::Authentication,
            Some(408 | 504) => ErrorKind::Timeout,
            Some(429) => ErrorKind::RateLimited,
            Some(503) => ErrorKind::Overloaded,
            Some(300..=499) => ErrorKind::InvalidRequest,
            _ => ErrorKind::Server,
        },
    }
}

/// What a body says, whether the vendor or a gateway wrote it.
fn read_body(body: &[u8]) -> ErrorBody {
    match serde_json::from_slice::<Value>(body) {
        Ok(json) => read_json(&json),
        Err(_) => ErrorBody { message: plain_words(body), ..ErrorBody::default() },
    }
}

/// Google's error, or what gateways write in its place.
fn read_json(json: &Value) -> ErrorBody {
    let json = json.as_array().and_then(|list| list.first()).unwrap_or(json);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let error = json.get("error");
    let field = |name: &str| error.and_then(|error| error.get(name));
    let mut message = text(field("message"))
        .or_else(|| text(error))
        .or_else(|| text(json.get("message")))
        .or_else(|| text(json.get("detail")))
        .or_else(|| text(Some(json)))
        .unwrap_or_else(|| json.to_string());
    let details = field("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for violation in details.iter().filter_map(|detail| detail.get("fieldViolations")?.as_array()).flatten() {
        let part = |name| violation.get(name).and_then(Value::as_str).unwrap_or_default();
        let (place, words) = (part("field"), part("description"));
        // The message often holds them already.
        if !words.is_empty() && !message.contains(words) {
            let _ = write!(message, "; {place}: {words}");
        }
    }
    ErrorBody {
        name: text(field("status")).unwrap_or_default(),
        code: field("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        message,
        retry_after: details.iter().find_map(|detail| duration(detail.get("retryDelay")?.as_str()?)),
    }
}

/// A `google.protobuf.Duration` in JSON, as `34.5s`, in seconds.
fn duration(text: &str) -> Option<f64> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Some(seconds).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}
