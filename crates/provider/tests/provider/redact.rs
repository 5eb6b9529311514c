//! What a server quotes of a key: the whole, a part, or the key in another form. None of it reaches a message.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use flemma_provider::{
    ErrorResponse, Headers, Server,
    auth::{Environment, Key},
};
use proptest::prelude::*;
use serde_json::json;

use crate::conversation::{exchange, hello, provider_of};

/// Every provider with this key.
fn providers(key: &str) -> [Server; 4] {
    let key = key.to_owned();
    let environment = Environment::new(move |name| (!name.starts_with("GOOGLE")).then(|| key.clone()));
    let server = json!({"base_url": "http://localhost:11434/v1"});
    [
        provider_of("anthropic", json!({}), environment.clone()),
        provider_of("openai", json!({}), environment.clone()),
        provider_of("openai_compatible", server, environment.clone()),
        provider_of("vertex", json!({"project_id": "p"}), environment),
    ]
}

/// The message for a response that says this, in JSON and as plain text.
fn messages(provider: &Server, words: &str) -> [String; 2] {
    let refuse = |body: Vec<u8>| {
        let response = ErrorResponse { status: 400, retry_after: None, request_id: None, body };
        exchange(provider, &hello()).unwrap().1.decode_error(&response).message
    };
    [refuse(json!({"error": {"message": words}}).to_string().into_bytes()), refuse(words.as_bytes().to_vec())]
}

/// A key as vendors make them: some have a word in front, which is no secret.
fn any_key() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["", "sk-ant-api03-", "sk-proj-", "gsk_", "ya29."]),
        "[A-Za-z0-9]{5}[0-9][a-z][A-Z][A-Za-z0-9_-]{8,40}[0-9]",
    )
        .prop_map(|(start, rest)| format!("{start}{rest}"))
}

