//! What a search has found: the reply's grounding.
//!
//! The API does not announce its search and reports it outside the reply, mostly in the last chunk: the queries and
//! the pages (`GroundingMetadata` in Google's SDK). It takes nothing of that back. So a document shows a call with the
//! queries and a list of sources, behind the prose, and they are for the user alone.

use serde_json::{Value, json};

use super::NAME;
use crate::reply::{items, made_up_id, str_of};
use flemma_model::{Event, Hosted, HostedBlock, WebSource};

/// What was told so far.
#[derive(Default)]
pub(super) struct Grounding {
    queries: Vec<String>,
    sources: Vec<WebSource>,
}

impl Grounding {
    /// Takes note of a `groundingMetadata`. A later one may repeat an earlier one.
    pub fn note(&mut self, metadata: &Value) {
        for query in items(metadata, "webSearchQueries").iter().filter_map(Value::as_str) {
            if self.queries.iter().all(|known| known != query) {
                self.queries.push(query.to_owned());
            }
        }
        for web in items(metadata, "groundingChunks").iter().filter_map(|chunk| chunk.get("web")) {
            WebSource::new(str_of(web, "uri"), str_of(web, "title")).add(&mut self.sources);
        }
    }

    /// Tells of the search, if there was one.
    pub fn tell(self, events: &mut Vec<Event>) {
        let mut push = |block| events.push(Event::Hosted(Hosted::of(NAME, block)));
        if !self.queries.is_empty() {
            let name = "web_search".to_owned();
            push(HostedBlock::Call { id: made_up_id(NAME), name, raw: json!({ "queries": self.queries }) });
        }
        if !self.sources.is_empty() {
            push(HostedBlock::Citations { sources: self.sources, raw: None });
        }
    }
}
