//! Renders a whole conversation as the lines of a document.
//!
//! Rendering is the inverse of reading: a conversation that is rendered and read again is the same. The exceptions are
//! what the format does not preserve (blank lines around prose, carriage returns at line ends, the final line break of
//! an output) and an open code fence, which is closed.

use super::{
    Document, Speaker, Transcript, attachment_info, blocks, hosted, message_writer::MessageWriter, read::build,
    reference, syntax::ThinkingTag,
};
use flemma_model as model;
use flemma_model::{Part, ToolInput};

/// Renders a conversation in Flemma's layout.
///
/// ```
/// let lines = ["@You:", "Hello!", "", "@Assistant:", "Hi."].map(str::to_owned);
/// let conversation = flemma_chat::read(&lines.join("\n")).unwrap();
/// assert_eq!(flemma_chat::render(&conversation), lines);
/// ```
pub fn render(conversation: &Transcript) -> Vec<String> {
    let mut messages = Vec::new();
    if let Some(system) = &conversation.system {
        messages.push(message(Speaker::System, &[Part::Text(system.clone())]));
    }
    for said in &conversation.messages {
        let role = match said.role {
            model::Role::User => Speaker::You,
            model::Role::Assistant => Speaker::Assistant,
        };
        messages.push(message(role, &said.parts));
    }
    messages.join("\n\n").split('\n').map(str::to_owned).collect()
}

fn message(role: Speaker, parts: &[Part]) -> String {
    let mut writer = MessageWriter::after(role.to_string());
    for part in parts {
        match part {
            Part::Text(text) => {
                writer.text(text);
                writer.end();
            }
            Part::Thinking { text, signature } => {
                writer.open_thinking();
                writer.thinking(text);
                if let Some(at) = writer.tag {
                    let tag = writer.signed(signature.as_ref());
                    writer.out.insert_str(at, &tag.attributes());
                }
                writer.end();
            }
            Part::RedactedThinking(signature) => {
                writer.redacted(&ThinkingTag::hidden(signature.clone()));
            }
            Part::ToolUse { id, name, input } => {
                writer.block(&blocks::tool_use(name, id, &ToolInput::Json(input.clone())));
            }
            Part::Hosted(hosted) => writer.block(&hosted::lines(hosted)),
            Part::ToolResult { id, output, is_error, attachments } => {
                let info = if attachments.is_empty() { String::new() } else { attachment_info(attachments) };
                writer.block(&blocks::tool_result(id, output, *is_error, &info));
            }
            // The text already names it.
            Part::Attachment(_) if parts_of(&writer.out).contains(part) => {}
            Part::Attachment(attachment) => {
                writer.text(&reference::write(attachment));
                writer.end();
            }
        }
    }
    writer.end();
    writer.out
}

/// What a message is read as.
fn parts_of(message: &str) -> Vec<Part> {
    let lines: Vec<String> = message.split('\n').map(str::to_owned).collect();
    let read = Document::parse(&lines).messages().first().and_then(|message| build(message, &lines).ok());
    read.map(|message| message.parts.clone()).unwrap_or_default()
}
