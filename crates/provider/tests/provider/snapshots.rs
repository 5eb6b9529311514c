//! What is sent, letter by letter: each conversation of `tests/fixtures/conversations` for each provider.
//!
//! A body stands in `tests/fixtures/bodies/CONVERSATION/PROVIDER.json`, indented and with its keys in the order in which
//! they are sent. After a change that is meant, write the files anew and read what `git diff` says:
//!
//! ```text
//! UPDATE_EXPECT=1 cargo test -p flemma-provider snapshots
//! ```

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use expect_test::expect_file;
use flemma_provider::Request;
use serde_json::Value;

use crate::{
    conversation::exchange,
    providers::{conversations, folder, providers, settings, two_tools},
};

/// The model whose requests are written down: of each vendor one that thinks, for its requests have the most in them.
const MODELS: [(&str, &str); 4] = [
    ("anthropic", "claude-opus-5-5"),
    ("openai", "gpt-5.6-terra"),
    ("openai_compatible", "llama"),
    ("vertex", "gemini-3-pro-preview"),
];

/// Where the bodies are and what they should be.
fn snapshots() -> Vec<(PathBuf, String)> {
    let parameters = settings().into_iter().find(|(name, _)| *name == "thinking").unwrap().1;
    let mut snapshots = Vec::new();
    for (name, conversation) in conversations() {
        for (provider, _) in providers() {
            let model = MODELS.iter().find(|(of, _)| *of == provider.name()).unwrap().1;
            let request = Request {
                model: model.to_owned(),
                system: conversation.system.clone(),
                messages: conversation.messages.clone(),
                tools: two_tools(),
                parameters: parameters.clone(),
                ..Request::default()
            };
            let sent = exchange(&provider, &request).unwrap_or_else(|error| panic!("{name}: {error}")).0;
            let body: Value = serde_json::from_slice(&sent.body).unwrap();
            // What is written down is what is sent, but for the white space.
            assert_eq!(serde_json::to_vec(&body).unwrap(), sent.body, "{name}, {}", provider.name());
            let path = folder("fixtures/bodies").join(&name).join(format!("{}.json", provider.name()));
            snapshots.push((path, serde_json::to_string_pretty(&body).unwrap() + "\n"));
        }
    }
    snapshots
}

/// The files in `folder` and below.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { BTreeSet::from([path]) }).collect()
}

#[test]
fn every_body_is_the_one_that_is_written_down() {
    let snapshots = snapshots();
    for (path, body) in &snapshots {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        expect_file![path].assert_eq(body);
    }
    let known: BTreeSet<_> = snapshots.into_iter().map(|(path, _)| path).collect();
    for stray in files(&folder("fixtures/bodies")).difference(&known) {
        assert!(env::var_os("UPDATE_EXPECT").is_some(), "{} is the body of no conversation", stray.display());
        fs::remove_file(stray).unwrap();
    }
}

#[test]
fn a_body_is_the_same_whenever_it_is_made() {
    assert_eq!(snapshots(), snapshots());
    let distinct: BTreeSet<_> = snapshots().into_iter().map(|(_, body)| Arc::<str>::from(body)).collect();
    assert_eq!(distinct.len(), snapshots().len(), "two conversations, or two providers, have one body");
}
