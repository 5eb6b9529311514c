//! `read`: reads a text file in pages of lines.
//!
//! The file is read once from start to end in pieces: the lines before the page are skipped, the page is kept, and the lines
//! after it are only counted, so that a large file costs time but no memory. Files other than text are rejected with their
//! kind; images and PDFs are passed on unchanged, for the model to view, as are those that other tools show.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read as _},
    path::Path,
    sync::Arc,
};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{deadline::blocking, files, guard::Guard, input::path_of, line_range, report};
use crate::{Access, Bounds, Context, NativeTool, Outcome, Output, Permitted, overflow, preview, rules::DeniedPaths};
use flemma_model::{Attachment, Media, ModelError};
use flemma_text::{
    things,
    truncate::{self, Limits, MAX_BYTES, MAX_LINES, format_size},
};

/// How much is read at once, in bytes.
const CHUNK: usize = 256 * 1024;

/// How much of the beginning is examined to recognise text, in bytes.
const SNIFF: usize = 8 * 1024;

/// How much of a line is kept beyond what is shown, in bytes: a character may be cut, and a mark be left out.
const BEYOND: usize = 64;

/// What is said of a file that no model takes, after its name.
const NO_MEDIA: &str = "is not a PNG, JPEG, GIF or WebP image or a PDF";

/// The tool.
pub(super) struct Read;

impl NativeTool for Read {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        let work = move |context: &Context| {
            let outcome = read(&input, context).unwrap_or_else(Outcome::failure);
            let is_unsaved = super::path(&input).is_ok_and(|name| context.is_unsaved(&context.resolve(name)));
            if is_unsaved { outcome.noted(report::UNSAVED) } else { outcome }
        };
        blocking(context, work).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let path = input.get("path")?.as_str()?;
        let number = |name| input.get(name).filter(|value| value.is_number());
        let range = match (number("offset"), number("limit")) {
            (None, None) => String::new(),
            (Some(offset), None) => format!("  +{offset}"),
            (None, Some(limit)) => format!("  +0,{limit}"),
            (Some(offset), Some(limit)) => format!("  +{offset},{limit}"),
        };
        Some(preview::labelled(format!("{path}{range}"), input))
    }

    fn shown_file(&self, input: &Value) -> Option<String> {
        path_of(input)
    }

    fn summary(&self, input: &Value) -> Option<String> {
        let path = input.get("path")?.as_str()?;
        let number = |name| input.get(name).and_then(Value::as_u64);
        let first = number("offset").map(|offset| offset.max(1));
        let last = number("limit").map(|limit| first.unwrap_or(1).saturating_add(limit).saturating_sub(1));
        Some(match (first, last) {
            (None, None) => path.to_owned(),
            (Some(first), None) => format!("{path} {first}-"),
            (first, Some(last)) if last > first.unwrap_or(1) => format!("{path} {}-{last}", first.unwrap_or(1)),
            (first, Some(_)) => format!("{path} {}", first.unwrap_or(1)),
        })
    }
}

fn read(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let name = super::path(input)?;
    // Line 0 means the first line: models count both ways.
    let first = super::count(input, "offset")?.unwrap_or(1).max(1) - 1;
    let limit = super::count(input, "limit")?.unwrap_or(MAX_LINES as u64).min(MAX_LINES as u64);
    ensure!(limit > 0, "`limit` must be at least 1.");
    let path = context.resolve(name);
    let guard = Guard::new(context, Bounds::Readable);
    let problem = |error: io::Error| guard.problem(&path, name, &error);
    let (file, metadata) = guard.open_regular(&path, name)?;
    let bytes = metadata.len();
    let mut reader = BufReader::with_capacity(CHUNK, file);
    if let Some(media) = Media::detect(&mut reader).map_err(problem)? {
        let ShownFile { about, attachment } = attach(media, name, &path, bytes)?;
        return Ok(Outcome::Success(Output::Attached(about, attachment)));
    }
    let beginning = reader.fill_buf().map_err(problem)?;
    let sniffed = &beginning[..beginning.len().min(SNIFF)];
    ensure!(!sniffed.contains(&0), "{name} is a binary file ({}), not text.", format_size(bytes));
    let (page, total) = page(reader, first, limit, &context.cancel).map_err(problem)?;
    ensure!(!context.cancel.is_cancelled(), "Cancelled by the user.");
    let (first, limit, total) = (first as usize, limit as usize, total as usize);
    match total {
        0 => Ok(Outcome::text("(empty file)")),
        total if total <= first => {
            let lines = things(total, "line");
            bail!("offset {} is past the end: {name} has {lines}.", first + 1)
        }
        total => Ok(Outcome::text(show(&page, total, &path, first, limit))),
    }
}

/// Reads `limit` lines from line `first` (from 0) on, or slightly more than fits into a result, and counts the rest. It stops early
/// where it is cancelled. Gives whole lines, or the beginning of a single line that is too long, and the number of lines in the file.
fn page(mut reader: impl BufRead, first: u64, limit: u64, cancel: &CancellationToken) -> io::Result<(Vec<u8>, u64)> {
    let (mut total, mut bytes) = (0, Vec::new());
    let mut is_more = true;
    while is_more && !cancel.is_cancelled() {
        let is_shown = (first..first + limit).contains(&total) && bytes.len() <= MAX_BYTES;
        if is_shown {
            // Of a line that is longer, no more is needed.
            let room = (MAX_BYTES + BEYOND - bytes.len()) as u64;
            is_more = reader.by_ref().take(room).read_until(b'\n', &mut bytes)? > 0;
        }
        // The rest of the line, or the whole one.
        if !is_shown || (is_more && !bytes.ends_with(b"\n")) {
            is_more = reader.skip_until(b'\n')? > 0 || is_shown;
        }
        total += u64::from(is_more);
    }
    // A line whose end did not fit is left for the next page, unless it is the only line.
    if bytes.len() > MAX_BYTES
        && let Some(newline) = memchr::memrchr(b'\n', &bytes)
    {
        bytes.truncate(newline + 1);
    }
    Ok((bytes, total))
}

