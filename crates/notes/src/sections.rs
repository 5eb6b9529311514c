//! Finding a section, and replacing, appending and prepending text.

use super::{
    Outline, Section,
    content::{BOM, bom, line_break, with_breaks_of},
};
use flemma_model::ModelError;
use flemma_text::{suggest::nearest, things, visible::differences};

/// The maximum number of sections that an error lists.
const MAX_LISTED: usize = 50;

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the place of the old text.
    Replace,
    /// Behind it.
    Append,
    /// Before it.
    Prepend,
}

/// A section that was found, and how many have the same heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The section.
    pub section: &'a Section,
    /// Which one of them it is, from 1.
    pub occurrence: usize,
    /// How many sections have this heading.
    pub of: usize,
}

/// The section with this heading: `Tasks` or `## Tasks`. Without `occurrence` (from 1) it is the first one. If no heading is
/// spelled like this, upper and lower case do not matter.
///
/// # Errors
/// If there is none, with the sections that there are.
pub fn find<'a>(outline: &'a Outline, heading: &str, occurrence: Option<usize>) -> Result<Found<'a>, ModelError> {
    let written = heading.trim();
    let marks = written.len() - written.trim_start_matches('#').len();
    let (level, title) = match &written[marks..] {
        title if (1..=6).contains(&marks) && title.starts_with(' ') => (Some(marks), title.trim()),
        _ => (None, written),
    };
    let candidates = |is_same: &dyn Fn(&str) -> bool| -> Vec<&'a Section> {
        let is_meant = |section: &&Section| {
            level.is_none_or(|level| level == section.level)
                && (is_same(section.title.as_str()) || is_same(section.written.as_str()))
        };
        outline.sections.iter().filter(is_meant).collect()
    };
    let mut found = candidates(&|known| known == title);
    if found.is_empty() {
        found = candidates(&|known| known.to_lowercase() == title.to_lowercase());
    }
    let at = occurrence.unwrap_or(1);
    match found.get(at.wrapping_sub(1)) {
        Some(section) => Ok(Found { section, occurrence: at, of: found.len() }),
        None if found.is_empty() => Err(missing(outline, heading)),
        None => {
            let sections = things(found.len(), "section");
            Err(ModelError::new(format!(
                "`occurrence` is {at}, but the page has {sections} with the heading \"{title}\"."
            )))
        }
    }
}

fn missing(outline: &Outline, heading: &str) -> ModelError {
    let wanted = heading.trim_start_matches(['#', ' ']).trim_end();
    let meant = nearest(wanted, outline.sections.iter().map(|known| known.title.as_str()));
    let meant = meant.map(|near| {
        let differ = differences(near, wanted, None, "you wrote");
        let differ = differ.map(|told| format!(" The two headings look the same: {told}.")).unwrap_or_default();
        format!(" Did you mean \"{near}\"?{differ}")
    });
    let meant = meant.unwrap_or_default();
    let list = match outline.sections.as_slice() {
        [] => "The page has no sections.".to_owned(),
        sections => {
            let more = sections.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!("\n… {more} more") } else { String::new() };
            format!("The sections are:\n{}{more}", list(sections.iter().take(MAX_LISTED)))
        }
    };
    ModelError::new(format!("The page has no section \"{heading}\".{meant} {list}"))
}

/// The headings with their lines: `## Tasks  (line 12)`.
pub fn list<'a>(sections: impl IntoIterator<Item = &'a Section>) -> String {
    let row = |section: &Section| {
        let marks = "#".repeat(section.level);
        format!("{marks} {}  (line {})", section.title, section.line)
    };
    sections.into_iter().map(row).collect::<Vec<_>>().join("\n")
}

/// The content of a page with a section changed. Replacing keeps the heading, unless the new text begins with it.
/// Prepended text stands below the heading, appended text at the end of the section.
pub fn update_section(content: &[u8], section: &Section, text: &str, mode: Mode) -> Vec<u8> {
    let (start, end) = (section.heading.end, section.end);
    let old = &content[start..end];
    // The empty lines before and behind the old text.
    let before = leading_breaks(old);
    let after = if before == old.len() { 0 } else { trailing_breaks(old) };
    match mode {
        Mode::Replace => {
            // A model often writes the heading as well.
            let own = Outline::new(text.as_bytes()).sections.into_iter().next();
            let repeats = own.filter(|own| {
                text[..own.heading.start].trim().is_empty()
                    && (&own.title, own.level) == (&section.title, section.level)
            });
            let text = repeats.map_or(text, |own| &text[own.heading.end..]);
            // They stay.
            let first = start + if text.starts_with(['\n', '\r']) { 0 } else { before };
            join(content, first, (end - after).max(first), text.trim_end_matches(['\n', '\r']))
        }
        Mode::Append => join(content, end - after, end - after, text),
        Mode::Prepend => join(content, start + before, start + before, text),
    }
}

/// The content of a page with all of its text changed. The frontmatter stays, unless text that replaces has its own.
pub fn update_page(content: &[u8], text: &str, mode: Mode) -> Vec<u8> {
    let outline = Outline::new(content);
    let has_own = Outline::new(text.as_bytes()).frontmatter.is_some();
    match mode {
        Mode::Replace if has_own => [&content[..bom(content)], with_breaks_of(content, text).as_bytes()].concat(),
        Mode::Replace => {
            let text = if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
            [&content[..outline.body], with_breaks_of(content, &text).as_bytes()].concat()
        }
        Mode::Append => join(content, content.len(), content.len(), text),
        Mode::Prepend => join(content, outline.body, outline.body, text),
    }
}

/// The content with `text` in place of `start..end`, as lines of its own.
fn join(content: &[u8], start: usize, end: usize, text: &str) -> Vec<u8> {
    let text = with_breaks_of(content, text);
    let (before, after) = (&content[..start], &content[end..]);
    let is_line_start = before.is_empty() || before == BOM || before.ends_with(b"\n") || before.ends_with(b"\r");
    let break_unless = |is_there: bool| if is_there || text.is_empty() { "" } else { line_break(content) };
    let (above, below) = (break_unless(is_line_start), break_unless(text.ends_with(['\n', '\r'])));
    [before, above.as_bytes(), text.as_bytes(), below.as_bytes(), after].concat()
}

/// The length of the empty lines that a text begins with.
fn leading_breaks(text: &[u8]) -> usize {
    text.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(text.len())
}

/// The length of the empty lines that a text ends with, without the break of its last line.
fn trailing_breaks(text: &[u8]) -> usize {
    let breaks = text.len() - text.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    let own = match &text[text.len() - breaks..] {
        [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        _ => 0,
    };
    breaks - own
}
