//! `:Flemma fork`: a new conversation that begins as another one does.

use std::path::{Path, PathBuf};

use crate::components::Saving;
use flemma_model::UserError;
use flemma_runtime::write_new;

/// The most forks of one conversation.
const MOST: usize = 1_000;

impl Saving {
    /// Writes a file with the messages of a conversation up to the one at a line, and a note that says where they come from. `then` gets
    /// its path, or why it was not written. What the user trusts in the frontmatter they trust there as well; decisions about calls
    /// are left behind.
    pub fn fork(
        &self,
        buffer: i32,
        line: usize,
        then: impl FnOnce(&Self, Result<PathBuf, UserError>) + Send + 'static,
    ) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        let file = PathBuf::from(self.shared.place(&conversation).file);
        if file.as_os_str().is_empty() {
            return then(
                self,
                Err(UserError::new("write this conversation to a file first, so that its fork can name it")),
            );
        }
        let lines = conversation.page.with_document(|document, text| flemma_chat::forked(document, text, line, &file));
        let work = move || {
            let bytes = lines.join("\n") + "\n";
            let paths = (2..MOST).map(|number| numbered(&file, number));
            for path in paths {
                match write_new(&path, bytes.as_bytes()) {
                    Ok(()) => return Ok(path),
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(UserError::new(format!("{} was not written: {error}", path.display()))),
                }
            }
            Err(UserError::new(format!("{} has too many forks", file.display())))
        };
        let id = conversation.id;
        self.background.run(work, move |this: &Self, written| {
            if let (Ok(path), Some(conversation)) = (&written, this.shared.conversations.by_id(id)) {
                this.trust.keep_frontmatter(&conversation, path.to_string_lossy().into_owned());
            }
            then(this, written);
        });
    }
}

/// `notes.chat` with a number: `notes-2.chat`.
fn numbered(file: &Path, number: usize) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-{number}.chat"))
}
