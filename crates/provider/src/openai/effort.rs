//! What each family of models takes: how hard it may be asked to think, and how its cache is told what to keep.
//!
//! The API refuses a whole request for one value that a model does not know ("Unsupported value: 'minimal' is not
//! supported with the 'gpt-5.1' model"), so the families are told apart in `families.json`, by the names and values in
//! <https://developers.openai.com/api/docs/guides/reasoning> and `…/guides/prompt-caching`. A model that is not
//! listed (a deployment of one's own, or one from the future) gets nothing that was not explicitly asked for.

use once_cell::sync::Lazy;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{CacheRetention, Thinking, ThinkingLevel};

/// How hard a model is asked to think (`reasoning.effort`), the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// As most models do on their own.
    Medium,
    /// Much.
    High,
    /// More.
    Xhigh,
    /// As much as there is.
    Max,
}

impl Effort {
    /// Every effort, the least first. Each serialises as the API's word for it.
    pub const ALL: [Self; 7] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Tokens that the model may well think with. The API counts them as a part of the reply.
    pub(super) fn room(self) -> u32 {
        let level = ThinkingLevel::ALL.into_iter().find(|level| Self::from(*level) >= self);
        level.filter(|_| self != Self::None).map_or(0, ThinkingLevel::budget)
    }
}

impl From<ThinkingLevel> for Effort {
    fn from(level: ThinkingLevel) -> Self {
        match level {
            ThinkingLevel::Minimal => Self::Minimal,
            ThinkingLevel::Low => Self::Low,
            ThinkingLevel::Medium => Self::Medium,
            ThinkingLevel::High => Self::High,
            ThinkingLevel::Max => Self::Max,
        }
    }
}

/// How a family is told for how long to keep what it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cache {
    /// It decides alone.
    Automatic,
    /// `prompt_cache_retention`.
    Retention,
    /// `prompt_cache_options`: keeping has a price here, so it can be turned off as well.
    Options,
}

/// The families. Tests read the file; should it be broken all the same, no family is known.
static FAMILIES: Lazy<Families> = Lazy::new(|| serde_json::from_str(include_str!("families.json")).unwrap_or_default());

#[derive(Default, Deserialize)]
struct Families {
    /// The first that fits a name counts.
    families: Vec<Family>,
}

/// A family of models, and what it takes.
#[derive(Deserialize)]
pub(super) struct Family {
    /// The beginning of a name.
    name: String,
    /// Whether a longer version number makes it another one: `gpt-5` is then `gpt-5-mini` as well, and not `gpt-5.1`.
    exact: bool,
    /// What must be in the rest of the name.
    word: String,
    /// The efforts, the least first; none at all for models that do not reason.
    efforts: Vec<Effort>,
    cache: Cache,
    /// Whether its messages are marked as commentary or final answer, and wanted back with the mark.
    pub phases: bool,
}

impl Family {
    /// The family of a model, by its name; a gateway's `openai/` and the `ft:` of a fine-tuned model do not count.
    /// `None` for a model that is not known.
    pub fn of(model: &str) -> Option<&'static Self> {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        let fits = |family: &&Self| {
            let rest = name.strip_prefix(family.name.as_str());
            let rest = rest.filter(|rest| !family.exact || rest.is_empty() || rest.starts_with(['-', ':']));
            rest.is_some_and(|rest| rest.contains(&family.word))
        };
        FAMILIES.families.iter().find(fits)
    }

    /// Whether its models reason at all.
    pub fn reasons(&self) -> bool {
        !self.efforts.is_empty()
    }

    /// What to ask of a model that is to think so much: the nearest effort that it takes, but some where some is
    /// wanted. Where none is wanted and the model cannot but think, the least.
    fn effort(&self, thinking: Thinking) -> Option<Effort> {
        let Some(level) = thinking.level() else { return self.efforts.first().copied() };
        let mut some = self.efforts.iter().filter(|effort| **effort != Effort::None);
        let most = some.clone().rfind(|effort| **effort <= Effort::from(level));
        most.or_else(|| some.next()).copied()
    }

    /// What to ask of the cache: `prompt_cache_retention`, and `prompt_cache_options`.
    pub fn keep(&self, retention: CacheRetention) -> (Option<&'static str>, Value) {
        match (retention, self.cache) {
            (CacheRetention::Long, Cache::Retention) => (Some("24h"), Value::Null),
            (CacheRetention::Long, Cache::Options) => (None, json!({ "ttl": "12h" })),
            // Without a breakpoint, nothing is kept.
            (CacheRetention::None, Cache::Options) => (None, json!({ "mode": "explicit" })),
            _ => (None, Value::Null),
        }
    }
}

/// What to ask of a model of `family`. An unknown one is asked for one of the three efforts that every reasoning
/// model has ever taken, and only where thinking is wanted.
pub(super) fn effort(family: Option<&Family>, thinking: Thinking) -> Option<Effort> {
    match family {
        Some(family) => family.effort(thinking),
        None => thinking.level().map(|level| Effort::from(level).clamp(Effort::Low, Effort::High)),
    }
}
