//! Diagnostics: what is wrong with a document, where, and how to fix it.
//!
//! An error would make a request wrong or lose text, so the document cannot be sent. A warning does not prevent
//! sending. A call without a result is neither: it is normal during a turn, and [`Document::transcript`] reports it
//! when the document is sent.

use std::collections::HashSet;

use super::{
    BlockKind, Diagnostic, Document, InvalidHeader, ParsedMessage, ResultBody, StatusBlock, Text, attachment,
    attributes, calls::Turn, hosted::HostedInfo,
};
use flemma_model::CallId;
use flemma_text::Fence;

impl Document {
    /// All problems, by line. Correct parts are not checked again until they change: the first call checks every block,
    /// later ones only what is new or wrong.
    #[must_use]
    pub fn diagnostics(&self, text: &dyn Text) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        self.check_head(text, &mut found);
        if let Some(message) = self.messages.iter().find(|message| message.crlf) {
            let note = "This line ends with a carriage return (CRLF). Flemma ignores it. Use `:set fileformat=dos` or \
                        `:%s/\\r$//` to make the line endings consistent.";
            found.push(Diagnostic::warning(message.start, note));
        }
        for message in self.messages.iter().filter(|message| !message.checked.blocks.get()) {
            let before = found.len();
            check_blocks(message, text, &mut found);
            message.checked.blocks.set(found.len() == before);
        }
        let mut paired = self.messages.len();
        for turn in self.turns_backwards_to(self.paired.get()) {
            let before = found.len();
            self.check_pairs(&turn, &mut found);
            if found.len() > before {
                paired = turn.replies.start;
            }
        }
        self.paired.know(paired);
        found.sort_by_key(|diagnostic| diagnostic.line);
        found
    }

    fn check_head(&self, text: &dyn Text, found: &mut Vec<Diagnostic>) {
        let mut from = 0;
        if let Some(matter) = &self.frontmatter {
            from = matter.lines;
            if !matter.closed {
                let line = matter.fence.closing_line();
                let note = format!("The frontmatter is not closed. Close it with {line} before the first message.");
                return found.push(Diagnostic::error(0, note));
            }
        }
        let head = self.head();
        let mut length = 16;
        while from < head.end {
            let to = head.end.min(from + length);
            let mut line = from;
            let mut stray = None;
            text.read(from..to, &mut |content| {
                if stray.is_none() && !content.trim().is_empty() {
                    stray = Some(line);
                }
                line += 1;
            });
            if let Some(line) = stray {
                let note = "This text is before the first message and would not be sent. Put `@You:` (or `@System:`) \
                            on a line above it.";
                return found.push(Diagnostic::error(line, note));
            }
            from = to;
            length *= 2;
        }
    }

    /// Checks the calls of a turn against its results.
    fn check_pairs(&self, turn: &Turn, found: &mut Vec<Diagnostic>) {
        let mut uses = HashSet::new();
        for (site, tool) in self.uses_in(turn) {
            if !uses.insert(&tool.id) {
                let note = format!(
                    "Another call in this reply also has the id `{}`. Delete one of them, or change its id.",
                    tool.id
                );
                found.push(Diagnostic::error(self.line_of(site), note));
            }
        }
        let mut results = HashSet::new();
        for (site, result) in self.results_in(turn) {
            let line = self.line_of(site);
            if !results.insert(&result.id) {
                let note = format!("The call `{}` already has a result above. Delete one of them.", result.id);
                found.push(Diagnostic::error(line, note));
            } else if !uses.contains(&result.id) {
                let note = format!(
                    "Delete this result: the reply above has no call `{}`. Or restore its `**Tool Use:**` there.",
                    result.id
                );
                found.push(Diagnostic::error(line, note));
            }
        }
    }
}

