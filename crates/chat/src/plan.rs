//! Planners: the smallest edits that bring a document from one state to the next.
//!
//! A planner reads the document and returns edits, which the caller applies *in the given order*. Edits go from the
//! bottom to the top, so that one edit does not move the position of the next. They insert text, or replace text that
//! Flemma wrote. They never change the user's text.
//!
//! The place of a result is after the nearest result of an earlier call in its turn; otherwise before the nearest
//! result of a later one; otherwise at the top of the `@You:` after the reply; otherwise in a new `@You:`.

use std::collections::{BTreeMap, HashMap};

use super::{
    BlockKind, Document, Language, Position, ResultBody, Speaker, Status, StatusBlock, Text, TextEdit, ToolFence,
    attributes, blocks,
    calls::{Site, Turn},
    escape::escape,
    syntax,
};
use flemma_model::{Attachment, CallId};
use flemma_text::Fence;

/// Inserts a placeholder for every call in `calls` that has no result and no placeholder.
///
/// Placeholders are in the `@You:` message after the reply, in call order, and before the user's text. The message is
/// created if it does not exist. A result header without a fence gets a fence. Calls that are not open are skipped.
/// Edits go from the bottom to the top.
#[must_use]
pub fn insert_placeholders(document: &Document, text: &dyn Text, calls: &[(CallId, StatusBlock)]) -> Vec<TextEdit> {
    let mut plan = Plan::new(document, text);
    for (id, block) in calls {
        let Some((turn, site, result)) = document.find_open(id) else { continue };
        match result {
            None => plan.insert(&turn, site, blocks::placeholder(id, block)),
            Some(site) => plan.fill(site, blocks::fenced(&block.info(), "")),
        }
    }
    plan.edits()
}

/// Sets the status of a call's placeholder. Only that word changes; see [`set_block`] for the rest.
#[must_use]
pub fn set_status(document: &Document, text: &dyn Text, id: &CallId, status: Status) -> Vec<TextEdit> {
    let Some((_, _, Some(site))) = document.find_open(id) else { return Vec::new() };
    let Some((line, _)) = placeholder(document, site) else { return Vec::new() };
    let content = text.line(line);
    let Some((_, info)) = Fence::open(&content) else { return Vec::new() };
    // The info string is a slice of the line, so its position is the difference of the addresses.
    let start = content.len() - content.trim_start_matches([' ', '`', '~']).trim_start().len();
    let word = start + info.find(char::is_whitespace).unwrap_or(info.len());
    let words = &content[word..start + info.len()];
    let found = attributes::read(words).into_iter().find(|attribute| attribute.key == "status");
    let edit = match found {
        Some(attribute) if attribute.value.is_some() => {
            let (from, to) = (word + attribute.at.start, word + attribute.at.end);
            TextEdit {
                start: Position { line, column: from },
                end: Position { line, column: to },
                lines: vec![status.to_string()],
            }
        }
        Some(flag) => TextEdit::insert(Position { line, column: word + flag.at.end }, vec![format!("={status}")]),
        None => TextEdit::insert(Position { line, column: word }, vec![format!(" status={status}")]),
    };
    vec![edit]
}

/// Replaces the info string of a call's placeholder. What the user has written in the block stays.
#[must_use]
pub fn set_block(document: &Document, text: &dyn Text, id: &CallId, block: &StatusBlock) -> Vec<TextEdit> {
    let Some((_, _, Some(site))) = document.find_open(id) else { return Vec::new() };
    let Some((line, _)) = placeholder(document, site) else { return Vec::new() };
    let content = text.line(line);
    let Some((_, info)) = Fence::open(&content) else { return Vec::new() };
    let start = content.len() - content.trim_start_matches([' ', '`', '~']).trim_start().len();
    let new = block.info();
    if info == new {
        return Vec::new();
    }
    let (from, to) = (Position { line, column: start }, Position { line, column: start + info.len() });
    vec![TextEdit { start: from, end: to, lines: vec![new] }]
}

