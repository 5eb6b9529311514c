//! By how much a conversation is too long, out of what a server says about it.
//!
//! There is no field for it but llama.cpp's; every other server writes a sentence with two numbers in it, the larger
//! one the conversation's and the smaller one the model's:
//!
//! * "prompt is too long: 213462 tokens > 200000 maximum"
//! * "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the …"
//! * "request (1407 tokens) exceeds the available context size (256 tokens)"
//! * "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
//! * "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648"

/// What the sentences have in common; one of them is in each.
const SIGNS: [&str; 9] = [
    "prompt is too long",
    "maximum context length",
    "context window",
    "context size",
    "context limit",
    "context length",
    "context the overflows",
    "input token count",
    "maximum prompt length",
];

/// Whether `words` say that a conversation is too long, and by how many tokens if they say that, too. `tokens` are
/// the tokens of the request and those that the model reads, where the server has fields for them.
pub(super) fn context_overflow(words: &str, tokens: Option<(u64, u64)>) -> Option<Option<u64>> {
    if let Some((has, fits)) = tokens {
        return Some(has.checked_sub(fits).filter(|over| *over > 0));
    }
    let words = words.to_ascii_lowercase();
    // "`max_tokens` is too large" is another matter: the limit of the reply, not the conversation.
    if words.contains("is too large") || !SIGNS.iter().any(|sign| words.contains(sign)) {
        return None;
    }
    let found: Vec<u64> = numbers(&words).collect();
    let over = match found[..] {
        [input, reply, fits, ..] if words.contains(&format!("{input} + {reply} > {fits}")) => {
            input.saturating_add(reply).saturating_sub(fits)
        }
        [one, other, ..] => one.abs_diff(other),
        _ => 0,
    };
    Some(Some(over).filter(|over| *over > 0))
}

/// The numbers of a sentence that may be counts of tokens.
pub(super) fn numbers(words: &str) -> impl Iterator<Item = u64> {
    words.split(|c: char| !(c.is_ascii_alphanumeric() || ",.-_".contains(c))).filter_map(number)
}

/// A number on its own, perhaps with separators between thousands and the end of a sentence after it; not
/// the digits of a model's name.
fn number(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(['.', ',']).replace(',', "");
    digits.parse().ok().filter(|number| *number > 99)
}
