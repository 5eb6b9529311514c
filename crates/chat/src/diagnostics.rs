//! Diagnostics: what is wrong with a document, where, and how to fix it.
//!
//! An error would make a request wrong or lose text, so the document cannot be sent. A warning does not prevent
//! sending. A call without a result is neither: it is normal during a turn, and [`Document::transcript`] reports it
//! when the document is sent.

use std::collections::{HashMap, HashSet};

use serde::{Serialize, de::IgnoredAny};

use super::{
    Block, BlockKind, Calls, Document, ParsedMessage, ResultBody, Slice, StatusBlock, Text, ToolResult, ToolUse,
    attachment, attributes, calls::Turn, escape::unescape_lines, fork, hosted::HostedInfo, syntax::ThinkingTag,
};
use flemma_model::{CallId, ToolInput};
use flemma_provider::signers;
use flemma_text::Fence;

/// The severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A warning.
    Warning,
    /// The document cannot be sent as it is.
    Error,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The line, from 0.
    pub line: usize,
    /// The severity.
    pub severity: Severity,
    /// The message: what is wrong and how to fix it. It does not contain the line number.
    pub message: String,
}

impl Diagnostic {
    /// An error, which prevents sending.
    pub(super) fn error(line: usize, message: impl Into<String>) -> Self {
        Self { line, severity: Severity::Error, message: message.into() }
    }

    pub(super) fn warning(line: usize, message: impl Into<String>) -> Self {
        Self { line, severity: Severity::Warning, message: message.into() }
    }
}

/// All problems, by line. Correct parts are not checked again until they change: the first call checks every block,
/// later ones only what is new or wrong.
pub fn diagnostics(document: &Document, text: &dyn Text) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    found.extend(head_problem(document, text));
    if let Some(message) = document.messages().iter().find(|message| message.crlf) {
        let note = "This line ends with a carriage return (CRLF). Flemma ignores it. Use `:set fileformat=dos` or \
                    `:%s/\\r$//` to make the line endings consistent.";
        found.push(Diagnostic::warning(message.start, note));
    }
    for message in document.messages().iter().filter(|message| !message.known.0.blocks_are_correct.get()) {
        let before = found.len();
        message.blocks.iter().for_each(|block| check_block(message, block, text, &mut found));
        message.known.0.blocks_are_correct.set(found.len() == before);
    }
    let (calls, mut paired) = (document.calls(), document.messages().len());
    for turn in calls.turns_backwards_to(document.paired.0.get()) {
        let before = found.len();
        check_pairs(calls, &turn, text, &mut found);
        if found.len() > before {
            paired = turn.replies.start;
        }
    }
    document.paired.0.set(paired);
    found.sort_by_key(|diagnostic| diagnostic.line);
    found
}

fn head_problem(document: &Document, text: &dyn Text) -> Option<Diagnostic> {
    let matter = document.frontmatter();
    if let Some(matter) = matter.filter(|matter| !matter.closed) {
        let line = matter.fence.closing_line();
        let note = format!("The frontmatter is not closed. Close it with {line} before the first message.");
        return Some(Diagnostic::error(0, note));
    }
    let mut line = text.first_written(matter.map_or(0, |matter| matter.lines)..document.head().end)?;
    if fork::is_note(&text.line(line)) {
        line = text.first_written(line + 1..document.head().end)?;
    }
    let note =
        "This text is before the first message and would not be sent. Put `@You:` (or `@System:`) on a line above it.";
    Some(Diagnostic::error(line, note))
}

