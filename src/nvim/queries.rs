//! What the shim asks in order to draw.

use std::time::Duration;

use mlua::{Lua, Table};

use super::{conversation::Conversation, convert, editor::Editor, frontmatter, policy};
use crate::{
    agent::{Activity, Level},
    chat::{OpenCall, Status},
    model::{CallId, ToolInput},
    provider::ProviderName,
    tools::{Definition, preview},
    usage::figures,
};

/// The previews of the status blocks that are empty and wait: `{ line, text }` each. A file that is still being
/// read has none yet: reading on here would hold up the first screen.
pub(super) fn previews(
    lua: &Lua,
    editor: &Editor,
    conversation: &Conversation,
    width: usize,
) -> mlua::Result<Vec<Table>> {
    if !conversation.is_complete() {
        return Ok(Vec::new());
    }
    let calls = conversation.with_document(|document, text| document.open_calls(text));
    let waiting = calls.iter().filter_map(|call| {
        let placeholder = call.placeholder.as_ref()?;
        let waits = matches!(placeholder.block.status, Status::Pending | Status::Approved);
        (waits && placeholder.content.is_empty()).then_some((placeholder.fence, call))
    });
    // It stood in the file, or what ran was stopped from outside.
    let left = calls.iter().filter_map(|call| {
        let placeholder = call.placeholder.as_ref()?;
        let runs = placeholder.block.status == Status::Running;
        (runs && !conversation.session.is_working_on(&call.id)).then_some((placeholder.fence, call))
    });
    let left = left.map(|(line, call)| {
        let item = lua.create_table()?;
        item.set("line", line)?;
        let words = "nothing runs for this call any more; Ctrl-] asks what to do with it";
        item.set("text", preview::line(&call.name, words, width))?;
        Ok(item)
    });
    let waiting = waiting.map(|(line, call)| {
        let definition = editor.registry.borrow().get(&call.name).cloned();
        let item = lua.create_table()?;
        item.set("line", line)?;
        let own = definition
            .as_deref()
            .and_then(|definition| own_preview(lua, editor, conversation.buffer, definition, &call.input, width));
        let text = own.unwrap_or_else(|| preview::call(definition.as_deref(), &call.name, &call.input, width));
        item.set("text", text)?;
        Ok(item)
    });
    waiting.chain(left).collect()
}

/// What a tool's own `format_preview` says; `None` where it has none, throws, or gives no text.
fn own_preview(
    lua: &Lua,
    editor: &Editor,
    buffer: i32,
    definition: &Definition,
    input: &ToolInput,
    width: usize,
) -> Option<String> {
    let format = editor.functions.get(definition.format_preview?)?;
    let ToolInput::Json(input) = input else { return None };
    let input = convert::from_json(lua, input).ok()?;
    let room = preview::room(&definition.name, width);
    let said = editor.host.preview(buffer, &format, input, room).map_err(|error| convert::words(&error));
    match said.and_then(|said| said) {
        Ok(mlua::Value::String(body)) => Some(preview::line(&definition.name, &body.to_string_lossy(), width)),
        Ok(_) => None,
        Err(thrown) => {
            editor.log(Level::Warn, &format!("format_preview of `{}` threw: {thrown}", definition.name));
            None
        }
    }
}

/// The cells in front of what goes on: the spinner and a space.
const SPINNER: usize = 2;

/// What goes on right now: `text` for the end of the buffer, and the tools that run, the lines of their latest output
/// cut to `width` cells.
pub(super) fn live(lua: &Lua, conversation: &Conversation, width: usize) -> mlua::Result<Table> {
    let live = lua.create_table()?;
    let activity = conversation.activity_text().map(|text| text + &conversation.progress_text());
    live.set("text", activity.map(|text| preview::clip(&text, width.saturating_sub(SPINNER))))?;
    let running = conversation.session.running();
    let places: Vec<(CallId, usize)> = conversation.with_document(|document, _| {
        let placeholders = document.placeholders();
        placeholders
            .filter(|place| running.iter().any(|call| call.id == *place.id))
            .map(|place| (place.id.clone(), place.fence))
            .collect()
    });
    let tools = running.iter().filter_map(|call: &OpenCall| {
        let (_, fence) = places.iter().rfind(|(id, _)| *id == call.id)?;
        Some((call, *fence))
    });
    let tools: mlua::Result<Vec<Table>> = tools
        .map(|(call, line)| {
            let item = lua.create_table()?;
            item.set("id", call.id.0.as_str())?;
            item.set("name", call.name.as_str())?;
            item.set("line", line)?;
            item.set("seconds", conversation.tasks.elapsed(&call.id).as_secs())?;
            let latest = conversation.tasks.latest(&call.id);
            item.set("latest", latest.lines().map(|line| preview::clip(line, width)).collect::<Vec<_>>())?;
            Ok(item)
        })
        .collect();
    live.set("running", tools?)?;
    Ok(live)
}

