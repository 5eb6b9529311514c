//! An answer that is no stream although its status says that all is well: what the user is told of it.

use flemma_provider::{ErrorKind, ProviderError};
use serde_json::json;

use crate::{
    conversation::{decode, exchange, hello},
    providers::providers,
};

/// What each provider makes of an answer, cut into single bytes.
fn answered(answer: &str) -> Vec<(&'static str, ProviderError)> {
    let read = |(provider, _): (flemma_provider::Server, _)| {
        let decoder = exchange(&provider, &hello()).unwrap().1;
        let (events, result) = decode(decoder, answer.as_bytes().chunks(1));
        assert_eq!(events, [], "{}", provider.name());
        (provider.name(), result.unwrap_err())
    };
    providers().into_iter().map(read).collect()
}

#[test]
fn what_is_no_stream_is_quoted_and_not_asked_for_again() {
    for (answer, quoted) in [
        ("{malformed json: <<<chaos>>>", "`{malformed json: <<<chaos>>>`"),
        ("All is well.", "`All is well.`"),
        ("{\n  \"id\": \"x\",\n\n  \"choices\": []\n}\n", "\"id\": \"x\","),
    ] {
        for (provider, error) in answered(answer) {
            assert_eq!(error.kind, ErrorKind::Malformed, "{provider}: {error}");
            for words in ["not a stream of events in `", quoted] {
                assert!(error.message.contains(words), "{provider}: {words:?} is not in {error}");
            }
        }
    }
}

#[test]
fn an_error_instead_of_a_stream_is_quoted_without_the_key() {
    let error = json!({"error": {"message": "the model sk-secret is on holiday", "type": "server_error", "code": 503}});
    for (provider, error) in answered(&serde_json::to_string_pretty(&error).unwrap()) {
        assert!(error.message.contains("the model … is on holiday"), "{provider}: {error}");
        assert!(error.is_transient(), "{provider}: {error:?}");
    }
}

#[test]
fn a_stream_cut_before_its_first_event_is_not_foreign_text() {
    for answer in ["", ": ping\n\n", "event: message_start\n", "data: {\"type\"", "retry: 3000\n\nda", "da"] {
        for (provider, error) in answered(answer) {
            assert!(error.message.ends_with("the connection closed before the reply began"), "{provider}: {error}");
        }
    }
}
