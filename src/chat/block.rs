//! Messages and their blocks: where things stand, never what they say.
//!
//! A message starts at its marker and runs to the next one. Every line after the marker belongs to
//! exactly one block, so that the parser's state at any line follows from the block that holds the
//! line before it. Blocks count lines from the start of their message: a change elsewhere moves a
//! message by one number.

use std::{
    cell::{Cell, OnceCell},
    fmt,
    ops::Range,
    sync::Arc,
};

use super::StatusBlock;
use crate::{
    model::{self, Attachment, CallId},
    text::Fence,
};

/// Who speaks in a message of the document.
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
    /// Every role.
    pub const ALL: [Self; 3] = [Self::System, Self::You, Self::Assistant];

    /// The word between `@` and `:`.
    #[must_use]
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
    /// How many lines it takes from line 0, its fences included.
    pub lines: usize,
    /// Whether its closing fence is there.
    pub closed: bool,
    pub(super) fence: Fence,
}

/// One message.
#[derive(Clone)]
pub struct ParsedMessage {
    /// Who speaks.
    pub role: Speaker,
    /// The line of the marker.
    pub start: usize,
    /// How many lines the message takes, the marker's included.
    pub lines: usize,
    /// What it consists of, in order, without gaps. The first block starts on the marker's line if
    /// text stands there, else on the line after it.
    pub blocks: Vec<Block>,
    /// Whether the marker's line ends with a carriage return: a sign of a file with CRLF.
    pub(super) crlf: bool,
    /// The neutral message, until the next change in here.
    pub(super) built: Option<Arc<model::Message>>,
    /// What is known to be right with it, until the next change in here.
    pub(super) checked: Checked,
    /// Which blocks are tool blocks, found on demand and forgotten when that may have changed.
    pub(super) tools: OnceCell<Vec<usize>>,
}

/// What was looked at in a message and found right, so that nobody has to look again before it changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    /// Its blocks, each by itself.
    pub blocks: Cell<bool>,
    /// Its thinking can be sent, as far as there is any.
    pub thinking: Cell<bool>,
}

impl ParsedMessage {
    /// The lines of the message.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.lines
    }

    /// The lines of one of its blocks.
    #[must_use]
    pub fn lines_of(&self, block: &Block) -> Range<usize> {
        let start = self.start + block.offset as usize;
        start..start + block.lines as usize
    }

    /// The tool uses and tool results among the blocks, with their indices.
    pub(super) fn tool_blocks(&self) -> impl DoubleEndedIterator<Item = (usize, &Block)> {
        let find = || (0..self.blocks.len()).filter(|index| self.blocks[*index].is_tool()).collect();
        self.tools.get_or_init(find).iter().filter_map(|index| Some((*index, self.blocks.get(*index)?)))
    }

    /// Whether the result of a call that the provider ran stands in here.
    pub(super) fn answers_hosted(&self, id: &CallId) -> bool {
        self.tool_blocks()
            .any(|(_, block)| matches!(&block.kind, BlockKind::ToolResult(result) if result.hosted && result.id == *id))
    }

    /// The index of the last block that starts before `line` (counted from the message's start).
    pub(super) fn block_before(&self, line: usize) -> Option<usize> {
        self.blocks.partition_point(|block| (block.offset as usize) < line).checked_sub(1)
    }

    /// Whether the reply was cut off.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        // It stands at the end, where the writer put it; a user may have written after it.
        self.blocks.iter().rev().any(|block| block.kind == BlockKind::Aborted)
    }

    /// Whether the last block swallows every line that is appended, markers too.
    pub(super) fn swallows(&self) -> bool {
        self.blocks.last().is_some_and(|block| !block.closed && block.kind.hides_markers())
    }
}

/// Two messages are equal if their structure is; what is kept for speed does not count.
impl PartialEq for ParsedMessage {
    fn eq(&self, other: &Self) -> bool {
        self.role == other.role
            && self.start == other.start
            && self.lines == other.lines
            && self.crlf == other.crlf
            && self.blocks == other.blocks
    }
}

impl fmt::Debug for ParsedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParsedMessage")
            .field("role", &self.role)
            .field("start", &self.start)
            .field("lines", &self.lines)
            .field("crlf", &self.crlf)
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

/// A run of lines of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The first line, counted from the message's start.
    pub offset: u32,
    /// How many lines.
    pub lines: u32,
    /// Whether the end is written: the closing fence or tag. Kinds without one are always closed.
    pub closed: bool,
    /// What it is.
    pub kind: BlockKind,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    /// Prose, and blank lines between other blocks.
    Text,
    /// Code within prose. Only role markers count inside.
    CodeFence(CodeFence),
    /// `<thinking>` to `</thinking>`.
    Thinking,
    /// A call.
    ToolUse(Box<ToolUse>),
    /// A result, or what stands in its place.
    ToolResult(Box<ToolResult>),
    /// `<!-- flemma:aborted -->`.
    Aborted,
    /// A tool header that cannot be one. It is read as text, and a diagnostic says why.
    Stray(InvalidHeader),
}

/// Code within prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeFence {
    /// The opening fence.
    pub fence: Fence,
    /// Whether the info string starts with `flemma:`, which means nothing outside a tool result.
    pub reserved: bool,
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
    /// The fence with the input; `None` if there is none.
    pub input: Option<ToolFence>,
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
}

/// What follows the header of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultBody {
    /// The tool's output.
    Output(ToolFence),
    /// The tool's output, and the files that it shows; none if the info string names none that can be read.
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
    /// What closes it.
    pub fence: Fence,
    /// Whether the info string says `json`.
    pub json: bool,
}

/// Why a tool header is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHeader {
    /// `**Tool Use:**` without a name and an id.
    BrokenUse,
    /// `**Tool Result:**` without an id.
    BrokenResult,
    /// A tool use outside `@Assistant:`.
    MisplacedUse,
    /// A result outside `@You:`.
    MisplacedResult,
    /// A result of the provider's outside `@Assistant:`.
    MisplacedHostedResult,
}

impl Block {
    /// Whether this is a tool use, a result or a placeholder.
    #[must_use]
    pub fn is_tool(&self) -> bool {
        matches!(self.kind, BlockKind::ToolUse(_) | BlockKind::ToolResult(_))
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

    /// The block as it is when nothing after its first `lines` lines has been read.
    pub(super) fn cut(&self, lines: u32) -> Self {
        let mut block = self.clone();
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
    /// Whether each line stands for itself, so that there is no end to write.
    pub(super) const fn is_line(&self) -> bool {
        matches!(self, Self::Text | Self::Aborted | Self::Stray(_))
    }

    /// Whether a role marker inside is only text.
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
    /// The fence, of whichever kind.
    #[must_use]
    pub const fn fence(&self) -> Option<ToolFence> {
        match self {
            Self::Output(fence) | Self::Attached(fence, _) | Self::Placeholder(fence, _) => Some(*fence),
            Self::Missing => None,
        }
    }

    /// Whether the call has its answer.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        matches!(self, Self::Output(_) | Self::Attached(..))
    }
}
