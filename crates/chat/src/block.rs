//! Messages and their blocks: positions, without text.
//!
//! A message starts at its marker and extends to the next one. Every line after the marker belongs to exactly one
//! block, so the state of the parser at any line follows from the block of the previous line. Blocks count lines from
//! the start of their message, so that a change elsewhere moves a message by changing one number.

use std::{
    cell::{Cell, OnceCell},
    fmt,
    ops::Range,
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{StatusBlock, Text, syntax};
use flemma_model as model;
use flemma_model::{Attachment, CallId, Digest, MessageKey, ToolInput};
use flemma_text::Fence;

/// The author of a message in the document, according to its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// `@System:`: the instructions.
    System,
    /// `@You:`: the user, and the results of tools.
    You,
    /// `@Assistant:`: the model.
    Assistant,
}

impl Speaker {
    /// All speakers.
    pub const ALL: [Self; 3] = [Self::System, Self::You, Self::Assistant];

    /// The word between `@` and `:`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::You => "You",
            Self::Assistant => "Assistant",
        }
    }
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}:", self.as_str())
    }
}

/// The fenced block that opens on the first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontmatter {
    /// The info string's first word; empty if there is none.
    pub language: String,
    /// The number of lines from line 0, including its fences.
    pub lines: usize,
    /// Whether its closing fence is there.
    pub closed: bool,
    pub(super) fence: Fence,
}

/// One message of the document, as it was parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedMessage {
    /// Its author.
    pub role: Speaker,
    /// The line of the marker.
    pub start: usize,
    /// The number of lines, including the marker's.
    pub lines: usize,
    /// Its blocks, in order and without gaps. The first one starts on the marker's line if there is text on it,
    /// otherwise on the next line.
    pub blocks: Vec<Block>,
    /// Whether the marker's line ends with a carriage return, which is a sign of a file with CRLF.
    pub(super) crlf: bool,
    pub(super) known: Cache<KnownMessage>,
}

/// What is known of something until it changes. It is ignored when things are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache<T>(pub T);

impl<T> PartialEq for Cache<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Cache<T> {}

/// What is known of a message until the next change in it.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownMessage {
    /// The message for providers.
    pub built: Option<Arc<model::Message>>,
    /// Whether each of its blocks is correct.
    pub blocks_are_correct: Cell<bool>,
    /// Whether its thinking, if there is any, can be sent.
    pub thinking_is_correct: Cell<bool>,
    key: OnceCell<MessageKey>,
}

/// The number of blocks of a message that are looked at to see whether it has results, and nothing else.
pub(super) const LOOKED_AT: usize = 256;

impl ParsedMessage {
    /// Whether a message of the user's has nothing but results.
    pub fn has_only_results(&self, text: &dyn Text) -> bool {
        self.role == Speaker::You
            && self.blocks.len() <= LOOKED_AT
            && self.results() > 0
            && self.blocks.iter().all(|block| self.is_result_or_blank(block, text))
    }

    /// Whether a block is a result, or nothing but blank lines.
    pub(super) fn is_result_or_blank(&self, block: &Block, text: &dyn Text) -> bool {
        let lines = self.lines_of(block);
        // A long text is not read: it hardly consists of blank lines. A message's first line is its marker.
        let is_blank = || lines.len() <= LOOKED_AT && text.is_blank(lines.start.max(self.start + 1)..lines.end);
        block.tool_result().is_some() || (block.kind == BlockKind::Text && is_blank())
    }

    /// The number of its lines, up to the last one that is not blank.
    pub fn written_lines(&self, text: &dyn Text) -> usize {
        text.last_written(self.range()).map_or(0, |last| last + 1 - self.start)
    }

    /// What it is recognised by. The first time since a change, this reads all of it.
    pub fn key(&self, text: &dyn Text) -> &MessageKey {
        self.known.0.key.get_or_init(|| {
            let (lines, mut hash) = (self.written_lines(text), Sha256::new());
            text.read_bytes(self.start..self.start + lines, &mut |line| {
                hash.update(line);
                hash.update(b"\n");
            });
            MessageKey { lines, digest: Digest::finish(hash) }
        })
    }

