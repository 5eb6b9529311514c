//! Lines that are structure: role markers, tool headers, thinking tags and the abort marker.
//!
//! Each is recognised from its line alone, in column 0. The parser decides where such a line may occur. Carriage
//! returns and white space at the end of a structural line are ignored.

use super::{BlockKind, ResultBody, Speaker, ToolResult, ToolUse, attributes, block::Cache};
use flemma_model::{CallId, Digest, Signature};
use flemma_text::code_span::{code_span, read_code_span};

pub(super) const TOOL_USE: &str = "**Tool Use:**";
pub(super) const TOOL_RESULT: &str = "**Tool Result:**";
pub(super) const THINKING: &str = "<thinking";
pub(super) const THINKING_END: &str = "</thinking>";
pub(super) const ABORTED: &str = "<!-- flemma:aborted -->";

const PROVIDER: &str = "(provider)";
const ERROR: &str = "(error)";

/// The role of a marker line, and the byte where the text on the same line starts.
pub(super) fn marker(line: &str) -> Option<(Speaker, usize)> {
    let name = line.strip_prefix('@')?;
    let role = Speaker::ALL
        .into_iter()
        .find(|role| name.strip_prefix(role.as_str()).is_some_and(|rest| rest.starts_with(':')))?;
    let colon = 1 + role.as_str().len() + 1;
    Some((role, line.len() - line[colon..].trim_start().len()))
}

/// Reads a tool header, as the block that begins with it. `None`: it is not a tool header. `Some(None)`: it starts like one but is
/// malformed.
pub(super) fn header(line: &str) -> Option<Option<BlockKind>> {
    match line.strip_prefix(TOOL_USE) {
        Some(rest) => Some(read_use(rest)),
        None => line.strip_prefix(TOOL_RESULT).map(read_result),
    }
}

/// `` **Tool Use:** `name` (`id`) ``
fn read_use(rest: &str) -> Option<BlockKind> {
    let (name, rest) = read_code_span(rest.trim_start())?;
    let (id, rest) = read_code_span(rest.trim_start().strip_prefix('(')?)?;
    let (hosted, is_error) = suffixes(rest.strip_prefix(')')?)?;
    let tool = ToolUse { id: id.into(), name: name.to_owned(), hosted, input: None, known: Cache::default() };
    (!is_error).then(|| BlockKind::ToolUse(Box::new(tool)))
}

/// `` **Tool Result:** `id` ``
fn read_result(rest: &str) -> Option<BlockKind> {
    let (id, rest) = read_code_span(rest.trim_start())?;
    let (hosted, is_error) = suffixes(rest)?;
    let tool = ToolResult { id: id.into(), is_error, hosted, body: ResultBody::Missing, known: Cache::default() };
    Some(BlockKind::ToolResult(Box::new(tool)))
}

/// Reads ` (provider)` and ` (error)` in any order, and returns whether each is there. `None` if there is anything
/// else.
fn suffixes(text: &str) -> Option<(bool, bool)> {
    let (mut hosted, mut is_error) = (false, false);
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(PROVIDER) {
            hosted = true;
            rest = after.trim_start();
        } else {
            rest = rest.strip_prefix(ERROR)?.trim_start();
            is_error = true;
        }
    }
    Some((hosted, is_error))
}

/// Writes the header of a tool use.
pub(super) fn use_header(name: &str, id: &CallId, hosted: bool) -> String {
    let suffix = if hosted { " (provider)" } else { "" };
    format!("{TOOL_USE} {} ({}){suffix}", code_span(name), code_span(&id.0))
}

/// Writes the header of a tool result.
pub(super) fn result_header(id: &CallId, is_error: bool, hosted: bool) -> String {
    let provider = if hosted { " (provider)" } else { "" };
    let error = if is_error { " (error)" } else { "" };
    format!("{TOOL_RESULT} {}{provider}{error}", code_span(&id.0))
}

