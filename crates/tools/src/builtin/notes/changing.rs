//! The tools that change one page: `create_note`, `update_note`, `search_replace` and `update_frontmatter`.

use serde_json::{Map, Value};

use super::{
    super::{optional_text, replace::WriteTarget, text, written},
    occurrence, page, section,
    space::Space,
};
use crate::{Content, Context, FileChange, Proposal};
use flemma_model::ModelError;
use flemma_notes::{
    Outline, PageName,
    frontmatter::{self, Update},
    replacing::{self, Which},
    sections::{self, Mode},
};
use flemma_text::{things, truncate::count_lines};

/// The maximum number of lines that a result names.
const MAX_NAMED: usize = 20;

/// The properties of `update_frontmatter` that are no keys of the frontmatter.
const OWN: [&str; 4] = ["label", "page", "set", "delete"];

/// `create_note`: creates a page.
pub(super) fn create(input: &Value, context: &Context) -> Result<Proposal, ModelError> {
    let (space, page) = (Space::open(context)?, page(input, "page")?);
    page.check_new()?;
    let mut new = text(input, "content")?.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    ensure!(!space.is_taken(&page)?, "There is already a page `{page}`. Change it with update_note.");
    let lines = things(count_lines(new.as_bytes()), "line");
    let summary = format!("Created `{page}`: {} bytes, {lines}.", new.len());
    let change = change(&space, &page, None, new.into_bytes(), None)?;
    Ok(Proposal { files: vec![change], summary, diff: String::new() })
}

/// `update_note`: replaces, appends or prepends text in a page or a section.
pub(super) fn update(input: &Value, context: &Context) -> Result<Proposal, ModelError> {
    let (space, page) = (Space::open(context)?, page(input, "page")?);
    let text = text(input, "content")?;
    let (mode, done) = match optional_text(input, "mode") {
        None | Some("replace") => (Mode::Replace, "Replaced the text of"),
        Some("append") => (Mode::Append, "Appended to"),
        Some("prepend") => (Mode::Prepend, "Prepended to"),
        Some(other) => bail!("`mode` must be replace, append or prepend, not \"{other}\"."),
    };
    ensure!(!text.is_empty() || mode == Mode::Replace, "`content` is empty: there is nothing to add.");
    let section = section(input)?;
    let old = space.read(&page)?;
    let Some((heading, occurrence)) = section else {
        let new = sections::update_page(&old, text, mode);
        return change_of_one(&space, &page, old, new, format!("{done} `{page}`."));
    };
    let outline = Outline::new(&old);
    let found = sections::find(&outline, heading, occurrence)?;
    if found.of > 1 && occurrence.is_none() {
        bail!(
            "`{page}` has {} sections \"{heading}\". Nothing was changed. Choose one with `occurrence`, from 1.",
            found.of
        );
    }
    let new = sections::update_section(&old, found.section, text, mode);
    let summary = format!("{done} the section \"{}\" of `{page}`.", found.section.title);
    change_of_one(&space, &page, old, new, summary)
}

/// `search_replace`: replaces text in a page.
pub(super) fn replace(input: &Value, context: &Context) -> Result<Proposal, ModelError> {
    let (space, page) = (Space::open(context)?, page(input, "page")?);
    let (search, replace) = (text(input, "search")?, text(input, "replace")?);
    let wrong = |problem: String| Err(ModelError::new(problem));
    let which = match (optional_text(input, "mode"), occurrence(input)?) {
        (Some("nth") | None, Some(nth)) => Which::Nth(nth),
        (Some("first") | None, None) => Which::First,
        (Some("all"), None) => Which::All,
        (Some("nth"), None) => {
            return wrong("`mode` is nth: give `occurrence`, which occurrence to replace, from 1.".to_owned());
        }
        (Some(mode), Some(_)) => {
            return wrong(format!("`occurrence` does not go with the mode {mode}: set `mode` to nth."));
        }
        (Some(other), None) => return wrong(format!("`mode` must be first, all or nth, not \"{other}\".")),
    };
    let old = space.read(&page)?;
    let replaced = replacing::replace(&old, search, replace, which)?;
    let named: Vec<String> = replaced.lines.iter().take(MAX_NAMED).map(usize::to_string).collect();
    let more = if replaced.lines.len() > MAX_NAMED { " and more" } else { "" };
    let word = if named.len() == 1 { "line" } else { "lines" };
    let many = match (which, replaced.of) {
        (_, 1) => "the only occurrence".to_owned(),
        (Which::All, of) => format!("all {of} occurrences"),
        (Which::First, of) => format!("the first of {of} occurrences"),
        (Which::Nth(nth), of) => format!("occurrence {nth} of {of}"),
    };
    let summary = format!("Replaced {many} in `{page}`, at {word} {}{more}.", named.join(", "));
    change_of_one(&space, &page, old, replaced.content, summary)
}

