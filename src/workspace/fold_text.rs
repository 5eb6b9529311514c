//! The line that is shown in place of a closed fold: who wrote the message and how it begins, what a call did and what became
//! of it, how long the thinking is.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::{Conversation, Workspace};
use crate::{
    chat::{CallState, Folded, FoldedCall, Speaker, Status},
    config::Symbols,
    journal::CallKey,
    tools::{Summary, preview},
};

/// The width of a line below which it does not say how many lines are folded, in cells.
const NARROW: usize = 40;

/// A piece of the line, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldPiece {
    /// The text.
    pub text: String,
    /// What it is, for its colour.
    pub part: FoldPart,
}

/// What a piece of the line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldPart {
    /// The mark at the start, and words.
    Words,
    /// The frontmatter.
    Frontmatter,
    /// The author of a message.
    Role(Speaker),
    /// Thinking.
    Thinking,
    /// A reference of the user's that was captured.
    Captured,
    /// The name of a tool that was called.
    ToolUse,
    /// The name of a tool that has a result.
    ToolResult,
    /// A call that went well.
    Done,
    /// A call that failed.
    Failed,
    /// A call that waits or runs.
    Waiting,
    /// How much is folded, and how long it took.
    Size,
}

impl Workspace {
    /// The line in place of the fold with these lines, at most `width` cells wide; `None` if it is not a fold of ours.
    #[must_use]
    pub fn fold_text(
        &self,
        conversation: &Conversation,
        lines: &Range<usize>,
        width: usize,
        symbols: Symbols,
    ) -> Option<Vec<FoldPiece>> {
        let folded = conversation.page().folded(lines)?;
        let mut line = Line::new(width, symbols);
        match folded {
            Folded::Frontmatter { language } => {
                line.piece(FoldPart::Frontmatter, "Frontmatter");
                line.body = language;
                line.count(lines.len(), "line");
            }
            Folded::Message { speaker, words, tools } => {
                line.piece(FoldPart::Role(speaker), speaker.as_str());
                line.body = if words.is_empty() { tools.join(", ") } else { words };
                line.count(lines.len(), "line");
            }
            Folded::Thinking { lines: 0 } => {
                line.piece(FoldPart::Thinking, "Thinking");
                line.size("hidden".to_owned());
            }
            Folded::Thinking { lines: count } => {
                line.piece(FoldPart::Thinking, "Thinking");
                line.count(count, "line");
            }
            Folded::Captured { reference, lines: count } => {
                line.piece(FoldPart::Captured, &reference);
                line.count(count, "line");
            }
            Folded::Call(call) => {
                line.piece(FoldPart::ToolUse, name(&call));
                line.summary = self.summary(&call);
                line.end = Some(line.state(&call));
                line.size = self.time_of(conversation, &call).map(|time| format!(" {time}"));
            }
            Folded::Result(call) => self.result(&mut line, &call),
            Folded::Results(calls) => match calls.as_slice() {
                [call] => self.result(&mut line, call),
                calls => {
                    let worst = calls.iter().max_by_key(|call| severity(call.state));
                    if let Some(worst) = worst {
                        let (text, part) = line.state(worst);
                        line.piece(part, &text);
                    }
                    line.piece(FoldPart::ToolResult, &format!("{} results", calls.len()));
                    let mut names: Vec<&str> = calls.iter().map(name).collect();
                    names.dedup();
                    line.body = names.join(", ");
                    line.count(calls.iter().map(|call| call.lines).sum(), "line");
                }
            },
        }
        Some(line.finish())
    }

    fn result(&self, line: &mut Line, call: &FoldedCall) {
        let (text, part) = line.state(call);
        line.piece(part, &text);
        line.piece(FoldPart::ToolResult, name(call));
        line.summary = self.summary(call);
        line.count(call.lines, "line");
    }

    /// What a call did, without the tool's name.
    fn summary(&self, call: &FoldedCall) -> Option<Summary> {
        let definition = self.toolbox().get(&call.tool);
        Some(Summary::of(definition.as_deref(), "", call.input.as_ref()?))
    }

    /// How long a call that has ended took, if the journal knows.
    fn time_of(&self, conversation: &Conversation, call: &FoldedCall) -> Option<String> {
        if !matches!(call.state, CallState::Good | CallState::Failed) {
            return None;
        }
        let key = CallKey::of(&call.id, &call.tool, call.input.as_ref()?);
        conversation.records().with_ledger(|ledger| {
            let ending = ledger.ending(&key)?;
            let seconds = ending.at.duration_since(ending.started?).as_secs_f64();
            Some(match seconds {
                // Not worth a look.
                seconds if seconds < 0.1 => return None,
                seconds if seconds < 60.0 => format!("{seconds:.1} s"),
                seconds => format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), seconds % 60.0),
            })
        })
    }
}

