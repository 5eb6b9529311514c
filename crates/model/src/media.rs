//! The file types that models accept, recognised by the first bytes of a file.

use std::{
    fmt,
    io::{self, BufRead, Seek, SeekFrom},
};

use imagesize::ImageType;

/// The first bytes of a PDF (ISO 32000-2, 7.5.2).
const PDF: &[u8] = b"%PDF-";

/// A file type that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
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

impl MediaKind {
    /// All types.
    pub const ALL: [Self; 5] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp, Self::Pdf];

    /// Its media type.
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
    pub const fn is_image(self) -> bool {
        !matches!(self, Self::Pdf)
    }

    /// Its name for people.
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

/// The type and size of a file, read from its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its type.
    pub kind: MediaKind,
    /// Width and height of an image in pixels; `None` if its header does not have them, which means that it is damaged.
    pub size: Option<(usize, usize)>,
}

impl Media {
    /// Recognises a file by its first bytes; `None` if it is of another type. The reader must be at the beginning of
    /// the file, and is there afterwards. Its buffer must hold at least the first few bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn detect(reader: &mut (impl BufRead + Seek)) -> io::Result<Option<Self>> {
        let header = reader.fill_buf()?;
        if header.starts_with(PDF) {
            return Ok(Some(Self { kind: MediaKind::Pdf, size: None }));
        }
        let kind = match imagesize::image_type(header) {
            Ok(ImageType::Png) => MediaKind::Png,
            Ok(ImageType::Jpeg) => MediaKind::Jpeg,
            Ok(ImageType::Gif) => MediaKind::Gif,
            Ok(ImageType::Webp) => MediaKind::Webp,
            _ => return Ok(None),
        };
        let size = imagesize::reader_size(&mut *reader).ok().map(|size| (size.width, size.height));
        reader.seek(SeekFrom::Start(0))?;
        Ok(Some(Self { kind, size: size.filter(|(width, height)| *width > 0 && *height > 0) }))
    }

    /// Whether it is an image with an invalid header. Every vendor rejects a request that contains one.
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
