//! Planners: the smallest edits that bring a document from one state to the next.
//!
//! A planner reads the document and returns edits, which the caller applies *in the given order*. Edits go from the
//! bottom to the top, so that one edit does not move the position of the next. They insert text, or replace text that
//! Flemma wrote. They never change the user's text.
//!
//! The place of a result is after the nearest result of an earlier call in its turn; otherwise before the nearest
//! result of a later one; otherwise at the top of the `@You:` after the reply; otherwise in a new `@You:`.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{
    Block, BlockKind, Calls, ParsedMessage, Position, Speaker, Status, StatusBlock, Text, TextEdit, ToolResult,
    ToolUse, attributes, blocks,
    calls::{Open, Placed, Site, Turn},
    escape::escape,
    syntax,
};
use flemma_model::CallId;
use flemma_text::Fence;

/// Inserts a placeholder for every call in `calls` that has no result and no placeholder.
///
/// Placeholders are in the `@You:` message after the reply, in call order, and before the user's text. The message is
/// created if it does not exist. A result header without a fence gets a fence. Calls that are not open are skipped.
/// Edits go from the bottom to the top.
pub fn insert_placeholders(calls: Calls<'_>, text: &dyn Text, new: &[(CallId, StatusBlock)]) -> Vec<TextEdit> {
    let mut plan = Plan::new(calls, text);
    for (id, block) in new {
        let Some((turn, Open { call, result })) = calls.find_open(id) else { continue };
        match result {
            None => plan.insert(&turn, call.site, blocks::placeholder(id, block)),
            Some(result) => plan.fill(result, blocks::fenced(&block.info(), "")),
        }
    }
    plan.edits()
}

/// Where a status block is written: its line, its first word and what is behind that, as ranges of the line.
struct Written {
    line: usize,
    content: String,
    word: Range<usize>,
    end: usize,
}

impl Written {
    /// The info string of an open call's placeholder.
    fn find(calls: Calls<'_>, text: &dyn Text, id: &CallId) -> Option<Self> {
        let line = calls.status_line(id)?;
        let content = text.line(line);
        let info = Fence::open(&content)?.1;
        let start = content.len() - content.trim_start_matches([' ', '`', '~']).trim_start().len();
        let word = start..start + info.find(char::is_whitespace).unwrap_or(info.len());
        let end = start + info.len();
        Some(Self { line, content, word, end })
    }
}

/// Sets the status of a call's placeholder. Only that word changes; see [`set_block`] for the rest.
pub fn set_status(calls: Calls<'_>, text: &dyn Text, id: &CallId, status: Status) -> Vec<TextEdit> {
    let Some(written) = Written::find(calls, text, id) else { return Vec::new() };
    let behind = written.word.end;
    let attributes = attributes::read(&written.content[behind..written.end]);
    let found = attributes.into_iter().find(|attribute| attribute.key == "status");
    let columns = found.as_ref().map_or(behind..behind, |found| behind + found.at.start..behind + found.at.end);
    let sign = match &found {
        Some(attribute) if attribute.value.is_some() => "",
        Some(_) => "=",
        None => " status=",
    };
    vec![TextEdit::within(written.line, columns, format!("{sign}{status}"))]
}

/// Replaces the info string of a call's placeholder. What the user has written in the block stays.
pub fn set_block(calls: Calls<'_>, text: &dyn Text, id: &CallId, block: &StatusBlock) -> Vec<TextEdit> {
    let Some(written) = Written::find(calls, text, id) else { return Vec::new() };
    let (old, new) = (written.word.start..written.end, block.info());
    if written.content[old.clone()] == new { Vec::new() } else { vec![TextEdit::within(written.line, old, new)] }
}

/// Writes the result of an open call: in place of its placeholder, below an empty header, or as a new block. Its fence has this
/// info string, which names the language of the output or the files that are sent with it ([`Language::info`](super::Language::info),
/// [`attachment_info`](super::attachment_info)). One final line break of the output only ends its last line and is left out.
///
/// There are no edits for a call that is not open, or whose place is inside thinking or a tool's fence that is not
/// closed. Edits go from the bottom to the top.
pub fn write_result(
    calls: Calls<'_>,
    text: &dyn Text,
    id: &CallId,
    output: &str,
    is_error: bool,
    info: &str,
) -> Vec<TextEdit> {
    let output = output.strip_suffix('\n').unwrap_or(output);
    let block = blocks::tool_result(id, output, is_error, info);
    let Some((turn, Open { call, result })) = calls.find_open(id) else { return Vec::new() };
    let mut plan = Plan::new(calls, text);
    let Some(result) = result else {
        plan.insert(&turn, call.site, block);
        return plan.edits();
    };
    // The header is there already.
    plan.replace_placeholder(result, block[2..].to_vec());
    let mut edits = plan.edits();
    edits.extend(mark_error(result, text, is_error));
    edits
}

