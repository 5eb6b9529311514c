//! What a vendor takes of the files that a request shows, and leaving out what it would refuse.

use flemma_model::{Attachment, AttachmentContent, Media, MediaKind};
use flemma_text::truncate::format_size;

/// What a vendor takes in one request. One file beyond a limit would cost the whole request, and every one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachmentLimits {
    /// The vendor's name, for messages.
    pub vendor: &'static str,
    /// The kinds that it takes.
    pub kinds: &'static [MediaKind],
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

impl AttachmentLimits {
    /// Every kind, without any limit.
    pub(super) const NONE: Self = Self {
        vendor: "",
        kinds: &MediaKind::ALL,
        image_bytes: usize::MAX,
        image_side: usize::MAX,
        many_images: usize::MAX,
        many_images_side: usize::MAX,
        files: usize::MAX,
        total_bytes: usize::MAX,
    };

    /// The biggest file of any kind that is worth reading, in bytes.
    pub fn largest(&self) -> usize {
        self.image_bytes.max(self.total_bytes)
    }
}

/// Leaves out, of attachments that were read, what is beyond a vendor's limits. They come with what they are, the
/// oldest first; where there are too many, the newest stay, since they are what the conversation is about now.
pub fn fit(attachments: &mut [(&mut Attachment, Media)], limits: &AttachmentLimits) {
    let mut room = Room { limits, bytes: limits.total_bytes, files: 0, images: 0, has_large: false };
    for (attachment, media) in attachments.iter_mut().rev() {
        let Some(bytes) = attachment.bytes().map(<[u8]>::len) else { continue };
        if let Err(why) = room.take(*media, bytes) {
            attachment.content = AttachmentContent::LeftOut(why);
        }
    }
}

/// What still fits into a request.
struct Room<'a> {
    limits: &'a AttachmentLimits,
    bytes: usize,
    files: usize,
    images: usize,
    /// Whether one of the images is too large for a request of many.
    has_large: bool,
}

impl Room<'_> {
    /// Takes a file in. `Err` is why not.
    fn take(&mut self, media: Media, bytes: usize) -> Result<(), String> {
        let AttachmentLimits { vendor, image_side, many_images, many_images_side, files, .. } = *self.limits;
        let AttachmentLimits { kinds, image_bytes, total_bytes, .. } = *self.limits;
        let size = |bytes: usize| format_size(bytes as u64);
        let (width, height) = media.size.unwrap_or_default();
        let longest = width.max(height);
        let (is_image, is_large) = (media.kind.is_image(), longest > many_images_side);
        let why = if !kinds.contains(&media.kind) {
            format!("it is a {}, which {vendor} does not accept", media.kind.name())
        } else if is_image && bytes > image_bytes {
            format!("the image has {}; {vendor} accepts images of up to {}", size(bytes), size(image_bytes))
        } else if longest > image_side {
            format!("the image has {width}x{height} pixels; {vendor} accepts up to {image_side} on a side")
        } else if bytes > total_bytes {
            format!("the file has {}; {vendor} accepts up to {}", size(bytes), size(total_bytes))
        } else if self.files == files {
            format!("{vendor} accepts up to {files} files per request, and newer files take precedence")
        } else if is_image && self.images >= many_images && (is_large || self.has_large) {
            format!(
                "{vendor} accepts more than {many_images} images only if none has more than {many_images_side} pixels on \
                 a side, and newer ones come first"
            )
        } else if bytes > self.bytes {
            let total = size(total_bytes);
            format!("{vendor} accepts up to {total} of files per request, and newer files take precedence")
        } else {
            self.bytes -= bytes;
            self.files += 1;
            self.images += usize::from(is_image);
            self.has_large |= is_large;
            return Ok(());
        };
        Err(why)
    }
}
