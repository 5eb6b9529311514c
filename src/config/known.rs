//! Models by name, for completion and for the pickers.

use super::ProviderName;

/// Models of a provider, the newest first. They are suggestions: any other name is sent as it is. None for
/// `openai_compatible`, where every server has its own.
#[must_use]
pub fn models(provider: ProviderName) -> &'static [&'static str] {
    match provider {
        ProviderName::Rehearsal => &["welcome", "tour"],
        ProviderName::Anthropic => {
            &["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-sonnet-4-5"]
        }
        ProviderName::OpenAi => {
            &["gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"]
        }
        ProviderName::OpenAiCompatible => &[],
        ProviderName::Vertex => {
            &["gemini-3.8-flash", "gemini-3.5-flash-lite", "gemini-3.1-pro-preview", "gemini-2.5-pro"]
        }
    }
}
