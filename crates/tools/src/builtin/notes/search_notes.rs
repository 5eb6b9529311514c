//! `search_notes`: finds pages by their words, the best ones first.

use serde_json::Value;

use super::{
    super::{report, tool::Looking},
    space::Space,
};
use crate::Outcome;
use flemma_model::ModelError;
use flemma_notes::search::Query;
use flemma_text::{escape_controls, truncate};

/// The default for the number of pages that are shown.
const USUAL_LIMIT: usize = 20;

/// The maximum number of pages that a call can ask for.
const MAX_LIMIT: usize = 1000;

/// The maximum length of a line that is shown, in bytes.
const MAX_LINE: usize = 300;

/// The tool.
pub(super) const TOOL: Looking = Looking { look: |input, context| search(input, &Space::open(context)?), preview };

fn preview(input: &Value) -> Option<String> {
    input.get("query")?.as_str().map(str::to_owned)
}

fn search(input: &Value, space: &Space<'_>) -> Result<Outcome, ModelError> {
    let query = Query::parse(super::super::text(input, "query")?)?;
    let limit = super::super::limit(input, USUAL_LIMIT, MAX_LIMIT)?;
    let listed = space.list(super::super::optional_text(input, "path").unwrap_or_default())?;
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
        body.push_str(&escape_controls(candidate.page.as_str()));
        body.push('\n');
        for (line, text) in &candidate.lines {
            let short = truncate::prefix(text, MAX_LINE);
            let more = if short.len() < text.len() { "…" } else { "" };
            body.push_str(&format!("  {line}: {}{more}\n", escape_controls(short)));
        }
    }
    let mut notes = listed.notes;
    if total > limit {
        notes.insert(
            0,
            format!("{limit} of {} are shown. Raise `limit`, or use other words", report::things(total, "page")),
        );
    }
    notes.extend(report::unreadable(problems));
    if total == 0 {
        notes.insert(0, format!("No page of {} has any of these words", listed.pages.len()));
    }
    Ok(Outcome::text(report::finish("search_notes", &body, notes, space.context)))
}
