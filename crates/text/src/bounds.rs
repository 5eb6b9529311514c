//! Bounds of foreign text, for parsers that recurse.
//!
//! A parser that recurses takes as much stack as its text is nested, and a thread has 2 MiB of it. So whatever may come from a
//! model, a file or a server is bounded before such a parser, here or where the table says:
//!
//! | text | parser | its bound |
//! |---|---|---|
//! | globs of tools, rules and options | `globset`, which also panics | [`glob`] |
//! | ignore files | `ignore`, by `globset` | [`glob`] for each line, in `tools/ignore_files.rs` |
//! | regular expressions | `regex-syntax` | [`expression`]; 250 levels of its own |
//! | JSON | `serde_json` | 128 levels of its own |
//! | YAML | `saphyr-parser`, which does not recurse | 64 levels, in `notes/yaml.rs` |
//! | XML | `quick-xml`, which does not recurse | 100 levels, in `xml/element.rs` |
//! | Markdown | `pulldown-cmark`, which does not recurse | |
//! | commands | `tools/rules/script.rs` | length and levels, there and in `tools/rules/lexer.rs` |
//! | arithmetic | `fend-core` | parts, on a stack that is large enough for them, in `tools/builtin/arithmetic.rs` |
//! | tables of Lua | `nvim/convert.rs` | 100 levels |
//! | JSON Schemas with references | `jsonschema`, for a value | levels and steps, in `text/checking.rs` |
//! | MessagePack, TOML | `rmpv`, `toml` | their own levels |
//!
//! What is made of JSON, YAML, XML and Lua is walked by functions of ours that recurse. It is as deep as these bounds allow.

use thiserror::Error;

/// The longest glob, in bytes, and the most braces in it. Each may be inside the one before it: what stands between them may
/// mean that one of them closes nothing.
const GLOB: usize = 4096;
const BRACES: usize = 64;

/// The longest regular expression, in bytes.
const EXPRESSION: usize = 16 * 1024;

/// What a text has too much of: "it is longer than 4096 bytes".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Excess(String);

/// Whether a glob can be parsed.
///
/// # Errors
/// What it has too much of.
pub fn glob(text: &str) -> Result<(), Excess> {
    if text.bytes().filter(|byte| *byte == b'{').nth(BRACES).is_some() {
        return Err(Excess(format!("it has more than {BRACES} `{{`")));
    }
    within(text, GLOB)
}

/// Whether a regular expression can be parsed.
///
/// # Errors
/// What it has too much of.
pub fn expression(text: &str) -> Result<(), Excess> {
    within(text, EXPRESSION)
}

fn within(text: &str, bytes: usize) -> Result<(), Excess> {
    if text.len() <= bytes { Ok(()) } else { Err(Excess(format!("it is longer than {bytes} bytes"))) }
}
