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
    #[must_use]
    pub fn split(path: &str) -> Option<(&str, Self)> {
        let (path, range) = path.rsplit_once("#L").filter(|(path, _)| !path.is_empty() && !path.ends_with('/'))?;
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first, last.strip_prefix('L').unwrap_or(last)),
            None => (range, range),
        };
        Some((path, Self { first: number(first)?, last: number(last)? }))
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
