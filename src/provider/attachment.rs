//! Attachments: files that a model is shown beside the text.
//!
//! A document only names a file ([`Content::Unread`]). For each request `runtime` reads it, and judges it by what
//! is in it, never by its name: [`Media::look_at`] knows images and PDFs. Of other files only text is ever sent, and
//! only where it is the user who shows it. Then [`fit`] leaves out what the vendor would refuse the whole request for.
//! Whatever is left out says why, and an encoder writes that sentence ([`Attachment::note`]) where the file would have
//! been.

use std::{
    borrow::Cow,
    ffi::OsStr,
    fmt,
    io::{self, BufRead, Seek, SeekFrom},
    path::PathBuf,
    sync::Arc,
};

use imagesize::ImageType;

use crate::text::{Fence, truncate::format_size};

/// What a PDF begins with (ISO 32000-2, 7.5.2).
const PDF: &[u8] = b"%PDF-";

/// A file that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attachment {
    /// The file, as the document names it.
    pub path: PathBuf,
    /// Its media type (`image/png`): what the document says until the file was read, then what its content says.
    pub media_type: String,
    /// What is in it.
    pub content: Content,
}

/// What is known of an attachment's content.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Content {
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
impl fmt::Debug for Content {
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
        Self { path: path.into(), media_type: media_type.into(), content: Content::Unread }
    }

    /// The bytes, if they are to be sent.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Read(bytes) => Some(bytes),
            Content::Unread | Content::Text(_) | Content::LeftOut(_) => None,
        }
    }

    /// Whether the document, or the file's content, calls it a PDF.
    #[must_use]
    pub fn is_pdf(&self) -> bool {
        self.media_type == Kind::Pdf.media_type()
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
        let Content::Text(text) = &self.content else { return self.note() };
        let marks = Fence::around(text).marks();
        let (name, end) = (self.path.display(), if text.ends_with('\n') { "" } else { "\n" });
        Some(format!("{name} ({}):\n\n{marks}\n{text}{end}{marks}", self.media_type))
    }

    /// What to tell the model in the place of a file that is left out; `None` if it is sent.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let why = match &self.content {
            Content::Read(_) | Content::Text(_) => return None,
            Content::Unread => "nobody has read it",
            Content::LeftOut(why) => why,
        };
        Some(format!("[{} was left out of this request: {why}.]", self.path.display()))
    }
}

/// The kinds of file that models take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
    /// A PDF document.
    Pdf,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp, Self::Pdf];

    /// Its media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }

    /// Whether it is an image.
    #[must_use]
    pub const fn is_image(self) -> bool {
        !matches!(self, Self::Pdf)
    }

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG image",
            Self::Jpeg => "JPEG image",
            Self::Gif => "GIF image",
            Self::Webp => "WebP image",
            Self::Pdf => "PDF document",
        }
    }
}

/// A file that models take, as its content says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// What it is.
    pub kind: Kind,
    /// Width and height of an image in pixels; `None` if its header does not say, and then it is damaged.
    pub size: Option<(usize, usize)>,
}

impl Media {
    /// Looks at how a file begins; `None` if it is something else. The reader is at the file's beginning before and
    /// after, and must hold at least the first few bytes in its buffer.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn look_at(reader: &mut (impl BufRead + Seek)) -> io::Result<Option<Self>> {
        let header = reader.fill_buf()?;
        if header.starts_with(PDF) {
            return Ok(Some(Self { kind: Kind::Pdf, size: None }));
        }
        let kind = match imagesize::image_type(header) {
            Ok(ImageType::Png) => Kind::Png,
            Ok(ImageType::Jpeg) => Kind::Jpeg,
            Ok(ImageType::Gif) => Kind::Gif,
            Ok(ImageType::Webp) => Kind::Webp,
            _ => return Ok(None),
        };
        let size = imagesize::reader_size(&mut *reader).ok().map(|size| (size.width, size.height));
        reader.seek(SeekFrom::Start(0))?;
        Ok(Some(Self { kind, size: size.filter(|(width, height)| *width > 0 && *height > 0) }))
    }

    /// Whether it is an image whose header makes no sense: every vendor refuses a request with one.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.kind.is_image() && self.size.is_none()
    }
}

