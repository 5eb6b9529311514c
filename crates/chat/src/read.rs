//! Reads blocks: converts lines back to their content.
//!
//! The lines of a message are read once, into one buffer. Carriage returns at the end of a line are dropped, and the
//! backslash that [`escape()`](super::escape()) added is removed.

use std::{collections::HashSet, ops::Range, sync::Arc};

use serde_json::{Value, json};

use super::{
    Block, BlockKind, Diagnostic, ParsedMessage, ResultBody, Speaker, Text,
    escape::{unescape, unescape_lines},
    hosted::{self, HostedInfo},
    reference::{Reference, references},
    syntax::{self, ThinkingTag},
};
use flemma_model as model;
use flemma_model::{Attachment, Part, ToolInput};

/// Some lines, in one buffer.
pub(super) struct Lines {
    buffer: String,
    ends: Vec<usize>,
}

impl Lines {
    /// Reads `lines`, without carriage returns at their ends.
    pub fn read(text: &dyn Text, lines: Range<usize>) -> Self {
        let mut read = Self { buffer: String::new(), ends: Vec::with_capacity(lines.len()) };
        text.read(lines, &mut |line| {
            read.buffer.push_str(line.trim_end_matches('\r'));
            read.ends.push(read.buffer.len());
        });
        read
    }

    /// One line; empty past the end.
    fn get(&self, line: usize) -> &str {
        let start = if line == 0 { Some(&0) } else { self.ends.get(line - 1) };
        match (start, self.ends.get(line)) {
            (Some(start), Some(end)) => &self.buffer[*start..*end],
            _ => "",
        }
    }

    /// The joined lines between the opening line `open` and the end of a block.
    fn between(&self, open: usize, end: usize, closed: bool) -> String {
        let last = if closed { end.saturating_sub(1) } else { end };
        let mut content = String::new();
        for line in open + 1..last {
            if line > open + 1 {
                content.push('\n');
            }
            content.push_str(self.get(line));
        }
        content
    }

    /// The content of the fence of a tool block that starts at line `at`.
    pub fn fenced(&self, block: &Block, at: usize) -> String {
        let Some(fence) = block.tool_fence() else { return String::new() };
        self.between(at + fence.line as usize, at + block.lines as usize, block.closed)
    }

    /// The input of a tool use that starts at line `at`.
    ///
    /// A `json` fence contains any JSON. Flemma writes a fence without a language for input that is not valid JSON; the
    /// user may have corrected it to a JSON object.
    pub fn input(&self, block: &Block, at: usize) -> ToolInput {
        let content = self.fenced(block, at);
        let json = block.tool_fence().is_some_and(|fence| fence.json);
        match serde_json::from_str::<Value>(&content) {
            Ok(value) if json || value.is_object() => ToolInput::Json(value),
            _ => ToolInput::Malformed(content),
        }
    }

    /// The provider and the kind of the hosted block that starts at line `at`.
    pub fn mark(&self, block: &Block, at: usize) -> HostedInfo {
        HostedInfo::read(block.tool_fence().map_or("", |fence| self.get(at + fence.line as usize)))
    }

    /// The text between thinking tags.
    fn thinking(&self, block: &Block, at: usize) -> String {
        let text = self.between(at, at + block.lines as usize, block.closed);
        if text.contains('\\') { unescape_lines(&text) } else { text }
    }
}

