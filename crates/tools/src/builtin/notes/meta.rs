//! What is known of a page without showing its text.

use serde_json::{Value, json};

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
        let mut tags = frontmatter::values(&content).map(|values| frontmatter::tags(&values)).unwrap_or_default();
        tags.extend(Outline::new(&content).tags);
        tags.sort_unstable();
        tags.dedup();
        let modified = metadata.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok());
        let modified = modified.and_then(|time| time.round(jiff::Unit::Millisecond).ok());
        Ok(json!({
            "name": page.as_str(),
            "size": metadata.len(),
            "lastModified": modified.map(|time| time.to_string()),
            "tags": tags,
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
