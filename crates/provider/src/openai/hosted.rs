//! The calls of hosted tools, and the pages that a message cites.
//!
//! A hosted call is one item for what was asked and what came of it (`ResponseFunctionWebSearch` and
//! `ResponseCodeInterpreterToolCall` of the vendor's SDK). In the document the call shows what was asked, and the
//! result holds the item, which goes back as it came. Both are written when the item is complete, so that half of one
//! never is.
//!
//! Citations are annotations that point into a message's text. The API does not want them back.

use serde_json::{Value, json};

use super::NAME;
use crate::reply::{items, str_of};
use flemma_model::{CallId, Event, Hosted, HostedBlock, WebSource};

/// The name of a hosted call's tool, by the type of its item; `None` for other items.
pub(super) fn name(kind: &str) -> Option<&'static str> {
    match kind {
        "web_search_call" => Some("web_search"),
        "code_interpreter_call" => Some("code_interpreter"),
        _ => None,
    }
}

/// What a complete item of a hosted call brings: the call and its result. `None` for other items.
///
/// # Errors
/// When it cannot be read.
pub(super) fn events(item: &Value) -> Result<Option<[Event; 2]>, &'static str> {
    let text = |field| item.get(field).and_then(Value::as_str);
    let Some(name) = text("type").and_then(name) else { return Ok(None) };
    let id = CallId(text("id").ok_or("a hosted call without an id")?.to_owned());
    let mut asked = item.get("action").cloned().unwrap_or_else(|| json!({ "code": item.get("code") }));
    if let Some(fields) = asked.as_object_mut() {
        // What was found, not what was asked.
        fields.shift_remove("sources");
    }
    let is_error = matches!(text("status"), Some("failed" | "incomplete"));
    let blocks = [
        HostedBlock::Call { id: id.clone(), name: name.to_owned(), raw: asked },
        HostedBlock::Result { id, raw: item.clone(), is_error },
    ];
    Ok(Some(blocks.map(|block| Event::Hosted(Hosted::of(NAME, block)))))
}

/// Adds the page that an annotation points to, if it is a page.
pub(super) fn cite(annotation: &Value, sources: &mut Vec<WebSource>) {
    if str_of(annotation, "type") == "url_citation" {
        WebSource::new(str_of(annotation, "url"), str_of(annotation, "title")).add(sources);
    }
}

/// Adds the pages that a complete message cites.
pub(super) fn cite_all(message: &Value, sources: &mut Vec<WebSource>) {
    let parts = items(message, "content").iter();
    parts.flat_map(|part| items(part, "annotations")).for_each(|annotation| cite(annotation, sources));
}

/// Says what a message cites, if anything.
pub(super) fn push_citations(sources: Vec<WebSource>, events: &mut Vec<Event>) {
    if !sources.is_empty() {
        events.push(Event::Hosted(Hosted::of(NAME, HostedBlock::Citations { sources, raw: None })));
    }
}
