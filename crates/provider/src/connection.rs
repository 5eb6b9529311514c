//! Options that vendors with a server have in common: where the server is, which headers it is sent, and how its key is
//! found.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{HeaderProblem, Headers, redact::is_secret};
use flemma_model::options::{Kind, Table, kinds::text};

/// Options that say where a key goes or how it is found. Only `setup` may set them, never a file.
pub const SETUP_ONLY: [&str; 3] = ["base_url", "headers", "api_key_command"];

/// Options whose values may be secrets. No message shows them.
pub const SECRET: [&str; 2] = ["headers", "api_key_command"];

/// What stands for a secret.
const HIDDEN: &str = "…";

/// The value of an option as it may be shown; `name` is its path.
pub fn shown<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    let mut keys = name.split('.');
    if keys.any(|key| SECRET.contains(&key)) {
        HIDDEN.into()
    } else if name.ends_with("base_url") {
        shown_url(value).into()
    } else {
        value.into()
    }
}

/// An address without the name and the password in it, and without the secrets in its query.
pub(super) fn shown_url(url: &str) -> String {
    let scheme = url.split_inclusive("://").next().filter(|scheme| scheme.ends_with("://")).unwrap_or_default();
    let url = url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, rest)| format!("{scheme}{HIDDEN}@{rest}"));
    let (bare, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        _ => pair.to_owned(),
    });
    format!("{bare}{}", pairs.collect::<Vec<_>>().join("&"))
}

/// A command that prints a key: its program and arguments, or a line for the shell.
const COMMAND: Kind<Vec<String>> = Kind {
    expected: r#"a command: a string for the shell, or a list of its program and arguments such as {"pass", "show", "key"}"#,
    read: |value| match value {
        Value::Array(words) => {
            let words: Vec<String> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            words.first().is_some_and(|program| !program.trim().is_empty()).then_some(words)
        }
        line => {
            let line = text(line).filter(|line| !line.trim().is_empty())?;
            Some(["sh", "-c", line].map(str::to_owned).to_vec())
        }
    },
};

/// An address to which the rest of the path is added, as OpenAI's own SDK has it. On `http` a server is the user's own,
/// and none of those has the API at its root.
pub(super) const VERSIONED_URL: Kind<String> = Kind {
    expected: r#"a URL, on http with the API's version in its path, such as "http://localhost:11434/v1""#,
    read: |value| {
        let has_path = |bare: &str| bare.matches('/').count() > 2;
        base_url(value, &["/chat/completions", "/responses", "/completions", "/models"], |bare| {
            bare.starts_with("https:") || has_path(bare)
        })
    },
};

/// A URL to which a path can be added, if its host and path are `sound`; what of that path is `added` to it already is
/// taken off. A query stays behind the path: Azure's `?api-version=…` is one.
pub(super) fn base_url(value: &Value, added: &[&str], sound: impl Fn(&str) -> bool) -> Option<String> {
    let url = text(value)?.trim();
    let (bare, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let bare = bare.trim_end_matches('/');
    let bare = added.iter().find_map(|end| bare.strip_suffix(end)).unwrap_or(bare);
    let host = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://"))?;
    let is_clean = !host.is_empty() && !url.contains(|c: char| c.is_whitespace() || c == '#');
    (is_clean && sound(bare)).then(|| format!("{bare}{query}"))
}

/// Reads where a vendor's server is, and what it is sent: the address to ask, headers that are added to every request,
/// and what prints the key, if neither the environment nor the keyring has it.
pub(super) fn read(table: &mut Table<'_>, base_url: &Kind<String>) -> Value {
    let url = table.raw("base_url");
    let address = url.and_then(base_url.read);
    if let Some(url) = url.filter(|_| address.is_none()) {
        table.wrong(
            "base_url",
            base_url.expected,
            &url.as_str().map_or_else(|| url.clone(), |url| shown_url(url).into()),
        );
    }
    json!({
        "base_url": address,
        "headers": read_headers(table),
        "api_key_command": table.some("api_key_command", &COMMAND),
    })
}

/// Reads `headers`: names and values. No message shows a value, which may be a secret.
pub(super) fn read_headers(table: &mut Table<'_>) -> Headers {
    let (mut headers, mut bad) = (Headers::default(), Vec::new());
    table.entries("headers", |table, name| {
        let problem = match table.raw(name)?.as_str() {
            Some(text) => headers.insert(name, text).err()?,
            None => HeaderProblem::Value,
        };
        match problem {
            HeaderProblem::Value => {
                table.wrong(name, "a string of printable ASCII characters on one line", &Value::from("…"));
            }
            HeaderProblem::Name(expected) => bad.push((name.to_owned(), expected)),
        }
        None::<()>
    });
    for (name, expected) in bad {
        table.wrong("headers", expected, &Value::from(name));
    }
    headers
}
