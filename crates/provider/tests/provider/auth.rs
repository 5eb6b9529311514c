//! Keys: where they come from, and that nobody sees them.

use flemma_provider::{
    ErrorKind,
    auth::{Environment, Key},
};

use crate::conversation::{exchange, hello, provider_of};
use serde_json::json;

fn environment(value: Option<&'static str>) -> Environment {
    Environment::new(move |name| value.filter(|_| name == "ACME_API_KEY").map(str::to_owned))
}

#[test]
fn a_key_is_read_from_its_variable_and_trimmed() {
    let key = environment(Some(" sk-1\n")).find("ACME_API_KEY").unwrap().unwrap();
    assert_eq!(key.expose(), "sk-1");
}

#[test]
fn a_missing_key_names_the_variable_and_the_mend() {
    for value in [None, Some(""), Some("  \n")] {
        assert_eq!(environment(value).find("ACME_API_KEY"), Ok(None));
        let environment = Environment::new(move |_| value.map(str::to_owned));
        let error = exchange(&provider_of("openai", json!({}), environment), &hello()).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Authentication);
        for words in ["OpenAI", "OPENAI_API_KEY is not set", ":let $OPENAI_API_KEY"] {
            assert!(error.message.contains(words), "{words:?} is not in {error}");
        }
    }
}

#[test]
fn a_value_that_cannot_be_a_key_is_refused_without_showing_it() {
    for value in ["sk-1 sk-2", "sk-1\nsk-2", "schlüssel", "sk\u{7f}"] {
        let error = environment(Some(value)).find("ACME_API_KEY").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Authentication, "{value:?}");
        assert!(error.message.contains("ACME_API_KEY") && !error.message.contains("sk"), "{error}");
    }
}

#[test]
fn a_key_is_never_printed() {
    let environment = environment(Some("sk-secret"));
    let key = environment.find("ACME_API_KEY").unwrap().unwrap();
    assert_eq!(format!("{key:?} {:?}", Some(&key)), "… Some(…)");
    assert!(!format!("{environment:?}").contains("sk-secret"));
    assert_eq!(key.redact("bad key sk-secret (sk-secret)"), "bad key … (…)");
}

#[test]
fn a_fetched_key_replaces_an_unset_variable() {
    let fetched = || Key::new("sk-fetched\n", "in the keyring").unwrap();
    for value in [None, Some(" ")] {
        let environment = environment(value).with("ACME_API_KEY", fetched());
        assert!(environment.has("ACME_API_KEY") && !environment.has("OTHER_API_KEY"));
        let key = environment.find("ACME_API_KEY").unwrap().unwrap();
        assert_eq!((key.expose(), key.origin()), ("sk-fetched", "in the keyring"));
        assert!(!format!("{environment:?}").contains("sk-fetched"));
    }
    let key = environment(Some("sk-set")).with("ACME_API_KEY", fetched()).find("ACME_API_KEY").unwrap().unwrap();
    assert_eq!((key.expose(), key.origin()), ("sk-set", "in ACME_API_KEY"));
}

#[test]
fn what_was_fetched_and_cannot_be_a_key_names_its_place_only() {
    for (value, words) in [("", "it is empty"), ("sk-1 sk-2", "a space"), ("schlüssel", "non-ASCII")] {
        let error = Key::new(value, "from the command `pass`").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Authentication);
        assert!(error.message.starts_with("the key from the command `pass` cannot be used"), "{error}");
        assert!(error.message.contains(words) && !error.message.contains("sk-1"), "{error}");
    }
}
