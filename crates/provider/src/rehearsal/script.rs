//! A script: what is said, reply by reply, in pieces and with pauses, like a stream.

use std::time::Duration;

use flemma_model::{CallId, Event, Part, StopReason, ToolInput};

/// What a script's text replaces by the last tool's words.
const LAST_RESULT: &str = "{{last_result}}";

/// What is said when the script is over.
const CLOSING: &str = "\
The script ends here. I have no more lines, because I am a script and not a model.

To talk to one, set `ANTHROPIC_API_KEY` in the shell that starts Neovim, and in your configuration:

```lua
require(\"flemma\").setup({ provider = \"anthropic\", model = \"claude-sonnet-5-5\" })
```";

/// Milliseconds before the first word, as a real provider takes them.
const BEFORE_REPLY: u64 = 250;

/// Milliseconds before each piece of text.
const PER_PIECE: u64 = 18;

/// Milliseconds before each piece of thinking.
const PER_THOUGHT: u64 = 12;

/// Milliseconds before each step of a tool's input.
const PER_STEP: u64 = 25;

/// The most characters of a piece.
const PIECE: usize = 8;

/// The bytes of input that one step brings.
const STEP: usize = 16;

/// The events of a reply of these parts, each after its pause, which is multiplied by `pace`; a closing word where
/// there are no more replies. `played` is how many replies came before it: calls get ids that no other reply has.
pub(super) fn perform(parts: Option<&[Part]>, played: usize, last_result: &str, pace: f64) -> Vec<(Duration, Event)> {
    let closing = [Part::Text(CLOSING.to_owned())];
    let speak = |text: &str| text.replace(LAST_RESULT, last_result);
    let mut events = vec![];
    let mut push = |pause: u64, event| {
        let rest = if events.is_empty() { BEFORE_REPLY } else { 0 };
        events.push((Duration::from_millis(pause + rest).mul_f64(pace), event));
    };
    let mut calls = 0;
    for part in parts.unwrap_or(&closing) {
        match part {
            Part::Text(text) => {
                pieces(&speak(text)).into_iter().for_each(|piece| push(PER_PIECE, Event::Text(piece.to_owned())));
            }
            Part::Thinking { text, .. } => {
                push(0, Event::ThinkingStarted);
                for piece in pieces(&speak(text)) {
                    push(PER_THOUGHT, Event::Thinking(piece.to_owned()));
                }
                push(0, Event::ThinkingFinished { signature: None });
            }
            Part::ToolUse { name, input, .. } => {
                calls += 1;
                let size = input.to_string().len();
                for bytes in (0..size).step_by(STEP).chain([size]) {
                    push(PER_STEP, Event::ToolUseProgress { name: name.clone(), bytes });
                }
                let id = CallId(format!("rehearsal_{}_{calls}", played + 1));
                push(0, Event::ToolUse { id, name: name.clone(), input: ToolInput::Json(input.clone()) });
            }
            // A script signs nothing and runs nothing on its own.
            _ => {}
        }
    }
    push(0, Event::Finished(if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn }));
    events
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
#[path = "script_tests.rs"]
mod tests;
