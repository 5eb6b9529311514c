//! `write`: creates a file, or replaces all of its content.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    input::{file_of, path_of},
    replace,
    tool::Proposing,
    written,
};
use crate::{Bounds, Content, Context, Proposal};
use flemma_model::ModelError;
use flemma_text::{
    things,
    truncate::{count_lines, format_size},
};

/// The tool.
pub(super) const TOOL: Proposing = Proposing { propose, preview, targets: file_of };

fn preview(input: &Value) -> Option<String> {
    let size = format_size(input.get("content")?.as_str()?.len() as u64);
    Some(format!("{}  ({size})", path_of(input)?))
}

fn propose(input: &Value, context: &Context) -> Result<Proposal, ModelError> {
    let name = super::path(input)?;
    let content = super::text(input, "content")?;
    let is_file = !name.ends_with('/');
    ensure!(is_file, "{name} names a folder. Give the path of a file; missing parent folders are created.");
    let path = context.resolve(name);
    let target = replace::WriteTarget::new(&path, name, context, &Bounds::Writable)?;
    let old = target.content(name)?;
    let has = |content: &Option<Content>, mark: &[u8]| {
        content.as_ref().and_then(|content| content.bytes.as_ref()).is_some_and(|bytes| bytes.starts_with(mark))
    };
    // A model does not see the mark, and so does not mean to take it away.
    let keeps_mark = has(&old, written::MARK) && !content.as_bytes().starts_with(written::MARK);
    let content = if keeps_mark { Cow::Owned(format!("\u{feff}{content}")) } else { Cow::Borrowed(content) };
    let size = format!("{} bytes, {}", content.len(), things(count_lines(content.as_bytes()), "line"));
    let mut summary = match &old {
        None if path.is_symlink() => {
            format!("Created {}, the target of the link {name}: {size}.", target.path().display())
        }
        None => format!("Created {name}: {size}."),
        Some(old) => format!("Replaced {name}: {size} (it had {} bytes).", old.len),
    };
    if keeps_mark {
        summary.push_str(" The byte order mark at its beginning was kept.");
    }
    // The content of a new file is in the call. What the model may not read, it is not shown here either.
    let is_denied = context.denied.contains(&path) || context.is_unread(target.path());
    let before = old.as_ref().filter(|_| !is_denied).and_then(|old| old.bytes.clone());
    let diff = before.map_or_else(String::new, |before| written::diff(&before, content.as_bytes()));
    let file = target.change(name, old, Content::new(content.as_bytes().to_vec()));
    if file.concern().is_some_and(|concern| concern.unsaved.is_none()) {
        summary.push_str(" What it had was not valid UTF-8.");
    }
    Ok(Proposal { files: vec![file], summary, diff })
}
