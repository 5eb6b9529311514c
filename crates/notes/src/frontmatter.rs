//! Setting and deleting keys of the frontmatter.
//!
//! Only the lines of the keys that change are written. The order, the comments and the way in which other values are written
//! stay. Afterwards the result is read again: it must have the values that were wanted, and every other value as before.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Outline,
    content::{bom, line_break, line_end, line_start, masked, with_breaks_of},
    yaml::{self, Entry, Table},
};
use flemma_model::ModelError;

/// What to change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Keys with their new values, in this order.
    pub set: Map<String, Value>,
    /// Keys that are removed.
    pub delete: Vec<String>,
}

/// What a page's frontmatter says.
///
/// # Errors
/// If it is not YAML, or not a table.
pub fn values(content: &[u8]) -> Result<Map<String, Value>, ModelError> {
    let Some(range) = Outline::new(content).frontmatter else { return Ok(Map::new()) };
    let text = masked(content);
    let table = read(&text[range])?;
    Ok(table.entries.into_iter().map(|entry| (entry.key, entry.value)).collect())
}

/// The tags that the frontmatter lists: `tags` or `tag`, a list or a text with spaces or commas.
pub fn tags(values: &Map<String, Value>) -> Vec<String> {
    let mut found: Vec<&str> = Vec::new();
    for key in ["tags", "tag"] {
        match values.get(key) {
            Some(Value::Array(items)) => found.extend(items.iter().filter_map(Value::as_str)),
            Some(Value::String(text)) => found.extend(text.split([',', ' ']).filter(|tag| !tag.is_empty())),
            _ => {}
        }
    }
    found.into_iter().map(|tag| tag.trim_start_matches('#').to_owned()).collect()
}

/// The content of a page with other frontmatter. A page without frontmatter gets one.
///
/// # Errors
/// If the frontmatter cannot be read, a key occurs twice or in a form that cannot be changed, or a value cannot be written.
pub fn update(content: &[u8], update: &Update) -> Result<Vec<u8>, ModelError> {
    if update.set.is_empty() && update.delete.is_empty() {
        return Err(ModelError::new("There is nothing to change: give `set` or `delete`."));
    }
    if let Some(key) = update.delete.iter().find(|key| update.set.contains_key(*key)) {
        return Err(ModelError::new(format!("`{key}` is both in `set` and in `delete`.")));
    }
    let text = masked(content);
    let Some(range) = Outline::new(content).frontmatter else {
        if let Some(key) = update.delete.first() {
            return Err(missing(key, &Table::default()));
        }
        let (mark, text) = content.split_at(bom(content));
        let block = format!("---\n{}---\n", changed("", update)?);
        return Ok([mark, with_breaks_of(content, &block).as_bytes(), text].concat());
    };
    let old = &text[range.clone()];
    if old.contains('\u{1a}') && !content[range.clone()].contains(&0x1a) {
        return Err(ModelError::new(
            "The frontmatter has bytes that are not valid UTF-8, so it cannot be changed here. Use edit.",
        ));
    }
    // Lines that were not changed keep their break, because all lines have the same one. Where there are none, the line above counts.
    let own_break = line_break(if old.is_empty() { &content[..range.start] } else { old.as_bytes() });
    let lines = old.replace(own_break, "\n");
    if lines.contains('\r') {
        return Err(ModelError::new(
            "The lines of the frontmatter do not all end in the same way, so it cannot be changed here. Use edit.",
        ));
    }
    let yaml = changed(&lines, update)?.replace('\n', own_break);
    Ok([&content[..range.start], yaml.as_bytes(), &content[range.end..]].concat())
}

fn read(yaml: &str) -> Result<Table, ModelError> {
    yaml::read(yaml).map_err(|fault| ModelError::new(format!("The frontmatter cannot be read as YAML: {fault}.")))
}

fn missing(key: &str, table: &Table) -> ModelError {
    let keys: Vec<String> = table.entries.iter().map(|entry| format!("`{}`", entry.key)).collect();
    let known =
        if keys.is_empty() { "It has no keys.".to_owned() } else { format!("The keys are {}.", keys.join(", ")) };
    ModelError::new(format!("The frontmatter has no key `{key}`. {known} Nothing was changed."))
}

