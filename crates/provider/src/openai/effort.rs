//! What each family of models takes: how hard it may be asked to think, and how its cache is told what to keep.
//!
//! The API refuses a whole request for one value that a model does not know ("Unsupported value: 'minimal' is not
//! supported with the 'gpt-5.1' model"), so the families are told apart here, by the names and values in
//! <https://developers.openai.com/api/docs/guides/reasoning> and `…/guides/prompt-caching`. A model that is not
//! listed (a deployment of one's own, or one from the future) gets nothing that was not explicitly asked for.

use serde::Serialize;

use crate::{CacheRetention, Thinking, ThinkingLevel};

/// How hard a model is asked to think (`reasoning.effort`), the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
        match self {
            Self::None => 0,
            Self::Minimal => ThinkingLevel::Minimal.budget(),
            Self::Low => ThinkingLevel::Low.budget(),
            Self::Medium => ThinkingLevel::Medium.budget(),
            Self::High => ThinkingLevel::High.budget(),
            Self::Xhigh | Self::Max => ThinkingLevel::Max.budget(),
        }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cache {
    /// It decides alone.
    Automatic,
    /// `prompt_cache_retention`.
    Retention,
    /// `prompt_cache_options`: keeping has a price here, so it can be turned off as well.
    Options,
}

/// What is asked of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// Nothing beyond what the model does on its own.
    Usual,
    /// `prompt_cache_retention: "24h"`.
    ADay,
    /// `prompt_cache_options: {"ttl": "12h"}`.
    HalfADay,
    /// `prompt_cache_options: {"mode": "explicit"}` without a breakpoint: nothing is kept.
    Nothing,
}

/// What a family of models takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    /// The efforts, the least first; none at all for models that do not reason.
    efforts: &'static [Effort],
    cache: Cache,
    /// Whether its messages are marked as commentary or final answer, and wanted back with the mark.
    pub phases: bool,
}

