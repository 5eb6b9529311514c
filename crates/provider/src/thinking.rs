//! How much a model may think: one value for every vendor, which each takes in its own way.

use serde::{Deserialize, Serialize, Serializer};

/// How much a model may think before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all: `false` or `0`.
    #[default]
    Off,
    /// Up to so many tokens.
    Budget(u32),
    /// A level, which each provider takes in its own way.
    Level(ThinkingLevel),
}

/// Levels of thinking, each with the tokens that it stands for where a provider counts its thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// 1,024 tokens.
    Minimal = 1_024,
    /// 2,048 tokens.
    Low = 2_048,
    /// 8,192 tokens.
    Medium = 8_192,
    /// 16,384 tokens.
    High = 16_384,
    /// 32,768 tokens.
    Max = 32_768,
}

impl ThinkingLevel {
    /// Every level, the least first. Each serialises as the configuration writes it.
    pub const ALL: [Self; 5] = [Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Max];

    /// The level as tokens, for a provider that counts its thinking in tokens.
    pub const fn budget(self) -> u32 {
        self as u32
    }
}

impl Thinking {
    /// So many tokens; 0 for no thinking.
    pub fn of_tokens(tokens: u32) -> Self {
        if tokens == 0 { Self::Off } else { Self::Budget(tokens) }
    }

    /// Tokens to think with; `None` for no thinking.
    pub fn budget(self) -> Option<u32> {
        match self {
            Self::Off | Self::Budget(0) => None,
            Self::Budget(tokens) => Some(tokens),
            Self::Level(level) => Some(level.budget()),
        }
    }

    /// The level, for a provider that knows nothing but levels: of a number of tokens, the highest whose own budget it
    /// covers. `None` for no thinking.
    pub fn level(self) -> Option<ThinkingLevel> {
        match self {
            Self::Off | Self::Budget(0) => None,
            Self::Level(level) => Some(level),
            Self::Budget(tokens) => {
                let covered = ThinkingLevel::ALL.into_iter().rfind(|level| level.budget() <= tokens);
                Some(covered.unwrap_or(ThinkingLevel::Minimal))
            }
        }
    }
}

impl Serialize for Thinking {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => to.serialize_bool(false),
            Self::Budget(tokens) => to.serialize_u32(*tokens),
            Self::Level(level) => level.serialize(to),
        }
    }
}
