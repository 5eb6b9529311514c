//! The files in the user's state folder that belong to one conversation.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use flemma_tools::paths::real;

/// The file for a conversation: named by its real path, which all links to it have in common. It blocks on the disk.
pub(super) fn state_file(folder: &Path, conversation: &Path, extension: &str) -> PathBuf {
    let digest = Sha256::digest(real(conversation).as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    folder.join(hex).with_extension(extension)
}
