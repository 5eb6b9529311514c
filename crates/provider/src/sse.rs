//! Server-sent events, pushed in as bytes and handed out as events.
//!
//! The format is the one of the HTML standard, "Interpreting an event stream": lines end in LF, CR or
//! CRLF; `event:` names, `data:` lines join with a line feed, an empty line dispatches; a line that
//! starts with a colon is a comment; `id`, `retry` and unknown fields mean nothing to us. Chunks may be
//! cut anywhere, even inside a character or between CR and LF: whole lines are read in place, only the
//! tail of a chunk is kept. What is left when the stream ends is not an event, as the standard says. Bytes that are not
//! UTF-8 become U+FFFD.

use super::{ErrorKind, ProviderError};

/// The most bytes that one event may have, and that are kept of it in memory.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// What the lines of a stream begin with.
const FIELDS: [&str; 5] = ["data", "event", "id", "retry", ":"];

/// A decoder of one stream. It refuses events of more than `LIMIT` bytes.
#[derive(Debug, Default)]
pub struct Sse<const LIMIT: usize = MAX_EVENT_BYTES> {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The last byte was CR: an LF right after it belongs to it.
    after_cr: bool,
    /// A line has ended. The first may open with a byte order mark.
    has_begun: bool,
    /// The name of the event that has no empty line yet.
    name: String,
    /// The lines of its data, each with a line feed.
    data: String,
    /// Lines that are not part of a stream, while no field has come.
    foreign: String,
    /// A field has come: this is a stream.
    is_stream: bool,
}

/// One complete event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field; empty if there was none.
    pub name: &'a str,
    /// The `data:` lines, joined with line feeds.
    pub data: &'a str,
}

impl<const LIMIT: usize> Sse<LIMIT> {
    /// Takes the next bytes, cut anywhere, and calls `each` with every event that they complete.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] when an event is larger than the limit; and what `each` returns. After an error the rest of
    /// the stream has no meaning.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                self.check_size(bytes.len())?;
                self.line.extend_from_slice(bytes);
                break;
            };
            self.check_size(end)?;
            self.after_cr = bytes[end] == b'\r';
            self.line.extend_from_slice(&bytes[..end]);
            let mut line = std::mem::take(&mut self.line);
            self.end_line(&line, &mut each)?;
            // Its memory serves the next one: there are tens of thousands of them in a long reply.
            line.clear();
            self.line = line;
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// What came, if it is not a stream of events: some servers send an error's JSON, or a page, instead of one, and
    /// say that all is well. `None` as soon as there was a field of an event, or while nothing came.
    pub fn foreign(&self) -> Option<String> {
        let rest = String::from_utf8_lossy(&self.line);
        // A stream may have been cut off in the middle of its first field.
        let is_field = FIELDS.iter().any(|field| field.starts_with(&*rest) || rest.starts_with(field));
        if self.is_stream || (is_field && self.foreign.is_empty()) {
            return None;
        }
        let text = format!("{}{rest}", self.foreign);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Refuses `more` bytes that would make the event too large.
    fn check_size(&self, more: usize) -> Result<(), ProviderError> {
        if self.line.len() + self.data.len() + more <= LIMIT {
            return Ok(());
        }
        let (mega, unit) = if LIMIT >= 1024 * 1024 { (1024 * 1024, "MiB") } else { (1, "bytes") };
        let limit = format!("{} {unit}", LIMIT / mega);
        let message = format!("the reply was cut off: one event in it is larger than {limit}");
        Err(ProviderError::new(ErrorKind::Malformed, message))
    }

    fn end_line(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| is_first).unwrap_or(line);
        if line.is_empty() {
            let event = self.data.strip_suffix('\n').map(|data| SseEvent { name: &self.name, data });
            let result = event.map_or(Ok(()), each);
            self.name.clear();
            self.data.clear();
            return result;
        }
        if line[0] == b':' {
            self.is_stream = true;
            return Ok(());
        }
        let line = &*String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        self.is_stream = self.is_stream || FIELDS.contains(&field);
        if !self.is_stream && self.foreign.len() + line.len() < LIMIT {
            self.foreign.push_str(line);
            self.foreign.push('\n');
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        // llama.cpp's, in place of an event of that name.
        if field == "error" && value.starts_with('{') {
            return each(SseEvent { name: field, data: value });
        }
        match field {
            "data" => self.data.extend([value, "\n"]),
            "event" => value.clone_into(&mut self.name),
            _ => {}
        }
        Ok(())
    }
}
