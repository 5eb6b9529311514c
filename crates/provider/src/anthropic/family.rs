//! What each family of models takes of thinking and sampling.
//!
//! Models up to 4.6 are given a budget of thinking, and a temperature where they do not think. Later ones decide
//! themselves how much to think, are told an effort, and refuse both a budget and a temperature with the whole
//! request; the vendor's SDK has no temperature any more. Whether their thinking can be turned off, and how, differs
//! (<https://platform.claude.com/docs/en/build-with-claude/thinking>, `…/about-claude/models/migration-guide`).

use serde_json::{Value, json};

use super::vendor::LEAST_BUDGET;
use crate::{RequestParameters, ThinkingLevel, wire};

/// The reply's limit when the configuration has none: the API wants one, and every model allows this.
const DEFAULT_MAX_TOKENS: u32 = 8192;

/// How a family thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkingStyle {
    /// With a budget, where it is given one.
    Budget,
    /// As it decides, where it is asked to.
    OnDemand,
    /// As it decides, unless it is told this type of `thinking`.
    Unless(&'static str),
    /// As it decides, always.
    Always,
}

/// What a model is asked.
#[derive(Debug, PartialEq)]
pub(super) struct ThinkingSettings {
    pub max_tokens: u32,
    /// As the API has it.
    pub thinking: Option<Value>,
    pub effort: Option<ThinkingLevel>,
    pub temperature: Option<f64>,
}

/// What to ask of a model, so that it does what the parameters say as far as it can. The API counts thinking as a
/// part of the reply and wants room for more than that.
pub(super) fn ask(model: &str, parameters: &RequestParameters) -> ThinkingSettings {
    let family = ThinkingStyle::of(model);
    let max_tokens = parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).max(1);
    let temperature = parameters.temperature.filter(|value| value.is_finite() && family == ThinkingStyle::Budget);
    let mut asked = ThinkingSettings { max_tokens, thinking: None, effort: None, temperature };
    match (parameters.thinking.budget(), family) {
        (Some(budget), ThinkingStyle::Budget) => {
            // At least one token of visible reply, even for a budget at the end of the range.
            let budget_tokens = budget.clamp(LEAST_BUDGET, u32::MAX - 1);
            asked.thinking = Some(json!({ "type": "enabled", "budget_tokens": budget_tokens }));
            asked.max_tokens = wire::with_room(max_tokens, budget_tokens);
            // The API takes no temperature while the model thinks.
            asked.temperature = None;
        }
        (Some(budget), _) => {
            // Newer models keep their thinking to themselves otherwise.
            asked.thinking = Some(json!({ "type": "adaptive", "display": "summarized" }));
            asked.max_tokens = wire::with_room(max_tokens, budget);
            asked.effort = parameters.thinking.level().map(|level| level.max(ThinkingLevel::Low));
        }
        (None, ThinkingStyle::Budget | ThinkingStyle::OnDemand) => {}
        (None, ThinkingStyle::Unless(off)) => asked.thinking = Some(json!({ "type": off })),
        (None, ThinkingStyle::Always) => asked.effort = Some(ThinkingLevel::Low),
    }
    asked
}

impl ThinkingStyle {
    /// The family of a model, by its name: `claude-opus-4-7`, `anthropic/claude-sonnet-5`, and as other platforms write
    /// it: `anthropic.claude-opus-5-5-v1:0`, `claude-haiku-5-5@20260922`, `claude-4.7-opus`. What is not a Claude
    /// model, and a name without a version, is taken for an older model.
    fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase().replace('.', "-");
        let Some((_, rest)) = name.split_once("claude-") else { return Self::Budget };
        let words: Vec<&str> = rest.split(['-', '@', ':']).collect();
        // A date is not a version.
        let number = |word: &&str| Some(*word).filter(|word| word.len() <= 2)?.parse::<u32>().ok();
        // Older names have the version in front of the line.
        let at = words.iter().position(|word| number(word).is_none()).unwrap_or(0);
        let line = words.get(at).copied().unwrap_or_default();
        let version = if at > 0 { &words[..at] } else { &words[1..] };
        let mut version = version.iter().map_while(number);
        let version = version.next().map(|major| (major, version.next().unwrap_or(0)));
        match (line, version) {
            ("fable" | "mythos", _) => Self::Always,
            ("opus" | "sonnet" | "haiku", None | Some((..=3, _) | (4, ..=6))) => Self::Budget,
            ("opus", Some((4, _))) => Self::OnDemand,
            ("opus", Some((5, ..=4))) => Self::Unless("disabled"),
            ("opus", Some(_)) => Self::Always,
            ("sonnet", Some((5, 5..) | (6.., _))) => Self::Unless("between_tools"),
            ("sonnet" | "haiku", Some(_)) => Self::Unless("disabled"),
            // A line that is not known yet is a newer one.
            (line, Some((4.., _))) if line.starts_with(|c: char| c.is_ascii_alphabetic()) => Self::OnDemand,
            _ => Self::Budget,
        }
    }
}