fn check_blocks(message: &ParsedMessage, text: &dyn Text, found: &mut Vec<Diagnostic>) {
    for block in &message.blocks {
        let line = message.start + block.offset as usize;
        check_id(line, &block.kind, found);
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
            BlockKind::ToolUse(tool) => match tool.input {
                None => {
                    let note = format!(
                        "The call `{}` has no input. Put a `json` fence below its header (`{{}}` for no arguments).",
                        tool.id
                    );
                    found.push(Diagnostic::error(line, note));
                }
                Some(fence) if !block.closed => {
                    let note = unclosed(&format!("The input of the call `{}`", tool.id), fence.fence);
                    found.push(Diagnostic::error(line + fence.line as usize, note));
                }
                Some(fence) if tool.hosted => check_owner(line + fence.line as usize, text, found),
                Some(_) => {}
            },
            BlockKind::ToolResult(tool) => {
                match tool.body.fence() {
                    None => {
                        let note = format!(
                            "The result of the call `{}` has no fence below its header, so the call still has no \
                             result.",
                            tool.id
                        );
                        found.push(Diagnostic::warning(line, note));
                    }
                    Some(fence) if !block.closed => {
                        let note = unclosed(&format!("The result of the call `{}`", tool.id), fence.fence);
                        found.push(Diagnostic::error(line + fence.line as usize, note));
                    }
                    Some(fence) if tool.hosted => check_owner(line + fence.line as usize, text, found),
                    Some(_) => {}
                }
                match &tool.body {
                    ResultBody::Placeholder(fence, _) => check_status(line + fence.line as usize, text, found),
                    ResultBody::Attached(fence, _) => {
                        let line = line + fence.line as usize;
                        if let Some((_, info)) = Fence::open(&text.line(line)) {
                            attachment::check(line, info, found);
                        }
                    }
                    ResultBody::Output(_) | ResultBody::Missing => {}
                }
            }
            BlockKind::Stray(stray) => found.push(Diagnostic::error(line, describe(*stray))),
        }
    }
}

/// Checks the id of a call or a result. What the provider runs is known by its own block.
fn check_id(line: usize, kind: &BlockKind, found: &mut Vec<Diagnostic>) {
    let id = match kind {
        BlockKind::ToolUse(tool) if !tool.hosted => &tool.id,
        BlockKind::ToolResult(tool) if !tool.hosted => &tool.id,
        _ => return,
    };
    if id.0.contains(CallId::is_bad) {
        let note = "The id in this line has a control character or a backtick. Write another id in the header of the call, \
                    and in that of its result, such as `call_1`.";
        found.push(Diagnostic::error(line, note));
    }
}

/// Checks the provider of a hosted block.
fn check_owner(line: usize, text: &dyn Text, found: &mut Vec<Diagnostic>) {
    if HostedInfo::read(&text.line(line)).provider.is_empty() {
        let note = "This block does not name its provider, so it is not sent. Write `provider=anthropic`, with the \
                    name of the provider that made it, after the first word of the fence.";
        found.push(Diagnostic::warning(line, note));
    }
}

/// Checks the info string of a status block. An unknown status prevents every tool from running, because it is not
/// clear what the user wants.
fn check_status(line: usize, text: &dyn Text, found: &mut Vec<Diagnostic>) {
    let content = text.line(line);
    let Some((_, info)) = Fence::open(&content) else { return };
    if let Some((block, fault)) = StatusBlock::read(info) {
        found.extend(fault.map(|fault| Diagnostic::error(line, fault.to_string())));
        found.extend(block.wait_faults().into_iter().map(|fault| Diagnostic::error(line, fault)));
    }
    let (_, words) = info.split_once(char::is_whitespace).unwrap_or((info, ""));
    for attribute in attributes::read(words).into_iter().filter(|attribute| attribute.key != "status") {
        let key = attribute.key;
        if attribute.value.is_none() {
            let note = format!("`{key}` has no value and is ignored. Write it as `{key}=value`.");
            found.push(Diagnostic::warning(line, note));
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

const fn describe(stray: InvalidHeader) -> &'static str {
    match stray {
        InvalidHeader::BrokenUse => {
            "This tool use is not complete. Write it as **Tool Use:** `name` (`id`) or, to send this line as text, put a \
             backslash in front of it."
        }
        InvalidHeader::BrokenResult => {
            "This tool result is not complete. Write it as **Tool Result:** `id` (followed by (error) if it is one) or, \
             to send this line as text, put a backslash in front of it."
        }
        InvalidHeader::MisplacedUse => {
            "A tool use can only be in `@Assistant:`. To send this line as text, put a backslash in front of it."
        }
        InvalidHeader::MisplacedResult => {
            "A tool result can only be in `@You:`. To send this line as text, put a backslash in front of it."
        }
        InvalidHeader::MisplacedHostedResult => {
            "A result from a provider's tool can only be in `@Assistant:`. To send this line as text, put a backslash \
             in front of it."
        }
    }
}