/// Writes the result of an open call: in place of its placeholder, below an empty header, or as a new block. The fence
/// names the language of the output. One final line break of the output only ends its last line and is left out.
///
/// There are no edits for a call that is not open, or whose place is inside thinking or a tool's fence that is not
/// closed. Edits go from the bottom to the top.
#[must_use]
pub fn write_result(
    document: &Document,
    text: &dyn Text,
    id: &CallId,
    output: &str,
    is_error: bool,
    language: Language,
) -> Vec<TextEdit> {
    let output = output.strip_suffix('\n').unwrap_or(output);
    let block = blocks::tool_result(id, output, is_error, language);
    answer(document, text, id, is_error, block, blocks::output_fence(output, language))
}

/// Like [`write_result`], for a result with attachments. The files are named in an info string that no output can write.
#[must_use]
pub fn write_result_with_attachments(
    document: &Document,
    text: &dyn Text,
    id: &CallId,
    output: &str,
    is_error: bool,
    attachments: &[Attachment],
) -> Vec<TextEdit> {
    let output = output.strip_suffix('\n').unwrap_or(output);
    let block = blocks::attached_result(id, output, is_error, attachments);
    answer(document, text, id, is_error, block, blocks::attached_fence(output, attachments))
}

/// Inserts `block` at the place of an open call's result, or `fence` if the header is already there.
fn answer(
    document: &Document,
    text: &dyn Text,
    id: &CallId,
    is_error: bool,
    block: Vec<String>,
    fence: Vec<String>,
) -> Vec<TextEdit> {
    let Some((turn, site, result)) = document.find_open(id) else { return Vec::new() };
    let mut plan = Plan::new(document, text);
    let Some(site) = result else {
        plan.insert(&turn, site, block);
        return plan.edits();
    };
    plan.replace_placeholder(site, fence);
    let mut edits = plan.edits();
    edits.extend(mark_error(document, text, site, is_error));
    edits
}

/// Appends a prompt: the document then ends with `@You:` and an empty line, or with the text that the user has begun
/// there. The second value is the position for the cursor.
#[must_use]
pub fn open_prompt(document: &Document, text: &dyn Text) -> (Vec<TextEdit>, Position) {
    let count = text.line_count();
    let last = count.saturating_sub(1);
    let content = text.line(last);
    let end = Position { line: last, column: text.length(last) };
    let blank = content.trim().is_empty();
    let append = |lines: Vec<&str>| {
        let at = Position { line: last + lines.len() - 1, column: 0 };
        (vec![TextEdit::insert(end, lines.into_iter().map(str::to_owned).collect())], at)
    };
    let Some(message) = document.messages().last() else {
        return match (count <= 1 && content.is_empty(), blank) {
            (true, _) => append(vec!["@You:", ""]),
            (false, true) => append(vec!["", "@You:", ""]),
            (false, false) => append(vec!["", "", "@You:", ""]),
        };
    };
    if message.swallows() {
        return (Vec::new(), end);
    }
    if message.role != Speaker::You {
        return append(if blank { vec!["", "@You:", ""] } else { vec!["", "", "@You:", ""] });
    }
    match message.blocks.last() {
        None => append(vec!["", ""]),
        Some(block) if block.is_tool() => append(vec!["", "", ""]),
        // A blank line separates a result from the text that is written next.
        Some(block) if block.lines == 1 && blank && message.blocks.len() > 1 => append(vec!["", ""]),
        Some(block) if message.blocks.len() == 1 && block.kind == BlockKind::Text => {
            let lines = message.lines_of(block);
            let mut empty = true;
            text.read(lines.clone(), &mut |line| empty &= line.trim().is_empty());
            // The first line of an empty prompt.
            if empty { (Vec::new(), Position { line: lines.start, column: 0 }) } else { (Vec::new(), end) }
        }
        Some(_) => (Vec::new(), end),
    }
}

