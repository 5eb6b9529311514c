//! `read_note`: reads a page, or a section of it.

use serde_json::Value;

use super::{
    super::{report, tool::Looking},
    define,
    space::Space,
};
use crate::Outcome;
use flemma_model::ModelError;
use flemma_notes::{Outline, sections};

/// The tool.
pub(super) const TOOL: Looking =
    Looking { look: |input, context| read(input, &Space::open(context)?), preview: define::preview };

fn read(input: &Value, space: &Space<'_>) -> Result<Outcome, ModelError> {
    let page = define::page(input, "page")?;
    let section = define::section(input)?;
    let content = space.read(&page)?;
    let outline = Outline::new(&content);
    if super::super::switch(input, "list_sections") {
        let list = sections::list(&outline.sections);
        let list = if list.is_empty() { "(the page has no sections)".to_owned() } else { list };
        return Ok(Outcome::text(report::finish("read_note", &list, Vec::new(), space.context)));
    }
    let mut notes = Vec::new();
    let part = match section {
        None => &content[..],
        Some((heading, occurrence)) => {
            let found = sections::find(&outline, heading, occurrence)?;
            if found.of > 1 && occurrence.is_none() {
                notes.push(format!(
                    "This is section {} of {} with this heading, at line {}. Choose with `occurrence`",
                    found.occurrence, found.of, found.section.line
                ));
            }
            &content[found.section.heading.start..found.section.end]
        }
    };
    if part.is_empty() {
        return Ok(Outcome::text("(empty page)"));
    }
    let text = String::from_utf8_lossy(part);
    Ok(Outcome::text(report::finish("read_note", text.trim_start_matches('\u{feff}'), notes, space.context)))
}