/// Checks the calls of a turn against its results, and whether the input of one that has a status block can still be read: only the
/// user has changed it since.
fn check_pairs(calls: Calls<'_>, turn: &Turn, text: &dyn Text, found: &mut Vec<Diagnostic>) {
    for open in calls.open_in(turn).iter().filter(|open| open.status().is_some()) {
        let (call, fence) = (open.call.describe(None, text), open.call.block.tool_fence());
        if let (ToolInput::Malformed(input), Some(fence)) = (&*call.input, fence)
            && let Err(error) = serde_json::from_str::<HashMap<String, IgnoredAny>>(input)
        {
            let (id, line, column) = (call.id, call.line + fence.line as usize + error.line(), error.column());
            let words = error.to_string();
            let what = words.split(" at line").next().unwrap_or_default();
            let note = format!("The input of the call `{id}` is not valid JSON: {what}, column {column}. Correct it.");
            found.push(Diagnostic::error(line, note));
        }
    }
    let mut uses = HashSet::new();
    for call in calls.uses_in(turn) {
        let id = &call.tool.id;
        if !uses.insert(id) {
            let note =
                format!("Another call in this reply also has the id `{id}`. Delete one of them, or change its id.");
            found.push(Diagnostic::error(call.lines().start, note));
        }
    }
    let mut results = HashSet::new();
    for result in calls.results_in(turn) {
        let id = &result.tool.id;
        let note = if !results.insert(id) {
            format!("The call `{id}` already has a result above. Delete one of them.")
        } else if !uses.contains(id) {
            format!("Delete this result: the reply above has no call `{id}`. Or restore its `**Tool Use:**` there.")
        } else {
            continue;
        };
        found.push(Diagnostic::error(result.lines().start, note));
    }
}

fn check_block(message: &ParsedMessage, block: &Block, text: &dyn Text, found: &mut Vec<Diagnostic>) {
    let line = message.lines_of(block).start;
    match &block.kind {
        BlockKind::Text | BlockKind::Aborted => {}
        BlockKind::CodeFence(code) => {
            if code.reserved {
                let note = "This fence belongs to Flemma (its info string begins with `flemma:`), but has no \
                            `**Tool Result:**` header above it. Restore the header, or delete the block.";
                found.push(Diagnostic::error(line, note));
            }
            if !block.closed {
                found.push(Diagnostic::warning(line, unclosed("This code fence", code.fence)));
            }
        }
        BlockKind::Thinking if block.closed => {}
        BlockKind::Thinking => {
            let note = "`<thinking>` is not closed, so everything below it counts as thinking. Close it with a \
                        line `</thinking>`.";
            found.push(Diagnostic::error(line, note));
        }
        BlockKind::ToolUse(tool) => {
            let ToolUse { id, hosted, .. } = &**tool;
            let note =
                format!("The call `{id}` has no input. Put a `json` fence below its header (`{{}}` for no arguments).");
            let missing = Diagnostic::error(line, note);
            check_tool(block, (id, *hosted), "The input of the call", missing, text, found);
        }
        BlockKind::ToolResult(tool) => {
            let ToolResult { id, hosted, body, .. } = &**tool;
            let note = format!(
                "The result of the call `{id}` has no fence below its header, so the call still has no result."
            );
            let missing = Diagnostic::warning(line, note);
            check_tool(block, (id, *hosted), "The result of the call", missing, text, found);
            let Some(fence) = body.fence() else { return };
            let line = line + fence.line as usize;
            let content = text.line(line);
            match (body, Fence::open(&content)) {
                (ResultBody::Placeholder(..), Some((_, info))) => check_status(line, info, found),
                (ResultBody::Attached(..), Some((_, info))) => attachment::check(line, info, found),
                _ => {}
            }
        }
        BlockKind::Stray(note) => found.push(Diagnostic::error(line, *note)),
    }
}

/// Checks the id and the fence of a call or a result, and whether it names the provider that has run it. `missing` is said if there
/// is no fence.
fn check_tool(
    block: &Block,
    (id, is_hosted): (&CallId, bool),
    what: &str,
    missing: Diagnostic,
    text: &dyn Text,
    found: &mut Vec<Diagnostic>,
) {
    let line = missing.line;
    // What the provider runs is known by its own block.
    if !is_hosted && id.0.contains(CallId::is_bad) {
        let note = "The id in this line has a control character or a backtick. Write another id in the header of the call, \
                    and in that of its result, such as `call_1`.";
        found.push(Diagnostic::error(line, note));
    }
    let Some(fence) = block.tool_fence() else { return found.push(missing) };
    let line = line + fence.line as usize;
    if !block.closed {
        found.push(Diagnostic::error(line, unclosed(&format!("{what} `{id}`"), fence.fence)));
    } else if is_hosted && HostedInfo::read(&text.line(line)).provider.is_empty() {
        let note = "This block does not name its provider, so it is not sent. Write `provider=anthropic`, with the \
                    name of the provider that made it, after the first word of the fence.";
        found.push(Diagnostic::warning(line, note));
    }
}

