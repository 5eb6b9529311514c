//! Text drawn so that nothing in it is invisible.
//!
//! What cannot be seen, or would make the text look like another one (a zero-width character, a right-to-left override, a control
//! character), is drawn as its picture or its name: `␛`, `<U+200B>`. Where two texts differ in characters that look the same, all
//! of these are named. Models are told of such characters by the same names ([`differences`]).

use std::{borrow::Cow, ops::Range, time::Duration};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    diff::{diff, letters},
    truncate::prefix,
};

/// How much of two texts is compared to name their differences, in bytes, and how long that may take.
const MAX_COMPARED: usize = 16 * 1024;
const COMPARING_TIME: Duration = Duration::from_millis(100);

/// How many differences are named.
const NAMED: usize = 3;

/// What a tab is drawn as.
const TAB: &str = "    ";

/// What is named in a text, besides what cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Nothing else.
    Hidden,
    /// Blanks that are not ASCII.
    Blanks,
    /// Everything but the ASCII characters that are no blanks: `·` is a space, `→` a tab. Two different texts are never drawn
    /// alike.
    All,
}

/// A text as it is drawn, in pieces that are not divided, each with its cells.
pub fn drawn(text: &str, naming: Naming) -> impl Iterator<Item = (Cow<'_, str>, usize)> {
    text.grapheme_indices(true).map(move |(at, cluster)| {
        let drawn = draw_cluster(cluster, &text[at..], naming);
        let cells = drawn.width();
        (drawn, cells)
    })
}

/// A whole text as it is drawn.
pub fn draw(text: &str, naming: Naming) -> String {
    drawn(text, naming).map(|(drawn, _)| drawn).collect()
}

/// Whether two different texts can hardly be told apart on the screen.
pub fn looks_same(one: &str, other: &str) -> bool {
    one != other && (skeleton(one) == skeleton(other) || is_twin(one, other))
}

/// What is left of the looks of a text: compatible characters are one, blanks are one, and nothing is invisible.
fn skeleton(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    text.nfkd().for_each(|c| push_looks(&mut left, c));
    left
}

fn push_looks(left: &mut String, c: char) {
    match c {
        c if is_hidden(c) || c == '\r' => {}
        c if c.is_whitespace() && left.ends_with(' ') => {}
        c if c.is_whitespace() => left.push(' '),
        c => left.push(c),
    }
}

/// The looks of a text in which signs that programs and typographers write differently are one, and where in the text each byte of
/// them comes from.
fn looks(text: &str) -> (String, Vec<usize>) {
    let (mut left, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            push_looks(&mut left, c);
            places.resize(left.len(), at);
            continue;
        }
        for part in c.nfkd() {
            push_looks(
                &mut left,
                match part {
                    '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
                    '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
                    part if is_dash(part) => '-',
                    part => part,
                },
            );
        }
        places.resize(left.len(), at);
    }
    (left, places)
}

/// Where something stands in a text that looks like `wanted`, apart from the white space around it.
pub fn find_alike(text: &str, wanted: &str) -> Option<Range<usize>> {
    let (wanted, _) = looks(wanted);
    let wanted = wanted.trim();
    let (left, places) = looks(text);
    let at = left.find(wanted).filter(|_| !wanted.is_empty())?;
    Some(places[at]..places.get(at + wanted.len()).copied().unwrap_or(text.len()))
}

/// In which characters two texts differ that can hardly be told apart by looking at them, in words for a model. `found` is there, from
/// this line of a file if it is in one. `wants` says who has written `wanted`: `you wrote`. `None` if there is no such character.
pub fn differences(found: &str, wanted: &str, first_line: Option<usize>, wants: &str) -> Option<String> {
    let (found, wanted) = (letters(prefix(found, MAX_COMPARED)), letters(prefix(wanted, MAX_COMPARED)));
    let mut named: Vec<String> = Vec::new();
    for change in diff(&found, &wanted, COMPARING_TIME) {
        let (own, other) = (found[change.old_range()].concat(), wanted[change.new_range()].concat());
        if own == other || !(looks_same(&own, &other) || looks(&own).0 == looks(&other).0) {
            continue;
        }
        let line = found[..change.old_range().start].iter().filter(|letter| **letter == "\n").count();
        let place = first_line.map_or_else(|| "it".to_owned(), |first| format!("line {}", first + line));
        let difference = format!("{place} has {} where {wants} {}", spelled(&own), spelled(&other));
        if named.last() != Some(&difference) {
            named.push(difference);
        }
    }
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    named.extend((more > 0).then(|| format!("and {more} more")));
    (!named.is_empty()).then(|| named.join(", "))
}

