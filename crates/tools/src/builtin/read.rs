//! `read`: reads a text file in pages of lines.
//!
//! The file is read once from start to end in pieces: the lines before the page are skipped, the page is kept, and the lines
//! after it are only counted, so that a large file costs time but no memory. Files other than text are rejected with their
//! kind; images and PDFs are passed on unchanged, for the model to view.

use std::{
    io::{self, BufRead, BufReader},
    path::Path,
    sync::Arc,
};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    attach::{self, ShownFile},
    guard::Guard,
    line_range, lines, report,
};
use crate::{Bounds, Context, Definition, NativeTool, Outcome, Output, preview};
use flemma_model::{Media, ModelError};
use flemma_text::truncate::{self, Limits, MAX_BYTES, MAX_LINES, format_size};

/// How much is read at once, in bytes.
const CHUNK: usize = 256 * 1024;

/// How much of the beginning is examined to recognise text, in bytes.
const SNIFF: usize = 8 * 1024;

struct Read;

pub(super) fn definition() -> Definition {
    let mut definition = super::define(
        "read",
        "Read a text file, or view an image (PNG, JPEG, GIF, WebP) or a PDF. At most 2000 lines or 50 KB of text are \
         returned at once; the result says how to continue.",
        json!({
            "path": { "type": "string", "description": "The file; relative paths start at the conversation's folder." },
            "offset": { "type": ["integer", "null"], "description": "The first line to read, from 1; null for the first." },
            "limit": { "type": ["integer", "null"], "description": "How many lines to read; null for as many as fit." },
        }),
        Read,
    );
    definition.read_path_param = Some("path".into());
    definition.idempotent = true;
    definition
}

impl NativeTool for Read {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        let work = move |context: &Context| {
            let outcome = read(&input, context).unwrap_or_else(Outcome::failure);
            let is_unsaved = super::path(&input).is_ok_and(|name| context.is_unsaved(&context.resolve(name)));
            if is_unsaved { outcome.noted(report::UNSAVED) } else { outcome }
        };
        super::looking(context, work).boxed()
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
        input.get("path")?.as_str().map(str::to_owned)
    }

    fn summary(&self, input: &Value) -> Option<String> {
        let path = input.get("path")?.as_str()?;
        let number = |name| input.get(name).and_then(Value::as_u64);
        let first = number("offset").map(|offset| offset.max(1));
        Some(match (first, number("limit")) {
            (None, None) => path.to_owned(),
            (Some(first), None) => format!("{path} {first}-"),
            (first, Some(limit)) => {
                let first = first.unwrap_or(1);
                match first.saturating_add(limit).saturating_sub(1) {
                    last if last > first => format!("{path} {first}-{last}"),
                    _ => format!("{path} {first}"),
                }
            }
        })
    }
}

fn read(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let name = super::path(input)?;
    // Line 0 means the first line: models count both ways.
    let first = super::count(input, "offset")?.unwrap_or(1).max(1) - 1;
    let limit = super::count(input, "limit")?.unwrap_or(MAX_LINES as u64).min(MAX_LINES as u64);
    if limit == 0 {
        return Err(ModelError::new("`limit` must be at least 1."));
    }
    let path = context.resolve(name);
    let guard = Guard::new(context, Bounds::Readable);
    let problem = |error: io::Error| guard.problem(&path, name, &error);
    let file = attach::open(&path, name, &guard)?;
    let bytes = file.metadata().map_err(problem)?.len();
    let mut reader = BufReader::with_capacity(CHUNK, file);
    if let Some(media) = Media::detect(&mut reader).map_err(problem)? {
        let ShownFile { about, attachment } = attach::attach(media, name, &path, bytes)?;
        return Ok(Outcome::Success(Output::Attached(about, attachment)));
    }
    match page(reader, first, limit, &context.cancel).map_err(problem)? {
        PageRead::Binary => {
            Err(ModelError::new(format!("{name} is a binary file ({}), not text.", format_size(bytes))))
        }
        PageRead::Cancelled => Err(ModelError::new("Cancelled by the user.")),
        PageRead::Page(page) if page.total == 0 => Ok(Outcome::text("(empty file)")),
        PageRead::Page(page) if page.total <= first => Err(ModelError::new(format!(
            "offset {} is past the end: {name} has {}.",
            first + 1,
            lines(page.total as usize)
        ))),
        PageRead::Page(page) => Ok(Outcome::text(show(page, &path, first as usize, limit as usize))),
    }
}