/// Seconds, and tokens where there are any: `~` says that they are an estimate.
pub(super) fn progress_text(elapsed: Duration, (tokens, is_estimate): (u64, bool)) -> String {
    let about = if is_estimate { "~" } else { "" };
    let noun = if tokens == 1 { "token" } else { "tokens" };
    let tokens = if tokens == 0 { String::new() } else { format!(", {about}{} {noun}", figures::grouped(tokens)) };
    format!(", {} s{tokens}", elapsed.as_secs())
}

pub(super) fn activity_text(activity: &Activity, provider: ProviderName, model: &str) -> Option<String> {
    match activity {
        Activity::Idle | Activity::Executing { .. } => None,
        Activity::Loading => Some("Waiting for tool definitions to load…".into()),
        Activity::Waiting => Some(format!("waiting for {} ({model})", provider.name())),
        Activity::Retrying { attempt, reason } => Some(format!("trying again (attempt {attempt}): {reason}")),
        Activity::Thinking => Some("thinking".into()),
        Activity::Writing => Some("writing".into()),
        Activity::Hosting { tool } => Some(format!("{} runs {tool}", provider.name())),
        Activity::Calling { tool, bytes } => {
            let size = crate::text::truncate::format_size(*bytes as u64);
            Some(format!("writing the input of {tool} ({size})"))
        }
    }
}

/// How wide a line of the list of tools is, in cells.
const LIST_WIDTH: usize = 76;

/// The lines of `:Flemma tool:list`.
pub(super) fn tool_list(editor: &Editor, conversation: &Conversation) -> Vec<String> {
    let mut lines = calls(conversation);
    if lines.is_empty() {
        lines.push("nothing runs or waits here".into());
    }
    lines.push(String::new());
    // Before the registry is lent: what a file says of its tools may have to be evaluated.
    let left_out = policy::left_out(editor, &frontmatter::effective(editor, conversation));
    let registry = editor.registry.borrow();
    lines.extend(registry.all().map(|tool| {
        let state = if registry.is_enabled(tool) { "" } else { " (off)" };
        preview::line(&format!("{}{state}", tool.name), &tool.description, LIST_WIDTH)
    }));
    lines.extend(left_out.iter().map(|(tool, reason)| format!("left out here  {}: {reason}", tool.name())));
    let loading: Vec<String> = editor.sources.borrow().loading().map(|source| format!("loading  {source}")).collect();
    lines.extend(loading);
    lines
}

/// The calls that run, with their time, and those that wait, with their line.
pub(super) fn calls(conversation: &Conversation) -> Vec<String> {
    let mut lines = Vec::new();
    for call in conversation.session.running() {
        let seconds = conversation.tasks.elapsed(&call.id).as_secs();
        lines.push(format!("  running  {} ({}), {seconds} s", call.name, call.id));
    }
    let open = conversation.with_document(|document, text| document.open_calls(text));
    for call in open.iter().filter(|call| !conversation.tasks.is_running(&call.id)) {
        let place = call.placeholder.as_ref().map_or(call.line, |placeholder| placeholder.fence);
        let status = call
            .placeholder
            .as_ref()
            .map_or_else(|| "not looked at yet".to_owned(), |placeholder| placeholder.block.status.to_string());
        lines.push(format!("  waiting  {} ({}), line {}: {status}", call.name, call.id, place + 1));
    }
    lines
}
