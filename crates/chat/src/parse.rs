//! The parser, a state machine that takes one line at a time.
//!
//! Its state is small, determines the meaning of the next line, and can be derived from the structure alone (see
//! `Document::resume`). So the parser can start at any line of a parsed document, and can stop as soon as its state
//! equals that of the old parse.
//!
//! Precedence, by state:
//! - in thinking and in a tool's fence only the closing line counts; a role marker there is text;
//! - everywhere else a role marker starts a message, even in an open code fence or in frontmatter;
//! - in a code fence only the closing fence counts otherwise;
//! - after a tool header, blank lines and one fence belong to the tool block; anything else ends it;
//! - in prose: thinking and tool uses in `@Assistant:`, results in `@You:` (hosted ones in `@Assistant:`), fences
//!   anywhere. A tool header elsewhere is invalid ([`BlockKind::Stray`]).

use super::{
    Block, BlockKind, CodeFence, Frontmatter, ResultBody, Speaker, StatusBlock, ToolFence, attachment, captured,
    status::RESERVED, syntax,
};
use flemma_text::Fence;

/// What is said of tool headers that are not complete.
const BROKEN_USE: &str = "This tool use is not complete. Write it as **Tool Use:** `name` (`id`) or, to send this line as text, \
                          put a backslash in front of it.";
const BROKEN_RESULT: &str = "This tool result is not complete. Write it as **Tool Result:** `id` (followed by (error) if it is \
                             one) or, to send this line as text, put a backslash in front of it.";

/// What is said of tool headers in a message of somebody else.
const MISPLACED_USE: &str =
    "A tool use can only be in `@Assistant:`. To send this line as text, put a backslash in front of it.";
const MISPLACED_RESULT: &str =
    "A tool result can only be in `@You:`. To send this line as text, put a backslash in front of it.";
const MISPLACED_HOSTED_RESULT: &str = "A result from a provider's tool can only be in `@Assistant:`. To send this line as text, \
                                       put a backslash in front of it.";

/// The state of the parser before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParserState {
    /// Before line 0.
    Start,
    /// In frontmatter.
    Frontmatter(Fence),
    /// Before the first marker.
    Head,
    /// In a message.
    Body(Speaker, BodyState),
}

/// The state within a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyState {
    Prose,
    Code(Fence),
    Thinking,
    /// After a tool header, before its fence.
    Header,
    ToolFence(Fence),
}

impl ParserState {
    /// Whether a role marker would start a message here.
    pub const fn heeds_markers(self) -> bool {
        !matches!(self, Self::Body(_, BodyState::Thinking | BodyState::ToolFence(_)))
    }
}

impl Block {
    /// The state after the first `lines` lines of this block.
    pub(super) fn state_after(&self, lines: usize) -> BodyState {
        if self.closed && lines >= self.lines as usize {
            return BodyState::Prose;
        }
        match &self.kind {
            BlockKind::Text | BlockKind::Aborted | BlockKind::Stray(_) => BodyState::Prose,
            BlockKind::CodeFence(code) => BodyState::Code(code.fence),
            BlockKind::Thinking => BodyState::Thinking,
            BlockKind::ToolUse(_) | BlockKind::ToolResult(_) => match self.tool_fence() {
                Some(fence) if (fence.line as usize) < lines => BodyState::ToolFence(fence.fence),
                _ => BodyState::Header,
            },
        }
    }
}

/// A message that is being parsed, or the lines before the first one (`role` is `None`).
#[derive(Debug)]
pub(super) struct Segment {
    pub role: Option<Speaker>,
    pub start: usize,
    pub crlf: bool,
    pub blocks: Vec<Block>,
}

/// The parser.
#[derive(Debug)]
pub(super) struct Builder {
    pub state: ParserState,
    /// The number of the next line.
    pub line: usize,
    /// Used only if the parser started before the first message.
    pub frontmatter: Option<Frontmatter>,
    /// Complete segments. The first one is the segment in which the parser started.
    pub done: Vec<Segment>,
    /// The current segment.
    pub current: Segment,
}

impl Builder {
    /// Parses the next line.
    pub fn feed(&mut self, line: &str) {
        let marker = if self.state.heeds_markers() { syntax::marker(line) } else { None };
        match (marker, self.state) {
            (Some((role, column)), _) => self.begin(role, column, line),
            (None, ParserState::Body(role, inside)) => self.body(role, inside, line),
            (None, ParserState::Frontmatter(fence)) => {
                let closes = fence.closes(line);
                if let Some(frontmatter) = &mut self.frontmatter {
                    frontmatter.lines += 1;
                    frontmatter.closed = closes;
                }
                if closes {
                    self.state = ParserState::Head;
                }
            }
            (None, ParserState::Start) => {
                self.state = ParserState::Head;
                if let Some((fence, info)) = Fence::open(line) {
                    let language = info.split_whitespace().next().unwrap_or_default().to_owned();
                    self.frontmatter = Some(Frontmatter { language, lines: 1, closed: false, fence });
                    self.state = ParserState::Frontmatter(fence);
                }
            }
            (None, ParserState::Head) => {}
        }
        self.line += 1;
    }

