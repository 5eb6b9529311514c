//! Errors of providers.

use std::{fs, path::Path};

use flemma_provider::{ErrorKind, ProviderError};

use super::vendor::Vendor as _;
use crate::{anthropic, completions, providers::root, responses, vertex};

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
