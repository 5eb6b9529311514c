//! Writes a message: text that arrives in pieces becomes lines that cannot act as structure.
//!
//! The writer appends to one string. It holds back what it cannot classify yet: the first characters of a line that may
//! have to be escaped, and blank lines that matter only if more text follows. It tracks code fences in its output
//! exactly as the parser will, so that it can close one that the model left open before the next block begins.
//!
//! Layout: the marker is alone on its line, the content starts on the next one, and one blank line separates blocks.

use sha2::{Digest as _, Sha256};

use super::{
    escape::{LinePrefix, classify},
    syntax::{THINKING, THINKING_END, ThinkingTag},
};
use flemma_model::{Digest, Signature};
use flemma_text::Fence;

/// The maximum number of bytes of blank lines that are held back.
const MAX_GAP: usize = 4096;

/// Writes the blocks of one message.
#[derive(Debug, Default)]
pub(super) struct MessageWriter {
    /// The output since it was last taken.
    pub out: String,
    /// The position in `out` for the attributes of the open thinking tag, if the tag is still in `out`.
    pub tag: Option<usize>,
    /// Whether a block was written.
    begun: bool,
    flow: Option<Flow>,
    /// The text of the open thinking, as it came.
    thought: Sha256,
}

/// The kind of a flowing text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FlowKind {
    /// Prose: blank lines at its ends are dropped.
    #[default]
    Prose,
    /// Thinking: it may be signed, so every character is kept.
    Thinking,
}

/// A block of text that arrives in pieces.
#[derive(Debug, Default)]
struct Flow {
    kind: FlowKind,
    /// Line breaks and blank lines that are not written yet.
    gap: String,
    /// The beginning of a line that is not classified yet.
    held: String,
    /// Carriage returns that are dropped if the line ends here.
    carriage: usize,
    /// Whether the beginning of this line is written.
    judged: bool,
    /// Whether any character has arrived.
    any: bool,
    /// Whether anything was written.
    written: bool,
    /// The current line as it was written, if it may be a fence.
    line: String,
    /// The code fence that is open.
    code: Option<Fence>,
}

impl MessageWriter {
    /// A writer that starts with `start`, a role marker.
    pub fn after(start: String) -> Self {
        Self { out: start, ..Self::default() }
    }

    /// Appends prose.
    pub fn text(&mut self, text: &str) {
        self.flow(FlowKind::Prose, text);
    }

    /// Appends thinking. Opens the tag if it is not open.
    pub fn thinking(&mut self, text: &str) {
        if self.flow.as_ref().is_none_or(|flow| flow.kind != FlowKind::Thinking) {
            self.open_thinking();
        }
        self.thought.update(text);
        self.flow(FlowKind::Thinking, text);
    }

    /// The tag of the open thinking, which is complete.
    pub fn signed(&self, signature: Option<&Signature>) -> ThinkingTag {
        ThinkingTag::new(signature.cloned(), &Digest::finish(self.thought.clone()))
    }

    /// Opens thinking.
    pub fn open_thinking(&mut self) {
        self.separate();
        self.out.push_str(THINKING);
        self.tag = Some(self.out.len());
        self.out.push('>');
        self.thought = Sha256::new();
        self.flow = Some(Flow::new(FlowKind::Thinking));
    }

