//! From code to the conversation: what the user asks about their code becomes a part of their message.
//!
//! A selection of a file is a reference to its lines, which is captured when the message is sent. What no file has, like the
//! text of a buffer without a name, is put into the message itself, in a fence. The reference and the user's words are theirs;
//! what is in the fence may be anybody's, and is escaped.

use std::path::PathBuf;

use crate::{Conversation, components::References};
use flemma_chat::{self as chat, BlockKind, LineRange, Position, Text, TextEdit, reference_to};
use flemma_model::UserError;
use flemma_text::{Fence, escape_controls};

/// What the user asks about.
#[expect(missing_docs, reason = "what is said of it says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedAbout {
    /// Lines of the file at an absolute path on the disk.
    Lines { path: PathBuf, lines: LineRange },
    /// Text that is put into the message: where it comes from, for the line above it, and the language for the fence. Both may be empty.
    Text { name: String, language: String, lines: Vec<String> },
}

/// What became of a question about code.
#[expect(missing_docs, reason = "what is said of it says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It is a part of the user's message. They go on typing at this line, from 0, and column, in bytes.
    Added { line: usize, column: usize },
    /// The conversation is at work: this text is for a message that is queued.
    Later(String),
}

impl References {
    /// Puts what the user asks about, and their words, at the end of their message in the conversation of a buffer, in one step
    /// of undo. While the conversation is at work, nothing is changed.
    ///
    /// # Errors
    /// When the conversation is held elsewhere, or ends with something that is not closed.
    pub fn ask_about(&self, buffer: i32, about: &AskedAbout, words: &str) -> Result<Asked, UserError> {
        let conversation =
            self.shared.conversation(buffer).ok_or_else(|| UserError::new("the buffer is not a conversation"))?;
        self.ownership.check_held(&conversation)?;
        let folder = self.shared.place(&conversation).folder();
        let home = std::env::home_dir();
        let (quote, own) = match about {
            AskedAbout::Lines { path, lines } => {
                let reference = reference_to(path, &folder, home.as_deref(), *lines);
                let Some(reference) = reference else {
                    let path = path.to_string_lossy();
                    let problem = format!("{} has a name that no reference can contain", escape_controls(&path));
                    return Err(UserError::new(problem));
                };
                (String::new(), format!("{reference} {words}"))
            }
            AskedAbout::Text { name, language, lines } => (quote(name, language, lines), words.to_owned()),
        };
        let separator = if quote.is_empty() { "" } else { "\n\n" };
        let added = format!("{quote}{separator}{own}");
        if conversation.is_busy() {
            return Ok(Asked::Later(added));
        }
        self.check_end(&conversation)?;
        let page = &conversation.page;
        page.undo_step();
        let (edits, _) = page.with_document(|document, text| chat::open_prompt(document.messages(), text));
        self.shared.write(&conversation, &edits);
        self.shared.write(&conversation, &[page.with_document(|_, text| chat::append_words(text, &added))]);
        let end = |text: &dyn Text| {
            let last = text.line_count().saturating_sub(1);
            Position { line: last, column: text.length(last) }
        };
        if own.is_empty() {
            // Below the fence.
            let below = |text: &dyn Text| TextEdit::insert(end(text), vec![String::new(); 3]);
            self.shared.write(&conversation, &[page.with_document(|_, text| below(text))]);
        }
        let Position { line, column } = page.with_document(|_, text| end(text));
        conversation.page.adopt((line + 1).saturating_sub(own.split('\n').count())..line + 1);
        Ok(Asked::Added { line, column })
    }

    /// Whether words can be added at the end of a conversation: they would belong to what is not closed there.
    fn check_end(&self, conversation: &Conversation) -> Result<(), UserError> {
        let open = conversation.page.with_document(|document, _| {
            let message = document.messages().last()?;
            let block = message.blocks.last().filter(|block| !block.closed)?;
            let is_open = !matches!(block.kind, BlockKind::ToolUse(_) | BlockKind::ToolResult(_)) || block.lines > 1;
            is_open.then(|| message.lines_of(block).start + 1)
        });
        match open {
            Some(line) => Err(UserError::new(format!(
                "the block in line {line} of the conversation is not closed, so what is added would become a part of it"
            ))),
            None => Ok(()),
        }
    }
}

/// Text of a buffer, in a fence that it cannot close.
fn quote(name: &str, language: &str, lines: &[String]) -> String {
    let content = lines.join("\n");
    let marks = Fence::around(&content).marks();
    let language: String = language.chars().filter(|c| c.is_ascii_alphanumeric() || "_+-.".contains(*c)).collect();
    let head = if name.is_empty() { String::new() } else { format!("From {}:\n\n", escape_controls(name)) };
    format!("{head}{marks}{language}\n{content}\n{marks}")
}