/// Builds the message for providers. It depends only on the message's own lines.
///
/// # Errors
/// When a hosted block does not contain valid JSON.
pub(super) fn build(message: &ParsedMessage, text: &dyn Text) -> Result<Arc<model::Message>, Diagnostic> {
    let mut lines = Lines::read(text, message.range());
    lines.drop_marker();
    let mut parts = Parts::default();
    for block in &message.blocks {
        let at = block.offset as usize;
        let damaged = || {
            let note = "This block from a provider's tool is no longer valid JSON. Undo the change, or delete the \
                        call and its result.";
            Diagnostic::error(message.start + at, note)
        };
        let vendor_json = || match lines.input(block, at) {
            ToolInput::Json(value) => Ok(value),
            ToolInput::Malformed(_) => Err(damaged()),
        };
        match &block.kind {
            BlockKind::Text | BlockKind::CodeFence(_) | BlockKind::Stray(_) => {
                let has_references = message.role == Speaker::You && block.kind == BlockKind::Text;
                for line in at..block.end() {
                    let content = lines.get(line);
                    if has_references {
                        parts.files.extend(references(content).iter().filter_map(Reference::attachment));
                    }
                    parts.prose.push_str(unescape(content));
                    parts.prose.push('\n');
                }
            }
            BlockKind::Aborted => parts.end_prose(),
            BlockKind::Thinking => {
                let tag = ThinkingTag::read(lines.get(at));
                let text = lines.thinking(block, at);
                // Other tools write the hidden data between the tags.
                let hidden = || flemma_provider::redacted_signature(&text).filter(|_| tag.redacted);
                parts.push(match tag.signature.clone().filter(|_| tag.redacted).or_else(hidden) {
                    Some(signature) => Part::RedactedThinking(signature),
                    None => {
                        let is_sent = !tag.redacted && tag.is_of(|| &text);
                        Part::Thinking { signature: tag.signature.filter(|_| is_sent), text }
                    }
                });
            }
            BlockKind::ToolUse(tool) if tool.hosted => {
                let raw = vendor_json()?;
                // The reply was aborted before the result. A call without a result is never sent back.
                if !message.is_aborted() || message.answers_hosted(&tool.id) {
                    let HostedInfo { provider, .. } = lines.mark(block, at);
                    parts.push(Part::HostedUse { provider, id: tool.id.clone(), name: tool.name.clone(), raw });
                }
            }
            BlockKind::ToolUse(tool) => {
                let input = match lines.input(block, at) {
                    ToolInput::Json(value) => value,
                    ToolInput::Malformed(text) => json!({ "malformed_json": text }),
                };
                parts.push(Part::ToolUse { id: tool.id.clone(), name: tool.name.clone(), input });
            }
            BlockKind::ToolResult(tool) if tool.hosted => {
                let HostedInfo { provider, is_sources } = lines.mark(block, at);
                parts.push(if is_sources {
                    let content = lines.fenced(block, at);
                    let (sources, raw) = hosted::read_citations(&content).ok_or_else(damaged)?;
                    Part::Citations { provider, sources, raw }
                } else {
                    let (id, raw) = (tool.id.clone(), vendor_json()?);
                    Part::HostedResult { provider, id, raw, is_error: tool.is_error }
                });
            }
            BlockKind::ToolResult(tool) => {
                let attachments = match &tool.body {
                    ResultBody::Output(_) => Vec::new(),
                    ResultBody::Attached(_, attachments) => attachments.clone(),
                    ResultBody::Placeholder(..) | ResultBody::Missing => continue,
                };
                let output = lines.fenced(block, at).into();
                parts.push(Part::ToolResult { id: tool.id.clone(), output, is_error: tool.is_error, attachments });
            }
        }
    }
    parts.end_prose();
    let role = if message.role == Speaker::Assistant { model::Role::Assistant } else { model::Role::User };
    Ok(Arc::new(model::Message { role, parts: parts.done }))
}

impl Lines {
    /// Removes the role marker from the first line.
    fn drop_marker(&mut self) {
        let column = syntax::marker(self.get(0)).map_or(0, |(_, column)| column);
        self.buffer.drain(..column);
        for end in &mut self.ends {
            *end -= column;
        }
    }
}

/// The parts of a message that is being built.
#[derive(Default)]
struct Parts {
    done: Vec<Part>,
    prose: String,
    /// The files that the prose names. They follow it, each file once per message.
    files: Vec<Attachment>,
    /// The files that were named before.
    known: HashSet<Attachment>,
}

impl Parts {
    fn push(&mut self, part: Part) {
        self.end_prose();
        self.done.push(part);
    }

    fn end_prose(&mut self) {
        let text = trim_blank_lines(&self.prose);
        if !text.is_empty() {
            self.done.push(Part::Text(text.to_owned()));
        }
        self.prose.clear();
        for file in self.files.drain(..) {
            if self.known.insert(file.clone()) {
                self.done.push(Part::Attachment(file));
            }
        }
    }
}

/// The text without blank lines at its ends. White space in the remaining lines is kept.
pub(super) fn trim_blank_lines(text: &str) -> &str {
    let Some(first) = text.find(|c: char| !c.is_whitespace()) else { return "" };
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let last = text.trim_end().len();
    let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline);
    &text[start..end]
}