/// Appends a prompt: the document then ends with `@You:` and an empty line, or with the text that the user has begun
/// there. The second value is the position for the cursor.
pub fn open_prompt(messages: &[ParsedMessage], text: &dyn Text) -> (Vec<TextEdit>, Position) {
    let count = text.line_count();
    let end = Position::end(text);
    let (last, content) = (end.line, text.line(end.line));
    let blank = content.trim().is_empty();
    let append = |lines: Vec<&str>| {
        let at = Position::start_of(last + lines.len() - 1);
        (vec![TextEdit::insert(end, lines.into_iter().map(str::to_owned).collect())], at)
    };
    let message = messages.last();
    if message.is_some_and(ParsedMessage::swallows) {
        return (Vec::new(), end);
    }
    let Some(message) = message.filter(|message| message.role == Speaker::You) else {
        let gap: &[&str] = match (count <= 1 && content.is_empty(), blank) {
            (true, _) => &[],
            (false, true) => &[""],
            (false, false) => &["", ""],
        };
        return append([gap, &["@You:", ""]].concat());
    };
    match message.blocks.last() {
        None => append(vec!["", ""]),
        Some(block) if block.is_tool() => append(vec!["", "", ""]),
        // A blank line separates a result from the text that is written next.
        Some(block) if block.lines == 1 && blank && message.blocks.len() > 1 => append(vec!["", ""]),
        Some(block) if message.blocks.len() == 1 && block.kind == BlockKind::Text => {
            let lines = message.lines_of(block);
            // The first line of an empty prompt.
            let at = if text.is_blank(lines.clone()) { Position::start_of(lines.start) } else { end };
            (Vec::new(), at)
        }
        Some(_) => (Vec::new(), end),
    }
}

/// Appends words of the user to the text under the last prompt, as a paragraph of their own. Nothing in them acts as more than
/// text.
pub fn append_words(text: &dyn Text, words: &str) -> TextEdit {
    let end = Position::end(text);
    let before = end.line.checked_sub(1).map(|line| text.line(line)).unwrap_or_default();
    let is_prompt = syntax::marker(&before).is_some_and(|(_, column)| before[column..].trim().is_empty());
    let mut lines: Vec<String> =
        words.trim_end_matches('\n').split('\n').map(|line| escape(line).into_owned()).collect();
    if !text.line(end.line).trim().is_empty() {
        lines.splice(0..0, [String::new(), String::new()]);
    } else if !before.trim().is_empty() && !is_prompt {
        lines.insert(0, String::new());
    }
    TextEdit::insert(end, lines)
}

/// How often the user's messages say these words, as [`append_words`] writes them: in whole lines. It reads the messages.
pub fn count_words(messages: &[ParsedMessage], words: &str, text: &dyn Text) -> usize {
    let words: Vec<_> = words.split('\n').map(escape).collect();
    let count = |message: &ParsedMessage| {
        let lines = text.lines(message.range());
        lines.windows(words.len()).filter(|lines| lines.iter().eq(&words)).count()
    };
    messages.iter().filter(|message| message.role == Speaker::You).map(count).sum()
}

