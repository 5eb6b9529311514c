//! A script: what is said, reply by reply.

use std::{sync::Arc, time::Duration};

use super::pace::{Pace, ScriptedReply};
use flemma_model::{CallId, Event, Message, Part, Role, StopReason, ToolInput};

/// What a script's text replaces by the last tool's words.
const LAST_RESULT: &str = "{{last_result}}";

/// What is said when the script is over.
const CLOSING: &str = "\
The script ends here. I have no more lines, because I am a script and not a model.

To talk to one, set `ANTHROPIC_API_KEY` in the shell that starts Neovim, and in your configuration:

```lua
require(\"flemma\").setup({ provider = \"anthropic\", model = \"claude-sonnet-5-5\" })
```";

/// The replies of one scripted conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    replies: Vec<Vec<Part>>,
}

impl Script {
    /// The script that a conversation is: each message of the assistant is one reply. What the user
    /// says in it, results included, is there for its readers only.
    #[must_use]
    pub fn from_messages(messages: &[Arc<Message>]) -> Self {
        let replies = messages.iter().filter(|message| message.role == Role::Assistant);
        Self { replies: replies.map(|message| message.parts.clone()).collect() }
    }

    /// The events of a reply, each after its pause. `played` is how many replies came before it; after
    /// the last one, it is a closing word. Calls get ids that no other reply has.
    pub(super) fn reply(&self, played: usize, last_result: &str, pace: Pace) -> Vec<(Duration, Event)> {
        let mut performance = ScriptedReply::new(pace);
        let closing = [Part::Text(CLOSING.to_owned())];
        let parts = self.replies.get(played).map_or(&closing[..], Vec::as_slice);
        let speak = |text: &str| text.replace(LAST_RESULT, last_result);
        let mut calls = 0;
        for part in parts {
            match part {
                Part::Text(text) => performance.text(&speak(text)),
                Part::Thinking { text, .. } => performance.thinking(&speak(text)),
                Part::ToolUse { name, input, .. } => {
                    calls += 1;
                    let id = CallId(format!("rehearsal_{}_{calls}", played + 1));
                    performance.tool_use(id, name, ToolInput::Json(input.clone()), input.to_string().len());
                }
                // A script signs nothing and runs nothing on its own.
                Part::RedactedThinking(_)
                | Part::Attachment(_)
                | Part::ToolResult { .. }
                | Part::HostedUse { .. }
                | Part::HostedResult { .. }
                | Part::Citations { .. } => {}
            }
        }
        performance.finish(if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn })
    }
}
