//! Lines of a file, as a reference names them: `#L10` or `#L10-L20` behind the path.

use std::fmt;

/// Lines of a file, from 1. The last one belongs to it. It is as the user wrote it, so no file may have these lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineRange {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
}

impl LineRange {
    /// The range at the end of a path, and the path before it. `None` if there is none, or no path before it.
    pub fn split(path: &str) -> Option<(&str, Self)> {
        let (path, range) = path.rsplit_once("#L").filter(|(path, _)| !path.is_empty() && !path.ends_with('/'))?;
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first, last.strip_prefix('L').unwrap_or(last)),
            None => (range, range),
        };
        Some((path, Self { first: number(first)?, last: number(last)? }))
    }

    /// What is wrong with the range itself, whatever the file is, as the end of a sentence; `None` if it can be right. `written` is how
    /// the user wrote it.
    pub fn mistake(self, written: &str) -> Option<String> {
        match self {
            Self { first: 0, .. } | Self { last: 0, .. } => {
                Some(format!("`{written}` names a line 0, and the first line is line 1"))
            }
            Self { first, last } if last < first => {
                let right = Self { first: last, last: first };
                Some(format!("`{written}` ends before it begins. Write `{right}`"))
            }
            Self { .. } => None,
        }
    }

    /// What looks like lines at the end of a path, and is not written as they are: `#L10-`, `#l3`, `#10`, `#L1C3-L2C4`.
    pub fn misspelt(path: &str) -> Option<&str> {
        let at = path.rfind('#').filter(|_| Self::split(path).is_none())?;
        let (name, part) = path.split_at(at);
        let marks = &part[1..];
        let is_like = marks.starts_with(['L', 'l']) || marks.starts_with(|c: char| c.is_ascii_digit());
        let is_only = marks.chars().all(|c| c.is_ascii_digit() || "LlCc-–:,.".contains(c));
        let has_name = !name.is_empty() && !name.ends_with('/');
        (has_name && is_like && is_only).then_some(part)
    }

    /// How lines are written that [`misspelt`](Self::misspelt) has found, as an example: with their own numbers, if these are clear.
    pub fn respelt(part: &str) -> String {
        let lines = part.trim_start_matches('#').split(['-', '–']).map(|end| {
            let line = end.split(['C', 'c', ':']).next().unwrap_or_default();
            line.trim_start_matches(['L', 'l']).parse().ok().filter(|line: &usize| *line > 0)
        });
        match lines.collect::<Vec<_>>().as_slice() {
            [Some(first)] | [Some(first), None] => Self { first: *first, last: *first }.to_string(),
            [Some(first), Some(last)] if first <= last => Self { first: *first, last: *last }.to_string(),
            _ => "#L10` or `#L10-L20".to_owned(),
        }
    }
}

/// A number of a line. One that is too large is a line that no file has.
fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#L{}", self.first)?;
        if self.first == self.last { Ok(()) } else { write!(f, "-L{}", self.last) }
    }
}
