//! `read_note`: reads a page, or a section of it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{super::report, define, space::Space};
use crate::{Context, Definition, NativeTool, Outcome, PathKind};
use flemma_model::ModelError;
use flemma_notes::{Outline, sections};

struct ReadNote;

pub(super) fn definition() -> Definition {
    define::reading(
        "read_note",
        "Read a page of the user's notes, or one section of it: the heading with everything up to the next heading of \
         the same or a higher level.",
        json!({
            "page": { "type": "string", "description": "The page: its path in the folder of notes, without .md." },
            "section": {
                "type": ["string", "null"],
                "description": "The heading of the section to read, as in `Tasks` or `## Tasks`; null for the whole page.",
            },
            "occurrence": {
                "type": ["integer", "null"],
                "description": "Which section, from 1, if several have this heading; null for the first.",
            },
            "list_sections": {
                "type": ["boolean", "null"],
                "description": "Whether to get only the list of the page's headings, with their lines.",
            },
        }),
        ("page", PathKind::Page),
        ReadNote,
    )
}

impl NativeTool for ReadNote {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        define::look(context, move |space| read(&input, space))
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        define::preview(input)
    }
}

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
