//! What the shim asks in order to draw.

use mlua::{Lua, Table};

use super::{conversation::Conversation, editor::Editor};
use crate::{
    agent::Activity,
    chat::{OpenCall, Status},
    config::ProviderName,
    provider::CallId,
    tools::preview,
};

/// The previews of the status blocks that are empty and wait: `{ line, text }` each.
pub(super) fn previews(
    lua: &Lua,
    editor: &Editor,
    conversation: &Conversation,
    width: usize,
) -> mlua::Result<Vec<Table>> {
    let calls = conversation.with_document(|document, text| document.open_calls(text));
    let waiting = calls.iter().filter_map(|call| {
        let placeholder = call.placeholder.as_ref()?;
        let waits = matches!(placeholder.block.status, Status::Pending | Status::Approved);
        (waits && placeholder.content.is_empty()).then_some((placeholder.fence, call))
    });
    waiting
        .map(|(line, call)| {
            let definition = editor.registry.borrow().get(&call.name).cloned();
            let item = lua.create_table()?;
            item.set("line", line)?;
            item.set("text", preview::call(definition.as_deref(), &call.name, &call.input, width))?;
            Ok(item)
        })
        .collect()
}

/// What goes on right now: `text` for the end of the buffer, and the tools that run.
pub(super) fn live(lua: &Lua, editor: &Editor, conversation: &Conversation) -> mlua::Result<Table> {
    let live = lua.create_table()?;
    let config = editor.config();
    live.set("text", activity_text(&conversation.session.activity(), config.provider, config.model()))?;
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
            Ok(item)
        })
        .collect();
    live.set("running", tools?)?;
    Ok(live)
}

fn activity_text(activity: &Activity, provider: ProviderName, model: &str) -> Option<String> {
    match activity {
        Activity::Idle | Activity::Executing { .. } => None,
        Activity::Waiting => Some(format!("waiting for {} ({model})", provider.name())),
        Activity::Retrying { attempt, reason } => Some(format!("trying again (attempt {attempt}): {reason}")),
        Activity::Thinking => Some("thinking".into()),
        Activity::Writing => Some("writing".into()),
        Activity::Calling { tool, bytes } => {
            let size = crate::tools::truncate::format_size(*bytes as u64);
            Some(format!("writing the input of {tool} ({size})"))
        }
    }
}

/// The lines of `:Flemma status`.
pub(super) fn status(editor: &Editor, conversation: &Conversation) -> Vec<String> {
    let config = editor.config();
    let options = config.parameters_for(config.provider);
    let mut lines = vec![format!("provider   {}", config.provider.name()), format!("model      {}", options.model)];
    if let Some(tokens) = options.parameters.max_tokens {
        lines.push(format!("max_tokens {tokens}"));
    }
    lines.push(format!(
        "autopilot  {}",
        if config.tools.autopilot.enabled {
            format!("on, up to {} requests", config.tools.autopilot.max_turns)
        } else {
            "off".into()
        }
    ));
    lines.push(format!("approved   {}", config.tools.auto_approve.join(", ")));
    let tools: Vec<String> = editor.registry.borrow().enabled().map(|tool| tool.name.clone()).collect();
    lines.push(format!("tools      {}", tools.join(", ")));
    let activity = conversation.session.activity();
    lines.push(format!(
        "now        {}",
        match &activity {
            Activity::Idle => "nothing; the buffer is yours".to_owned(),
            Activity::Executing { running } => format!("{running} tool(s) running"),
            other => activity_text(other, config.provider, &options.model).unwrap_or_default(),
        }
    ));
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
