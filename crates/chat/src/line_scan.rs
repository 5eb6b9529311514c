//! Scans lines without parsing them, to track who wrote them, and keeps them as hashes.
//!
//! See [`super::Provenance`]. A line's flags are bits of one byte, in which that module keeps bits of its own.

use std::{
    collections::HashSet,
    fmt,
    hash::{BuildHasher, Hasher as _, RandomState},
    sync::OnceLock,
};

use foldhash::{SharedSeed, quality::SeedableRandomState};

use super::{Speaker, attributes, status::INFO};

/// The line has no author: it is blank, or only a role marker.
pub(super) const BLANK: u8 = 2;
/// The line is known not to say `approved`.
pub(super) const NOT_APPROVED: u8 = 4;
/// The line says `approved`. (`running` approves nothing.)
pub(super) const SAYS_APPROVED: u8 = 8;

/// Hashes lines. Its key is random and never leaves the process, so that a line with the hash of another one cannot be
/// constructed.
#[derive(Clone)]
pub(super) struct LineHasher(SeedableRandomState);

impl Default for LineHasher {
    fn default() -> Self {
        static SHARED: OnceLock<SharedSeed> = OnceLock::new();
        // The keys of the standard library come from the system's random number generator.
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
    /// The flags and the hash of a line. White space around it is ignored.
    pub fn scan(&self, line: &str) -> (u8, u64) {
        let words = trim(line);
        let mut hasher = self.0.build_hasher();
        hasher.write(words.as_bytes());
        (flags(words), hasher.finish())
    }
}

/// The line without white space around it. Most lines begin and end with a visible ASCII character.
fn trim(line: &str) -> &str {
    match line.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => line,
        _ => line.trim(),
    }
}

/// The flags of a line without white space around it.
fn flags(words: &str) -> u8 {
    let first = words.as_bytes().first().copied().unwrap_or_default();
    if first.is_ascii_alphanumeric() || !first.is_ascii() {
        // It begins neither like a marker nor like a fence, and may name something.
        return 0;
    }
    let marker = |role: Speaker| words.strip_prefix('@').and_then(|rest| rest.strip_suffix(':')) == Some(role.as_str());
    // Without a letter or a digit it cannot name anything.
    if !words.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        || Speaker::ALL.into_iter().any(marker)
    {
        return BLANK | NOT_APPROVED;
    }
    // Only a line that begins like a fence can be a status line. Other lines are not known to be harmless.
    if !words.starts_with(['`', '~']) {
        return 0;
    }
    if says_approved(words) { SAYS_APPROVED } else { NOT_APPROVED }
}

/// Whether a fence says `approved`, or would if characters were deleted.
fn says_approved(words: &str) -> bool {
    let letters = |words: &str| -> String {
        words.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    if !letters(&plain(words)).contains("approved") {
        return false;
    }
    // The value of another attribute may contain the word.
    let Some(info) = words.trim_start_matches(['`', '~']).trim().strip_prefix(INFO) else { return true };
    attributes::read(info).iter().any(|attribute| {
        let value = attribute.value.as_deref().unwrap_or(attribute.key);
        let counts = attribute.value.is_none() || !attribute.sound || letters(attribute.key).contains("status");
        counts && letters(&plain(value)).contains("approved")
    })
}

/// The line with JSON escapes of characters replaced by the characters.
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

/// Hashes of lines. They are random numbers, so a fast hasher is sufficient.
pub(super) type Hashes = HashSet<u64, foldhash::fast::RandomState>;

/// A set of lines, as hashes.
#[derive(Clone, Debug, Default)]
pub(super) struct LineSet {
    hashes: Hashes,
    /// Hashes that are not in `hashes` yet. Inserting one costs as much as parsing the line, and most are never looked
    /// up.
    loose: Vec<u64>,
    /// Some lines are missing, so any line may be in the set.
    pub incomplete: bool,
    /// Some lines are still to be added, so any line may be in the set until then.
    pub is_reading: bool,
}

impl LineSet {
    pub fn insert(&mut self, hash: u64) {
        self.loose.push(hash);
    }

    /// Adds scanned lines. Blank lines have no author and are skipped.
    pub fn extend<'a>(&mut self, lines: impl IntoIterator<Item = &'a (u8, u64)>) {
        self.loose.extend(lines.into_iter().filter(|(flags, _)| flags & BLANK == 0).map(|(_, hash)| *hash));
    }

    /// Whether any line may be in the set.
    pub fn is_unsure(&self) -> bool {
        self.incomplete || self.is_reading
    }

    pub fn contains(&mut self, hash: u64) -> bool {
        if self.is_unsure() {
            return true;
        }
        self.hashes.extend(std::mem::take(&mut self.loose));
        self.hashes.contains(&hash)
    }
}
