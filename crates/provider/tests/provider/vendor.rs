//! What the tests of all vendors have in common: how a reply is read however its bytes are cut, and how a response whose
//! status is no success is put into words.

use flemma_model::{Event, ToolInput};
use flemma_provider::{Decoder, ErrorKind, ErrorResponse, ProviderError};
use proptest::prelude::*;

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

/// A reply as a vendor streams it, and what is known of the vendor.
pub trait Vendor: Sized {
    /// The key or token of the request, which no message shows.
    const SECRET: &str;
    /// The host that messages name.
    const HOST: &str;
    /// The most bytes of a message about a body that is too long.
    const LONGEST: usize = 600;

    /// Reads the reply to a question of one word.
    fn decoder() -> Box<dyn Decoder>;

    /// All bytes of the reply.
    fn sent(&self) -> Vec<u8>;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
        conversation::decode(Self::decoder(), chunks)
    }

    /// What is made of a response with this status.
    #[track_caller]
    fn refuse(status: u16, body: impl Into<Vec<u8>>) -> ProviderError {
        let error = Self::decoder().decode_error(&response(status, body));
        assert!(!error.message.contains('\n'), "{:?} is more than one line", error.message);
        assert!(!error.message.contains(Self::SECRET), "the secret is in {error}");
        error
    }

    /// Asserts that the status alone decides what is wrong if the body does not say it; `late` is what 504 means.
    #[track_caller]
    fn status_decides(late: ErrorKind) {
        for (status, kind) in [
            (400, ErrorKind::InvalidRequest),
            (401, ErrorKind::Authentication),
            (403, ErrorKind::Authentication),
            (408, ErrorKind::Timeout),
            (422, ErrorKind::InvalidRequest),
            (429, ErrorKind::RateLimited),
            (500, ErrorKind::Server),
            (502, ErrorKind::Server),
            (503, ErrorKind::Overloaded),
            (504, late),
            (529, ErrorKind::Overloaded),
            (599, ErrorKind::Server),
        ] {
            for body in ["", "plain words", "<html><title>T</title>", "{}", "null", "[1]", "[]", "{\"error\": 7}"] {
                let error = Self::refuse(status, body);
                assert_eq!(error.kind, kind, "{status} {body}");
                assert!(error.message.contains(&status.to_string()), "{error}");
            }
        }
    }

    /// Asserts that any body becomes readable words.
    #[track_caller]
    fn puts_into_words() {
        let bodies: [(&[u8], &str); 12] = [
            (b"  upstream\r\n  connect error\t", "(500): upstream connect error"),
            (b"<!doctype html><HTML><Title class=x>\n Bad Gateway </TITLE>", "a web page, \"Bad Gateway\""),
            (b"<html><title></title>", "(500): a web page"),
            (b"<html><title>no end", "(500): a web page"),
            (b"{\"error\": \"just text\"}", "(500): just text"),
            (b"{\"message\": \"top level\"}", "(500): top level"),
            (b"[{\"message\": \"top level\"}]", "(500): top level"),
            (b"{\"detail\": \"Not Found\"}", "(500): Not Found"),
            (b"\"a string\"", "(500): a string"),
            (b"{\"odd\": [1, 2]}", "{\"odd\":[1,2]}"),
            (b"\xff\xfe bytes", "bytes"),
            ("<title>\u{130}</title>".as_bytes(), "\u{130}"),
        ];
        for (body, words) in bodies {
            let error = Self::refuse(500, body);
            assert!(error.message.contains(words), "{words:?} is not in {error}");
        }
        assert_eq!(Self::refuse(500, "").message, format!("{} failed (500)", Self::HOST));
        let long = Self::refuse(500, "word ".repeat(10_000));
        assert!(long.message.len() < Self::LONGEST && long.message.ends_with('…'), "{long}");
    }
}

/// What a reply brings, asserted to be the same in one chunk and in chunks of one byte.
#[track_caller]
pub fn play<V: Vendor>(reply: &V) -> Decoded {
    let bytes = reply.sent();
    let whole = V::decode([&bytes[..]]);
    assert_eq!(V::decode(bytes.chunks(1)), whole, "cut into bytes");
    whole
}

/// The events of a whole reply without what is only for display.
#[track_caller]
pub fn events(reply: &impl Vendor) -> Vec<Event> {
    let (mut events, result) = play(reply);
    assert_eq!(result, Ok(()));
    events.retain(|event| !matches!(event, Event::Usage(_) | Event::ToolUseProgress { .. }));
    events
}

/// What is wrong with a reply that is broken.
#[track_caller]
pub fn failure<V: Vendor>(reply: &V) -> ProviderError {
    let error = play(reply).1.expect_err("the stream is broken");
    assert!(!error.message.contains(V::SECRET), "the secret is in {error}");
    error
}

/// Asserts that a reply which breaks off here is not taken for complete.
pub fn is_interrupted<V: Vendor>(bytes: &[u8]) -> Result<(), TestCaseError> {
    prop_assert_eq!(V::decode([bytes]).1.unwrap_err().kind, ErrorKind::Interrupted);
    Ok(())
}

/// Asserts that a stream of anything ends in a reply or an error, and gives its events.
pub fn ends_somehow<V: Vendor>(stream: &[u8]) -> Result<Vec<Event>, TestCaseError> {
    let (found, result) = V::decode([stream]);
    let is_finished = matches!(found.last(), Some(Event::Finished(_)));
    prop_assert_eq!(is_finished, result.is_ok(), "{:?}", result);
    Ok(found)
}

/// A response without headers.
pub fn response(status: u16, body: impl Into<Vec<u8>>) -> ErrorResponse {
    ErrorResponse { status, retry_after: None, request_id: None, body: body.into() }
}

/// Asserts what an error is and that it has these words.
#[track_caller]
pub fn says(error: ProviderError, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind, kind, "{error}");
    for word in words {
        assert!(error.message.contains(word), "{word:?} is not in {error}");
    }
}
