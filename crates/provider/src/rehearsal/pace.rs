//! How a script is performed: in pieces, with pauses, like a stream.

use std::time::Duration;

use flemma_model::{CallId, Event, StopReason, ToolInput};

/// Before the first word, as a real provider takes it.
const BEFORE_REPLY: Duration = Duration::from_millis(250);

/// Before each piece of text.
const PER_PIECE: Duration = Duration::from_millis(18);

/// Before each piece of thinking.
const PER_THOUGHT: Duration = Duration::from_millis(12);

/// Before each step of a tool's input.
const PER_STEP: Duration = Duration::from_millis(25);

/// The most characters of a piece.
const PIECE: usize = 8;

/// The bytes of input that one step brings.
const STEP: usize = 16;

/// The factor of every pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace(f64);

impl Pace {
    /// A pace of at least 0 and at most 100, which is two seconds a word; NaN counts as 1.
    pub fn new(factor: f64) -> Self {
        Self(if factor.is_nan() { 1.0 } else { factor.clamp(0.0, 100.0) })
    }

    fn of(self, pause: Duration) -> Duration {
        pause.mul_f64(self.0)
    }
}

/// A reply in the making.
pub(super) struct ScriptedReply {
    pace: Pace,
    /// What the next event waits on top of its own pause.
    rest: Duration,
    events: Vec<(Duration, Event)>,
}

impl ScriptedReply {
    pub fn new(pace: Pace) -> Self {
        Self { pace, rest: BEFORE_REPLY, events: Vec::new() }
    }

    pub fn text(&mut self, text: &str) {
        for piece in pieces(text) {
            self.push(PER_PIECE, Event::Text(piece.to_owned()));
        }
    }

    pub fn thinking(&mut self, text: &str) {
        self.push(Duration::ZERO, Event::ThinkingStarted);
        for piece in pieces(text) {
            self.push(PER_THOUGHT, Event::Thinking(piece.to_owned()));
        }
        self.push(Duration::ZERO, Event::ThinkingFinished { signature: None });
    }

    /// A tool use whose input, `size` bytes of JSON, arrives step by step.
    pub fn tool_use(&mut self, id: CallId, name: &str, input: ToolInput, size: usize) {
        for bytes in (0..size).step_by(STEP).chain([size]) {
            self.push(PER_STEP, Event::ToolUseProgress { name: name.to_owned(), bytes });
        }
        self.push(Duration::ZERO, Event::ToolUse { id, name: name.to_owned(), input });
    }

    pub fn finish(mut self, reason: StopReason) -> Vec<(Duration, Event)> {
        self.push(Duration::ZERO, Event::Finished(reason));
        self.events
    }

    fn push(&mut self, pause: Duration, event: Event) {
        let pause = self.pace.of(pause + std::mem::take(&mut self.rest));
        self.events.push((pause, event));
    }
}

/// Cuts text into words with the white space behind them; long words into pieces of [`PIECE`] characters.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut length, mut after_space) = (Vec::new(), 0, 0, false);
    for (at, c) in text.char_indices() {
        let begins_word = after_space && !c.is_whitespace();
        if length == PIECE || begins_word {
            pieces.push(&text[start..at]);
            (start, length) = (at, 0);
        }
        after_space = c.is_whitespace();
        length += 1;
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
