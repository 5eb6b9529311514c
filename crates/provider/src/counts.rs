//! What the protocols call their counts of tokens.

use serde_json::Value;

use flemma_model::Usage;

/// The names of the counts in a protocol's `usage`, as JSON pointers.
pub(super) struct CountNames {
    /// The tokens that are read: all of these together.
    pub input: &'static [&'static str],
    /// The tokens that are written: all of these together.
    pub output: &'static [&'static str],
    /// The tokens of both. Some servers count thinking here alone.
    pub total: Option<&'static str>,
    /// The tokens of thinking, which are among those that are written.
    pub reasoning: &'static str,
    /// The tokens that are read from a cache: the first of these that is there.
    pub cache_read: &'static [&'static str],
    /// The tokens that are written to a cache.
    pub cache_write: &'static str,
    /// Whether `input` includes those of the cache.
    pub input_has_cache: bool,
}

impl CountNames {
    /// The counts in `usage`; what it leaves out is as it was `before`. `None` if it counts nothing.
    pub fn read(&self, usage: &Value, before: Usage) -> Option<Usage> {
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        let sum = |paths: &[&str]| paths.iter().filter_map(|path| count(path)).reduce(u64::saturating_add);
        let (input, output) = (sum(self.input), sum(self.output));
        if input.is_none() && output.is_none() {
            return None;
        }
        let rest = self.total.and_then(count).zip(input).map(|(total, input)| total.saturating_sub(input));
        let cache_read = self.cache_read.iter().find_map(|path| count(path)).unwrap_or(before.cache_read);
        let cache_write = count(self.cache_write).unwrap_or(before.cache_write);
        let cached = if self.input_has_cache { cache_read.saturating_add(cache_write) } else { 0 };
        Some(Usage {
            input: input.map_or(before.input, |input| input.saturating_sub(cached)),
            output: output.max(rest).unwrap_or(before.output),
            reasoning: count(self.reasoning).unwrap_or(before.reasoning),
            cache_read,
            cache_write,
        })
    }
}
