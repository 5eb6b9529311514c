//! Colours in the output of commands: the sequences of ECMA-48 that set them, and text without any sequences.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// Ways to draw text, each with the codes that begin and end it. The last one exchanges the two colours.
const SWITCHES: [(u16, u16, &str); 4] = [(1, 22, "bold"), (3, 23, "italic"), (4, 24, "underline"), (7, 27, "reverse")];

/// How a piece of text is coloured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnsiStyle {
    /// The colour of the text: one of 256, of which the terminal decides what the first 16 look like, or `#rrggbb`.
    fg: Option<String>,
    /// The colour behind it.
    bg: Option<String>,
    /// Which of [`SWITCHES`] are on.
    is_on: [bool; SWITCHES.len()],
}

impl AnsiStyle {
    /// The style in words, such as `fg=1 bold` or `bg=#ff0000`; empty for plain text.
    pub fn words(&self) -> String {
        let switches =
            SWITCHES.iter().zip(self.is_on).filter(|(_, is_on)| *is_on).map(|((.., name), _)| (*name).to_owned());
        let colours = [("fg", &self.fg), ("bg", &self.bg)].into_iter();
        let colours = colours.filter_map(|(name, colour)| Some(format!("{name}={}", colour.as_ref()?)));
        colours.chain(switches).collect::<Vec<_>>().join(" ")
    }

    /// Takes a sequence (`1;31` after its beginning).
    fn set(&mut self, sequence: &str) {
        let parameters = sequence.trim_start_matches([ESCAPE, '[']).trim_end_matches('m');
        let mut codes =
            parameters.split([';', ':']).map(|code| if code.is_empty() { Some(0) } else { code.parse().ok() });
        while let Some(Some(code)) = codes.next() {
            let code: u16 = code;
            let indexed = |base: u16| Some((code - base).to_string());
            match code {
                0 => *self = Self::default(),
                30..=37 => self.fg = indexed(30),
                38 => self.fg = colour(&mut codes).or(self.fg.take()),
                39 => self.fg = None,
                40..=47 => self.bg = indexed(40),
                48 => self.bg = colour(&mut codes).or(self.bg.take()),
                49 => self.bg = None,
                90..=97 => self.fg = indexed(82),
                100..=107 => self.bg = indexed(92),
                _ => {
                    for (is_on, (begin, end, _)) in self.is_on.iter_mut().zip(SWITCHES) {
                        *is_on = (*is_on || code == begin) && code != end;
                    }
                }
            }
        }
    }
}

/// The colour after 38 or 48.
fn colour(codes: &mut impl Iterator<Item = Option<u16>>) -> Option<String> {
    let mut next = || u8::try_from(codes.next()??).ok();
    match next()? {
        5 => next().map(|index| index.to_string()),
        2 => Some(format!("#{:02x}{:02x}{:02x}", next()?, next()?, next()?)),
        _ => None,
    }
}

/// A part of a text.
enum Piece<'a> {
    Text(&'a str),
    /// A sequence that sets colours.
    Colour(&'a str),
    /// Another sequence, whole or cut off.
    Other,
}

/// Splits a text at its sequences.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.find(ESCAPE).unwrap_or(rest.len());
        if start > 0 {
            let (before, after) = rest.split_at(start);
            rest = after;
            return Some(Piece::Text(before));
        }
        let (sequence, after) = rest.split_at(ESCAPE.len_utf8() + length(&rest[1..]));
        rest = after;
        let is_colour = sequence.starts_with("\u{1b}[") && sequence.ends_with('m');
        Some(if is_colour { Piece::Colour(sequence) } else { Piece::Other })
    })
}

/// How long a sequence is, after the escape character.
fn length(body: &str) -> usize {
    if let Some(string) = body.strip_prefix([']', 'P', '_', '^']) {
        // A title or a link: it goes up to BEL or ESC \\, and not over the end of a line.
        let end = string.find(['\u{7}', ESCAPE, '\n']).unwrap_or(string.len());
        let mark = ["\u{7}", "\u{1b}\\"].into_iter().find(|mark| string[end..].starts_with(mark));
        return 1 + end + mark.map_or(0, str::len);
    }
    // Parameters, and one final byte; or a short sequence, such as the choice of a character set: `(B`. Anything else ends a
    // sequence that is damaged.
    let (start, inner, last) = if body.starts_with('[') { (1, '\u{20}'..='?', '@') } else { (0, '\u{20}'..='/', '0') };
    let end = body[start..].find(|byte: char| !inner.contains(&byte)).map_or(body.len(), |end| start + end);
    end + usize::from(body[end..].starts_with(|byte: char| (last..='~').contains(&byte)))
}

/// The text without sequences.
pub fn plain(text: &str) -> Cow<'_, str> {
    kept(text, false)
}

/// The text with only those sequences that set colours.
pub fn coloured(text: &str) -> Cow<'_, str> {
    kept(text, true)
}

fn kept(text: &str, keeps_colours: bool) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let kept = pieces(text).filter_map(|piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Colour(sequence) => Some(sequence).filter(|_| keeps_colours),
        Piece::Other => None,
    });
    Cow::Owned(kept.collect())
}

/// The pieces of a text with their styles. `style` is that of the text before it, and then that of its end.
pub fn runs<'a>(text: &'a str, style: &mut AnsiStyle) -> Vec<(&'a str, AnsiStyle)> {
    let mut runs = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => runs.push((text, style.clone())),
            Piece::Colour(sequence) => style.set(sequence),
            Piece::Other => {}
        }
    }
    runs
}

#[cfg(test)]
#[path = "ansi_tests.rs"]
mod tests;
