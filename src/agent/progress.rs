//! How much of a reply has arrived: what the provider has counted, and what came since.

use crate::model::{Event, Usage};

/// The size of a reply so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Tokens that the provider has counted.
    pub counted: u64,
    /// Bytes of text that arrived since it counted.
    pub bytes: usize,
    /// Bytes of a tool's input among them, which arrive before the whole input does.
    input: usize,
}

impl Progress {
    /// A piece of the reply arrived.
    pub(super) fn arrived(&mut self, event: &Event) {
        match event {
            Event::Text(text) | Event::Thinking(text) => self.bytes += text.len(),
            // Its count is of the whole input so far.
            Event::ToolUseProgress { bytes, .. } => {
                self.bytes += bytes.saturating_sub(self.input);
                self.input = *bytes;
            }
            Event::ToolUse { .. } => self.input = 0,
            _ => {}
        }
    }

    /// The provider has counted everything so far.
    pub(super) fn counted(&mut self, usage: &Usage) {
        // Some count the first token before any text, and nothing more before the end.
        if usage.output > self.counted {
            self.counted = usage.output;
            self.bytes = 0;
        }
    }

    /// Tokens so far, and whether they are an estimate.
    #[must_use]
    pub fn tokens(&self, bytes_per_token: f64) -> (u64, bool) {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let since = (self.bytes as f64 / bytes_per_token.max(1.0)).ceil() as u64;
        (self.counted + since, self.bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;
    use crate::model::{Event, Usage};

    fn after(events: &[Event]) -> Progress {
        let mut progress = Progress::default();
        for event in events {
            match event {
                Event::Usage(usage) => progress.counted(usage),
                event => progress.arrived(event),
            }
        }
        progress
    }

    fn counted(output: u64) -> Event {
        Event::Usage(Usage { output, ..Usage::default() })
    }

    #[test]
    fn text_that_nobody_counted_is_estimated() {
        let events = [counted(1), Event::Text("x".repeat(80)), Event::Thinking("y".repeat(20))];
        assert_eq!(after(&events).tokens(4.0), (26, true));
    }

    #[test]
    fn what_the_provider_counts_takes_the_place_of_the_estimate() {
        let events = [Event::Text("x".repeat(80)), counted(17)];
        assert_eq!(after(&events).tokens(4.0), (17, false));
        let events = [Event::Text("x".repeat(80)), counted(17), Event::Text("abcd".into())];
        assert_eq!(after(&events).tokens(4.0), (18, true));
    }

    #[test]
    fn the_input_of_a_tool_is_counted_once() {
        let grows = |bytes| Event::ToolUseProgress { name: "write".into(), bytes };
        let events = [grows(40), grows(100)];
        assert_eq!(after(&events).tokens(4.0), (25, true));
    }
}
