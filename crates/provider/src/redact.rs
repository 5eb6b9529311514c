//! Takes secrets out of foreign text.
//!
//! A server or a gateway may quote what it was sent: the whole key, a part of it (`sk-ab***wxyz`, "ending in wxyz", a
//! text that was cut off in the middle), or the key in another form (base64 inside a header's value, hex digits, the
//! escapes of URLs, JSON and HTML, see [`unescape`]). All of these are blacked out alike.
//!
//! A value of fewer than [`SHORTEST`] bytes is not a secret: local servers accept any word as a key, and hiding
//! `x` would make a message unreadable.

mod unescape;

use std::{borrow::Cow, collections::HashSet, ops::Range};

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, Engine as _};

/// The shortest value that is worth hiding, in bytes.
pub(super) const SHORTEST: usize = 8;

/// What replaces a secret.
const BLACK: &str = "…";

/// The longest run of a secret that may be seen, plus one; less for a short secret.
const RUN: usize = 8;
const SHORT_RUN: usize = 6;

/// The same for forms that spread a secret over more letters.
const ENCODED_RUN: usize = 12;

/// The shortest beginning or end of a secret that counts next to a mask, and as a separate word.
const BESIDE_MASK: usize = 2;
const OWN_WORD: usize = 4;

/// Words that mark where a part was left out.
const MASKS: [&str; 4] = ["redacted", "hidden", "masked", "truncated"];

/// Words in the names of headers and parameters whose values are secrets in every part.
const SECRET_NAMES: [&str; 8] = ["auth", "key", "token", "secret", "cookie", "pass", "credential", "sig"];

/// Whether the value of a header or a parameter of this name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
}

/// How much of a value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redaction {
    /// Every part of it.
    Parts,
    /// Only all of it: its words mean something elsewhere.
    Whole,
}

impl Redaction {
    /// What to hide of the value of a header of this name.
    pub fn of_header(name: &str) -> Self {
        if is_secret(name) { Self::Parts } else { Self::Whole }
    }
}

/// `text` without `secret`.
pub(super) fn redact(text: &str, secret: &str, hide: Redaction) -> String {
    let words = words(secret, hide);
    let mut found = Vec::new();
    for view in unescape::views(text) {
        let mut seen = Vec::new();
        for (word, hide) in &words {
            note(&view.text, word, *hide, &mut seen);
        }
        found.extend(seen.into_iter().map(|range| view.place(&range)));
    }
    black_out(text, found)
}

/// The parts of a value that are secrets of their own: `Bearer sk-1` has the key in it, `Basic …` a name and a
/// password.
fn words(secret: &str, hide: Redaction) -> Vec<(Cow<'_, str>, Redaction)> {
    let mut words = vec![(secret.into(), if secret.contains(char::is_whitespace) { Redaction::Whole } else { hide })];
    if hide == Redaction::Parts {
        for word in secret.split_whitespace() {
            words.push((word.into(), Redaction::Parts));
            let decoded = BASE64_STANDARD.decode(word).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some((_, password)) = decoded.as_deref().and_then(|pair| pair.split_once(':')) {
                words.push((password.to_owned().into(), Redaction::Parts));
            }
        }
    }
    words
}

/// Notes where `text` has something of `secret`.
fn note(text: &str, secret: &str, hide: Redaction, found: &mut Vec<Range<usize>>) {
    if secret.len() < SHORTEST {
        return;
    }
    let (run, encoded_run) = match hide {
        Redaction::Whole => (secret.len(), usize::MAX),
        Redaction::Parts => ((secret.len() / 2).clamp(SHORT_RUN, RUN), ENCODED_RUN),
    };
    note_runs(text, secret, run, found);
    forms(secret).iter().for_each(|form| note_runs(text, form, encoded_run.min(form.len()), found));
    if hide == Redaction::Parts {
        note_masked(text, secret, found);
        note_own_words(text, secret, found);
    }
}