/// Checks the info string of a status block. An unknown status prevents every tool from running, because it is not
/// clear what the user wants.
fn check_status(line: usize, info: &str, found: &mut Vec<Diagnostic>) {
    if let Some((block, fault)) = StatusBlock::read(info) {
        found.extend(fault.map(|fault| Diagnostic::error(line, fault)));
        found.extend(block.wait_faults().into_iter().map(|fault| Diagnostic::error(line, fault)));
    }
    let (_, words) = attributes::split(info);
    for attribute in attributes::read(words).into_iter().filter(|attribute| attribute.key != "status") {
        let key = attribute.key;
        if attribute.value.is_none() {
            found.push(Diagnostic::warning(line, attributes::lacks_value(key)));
        } else if !attribute.sound {
            let written = &words[attribute.at];
            let note = format!("`{key}={written}` is not valid. Write the value as one word, or in double quotes.");
            found.push(Diagnostic::warning(line, note));
        }
    }
}

fn unclosed(what: &str, fence: Fence) -> String {
    format!("{what} is not closed. Close it with {}.", fence.closing_line())
}

/// The maximum number of wrong letters in a provider's name for a suggestion.
const SLIP: usize = 2;

/// A warning for every block of thinking that cannot be sent: because no provider can read its signature, or because its text was
/// signed and has changed. Other tools write this format too, with signatures in their own forms, and people edit files. Thinking
/// without a signature is not reported: it is only for the reader. It reads the first line of each block, and all lines
/// of hidden thinking without a signature and of thinking whose text was signed, unless the block was correct before and
/// has not changed.
pub fn unsent(messages: &[ParsedMessage], text: &dyn Text) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|message| !message.known.0.thinking_is_correct.get()) {
        let before = found.len();
        for block in message.blocks.iter().filter(|block| block.closed && block.kind == BlockKind::Thinking) {
            let line = message.lines_of(block).start;
            found.extend(problem(message, block, text).map(|note| Diagnostic::warning(line, note)));
        }
        message.known.0.thinking_is_correct.set(found.len() == before);
    }
    found
}

/// Why this thinking cannot be sent.
fn problem(message: &ParsedMessage, block: &Block, text: &dyn Text) -> Option<String> {
    let line = text.line(message.lines_of(block).start);
    let tag = ThinkingTag::read(&line);
    let thought = || Slice::read(text, message.lines_of(block)).inside(message, block);
    let signatures = ThinkingTag::signatures(&line);
    let Some(signature) = signatures.first() else {
        let is_lost = tag.redacted && flemma_provider::redacted_signature(&thought()).is_none();
        let note = "This hidden thinking has no provider and no data, so it is not sent back.";
        return is_lost.then(|| note.to_owned());
    };
    let name = signature.provider.as_str();
    if signatures.len() > 1 {
        return Some("This thinking has several signatures. Only the first one is used.".to_owned());
    }
    if name.is_empty() {
        let note = "This signature does not name its provider, so it is not sent. Write `anthropic:signature=…`, with \
                    the name of the provider that made it.";
        return Some(note.to_owned());
    }
    if !signers().any(|known| known == name) {
        let near = signers().find(|known| strsim::osa_distance(known, name) <= SLIP);
        let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Some(format!("There is no provider `{name}`, so this signature is not sent{meant}"));
    }
    if !flemma_provider::is_readable(signature) {
        return Some(format!("This signature from `{name}` is not valid, so the thinking is not sent back."));
    }
    let note = || format!("This is not the text that `{name}` has signed, so the thinking is not sent back.");
    (!tag.is_of(|| unescape_lines(&thought()))).then(note)
}