    /// The lines of the message.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.lines
    }

    /// The lines of a block.
    pub fn lines_of(&self, block: &Block) -> Range<usize> {
        let start = self.start + block.offset as usize;
        start..start + block.lines as usize
    }

    /// The lines between the first and the last line of a fence or of thinking, which are those of its marks; `None` for a
    /// block that has none.
    pub(super) fn inside(&self, block: &Block) -> Option<Range<usize>> {
        let opening = match &block.kind {
            BlockKind::CodeFence(_) | BlockKind::Thinking => 0,
            _ => block.tool_fence()?.line as usize,
        };
        let lines = self.lines_of(block);
        let first = lines.start + opening + 1;
        Some(first..(lines.end - usize::from(block.closed)).max(first))
    }

    /// The line of the fence of a tool block.
    pub(super) fn fence_of(&self, block: &Block) -> Option<usize> {
        block.tool_fence().map(|fence| self.lines_of(block).start + fence.line as usize)
    }

    /// The blocks that overlap the lines in `range`, in order.
    pub(super) fn blocks_in(&self, range: Range<usize>) -> impl Iterator<Item = &Block> {
        let from = range.start.saturating_sub(self.start);
        let first = self.blocks.partition_point(|block| block.end() <= from);
        self.blocks[first..].iter().take_while(move |block| self.lines_of(block).start < range.end)
    }

    /// The tool uses and tool results among the blocks, with their indices.
    pub(super) fn tool_blocks(&self) -> impl DoubleEndedIterator<Item = (usize, &Block)> {
        self.blocks.iter().enumerate().filter(|(_, block)| block.is_tool())
    }

    /// The result of a hosted call.
    pub(super) fn hosted_result(&self, id: &CallId) -> Option<&ToolResult> {
        let mut results = self.tool_blocks().filter_map(|(_, block)| block.tool_result());
        results.find(|result| result.hosted && result.id == *id)
    }

    /// The number of results and placeholders.
    pub(super) fn results(&self) -> usize {
        self.tool_blocks().filter(|(_, block)| block.tool_result().is_some()).count()
    }

    /// The index of the last block that starts before `line` (counted from the message's start).
    pub(super) fn block_before(&self, line: usize) -> Option<usize> {
        self.blocks.partition_point(|block| (block.offset as usize) < line).checked_sub(1)
    }

    /// Whether the reply was cut off.
    pub fn is_aborted(&self) -> bool {
        self.blocks.iter().any(|block| block.kind == BlockKind::Aborted)
    }

    /// Whether every line that is appended becomes part of the last block, even a marker.
    pub(super) fn swallows(&self) -> bool {
        self.blocks.last().is_some_and(Block::swallows)
    }

    /// Whether thinking is complete and its tag has a line of its own, which is hidden. Its fold begins below the tag.
    pub(super) fn has_tag_row(&self, block: &Block) -> bool {
        block.kind == BlockKind::Thinking && block.closed && block.lines > 1 && block.offset > 0
    }

    /// The byte of a line at which its text begins: behind the marker, in the message's first line.
    pub(super) fn text_at(&self, line: usize, content: &str) -> usize {
        syntax::marker(content).filter(|_| line == self.start).map_or(0, |(_, column)| column)
    }

    /// Reads lines of a block of text. `each` gets the number of a line, the column where its prose begins (behind the marker, in
    /// the first line of a message), and the prose.
    pub(super) fn read_prose(&self, lines: Range<usize>, text: &dyn Text, each: &mut dyn FnMut(usize, usize, &str)) {
        let mut line = lines.start;
        text.read(lines, &mut |content| {
            let skipped = self.text_at(line, content);
            each(line, skipped, content.get(skipped..).unwrap_or_default());
            line += 1;
        });
    }
}

/// A run of lines of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The first line, counted from the message's start.
    pub offset: u32,
    /// How many lines.
    pub lines: u32,
    /// Whether the closing fence or tag is there. Kinds without one are always closed.
    pub closed: bool,
    /// Its kind.
    pub kind: BlockKind,
}

/// The kind of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    /// Prose, or blank lines between other blocks.
    Text,
    /// Code within prose. Only role markers count inside.
    CodeFence(CodeFence),
    /// `<thinking>` to `</thinking>`.
    Thinking,
    /// A call.
    ToolUse(Box<ToolUse>),
    /// A result, or the placeholder for it.
    ToolResult(Box<ToolResult>),
    /// `<!-- flemma:aborted -->`.
    Aborted,
    /// An invalid tool header. It is read as text, and a diagnostic says this of it.
    Stray(&'static str),
}

/// Code within prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeFence {
    /// The opening fence.
    pub fence: Fence,
    /// Whether the info string starts with `flemma:` and has no meaning here.
    pub reserved: bool,
    /// Whether it has what a reference of the user's meant when it was sent.
    pub captured: bool,
}

/// A call: header, blank lines, a fence with the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The call's id.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// Whether the provider runs it (` (provider)`).
    pub hosted: bool,
    /// The fence with the input, if there is one.
    pub input: Option<ToolFence>,
    /// The input as it was read, and its digest, until the next change here.
    pub(super) known: Cache<OnceCell<(Arc<ToolInput>, Digest)>>,
}

