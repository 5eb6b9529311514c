//! Lines that are structure: role markers, tool headers, thinking tags and the abort marker.
//!
//! Each is recognised by its own line alone, in column 0. Where a line may stand is the parser's
//! business. Carriage returns and blanks at the end of a structural line mean nothing.

use super::{Speaker, attributes};
use crate::{
    model::{CallId, Signature},
    text::code_span::{code_span, read_code_span},
};

pub(super) const TOOL_USE: &str = "**Tool Use:**";
pub(super) const TOOL_RESULT: &str = "**Tool Result:**";
pub(super) const THINKING: &str = "<thinking";
pub(super) const THINKING_END: &str = "</thinking>";
pub(super) const ABORTED: &str = "<!-- flemma:aborted -->";

const PROVIDER: &str = "(provider)";
const ERROR: &str = "(error)";

/// The role that a line gives the word to, and the byte where the text on the same line starts.
pub(super) fn marker(line: &str) -> Option<(Speaker, usize)> {
    let name = line.strip_prefix('@')?;
    let role = Speaker::ALL
        .into_iter()
        .find(|role| name.strip_prefix(role.as_str()).is_some_and(|rest| rest.starts_with(':')))?;
    let colon = 1 + role.as_str().len() + 1;
    Some((role, line.len() - line[colon..].trim_start().len()))
}

/// A tool header, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// `` **Tool Use:** `name` (`id`) ``
    Use { name: String, id: CallId, hosted: bool },
    /// `` **Tool Result:** `id` ``
    Result { id: CallId, is_error: bool, hosted: bool },
}

impl Header {
    /// Reads a line. `None`: it is no tool header; `Some(None)`: it starts like one and is broken.
    pub fn read(line: &str) -> Option<Option<Self>> {
        if let Some(rest) = line.strip_prefix(TOOL_USE) {
            Some(Self::read_use(rest))
        } else {
            line.strip_prefix(TOOL_RESULT).map(Self::read_result)
        }
    }

    fn read_use(rest: &str) -> Option<Self> {
        let (name, rest) = read_code_span(rest.trim_start())?;
        let (id, rest) = read_code_span(rest.trim_start().strip_prefix('(')?)?;
        let (hosted, is_error) = suffixes(rest.strip_prefix(')')?)?;
        (!is_error).then(|| Self::Use { name: name.to_owned(), id: id.into(), hosted })
    }

    fn read_result(rest: &str) -> Option<Self> {
        let (id, rest) = read_code_span(rest.trim_start())?;
        let (hosted, is_error) = suffixes(rest)?;
        Some(Self::Result { id: id.into(), is_error, hosted })
    }
}

/// Reads ` (provider)` and ` (error)` in any order: whether each is there. `None` if there is more.
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

/// Whether a line opens thinking: the tag alone on its line, with or without attributes.
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

/// What the attributes of a thinking tag say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ThinkingTag {
    pub redacted: bool,
    pub signature: Option<Signature>,
}

impl ThinkingTag {
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
                _ => {}
            }
        }
        tag
    }

    /// Every signature that a line names which [`opens_thinking`], those that are none of anybody's too: without a
    /// provider, or without a value.
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

    /// The attributes as they stand between `<thinking` and `>`, with a space in front.
    pub fn attributes(&self) -> String {
        let mut text = String::new();
        if self.redacted {
            text.push_str(" redacted");
        }
        if let Some(Signature { provider, value }) = &self.signature {
            // The name is ours, but a stray blank or quote in it must not break the tag.
            let provider: String = provider
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' })
                .collect();
            text.push_str(&format!(" {provider}:signature={}", attributes::quote(value)));
        }
        text
    }
}

#[cfg(test)]
#[path = "syntax_tests.rs"]
mod tests;
