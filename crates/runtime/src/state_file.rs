//! The files in the user's state folder that belong to one conversation.

use std::path::{Path, PathBuf};

use super::disk::short_digest;
use flemma_tools::paths::real;

/// The name that a conversation has there: that of its real path, which all links to it have in common. It blocks on the
/// disk.
pub(super) fn stem(conversation: &Path) -> String {
    short_digest(real(conversation).as_os_str().as_encoded_bytes())
}

/// The file for a conversation. It blocks on the disk.
pub(super) fn state_file(folder: &Path, conversation: &Path, extension: &str) -> PathBuf {
    folder.join(stem(conversation)).with_extension(extension)
}
