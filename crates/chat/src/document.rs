//! The document, and how a change of lines becomes a change of structure.
//!
//! [`Document::update`] resumes the parser at the first changed line and feeds it the changed lines, and then more
//! lines until its state equals that of the old parse at the same place (the *seam*). The structure in between is
//! replaced; the structure after it is kept and moved. A keystroke in the middle of prose reads one line.

use std::{cell::Cell, ops::Range};

use super::{
    Block, BlockKind, Calls, Change, Frontmatter, ParsedMessage, Speaker, Text,
    block::Cache,
    parse::{BodyState, Builder, ParserState, Segment, narrow},
};

/// The number of lines of the first read after the changed lines. Each further read is twice as long.
const FIRST_READ: usize = 4;

/// The maximum number of lines of a read.
const LONGEST_READ: usize = 4096;

/// The structure of a conversation. It contains no text: callers pass in the lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    frontmatter: Option<Frontmatter>,
    pub(super) messages: Vec<ParsedMessage>,
    lines: usize,
    /// How many messages from the start are known to have no open call.
    settled: Cache<Cell<usize>>,
    /// How many messages from the start are known to have all their results paired.
    pub(super) paired: Cache<Cell<usize>>,
}

/// What an update has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The lines that were parsed again, in the new numbering.
    pub lines: Range<usize>,
    /// Whether tool uses, results or placeholders, or the turns that they belong to, may have changed.
    pub tools: bool,
}

/// A boundary between two lines, described by the line before it.
#[derive(Clone, Copy, Debug)]
struct Boundary {
    /// The message of that line; `None` before the first marker.
    message: Option<usize>,
    /// The block of that line; `None` if the line is only a marker.
    block: Option<usize>,
    state: ParserState,
}

/// Where the new parse and the old one agree, as a position in the old one.
#[derive(Clone, Copy, Debug)]
enum Seam {
    /// At the end of the text.
    End,
    /// At the start of this message.
    ParsedMessage(usize),
    /// Before the first marker.
    Head,
    /// In a message.
    BodyState {
        message: usize,
        /// The first block that is kept unchanged.
        next: usize,
        /// The number of lines by which the block before it continues, and whether it is closed then.
        rest: Option<(u32, bool)>,
    },
}

impl Document {
    /// Parses a whole text.
    pub fn parse(text: &dyn Text) -> Self {
        let mut document = Self::default();
        document.update(Change { first: 0, old_last: 0, new_last: text.line_count() }, text);
        document
    }

    /// Updates the structure after `change`. `text` is the text after the change.
    ///
    /// A document may cover only the first lines of a text. `Change { first: n, old_last: n, new_last: m }` extends a
    /// document of `n` lines; the result equals a parse of `m` lines.
    pub fn update(&mut self, change: Change, text: &dyn Text) -> Update {
        let first = change.first.min(self.lines);
        let old_last = change.old_last.clamp(first, self.lines);
        let new_last = change.new_last.max(first);
        let total = self.lines - old_last + new_last;
        let origin = self.place(first);
        let mut builder = self.resume(origin, first);
        read_on(&mut builder, text, new_last);
        let seam = if builder.line < new_last {
            Seam::End
        } else {
            self.find_seam(&mut builder, text, (old_last, new_last), total)
        };
        // The text may be shorter than the change says.
        let total = if matches!(seam, Seam::End) { builder.line } else { total };
        let touched = first..builder.line;
        let tools = self.replace(origin, builder, seam, total);
        Update { lines: touched, tools }
    }

    /// The number of lines that the document covers.
    pub const fn line_count(&self) -> usize {
        self.lines
    }

