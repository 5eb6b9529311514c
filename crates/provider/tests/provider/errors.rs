//! Errors of providers, by who has to act.

use std::{fs, path::Path};

use flemma_provider::{Actor, ErrorKind, ProviderError};

use crate::providers::root;

const KINDS: [(ErrorKind, Actor, bool); 14] = [
    (ErrorKind::Authentication, Actor::User, false),
    (ErrorKind::Options, Actor::User, false),
    (ErrorKind::InvalidRequest, Actor::User, false),
    (ErrorKind::ReplyLimit, Actor::User, false),
    (ErrorKind::Tls, Actor::User, false),
    (ErrorKind::UnusableReply, Actor::Model, false),
    (ErrorKind::RateLimited, Actor::Server, true),
    (ErrorKind::Overloaded, Actor::Server, true),
    (ErrorKind::Server, Actor::Server, true),
    (ErrorKind::Connection, Actor::Server, true),
    (ErrorKind::Timeout, Actor::Server, true),
    (ErrorKind::Interrupted, Actor::Server, true),
    (ErrorKind::Malformed, Actor::Server, false),
    (ErrorKind::Bug, Actor::Flemma, false),
];

#[test]
fn each_kind_says_who_has_to_act() {
    for (kind, actor, is_transient) in KINDS {
        let error = ProviderError::new(kind, "it failed");
        assert_eq!((kind.actor(), error.is_transient()), (actor, is_transient), "{kind:?}");
        let shown = if actor == Actor::Flemma { "it failed. This is a bug in Flemma." } else { "it failed" };
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

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    found
}
