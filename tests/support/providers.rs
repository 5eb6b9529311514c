//! Every provider, and the conversations of `tests/fixtures/conversations`.
//!
//! Include it with `#[path = "../support/providers.rs"] mod providers;`, beside `conversation`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use flemma_chat as chat;
use flemma_chat::Transcript;
use flemma_provider::{
    CacheRetention, RequestParameters, Server, Thinking, ThinkingLevel, ToolSpec, auth::Environment,
};
use serde_json::json;

use crate::conversation::{keyed, provider_of, tool};

/// The folder of the repository.
pub fn root() -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|folder| folder.join("Cargo.lock").exists()).unwrap().to_owned()
}

/// A folder of `tests`.
pub fn folder(name: &str) -> PathBuf {
    root().join("tests").join(name)
}

/// The conversations and their names.
pub fn conversations() -> Vec<(String, Transcript)> {
    let files = fs::read_dir(folder("fixtures/conversations")).unwrap();
    let mut found: Vec<_> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let conversation = chat::read(&fs::read_to_string(&path).unwrap());
            let conversation = conversation.unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
            (name, conversation)
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(found.len() >= 6, "{} conversations", found.len());
    found
}

/// The providers, each with models that take different things.
pub fn providers() -> Vec<(Server, &'static [&'static str])> {
    let environment = Environment::new(|_| Some("sk-secret".to_owned()));
    vec![
        (
            provider_of("anthropic", json!({}), environment.clone()),
            &["claude-sonnet-4-5", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "my-deployment"],
        ),
        (
            provider_of("openai", json!({}), environment.clone()),
            &["gpt-6-astra", "gpt-5.6-terra", "gpt-5.4", "gpt-4.1", "o3", "my-deployment"],
        ),
        (keyed("openai_compatible", "http://localhost:11434/v1", "sk-secret"), &["llama"]),
        (
            provider_of("vertex", json!({"project_id": "p"}), environment),
            &["gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.8-flash", "my-deployment"],
        ),
    ]
}

/// Parameters that change what is sent.
pub fn settings() -> Vec<(&'static str, RequestParameters)> {
    let base = RequestParameters { max_tokens: Some(4_096), ..RequestParameters::default() };
    let thinking = Thinking::Level(ThinkingLevel::Max);
    vec![
        ("plain", RequestParameters::default()),
        ("warm", RequestParameters { temperature: Some(0.7), cache_retention: CacheRetention::Short, ..base.clone() }),
        ("thinking", RequestParameters { thinking, cache_retention: CacheRetention::Long, ..base }),
    ]
}

/// Two tools: one without properties, and one that is strict.
pub fn two_tools() -> Arc<[ToolSpec]> {
    let bare = ToolSpec { input_schema: Arc::new(json!({"type": "object"})), ..tool("now", false) };
    Arc::new([bare, tool("read", true)])
}
