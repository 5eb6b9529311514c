//! Why a reply ended: what the words of all protocols mean.
//!
//! A word that is not here is passed on with the vendor's own words about it, as are Google's for a reply that failed:
//! `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL`, `TOO_MANY_TOOL_CALLS`, `MALFORMED_RESPONSE`,
//! `MISSING_THOUGHT_SIGNATURE`, `LANGUAGE`, `CONTINUATION`, `OTHER`.

use flemma_model::StopReason;

/// Words for a reply that is whole, in lower case.
const DONE: [&str; 7] = ["stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"];

/// Google's words for a reply that it refused to go on with.
const BLOCKED: [&str; 9] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

/// What `word` means of a reply, whether it calls tools or not. `words` are the vendor's own about it, mostly none.
pub(super) fn stop_reason(word: &str, words: &str) -> StopReason {
    let words = words.trim_end_matches('.');
    let named = || if words.is_empty() { word.to_owned() } else { format!("{word} ({words})") };
    // Servers write the words of others in capitals.
    match &*word.to_ascii_lowercase() {
        "tool_use" | "tool_calls" | "function_call" => StopReason::ToolUse,
        lower if DONE.contains(&lower) => StopReason::EndTurn,
        "max_tokens" | "length" | "max_output_tokens" => StopReason::MaxTokens,
        "refusal" | "content_filter" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        "model_context_window_exceeded" => StopReason::ContextFull,
        _ if BLOCKED.contains(&word) => StopReason::Blocked(named()),
        _ => StopReason::Other(named()),
    }
}