    /// Handles a role marker.
    fn begin(&mut self, role: Speaker, column: usize, line: &str) {
        let next = Segment { role: Some(role), start: self.line, crlf: line.ends_with('\r'), blocks: Vec::new() };
        self.done.push(std::mem::replace(&mut self.current, next));
        self.state = ParserState::Body(role, BodyState::Prose);
        if column < line.len() {
            self.prose(role, &line[column..]);
        }
    }

    /// Handles a line of a message after its marker.
    fn body(&mut self, role: Speaker, inside: BodyState, line: &str) {
        let closes = match inside {
            BodyState::Prose => return self.prose(role, line),
            BodyState::Header if line.trim().is_empty() => false,
            BodyState::Header => match Fence::open(line) {
                Some((fence, info)) => {
                    self.open_tool_fence(fence, info);
                    self.state = ParserState::Body(role, BodyState::ToolFence(fence));
                    false
                }
                None => {
                    self.state = ParserState::Body(role, BodyState::Prose);
                    return self.prose(role, line);
                }
            },
            BodyState::Thinking => syntax::closes_thinking(line),
            BodyState::Code(fence) | BodyState::ToolFence(fence) => fence.closes(line),
        };
        if let Some(block) = self.current.blocks.last_mut() {
            block.lines += 1;
            block.closed = closes;
        }
        if closes {
            self.state = ParserState::Body(role, BodyState::Prose);
        }
    }

    /// Handles a line in prose.
    fn prose(&mut self, role: Speaker, line: &str) {
        let (kind, inside) = match line.as_bytes().first() {
            Some(b'*') => tool_header(role, line),
            Some(b'<') if role == Speaker::Assistant && syntax::opens_thinking(line) => {
                Some((BlockKind::Thinking, BodyState::Thinking))
            }
            Some(b'<') if role == Speaker::Assistant && line.trim_end() == syntax::ABORTED => {
                Some((BlockKind::Aborted, BodyState::Prose))
            }
            Some(b'`' | b'~' | b' ') => Fence::open(line).map(|(fence, info)| {
                let captured = role != Speaker::Assistant && captured::reference_of(info).is_some();
                let reserved = !captured && info.starts_with(RESERVED);
                (BlockKind::CodeFence(CodeFence { fence, reserved, captured }), BodyState::Code(fence))
            }),
            _ => None,
        }
        .unwrap_or((BlockKind::Text, BodyState::Prose));
        if kind == BlockKind::Text {
            return self.current.text(self.line, 1);
        }
        let offset = narrow(self.line - self.current.start);
        self.current.blocks.push(Block { offset, lines: 1, closed: kind.is_line(), kind });
        self.state = ParserState::Body(role, inside);
    }

    /// Handles the fence after a tool header.
    fn open_tool_fence(&mut self, fence: Fence, info: &str) {
        let Some(block) = self.current.blocks.last_mut() else { return };
        let json = info.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("json"));
        let fence = ToolFence { line: block.lines, fence, json };
        match &mut block.kind {
            BlockKind::ToolUse(tool) => tool.input = Some(fence),
            BlockKind::ToolResult(tool) => {
                tool.body = match (attachment::parse(info), StatusBlock::parse(info)) {
                    (Some(attachments), _) => ResultBody::Attached(fence, attachments),
                    (None, Some(status)) => ResultBody::Placeholder(fence, status),
                    (None, None) => ResultBody::Output(fence),
                };
            }
            _ => {}
        }
    }
}

impl Segment {
    /// Appends `lines` lines of prose that start at line `at`.
    pub fn text(&mut self, at: usize, lines: u32) {
        match self.blocks.last_mut() {
            Some(Block { lines: before, kind: BlockKind::Text, .. }) => *before += lines,
            _ => {
                let offset = narrow(at - self.start);
                self.blocks.push(Block { offset, lines, closed: true, kind: BlockKind::Text });
            }
        }
    }
}

/// The block that a line starting with `*` opens, if it is a tool header.
fn tool_header(role: Speaker, line: &str) -> Option<(BlockKind, BodyState)> {
    let stray = |stray| Some((BlockKind::Stray(stray), BodyState::Prose));
    let assistant = role == Speaker::Assistant;
    match syntax::header(line)? {
        None if line.starts_with(syntax::TOOL_USE) => stray(BROKEN_USE),
        None => stray(BROKEN_RESULT),
        Some(BlockKind::ToolUse(_)) if !assistant => stray(MISPLACED_USE),
        Some(BlockKind::ToolResult(tool)) if tool.hosted && !assistant => stray(MISPLACED_HOSTED_RESULT),
        Some(BlockKind::ToolResult(tool)) if !tool.hosted && role != Speaker::You => stray(MISPLACED_RESULT),
        Some(kind) => Some((kind, BodyState::Header)),
    }
}

/// A number of lines as blocks store it. Files with four billion lines do not occur in practice.
pub(super) fn narrow(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}
