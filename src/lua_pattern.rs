//! Lua's string patterns, matched in a bounded number of steps.
//!
//! Matching a pattern with several repetitions may take exponential time, and Lua's own matcher cannot be interrupted.
//! This one counts its steps and gives up after a limit. Otherwise it behaves like LuaJIT's matcher: the manual of Lua
//! 5.1, plus `%g` and `%f`. A pattern ends at its first zero byte.

use std::ops::Range;

/// The most captures of a pattern.
const CAPTURES: usize = 32;

/// How deep items may nest: each capture and each repetition is a level.
const DEPTH: usize = 200;

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The range of the match, in bytes from 0.
    pub range: Range<usize>,
    /// The captures, in the order of their opening parentheses.
    pub captures: Vec<Capture>,
}

/// What one pair of parentheses has captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    /// A part of the text.
    Text(Range<usize>),
    /// `()`: a position, from 0.
    Position(usize),
}

/// Why matching failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The limit of steps is reached.
    #[error("the pattern takes too many steps")]
    TooManySteps,
    /// The pattern is malformed. The text says why.
    #[error("{0}")]
    Malformed(&'static str),
}

/// Finds the first match of `pattern` in `text` that begins at byte `from` or later. With `anchors` a `^` at the
/// beginning of the pattern matches only at `from`; otherwise `^` is an ordinary character there. At most `steps` steps
/// are taken.
///
/// # Errors
/// When the pattern is malformed, or the limit of steps is reached.
pub fn find(
    text: &[u8],
    pattern: &[u8],
    from: usize,
    anchors: bool,
    steps: u64,
) -> Result<Option<Match>, PatternError> {
    let pattern = pattern.split(|byte| *byte == 0).next().unwrap_or_default();
    let (pattern, is_anchored) = match pattern.strip_prefix(b"^") {
        Some(rest) if anchors => (rest, true),
        _ => (pattern, false),
    };
    let mut matcher = Matcher { text, pattern, captures: Vec::new(), depth: 0, steps };
    let last = if is_anchored { from } else { text.len() };
    for start in from..=last.min(text.len()) {
        matcher.captures.clear();
        if let Some(end) = matcher.run(start, 0)? {
            return Ok(Some(Match { range: start..end, captures: matcher.finished()? }));
        }
    }
    Ok(None)
}

#[derive(Clone, Copy)]
enum Open {
    Unfinished { start: usize },
    Text { start: usize, end: usize },
    Position(usize),
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Open>,
    depth: usize,
    steps: u64,
}

type MatchEnd = Result<Option<usize>, PatternError>;