/// Insertions by place, so that several at one place become one edit in call order.
struct Plan<'a> {
    calls: Calls<'a>,
    text: &'a dyn Text,
    /// Blocks to insert, by place, then by call.
    inserts: BTreeMap<Anchor, BTreeMap<Site, Vec<String>>>,
    /// Edits within existing lines.
    others: Vec<TextEdit>,
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
    fn new(calls: Calls<'a>, text: &'a dyn Text) -> Self {
        Self { calls, text, inserts: BTreeMap::new(), others: Vec::new() }
    }

    /// Inserts the block of the call at `site`.
    fn insert(&mut self, turn: &Turn, site: Site, block: Vec<String>) {
        if let Some(anchor) = self.anchor(turn, site) {
            self.inserts.entry(anchor).or_default().insert(site, block);
        }
    }

    /// The place for the result of the call at `site`; `None` if an open block would swallow it.
    fn anchor(&self, turn: &Turn, site: Site) -> Option<Anchor> {
        let calls = self.calls;
        // Of several results, the first.
        let results: HashMap<&CallId, _> = calls.results_in(turn).rev().map(|found| (&found.tool.id, found)).collect();
        let uses: Vec<_> = calls.uses_in(turn).collect();
        let index = uses.iter().position(|call| call.site == site)?;
        let result_of = |call: &Placed<'_, &ToolUse>| results.get(&call.tool.id).copied();
        if let Some(before) = uses[..index].iter().rev().find_map(result_of) {
            let line = before.lines().end - 1;
            return (!before.block.swallows()).then_some(Anchor::After { line, bare: false });
        }
        if let Some(after) = uses[index..].iter().find_map(result_of) {
            return Some(Anchor::Before(self.start_of(after.message, after.block)));
        }
        if turn.answers.is_empty() {
            let message = calls.messages.get(turn.replies.end.checked_sub(1)?)?;
            return (!message.swallows()).then(|| Anchor::NewMessage(message.range().end - 1));
        }
        let message = calls.messages.get(turn.answers.start)?;
        match message.blocks.first().filter(|block| block.offset == 0) {
            Some(block) => Some(Anchor::Before(self.start_of(message, block))),
            None => Some(Anchor::After { line: message.start, bare: true }),
        }
    }

    /// The position of a block's first character, which may be on the marker's line.
    fn start_of(&self, message: &ParsedMessage, block: &Block) -> Position {
        let line = message.lines_of(block).start;
        let column = if block.offset == 0 { message.text_at(line, &self.text.line(line)) } else { 0 };
        Position { line, column }
    }

    /// Inserts a fence below a result header without one.
    fn fill(&mut self, result: Placed<'_, &ToolResult>, fence: Vec<String>) {
        if result.block.tool_fence().is_none() {
            let line = result.lines().start;
            let mut lines = vec![String::new(), String::new()];
            lines.extend(fence);
            self.separate(line + 1, &mut lines);
            self.others.push(TextEdit::insert(Position::end_of(line, self.text), lines));
        }
    }

    /// Replaces the fence of a placeholder by that of a result, or inserts it below a header without one.
    fn replace_placeholder(&mut self, result: Placed<'_, &ToolResult>, mut lines: Vec<String>) {
        let Some(line) = result.status_line() else { return self.fill(result, lines) };
        let last = if result.block.closed {
            result.lines().end - 1
        } else {
            // The block is not closed, so anything may follow. It stays below.
            self.separate(line + 1, &mut lines);
            line
        };
        self.others.push(TextEdit { start: Position::start_of(line), end: Position::end_of(last, self.text), lines });
    }

    /// Appends an empty line if the next line is not blank.
    fn separate(&self, next: usize, lines: &mut Vec<String>) {
        if next < self.text.line_count() && !self.text.line(next).trim().is_empty() {
            lines.push(String::new());
        }
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
            Anchor::After { line, bare } => self.below(line, bare, block),
            Anchor::NewMessage(line) => {
                block.insert(0, Speaker::You.to_string());
                self.below(line, false, block)
            }
        }
    }

    /// Inserts a block below a line, and below a blank line unless the line is a `bare` marker.
    fn below(&self, line: usize, bare: bool, mut block: Vec<String>) -> TextEdit {
        let mut lines = vec![String::new()];
        if !bare && !self.text.line(line).trim().is_empty() {
            lines.push(String::new());
        }
        lines.append(&mut block);
        self.separate(line + 1, &mut lines);
        TextEdit::insert(Position::end_of(line, self.text), lines)
    }
}

/// Adds or removes ` (error)` at the end of a result's header.
fn mark_error(result: Placed<'_, &ToolResult>, text: &dyn Text, is_error: bool) -> Option<TextEdit> {
    if result.tool.is_error == is_error {
        return None;
    }
    let line = result.lines().start;
    let content = text.line(line);
    let columns = if is_error {
        let end = content.trim_end().len();
        end..end
    } else {
        let start = content.rfind("(error)")?;
        content[..start].trim_end().len()..start + "(error)".len()
    };
    let mark = if is_error { " (error)".to_owned() } else { String::new() };
    Some(TextEdit::within(line, columns, mark))
}