/// A result: header, blank lines, a fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call it answers.
    pub id: CallId,
    /// Whether the header says ` (error)`.
    pub is_error: bool,
    /// Whether the provider ran the call (` (provider)`).
    pub hosted: bool,
    /// What follows the header.
    pub body: ResultBody,
    /// The content of the fence of a placeholder as it was read, until the next change here.
    pub(super) known: Cache<OnceCell<String>>,
}

/// What follows the header of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultBody {
    /// The tool's output.
    Output(ToolFence),
    /// The tool's output and its attachments; none if the info string names none that can be read.
    Attached(ToolFence, Vec<Attachment>),
    /// A status block.
    Placeholder(ToolFence, StatusBlock),
    /// No fence.
    Missing,
}

/// The fence of a tool block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFence {
    /// The line of the opening fence, counted from the block's first line.
    pub line: u32,
    /// Its marks, which determine what closes it.
    pub fence: Fence,
    /// Whether the info string says `json`.
    pub json: bool,
}

impl Block {
    /// Whether this is a tool use, a result or a placeholder.
    pub fn is_tool(&self) -> bool {
        self.call_id().is_some()
    }

    /// The tool use, if it is one.
    pub fn tool_use(&self) -> Option<&ToolUse> {
        if let BlockKind::ToolUse(tool) = &self.kind { Some(tool) } else { None }
    }

    /// The result or placeholder, if it is one.
    pub fn tool_result(&self) -> Option<&ToolResult> {
        if let BlockKind::ToolResult(tool) = &self.kind { Some(tool) } else { None }
    }

    /// The call that a tool block belongs to.
    pub(super) fn call_id(&self) -> Option<&CallId> {
        match &self.kind {
            BlockKind::ToolUse(tool) => Some(&tool.id),
            BlockKind::ToolResult(tool) => Some(&tool.id),
            _ => None,
        }
    }

    /// Whether it has what a reference of the user's meant when it was sent.
    pub(super) fn is_captured(&self) -> bool {
        matches!(self.kind, BlockKind::CodeFence(code) if code.captured)
    }

    /// Whether every line behind it would become part of it, even a marker.
    pub(super) fn swallows(&self) -> bool {
        !self.closed && self.kind.hides_markers()
    }

    /// One past the last line, counted from the message's start.
    pub(super) const fn end(&self) -> usize {
        self.offset as usize + self.lines as usize
    }

    /// The fence of a tool block.
    pub(super) fn tool_fence(&self) -> Option<ToolFence> {
        match &self.kind {
            BlockKind::ToolUse(tool) => tool.input,
            BlockKind::ToolResult(tool) => tool.body.fence(),
            _ => None,
        }
    }

    /// The block as it would be after its first `lines` lines.
    pub(super) fn cut(&self, lines: u32) -> Self {
        let mut block = self.clone();
        // More lines may follow.
        match &mut block.kind {
            BlockKind::ToolUse(tool) => tool.known = Cache::default(),
            BlockKind::ToolResult(tool) => tool.known = Cache::default(),
            _ => {}
        }
        if lines >= self.lines {
            return block;
        }
        block.lines = lines;
        block.closed = block.kind.is_line();
        match &mut block.kind {
            BlockKind::ToolUse(tool) if tool.input.is_some_and(|fence| fence.line >= lines) => tool.input = None,
            BlockKind::ToolResult(tool) if tool.body.fence().is_some_and(|fence| fence.line >= lines) => {
                tool.body = ResultBody::Missing;
            }
            _ => {}
        }
        block
    }
}

impl BlockKind {
    /// Whether the block has no closing line.
    pub(super) const fn is_line(&self) -> bool {
        matches!(self, Self::Text | Self::Aborted | Self::Stray(_))
    }

    /// Whether a role marker inside is text.
    pub(super) fn hides_markers(&self) -> bool {
        match self {
            Self::Thinking => true,
            Self::ToolUse(tool) => tool.input.is_some(),
            Self::ToolResult(tool) => tool.body != ResultBody::Missing,
            _ => false,
        }
    }
}

impl ResultBody {
    /// The fence of the body, if there is one.
    pub const fn fence(&self) -> Option<ToolFence> {
        match self {
            Self::Output(fence) | Self::Attached(fence, _) | Self::Placeholder(fence, _) => Some(*fence),
            Self::Missing => None,
        }
    }

    /// The status block, if this is a placeholder.
    pub const fn status(&self) -> Option<&StatusBlock> {
        if let Self::Placeholder(_, status) = self { Some(status) } else { None }
    }

    /// Whether the call has its result.
    pub const fn is_answer(&self) -> bool {
        matches!(self, Self::Output(_) | Self::Attached(..))
    }
}
