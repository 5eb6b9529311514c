//! Colours in the output of commands: the sequences of ECMA-48 that set them, and text without any sequences.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// How a piece of text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsiStyle {
    /// The colour of the text.
    pub fg: Option<AnsiColour>,
    /// The colour behind it.
    pub bg: Option<AnsiColour>,
    /// Whether it is bold.
    pub bold: bool,
    /// Whether it is italic.
    pub italic: bool,
    /// Whether it is underlined.
    pub underline: bool,
    /// Whether the two colours are exchanged.
    pub reverse: bool,
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
    #[must_use]
    pub fn words(&self) -> String {
        let colour = |name: &str, colour: Option<AnsiColour>| match colour? {
            AnsiColour::Indexed(index) => Some(format!("{name}={index}")),
            AnsiColour::Rgb(red, green, blue) => Some(format!("{name}=#{red:02x}{green:02x}{blue:02x}")),
        };
        let switch = |is_on: bool, name: &str| is_on.then(|| name.to_owned());
        let words = [
            colour("fg", self.fg),
            colour("bg", self.bg),
            switch(self.bold, "bold"),
            switch(self.italic, "italic"),
            switch(self.underline, "underline"),
            switch(self.reverse, "reverse"),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Takes the parameters of one sequence (`1;31`).
    fn set(&mut self, parameters: &str) {
        let mut codes =
            parameters.split([';', ':']).map(|code| if code.is_empty() { Some(0) } else { code.parse().ok() });
        while let Some(Some(code)) = codes.next() {
            let code: u16 = code;
            let bright = |base: u16| AnsiColour::Indexed(u8::try_from(code - base).unwrap_or_default());
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.reverse = true,
                22 => self.bold = false,
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.reverse = false,
                30..=37 => self.fg = Some(bright(30)),
                38 => self.fg = colour(&mut codes).or(self.fg),
                39 => self.fg = None,
                40..=47 => self.bg = Some(bright(40)),
                48 => self.bg = colour(&mut codes).or(self.bg),
                49 => self.bg = None,
                90..=97 => self.fg = Some(bright(82)),
                100..=107 => self.bg = Some(bright(92)),
                _ => {}
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
    /// The parameters of a sequence that sets colours.
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
        let body = &rest[1..];
        if let Some(control) = body.strip_prefix('[') {
            // Parameters, and one final byte. Anything else ends a sequence that is damaged.
            let end = control.find(|byte: char| !('\u{20}'..='?').contains(&byte)).unwrap_or(control.len());
            let last = control[end..].chars().next().filter(|byte| ('@'..='~').contains(byte));
            rest = &control[end + usize::from(last.is_some())..];
            return Some(if last == Some('m') { Piece::Colour(&control[..end]) } else { Piece::Other });
        }
        if let Some(string) = body.strip_prefix([']', 'P', '_', '^']) {
            // A title or a link: it goes up to BEL or ESC \, and not over the end of a line.
            let end = string.find(['\u{7}', ESCAPE, '\n']).unwrap_or(string.len());
            rest = &string[end..];
            rest = rest.strip_prefix('\u{7}').or_else(|| rest.strip_prefix("\u{1b}\\")).unwrap_or(rest);
            return Some(Piece::Other);
        }
        // A short sequence, such as the choice of a character set: `(B`.
        let end = body.find(|byte: char| !('\u{20}'..='/').contains(&byte)).unwrap_or(body.len());
        let last = body[end..].starts_with(|byte: char| ('0'..='~').contains(&byte));
        rest = &body[end + usize::from(last)..];
        Some(Piece::Other)
    })
}

/// The text without sequences.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let texts = pieces(text).filter_map(|piece| if let Piece::Text(text) = piece { Some(text) } else { None });
    Cow::Owned(texts.collect())
}

/// The text with only those sequences that set colours.
#[must_use]
pub fn coloured(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => kept.push_str(text),
            Piece::Colour(parameters) => kept.extend([&*ESCAPE.to_string(), "[", parameters, "m"]),
            Piece::Other => {}
        }
    }
    Cow::Owned(kept)
}

/// The pieces of a text with their styles. `style` is that of the text before it, and then that of its end.
#[must_use]
pub fn runs<'a>(text: &'a str, style: &mut AnsiStyle) -> Vec<(&'a str, AnsiStyle)> {
    let mut runs = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => runs.push((text, *style)),
            Piece::Colour(parameters) => style.set(parameters),
            Piece::Other => {}
        }
    }
    runs
}

#[cfg(test)]
#[path = "ansi_tests.rs"]
mod tests;
