//! Errors of providers.

use std::{fs, path::Path};

use flemma_provider::{ErrorKind, ProviderError, auth::Environment};
use serde_json::json;

use super::vendor::{Vendor as _, response};
use crate::{
    anthropic, completions,
    conversation::{exchange, hello, provider_of},
    providers::root,
    responses, vertex,
};

const KINDS: [(ErrorKind, bool); 14] = [
    (ErrorKind::Authentication, false),
    (ErrorKind::Options, false),
    (ErrorKind::InvalidRequest, false),
    (ErrorKind::ReplyLimit, false),
    (ErrorKind::Tls, false),
    (ErrorKind::UnusableReply, false),
    (ErrorKind::RateLimited, true),
    (ErrorKind::Overloaded, true),
    (ErrorKind::Server, true),
    (ErrorKind::Connection, true),
    (ErrorKind::Timeout, true),
    (ErrorKind::Interrupted, true),
    (ErrorKind::Malformed, false),
    (ErrorKind::Bug, false),
];

#[test]
fn a_kind_says_if_it_is_transient_or_a_bug() {
    for (kind, is_transient) in KINDS {
        let error = ProviderError::new(kind, "it failed");
        assert_eq!(error.is_transient(), is_transient, "{kind:?}");
        let shown = if kind == ErrorKind::Bug { "it failed. This is a bug in Flemma." } else { "it failed" };
        assert_eq!(error.to_string(), shown, "{kind:?}");
    }
    assert_eq!(ProviderError::bug("it failed").kind, ErrorKind::Bug);
}

#[test]
fn only_the_type_says_that_a_failure_is_a_bug() {
    for folder in ["crates/provider/src", "crates/runtime/src", "crates/config/src"] {
        for file in files(&root().join(folder)) {
            let code = fs::read_to_string(&file).unwrap();
            let says = code.lines().any(|line| !line.trim().starts_with("//") && line.contains("a bug in Flemma"));
            assert_eq!(says, file.ends_with("provider/src/error.rs"), "{}", file.display());
        }
    }
}

#[test]
fn without_the_vendors_name_for_an_error_the_status_decides() {
    anthropic::Stream::status_decides(ErrorKind::Server);
    responses::Stream::status_decides(ErrorKind::Server);
    completions::Stream::status_decides(ErrorKind::Server);
    vertex::Stream::status_decides(ErrorKind::Timeout);
}

#[test]
fn any_body_becomes_readable_words() {
    anthropic::Stream::puts_into_words();
    responses::Stream::puts_into_words();
    completions::Stream::puts_into_words();
    vertex::Stream::puts_into_words();
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    found
}

#[test]
fn secrets_of_an_address_are_in_no_message() {
    let of = |url: &str| provider_of("openai_compatible", json!({ "base_url": url }), Environment::new(|_| None));
    let server = of("https://h.example/v1?api_key=q9q9%2Bq9q9&api-version=2024-10-21");
    let said =
        exchange(&server, &hello()).unwrap().1.decode_error(&response(404, "no q9q9+q9q9, q9q9%2Bq9q9 at 2024-10-21"));
    assert!(
        said.message.ends_with(
            "(requested: https://h.example/v1/chat/completions?api_key=…&api-version=2024-10-21): no …, … at 2024-10-21"
        ),
        "{said}"
    );
    let said = exchange(&of("https://bob:hush-hush@h.example/v1"), &hello()).err().unwrap();
    assert_eq!(said.kind, ErrorKind::Options);
    assert!(said.message.contains("https://…@h.example/v1") && said.message.contains("`headers = "), "{said}");
    assert!(!said.message.contains("hush") && !said.message.contains("bob"), "{said}");
}
