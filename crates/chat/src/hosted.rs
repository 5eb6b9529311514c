//! Hosted calls, which a provider ran itself, in the document.
//!
//! A call and its result are in the assistant's message, marked ` (provider)`. The info string of the fence names the
//! provider, so that they are never sent to another one. The fence contains the vendor's own block unchanged:
//!
//! ````text
//! **Tool Use:** `web_search` (`srvtoolu_1`) (provider)
//!
//! ```json provider=anthropic
//! {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"otters"}}
//! ```
//! ````
//!
//! The citations of the text before are a result without a call: a list for the reader, followed by one line of JSON if
//! the vendor needs more of it back. It is all in the fence, where no text from a web page can act as structure:
//!
//! ````text
//! **Tool Result:** `sources` (provider)
//!
//! ```sources provider=anthropic
//! - https://example.org/otters Otters of the world
//!
//! [{"text":"Otters hold hands.","citations":[{"encrypted_index":"…"}]}]
//! ```
//! ````

use serde_json::Value;

use super::{
    attributes,
    blocks::{block, json},
    syntax::{result_header, use_header},
};
use flemma_model::{Hosted, HostedBlock, WebSource};
use flemma_text::Fence;

/// The id of a list of sources, and the first word of its info string.
const SOURCES: &str = "sources";

/// The attribute that names the provider of a block.
const PROVIDER: &str = "provider";

/// The text before each source.
const BULLET: &str = "- ";

/// The info string of the fence of a hosted block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostedInfo {
    /// The provider; empty if none is named.
    pub provider: String,
    /// Whether the fence holds a list of sources.
    pub is_sources: bool,
}

impl HostedInfo {
    /// Reads the line of an opening fence.
    pub fn read(line: &str) -> Self {
        let info = Fence::open(line).map_or("", |(_, info)| info);
        let (word, words) = attributes::split(info);
        let named = attributes::read(words).into_iter().find(|attribute| attribute.key == PROVIDER);
        let provider = named.and_then(|attribute| attribute.value).unwrap_or_default().into_owned();
        Self { provider, is_sources: word == SOURCES }
    }
}

/// The lines of what a provider did.
pub(super) fn lines(Hosted { provider, block }: &Hosted) -> Vec<String> {
    match block {
        HostedBlock::Call { id, name, raw } => fenced(use_header(name, id, true), "json", provider, &json(raw)),
        HostedBlock::Result { id, raw, is_error } => {
            fenced(result_header(id, *is_error, true), "json", provider, &json(raw))
        }
        HostedBlock::Citations { sources, raw } => {
            let list =
                sources.iter().map(|source| format!("{BULLET}{} {}", source.url, source.title).trim_end().to_owned());
            let parts = [list.collect::<Vec<_>>().join("\n"), raw.as_ref().map_or_else(String::new, Value::to_string)];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            fenced(result_header(&SOURCES.into(), false, true), SOURCES, provider, &parts.join("\n\n"))
        }
    }
}

/// A block whose info string is this word and the provider.
fn fenced(header: String, word: &str, provider: &str, content: &str) -> Vec<String> {
    block(header, &format!("{word} {PROVIDER}={}", attributes::write(provider)), content)
}

/// Reads the content of the fence of a list of sources: the sources and the vendor's JSON. `None` if the line that
/// should be JSON is not valid.
pub(super) fn read_citations(content: &str) -> Option<(Vec<WebSource>, Option<Value>)> {
    let sources = content.lines().filter_map(|line| line.strip_prefix(BULLET)).map(|line| {
        let (url, title) = line.split_once(' ').unwrap_or((line, ""));
        WebSource::new(url, title)
    });
    let raw = content.lines().find(|line| line.starts_with(['[', '{']));
    let raw = raw.map(serde_json::from_str).transpose().ok()?;
    Some((sources.collect(), raw))
}
