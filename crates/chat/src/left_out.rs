//! Files that a host has refused: a note at the place of each, in the file, so that no later request shows them.
//!
//! Below a reference of the user's it is what was captured of it; in the fence of a result it is an attribute. Where the
//! note is deleted, the file is shown again.
//!
//! ````text
//! ```flemma:captured of="@./pic.png"
//! [./pic.png was left out: localhost:8080 takes no images]
//! ```
//!
//! ```flemma:attachment type=image/png path="pic.png" left_out="localhost:8080 takes no images"
//! ````

use std::path::PathBuf;

use flemma_model::{Attachment, AttachmentContent};

use super::{
    BlockKind, Capture, Document, Position, ResultBody, Speaker, Text, TextEdit, attributes, captured::captured_at,
    reference::references, write_captures,
};

/// The attribute of a fence whose files are not shown, with the reason.
pub(super) const LEFT_OUT: &str = "left_out";

/// The edits that leave out `files` in the whole document, in the order in which to apply them. `why` ends the sentence that
/// says so.
pub fn leave_out(document: &Document, text: &dyn Text, files: &[PathBuf], why: &str) -> Vec<TextEdit> {
    let (mut edits, mut captures) = (Vec::new(), Vec::new());
    let blocks = document.messages().iter().filter(|message| message.role == Speaker::You);
    for (message, block) in blocks.flat_map(|message| message.blocks.iter().map(move |block| (message, block))) {
        let shows = |one: &Attachment| one.content == AttachmentContent::Unread && files.contains(&one.path);
        if let Some((of, _)) = captured_at(message, block, text) {
            captures.retain(|one: &Capture| one.line < message.range().start || one.written != of);
        } else if block.kind == BlockKind::Text {
            message.read_prose(message.lines_of(block), text, &mut |line, _, prose| {
                for reference in references(prose) {
                    let Some(Attachment { path, .. }) = reference.attachment().filter(shows) else { continue };
                    let content = format!("[{} was left out: {why}]", path.display());
                    captures.push(Capture { line, written: prose[reference.columns].to_owned(), content, cut: None });
                }
            });
        } else if let Some(ResultBody::Attached(_, attachments)) = block.tool_result().map(|result| &result.body)
            && attachments.iter().any(shows)
            && let Some(fence) = message.fence_of(block)
        {
            let note = format!(" {LEFT_OUT}={}", attributes::quote(why));
            edits.push(TextEdit::insert(Position::end_of(fence, text), vec![note]));
        }
    }
    captures.dedup();
    // Those stay in their lines, and so come before the ones that move others.
    edits.extend(write_captures(document, text, &captures));
    edits
}