/// The end of a family's name: where a longer version number would make it another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// `gpt-5` matches `gpt-5` and `gpt-5-mini`, not `gpt-5.1`.
    Exact(&'static str),
    /// `gpt-6` matches `gpt-6.2-sol` as well.
    Any(&'static str),
}

use Effort::{High, Low, Max, Medium, Minimal, Xhigh};
use Name::{Any, Exact};

const NO_REASONING: &[Effort] = &[];
const CLASSIC: &[Effort] = &[Low, Medium, High];
const NONE_TO_XHIGH: &[Effort] = &[Effort::None, Low, Medium, High, Xhigh];
const NONE_TO_MAX: &[Effort] = &[Effort::None, Low, Medium, High, Xhigh, Max];
const LOW_TO_XHIGH: &[Effort] = &[Low, Medium, High, Xhigh];
const LOW_TO_MAX: &[Effort] = &[Low, Medium, High, Xhigh, Max];
const MEDIUM_TO_XHIGH: &[Effort] = &[Medium, High, Xhigh];

/// The families: the beginning of a name, a word that must be in the rest of it, and what it takes. The first
/// that fits counts.
const FAMILIES: &[(Name, &str, &[Effort], Cache, bool)] = &[
    (Any("gpt-"), "chat-latest", NO_REASONING, Cache::Automatic, false),
    (Any("gpt-6"), "-sol", NONE_TO_MAX, Cache::Options, true),
    (Any("gpt-6"), "-terra", NONE_TO_MAX, Cache::Options, true),
    (Any("gpt-6"), "-luna", NONE_TO_MAX, Cache::Options, true),
    // Astra refuses `none`; of its special editions it is not known.
    (Any("gpt-6"), "", LOW_TO_MAX, Cache::Options, true),
    (Exact("gpt-5.6"), "", NONE_TO_MAX, Cache::Options, true),
    (Exact("gpt-5.5"), "-pro", MEDIUM_TO_XHIGH, Cache::Retention, true),
    (Exact("gpt-5.5"), "", NONE_TO_XHIGH, Cache::Retention, true),
    (Exact("gpt-5.4"), "-pro", MEDIUM_TO_XHIGH, Cache::Retention, true),
    (Exact("gpt-5.4"), "", NONE_TO_XHIGH, Cache::Retention, true),
    (Exact("gpt-5.3"), "-codex", LOW_TO_XHIGH, Cache::Retention, true),
    (Exact("gpt-5.2"), "-codex", LOW_TO_XHIGH, Cache::Retention, false),
    (Exact("gpt-5.2"), "-pro", MEDIUM_TO_XHIGH, Cache::Automatic, false),
    (Exact("gpt-5.2"), "", NONE_TO_XHIGH, Cache::Retention, false),
    (Exact("gpt-5.1"), "-codex-max", LOW_TO_XHIGH, Cache::Retention, false),
    (Exact("gpt-5.1"), "-codex", CLASSIC, Cache::Retention, false),
    (Exact("gpt-5.1"), "", &[Effort::None, Low, Medium, High], Cache::Retention, false),
    (Exact("gpt-5"), "-codex", CLASSIC, Cache::Retention, false),
    (Exact("gpt-5"), "-pro", &[High], Cache::Automatic, false),
    (Exact("gpt-5"), "-mini", &[Minimal, Low, Medium, High], Cache::Automatic, false),
    (Exact("gpt-5"), "-nano", &[Minimal, Low, Medium, High], Cache::Automatic, false),
    (Exact("gpt-5"), "", &[Minimal, Low, Medium, High], Cache::Retention, false),
    (Exact("gpt-4.1"), "-", NO_REASONING, Cache::Automatic, false),
    (Exact("gpt-4.1"), "", NO_REASONING, Cache::Retention, false),
    (Any("gpt-4"), "", NO_REASONING, Cache::Automatic, false),
    (Any("gpt-3.5"), "", NO_REASONING, Cache::Automatic, false),
    (Any("chatgpt-"), "", NO_REASONING, Cache::Automatic, false),
    (Exact("o1"), "", CLASSIC, Cache::Automatic, false),
    (Exact("o3"), "", CLASSIC, Cache::Automatic, false),
    (Exact("o4"), "", CLASSIC, Cache::Automatic, false),
    (Exact("codex-mini"), "", CLASSIC, Cache::Automatic, false),
];

impl Family {
    /// The family of a model, by its name; a gateway's `openai/` and the `ft:` of a fine-tuned model do not count.
    /// `None` for a model that is not known.
    pub fn of(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        let fits = |family: &Name, word: &str| {
            let rest = match *family {
                Any(start) => name.strip_prefix(start),
                Exact(start) => name.strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with(['-', ':'])),
            };
            rest.is_some_and(|rest| rest.contains(word))
        };
        let (_, _, efforts, cache, phases) = FAMILIES.iter().find(|(family, word, ..)| fits(family, word))?;
        Some(Self { efforts, cache: *cache, phases: *phases })
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

    /// What to ask of the cache.
    pub fn keep(&self, retention: CacheRetention) -> CachePolicy {
        match (retention, self.cache) {
            (CacheRetention::Long, Cache::Retention) => CachePolicy::ADay,
            (CacheRetention::Long, Cache::Options) => CachePolicy::HalfADay,
            (CacheRetention::None, Cache::Options) => CachePolicy::Nothing,
            _ => CachePolicy::Usual,
        }
    }
}

/// What to ask of a model of `family`. An unknown one is asked for one of the three efforts that every reasoning
/// model has ever taken, and only where thinking is wanted.
pub(super) fn effort(family: Option<&Family>, thinking: Thinking) -> Option<Effort> {
    match family {
        Some(family) => family.effort(thinking),
        None => thinking.level().map(|level| Effort::from(level).clamp(Low, High)),
    }
}
