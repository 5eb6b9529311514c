//! The tools that only read: `read_note`, `list_pages`, `get_page_info` and `search_notes`; and what else is known of a page without
//! showing its text.

use std::{collections::BTreeSet, fs::Metadata};

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value, json};

use super::{
    super::{limit, optional_text, report, switch, text},
    page, section,
    space::Space,
};
use crate::{Context, Outcome, Output};
use flemma_model::ModelError;
use flemma_notes::{Outline, PageName, Pages, frontmatter, search::Query, sections};
use flemma_text::{
    escape_controls, things,
    truncate::{count_lines, prefix},
};

/// The default for the number of names that `list_pages` shows, and the maximum that a call can ask for.
const LISTED: (usize, usize) = (500, 100_000);

/// The same for the pages that `search_notes` shows.
const FOUND: (usize, usize) = (20, 1000);

/// The maximum number of pages and sections in what `get_page_info` says.
const MAX_LISTED: usize = 100;

/// The maximum length of a line that `search_notes` shows, in bytes.
const MAX_LINE: usize = 300;

/// `read_note`: reads a page, or a section of it.
pub(super) fn read(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let (space, page, section) = (Space::open(context)?, page(input, "page")?, section(input)?);
    let content = space.read(&page)?;
    let outline = Outline::new(&content);
    if switch(input, "list_sections") {
        let list = sections::list(&outline.sections);
        let list = if list.is_empty() { "(the page has no sections)".to_owned() } else { list };
        return Ok(Outcome::text(report::finish("read_note", &list, Vec::new(), context)));
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
    Ok(Outcome::text(report::finish("read_note", text.trim_start_matches('\u{feff}'), notes, context)))
}

/// `list_pages`: lists the pages in a folder.
pub(super) fn list(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let space = Space::open(context)?;
    let folder = optional_text(input, "path").unwrap_or_default();
    let is_recursive = input.get("recursive").and_then(Value::as_bool).unwrap_or(true);
    let limit = limit(input, LISTED)?;
    let listed = space.list(folder)?;
    let start = folder.strip_prefix("./").unwrap_or(folder).trim_end_matches('/');
    let skipped = if matches!(start, "" | ".") { 0 } else { start.len() + 1 };
    let name = |page: &PageName| match page.as_str()[skipped..].split_once('/') {
        Some((folder, _)) if !is_recursive => format!("{}{folder}/", &page.as_str()[..skipped]),
        _ => page.as_str().to_owned(),
    };
    let names: BTreeSet<String> = listed.pages.iter().map(name).collect();
    let total = names.len();
    let body: String = names.iter().take(limit).map(|name| format!("{}\n", escape_controls(name))).collect();
    let mut notes = listed.notes;
    if total > limit {
        notes.insert(0, format!("{limit} of {total} are shown. Raise `limit`, or choose a `path`"));
    }
    if total == 0 && notes.is_empty() {
        return Ok(Outcome::text("(no pages)"));
    }
    Ok(Outcome::text(report::finish("list_pages", &body, notes, context)))
}

/// `search_notes`: finds pages by their words, the best ones first.
pub(super) fn search(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let space = Space::open(context)?;
    let query = Query::parse(text(input, "query")?)?;
    let limit = limit(input, FOUND)?;
    let listed = space.list(optional_text(input, "path").unwrap_or_default())?;
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for page in &listed.pages {
        space.go_on()?;
        match space.read(page) {
            Ok(content) => found.extend(query.look(page, &content)),
            Err(error) => problems.push(error.to_string().trim_end_matches('.').to_owned()),
        }
    }
    let total = found.len();
    let mut body = String::new();
    for candidate in query.rank(found, listed.pages.len()).into_iter().take(limit) {
        body.push_str(&format!("{}\n", escape_controls(candidate.page.as_str())));
        for (line, text) in &candidate.lines {
            let short = prefix(text, MAX_LINE);
            let more = if short.len() < text.len() { "…" } else { "" };
            body.push_str(&format!("  {line}: {}{more}\n", escape_controls(short)));
        }
    }
    let mut notes = listed.notes;
    if total > limit {
        let pages = things(total, "page");
        notes.insert(0, format!("{limit} of {pages} are shown. Raise `limit`, or use other words"));
    }
    notes.extend(report::unreadable(problems));
    if total == 0 {
        notes.insert(0, format!("No page of {} has any of these words", listed.pages.len()));
    }
    Ok(Outcome::text(report::finish("search_notes", &body, notes, context)))
}

/// `get_page_info`: what is known about a page without reading it.
pub(super) fn info(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let (space, page) = (Space::open(context)?, page(input, "page")?);
    let (content, metadata) = space.read_with_metadata(&page)?;
    let outline = Outline::new(&content);
    let read = frontmatter::values(&content);
    let mut notes: Vec<String> = read.as_ref().err().map(ToString::to_string).into_iter().collect();
    let values = read.unwrap_or_default();
    let pages = Pages::new(&space.list("")?.pages);
    let below: Vec<&str> = pages.below(&page).collect();
    for (what, count) in [("subpages", below.len()), ("sections", outline.sections.len())] {
        if count > MAX_LISTED {
            notes.push(format!("Only {MAX_LISTED} of {count} {what} are listed."));
        }
    }
    let sections = outline.sections.iter().take(MAX_LISTED);
    let sections = sections.map(|section| format!("{} {}", "#".repeat(section.level), section.title));
    let mut result = json!({
        "page": page.as_str(),
        "size": metadata.len(),
        "lines": count_lines(&content),
        "modified": modified(&metadata, Unit::Second),
        "tags": tags(&values, &outline),
        "frontmatter": values.keys().collect::<Vec<_>>(),
        "sections": sections.collect::<Vec<_>>(),
        "subpages": &below[..below.len().min(MAX_LISTED)],
    });
    if !notes.is_empty() {
        result["note"] = notes.join(" ").into();
    }
    Ok(Outcome::Success(Output::Json(result)))
}

impl Space<'_> {
    /// The name of a page, its size, when it was changed, and its tags.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn meta(&self, page: &PageName) -> Result<Value, ModelError> {
        let (content, metadata) = self.read_with_metadata(page)?;
        let values = frontmatter::values(&content).unwrap_or_default();
        Ok(json!({
            "name": page.as_str(),
            "size": metadata.len(),
            "lastModified": modified(&metadata, Unit::Millisecond),
            "tags": tags(&values, &Outline::new(&content)),
        }))
    }

    /// The same of all pages. One that is gone meanwhile, or cannot be read, is left out.
    ///
    /// # Errors
    /// If they cannot be listed, or the call has to stop.
    pub(super) fn metas(&self) -> Result<Value, ModelError> {
        let mut pages = Vec::new();
        for page in &self.list("")?.pages {
            self.go_on()?;
            pages.extend(self.meta(page).ok());
        }
        Ok(pages.into())
    }
}

/// The tags in the frontmatter and in the text, sorted, each once.
fn tags(values: &Map<String, Value>, outline: &Outline) -> BTreeSet<String> {
    frontmatter::tags(values).into_iter().chain(outline.tags.iter().cloned()).collect()
}

/// When a file was changed, to this unit.
fn modified(metadata: &Metadata, unit: Unit) -> Option<String> {
    let time = Timestamp::try_from(metadata.modified().ok()?).ok()?;
    time.round(unit).ok().map(|time| time.to_string())
}

/// The line of a section in the text of a page, from 1, for `navigate`: the editor answers it (`lua/flemma/tools/client/navigate.lua`).
///
/// # Errors
/// If there is no such section, with the sections that there are.
pub fn locate_section(text: &str, heading: &str) -> Result<usize, ModelError> {
    let outline = Outline::new(text.as_bytes());
    sections::find(&outline, heading, None).map(|found| found.section.line)
}