/// A text in which everything is named that is not an ASCII sign.
fn spelled(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), text.chars().count()) {
        (None, _) => "nothing".to_owned(),
        (Some(first), count @ 2..) if !first.is_ascii_graphic() && chars.all(|c| c == first) => {
            format!("{count} `{}`", name(first))
        }
        _ => {
            let spell = |c: char| if c.is_ascii_graphic() { c.to_string() } else { name(c) };
            format!("`{}`", text.chars().map(spell).collect::<String>())
        }
    }
}

const fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2012}' | '\u{2212}')
}

/// Whether two letters of different scripts have taken each other's place, as in `paypal` with a Cyrillic `а`, or two signs that
/// are drawn alike.
fn is_twin(one: &str, other: &str) -> bool {
    let only = |text: &str| {
        let mut chars = text.nfd().filter(|c| !is_combining_mark(*c));
        chars.next().filter(|_| chars.next().is_none())
    };
    let (Some(one), Some(other)) = (only(one), only(other)) else { return false };
    let block = |c: char| u32::from(c) >> 8;
    let is_narrow_letter = |c: char| c.is_alphabetic() && c.width() == Some(1);
    (is_narrow_letter(one) && is_narrow_letter(other) && block(one) != block(other)) || (is_dash(one) && is_dash(other))
}

/// Whether a character cannot be seen after this one. In emoji and in several scripts, some only change how that one looks.
pub fn is_unseen(c: char, before: Option<char>) -> bool {
    let is_joined = before.is_some_and(|before| !before.is_ascii()) && joins(c);
    (is_hidden(c) && !is_joined) || c.is_control()
}

/// Whether a character takes no room, or looks like a blank and is none.
fn is_hidden(c: char) -> bool {
    match c {
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        '\u{1161}'..='\u{11ff}' => false,
        c => c.width() == Some(0) && !c.is_control() && !is_combining_mark(c),
    }
}

/// Whether a character changes how the one before it looks, as in emoji and in several scripts.
const fn joins(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

fn draw_cluster<'a>(cluster: &'a str, rest: &str, naming: Naming) -> Cow<'a, str> {
    let is_plain = |c: char| c.is_ascii_graphic() || (c == ' ' && naming != Naming::All);
    if cluster.chars().all(is_plain) && !(naming == Naming::All && rest.starts_with("<U+")) {
        return Cow::Borrowed(cluster);
    }
    let mut drawn = String::new();
    let mut last = None;
    for c in cluster.chars() {
        match c {
            '\t' if naming == Naming::All => drawn.push('→'),
            '\t' => drawn.push_str(TAB),
            ' ' if naming == Naming::All => drawn.push('·'),
            '\0'..='\u{1f}' => drawn.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => drawn.push('␡'),
            '<' if naming == Naming::All && rest.starts_with("<U+") => drawn.push_str(&name(c)),
            c if c.is_ascii() => drawn.push(c),
            c if naming == Naming::All => drawn.push_str(&name(c)),
            c if c.is_whitespace() && naming == Naming::Blanks => drawn.push_str(&name(c)),
            c if is_unseen(c, last) => drawn.push_str(&name(c)),
            // It would stand on what is drawn before the text.
            c if last.is_none() && is_combining_mark(c) => drawn.push_str(&name(c)),
            c => drawn.push(c),
        }
        last = Some(c);
    }
    Cow::Owned(drawn)
}

/// The name of a character: `<U+200B>`.
fn name(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_named() {
        let cases = [
            ("plain text, café, 中文, 👩‍👩‍👧 ❤️", "plain text, café, 中文, 👩‍👩‍👧 ❤️"),
            ("a\u{200b}b\u{202e}c\u{feff}", "a<U+200B>b<U+202E>c<U+FEFF>"),
            ("\x1b[31m\tx\r\u{85}", "␛[31m    x␍<U+0085>"),
            ("a\u{200d}b", "a<U+200D>b"),
            ("\u{301}a", "<U+0301>a"),
            ("mot\u{a0}: x", "mot\u{a0}: x"),
        ];
        for (text, shown) in cases {
            assert_eq!(draw(text, Naming::Hidden), shown);
        }
        assert_eq!(draw("mot\u{a0}: x", Naming::Blanks), "mot<U+00A0>: x");
        assert_eq!(draw("\u{e9} e\u{301}\t<U+00E9>", Naming::All), "<U+00E9>·e<U+0301>→<U+003C>U+00E9>");
    }

    #[test]
    fn texts_that_look_the_same_are_known() {
        let same =
            [("é", "e\u{301}"), (" ", "\u{a0}"), ("\t", "    "), ("", "\u{200b}"), ("a", "а"), ("-", "\u{2011}")];
        for (one, other) in same {
            assert!(looks_same(one, other) && looks_same(other, one), "{one:?} {other:?}");
        }
        let different = [("a", "a"), ("e", "é"), ("a", "b"), ("中", "国"), ("", " "), ("l", "1"), ("о", "а")];
        for (one, other) in different {
            assert!(!looks_same(one, other), "{one:?} {other:?}");
        }
    }
}