/// The page for the model: text with `\n`, and notes about what is missing of `total` lines.
fn show(page: &[u8], total: usize, path: &Path, first: usize, limit: usize) -> String {
    let mut notes = Vec::new();
    let text = decode(page, &mut notes);
    let head = truncate::truncate_head(&text, Limits { lines: limit, bytes: MAX_BYTES });
    let (content, shown) = if head.first_line_exceeds_limit {
        let start = truncate::prefix(text.lines().next().unwrap_or_default(), MAX_BYTES);
        // Invalid UTF-8 is longer when shown than in the file: starting again too early is better than skipping text.
        let next = start.len() - 2 * start.matches(char::REPLACEMENT_CHARACTER).count() + 1;
        notes.push(format!(
            "Line {line} is too long: only its first {} are shown. With bash, `sed -n {line}p '{}' | cut -b {next}-{}` \
             shows the next part",
            format_size(start.len() as u64),
            path.display().to_string().replace('\'', r"'\''"),
            next + MAX_BYTES / 2 - 1,
            line = first + 1,
        ));
        (start, 1)
    } else {
        (head.content.strip_suffix('\n').unwrap_or(&head.content), head.output_lines)
    };
    let (next, range) = (first + shown + 1, line_range(first + 1, shown));
    if next <= total {
        notes.push(format!("Showing {range} of {total}; continue with offset={next}"));
    } else if first > 0 {
        notes.push(format!("Showing {range} of {total}"));
    }
    match notes.as_slice() {
        [] => content.to_owned(),
        notes => format!("{content}\n\n[{}]", notes.join(". ")),
    }
}

/// Bytes as text. A byte order mark is removed; CRLF becomes LF if every line has it.
fn decode(bytes: &[u8], notes: &mut Vec<String>) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // Only a long line can be cut inside a character, at its very end.
        Err(error) if error.error_len().is_none() && bytes.len() > MAX_BYTES => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        Err(_) => {
            notes.push("The file is not valid UTF-8: invalid bytes are shown as \u{fffd}".into());
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (crlf, lf) = (text.matches("\r\n").count(), text.matches('\n').count());
    if crlf > 0 && crlf == lf {
        notes.push("Lines end in CRLF".into());
        return text.replace("\r\n", "\n");
    }
    text.to_owned()
}

/// A file that a result can show, with a line about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFile {
    /// What it is, and how large.
    pub about: String,
    /// The file. The document names it; its content is read for each request.
    pub attachment: Attachment,
}

/// Looks at a file that a result is to show, unless `denied` has it or `permitted` does not allow it. `path` is absolute, and `name` is what messages call it.
/// It blocks on the disk.
///
/// # Errors
/// Why it cannot be shown, as a sentence that begins with its name.
pub fn shown_file(
    path: &Path,
    name: &str,
    denied: &Arc<DeniedPaths>,
    permitted: &Arc<Permitted>,
) -> Result<ShownFile, ModelError> {
    if !denied.allows(path, path) || !permitted.allows(Access::Read, path) {
        permitted.check(Access::Read, path, name)?;
        bail!("{name} may not be read: a rule of the user denies it.");
    }
    let guard = Guard::reading(permitted, denied);
    let (file, metadata) = guard.open_regular(path, name)?;
    match Media::detect(&mut BufReader::new(file)).map_err(|error| guard.problem(path, name, &error))? {
        Some(media) => attach(media, name, path, metadata.len()),
        None => bail!("{name} {NO_MEDIA}."),
    }
}

/// Saves an image or a PDF that a tool has made, to show it. It is kept as long as a long output, and it blocks on the disk.
///
/// # Errors
/// Why it cannot be shown, as a sentence that begins with `name`.
pub fn shown_data(outputs: &Path, tool: &str, data: &[u8], name: &str) -> Result<ShownFile, ModelError> {
    let problem = |error: io::Error| ModelError::new(format!("{name} could not be saved: {}.", files::reason(&error)));
    let media = Media::detect(&mut Cursor::new(data)).map_err(problem)?;
    let media = media.ok_or_else(|| ModelError::new(format!("{name} {NO_MEDIA}.")))?;
    // A file that cannot be shown is not saved.
    attach(media, name, outputs, data.len() as u64)?;
    let path = overflow::save_media(outputs, tool, media.kind, data).map_err(problem)?;
    attach(media, &path.display().to_string(), &path, data.len() as u64)
}

/// The attachment for an image or a PDF of this size.
fn attach(media: Media, name: &str, path: &Path, bytes: u64) -> Result<ShownFile, ModelError> {
    let size = format_size(bytes);
    if media.is_damaged() {
        bail!(
            "{name} looks like a {} ({size}), but its width and height cannot be read: the file is damaged.",
            media.kind.name()
        );
    }
    if path.to_str().is_none() {
        bail!("{name} cannot be shown: its name is not valid UTF-8, so a conversation cannot refer to it.");
    }
    let attachment = Attachment::unread(path, media.kind.media_type());
    Ok(ShownFile { about: format!("{name}: {media}, {size}"), attachment })
}