    /// The fenced block that opens on the first line.
    pub const fn frontmatter(&self) -> Option<&Frontmatter> {
        self.frontmatter.as_ref()
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[ParsedMessage] {
        &self.messages
    }

    /// The index of the message that contains `line`; `None` before the first marker and past the end.
    pub fn message_at(&self, line: usize) -> Option<usize> {
        if line >= self.lines {
            return None;
        }
        self.messages.partition_point(|message| message.start <= line).checked_sub(1)
    }

    /// The indices of the message and the block that contain `line`; `None` on a marker without text, before the first
    /// marker and past the end.
    pub fn block_at(&self, line: usize) -> Option<(usize, usize)> {
        self.calls().block_at(line)
    }

    /// The calls and their results.
    pub fn calls(&self) -> Calls<'_> {
        Calls { messages: &self.messages, settled: &self.settled.0 }
    }

    /// The messages that overlap the lines in `range`, in order, with their indices.
    pub(super) fn messages_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &ParsedMessage)> {
        let first = self.messages.partition_point(|message| message.range().end <= range.start);
        self.messages.iter().enumerate().skip(first).take_while(move |(_, message)| message.start < range.end)
    }

    /// The blocks that overlap the lines in `range`, in order, each with its message.
    pub(super) fn blocks_in(&self, range: Range<usize>) -> impl Iterator<Item = (&ParsedMessage, &Block)> {
        let found = self.messages_in(range.clone());
        found.flat_map(move |(_, message)| message.blocks_in(range.clone()).map(move |block| (message, block)))
    }

    /// The messages after the last reply.
    pub(super) fn after_last_reply(&self) -> &[ParsedMessage] {
        let last = self.messages.iter().rposition(|message| message.role == Speaker::Assistant);
        &self.messages[last.map_or(0, |last| last + 1)..]
    }

    /// Reads the user's own prose in the lines in `range`: see [`ParsedMessage::read_prose`].
    pub(super) fn read_users_prose(
        &self,
        range: &Range<usize>,
        text: &dyn Text,
        each: &mut dyn FnMut(usize, usize, &str),
    ) {
        for (message, block) in self.blocks_in(range.clone()) {
            if message.role == Speaker::You && block.kind == BlockKind::Text {
                let lines = message.lines_of(block);
                message.read_prose(lines.start.max(range.start)..lines.end.min(range.end), text, each);
            }
        }
    }

    /// The lines before the first marker, including frontmatter.
    pub(super) fn head(&self) -> Range<usize> {
        0..self.messages.first().map_or(self.lines, |message| message.start)
    }

    fn place(&self, line: usize) -> Boundary {
        let message = self.messages.partition_point(|message| message.start < line).checked_sub(1);
        let Some(index) = message else {
            let state = match &self.frontmatter {
                _ if line == 0 => ParserState::Start,
                Some(matter) if line < matter.lines || !matter.closed => ParserState::Frontmatter(matter.fence),
                _ => ParserState::Head,
            };
            return Boundary { message, block: None, state };
        };
        let found = &self.messages[index];
        let line = line - found.start;
        let block = found.block_before(line);
        let inside = block.map_or(BodyState::Prose, |block| {
            let block = &found.blocks[block];
            block.state_after(line - block.offset as usize)
        });
        Boundary { message, block, state: ParserState::Body(found.role, inside) }
    }

    /// A parser at `origin`, before line `line`.
    fn resume(&self, origin: Boundary, line: usize) -> Builder {
        let mut segment = Segment { role: None, start: 0, crlf: false, blocks: Vec::new() };
        let mut frontmatter = None;
        if let Some(message) = origin.message.map(|index| &self.messages[index]) {
            segment.role = Some(message.role);
            segment.start = message.start;
            segment.crlf = message.crlf;
            segment.blocks.extend(origin.block.map(|index| {
                let block = &message.blocks[index];
                block.cut(narrow(line - message.start) - block.offset)
            }));
        } else if line > 0 {
            frontmatter.clone_from(&self.frontmatter);
            if let Some(matter) = frontmatter.as_mut().filter(|matter| line < matter.lines) {
                matter.lines = line;
                matter.closed = false;
            }
        }
        Builder { state: origin.state, line, frontmatter, done: Vec::new(), current: segment }
    }

    /// Feeds the parser until it agrees with the old parse.
    fn find_seam(
        &self,
        builder: &mut Builder,
        text: &dyn Text,
        (old_last, new_last): (usize, usize),
        total: usize,
    ) -> Seam {
        let mut length = FIRST_READ;
        let mut seam = self.seam(builder, old_last);
        while seam.is_none() {
            let from = builder.line;
            let to = total.min(from + length);
            text.read(from..to, &mut |line| {
                if seam.is_none() {
                    builder.feed(line);
                    seam = self.seam(builder, builder.line - new_last + old_last);
                }
            });
            if builder.line == from {
                return Seam::End;
            }
            length = (length * 2).min(LONGEST_READ);
        }
        seam.unwrap_or(Seam::End)
    }

    /// The seam, if the parser agrees with the old parse before the old line `line`.
    fn seam(&self, builder: &Builder, line: usize) -> Option<Seam> {
        if line >= self.lines {
            return Some(Seam::End);
        }
        let place = self.place(line);
        let next = place.message.map_or(0, |index| index + 1);
        if self.messages.get(next).is_some_and(|message| message.start == line) {
            return builder.state.heeds_markers().then_some(Seam::ParsedMessage(next));
        }
        // After a tool header, the fence of the block is still to come; before the first line, frontmatter may be.
        if place.state != builder.state
            || matches!(place.state, ParserState::Start | ParserState::Body(_, BodyState::Header))
        {
            return None;
        }
        let Some(index) = place.message else { return Some(Seam::Head) };
        let message = &self.messages[index];
        let rest = place.block.and_then(|block| {
            let block = &message.blocks[block];
            let rest = block.end() - (line - message.start);
            (rest > 0).then(|| (narrow(rest), block.closed))
        });
        Some(Seam::BodyState { message: index, next: place.block.map_or(0, |block| block + 1), rest })
    }

    /// Replaces the structure from `origin` to `seam` by the parser's result. Returns whether tool blocks may have
    /// changed.
    fn replace(&mut self, origin: Boundary, mut builder: Builder, seam: Seam, total: usize) -> bool {
        let delta = total.cast_signed() - self.lines.cast_signed();
        if let Seam::BodyState { rest: Some((lines, closed)), .. } = seam {
            match builder.current.blocks.last_mut() {
                Some(block) if !matches!(builder.state, ParserState::Body(_, BodyState::Prose)) => {
                    block.lines += lines;
                    block.closed = closed;
                }
                _ => builder.current.text(builder.line, lines),
            }
        }
        if let (Seam::Head, ParserState::Frontmatter(_), Some(new), Some(old)) =
            (seam, builder.state, &mut builder.frontmatter, &self.frontmatter)
        {
            new.lines = old.lines.saturating_add_signed(delta);
            new.closed = old.closed;
        }
        let before = origin.block.unwrap_or(0);
        if let Some(index) = origin.message.filter(|_| builder.done.is_empty()) {
            let next = match seam {
                Seam::BodyState { message, next, .. } if message == index => Some(next),
                Seam::ParsedMessage(message) if message == index + 1 => Some(self.messages[index].blocks.len()),
                Seam::End if index + 1 == self.messages.len() => Some(self.messages[index].blocks.len()),
                _ => None,
            };
            if let Some(next) = next {
                let tools = self.messages[index].splice(before..next, builder.current.blocks, delta);
                self.lines = total;
                self.shift(index + 1, delta);
                if tools {
                    self.forget_from(index);
                }
                return tools;
            }
        }
        self.replace_messages(origin, builder, seam, total);
        true
    }

    /// The general case: whole messages are added or removed.
    fn replace_messages(&mut self, origin: Boundary, mut builder: Builder, seam: Seam, total: usize) {
        let delta = total.cast_signed() - self.lines.cast_signed();
        let first = origin.message.unwrap_or(0);
        if !matches!(seam, Seam::Head) {
            self.forget_from(first);
        }
        let last = match seam {
            Seam::End => self.messages.len(),
            Seam::ParsedMessage(message) => message,
            Seam::Head => 0,
            Seam::BodyState { message, next, .. } => {
                let old = &mut self.messages[message];
                let tail = old.blocks.split_off(next.min(old.blocks.len()));
                let shift = old.start.cast_signed() + delta - builder.current.start.cast_signed();
                append(&mut builder.current.blocks, tail, shift);
                message + 1
            }
        };
        let mut segments = std::mem::take(&mut builder.done);
        segments.push(builder.current);
        if let (Some(index), Some(segment)) = (origin.message, segments.first_mut()) {
            let mut blocks = std::mem::take(&mut self.messages[index].blocks);
            blocks.truncate(origin.block.unwrap_or(0));
            blocks.append(&mut segment.blocks);
            segment.blocks = blocks;
        } else {
            self.frontmatter = builder.frontmatter;
        }
        let mut end = self.messages.get(last).map_or(total, |message| message.start.saturating_add_signed(delta));
        let mut fresh: Vec<ParsedMessage> = segments
            .into_iter()
            .rev()
            .filter_map(|segment| {
                let lines = end - segment.start;
                end = segment.start;
                Some(ParsedMessage {
                    role: segment.role?,
                    start: segment.start,
                    lines,
                    blocks: segment.blocks,
                    crlf: segment.crlf,
                    known: Cache::default(),
                })
            })
            .collect();
        fresh.reverse();
        let count = fresh.len();
        self.messages.splice(first..last.max(first), fresh);
        self.lines = total;
        self.shift(first + count, delta);
    }

    /// The message at this index, or a tool in it, has changed.
    fn forget_from(&self, message: usize) {
        for known in [&self.settled.0, &self.paired.0] {
            known.set(known.get().min(message));
        }
    }

    /// Moves the messages from `index` on.
    fn shift(&mut self, index: usize, delta: isize) {
        if delta != 0 {
            for message in self.messages.get_mut(index..).unwrap_or_default() {
                message.start = message.start.saturating_add_signed(delta);
            }
        }
    }
}

