//! How much of a reply has arrived: the provider's count, and what has arrived since.

use flemma_model::{Event, Usage};

/// The size of a reply so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Tokens counted by the provider.
    pub counted: u64,
    /// Bytes of text that have arrived since the last count.
    pub bytes: usize,
    /// Bytes of an incomplete tool input among them.
    input: usize,
}

impl Progress {
    /// The size after this piece of the reply.
    pub(super) fn with(mut self, event: &Event) -> Self {
        match event {
            Event::Text(text) | Event::Thinking(text) => self.bytes += text.len(),
            // The event has the size of the whole input so far.
            Event::ToolUseProgress { bytes, .. } => {
                self.bytes += bytes.saturating_sub(self.input);
                self.input = *bytes;
            }
            Event::ToolUse { .. } => self.input = 0,
            _ => {}
        }
        self
    }

    /// The size after the provider has counted everything so far.
    pub(super) fn with_count(mut self, usage: &Usage) -> Self {
        // Some providers count the first token before any text, and then nothing until the end.
        if usage.output > self.counted {
            self.counted = usage.output;
            self.bytes = 0;
        }
        self
    }

    /// Tokens so far, and whether the number is an estimate.
    pub fn tokens(&self, bytes_per_token: f64) -> (u64, bool) {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let since = (self.bytes as f64 / bytes_per_token.max(1.0)).ceil() as u64;
        (self.counted + since, self.bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;
    use flemma_model::{Event, Usage};

    fn after(events: &[Event]) -> Progress {
        events.iter().fold(Progress::default(), |progress, event| match event {
            Event::Usage(usage) => progress.with_count(usage),
            event => progress.with(event),
        })
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
