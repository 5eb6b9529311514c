//! The reply writer writes a model's reply at the end of the document as it arrives.
//!
//! It reads the end of the text once, when it is opened, and tracks the end from then on, so the cost of a chunk
//! depends only on its length. All events that were pushed become one edit. Only a signature, which arrives after its
//! thinking, is a separate edit.

use std::collections::HashSet;

use super::{
    Position, Speaker, Text, TextEdit, blocks, hosted, message_writer::MessageWriter, syntax, syntax::ThinkingTag,
};
use flemma_model::{CallId, Event};

/// The length, in bytes, from which a line is long: an editor takes so long for each change of it that users feel it.
const LONG_LINE: usize = 64 * 1024;

/// How a reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The reply is complete.
    Complete,
    /// The same, but not as it should be: its calls wait for the user.
    Doubtful,
    /// The reply was aborted. `<!-- flemma:aborted -->` marks it in the document.
    Aborted,
}

/// Writes one reply.
///
/// ```
/// use flemma_chat::{Ending, ReplyWriter};
/// use flemma_model::Event;
///
/// let mut text: Vec<String> = ["@You:", "Hello!"].map(str::to_owned).to_vec();
/// let mut reply = ReplyWriter::open(&text);
/// reply.push(&Event::Text("@You: are kind".to_owned()));
/// for edit in reply.close(Ending::Complete) {
///     edit.apply(&mut text);
/// }
/// assert_eq!(text, ["@You:", "Hello!", "", "@Assistant:", "\\@You: are kind"]);
/// ```
#[derive(Debug)]
pub struct ReplyWriter {
    writer: MessageWriter,
    /// The marker at its start, with what separates it from the text above.
    opening: String,
    start: Position,
    /// All of the reply, while it is nothing but prose.
    prose: Option<String>,
    /// What was written is to be replaced.
    is_anew: bool,
    /// The end of the text, after all edits taken so far.
    end: Position,
    /// The position for the attributes of the open thinking tag, once the tag is in the text.
    tag: Option<Position>,
    /// A pending edit of that tag.
    signature: Option<TextEdit>,
    /// The ids of its calls.
    ids: HashSet<CallId>,
}

impl ReplyWriter {
    /// A writer at the end of `text`. The first edits include the marker `@Assistant:`.
    pub fn open(text: &dyn Text) -> Self {
        let end = Position::end(text);
        let gap = match text.line(end.line).as_str() {
            "" if end.line == 0 => "",
            blank if blank.trim().is_empty() => "\n",
            _ => "\n\n",
        };
        let opening = format!("{gap}{}", Speaker::Assistant);
        Self {
            writer: MessageWriter::after(opening.clone()),
            opening,
            start: end,
            prose: Some(String::new()),
            is_anew: false,
            end,
            tag: None,
            signature: None,
            ids: HashSet::new(),
        }
    }

    /// Adds an event. Events without text are ignored.
    pub fn push(&mut self, event: &Event) {
        let prose = self.prose.take();
        match event {
            Event::Text(text) => {
                self.writer.text(text);
                self.prose = prose.map(|prose| prose + text);
            }
            Event::WasThinking => self.think_anew(prose),
            Event::ThinkingStarted => self.writer.open_thinking(),
            Event::Thinking(text) => self.writer.thinking(text),
            Event::ThinkingFinished { signature } => {
                if !self.writer.is_thinking() {
                    self.writer.open_thinking();
                }
                self.sign(&self.writer.signed(signature.as_ref()));
                self.writer.end();
            }
            Event::RedactedThinking(signature) => self.writer.redacted(&ThinkingTag::hidden(signature.clone())),
            Event::ToolUse { id, name, input } => {
                let id = self.own_id(id);
                self.writer.block(&blocks::tool_use(name, &id, input));
            }
            Event::Hosted(hosted) => self.writer.block(&hosted::lines(hosted)),
            Event::ToolUseProgress { .. } | Event::Usage(_) | Event::Warning(_) | Event::Finished(_) => {
                self.prose = prose
            }
        }
    }

    /// Makes thinking of a reply that was nothing but prose.
    fn think_anew(&mut self, prose: Option<String>) {
        let Some(prose) = prose.filter(|prose| !prose.trim().is_empty()) else { return };
        self.writer = MessageWriter::after(self.opening.clone());
        self.writer.thinking(prose.trim());
        self.writer.end();
        self.is_anew = true;
    }

    /// The edits that write the events since the last call, in the order in which to apply them. Empty if all text is
    /// still held back.
    ///
    /// An editor measures and draws a whole line again for each piece of it. So the longer a line is, the longer are the pieces
    /// that are added to it.
    pub fn take(&mut self) -> Vec<TextEdit> {
        let out = &self.writer.out;
        if self.end.column > LONG_LINE && out.len() < self.end.column / 4 && !out.contains('\n') {
            return Vec::new();
        }
        self.take_all()
    }

    fn take_all(&mut self) -> Vec<TextEdit> {
        let mut edits = Vec::new();
        let out = std::mem::take(&mut self.writer.out);
        if !out.is_empty() {
            if let Some(at) = self.writer.tag.take() {
                let line = self.end.line + out[..at].matches('\n').count();
                self.tag = Some(Position { line, column: syntax::THINKING.len() });
            }
            let lines: Vec<String> = out.split('\n').map(str::to_owned).collect();
            let replaced = self.end;
            if std::mem::take(&mut self.is_anew) {
                self.end = self.start;
            }
            let at = self.end;
            match lines.as_slice() {
                [line] => self.end.column += line.len(),
                _ => {
                    self.end.line += lines.len() - 1;
                    self.end.column = lines.last().map_or(0, String::len);
                }
            }
            edits.push(TextEdit { start: at, end: replaced, lines });
        }
        edits.extend(self.signature.take());
        edits
    }

    /// The line where the reply ends, after all edits taken so far. A spinner may be shown there.
    pub const fn end(&self) -> Position {
        self.end
    }

    /// Ends the reply: closes open blocks, marks an aborted reply, and returns the last edits.
    pub fn close(mut self, ending: Ending) -> Vec<TextEdit> {
        self.writer.end();
        if ending == Ending::Aborted {
            self.writer.block(&[syntax::ABORTED.to_owned()]);
        }
        self.take_all()
    }

    /// Writes the attributes into the open tag, whether or not it was taken.
    fn sign(&mut self, tag: &ThinkingTag) {
        let attributes = tag.attributes();
        if attributes.is_empty() {
            return;
        }
        if let Some(at) = self.writer.tag {
            self.writer.out.insert_str(at, &attributes);
        } else if let Some(at) = self.tag {
            self.signature = Some(TextEdit::insert(at, vec![attributes]));
        }
    }

    /// The id of a call as the document has it. A result has to name one call, so a second one of the same id gets a number, and
    /// what no id may have in a document becomes an underscore.
    fn own_id(&mut self, id: &CallId) -> CallId {
        let plain = CallId(id.0.replace(CallId::is_bad, "_"));
        let others = (2..).map(|number| CallId(format!("{plain}_{number}")));
        let mut free = std::iter::once(plain.clone()).chain(others);
        let own = free.find(|id| !self.ids.contains(id)).unwrap_or(plain);
        self.ids.insert(own.clone());
        own
    }
}
