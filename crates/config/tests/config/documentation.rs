//! What is written of the options, and what their readers take.

use std::collections::BTreeSet;

use flemma_config::{
    Config, OptionDocumentation,
    buffer::{self, config_path},
};
use serde_json::{Value, json};

/// Options with this one alone.
fn alone(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, key| json!({ key: inner }))
}

/// Whether the reader takes this value of an option.
fn takes(path: &str, value: Value) -> bool {
    let refused = |error: flemma_model::options::OptionsError| {
        error.problems.iter().any(|problem| problem.to_string().contains("must be"))
    };
    Config::from_layers(&[alone(path, value)]).map_or_else(|error| !refused(error), |_| true)
}

#[test]
fn every_option_has_a_type_and_those_of_files_a_description() {
    for path in Config::paths() {
        let documentation = OptionDocumentation::of(&path).unwrap_or_else(|| panic!("{path} is not in types.lua"));
        assert!(!documentation.takes.is_empty(), "{path}");
    }
    for (path, _) in buffer::known() {
        let documentation = buffer::documentation(&path).unwrap_or_else(|| panic!("{path} is not in types.lua"));
        assert!(!documentation.text.is_empty(), "{path} has no description");
    }
}

#[test]
fn a_documentation_is_the_line_of_types_lua() {
    let types = include_str!("../../../../lua/flemma/types.lua");
    for (path, _) in buffer::known() {
        let OptionDocumentation { takes, text } = buffer::documentation(&path).unwrap();
        let name = path.rsplit('.').next().unwrap();
        assert!(types.contains(&format!("---@field {name}? {takes} {text}\n")), "{path}: {takes} {text}");
    }
    let thinking = buffer::documentation("thinking").unwrap();
    assert_eq!(thinking.text, "how much the model may think");
    assert_eq!(thinking.strings().collect::<Vec<_>>(), ["minimal", "low", "medium", "high", "max"]);
    assert_eq!(thinking.words().collect::<Vec<_>>(), ["false"]);
    let approve = buffer::documentation("tools.auto_approve").unwrap();
    assert!(approve.takes.starts_with("string[]|fun(") && approve.takes.ends_with("|nil"), "{}", approve.takes);
    assert_eq!(approve.strings().count(), 0);
}

#[test]
fn the_words_of_a_type_are_those_that_its_reader_takes() {
    let mut checked = BTreeSet::new();
    for path in Config::paths() {
        let documentation = OptionDocumentation::of(&path).unwrap();
        let strings: Vec<&str> = documentation.strings().collect();
        for string in &strings {
            assert!(takes(&path, json!(string)), "{path} does not take {string:?}");
            checked.insert(path.clone());
        }
        for (word, value) in [("true", json!(true)), ("false", json!(false))] {
            let is_listed = documentation.words().any(|listed| listed == word);
            let is_table = documentation.takes.starts_with("flemma.") || documentation.takes.contains("table<");
            assert!(is_table || is_listed == takes(&path, value), "{path}: {word}");
        }
        // Whoever takes only a few words names them when another one comes.
        if takes(&path, json!("a word that means nothing")) {
            continue;
        }
        let error = Config::from_layers(&[alone(&path, json!("a word that means nothing"))]).unwrap_err().to_string();
        for word in error.split('"').skip(1).step_by(2).filter(|word| takes(&path, json!(word))) {
            assert!(strings.contains(&word) || documentation.takes == "string", "{path} takes {word:?}: {error}");
        }
    }
    for path in ["provider", "parameters.thinking", "parameters.openai.reasoning", "tools.write_outside"] {
        assert!(checked.contains(path), "{path}");
    }
    assert_eq!(config_path("thinking"), "parameters.thinking");
}
