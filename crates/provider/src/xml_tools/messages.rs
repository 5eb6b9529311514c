//! Earlier calls and their results, in words.

use std::{collections::HashMap, sync::Arc};

use super::values;
use flemma_model::{CallId, Message, Part};
use flemma_text::Fence;
use flemma_text::xml;

/// The messages without calls and results.
pub(super) fn as_text(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut names: HashMap<CallId, String> = HashMap::new();
    let translate = |message: &Arc<Message>| {
        if !message.parts.iter().any(|part| matches!(part, Part::ToolUse { .. } | Part::ToolResult { .. })) {
            return Arc::clone(message);
        }
        let mut parts = Vec::new();
        for part in &message.parts {
            match part {
                Part::ToolUse { id, name, input } => {
                    names.insert(id.clone(), name.clone());
                    parts.push(Part::Text(Fence::enclose("xml", &xml::write_element(&values::call(name, input)))));
                }
                Part::ToolResult { id, output, is_error, attachments } => {
                    let name = names.get(id).map_or("tool", String::as_str);
                    let what = if *is_error { "failed" } else { "gave this result" };
                    parts.push(Part::Text(format!("The tool `{name}` {what}:\n\n{}", Fence::enclose("", output))));
                    parts.extend(attachments.iter().cloned().map(Part::Attachment));
                }
                part => parts.push(part.clone()),
            }
        }
        Arc::new(Message { role: message.role, parts })
    };
    messages.iter().map(translate).collect()
}