/// A secret in other letters.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))];
    // In base64 a secret looks different at each of three places. Its ends depend on what is around it and are left
    // out.
    for before in 0..3 {
        let bytes = [&[0; 2][..before], secret.as_bytes()].concat();
        let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        for encoded in [BASE64_STANDARD.encode(&bytes), BASE64_URL_SAFE.encode(&bytes)] {
            forms.extend(encoded.get(from..to).map(str::to_owned));
        }
    }
    forms.retain(|form| form != secret && form.len() >= SHORTEST);
    forms.sort();
    forms.dedup();
    forms
}

/// Notes every run of at least `length` letters that `text` has in common with `secret`.
fn note_runs(text: &str, secret: &str, length: usize, found: &mut Vec<Range<usize>>) {
    let (text, secret) = (text.to_ascii_lowercase(), secret.to_ascii_lowercase());
    let runs: HashSet<&[u8]> = secret.as_bytes().windows(length).collect();
    for (at, run) in text.as_bytes().windows(length).enumerate() {
        if runs.contains(run) {
            found.push(at..at + length);
        }
    }
}

/// Notes the beginning of a secret before a mask, and its end behind one.
fn note_masked(text: &str, secret: &str, found: &mut Vec<Range<usize>>) {
    for mask in masks(text) {
        let (before, after) = (&text[..mask.start], &text[mask.end..]);
        let begins = |length: &usize| {
            let start = secret.get(..*length).is_some_and(|start| before.ends_with(start));
            start && !before[..before.len() - length].ends_with(is_letter)
        };
        let ends = |length: &usize| {
            let end = secret.get(secret.len() - length..).is_some_and(|end| after.starts_with(end));
            end && !after[*length..].starts_with(is_letter)
        };
        let lengths = || (BESIDE_MASK..secret.len()).rev();
        let (start, end) = (lengths().find(begins), lengths().find(ends));
        if start.is_some() || end.is_some() {
            found.push(mask.start - start.unwrap_or(0)..mask.end + end.unwrap_or(0));
        }
    }
}

/// Where something was left out: a run of one sign, an ellipsis, or a word that says so; with brackets around it.
fn masks(text: &str) -> Vec<Range<usize>> {
    let mut masks = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, sign)) = chars.next() {
        if !"*•●·.xX#_-…".contains(sign) {
            continue;
        }
        let (mut end, mut count) = (start + sign.len_utf8(), 1);
        while let Some((at, _)) = chars.next_if(|(_, next)| *next == sign) {
            (end, count) = (at + sign.len_utf8(), count + 1);
        }
        let least = match sign {
            '…' => 1,
            '*' | '•' | '●' => 2,
            _ => 3,
        };
        if count >= least {
            masks.push(start..end);
        }
    }
    let lower = text.to_ascii_lowercase();
    masks.extend(MASKS.iter().flat_map(|word| lower.match_indices(word)).map(|(at, word)| at..at + word.len()));
    for mask in &mut masks {
        if text[..mask.start].ends_with(['[', '<', '(', '{']) && text[mask.end..].starts_with([']', '>', ')', '}']) {
            (mask.start, mask.end) = (mask.start - 1, mask.end + 1);
        }
    }
    masks
}

/// Notes words that are the beginning or the end of a secret, and that look like one.
fn note_own_words(text: &str, secret: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    for word in text.split(|c: char| !is_letter(c)) {
        let is_part = secret.starts_with(word) || secret.ends_with(word);
        if word.len() >= OWN_WORD && is_part && looks_random(word) {
            found.push(at..at + word.len());
        }
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
}

/// Whether it is not a word of a language: it has a digit, or capitals after its first letter.
fn looks_random(word: &str) -> bool {
    let has_case = |is: fn(&u8) -> bool| word.as_bytes()[1..].iter().any(is);
    word.bytes().any(|byte| byte.is_ascii_digit())
        || (has_case(u8::is_ascii_uppercase) && has_case(u8::is_ascii_lowercase))
}

/// Whether a character belongs to a word of a key.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// `text` with the ranges blacked out, each run of them by one sign.
fn black_out(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_by_key(|range| range.start);
    let mut black = String::with_capacity(text.len());
    let mut at = 0;
    for range in found {
        if range.start > at || black.is_empty() {
            black.push_str(&text[at..range.start.max(at)]);
            black.push_str(BLACK);
        }
        at = at.max(range.end);
    }
    black.push_str(&text[at..]);
    black
}