    /// Whether thinking is open.
    pub fn is_thinking(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.kind == FlowKind::Thinking)
    }

    /// Writes thinking whose text the vendor hides.
    pub fn redacted(&mut self, tag: &ThinkingTag) {
        self.block(&[format!("{THINKING}{}>", tag.attributes()), THINKING_END.to_owned()]);
    }

    /// Writes a complete block.
    pub fn block(&mut self, lines: &[String]) {
        self.separate();
        self.out.push_str(&lines.join("\n"));
    }

    /// Ends the current text: closes its code fence or its tag.
    pub fn end(&mut self) {
        let Some(mut flow) = self.flow.take() else { return };
        match flow.kind {
            FlowKind::Prose => {
                if !flow.held.trim().is_empty() {
                    self.judge(&mut flow, true);
                }
                if flow.judged {
                    flow.follow_code();
                }
                if let Some(fence) = flow.code {
                    self.out.push('\n');
                    self.out.push_str(&fence.marks());
                }
            }
            FlowKind::Thinking => {
                if flow.any && !flow.judged {
                    self.judge(&mut flow, true);
                }
                self.out.push('\n');
                self.out.push_str(THINKING_END);
                self.tag = None;
            }
        }
    }

    /// Ends the current text and writes the separator between two blocks.
    fn separate(&mut self) {
        self.end();
        self.out.push_str(if self.begun { "\n\n" } else { "\n" });
        self.begun = true;
    }

    fn flow(&mut self, kind: FlowKind, text: &str) {
        if self.flow.as_ref().is_none_or(|flow| flow.kind != kind) {
            self.end();
        }
        let mut flow = self.flow.take().unwrap_or_else(|| Flow::new(kind));
        for (index, piece) in text.split('\n').enumerate() {
            if index > 0 {
                self.break_line(&mut flow);
            }
            self.characters(&mut flow, piece);
        }
        self.flow = Some(flow);
    }

    /// Appends to the current line.
    fn characters(&mut self, flow: &mut Flow, piece: &str) {
        let body = piece.trim_end_matches('\r');
        let carriage = piece.len() - body.len();
        if body.is_empty() {
            flow.carriage += carriage;
            return;
        }
        flow.any = true;
        // A long run of one character that was undecided remains undecided. Without this, a line of a million backticks
        // would be classified from its start for every chunk.
        let steady = flow.carriage == 0 && is_run(&flow.held, body);
        let returns = "\r".repeat(std::mem::replace(&mut flow.carriage, carriage));
        for text in [returns.as_str(), body] {
            if flow.judged {
                self.out.push_str(text);
                flow.note(text);
            } else {
                flow.held.push_str(text);
            }
        }
        if !flow.judged && !steady {
            self.judge(flow, false);
        }
    }

    fn break_line(&mut self, flow: &mut Flow) {
        flow.carriage = 0;
        flow.any = true;
        if !flow.judged {
            if flow.kind == FlowKind::Prose && flow.held.trim().is_empty() {
                flow.gap.push_str(&flow.held);
                flow.held.clear();
            } else {
                self.judge(flow, true);
            }
        }
        if flow.judged {
            flow.follow_code();
        }
        flow.judged = false;
        flow.line.clear();
        flow.gap.push('\n');
        if flow.gap.len() > MAX_GAP {
            // Blank lines before the first line are dropped. An endless run of blank lines must not be written all at
            // once.
            if flow.written {
                self.out.push_str(&flow.gap);
            }
            flow.gap.clear();
        }
    }

    /// Writes the beginning of a line once it is clear whether it needs a backslash.
    fn judge(&mut self, flow: &mut Flow, complete: bool) {
        let blank = flow.kind == FlowKind::Prose && flow.held.trim().is_empty();
        let verdict = classify(&flow.held);
        if !complete && (blank || verdict == LinePrefix::Undecided) {
            return;
        }
        if flow.kind == FlowKind::Prose && !flow.written {
            // Blank lines before the first line say nothing.
            flow.gap.clear();
            self.out.push_str(if self.begun { "\n\n" } else { "\n" });
            self.begun = true;
        }
        flow.written = true;
        self.out.push_str(&flow.gap);
        flow.gap.clear();
        if verdict == LinePrefix::Structure {
            flow.held.insert(0, '\\');
        }
        self.out.push_str(&flow.held);
        let held = std::mem::take(&mut flow.held);
        flow.note(&held);
        flow.judged = true;
    }
}

impl Flow {
    fn new(kind: FlowKind) -> Self {
        // Thinking starts on the line after its tag.
        let gap = if kind == FlowKind::Thinking { "\n".to_owned() } else { String::new() };
        Self { kind, gap, ..Self::default() }
    }

    /// Records what was written of this line, if it may be a fence.
    fn note(&mut self, text: &str) {
        if self.kind == FlowKind::Prose && (self.line.is_empty() || self.line.trim_start().starts_with(['`', '~'])) {
            self.line.push_str(text);
        }
    }

    /// Updates the state of the code fence after a complete line, as the parser will.
    fn follow_code(&mut self) {
        match self.code {
            Some(fence) if fence.closes(&self.line) => self.code = None,
            Some(_) => {}
            None => self.code = Fence::open(&self.line).map(|(fence, _)| fence),
        }
    }
}

/// Whether `more` only continues a run of one character at the end of `held`.
fn is_run(held: &str, more: &str) -> bool {
    let Some(last) = held.bytes().last() else { return false };
    let run = [last; 4];
    held.as_bytes().ends_with(&run) && more.bytes().all(|byte| byte == last)
}
