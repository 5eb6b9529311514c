//! The kinds of file that models take, told by how a file begins.

use std::{
    fmt,
    io::{self, BufRead, Seek, SeekFrom},
};

use imagesize::ImageType;

/// What a PDF begins with (ISO 32000-2, 7.5.2).
const PDF: &[u8] = b"%PDF-";

/// The kinds of file that models take.
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
    pub kind: MediaKind,
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
