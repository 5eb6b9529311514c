//! Attachments: files that a model is shown beside the text.
//!
//! A document only names a file ([`AttachmentContent::Unread`]). For each request `runtime` reads it, and judges it by what
//! is in it, never by its name: [`Media::look_at`](super::Media::look_at) knows images and PDFs. Of other files only
//! text is ever sent, and only where it is the user who shows it. Then `provider::attachment::fit` leaves out what the
//! vendor would refuse the whole request for. Whatever is left out says why, and an encoder writes that sentence
//! ([`Attachment::note`]) where the file would have been.

use std::{borrow::Cow, ffi::OsStr, fmt, path::PathBuf, sync::Arc};

use super::MediaKind;
use crate::text::Fence;

/// A file that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attachment {
    /// The file, as the document names it.
    pub path: PathBuf,
    /// Its media type (`image/png`): what the document says until the file was read, then what its content says.
    pub media_type: String,
    /// What is in it.
    pub content: AttachmentContent,
}

/// What is known of an attachment's content.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum AttachmentContent {
    /// Nothing yet.
    Unread,
    /// The bytes of an image or a PDF.
    Read(Arc<[u8]>),
    /// A text, which is sent in words.
    Text(Arc<str>),
    /// It is not sent; why not, as the end of a sentence that began with its name: `it is not there any more`.
    LeftOut(String),
}

/// Images can be long, and whoever looks at a request does not want to see their bytes.
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
    /// A file that nobody has read yet.
    pub fn unread(path: impl Into<PathBuf>, media_type: impl Into<String>) -> Self {
        Self { path: path.into(), media_type: media_type.into(), content: AttachmentContent::Unread }
    }

    /// The bytes, if they are to be sent.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            AttachmentContent::Read(bytes) => Some(bytes),
            AttachmentContent::Unread | AttachmentContent::Text(_) | AttachmentContent::LeftOut(_) => None,
        }
    }

    /// Whether the document, or the file's content, calls it a PDF.
    #[must_use]
    pub fn is_pdf(&self) -> bool {
        self.media_type == MediaKind::Pdf.media_type()
    }

    /// Its name without its folder, for a vendor that wants one.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        self.path.file_name().map_or(Cow::Borrowed("file"), OsStr::to_string_lossy)
    }

    /// What stands for it in the message: a text file with its name in a fence that it cannot close, or the note about
    /// a file that is left out; `None` if the file itself is sent.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let AttachmentContent::Text(text) = &self.content else { return self.note() };
        let marks = Fence::around(text).marks();
        let (name, end) = (self.path.display(), if text.ends_with('\n') { "" } else { "\n" });
        Some(format!("{name} ({}):\n\n{marks}\n{text}{end}{marks}", self.media_type))
    }

    /// What to tell the model in the place of a file that is left out; `None` if it is sent.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let why = match &self.content {
            AttachmentContent::Read(_) | AttachmentContent::Text(_) => return None,
            AttachmentContent::Unread => "nobody has read it",
            AttachmentContent::LeftOut(why) => why,
        };
        Some(format!("[{} was left out of this request: {why}.]", self.path.display()))
    }
}
