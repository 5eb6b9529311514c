//! Attachments: files that are sent to a model along with the text.
//!
//! A document only names a file ([`AttachmentContent::Unread`]). For each request, `runtime` reads it and determines
//! its type from its content, never from its name: [`Media::detect`](super::Media::detect) recognises images and PDFs.
//! Other files are sent only if they are text and the user attached them. Then `provider::attachment::fit` leaves out
//! files for which the vendor would reject the whole request. Each file that is left out has a reason, and the encoder
//! writes it ([`Attachment::note`]) in place of the file.

use std::{borrow::Cow, ffi::OsStr, fmt, path::PathBuf, sync::Arc};

use super::MediaKind;
use flemma_text::Fence;

/// What is said of a file whose text in the editor is another one.
pub const DISK_ONLY: &str = "without the changes in the editor, which are not saved";

/// A file that is sent with a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attachment {
    /// The path, as the document writes it.
    pub path: PathBuf,
    /// Its media type (`image/png`): the one in the document until the file is read, then the one that its content has.
    pub media_type: String,
    /// Its content.
    pub content: AttachmentContent,
    /// Whether the editor has changes of it that are not saved.
    pub is_unsaved: bool,
}

/// The content of an attachment, as far as it is known.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum AttachmentContent {
    /// Not read yet.
    Unread,
    /// The bytes of an image or a PDF.
    Read(Arc<[u8]>),
    /// Text, which is put into the message.
    Text(Arc<str>),
    /// The file is not sent. The text says why, as the end of a sentence that begins with its name.
    LeftOut(String),
}

/// Leaves out the bytes, which would make the debug output of a request unreadable.
impl fmt::Debug for AttachmentContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread => f.write_str("Unread"),
            Self::Read(bytes) => write!(f, "Read({} bytes)", bytes.len()),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::LeftOut(why) => f.debug_tuple("LeftOut").field(why).finish(),
        }
    }
}

impl Attachment {
    /// A file that is not read yet.
    pub fn unread(path: impl Into<PathBuf>, media_type: impl Into<String>) -> Self {
        Self { path: path.into(), media_type: media_type.into(), content: AttachmentContent::Unread, is_unsaved: false }
    }

    /// The bytes, if they are to be sent.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            AttachmentContent::Read(bytes) => Some(bytes),
            AttachmentContent::Unread | AttachmentContent::Text(_) | AttachmentContent::LeftOut(_) => None,
        }
    }

    /// Whether it is a PDF, according to the document or, once read, its content.
    pub fn is_pdf(&self) -> bool {
        self.media_type == MediaKind::Pdf.media_type()
    }

    /// Its name without its folder, for vendors that require one.
    pub fn name(&self) -> Cow<'_, str> {
        self.path.file_name().map_or(Cow::Borrowed("file"), OsStr::to_string_lossy)
    }

    /// The text that represents it in the message: its name and its text in a fence that the text cannot close, or the
    /// note about a file that is left out. `None` if the file itself is sent.
    pub fn in_words(&self) -> Option<String> {
        let AttachmentContent::Text(text) = &self.content else { return self.note() };
        let unsaved = if self.is_unsaved { format!(", {DISK_ONLY}") } else { String::new() };
        Some(format!("{} ({}{unsaved}):\n\n{}", self.path.display(), self.media_type, Fence::enclose("", text)))
    }

    /// What to tell the model in place of a file that is left out; `None` if the file is sent.
    pub fn note(&self) -> Option<String> {
        let why = match &self.content {
            AttachmentContent::Read(_) | AttachmentContent::Text(_) => return None,
            AttachmentContent::Unread => "nobody has read it",
            AttachmentContent::LeftOut(why) => why,
        };
        Some(format!("[{} was left out of this request: {why}.]", self.path.display()))
    }
}
