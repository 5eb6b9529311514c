//! What the Lua code asks in order to draw.

use std::{borrow::Cow, collections::HashMap};

use jiff::SignedDuration;

use super::table::Exports;
use crate::nvim::convert::{self, table};
use flemma_chat::{LineKind, Region, Speaker};
use flemma_workspace::{Chunk, LookStyle, Signs};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // previews(buffer, width, first) -> the previews of a few open calls from this one on, counted from 0, and where to go on. Each is { line, text, asks, keys, added?,
    // removed?, diff, files } for each status block that is empty and waits; `asks`
    // says whether the text is a question, `diff` is a list of { kind, text }, and `files` are those that the call would write
    exports.add("previews", |lua, binding, (buffer, width, first): (i32, usize, usize)| {
        let conversation = binding.workspace.conversation(buffer);
        let previews = conversation.map(|conversation| binding.workspace.views.previews(&conversation, width, first));
        let (previews, next) = previews.unwrap_or_default();
        Ok((convert::to_lua(lua, &previews)?, next))
    })?;
    // decorations(buffer, first, last) -> { line, group } for each line of the screen that has a colour of ours, { line, group, from,
    // to } (in bytes) for each reference to a file, and { line, hint } for what is said behind a line
    exports.add("decorations", |lua, binding, (buffer, first, last): (i32, usize, usize)| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok(None) };
        let marks = conversation.page.with_parsed(|document, _| flemma_chat::decorations(document, first..last));
        let lines = marks.into_iter().map(|mark| Ok(table!(lua, line: mark.line, group: group(mark.kind))));
        let references = conversation.page.references(first..last).into_iter().map(|(line, columns)| {
            Ok(table!(lua, line: line, group: "FlemmaReference", from: columns.start, to: columns.end))
        });
        let hints = binding.workspace.completions.file_hints(&conversation, first..last).into_iter();
        let hints = hints.map(|(line, hint)| Ok(table!(lua, line: line, hint: hint)));
        convert::list(lua, lines.chain(references).chain(hints)).map(Some)
    })?;
    // looks(buffer, first, last, width, signs, seconds that local time is ahead) -> what is drawn over the lines of the screen
    type Screen = (i32, usize, usize, usize, String, i64);
    exports.add("looks", |lua, binding, (buffer, first, last, width, signs, offset): Screen| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok(None) };
        let style = LookStyle { width, signs: signs_of(&signs), offset: SignedDuration::from_secs(offset) };
        let looks = binding.workspace.views.looks(&conversation, first..last, style);
        convert::to_lua(lua, &looks).map(Some)
    })?;
    // fold_text(buffer, first, last, width, signs) -> text and group of each piece of the line in place of the fold, one after
    // the other; nil if it is not one of ours
    type Fold = (i32, usize, usize, usize, String);
    exports.add("fold_text", |_, binding, (buffer, first, last, width, signs): Fold| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok(None) };
        let style = LookStyle { width, signs: signs_of(&signs), offset: SignedDuration::ZERO };
        let line = binding.workspace.views.fold_text(&conversation, &(first..last), style);
        Ok(line.map(|line| {
            line.into_iter()
                .flat_map(|Chunk { text, group }| [text.into(), group.into()])
                .collect::<Vec<Cow<'static, str>>>()
        }))
    })?;
    // regions(buffer, first, last) -> { first, last, fence?, file? } for what is Markdown or code on the screen
    exports.add("regions", |lua, binding, (buffer, first, last): (i32, usize, usize)| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok(None) };
        let regions = conversation.page.with_parsed(|document, _| flemma_chat::regions(document, first..last));
        let has_code = regions.iter().any(|region| region.fence.is_some());
        let shown = has_code.then(|| binding.workspace.views.shown_files(&conversation, first..last));
        let files: HashMap<usize, String> = shown.into_iter().flatten().collect();
        let items = regions.into_iter().map(|region| {
            let file = region.fence.and_then(|fence| files.get(&fence).cloned());
            let Region { lines, fence, .. } = region;
            Ok(table!(lua, first: lines.start, last: lines.end, fence: fence, file: file))
        });
        convert::list(lua, items).map(Some)
    })
}

/// The highlight group of a line.
fn group(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Frontmatter => "FlemmaFrontmatter",
        LineKind::Marker(Speaker::System) => "FlemmaRoleSystem",
        LineKind::Marker(Speaker::You) => "FlemmaRoleUser",
        LineKind::Marker(Speaker::Assistant) => "FlemmaRoleAssistant",
        LineKind::Thinking => "FlemmaThinking",
        LineKind::ToolUse => "FlemmaToolUse",
        LineKind::ToolResult { is_error: false } => "FlemmaToolResult",
        LineKind::ToolResult { is_error: true } => "FlemmaToolError",
        LineKind::Status => "FlemmaToolStatus",
        LineKind::Attachment => "FlemmaAttachment",
        LineKind::Aborted => "FlemmaAborted",
        LineKind::Stray => "FlemmaStray",
    }
}

/// Which signs the Lua code names.
fn signs_of(name: &str) -> Signs {
    match name {
        "nerd" => Signs::Nerd,
        "ascii" => Signs::Ascii,
        _ => Signs::Plain,
    }
}
