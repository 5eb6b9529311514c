//! Files that a result shows to the model: images and PDFs.

use std::{
    io::{self, BufReader, Cursor},
    path::Path,
    sync::Arc,
};

use super::{files, guard::Guard};
use crate::{Access, Permitted, overflow, rules::DeniedPaths};
use flemma_model::{Attachment, Media, ModelError};
use flemma_text::truncate::format_size;

/// What is said of a file that no model takes, after its name.
const NO_MEDIA: &str = "is not a PNG, JPEG, GIF or WebP image or a PDF";

/// A file that a result can show, with a line about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFile {
    /// What it is, and how large.
    pub about: String,
    /// The file. The document names it; its content is read for each request.
    pub attachment: Attachment,
}

/// Looks at a file that a result is to show, unless `denied` has it or `permitted` does not allow it. `path` is absolute, and `name` is what messages call it.
/// It blocks on the disk.
///
/// # Errors
/// Why it cannot be shown, as a sentence that begins with its name.
pub fn shown_file(
    path: &Path,
    name: &str,
    denied: &Arc<DeniedPaths>,
    permitted: &Arc<Permitted>,
) -> Result<ShownFile, ModelError> {
    if !denied.allows(path, path) || !permitted.allows(Access::Read, path) {
        permitted.check(Access::Read, path, name)?;
        return Err(ModelError::new(format!("{name} may not be read: a rule of the user denies it.")));
    }
    let guard = Guard::reading(permitted, denied);
    let (file, metadata) = guard.open_regular(path, name)?;
    match Media::detect(&mut BufReader::new(file)).map_err(|error| guard.problem(path, name, &error))? {
        Some(media) => attach(media, name, path, metadata.len()),
        None => Err(ModelError::new(format!("{name} {NO_MEDIA}."))),
    }
}

/// Saves an image or a PDF that a tool has made, to show it. It is kept as long as a long output, and it blocks on the disk.
///
/// # Errors
/// Why it cannot be shown, as a sentence that begins with `name`.
pub fn shown_data(outputs: &Path, tool: &str, data: &[u8], name: &str) -> Result<ShownFile, ModelError> {
    let problem = |error: io::Error| ModelError::new(format!("{name} could not be saved: {}.", files::reason(&error)));
    let media = Media::detect(&mut Cursor::new(data)).map_err(problem)?;
    let media = media.ok_or_else(|| ModelError::new(format!("{name} {NO_MEDIA}.")))?;
    // A file that cannot be shown is not saved.
    attach(media, name, outputs, data.len() as u64)?;
    let path = overflow::save_media(outputs, tool, media.kind, data).map_err(problem)?;
    attach(media, &path.display().to_string(), &path, data.len() as u64)
}

/// The attachment for an image or a PDF of this size.
pub(super) fn attach(media: Media, name: &str, path: &Path, bytes: u64) -> Result<ShownFile, ModelError> {
    let size = format_size(bytes);
    if media.is_damaged() {
        return Err(ModelError::new(format!(
            "{name} looks like a {} ({size}), but its width and height cannot be read: the file is damaged.",
            media.kind.name()
        )));
    }
    if path.to_str().is_none() {
        return Err(ModelError::new(format!(
            "{name} cannot be shown: its name is not valid UTF-8, so a conversation cannot refer to it."
        )));
    }
    let attachment = Attachment::unread(path, media.kind.media_type());
    Ok(ShownFile { about: format!("{name}: {media}, {size}"), attachment })
}
