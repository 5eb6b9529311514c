//! What the model is told of a call that the user rejects.

use super::CallResult;
use flemma_chat::OpenCall;

const REJECTED: &str = "The user rejected this call; it did not run.";
/// What is said of the effect of a call that was interrupted, if nothing is known of it.
pub const UNKNOWN_EFFECT: &str = "it is not known whether it had an effect";

/// The result of a call that the user rejects: what the tool says of it, their words, the text that they typed in its block,
/// or what Flemma says. `effect` is what is known of the effect of a call that was started before: the end of a sentence. `own_text` is what the tool says, given the
/// user's reason; the reason is added where the tool leaves it out.
pub fn rejection(
    call: &OpenCall,
    words: Option<&str>,
    effect: Option<&str>,
    own_text: impl FnOnce(Option<&str>) -> Option<String>,
) -> CallResult {
    let typed = Some(own_words(call.typed())).filter(|typed| !typed.is_empty());
    let reason = match (words, typed) {
        (Some(words), Some(typed)) => Some(format!("{words}\n\n{typed}")),
        (words, typed) => words.map(str::to_owned).or(typed),
    };
    let rejected_again = effect.map(|effect| {
        format!(
            "This call was interrupted: the editor ended while it was running, and {effect}. The user decided not to run it \
             again."
        )
    });
    let own_text = own_text(reason.as_deref()).filter(|text| !text.trim().is_empty());
    let said = match (own_text, reason) {
        (Some(text), Some(reason)) if !text.contains(reason.trim()) => format!("{}\n\n{reason}", text.trim_end()),
        (Some(text), _) => text,
        (None, Some(reason)) => reason,
        (None, None) => return CallResult::error(rejected_again.unwrap_or_else(|| REJECTED.to_owned())),
    };
    // The model must not take these words for "it did not happen".
    CallResult::error(rejected_again.map_or_else(|| said.clone(), |again| format!("{again}\n\n{said}")))
}

/// The text that the user typed into a block, unchanged. A result loses its final line break, which
/// ends its last line; a last line that the user left empty is kept.
pub fn own_words(content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("{content}\n") }
}
