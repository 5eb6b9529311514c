//! What the tests of all vendors have in common: how a reply is read however its bytes are cut, and how a response whose
//! status is no success is put into words.

use flemma_model::{Event, ToolInput};
use flemma_provider::{Decoder, ErrorKind, ErrorResponse, ProviderError};

use crate::conversation;

/// What the chunks of a reply bring, and how they end.
pub type Decoded = (Vec<Event>, Result<(), ProviderError>);

/// A piece of text.
pub fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

/// A piece of thinking.
pub fn thought(text: &str) -> Event {
    Event::Thinking(text.to_owned())
}

/// A call.
pub fn tool_use(id: &str, name: &str, input: ToolInput) -> Event {
    Event::ToolUse { id: id.into(), name: name.to_owned(), input }
}

/// A vendor under test.
pub struct Vendor {
    /// Reads the reply to a question of one word.
    pub decoder: fn() -> Box<dyn Decoder>,
    /// The key or token of the request, which no message shows.
    pub secret: &'static str,
    /// The host that messages name.
    pub host: &'static str,
    /// The most bytes of a message about a body that is too long.
    pub longest: usize,
}

impl Vendor {
    pub fn decode<'a>(&self, chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
        conversation::decode((self.decoder)(), chunks)
    }

    /// What a reply brings, asserted to be the same in one chunk and in chunks of one byte.
    #[track_caller]
    pub fn play(&self, bytes: &[u8]) -> Decoded {
        let whole = self.decode([bytes]);
        assert_eq!(self.decode(bytes.chunks(1)), whole, "cut into bytes");
        whole
    }

    /// The events of a whole reply without what is only for display.
    #[track_caller]
    pub fn events(&self, bytes: &[u8]) -> Vec<Event> {
        let (mut events, result) = self.play(bytes);
        assert_eq!(result, Ok(()));
        events.retain(|event| !matches!(event, Event::Usage(_) | Event::ToolUseProgress { .. }));
        events
    }

    /// What is wrong with a reply that is broken.
    #[track_caller]
    pub fn failure(&self, bytes: &[u8]) -> ProviderError {
        let error = self.play(bytes).1.expect_err("the stream is broken");
        assert!(!error.message.contains(self.secret), "the secret is in {error}");
        error
    }

    /// What is made of a response with this status.
    #[track_caller]
    pub fn refuse(&self, status: u16, body: impl Into<Vec<u8>>) -> ProviderError {
        let error = (self.decoder)().decode_error(&response(status, body));
        assert!(!error.message.contains('\n'), "{:?} is more than one line", error.message);
        assert!(!error.message.contains(self.secret), "the secret is in {error}");
        error
    }

    /// Asserts that the status alone decides what is wrong if the body does not say it.
    #[track_caller]
    pub fn status_decides(&self, table: &[(u16, ErrorKind)]) {
        for &(status, kind) in table {
            for body in ["", "plain words", "<html><title>T</title>", "{}", "null", "[1]", "[]", "{\"error\": 7}"] {
                let error = self.refuse(status, body);
                assert_eq!(error.kind, kind, "{status} {body}");
                assert!(error.message.contains(&status.to_string()), "{error}");
            }
        }
    }

    /// Asserts that any body becomes readable words: those that every vendor's gateways send, and `more`.
    #[track_caller]
    pub fn puts_into_words(&self, more: &[(&[u8], &str)]) {
        let common: [(&[u8], &str); 11] = [
            (b"  upstream\r\n  connect error\t", "(500): upstream connect error"),
            (b"<!doctype html><HTML><Title class=x>\n Bad Gateway </TITLE>", "a web page, \"Bad Gateway\""),
            (b"<html><title></title>", "(500): a web page"),
            (b"<html><title>no end", "(500): a web page"),
            (b"{\"error\": \"just text\"}", "(500): just text"),
            (b"{\"message\": \"top level\"}", "(500): top level"),
            (b"{\"detail\": \"Not Found\"}", "(500): Not Found"),
            (b"\"a string\"", "(500): a string"),
            (b"{\"odd\": [1, 2]}", "{\"odd\":[1,2]}"),
            (b"\xff\xfe bytes", "bytes"),
            ("<title>\u{130}</title>".as_bytes(), "\u{130}"),
        ];
        for (body, words) in common.iter().chain(more) {
            let error = self.refuse(500, *body);
            assert!(error.message.contains(words), "{words:?} is not in {error}");
        }
        assert_eq!(self.refuse(500, "").message, format!("{} failed (500)", self.host));
        let long = self.refuse(500, "word ".repeat(10_000));
        assert!(long.message.len() < self.longest && long.message.ends_with('…'), "{long}");
    }
}

/// A response without headers.
pub fn response(status: u16, body: impl Into<Vec<u8>>) -> ErrorResponse {
    ErrorResponse { status, retry_after: None, request_id: None, body: body.into() }
}

/// Asserts what an error is and that it has these words.
#[track_caller]
pub fn says(error: &ProviderError, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind, kind, "{error}");
    for word in words {
        assert!(error.message.contains(word), "{word:?} is not in {error}");
    }
}
