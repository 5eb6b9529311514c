//! What a call would change in pages, as a [`Proposal`].

use super::{
    super::{replace::WriteTarget, written},
    space::Space,
};
use crate::{Content, FileChange, Proposal, paths};
use flemma_model::ModelError;
use flemma_notes::PageName;

/// A change of one page: from `old`, which is `None` if it does not exist, to `new`, under another name if it is moved.
///
/// # Errors
/// If one of the files must not be written.
pub(super) fn change(
    space: &Space<'_>,
    page: &PageName,
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    moved_to: Option<&PageName>,
) -> Result<FileChange, ModelError> {
    // What can be known beforehand is said before anybody is asked.
    let file = |page: &PageName| {
        let path = paths::real(&space.file(page)?);
        WriteTarget::new(&path, page.as_str(), space.context, &space.bounds())
    };
    let change = file(page)?.change(page.as_str(), old.map(Content::new), Content::new(new));
    let moved_to = moved_to.map(|page| Ok((file(page)?.path().to_owned(), page.as_str().to_owned()))).transpose()?;
    Ok(FileChange { moved_to, ..change })
}

/// One change of a page that exists.
///
/// # Errors
/// If nothing would change, or the page must not be written.
pub(super) fn of_one(
    space: &Space<'_>,
    page: &PageName,
    old: Vec<u8>,
    new: Vec<u8>,
    summary: String,
) -> Result<Proposal, ModelError> {
    if old == new {
        return Err(ModelError::new(format!("This would not change `{page}`: it has this content already.")));
    }
    let diff = written::diff(&old, &new);
    Ok(Proposal { files: vec![change(space, page, Some(old), new, None)?], summary, diff })
}
