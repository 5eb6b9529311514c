//! Reads blocks: converts lines back to their content.
//!
//! The lines of a message are read once, into one buffer. Carriage returns at the end of a line are dropped, and the
//! backslash that [`escape()`](super::escape()) added is removed.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Value, json};

use super::{
    Block, BlockKind, Diagnostic, ParsedMessage, ResultBody, Slice, Speaker, Text,
    captured::captured_at,
    escape::{unescape, unescape_lines},
    hosted::{self, HostedInfo},
    reference::{Reference, references},
    syntax::ThinkingTag,
};
use flemma_model as model;
use flemma_model::{Attachment, Hosted, HostedBlock, Part, ToolInput};

impl Slice<'_> {
    /// One line without carriage returns at its end; empty outside of the lines that were read.
    fn content(&self, line: usize) -> &str {
        self.get(line).unwrap_or_default().trim_end_matches('\r')
    }

    /// The joined lines inside a fence or inside thinking.
    pub(super) fn inside(&self, message: &ParsedMessage, block: &Block) -> String {
        let lines: Vec<&str> = message.inside(block).unwrap_or_default().map(|line| self.content(line)).collect();
        lines.join("\n")
    }

    /// The input of a tool use.
    ///
    /// A `json` fence contains any JSON. Flemma writes a fence without a language for input that is not valid JSON; the
    /// user may have corrected it to a JSON object.
    pub(super) fn input(&self, message: &ParsedMessage, block: &Block) -> ToolInput {
        let content = self.inside(message, block);
        let json = block.tool_fence().is_some_and(|fence| fence.json);
        match serde_json::from_str::<Value>(&content) {
            Ok(value) if json || value.is_object() => ToolInput::Json(value),
            _ => ToolInput::Malformed(content),
        }
    }
}

/// Builds the message for providers. It depends only on the message's own lines.
///
/// # Errors
/// When a hosted block does not contain valid JSON.
pub(super) fn build(message: &ParsedMessage, text: &dyn Text) -> Result<Arc<model::Message>, Diagnostic> {
    let lines = Slice::read(text, message.range());
    let mut parts = Parts::default();
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text | BlockKind::CodeFence(_) | BlockKind::Stray(_) => {
                if let Some((of, _)) = captured_at(message, block, text) {
                    parts.files.retain(|(written, _)| *written != of);
                }
                let has_references = message.role == Speaker::You && block.kind == BlockKind::Text;
                for line in message.lines_of(block) {
                    let content = lines.content(line);
                    parts.line(&content[message.text_at(line, content)..], has_references);
                }
            }
            BlockKind::Aborted => parts.end_prose(),
            BlockKind::Thinking => {
                let first = message.lines_of(block).start;
                let content = lines.content(first);
                let tag = ThinkingTag::read(&content[message.text_at(first, content)..]);
                parts.push(thinking(tag, unescape_lines(&lines.inside(message, block))));
            }
            BlockKind::ToolUse(tool) if tool.hosted => {
                let raw = vendor_json(message, block, &lines)?;
                // The reply was aborted before the result. A call without a result is never sent back.
                if !message.is_aborted() || message.hosted_result(&tool.id).is_some() {
                    let HostedInfo { provider, .. } = hosted_info(message, block, &lines);
                    let call = HostedBlock::Call { id: tool.id.clone(), name: tool.name.clone(), raw };
                    parts.push(Part::Hosted(Hosted { provider, block: call }));
                }
            }
            BlockKind::ToolUse(tool) => {
                let input = match lines.input(message, block) {
                    ToolInput::Json(value) => value,
                    ToolInput::Malformed(text) => json!({ "malformed_json": text }),
                };
                parts.push(Part::ToolUse { id: tool.id.clone(), name: tool.name.clone(), input });
            }
            BlockKind::ToolResult(tool) if tool.hosted => {
                let HostedInfo { provider, is_sources } = hosted_info(message, block, &lines);
                let block = if is_sources {
                    let sources = hosted::read_citations(&lines.inside(message, block));
                    let (sources, raw) = sources.ok_or_else(|| damaged(message, block))?;
                    HostedBlock::Citations { sources, raw }
                } else {
                    let raw = vendor_json(message, block, &lines)?;
                    HostedBlock::Result { id: tool.id.clone(), raw, is_error: tool.is_error }
                };
                parts.push(Part::Hosted(Hosted { provider, block }));
            }
            BlockKind::ToolResult(tool) => {
                let attachments = match &tool.body {
                    ResultBody::Output(_) => Vec::new(),
                    ResultBody::Attached(_, attachments) => attachments.clone(),
                    ResultBody::Placeholder(..) | ResultBody::Missing => continue,
                };
                let output = lines.inside(message, block).into();
                parts.push(Part::ToolResult { id: tool.id.clone(), output, is_error: tool.is_error, attachments });
            }
        }
    }
    parts.end_prose();
    let role = if message.role == Speaker::Assistant { model::Role::Assistant } else { model::Role::User };
    Ok(Arc::new(model::Message { role, parts: parts.done }))
}

/// Thinking as it is sent.
fn thinking(tag: ThinkingTag, text: String) -> Part {
    // Other tools write the hidden data between the tags.
    let hidden = || flemma_provider::redacted_signature(&text).filter(|_| tag.redacted);
    match tag.signature.clone().filter(|_| tag.redacted).or_else(hidden) {
        Some(signature) => Part::RedactedThinking(signature),
        None => {
            let is_sent = !tag.redacted && tag.is_of(|| &text);
            Part::Thinking { signature: tag.signature.filter(|_| is_sent), text }
        }
    }
}

/// The provider and the kind of a hosted block.
fn hosted_info(message: &ParsedMessage, block: &Block, lines: &Slice<'_>) -> HostedInfo {
    HostedInfo::read(message.fence_of(block).map_or("", |fence| lines.content(fence)))
}

fn vendor_json(message: &ParsedMessage, block: &Block, lines: &Slice<'_>) -> Result<Value, Diagnostic> {
    match lines.input(message, block) {
        ToolInput::Json(value) => Ok(value),
        ToolInput::Malformed(_) => Err(damaged(message, block)),
    }
}

fn damaged(message: &ParsedMessage, block: &Block) -> Diagnostic {
    let note = "This block from a provider's tool is no longer valid JSON. Undo the change, or delete the call and its result.";
    Diagnostic::error(message.lines_of(block).start, note)
}

/// The parts of a message that is being built.
#[derive(Default)]
struct Parts {
    done: Vec<Part>,
    prose: String,
    /// The files that the prose names, and the references. They follow it, each file once per message.
    files: Vec<(String, Attachment)>,
    /// The files that were named before.
    known: HashSet<Attachment>,
}

impl Parts {
    fn push(&mut self, part: Part) {
        self.end_prose();
        self.done.push(part);
    }

    /// A line of prose, or of code in it.
    fn line(&mut self, content: &str, has_references: bool) {
        if has_references {
            let named = references(content).into_iter();
            let written = |one: &Reference| content[one.columns.clone()].to_owned();
            self.files.extend(named.filter_map(|one| Some((written(&one), one.attachment()?))));
        }
        self.prose.push_str(unescape(content));
        self.prose.push('\n');
    }

    fn end_prose(&mut self) {
        let text = trim_blank_lines(&self.prose);
        if !text.is_empty() {
            self.done.push(Part::Text(text.to_owned()));
        }
        self.prose.clear();
        for (_, file) in self.files.drain(..) {
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