/// Whether a line opens thinking: only the tag, with or without attributes.
pub(super) fn opens_thinking(line: &str) -> bool {
    line.strip_prefix(THINKING).is_some_and(|rest| {
        let rest = rest.trim_end();
        rest == ">" || (rest.starts_with([' ', '\t']) && rest.ends_with('>'))
    })
}

/// Whether a line closes thinking.
pub(super) fn closes_thinking(line: &str) -> bool {
    line.starts_with("</") && line.trim_end() == THINKING_END
}

/// The attribute with the beginning of the digest of the text that was signed, and how many digits that has.
const DIGEST: &str = "sha256";
const DIGITS: usize = 16;

/// The attributes of a thinking tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ThinkingTag {
    pub redacted: bool,
    pub signature: Option<Signature>,
    /// The beginning of the digest of the text, if the signature is also about that.
    digest: Option<String>,
}

impl ThinkingTag {
    /// The tag of thinking whose text has this digest.
    pub fn new(signature: Option<Signature>, text: &Digest) -> Self {
        let is_of_text = signature.as_ref().is_some_and(flemma_provider::signs_text);
        let digest = is_of_text.then(|| text.as_str()[..DIGITS].to_owned());
        Self { redacted: false, signature, digest }
    }

    /// The tag of thinking whose text the vendor hides.
    pub fn hidden(signature: Signature) -> Self {
        Self { redacted: true, signature: Some(signature), digest: None }
    }

    /// Whether this is the text that was signed. Editors trim lines when they save, and change line breaks. What another
    /// tool or an earlier version has written does not say.
    pub fn is_of<T: AsRef<str>>(&self, text: impl FnOnce() -> T) -> bool {
        let digest = || Digest::of(text().as_ref().as_bytes());
        self.digest.as_deref().is_none_or(|known| known == &digest().as_str()[..DIGITS])
    }

    /// Reads a line that [`opens_thinking`].
    pub fn read(line: &str) -> Self {
        let inside = line.trim_end().strip_prefix(THINKING).and_then(|rest| rest.strip_suffix('>')).unwrap_or_default();
        let mut tag = Self::default();
        for attribute in attributes::read(inside) {
            match (attribute.key.strip_suffix(":signature"), attribute.value) {
                (Some(provider), Some(value)) if tag.signature.is_none() => {
                    tag.signature = Some(Signature { provider: provider.to_owned(), value: value.into_owned() });
                }
                (None, None) if attribute.key == "redacted" => tag.redacted = true,
                (None, Some(value)) if attribute.key == DIGEST => tag.digest = Some(value.into_owned()),
                _ => {}
            }
        }
        tag
    }

    /// All signatures on a line that [`opens_thinking`], including invalid ones without a provider or without a value.
    pub fn signatures(line: &str) -> Vec<Signature> {
        let inside = line.trim_end().strip_prefix(THINKING).and_then(|rest| rest.strip_suffix('>')).unwrap_or_default();
        let attributes = attributes::read(inside).into_iter();
        let signature = |attribute: attributes::Attribute<'_>| {
            let provider = match attribute.key.strip_suffix("signature")? {
                "" => "",
                prefix => prefix.strip_suffix(':')?,
            };
            let value = attribute.value.unwrap_or_default().into_owned();
            Some(Signature { provider: provider.to_owned(), value })
        };
        attributes.filter_map(signature).collect()
    }

    /// The attributes as they are written between `<thinking` and `>`, with a space before them.
    pub fn attributes(&self) -> String {
        let mut text = String::new();
        if self.redacted {
            text.push_str(" redacted");
        }
        if let Some(Signature { provider, value }) = &self.signature {
            // White space or a quote in the name must not break the tag.
            let provider: String = provider
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' })
                .collect();
            text.push_str(&format!(" {provider}:signature={}", attributes::quote(value)));
        }
        if let Some(digest) = &self.digest {
            text.push_str(&format!(" {DIGEST}={digest}"));
        }
        text
    }
}

#[cfg(test)]
#[path = "syntax_tests.rs"]
mod tests;
