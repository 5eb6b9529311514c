//! Adds approvals to the frontmatter of a document, where the user sees them and can remove them.

use serde_json::{Map, Value};

use super::{Document, Position, Text, TextEdit};
use flemma_model::UserError;

/// Adds `entries` to `flemma.opt.tools.auto_approve` in the frontmatter: at the end of Lua, in the right place of JSON,
/// or in new frontmatter if there is none.
///
/// # Errors
/// A message for the user, if the frontmatter is in another language, is not closed, or is JSON that cannot be read.
pub fn approve_always(document: &Document, text: &dyn Text, entries: &[String]) -> Result<Vec<TextEdit>, UserError> {
    let Some(matter) = document.frontmatter() else {
        let mut lines = vec!["```lua".to_owned()];
        lines.extend(entries.iter().map(|entry| lua(entry)));
        lines.extend(["```", "", ""].map(str::to_owned));
        return Ok(vec![TextEdit::insert(Position::start_of(0), lines)]);
    };
    if !matter.closed {
        return Err(UserError::new("the frontmatter is not closed"));
    }
    let last = matter.lines - 1;
    match matter.language.as_str() {
        "lua" => {
            let mut lines: Vec<String> = entries.iter().map(|entry| lua(entry)).collect();
            lines.push(String::new());
            Ok(vec![TextEdit::insert(Position::start_of(last), lines)])
        }
        "json" => {
            let json: Value = serde_json::from_str(&text.lines(1..last).join("\n"))
                .map_err(|error| UserError::new(format!("its JSON is not valid: {error}")))?;
            let amended = json_with(json, entries)?;
            let mut lines: Vec<String> = format!("{amended:#}").lines().map(str::to_owned).collect();
            lines.push(String::new());
            Ok(vec![TextEdit { start: Position::start_of(1), end: Position::start_of(last), lines }])
        }
        other => Err(UserError::new(format!(
            "its frontmatter is in `{other}`; add {} to auto_approve there",
            entries.join(", ")
        ))),
    }
}

/// Restores frontmatter that now has `lines` lines: `code` between its fences, or no frontmatter.
pub fn restore_frontmatter(text: &dyn Text, lines: usize, code: Option<&str>) -> Vec<TextEdit> {
    let start = Position::start_of;
    match code {
        Some(code) => {
            let lines_of_code = code.split('\n').map(str::to_owned).collect();
            vec![TextEdit { start: start(1), end: start(lines.saturating_sub(1)), lines: lines_of_code }]
        }
        // The blank line after it was added with it.
        None => {
            let end = (lines + 1).min(text.line_count().saturating_sub(1));
            vec![TextEdit { start: start(0), end: start(end), lines: vec![String::new()] }]
        }
    }
}

fn lua(entry: &str) -> String {
    format!("flemma.opt.tools.auto_approve:append({})", quote(entry))
}

/// A Lua string literal.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            char if char.is_ascii_control() => quoted.push_str(&format!("\\{:03}", u32::from(char))),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// The options with the entries appended to `tools.auto_approve`.
fn json_with(json: Value, entries: &[String]) -> Result<Value, UserError> {
    let table = |value: Option<Value>| match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(entries)) => Ok(entries),
        // A list of tools becomes a table, so that other options fit beside it.
        Some(list @ (Value::Array(_) | Value::String(_))) => Ok(Map::from_iter([("set".to_owned(), list)])),
        Some(other) => Err(UserError::new(format!("its JSON has {other} in place of an object"))),
    };
    let mut options = table(Some(json))?;
    let mut tools = table(options.shift_remove("tools"))?;
    let approve = match tools.shift_remove("auto_approve") {
        Some(Value::Array(mut list)) => {
            list.extend(entries.iter().map(|entry| Value::String(entry.clone())));
            Value::Array(list)
        }
        other => {
            let mut operations = table(other)?;
            let mut appended = match operations.shift_remove("append") {
                Some(Value::Array(list)) => list,
                Some(name @ Value::String(_)) => vec![name],
                _ => Vec::new(),
            };
            appended.extend(entries.iter().map(|entry| Value::String(entry.clone())));
            operations.insert("append".to_owned(), Value::Array(appended));
            Value::Object(operations)
        }
    };
    tools.insert("auto_approve".to_owned(), approve);
    options.insert("tools".to_owned(), Value::Object(tools));
    Ok(Value::Object(options))
}
