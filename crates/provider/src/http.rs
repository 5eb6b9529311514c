//! What is sent to a server, and what it answers when it refuses.

use std::borrow::Cow;

/// A request, ready to send. It has no `Debug`: its headers may hold a key.
#[derive(Clone)]
pub struct HttpRequest {
    /// The absolute URL.
    pub url: String,
    /// Header names, in lower case, and values.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body, sent with `POST`. Without one, it is `GET`.
    pub body: Vec<u8>,
}

/// A response whose status is not a success.
#[derive(Debug)]
pub struct ErrorResponse {
    /// The HTTP status.
    pub status: u16,
    /// The `retry-after` header in seconds, if there was one.
    pub retry_after: Option<f64>,
    /// The vendor's request id, from whichever header the vendor uses.
    pub request_id: Option<String>,
    /// The body: JSON, HTML, plain text, or nothing.
    pub body: Vec<u8>,
}
