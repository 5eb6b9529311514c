//! `ask_user`: asks the user a question. Their answer is the result.
//!
//! Nothing runs here: the call waits until the user answers it (see [`form`](crate::form)).

use serde_json::json;

use crate::{Definition, Executor};

pub(super) fn definition() -> Definition {
    super::define_answered(
        "ask_user",
        "Ask the user a question and wait for the answer, which is the result. Use it if the task depends on something \
         that only the user knows or may decide: a preference, a choice between approaches that lead to different \
         results, a missing fact, or consent to something that cannot be undone. Ask one question per call, and give \
         `options` if the likely answers are known; the user may always answer something else. Do not use it for what \
         the other tools can find out, to ask whether to go on, or to report: write that as text. The user may be away, \
         so an answer can take long or never come.",
        super::with_label(json!({
            "question": {
                "type": "string",
                "description": "The question, in one or two sentences that can be understood on their own.",
            },
            "options": {
                "type": ["array", "null"],
                "items": { "anyOf": [
                    { "type": "string" },
                    {
                        "type": "object",
                        "properties": {
                            "label": { "type": "string", "description": "The answer, in a few words." },
                            "description": { "type": ["string", "null"], "description": "What it means." },
                        },
                        "required": ["label", "description"],
                        "additionalProperties": false,
                    },
                ] },
                "description": "Likely answers, a few words each, without \"other\"; null for a free answer.",
            },
            "default": {
                "type": ["string", "null"],
                "description": "The answer to suggest; with `options`, one of them. null for none.",
            },
        })),
        Executor::Human,
    )
}
