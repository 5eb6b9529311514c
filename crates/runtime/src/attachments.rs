//! Reads the files that a request shows, on a thread that may wait for a disk.
//!
//! A tool shows images and PDFs and nothing else; a user may show text as well, which goes into their message with the
//! file's name.
//! What is in a file decides what becomes of it: a text file that is called `.png`, or that a document calls an image,
//! is never sent.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Cursor, Read},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use super::{ConversationId, disk::lock};
use flemma_model::{Attachment, AttachmentContent, Media, MediaKind};
use flemma_provider::{
    AttachedBy, Request,
    attachment::{AttachmentLimits, fit},
};
use flemma_text::truncate::format_size;
use flemma_tools::builtin::{Readable, Unread};

/// The longest text file that is sent, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// The most text of files in one request, in bytes.
const MAX_TEXTS: usize = 1 << 20;

/// What is said of a file that no model takes.
const NO_MEDIA: &str = "it is not a PNG, JPEG, GIF or WebP image or a PDF, so it was not sent";

/// A file that is named in a conversation and was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// The file, as the document names it.
    pub path: PathBuf,
    /// Why not, as the end of a sentence.
    pub why: String,
}

/// What came of the files of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What was left out.
    pub left_out: Vec<SkippedFile>,
    /// Of that, what was not yet mentioned to this conversation, in words for the user.
    pub news: Vec<String>,
    /// What the user refers to although it may not be shown. With any of these, the request is not to be sent.
    pub refused: Vec<SkippedFile>,
}

/// What the users of conversations were told: a file that stays away is mentioned once, not in every turn.
#[derive(Debug, Default)]
pub struct Attachments(Mutex<HashSet<(ConversationId, String)>>);

impl Attachments {
    /// Reads what `request` shows, as far as `limits` let it through; the rest is marked with the reason. What is
    /// marked already is not looked at. `readable` judges and opens the files. It blocks on the disk.
    pub fn read(
        &self,
        conversation: ConversationId,
        request: &mut Request,
        readable: &Readable,
        limits: &AttachmentLimits,
    ) -> Findings {
        let mut refused = Vec::new();
        let mut attachments: Vec<(AttachedBy, &mut Attachment)> = request.attachments_mut().collect();
        let mut media = Vec::with_capacity(attachments.len());
        for (by, attachment) in &mut attachments {
            media.push(fill(*by, attachment, readable, limits, &mut refused));
        }
        let pairs =
            attachments.iter_mut().zip(media).filter_map(|((_, attachment), media)| Some((&mut **attachment, media?)));
        fit(&mut pairs.collect::<Vec<_>>(), limits);
        let mut room = MAX_TEXTS;
        for (_, attachment) in attachments.iter_mut().rev() {
            let AttachmentContent::Text(text) = &attachment.content else { continue };
            match room.checked_sub(text.len()) {
                Some(left) => room = left,
                None => {
                    let most = format_size(MAX_TEXTS as u64);
                    let why = format!("a request includes up to {most} of text files, and newer files take precedence");
                    attachment.content = AttachmentContent::LeftOut(why);
                }
            }
        }
        let left_out: Vec<_> = attachments
            .iter()
            .filter_map(|(_, attachment)| match &attachment.content {
                AttachmentContent::LeftOut(why) => {
                    Some(SkippedFile { path: attachment.path.clone(), why: why.clone() })
                }
                AttachmentContent::Read(_) | AttachmentContent::Text(_) | AttachmentContent::Unread => None,
            })
            .collect();
        let told = left_out
            .iter()
            .map(|SkippedFile { path, why }| format!("{} is not shown to the model: {why}", path.display()));
        let news = self.news(conversation, told.collect());
        Findings { left_out, news, refused }
    }

    /// Of what is to be said, what was not said in the turn before.
    fn news(&self, conversation: ConversationId, problems: Vec<String>) -> Vec<String> {
        let mut told = lock(&self.0);
        // A problem that has ended may be reported again.
        told.retain(|(other, problem)| *other != conversation || problems.contains(problem));
        problems.into_iter().filter(|problem| told.insert((conversation, problem.clone()))).collect()
    }
}

