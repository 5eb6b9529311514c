//! Options that vendors with a server have in common: where the server is, which headers it is sent, and how its key is
//! found.

use serde_json::{Value, json};

use super::{HeaderProblem, Headers};
use flemma_model::options::{Kind, Table, kinds::text};

/// Options that say where a key goes or how it is found. Only `setup` may set them, never a file.
pub const SETUP_ONLY: [&str; 3] = ["base_url", "headers", "api_key_command"];

/// Options whose values may be secrets. No message shows them.
pub const SECRET: [&str; 2] = ["headers", "api_key_command"];

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

/// An address that ends in the version of the protocol, as OpenAI's own SDK has it. A few servers have another path
/// there, none has no path, and the rest of the path is added to it.
pub(super) const VERSIONED_URL: Kind<String> = Kind {
    expected: r#"a URL that ends in the API's version, such as "http://localhost:11434/v1""#,
    read: |value| {
        let is_endpoint = |path: &str| ["responses", "completions", "models"].iter().any(|end| path.ends_with(end));
        base_url(value, |bare| bare.split_once('/').is_some_and(|(_, path)| !is_endpoint(path)))
    },
};

/// A URL to which a path can be added, if its host and path are `sound`. A query stays behind the path: Azure's
/// `?api-version=…` is one.
pub(super) fn base_url(value: &Value, sound: impl Fn(&str) -> bool) -> Option<String> {
    let url = text(value)?;
    let bare = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let bare = bare.split('?').next().unwrap_or(bare).trim_end_matches('/');
    let is_clean = !bare.is_empty() && !url.contains(|c: char| c.is_whitespace() || c == '#');
    (is_clean && sound(bare)).then(|| url.to_owned())
}

/// Reads where a vendor's server is, and what it is sent: the address to ask, headers that are added to every request,
/// and what prints the key, if neither the environment nor the keyring has it.
pub(super) fn read(table: &mut Table<'_>, base_url: &Kind<String>) -> Value {
    json!({
        "base_url": table.some("base_url", base_url),
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