/// A part of a file.
struct FilePage {
    /// Whole lines, or the beginning of a single line that is too long.
    bytes: Vec<u8>,
    /// The number of lines in the whole file.
    total: u64,
}

/// The result of reading a page.
enum PageRead {
    Page(FilePage),
    Binary,
    Cancelled,
}

/// Reads `limit` lines from line `first` (from 0) on, or slightly more than fits into a result, and counts the rest.
fn page(mut reader: impl BufRead, first: u64, limit: u64, cancel: &CancellationToken) -> io::Result<PageRead> {
    let mut bytes = Vec::new();
    let mut newlines = 0;
    let mut full = false;
    let mut last = None;
    loop {
        let chunk = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            break;
        }
        if cancel.is_cancelled() {
            return Ok(PageRead::Cancelled);
        }
        if last.is_none() && memchr::memchr(0, &chunk[..chunk.len().min(SNIFF)]).is_some() {
            return Ok(PageRead::Binary);
        }
        last = chunk.last().copied();
        let size = chunk.len();
        let mut rest = chunk;
        while newlines < first
            && let Some(newline) = memchr::memchr(b'\n', rest)
        {
            newlines += 1;
            rest = &rest[newline + 1..];
        }
        while newlines >= first && !full && !rest.is_empty() {
            let newline = memchr::memchr(b'\n', rest);
            let end = newline.map_or(rest.len(), |newline| newline + 1);
            bytes.extend_from_slice(&rest[..end]);
            newlines += u64::from(newline.is_some());
            full = newlines == first + limit || bytes.len() > MAX_BYTES;
            rest = &rest[end..];
        }
        if full {
            newlines += memchr::memchr_iter(b'\n', rest).count() as u64;
        }
        reader.consume(size);
    }
    // A line whose end did not fit is left for the next page, unless it is the only line.
    if bytes.len() > MAX_BYTES
        && let Some(newline) = memchr::memrchr(b'\n', &bytes)
    {
        bytes.truncate(newline + 1);
    }
    let total = newlines + u64::from(last.is_some_and(|last| last != b'\n'));
    Ok(PageRead::Page(FilePage { bytes, total }))
}

/// The page for the model: text with `\n`, and notes about what is missing.
fn show(page: FilePage, path: &Path, first: usize, limit: usize) -> String {
    let mut notes = Vec::new();
    let text = decode(&page.bytes, &mut notes);
    let head = truncate::truncate_head(&text, Limits { lines: limit, bytes: MAX_BYTES });
    let (content, shown) = if head.first_line_exceeds_limit {
        let start = truncate::prefix(text.lines().next().unwrap_or_default(), MAX_BYTES);
        // Invalid UTF-8 is longer when shown than in the file: starting again too early is better than skipping text.
        let next = start.len() - 2 * start.matches(char::REPLACEMENT_CHARACTER).count() + 1;
        notes.push(format!(
            "Line {line} is too long: only its first {} are shown. With bash, `sed -n {line}p {} | cut -b {next}-{}` \
             shows the next part",
            format_size(start.len() as u64),
            quoted(path),
            next + MAX_BYTES / 2 - 1,
            line = first + 1,
        ));
        (start, 1)
    } else {
        (head.content.strip_suffix('\n').unwrap_or(&head.content), head.output_lines)
    };
    let next = first + shown + 1;
    if next <= page.total as usize {
        notes.push(format!("Showing {} of {}; continue with offset={next}", line_range(first + 1, shown), page.total));
    } else if first > 0 {
        notes.push(format!("Showing {} of {}", line_range(first + 1, shown), page.total));
    }
    if notes.is_empty() {
        return content.to_owned();
    }
    format!("{content}\n\n[{}]", notes.join(". "))
}

/// A path quoted for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
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
