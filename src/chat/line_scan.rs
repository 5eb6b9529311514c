//! What can be seen of a line without knowing what it means: enough to follow who wrote it.
//!
//! See [`super::Provenance`]. A line's flags are bits of one byte, in which that module keeps bits of its own.

use std::{
    fmt,
    hash::{BuildHasher, Hasher as _, RandomState},
    ops::Range,
    sync::OnceLock,
};

use foldhash::{SharedSeed, quality::SeedableRandomState};

use super::{Speaker, Text, attributes, status::INFO};

/// It holds nothing that anybody could have written: it is blank, or a role marker alone.
pub(super) const BLANK: u8 = 2;
/// It is known not to say `approved`.
pub(super) const NOT_APPROVED: u8 = 4;
/// It is known to say `approved`. (`running` approves nothing.)
pub(super) const SAYS_APPROVED: u8 = 8;

/// Makes hashes of lines. Its key is random and never leaves the process, so that nobody can write a line that has the
/// hash of another one.
#[derive(Clone)]
pub(super) struct LineHasher(SeedableRandomState);

impl Default for LineHasher {
    fn default() -> Self {
        static SHARED: OnceLock<SharedSeed> = OnceLock::new();
        // The keys of the standard library come from the system's random numbers.
        let random = || RandomState::new().hash_one(0);
        Self(SeedableRandomState::with_seed(random(), SHARED.get_or_init(|| SharedSeed::from_u64(random()))))
    }
}

impl fmt::Debug for LineHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineHasher(…)")
    }
}

impl LineHasher {
    /// A line's flags and its hash. White space around it makes no difference.
    pub fn scan(&self, line: &str) -> (u8, u64) {
        let words = trim(line);
        let mut hasher = self.0.build_hasher();
        hasher.write(words.as_bytes());
        (flags(words), hasher.finish())
    }
}

/// What is seen of lines while the parser reads them.
pub(super) struct LineScan {
    first: usize,
    /// Each line's flags and hash; nothing for a line that nobody looked at.
    pub lines: Vec<(u8, u64)>,
}

impl LineScan {
    /// Nothing is seen of these lines yet.
    pub fn new(lines: Range<usize>) -> Self {
        Self { first: lines.start, lines: vec![(0, 0); lines.len()] }
    }

    pub fn record(&mut self, line: usize, words: &str, hasher: &LineHasher) {
        if let Some(seen) = line.checked_sub(self.first).and_then(|index| self.lines.get_mut(index)) {
            *seen = hasher.scan(words);
        }
    }
}

/// The line without the white space around it. Most lines begin and end with a visible ASCII character.
fn trim(line: &str) -> &str {
    match line.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => line,
        _ => line.trim(),
    }
}

/// What can be seen of a line, which has no white space around it.
fn flags(words: &str) -> u8 {
    let first = words.as_bytes().first().copied().unwrap_or_default();
    if first.is_ascii_alphanumeric() || !first.is_ascii() {
        // It names something, and begins neither like a marker nor like a fence.
        return 0;
    }
    let marker = |role: Speaker| words.strip_prefix('@').and_then(|rest| rest.strip_suffix(':')) == Some(role.as_str());
    // Without a letter or a digit there is nothing in it that could name anything.
    if !words.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        || Speaker::ALL.into_iter().any(marker)
    {
        return BLANK | NOT_APPROVED;
    }
    // Only a line that begins like a fence can be a status line. What another one says is not known to be harmless.
    if !words.starts_with(['`', '~']) {
        return 0;
    }
    if says_approved(words) { SAYS_APPROVED } else { NOT_APPROVED }
}

/// Whether a fence says `approved`, or could be made to by taking a letter away.
fn says_approved(words: &str) -> bool {
    let letters = |words: &str| -> String {
        words.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    if !letters(&plain(words)).contains("approved") {
        return false;
    }
    // The value of another attribute may well be about approval.
    let Some(info) = words.trim_start_matches(['`', '~']).trim().strip_prefix(INFO) else { return true };
    attributes::read(info).iter().any(|attribute| {
        let value = attribute.value.as_deref().unwrap_or(attribute.key);
        let counts = attribute.value.is_none() || !attribute.sound || letters(attribute.key).contains("status");
        counts && letters(&plain(value)).contains("approved")
    })
}

/// A line with the escapes of JSON that stand for letters as those letters.
fn plain(words: &str) -> String {
    let mut pieces = words.split("\\u");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let letter = piece.get(..4).and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match letter {
            Some(letter) => plain.extend([letter].into_iter().chain(piece[4..].chars())),
            None => plain.push_str(piece),
        }
    }
    plain
}

/// A text whose lines are looked at while somebody else reads it.
pub(super) struct ScannedText<'a> {
    pub text: &'a dyn Text,
    pub each: &'a dyn Fn(usize, &str),
}

impl Text for ScannedText<'_> {
    fn line_count(&self) -> usize {
        self.text.line_count()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        let mut at = lines.start;
        self.text.read(lines, &mut |line| {
            (self.each)(at, line);
            at += 1;
            each(line);
        });
    }

    fn length(&self, line: usize) -> usize {
        self.text.length(line)
    }
}
