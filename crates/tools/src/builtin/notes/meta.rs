//! What is known of a page without showing its text.

use std::fs::Metadata;

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value, json};

use super::space::Space;
use flemma_model::ModelError;
use flemma_notes::{Outline, PageName, frontmatter};

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
pub(super) fn tags(values: &Map<String, Value>, outline: &Outline) -> Vec<String> {
    let mut tags = frontmatter::tags(values);
    tags.extend(outline.tags.iter().cloned());
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// When a file was changed, to this unit.
pub(super) fn modified(metadata: &Metadata, unit: Unit) -> Option<String> {
    let time = Timestamp::try_from(metadata.modified().ok()?).ok()?;
    time.round(unit).ok().map(|time| time.to_string())
}