/// Reads one file. Gives what it is if it is an image or a PDF.
fn fill(
    by: AttachedBy,
    attachment: &mut Attachment,
    readable: &Readable,
    limits: &AttachmentLimits,
    refused: &mut Vec<SkippedFile>,
) -> Option<Media> {
    if matches!(attachment.content, AttachmentContent::LeftOut(_)) {
        return None;
    }
    let found = match readable.open(&attachment.path) {
        Ok(file) => content(by, file, limits.largest()),
        Err(Unread::Failed(error)) => Err(reason(by, &error)),
        Err(Unread::Refused(problem)) => {
            if by == AttachedBy::User {
                refused.push(SkippedFile { path: attachment.path.clone(), why: problem.to_string() });
            }
            Err(problem.to_string())
        }
    };
    let judged = found.and_then(|(data, media)| judge(by, attachment, data, media));
    let (media_type, content, media) = judged.unwrap_or_else(|why| (None, AttachmentContent::LeftOut(why), None));
    if let Some(media_type) = media_type {
        attachment.media_type = media_type;
    }
    attachment.content = content;
    attachment.is_unsaved = by == AttachedBy::User && readable.is_unsaved(&attachment.path);
    media
}

/// What is in a file that a message shows. `Err` is why it cannot be shown.
fn content(by: AttachedBy, file: File, largest: usize) -> Result<(Arc<[u8]>, Option<Media>), String> {
    let metadata = file.metadata().map_err(|error| reason(by, &error))?;
    if metadata.is_dir() {
        return Err("it is a folder; only files can be shown".to_owned());
    }
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let length = metadata.len();
    if length > largest as u64 {
        let (size, largest) = (format_size(length), format_size(largest as u64));
        return Err(format!("the file has {size}; up to {largest} can be sent"));
    }
    let mut data = Vec::new();
    // One byte more than there should be, to notice a file that grows; it is never read without end.
    file.take(length + 1).read_to_end(&mut data).map_err(|error| reason(by, &error))?;
    if data.len() as u64 != length {
        return Err("it changed while it was being read".to_owned());
    }
    let media = Media::detect(&mut Cursor::new(data.as_slice())).map_err(|error| reason(by, &error))?;
    if media.is_none() && by == AttachedBy::User && length > MAX_TEXT as u64 {
        let (size, most) = (format_size(length), format_size(MAX_TEXT as u64));
        return Err(format!("it is neither an image nor a PDF and has {size}; up to {most} of text can be sent"));
    }
    Ok((data.into(), media))
}

/// The media type that a file is sent with, its content, and what it is if it is an image or a PDF.
type Judged = (Option<String>, AttachmentContent, Option<Media>);

/// What a file is sent as: as what its content says; of a user's own file a type that they gave it, or its name, says
/// what kind of text it is. `Err` is why it is not sent.
fn judge(by: AttachedBy, attachment: &Attachment, data: Arc<[u8]>, media: Option<Media>) -> Result<Judged, String> {
    let given = Some(attachment.media_type.as_str()).filter(|given| by == AttachedBy::User && !given.is_empty());
    let is_text = given.is_some_and(|given| !given.starts_with("image/") && given != MediaKind::Pdf.media_type());
    match media {
        Some(media) if media.is_damaged() => {
            let kind = media.kind.name();
            Err(format!("it starts like a {kind}, but its size cannot be read; it is damaged"))
        }
        Some(media) if !is_text => {
            Ok((Some(media.kind.media_type().to_owned()), AttachmentContent::Read(data), Some(media)))
        }
        None if by == AttachedBy::Tool => Err(NO_MEDIA.to_owned()),
        None if given.is_some() && !is_text => {
            let given = given.unwrap_or_default();
            Err(format!("its reference says `;type={given}`, but it is not a PNG, JPEG, GIF or WebP image or a PDF"))
        }
        _ => {
            let guess = mime_guess::from_path(&attachment.path).first_raw();
            // A guess of plain bytes says nothing.
            let guess = guess.filter(|guess| *guess != "application/octet-stream");
            let text = std::str::from_utf8(&data).ok().filter(|text| text.len() <= MAX_TEXT && !text.contains('\0'));
            let Some(text) = text else {
                let name = guess.map_or_else(String::new, |guess| format!(" (its name says {guess})"));
                return Err(format!("it is not text, a PNG, JPEG, GIF or WebP image, or a PDF{name}"));
            };
            let says_text = |guess: &&str| guess.starts_with("text/") || guess.starts_with("application/");
            let media_type = given.or(guess.filter(says_text));
            // A byte order mark says nothing to a model.
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            Ok((Some(media_type.unwrap_or("text/plain").to_owned()), AttachmentContent::Text(text.into()), None))
        }
    }
}

fn reason(by: AttachedBy, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if by == AttachedBy::User => "there is no such file".to_owned(),
        io::ErrorKind::NotFound => "it no longer exists".to_owned(),
        io::ErrorKind::PermissionDenied => "it cannot be read (permission denied)".to_owned(),
        _ => format!("it cannot be read ({error})"),
    }
}