/// `PNG image, 640x480 pixels`.
impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.size {
            Some((width, height)) => write!(f, ", {width}x{height} pixels"),
            None => Ok(()),
        }
    }
}

/// What a vendor takes in one request. One file beyond a limit would cost the whole request, and every one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The vendor's name, for messages.
    pub vendor: &'static str,
    /// The kinds that it takes.
    pub kinds: &'static [Kind],
    /// The biggest image, in bytes of its file.
    pub image_bytes: usize,
    /// The longest side of an image, in pixels.
    pub image_side: usize,
    /// The most images of which one may be longer than `many_images_side`.
    pub many_images: usize,
    /// The longest side of an image in a request with more images than that, in pixels.
    pub many_images_side: usize,
    /// The most files in one request.
    pub files: usize,
    /// All files of one request together, in bytes; one alone may have as many.
    pub total_bytes: usize,
}

impl Limits {
    /// The biggest file of any kind that is worth reading, in bytes.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.image_bytes.max(self.total_bytes)
    }
}

/// Leaves out, of attachments that were read, what is beyond a vendor's limits. They come with what they are, the
/// oldest first; where there are too many, the newest stay, since they are what the conversation is about now.
pub fn fit(attachments: &mut [(&mut Attachment, Media)], limits: &Limits) {
    let mut room = Room { limits, bytes: limits.total_bytes, files: 0, images: 0, has_large: false };
    for (attachment, media) in attachments.iter_mut().rev() {
        let Some(bytes) = attachment.bytes().map(<[u8]>::len) else { continue };
        if let Err(why) = room.take(*media, bytes) {
            attachment.content = Content::LeftOut(why);
        }
    }
}

/// What still fits into a request.
struct Room<'a> {
    limits: &'a Limits,
    bytes: usize,
    files: usize,
    images: usize,
    /// Whether one of the images is too large for a request of many.
    has_large: bool,
}

impl Room<'_> {
    /// Takes a file in. `Err` is why not.
    fn take(&mut self, media: Media, bytes: usize) -> Result<(), String> {
        let Limits { vendor, kinds, image_bytes, image_side, many_images, many_images_side, files, total_bytes } =
            *self.limits;
        let size = |bytes: usize| format_size(bytes as u64);
        let longest = media.size.map_or(0, |(width, height)| width.max(height));
        let is_large = longest > many_images_side;
        if !kinds.contains(&media.kind) {
            return Err(format!("it is a {}, and {vendor} takes none", media.kind.name()));
        }
        if media.kind.is_image() && bytes > image_bytes {
            return Err(format!(
                "the image has {}, and {vendor} takes images of {} at most",
                size(bytes),
                size(image_bytes)
            ));
        }
        if longest > image_side {
            let (width, height) = media.size.unwrap_or_default();
            return Err(format!(
                "the image has {width}x{height} pixels, and {vendor} takes {image_side} at most on a side"
            ));
        }
        if bytes > total_bytes {
            return Err(format!("the file has {}, and {vendor} takes {} at most", size(bytes), size(total_bytes)));
        }
        if self.files == files {
            return Err(format!("{vendor} takes {files} files in a request at most, and newer ones come first"));
        }
        if media.kind.is_image() && self.images >= many_images && (is_large || self.has_large) {
            return Err(format!(
                "{vendor} takes more than {many_images} images only if none has more than {many_images_side} pixels on \
                 a side, and newer ones come first"
            ));
        }
        if bytes > self.bytes {
            return Err(format!(
                "{vendor} takes {} of files in a request at most, and newer ones come first",
                size(total_bytes)
            ));
        }
        self.bytes -= bytes;
        self.files += 1;
        self.images += usize::from(media.kind.is_image());
        self.has_large |= is_large;
        Ok(())
    }
}
