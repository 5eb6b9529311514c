//! The registry of providers: one row and one folder for each, and nothing else that names a vendor.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use flemma_config::Config;
use flemma_provider::{ProviderName, Server, auth::Environment, secret_variables, signers};
use serde_json::json;

use crate::providers::root;

/// Words in code that stand for a vendor: names of folders, types and options, without `_` and in lower case.
const VENDOR_WORDS: [&str; 6] = ["anthropic", "openai", "openaicompatible", "compatible", "vertex", "rehearsal"];

/// Lines outside the folders that may name a vendor, because they show the user an example.
const EXAMPLES: [(&str, &str); 3] = [
    ("crates/config/src/switch.rs", "openai gpt-5.6-terra thinking=low"),
    ("crates/chat/src/diagnostics.rs", "`anthropic:signature=…`"),
    ("crates/chat/src/diagnostics.rs", "`provider=anthropic`"),
];

fn names() -> BTreeSet<&'static str> {
    ProviderName::all().map(ProviderName::name).collect()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn each_row_has_one_folder_and_each_folder_one_row() {
    let folders = fs::read_dir(root().join("crates/provider/src")).unwrap().map(|entry| entry.unwrap().path());
    // A folder of a vendor has the vendor's row.
    let folders = folders.filter(|path| path.join("vendor.rs").exists());
    let folders: BTreeSet<_> = folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(folders, names().into_iter().map(str::to_owned).collect());
    assert_eq!(names().len(), ProviderName::all().len(), "names are unique");
}

#[test]
fn no_code_outside_its_folder_names_a_vendor() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    sources(&root().join("crates"), &mut files);
    let mut found = Vec::new();
    for path in files {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let in_folder = names().iter().any(|name| file.starts_with(&format!("crates/provider/src/{name}/")));
        let is_registry = ["crates/provider/src/registry.rs", "crates/provider/src/lib.rs"].contains(&file.as_str());
        if in_folder || is_registry || file.ends_with("_tests.rs") || file.contains("/tests/") {
            continue;
        }
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            // A comment may name a vendor. The `//` of a URL is not a comment.
            let code = if line.trim_start().starts_with("//") { "" } else { line.split(" // ").next().unwrap() };
            let words = code.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase);
            let named = words.into_iter().any(|word| VENDOR_WORDS.contains(&word.replace('_', "").as_str()));
            let excused = EXAMPLES.iter().any(|(place, example)| *place == file && line.contains(example));
            if named && !excused {
                found.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "only a vendor's folder and the registry name the vendor:\n{}", found.join("\n"));
}

#[test]
fn every_provider_is_built_from_its_default_options() {
    for provider in ProviderName::all() {
        let options = json!({ "provider": provider.name() });
        let config = Config::from_layers(&[options]).unwrap();
        let options = config.parameters_for(config.provider);
        assert_eq!((config.provider, options.model.as_str()), (provider, provider.default_model()));
        let built = Server::new(options.vendor, Environment::new(|_| None), |_| Ok(Vec::new()));
        assert_eq!(built.name(), provider.name());
    }
    assert_eq!(ProviderName::default().name(), "rehearsal", "without a configuration nothing is sent anywhere");
}

#[test]
fn the_variable_of_each_key_is_a_secret() {
    let secrets: BTreeSet<_> = secret_variables().collect();
    for provider in ProviderName::all() {
        let credential = Config::default().parameters_for(provider).vendor.credential();
        assert!(credential.is_none_or(|credential| secrets.contains(credential.variable)), "{provider:?}");
    }
    assert!(secrets.contains("GOOGLE_APPLICATION_CREDENTIALS"));
    assert!(signers().all(|name| names().contains(name)));
}