fn name(call: &FoldedCall) -> &str {
    if call.tool.is_empty() { "Tool" } else { &call.tool }
}

/// Which of several calls the user should know about.
const fn severity(state: CallState) -> u8 {
    match state {
        CallState::Good => 0,
        CallState::New => 1,
        CallState::Status(_) => 2,
        CallState::Failed => 3,
    }
}

/// A line that is being put together.
struct Line {
    width: usize,
    symbols: Symbols,
    pieces: Vec<FoldPiece>,
    /// Words that are shortened if they do not fit.
    body: String,
    /// What a call did, in place of them.
    summary: Option<Summary>,
    /// What must be seen after them.
    end: Option<(String, FoldPart)>,
    /// What is left out first.
    size: Option<String>,
}

impl Line {
    fn new(width: usize, symbols: Symbols) -> Self {
        let mark = match symbols {
            Symbols::Unicode => "▸ ",
            Symbols::Ascii => "+ ",
        };
        let pieces = vec![FoldPiece { text: mark.to_owned(), part: FoldPart::Words }];
        Self { width, symbols, pieces, body: String::new(), summary: None, end: None, size: None }
    }

    fn piece(&mut self, part: FoldPart, text: &str) {
        if self.pieces.len() > 1 {
            self.pieces.push(FoldPiece { text: " ".to_owned(), part: FoldPart::Words });
        }
        self.pieces.push(FoldPiece { text: preview::clip(text, self.width), part });
    }

    fn count(&mut self, count: usize, word: &str) {
        let plural = if count == 1 { "" } else { "s" };
        self.size(format!("{count} {word}{plural}"));
    }

    fn size(&mut self, size: String) {
        self.size = Some(format!("  {size}"));
    }

    /// The state of a call, as a symbol or a word.
    fn state(&self, call: &FoldedCall) -> (String, FoldPart) {
        let is_ascii = self.symbols == Symbols::Ascii;
        let (text, part) = match call.state {
            CallState::Good => (if is_ascii { "ok" } else { "✓" }, FoldPart::Done),
            CallState::Failed => (if is_ascii { "failed" } else { "✗" }, FoldPart::Failed),
            CallState::Status(Status::Denied | Status::Rejected) => {
                (if is_ascii { "rejected" } else { "✗ rejected" }, FoldPart::Failed)
            }
            CallState::Status(status) => (status.as_str(), FoldPart::Waiting),
            CallState::New => ("no result", FoldPart::Waiting),
        };
        (text.to_owned(), part)
    }

    /// The words, in so many cells.
    fn words(&self, room: usize) -> String {
        self.summary.as_ref().map_or_else(|| preview::clip(&self.body, room), |summary| summary.line(room))
    }

    fn finish(mut self) -> Vec<FoldPiece> {
        let used: usize = self.pieces.iter().map(|piece| piece.text.width()).sum();
        let end = self.end.take().map(|(text, part)| FoldPiece { text: format!("  {text}"), part });
        let needed = used + end.as_ref().map_or(0, |end| end.text.width());
        let wish = match self.words(self.width).width() {
            0 => 0,
            width => width + 1,
        };
        // A few words say more than the number of lines.
        let shows_size = |size: &String| {
            let free = self.width.saturating_sub(needed + size.width());
            free >= wish || (self.width >= NARROW && free >= self.width / 3)
        };
        let size = self.size.take().filter(shows_size);
        let room = self.width.saturating_sub(needed + size.as_ref().map_or(0, |size| size.width()));
        let words = self.words(room.saturating_sub(1));
        if !words.is_empty() {
            self.pieces.push(FoldPiece { text: format!(" {words}"), part: FoldPart::Words });
        }
        self.pieces.extend(end);
        self.pieces.extend(size.map(|text| FoldPiece { text, part: FoldPart::Size }));
        if self.symbols == Symbols::Ascii {
            for piece in &mut self.pieces {
                piece.text = ascii(&piece.text);
            }
        }
        // Even the name of a tool may be too wide.
        let mut left = self.width;
        self.pieces.retain_mut(|piece| {
            if piece.text.width() > left {
                piece.text = preview::clip(&piece.text, left);
                if self.symbols == Symbols::Ascii {
                    piece.text = piece.text.replace('…', "~");
                }
            }
            left -= piece.text.width().min(left);
            !piece.text.is_empty()
        });
        self.pieces
    }
}

/// Our own symbols in a text, in ASCII and as wide as before. What the user or the model wrote stays.
fn ascii(text: &str) -> String {
    text.replace('…', "~").replace('⤶', "|")
}