impl Matcher<'_> {
    fn step(&mut self, count: usize) -> Result<(), PatternError> {
        self.steps = self.steps.checked_sub(count as u64).ok_or(PatternError::TooManySteps)?;
        Ok(())
    }

    /// Matches the pattern from byte `at` against the text from byte `from`. Returns where the match ends.
    fn run(&mut self, from: usize, at: usize) -> MatchEnd {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(PatternError::Malformed("pattern too complex"));
        }
        let found = self.run_items(from, at);
        self.depth -= 1;
        found
    }

    fn run_items(&mut self, mut from: usize, mut at: usize) -> MatchEnd {
        loop {
            self.step(1)?;
            let Some(&item) = self.pattern.get(at) else { return Ok(Some(from)) };
            match item {
                b'(' if self.pattern.get(at + 1) == Some(&b')') => {
                    return self.open(Open::Position(from), from, at + 2);
                }
                b'(' => return self.open(Open::Unfinished { start: from }, from, at + 1),
                b')' => return self.close(from, at + 1),
                b'$' if at + 1 == self.pattern.len() => return Ok((from == self.text.len()).then_some(from)),
                b'%' => match self.pattern.get(at + 1) {
                    Some(b'b') => {
                        let Some(end) = self.balanced(from, at + 2)? else { return Ok(None) };
                        (from, at) = (end, at + 4);
                        continue;
                    }
                    Some(b'f') => {
                        if self.pattern.get(at + 2) != Some(&b'[') {
                            return Err(PatternError::Malformed("missing '[' after '%f' in pattern"));
                        }
                        let end = self.item_end(at + 2)?;
                        let before = if from == 0 { 0 } else { self.text[from - 1] };
                        let here = self.text.get(from).copied().unwrap_or(0);
                        if self.in_set(before, at + 2, end - 1)? || !self.in_set(here, at + 2, end - 1)? {
                            return Ok(None);
                        }
                        at = end;
                        continue;
                    }
                    Some(digit) if digit.is_ascii_digit() => {
                        let Some(end) = self.repeated(from, *digit)? else { return Ok(None) };
                        (from, at) = (end, at + 2);
                        continue;
                    }
                    _ => {}
                },
                _ => {}
            }
            let end = self.item_end(at)?;
            match self.pattern.get(end) {
                Some(b'?') => {
                    if self.fits(from, at, end)?
                        && let Some(found) = self.run(from + 1, end + 1)?
                    {
                        return Ok(Some(found));
                    }
                    at = end + 1;
                }
                Some(b'*') => return self.most(from, at, end),
                Some(b'+') if self.fits(from, at, end)? => return self.most(from + 1, at, end),
                Some(b'-') => return self.least(from, at, end),
                Some(b'+') => return Ok(None),
                _ if self.fits(from, at, end)? => (from, at) = (from + 1, end),
                _ => return Ok(None),
            }
        }
    }

    /// The end of the single pattern item that begins at `at`.
    fn item_end(&mut self, at: usize) -> Result<usize, PatternError> {
        let missing = PatternError::Malformed("malformed pattern (missing ']')");
        match self.pattern[at] {
            b'%' if at + 1 >= self.pattern.len() => Err(PatternError::Malformed("malformed pattern (ends with '%')")),
            b'%' => Ok(at + 2),
            b'[' => {
                let mut end = at + 1;
                if self.pattern.get(end) == Some(&b'^') {
                    end += 1;
                }
                loop {
                    self.step(1)?;
                    let byte = *self.pattern.get(end).ok_or(missing)?;
                    end += if byte == b'%' { 2 } else { 1 };
                    match self.pattern.get(end) {
                        Some(b']') => return Ok(end + 1),
                        Some(_) => {}
                        None => return Err(missing),
                    }
                }
            }
            _ => Ok(at + 1),
        }
    }

    /// Whether the pattern item `at..end` matches the byte of the text at `from`.
    fn fits(&mut self, from: usize, at: usize, end: usize) -> Result<bool, PatternError> {
        self.step(1)?;
        let Some(&byte) = self.text.get(from) else { return Ok(false) };
        match self.pattern[at] {
            b'.' => Ok(true),
            b'%' => Ok(is_of_class(byte, self.pattern[at + 1])),
            b'[' => self.in_set(byte, at, end - 1),
            literal => Ok(literal == byte),
        }
    }

    /// Whether a byte is in the set whose `[` is at `at` and whose `]` is at `end`.
    fn in_set(&mut self, byte: u8, mut at: usize, end: usize) -> Result<bool, PatternError> {
        self.step(end - at)?;
        let is_inverted = self.pattern[at + 1] == b'^';
        at += usize::from(is_inverted) + 1;
        while at < end {
            let first = self.pattern[at];
            if first == b'%' {
                if is_of_class(byte, self.pattern[at + 1]) {
                    return Ok(!is_inverted);
                }
                at += 2;
            } else if self.pattern[at + 1] == b'-' && at + 2 < end {
                if (first..=self.pattern[at + 2]).contains(&byte) {
                    return Ok(!is_inverted);
                }
                at += 3;
            } else {
                if first == byte {
                    return Ok(!is_inverted);
                }
                at += 1;
            }
        }
        Ok(is_inverted)
    }

    /// `%bxy`: from an `x` to the matching `y`.
    fn balanced(&mut self, from: usize, at: usize) -> MatchEnd {
        let (Some(&open), Some(&close)) = (self.pattern.get(at), self.pattern.get(at + 1)) else {
            return Err(PatternError::Malformed("unbalanced pattern"));
        };
        if self.text.get(from) != Some(&open) {
            return Ok(None);
        }
        let mut level = 1;
        for place in from + 1..self.text.len() {
            self.step(1)?;
            let byte = self.text[place];
            if byte == close {
                level -= 1;
                if level == 0 {
                    return Ok(Some(place + 1));
                }
            } else if byte == open {
                level += 1;
            }
        }
        Ok(None)
    }

    /// `%1`: the text of an earlier capture.
    fn repeated(&mut self, from: usize, digit: u8) -> MatchEnd {
        let invalid = PatternError::Malformed("invalid capture index");
        let index = usize::from(digit).checked_sub(usize::from(b'1')).ok_or(invalid)?;
        let Some(&Open::Text { start, end }) = self.captures.get(index) else {
            // A position capture has no text, so nothing matches it.
            return match self.captures.get(index) {
                Some(Open::Position(_)) => Ok(None),
                _ => Err(invalid),
            };
        };
        self.step(end - start)?;
        let is_same = self.text[from..].starts_with(&self.text[start..end]);
        Ok(is_same.then_some(from + end - start))
    }

    /// `*`: as many as possible, then fewer.
    fn most(&mut self, from: usize, at: usize, end: usize) -> MatchEnd {
        let mut last = from;
        while self.fits(last, at, end)? {
            last += 1;
        }
        for rest in (from..=last).rev() {
            if let Some(found) = self.run(rest, end + 1)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// `-`: as few as possible, then more.
    fn least(&mut self, mut from: usize, at: usize, end: usize) -> MatchEnd {
        loop {
            if let Some(found) = self.run(from, end + 1)? {
                return Ok(Some(found));
            }
            if !self.fits(from, at, end)? {
                return Ok(None);
            }
            from += 1;
        }
    }

    fn open(&mut self, capture: Open, from: usize, at: usize) -> MatchEnd {
        if self.captures.len() >= CAPTURES {
            return Err(PatternError::Malformed("too many captures"));
        }
        let level = self.captures.len();
        self.captures.push(capture);
        let found = self.run(from, at)?;
        if found.is_none() {
            self.captures.truncate(level);
        }
        Ok(found)
    }

    fn close(&mut self, from: usize, at: usize) -> MatchEnd {
        let is_open = |capture: &Open| matches!(capture, Open::Unfinished { .. });
        let level =
            self.captures.iter().rposition(is_open).ok_or(PatternError::Malformed("invalid pattern capture"))?;
        let Open::Unfinished { start } = self.captures[level] else { return Ok(None) };
        self.captures[level] = Open::Text { start, end: from };
        let found = self.run(from, at)?;
        if found.is_none() {
            self.captures[level] = Open::Unfinished { start };
        }
        Ok(found)
    }

    fn finished(&self) -> Result<Vec<Capture>, PatternError> {
        let finish = |capture: &Open| match *capture {
            Open::Unfinished { .. } => Err(PatternError::Malformed("unfinished capture")),
            Open::Text { start, end } => Ok(Capture::Text(start..end)),
            Open::Position(at) => Ok(Capture::Position(at)),
        };
        self.captures.iter().map(finish).collect()
    }
}

/// Whether a byte is in the class that the letter after `%` names. An upper-case letter names the complement.
fn is_of_class(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte == b' ' || (9..=13).contains(&byte),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is != class.is_ascii_uppercase()
}
