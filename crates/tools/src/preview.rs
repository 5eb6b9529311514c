//! Previews: what a pending call would do, in one line that fits the window.
//!
//! A tool can provide its own preview ([`NativeTool::preview`](super::NativeTool::preview), or `format_preview` of a Lua
//! tool, which the Neovim layer calls and passes to [`line()`]). For all others, [`generic`] lists the arguments. Width is
//! counted in display cells: a wide character takes two cells, and a combining mark none.

use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Definition, Executor, Runner, form::Question};
use flemma_model::ToolInput;
use flemma_text::{things, truncate::prefix, visible::is_unseen, wrap::wrap};

/// Replaces a line break.
const NEWLINE: &str = "⤶";
/// The most rows of a question, a program or arguments below a call, and the most options. The form has all of a question, and the
/// input of the call has all of the rest.
const MOST_ROWS: usize = 12;
/// How many of them show the end where the middle is left out.
const LAST_ROWS: usize = 3;
/// Replaces text that does not fit.
const ELLIPSIS: &str = "…";

/// The preview of a call: `name: …`, at most `width` cells wide.
///
/// `definition` is the tool's, if there is such a tool; a Lua tool's own `format_preview` is not called here.
pub fn call(definition: Option<&Definition>, name: &str, input: &ToolInput, width: usize) -> String {
    let body = match input {
        ToolInput::Malformed(text) => text.clone(),
        ToolInput::Json(input) => {
            let native = definition.and_then(|definition| match &definition.executor {
                Executor::Server(Runner::Native(tool)) => tool.preview(&definition.taken(input), room(name, width)),
                // What the user has to answer.
                Executor::Human => Question::of(input).preview(),
                _ => None,
            });
            native.unwrap_or_else(|| generic(input, room(name, width)))
        }
    };
    line(name, &body, width)
}

/// What the user has to read before deciding about a call, in lines of at most `width` cells, the first with the name of the tool:
/// a question and its options, the whole program that would run, or all arguments of a tool without a preview of its own. `None`
/// if [`call`] shows all of it in one line.
pub fn lines(definition: Option<&Definition>, name: &str, input: &ToolInput, width: usize) -> Option<Vec<String>> {
    let ToolInput::Json(input) = input else { return None };
    match definition.map(|definition| &definition.executor) {
        Some(Executor::Human) => question(name, &Question::of(input), width),
        Some(Executor::Server(Runner::Native(tool))) if tool.preview(input, width).is_some() => {
            program(name, &tool.program(input)?, width)
        }
        _ => arguments(name, input, width),
    }
}

/// A question, and each option on a line of its own.
fn question(name: &str, question: &Question<'_>, width: usize) -> Option<Vec<String>> {
    if fits(&format!("{name}: {}", question.preview()?), width) {
        return None;
    }
    let mut lines = wrap(&line(name, question.text?, width.saturating_mul(MOST_ROWS)), width);
    for (at, option) in question.options.iter().enumerate().take(MOST_ROWS) {
        lines.push(clip(&format!("  {}: {}", at + 1, option.words()), width));
    }
    if let more @ 1.. = question.options.len().saturating_sub(MOST_ROWS) {
        lines.push(clip(&format!("  {ELLIPSIS} {more} more"), width));
    }
    Some(lines)
}

/// A program, each of its lines on a line of its own. Nobody can read several lines in one.
fn program(name: &str, program: &str, width: usize) -> Option<Vec<String>> {
    let whole = format!("{name}: {program}");
    (program.trim_end().contains('\n') || !fits(&whole, width))
        .then(|| rows(whole.trim_end_matches('\n').split('\n'), width))
}

/// The name, and each argument on a line of its own.
fn arguments(name: &str, input: &Value, width: usize) -> Option<Vec<String>> {
    let Value::Object(object) = input else { return None };
    let room = room(name, width);
    if generic(input, room).width() <= room {
        return None;
    }
    let most = width.saturating_mul(MOST_ROWS + 1);
    let arguments = in_order(object).into_iter().map(|(key, value)| {
        // Only as much text is written as may be shown.
        let value = scalar(value, most).unwrap_or_else(|| prefix(&value.to_string(), most).to_owned());
        format!("  {key}={value}")
    });
    let lines: Vec<String> = std::iter::once(format!("{name}:")).chain(arguments).collect();
    Some(rows(lines.iter().map(String::as_str), width))
}

/// Lines in rows of at most `width` cells. If there are too many rows, those in the middle are left out, and a row says so: the user
/// has to see how it ends.
fn rows<'a>(lines: impl DoubleEndedIterator<Item = &'a str> + Clone, width: usize) -> Vec<String> {
    let most = width.saturating_mul(MOST_ROWS + 1).max(1024);
    let mut found = Vec::new();
    for line in lines.clone() {
        found.extend(wrap(&flatten(prefix(line, most)), width));
        if found.len() > MOST_ROWS {
            break;
        }
    }
    if found.len() > MOST_ROWS {
        found.truncate(MOST_ROWS - 1 - LAST_ROWS);
        found.push(clip(&format!("{ELLIPSIS} cut: the call has all of it"), width));
        let mut end = Vec::new();
        for line in lines.rev() {
            let tail = &line[line.ceil_char_boundary(line.len().saturating_sub(most))..];
            let mut rows = wrap(&flatten(tail), width);
            rows.append(&mut end);
            end = rows;
            if end.len() >= LAST_ROWS {
                break;
            }
        }
        found.extend(end.split_off(end.len().saturating_sub(LAST_ROWS)));
    }
    found
}