/// Appends words of the user to the text under the last prompt, as a paragraph of their own. Nothing in them acts as more than
/// text.
#[must_use]
pub fn append_words(text: &dyn Text, words: &str) -> TextEdit {
    let last = text.line_count().saturating_sub(1);
    let before = last.checked_sub(1).map(|line| text.line(line)).unwrap_or_default();
    let is_prompt = syntax::marker(&before).is_some_and(|(_, column)| before[column..].trim().is_empty());
    let mut lines: Vec<String> =
        words.trim_end_matches('\n').split('\n').map(|line| escape(line).into_owned()).collect();
    if !text.line(last).trim().is_empty() {
        lines.splice(0..0, [String::new(), String::new()]);
    } else if !before.trim().is_empty() && !is_prompt {
        lines.insert(0, String::new());
    }
    TextEdit::insert(Position { line: last, column: text.length(last) }, lines)
}

/// Insertions by place, so that several at one place become one edit in call order.
struct Plan<'a> {
    document: &'a Document,
    text: &'a dyn Text,
    /// Blocks to insert, by place, then by call.
    inserts: BTreeMap<Anchor, BTreeMap<Site, Vec<String>>>,
    /// Edits within existing lines.
    others: Vec<TextEdit>,
    /// The place of each open call's result, by turn, computed once.
    rooms: HashMap<usize, Vec<(Site, Option<Site>)>>,
}

/// The place of an inserted block. Places are ordered as in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    /// Before this position.
    Before(Position),
    /// After the last line of a block, or after a marker without text (`bare`).
    After { line: usize, bare: bool },
    /// In a new `@You:` after this line.
    NewMessage(usize),
}

impl<'a> Plan<'a> {
    fn new(document: &'a Document, text: &'a dyn Text) -> Self {
        Self { document, text, inserts: BTreeMap::new(), others: Vec::new(), rooms: HashMap::new() }
    }

    /// Inserts the block of the call at `site`.
    fn insert(&mut self, turn: &Turn, site: Site, block: Vec<String>) {
        if let Some(anchor) = self.anchor(turn, site) {
            self.inserts.entry(anchor).or_default().insert(site, block);
        }
    }

    /// The place for the result of the call at `site`; `None` if an open block would swallow it.
    fn anchor(&mut self, turn: &Turn, site: Site) -> Option<Anchor> {
        let document = self.document;
        let pairs = self.rooms.entry(turn.answers.start).or_insert_with(|| {
            let results: HashMap<&CallId, Site> =
                document.results_in(turn).rev().map(|(site, result)| (&result.id, site)).collect();
            document.uses_in(turn).map(|(site, tool)| (site, results.get(&tool.id).copied())).collect()
        });
        let index = pairs.iter().position(|(other, _)| *other == site)?;
        if let Some(before) = pairs[..index].iter().rev().find_map(|(_, result)| *result) {
            let (message, block) = document.block(before)?;
            let swallows = !block.closed && block.kind.hides_markers();
            let line = message.lines_of(block).end - 1;
            return (!swallows).then_some(Anchor::After { line, bare: false });
        }
        if let Some(after) = pairs[index..].iter().find_map(|(_, result)| *result) {
            return Some(Anchor::Before(self.start_of(after)?));
        }
        if turn.answers.is_empty() {
            let message = document.messages().get(turn.replies.end.checked_sub(1)?)?;
            return (!message.swallows()).then(|| Anchor::NewMessage(message.range().end - 1));
        }
        let message = document.messages().get(turn.answers.start)?;
        match message.blocks.first() {
            Some(block) if block.offset == 0 => Some(Anchor::Before(self.start_of((turn.answers.start, 0))?)),
            _ => Some(Anchor::After { line: message.start, bare: true }),
        }
    }

    /// The position of a block's first character, which may be on the marker's line.
    fn start_of(&self, site: Site) -> Option<Position> {
        let (message, block) = self.document.block(site)?;
        let line = message.lines_of(block).start;
        let column =
            if block.offset == 0 { syntax::marker(&self.text.line(line)).map_or(0, |(_, column)| column) } else { 0 };
        Some(Position { line, column })
    }

    /// Inserts a fence below a result header without one.
    fn fill(&mut self, site: Site, fence: Vec<String>) {
        let Some((message, block)) = self.document.block(site) else { return };
        if block.tool_fence().is_some() {
            return;
        }
        let line = message.lines_of(block).start;
        let mut lines = vec![String::new(), String::new()];
        lines.extend(fence);
        self.separate(line + 1, &mut lines);
        self.others.push(TextEdit::insert(self.end_of(line), lines));
    }

