//! Colours in the output of commands: the sequences of ECMA-48 that set them, and text without any sequences.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// Ways to draw text, each with the codes that begin and end it. The last one exchanges the two colours.
const SWITCHES: [(u16, u16, &str); 4] = [(1, 22, "bold"), (3, 23, "italic"), (4, 24, "underline"), (7, 27, "reverse")];

/// How a piece of text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsiStyle {
    /// The colour of the text.
    pub fg: Option<AnsiColour>,
    /// The colour behind it.
    pub bg: Option<AnsiColour>,
    /// Which of [`SWITCHES`] are on.
    is_on: [bool; SWITCHES.len()],
}

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsiColour {
    /// One of 256. The terminal decides what the first 16 look like.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

impl AnsiStyle {
    /// The style in words, such as `fg=1 bold` or `bg=#ff0000`; empty for plain text.
    pub fn words(&self) -> String {
        let colour = |name: &str, colour: Option<AnsiColour>| match colour? {
            AnsiColour::Indexed(index) => Some(format!("{name}={index}")),
            AnsiColour::Rgb(red, green, blue) => Some(format!("{name}=#{red:02x}{green:02x}{blue:02x}")),
        };
        let switches =
            SWITCHES.iter().zip(self.is_on).filter(|(_, is_on)| *is_on).map(|((.., name), _)| (*name).to_owned());
        let colours = [colour("fg", self.fg), colour("bg", self.bg)].into_iter().flatten();
        colours.chain(switches).collect::<Vec<_>>().join(" ")
    }

    /// Takes a sequence (`1;31` after its beginning).
    fn set(&mut self, sequence: &str) {
        let parameters = sequence.trim_start_matches([ESCAPE, '[']).trim_end_matches('m');
        let mut codes =
            parameters.split([';', ':']).map(|code| if code.is_empty() { Some(0) } else { code.parse().ok() });
        while let Some(Some(code)) = codes.next() {
            let code: u16 = code;
            let bright = |base: u16| AnsiColour::Indexed(u8::try_from(code - base).unwrap_or_default());
            match code {
                0 => *self = Self::default(),
                30..=37 => self.fg = Some(bright(30)),
                38 => self.fg = colour(&mut codes).or(self.fg),
                39 => self.fg = None,
                40..=47 => self.bg = Some(bright(40)),
                48 => self.bg = colour(&mut codes).or(self.bg),
                49 => self.bg = None,
                90..=97 => self.fg = Some(bright(82)),
                100..=107 => self.bg = Some(bright(92)),
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
fn colour(codes: &mut impl Iterator<Item = Option<u16>>) -> Option<AnsiColour> {
    let mut next = || u8::try_from(codes.next()??).ok();
    match next()? {
        5 => next().map(AnsiColour::Indexed),
        2 => Some(AnsiColour::Rgb(next()?, next()?, next()?)),
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
            Piece::Text(text) => runs.push((text, *style)),
            Piece::Colour(sequence) => style.set(sequence),
            Piece::Other => {}
        }
    }
    runs
}

#[cfg(test)]
#[path = "ansi_tests.rs"]
mod tests;
