//! Images and PDFs: told from text by how they begin, and described in a sentence.

use std::io::{self, BufRead, Seek, SeekFrom};

use imagesize::ImageType;

/// What a PDF begins with. See ISO 32000-2, 7.5.2.
const PDF: &[u8] = b"%PDF-";

/// A file that is no text, and that providers take as an attachment.
pub(super) enum Media {
    /// An image, with its width and height in pixels if its header says them.
    Image(&'static str, Option<(usize, usize)>),
    /// A document.
    Pdf,
}

/// Looks at how a file begins; `None` if it is something else. The reader is at the file's beginning before and after.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn look_at(reader: &mut (impl BufRead + Seek)) -> io::Result<Option<Media>> {
    let header = reader.fill_buf()?;
    if header.starts_with(PDF) {
        return Ok(Some(Media::Pdf));
    }
    let kind = match imagesize::image_type(header) {
        Ok(ImageType::Png) => "PNG",
        Ok(ImageType::Jpeg) => "JPEG",
        Ok(ImageType::Gif) => "GIF",
        Ok(ImageType::Webp) => "WebP",
        _ => return Ok(None),
    };
    let size = imagesize::reader_size(&mut *reader).ok().map(|size| (size.width, size.height));
    reader.seek(SeekFrom::Start(0))?;
    Ok(Some(Media::Image(kind, size)))
}

impl Media {
    /// The sentence for the model. `bytes` is the size of the file that it calls `name`.
    pub(super) fn describe(&self, name: &str, bytes: u64) -> String {
        let what = match self {
            Self::Pdf => format!("a PDF document of {bytes} bytes"),
            Self::Image(kind, Some((width, height))) => {
                format!("a {kind} image of {width} x {height} pixels, {bytes} bytes")
            }
            Self::Image(kind, None) => {
                format!("a {kind} image of {bytes} bytes; how wide and high it is cannot be read from it")
            }
        };
        let reference = if name.starts_with(['/', '~', '.']) { format!("@{name}") } else { format!("@./{name}") };
        format!("{name} is {what}. Tools give back text only. The user can attach it to a message as `{reference}`.")
    }
}