    /// Replaces the fence of a placeholder by that of a result, or inserts it below a header without one.
    fn replace_placeholder(&mut self, site: Site, fence: Vec<String>) {
        let Some((message, block)) = self.document.block(site) else { return };
        let Some((line, _)) = placeholder(self.document, site) else { return self.fill(site, fence) };
        let start = Position { line, column: 0 };
        if block.closed {
            let last = message.lines_of(block).end - 1;
            return self.others.push(TextEdit { start, end: self.end_of(last), lines: fence });
        }
        // The block is not closed, so anything may follow. It stays below.
        let mut lines = fence;
        self.separate(line + 1, &mut lines);
        self.others.push(TextEdit { start, end: self.end_of(line), lines });
    }

    /// Appends an empty line if the next line is not blank.
    fn separate(&self, next: usize, lines: &mut Vec<String>) {
        if next < self.text.line_count() && !self.text.line(next).trim().is_empty() {
            lines.push(String::new());
        }
    }

    fn end_of(&self, line: usize) -> Position {
        Position { line, column: self.text.length(line) }
    }

    /// The edits, from the bottom to the top.
    fn edits(mut self) -> Vec<TextEdit> {
        // A fence below an empty header and the block after it start at the same place. The block is inserted first,
        // and then the fence before it. The sort is stable.
        let others = std::mem::take(&mut self.others);
        let mut edits = Vec::new();
        for (anchor, blocks) in &self.inserts {
            let mut lines = Vec::new();
            for block in blocks.values() {
                if !lines.is_empty() {
                    lines.push(String::new());
                }
                lines.extend(block.iter().cloned());
            }
            edits.push(self.edit(*anchor, lines));
        }
        edits.extend(others);
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.start));
        edits
    }

    fn edit(&self, anchor: Anchor, mut block: Vec<String>) -> TextEdit {
        match anchor {
            Anchor::Before(at) => {
                if at.column > 0 {
                    block.insert(0, String::new());
                }
                block.extend([String::new(), String::new()]);
                TextEdit::insert(at, block)
            }
            Anchor::After { line, bare } => {
                let mut lines = vec![String::new()];
                if !bare && !self.text.line(line).trim().is_empty() {
                    lines.push(String::new());
                }
                lines.append(&mut block);
                self.separate(line + 1, &mut lines);
                TextEdit::insert(self.end_of(line), lines)
            }
            Anchor::NewMessage(line) => {
                let mut lines = vec![String::new()];
                if !self.text.line(line).trim().is_empty() {
                    lines.push(String::new());
                }
                lines.push(Speaker::You.to_string());
                lines.append(&mut block);
                self.separate(line + 1, &mut lines);
                TextEdit::insert(self.end_of(line), lines)
            }
        }
    }
}

/// The line of a placeholder's opening fence, and the fence.
fn placeholder(document: &Document, site: Site) -> Option<(usize, ToolFence)> {
    let (message, block) = document.block(site)?;
    let BlockKind::ToolResult(tool) = &block.kind else { return None };
    let ResultBody::Placeholder(fence, _) = &tool.body else { return None };
    Some((message.lines_of(block).start + fence.line as usize, *fence))
}

/// Adds or removes ` (error)` at the end of a result's header.
fn mark_error(document: &Document, text: &dyn Text, site: Site, is_error: bool) -> Option<TextEdit> {
    let (message, block) = document.block(site)?;
    let BlockKind::ToolResult(tool) = &block.kind else { return None };
    if tool.is_error == is_error {
        return None;
    }
    let line = message.lines_of(block).start;
    let content = text.line(line);
    let end = content.trim_end().len();
    if is_error {
        return Some(TextEdit::insert(Position { line, column: end }, vec![" (error)".to_owned()]));
    }
    let start = content.rfind("(error)")?;
    let from = content[..start].trim_end().len();
    Some(TextEdit {
        start: Position { line, column: from },
        end: Position { line, column: start + "(error)".len() },
        lines: vec![String::new()],
    })
}