impl ParsedMessage {
    /// Replaces the blocks in `range` by `fresh` and moves the rest by `delta` lines. Returns whether tool blocks were
    /// added, removed or changed.
    fn splice(&mut self, range: Range<usize>, mut fresh: Vec<Block>, delta: isize) -> bool {
        let mut range = range.start..range.end.max(range.start);
        // Adjacent prose becomes one block.
        if let (Some(last), Some(next)) = (fresh.last_mut(), self.blocks.get(range.end))
            && last.kind == BlockKind::Text
            && next.kind == BlockKind::Text
        {
            last.lines += next.lines;
            range.end += 1;
        }
        let tools = self.blocks[range.clone()].iter().chain(&fresh).any(Block::is_tool);
        self.known = Cache::default();
        let next = range.start + fresh.len();
        if range.len() == fresh.len() {
            for (old, new) in self.blocks[range].iter_mut().zip(fresh) {
                *old = new;
            }
        } else {
            self.blocks.splice(range, fresh);
        }
        if delta != 0 {
            for block in self.blocks.get_mut(next..).unwrap_or_default() {
                block.offset = narrow((block.offset as usize).saturating_add_signed(delta));
            }
        }
        self.lines = self.lines.saturating_add_signed(delta);
        tools
    }
}

/// Appends blocks with offsets from another start.
fn append(blocks: &mut Vec<Block>, tail: Vec<Block>, shift: isize) {
    for mut block in tail {
        block.offset = narrow((block.offset as usize).saturating_add_signed(shift));
        match blocks.last_mut() {
            Some(last) if last.kind == BlockKind::Text && block.kind == BlockKind::Text => last.lines += block.lines,
            _ => blocks.push(block),
        }
    }
}

/// Feeds the lines up to `end`.
fn read_on(builder: &mut Builder, text: &dyn Text, end: usize) {
    while builder.line < end {
        let from = builder.line;
        text.read(from..end.min(from + LONGEST_READ), &mut |line| builder.feed(line));
        if builder.line == from {
            return;
        }
    }
}