fn percent(key: &str) -> String {
    key.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// What is quoted of a key, and what must not be seen of it.
fn any_quote() -> impl Strategy<Value = (String, Vec<String>, String)> {
    (any_key(), 0..14usize, 4..9usize, 0..5usize).prop_map(|(key, kind, part, shift)| {
        let (start, end) = (&key[..part], &key[key.len() - part..]);
        let around = |before: &str, after: &str| format!("{before}{key}{after}");
        let encoded = |text: String| (BASE64_STANDARD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text));
        let half = &key[..key.len() / 2 + 4];
        let quote = match kind {
            0 => key.clone(),
            1 => format!("{start}***{end}"),
            2 => format!("{start}...{end}"),
            3 => format!("{start}…{end}"),
            4 => format!("{}{end}", "*".repeat(20)),
            5 => format!("{start}[REDACTED]{end}"),
            6 => encoded(around(&"u:".repeat(shift), "")).0,
            7 => encoded(around(&"u".repeat(shift), ":x")).1,
            8 => format!("Basic {}", encoded(around(":", "")).0),
            9 => key.to_uppercase(),
            10 => half.to_owned(),
            11 => key[key.len() / 2 - 4..].to_owned(),
            12 => key.bytes().map(|byte| format!("{byte:02X}")).collect(),
            _ => percent(&key).replace("%2d", "-").replace("%5f", "_"),
        };
        let secret = match kind {
            1..=5 => vec![
                format!("*{end}"),
                format!(".{end}"),
                format!("…{end}"),
                format!("]{end}"),
                format!("{start}*"),
                format!("{start}."),
            ],
            // Nothing of what was quoted may be seen but a few letters at its ends, which say next to nothing.
            _ => {
                let letters = quote.trim_start_matches("Basic ");
                let windows = letters.as_bytes().windows(14);
                let secret = windows.map(|window| String::from_utf8(window.to_vec()).unwrap()).collect();
                if kind < 12 { secret } else { vec![letters[6..letters.len() - 6].to_owned()] }
            }
        };
        (key, secret, quote)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_quoted_of_a_key_is_blacked_out_in_every_form((key, secret, quote) in any_quote()) {
        let words = format!("the API key `{quote}` was refused; see the account page for 12 more keys");
        for provider in providers(&key) {
            for message in messages(&provider, &words) {
                for part in &secret {
                    prop_assert!(!message.contains(part.as_str()), "{part} of {key} is in {message}");
                }
                prop_assert!(!message.contains(&quote), "{quote} is in {message}");
                // The rest of what the server says is still there.
                prop_assert!(message.contains("the API key `") && message.contains("` was refused; see the account page for 12 more keys"), "{message}");
            }
        }
    }

    #[test]
    fn a_text_that_has_nothing_of_the_key_stays_as_it_is(key in any_key(), words in "[a-zA-Z]{1,7}( [a-z.*]{1,7}){0,12}") {
        let redacted = Key::new(&key, "").unwrap().redact(&words);
        let is_near = |word: &str| key.starts_with(word) || key.ends_with(word);
        prop_assume!(!words.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.len() > 1 && is_near(word)));
        prop_assert_eq!(redacted, words);
    }
}

#[test]
fn the_vendors_own_ways_to_quote_a_key_show_nothing_of_it() {
    let key = "sk-proj-Zx81kQbN4rTy7UwP2mVc";
    for words in [
        "Incorrect API key provided: sk-proj-********************2mVc. You can find your API key at the site.",
        "invalid key sk-p...2mVc",
        "the key ending in 2mVc has expired",
        "the key that begins with sk-proj-Zx81 has expired",
        "key=sk-proj-Zx81kQbN4rTy7U",
        "{\"authorization\":\"Bearer sk-proj-Zx81kQbN4rTy7UwP2mVc\"}",
    ] {
        let redacted = Key::new(key, "").unwrap().redact(words);
        for part in ["2mVc", "Zx81", "sk-p.", "kQbN"] {
            assert!(!redacted.contains(part), "{part} is in {redacted}");
        }
        assert!(redacted.contains('…'), "{redacted}");
    }
}

#[test]
fn a_key_with_signs_is_found_in_every_way_to_write_them() {
    let key = "pass/word\"with<signs>&more+1";
    let json = json!(key).to_string();
    let html = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    for quote in [json.clone(), json.replace('/', "\\/"), html, "pass%2Fword%22with%3Csigns%3E%26more%2B1".to_owned()] {
        let redacted = Key::new(key, "").unwrap().redact(&format!("no: {quote}"));
        assert!(!redacted.contains("sign") && !redacted.contains("more"), "{redacted}");
        assert!(redacted.starts_with("no: ") && redacted.contains('…'), "{redacted}");
    }
}

#[test]
fn a_key_of_a_few_letters_is_no_secret() {
    // Servers of one's own want any key at all.
    for key in ["x", "e", "none", "ollama", "sk-1234"] {
        let words = "the model x needs more memory; sk-1234 or none";
        let body = json!({"error": {"message": words}}).to_string().into_bytes();
        for provider in providers(key) {
            let response = ErrorResponse { status: 400, retry_after: None, request_id: None, body: body.clone() };
            let message = exchange(&provider, &hello()).unwrap().1.decode_error(&response).message;
            assert!(message.contains(words), "{key}: {message}");
        }
    }
    assert_eq!(Key::new("sk-12345", "").unwrap().redact("bad key sk-12345"), "bad key …");
}

#[test]
fn parts_of_a_header_are_redacted_only_if_its_name_is_secret() {
    let refuse = |name: &str, value: &str, words: &str| {
        let mut headers = Headers::default();
        headers.insert(name, value).unwrap();
        let options = json!({"base_url": "http://localhost:1/v1", "headers": headers});
        let provider = provider_of("openai_compatible", options, Environment::new(|_| None));
        messages(&provider, words)[1].clone()
    };
    let message = refuse("x-team", "context-window-2025", "the context-window is full; context-window-2025");
    assert!(message.contains("the context-window is full; …"), "{message}");
    let message = refuse("x-api-key", "Zx81kQbN4rTy7UwP", "no Zx81kQbN4r… is known");
    assert!(!message.contains("Zx81"), "{message}");
    // What stands in a header of its own kind: the key behind `Bearer`, the password in `Basic`.
    let message = refuse("authorization", "Bearer Zx81kQbN4rTy7UwP", "the bearer Zx81kQbN4r is wrong");
    assert!(message.contains("the bearer …"), "{message}");
    let basic = format!("Basic {}", BASE64_STANDARD.encode("me:Zx81kQbN4rTy7UwP"));
    let message = refuse("authorization", &basic, "wrong password Zx81kQbN4rTy7UwP");
    assert!(message.contains("wrong password …"), "{message}");
}
