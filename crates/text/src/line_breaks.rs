//! The line breaks of a file: LF, or CR LF as on Windows.

use std::borrow::Cow;

/// What stands above a diff of what changes besides.
const BESIDES: &str = ". These lines change besides";

/// How the lines of a content end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    /// There is only one line.
    None,
    Lf,
    CrLf,
    Mixed,
}

/// What is said about a change of line breaks in all lines, or where nothing else changes; `None` if there is no such change.
pub fn change(old: &[u8], new: &[u8]) -> Option<String> {
    let change = compared(old, new).2?;
    Some(change.strip_suffix(BESIDES).map_or_else(|| change.clone(), str::to_owned))
}

/// What is said about a change of line breaks, as a sentence.
pub fn sentence(change: &str) -> String {
    let end = if change.ends_with(BESIDES) { ":" } else { "." };
    let mut letters = change.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect::<String>() + end
}

/// What is said of two contents whose diff does not show how lines end, if one of them has both kinds.
pub fn mixed(old: &[u8], new: &[u8]) -> Option<String> {
    let (before, after) = (Breaks::of(old), Breaks::of(new));
    let becomes_other = before != after && before != Breaks::None && after != Breaks::None;
    match () {
        () if old == new || (before != Breaks::Mixed && after != Breaks::Mixed) => None,
        () if becomes_other => Some(format!("The line endings, which are {}, become {}.", before.name(), after.name())),
        () => (after == Breaks::Mixed).then(|| "The line endings are mixed: CRLF and LF.".to_owned()),
    }
}

/// The contents with the same line breaks, if these are the same in all lines, or change in all of them. What is said about such a
/// change comes with them. Where line breaks are mixed and more than they change, the contents stay as they are.
pub fn compared<'a>(old: &'a [u8], new: &'a [u8]) -> (Cow<'a, [u8]>, Cow<'a, [u8]>, Option<String>) {
    let breaks = (Breaks::of(old), Breaks::of(new));
    if !matches!(breaks, (Breaks::CrLf | Breaks::Mixed, _) | (_, Breaks::CrLf | Breaks::Mixed)) {
        return (Cow::Borrowed(old), Cow::Borrowed(new), None);
    }
    let (plain_old, plain_new) = (with_lf(old), with_lf(new));
    let direction = match breaks {
        (Breaks::CrLf, Breaks::Lf) | (Breaks::Lf, Breaks::CrLf) => {
            Some(format!(": {} becomes {}", breaks.0.name(), breaks.1.name()))
        }
        _ => None,
    };
    let change = match direction {
        direction if plain_old == plain_new => {
            let count = changed_lines(old, new);
            let lines = if count == 1 { "line" } else { "lines" };
            Some(format!("only the line endings change in {count} {lines}{}", direction.unwrap_or_default()))
        }
        Some(direction) => Some(format!("the line endings change in all lines{direction}{BESIDES}")),
        // Where they are mixed, each line shows its own.
        None if breaks.0 == Breaks::Mixed || breaks.1 == Breaks::Mixed => {
            return (Cow::Borrowed(old), Cow::Borrowed(new), None);
        }
        None => None,
    };
    (Cow::Owned(plain_old), Cow::Owned(plain_new), change)
}

impl Breaks {
    fn of(content: &[u8]) -> Self {
        let all = memchr::memchr_iter(b'\n', content).count();
        let crlf = memchr::memmem::find_iter(content, b"\r\n").count();
        match (all > crlf, crlf > 0) {
            (false, false) => Self::None,
            (true, false) => Self::Lf,
            (false, true) => Self::CrLf,
            (true, true) => Self::Mixed,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::None | Self::Lf => "LF",
            Self::CrLf => "CRLF",
            Self::Mixed => "mixed",
        }
    }
}

/// The content with LF in place of each CR LF.
pub fn with_lf(content: &[u8]) -> Vec<u8> {
    let next = content.iter().skip(1).map(Some).chain([None]);
    let bytes = content.iter().zip(next).filter(|pair| *pair != (&b'\r', Some(&b'\n')));
    bytes.map(|(byte, _)| *byte).collect()
}

/// How many lines differ, of two contents with the same number of lines.
fn changed_lines(old: &[u8], new: &[u8]) -> usize {
    let lines = |content: &'_ [u8]| -> Vec<bool> {
        content.split_inclusive(|byte| *byte == b'\n').map(|line| line.ends_with(b"\r\n")).collect()
    };
    lines(old).iter().zip(&lines(new)).filter(|(old, new)| old != new).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_line_breaks_is_told_apart_from_others() {
        let note = |old: &str, new: &str| compared(old.as_bytes(), new.as_bytes()).2;
        assert_eq!(note("a\nb\n", "a\nc\n"), None);
        assert_eq!(note("a\r\nb\r\n", "a\r\nc\r\n"), None);
        let only = "only the line endings change in 2 lines: LF becomes CRLF";
        assert_eq!(note("a\nb\n", "a\r\nb\r\n").as_deref(), Some(only));
        assert_eq!(note("a\nb\r\n", "a\nb\n").as_deref(), Some("only the line endings change in 1 line"));
        let all = "the line endings change in all lines: CRLF becomes LF. These lines change besides";
        assert_eq!(note("a\r\nb\r\n", "a\nc\n").as_deref(), Some(all));
        let alone = "the line endings change in all lines: CRLF becomes LF";
        assert_eq!(change(b"a\r\nb\r\n", b"a\nc\n").as_deref(), Some(alone));
        assert_eq!(change(b"a\nb\n", b"a\r\nb\r\n").as_deref(), Some(only));
        assert_eq!(note("a\nb\r\n", "a\nc\n"), None);
        assert_eq!(note("", "a\r\n"), None);
    }
}