/// The cells that remain for a preview's text after `name: `.
pub fn room(name: &str, width: usize) -> usize {
    width.saturating_sub(name.width() + 2)
}

/// Puts the tool's name before its preview and fits both into `width` cells. Only the name if there is nothing to
/// preview.
///
/// Line breaks become `⤶`, a tab becomes a space, other control characters their pictures (`␛`); what is too long
/// ends in `…`.
pub fn line(name: &str, body: &str, width: usize) -> String {
    // Text beyond the edge is not processed: a call may contain an entire file.
    let visible = prefix(body, width.saturating_mul(16).max(1024));
    if body.trim().is_empty() {
        return clip(name, width);
    }
    fit(&flatten(&format!("{name}: {visible}")), width)
}

/// The arguments of a call: scalars first, then tables as `{key1=1, key2=…}` or `[N items]`, both sorted by key. Null values
/// are left out, since models write null for arguments that they omit.
///
/// Only as much text is created as fits into `width` cells.
pub fn generic(input: &Value, width: usize) -> String {
    let Value::Object(object) = input else {
        return scalar(input, width).unwrap_or_else(|| table(input, width));
    };
    joined(in_order(object), width, |value| table(value, width))
}

/// The arguments of a call that are not null: scalars first, then tables, both sorted by key.
fn in_order(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut arguments: Vec<(&String, &Value)> = object.iter().filter(|(_, value)| !value.is_null()).collect();
    arguments.sort_by_key(|(key, value)| (value.is_object() || value.is_array(), *key));
    arguments
}

/// `key1=1, key2=…`, as much as fits into `width` cells. `table` is for what is no scalar.
fn joined(entries: Vec<(&String, &Value)>, width: usize, table: impl Fn(&Value) -> String) -> String {
    let mut shown = String::new();
    for (key, value) in entries {
        if shown.width() > width {
            break;
        }
        let value = scalar(value, width).unwrap_or_else(|| table(value));
        let comma = if shown.is_empty() { "" } else { ", " };
        shown.push_str(&format!("{comma}{key}={value}"));
    }
    shown
}

/// Text followed by an optional label: `text  # label`.
pub(super) fn labelled(text: String, input: &Value) -> String {
    match input.get("label").and_then(Value::as_str).map(str::trim) {
        None | Some("") => text,
        Some(label) => format!("{text}  # {label}"),
    }
}

/// A value other than a table. Of a text, only as much as fits into `width` cells.
fn scalar(value: &Value, width: usize) -> Option<String> {
    match value {
        Value::String(text) => Some(format!("\"{}\"", prefix(text, width.saturating_mul(16).max(1024)))),
        Value::Number(_) | Value::Bool(_) | Value::Null => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A list as its length, and a table with the values in it that are no tables.
fn table(value: &Value, width: usize) -> String {
    match value {
        Value::Array(items) => format!("[{}]", things(items.len(), "item")),
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            format!("{{{}}}", joined(entries, width, |_| ELLIPSIS.to_owned()))
        }
        other => other.to_string(),
    }
}

/// A line of any text that can be drawn in `width` cells: without control characters, and truncated with a `…` if it is too
/// long.
pub fn clip(text: &str, width: usize) -> String {
    fit(&flatten(text), width)
}

/// Whether a text can be drawn in `width` cells unchanged.
pub fn fits(text: &str, width: usize) -> bool {
    text.len() <= width.saturating_mul(16) && flatten(text).width() <= width
}

/// The beginning and the end of a text in `width` cells, with the number of hidden characters between them.
pub(super) fn without_middle(text: &str, width: usize) -> String {
    if fits(text, width) {
        return text.to_owned();
    }
    // Only visible text is flattened: a command may be as long as a file.
    let most = width.saturating_mul(16).max(1024);
    let head = flatten(prefix(text, most));
    let tail = flatten(&text[text.ceil_char_boundary(text.len().saturating_sub(most))..]);
    let total = text.chars().count();
    let cut = |hidden: usize| format!(" {ELLIPSIS}(+{hidden}){ELLIPSIS} ");
    let room = width.saturating_sub(cut(total).width());
    if room < 8 {
        return text.to_owned();
    }
    let (first, last) = (room - room / 2, room / 2);
    let head = within(head.graphemes(true), first).concat();
    let mut end = within(tail.graphemes(true).rev(), last);
    end.reverse();
    let end = end.concat();
    let hidden = total.saturating_sub(head.chars().count() + end.chars().count());
    format!("{head}{}{end}", cut(hidden))
}

/// One line without control characters.
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => flat.push_str(NEWLINE),
            '\t' => flat.push(' '),
            '\0'..='\u{1f}' => flat.extend(char::from_u32(0x2400 + u32::from(character))),
            '\u{7f}' => flat.push('␡'),
            // Right-to-left overrides could show a different command from the one that runs. The others take no cells, or look like
            // a line break that is none.
            unseen if is_unseen(unseen, before) => flat.extend(unseen.escape_unicode()),
            other => flat.push(other),
        }
        before = Some(character);
    }
    flat
}

/// Truncates a line to `width` cells between grapheme clusters, and marks the cut.
fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(ELLIPSIS.width()) else {
        return String::new();
    };
    format!("{}{ELLIPSIS}", within(text.graphemes(true), room).concat())
}

/// The first clusters that fit into so many cells together.
fn within<'a>(clusters: impl Iterator<Item = &'a str>, cells: usize) -> Vec<&'a str> {
    let mut used = 0;
    let fits = |cluster: &&str| {
        used += cluster.width();
        used <= cells
    };
    clusters.take_while(fits).collect()
}

#[cfg(test)]
#[path = "preview_tests.rs"]
mod tests;