/// The new YAML. All lines end in LF.
fn changed(old: &str, update: &Update) -> Result<String, ModelError> {
    let before = read(old)?;
    if before.in_braces {
        return Err(ModelError::new(
            "The frontmatter is written in braces, so its keys cannot be changed one by one. Use edit.",
        ));
    }
    let mut known = HashSet::new();
    if let Some(twice) = before.entries.iter().find(|entry| !known.insert(&entry.key)) {
        return Err(ModelError::new(format!("`{}` occurs more than once in the frontmatter. Use edit.", twice.key)));
    }
    let mut yaml = old.to_owned();
    for key in &update.delete {
        let table = read(&yaml)?;
        let entry = find(&table, key).ok_or_else(|| missing(key, &before))?;
        yaml.replace_range(own_line(&yaml, entry)?..line_end(yaml.as_bytes(), entry.end), "");
    }
    for (key, value) in &update.set {
        let table = read(&yaml)?;
        match find(&table, key) {
            Some(entry) => set(&mut yaml, entry, value)?,
            None => {
                if !yaml.is_empty() && !yaml.ends_with('\n') {
                    yaml.push('\n');
                }
                yaml.push_str(&format!("{}:{}\n", yaml::text(key), yaml::after_key(value, false)));
            }
        }
    }
    check(&before, &yaml, update)?;
    Ok(yaml)
}

fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Entry> {
    table.entries.iter().find(|entry| entry.key == key)
}

/// The start of an entry's line.
fn own_line(yaml: &str, entry: &Entry) -> Result<usize, ModelError> {
    let start = line_start(yaml.as_bytes(), entry.at.start);
    if !yaml[start..entry.at.start].trim().is_empty() || !yaml[entry.at.end..].trim_start().starts_with(':') {
        return Err(ModelError::new(format!(
            "`{}` is written in a form that cannot be changed here. Use edit.",
            entry.key
        )));
    }
    Ok(start)
}

fn set(yaml: &mut String, entry: &Entry, value: &Value) -> Result<(), ModelError> {
    own_line(yaml, entry)?;
    if entry.value == *value {
        return Ok(());
    }
    let colon = entry.at.end + yaml[entry.at.end..].find(':').unwrap_or_default() + 1;
    let end = entry.end.max(colon);
    let mut written = yaml::after_key(value, entry.is_block && entry.value.is_array());
    // A comment on the line of the key stays there.
    let key_line = line_end(yaml.as_bytes(), colon);
    if entry.start >= key_line {
        let comment = yaml[colon..key_line].trim();
        if comment.starts_with('#') {
            let first = written.find('\n').unwrap_or(written.len());
            written.insert_str(first, &format!(" {comment}"));
        }
    } else if written.contains('\n') {
        // A comment behind the value goes with the key.
        let line = line_end(yaml.as_bytes(), end);
        let comment = yaml[end..line].trim().to_owned();
        if comment.starts_with('#') {
            written = format!(" {comment}{written}");
            let line = end + yaml[end..line].trim_end_matches(['\n', '\r']).len();
            yaml.replace_range(end..line, "");
        }
    }
    yaml.replace_range(colon..end, &written);
    Ok(())
}

/// Reads the result: it has the values that were wanted, and every other value as before.
fn check(before: &Table, yaml: &str, update: &Update) -> Result<(), ModelError> {
    let is_marked = yaml.lines().any(|line| matches!(line.trim_end(), "---" | "..."));
    let is_other = |key: &str| !update.set.contains_key(key) && !update.delete.iter().any(|deleted| deleted == key);
    let others = |table: &Table| -> Vec<(String, Value)> {
        let others = table.entries.iter().filter(|entry| is_other(&entry.key));
        others.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
    };
    let after = yaml::read(yaml).ok().filter(|after| !is_marked && others(before) == others(after));
    let is_wanted = |key: &&String| {
        let found = after.as_ref().map(|after| find(after, key));
        found.is_some_and(|found| found.map(|entry| &entry.value) == update.set.get(*key))
    };
    match update.set.keys().chain(&update.delete).find(|key| !is_wanted(key)) {
        Some(key) => Err(ModelError::new(format!(
            "`{key}` cannot be changed without changing something else. Nothing was changed. Use edit."
        ))),
        None => Ok(()),
    }
}
