//! How much each model may think, as the API takes it.
//!
//! Gemini 2.5 counts tokens, each model within its own range, and `gemini-2.5-pro` cannot stop altogether. Gemini 3 and
//! later know levels and cannot stop either; not every model knows every level, and `LOW` and `HIGH` are known to all.
//! Models before 2.5 and those for images, speech and embeddings refuse the field. From the tables of
//! <https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/thinking>, as of November 2026.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::{Thinking, ThinkingLevel};

/// The kind of thinking that a model does.
#[derive(Debug, PartialEq)]
enum ThinkingKind {
    /// None, or none that can be set.
    Plain,
    /// Counted in tokens: no less than the start unless it is off, and no more than the end.
    Budget { range: RangeInclusive<u32>, stops: bool },
    /// In levels.
    Levels { minimal: bool, medium: bool },
}

/// Words in the names of models that answer in something else than text.
const OTHER_MODELS: [&str; 5] = ["image", "tts", "live", "audio", "embedding"];

fn family(model: &str) -> ThinkingKind {
    let Some(name) = model.rsplit('/').next().and_then(|name| name.strip_prefix("gemini-")) else {
        return ThinkingKind::Plain;
    };
    if name.split('-').any(|word| OTHER_MODELS.contains(&word)) {
        return ThinkingKind::Plain;
    }
    let number = name.split('-').next().unwrap_or_default();
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    let version = match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), Ok(minor)) => (major, minor),
        // An alias such as `gemini-flash-latest`: the current model.
        _ => (u32::MAX, 0),
    };
    let flash = name.contains("flash");
    match version {
        (0..=1, _) | (2, 0..=4) => ThinkingKind::Plain,
        (2, _) if name.contains("flash-lite") => ThinkingKind::Budget { range: 512..=24_576, stops: true },
        (2, _) if flash => ThinkingKind::Budget { range: 1..=24_576, stops: true },
        (2, _) => ThinkingKind::Budget { range: 128..=32_768, stops: false },
        (3, 0) => ThinkingKind::Levels { minimal: flash, medium: flash },
        (3, 1..=6) => ThinkingKind::Levels { minimal: flash, medium: true },
        _ => ThinkingKind::Levels { minimal: false, medium: true },
    }
}

/// Whether the model refuses a call in the conversation that has no signature. The same generation takes images and PDFs
/// inside the result of a function.
pub(super) fn wants_signatures(model: &str) -> bool {
    matches!(family(model), ThinkingKind::Levels { .. })
}

/// `thinkingConfig` for `model`, and the tokens that its thinking may take.
pub(super) fn config(model: &str, thinking: Thinking) -> Option<(Value, u32)> {
    let shown = |amount: &str, value: Value| match thinking.budget() {
        Some(_) => json!({ "includeThoughts": true, amount: value }),
        None => json!({ amount: value }),
    };
    Some(match family(model) {
        ThinkingKind::Plain => return None,
        ThinkingKind::Budget { range, stops } => {
            let least = if stops { 0 } else { *range.start() };
            let budget = thinking.budget().map_or(least, |tokens| tokens.clamp(*range.start(), *range.end()));
            (shown("thinkingBudget", budget.into()), budget)
        }
        ThinkingKind::Levels { minimal, medium } => {
            let lowest = if minimal { "MINIMAL" } else { "LOW" };
            let word = match thinking.level() {
                None | Some(ThinkingLevel::Minimal) => lowest,
                Some(ThinkingLevel::Low) => "LOW",
                Some(ThinkingLevel::Medium) if medium => "MEDIUM",
                Some(ThinkingLevel::Medium | ThinkingLevel::High | ThinkingLevel::Max) => "HIGH",
            };
            (shown("thinkingLevel", word.into()), thinking.budget().unwrap_or_default())
        }
    })
}

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod tests;