/// `update_frontmatter`: sets and deletes keys of a page's frontmatter.
pub(super) fn update_frontmatter(input: &Value, context: &Context) -> Result<Proposal, ModelError> {
    let (space, page) = (Space::open(context)?, page(input, "page")?);
    let update = keys(input)?;
    let old = space.read(&page)?;
    let new = frontmatter::update(&old, &update)?;
    let set = update.set.keys().map(|key| format!("set `{key}`"));
    let deleted = update.delete.iter().map(|key| format!("deleted `{key}`"));
    let done = set.chain(deleted).collect::<Vec<_>>().join(", ");
    change_of_one(&space, &page, old, new, format!("Frontmatter of `{page}`: {done}."))
}

/// What to change in the frontmatter. Models also write the keys beside `page`, as `set.key`, as `key` and `value`, or `set` and
/// `delete` as JSON text.
fn keys(input: &Value) -> Result<Update, ModelError> {
    let mut set = match parsed(input.get("set")) {
        Value::Null => Map::new(),
        Value::Object(set) => set,
        other => bail!("`set` must be an object of keys and values, not {other}."),
    };
    let delete = match parsed(input.get("delete")) {
        Value::Null => Vec::new(),
        Value::String(key) => vec![key],
        Value::Array(keys) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        other => bail!("`delete` must be a list of keys, not {other}."),
    };
    let beside = input.as_object().into_iter().flatten();
    let mut beside: Map<String, Value> = beside
        .filter(|(key, value)| !OWN.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.strip_prefix("set.").unwrap_or(key).to_owned(), value.clone()))
        .collect();
    if beside.len() == 2
        && set.is_empty()
        && let (Some(Value::String(key)), Some(value)) = (beside.get("key"), beside.get("value"))
    {
        beside = Map::from_iter([(key.clone(), value.clone())]);
    }
    set.extend(beside);
    if let Some(key) = set.keys().chain(&delete).find(|key| key.is_empty() || key.contains(['\n', '\r', '\0'])) {
        bail!("`{}` cannot be a key of the frontmatter.", key.escape_debug());
    }
    Ok(Update { set, delete })
}

/// A value, or what it is the JSON text of.
fn parsed(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(text)) if text.trim().is_empty() => Value::Null,
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_) | Value::Null)) => inner,
            _ => Value::String(text.clone()),
        },
        value => value.cloned().unwrap_or_default(),
    }
}

/// A change of one page: from `old`, which is `None` if it does not exist, to `new`, under another name if it is moved.
///
/// # Errors
/// If one of the files must not be written.
pub(super) fn change(
    space: &Space<'_>,
    page: &PageName,
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    moved_to: Option<&PageName>,
) -> Result<FileChange, ModelError> {
    // What can be known beforehand is said before anybody is asked.
    let file = |page: &PageName| WriteTarget::new(&space.real(page)?, page.as_str(), space.context, &space.bounds());
    let change = file(page)?.change(page.as_str(), old.map(Content::new), Content::new(new));
    let moved_to = moved_to.map(|page| Ok((file(page)?.path().to_owned(), page.as_str().to_owned()))).transpose()?;
    Ok(FileChange { moved_to, ..change })
}

/// One change of a page that exists.
///
/// # Errors
/// If nothing would change, or the page must not be written.
fn change_of_one(
    space: &Space<'_>,
    page: &PageName,
    old: Vec<u8>,
    new: Vec<u8>,
    summary: String,
) -> Result<Proposal, ModelError> {
    ensure!(old != new, "This would not change `{page}`: it has this content already.");
    let diff = written::diff(&old, &new);
    Ok(Proposal { files: vec![change(space, page, Some(old), new, None)?], summary, diff })
}
