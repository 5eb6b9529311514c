//! `write`: creates a file, or replaces all of its content.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{files, lines, replace};
use crate::{
    model::ModelError,
    text::truncate::{count_lines, format_size},
    tools::{Context, Definition, NativeTool, Outcome, preview},
};

struct Write;

pub(super) fn definition() -> Definition {
    let mut definition = super::define(
        "write",
        "Write a file. It is created, with any missing parent folders, or its entire content is replaced. To change a \
         part of a file, use edit.",
        json!({
            "path": { "type": "string", "description": "The file; relative paths start at the conversation's folder." },
            "content": { "type": "string", "description": "The entire new content of the file." },
        }),
        Write,
    );
    definition.write_path_param = Some("path".into());
    definition.idempotent = true;
    definition
}

impl NativeTool for Write {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        super::blocking(context, move |context| write(&input, context)).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let path = input.get("path")?.as_str()?;
        let size = format_size(input.get("content")?.as_str()?.len() as u64);
        Some(preview::labelled(format!("{path}  ({size})"), input))
    }
}

fn write(input: &Value, context: &Context) -> Result<String, ModelError> {
    let name = super::path(input)?;
    let content = super::text(input, "content")?;
    if name.ends_with('/') {
        return Err(ModelError::new(format!(
            "{name} names a folder. Give the path of a file; missing parent folders are created."
        )));
    }
    let path = context.resolve(name);
    let target = replace::WriteTarget::new(&path, name, context)?;
    // A cancel before this point leaves the file unchanged; after it, the file is written completely.
    if context.cancel.is_cancelled() {
        return Err(ModelError::new("Cancelled by the user: nothing was written."));
    }
    target.write(content.as_bytes()).map_err(|error| files::problem(target.path(), name, &error))?;
    let size = format!("{} bytes, {}", content.len(), lines(count_lines(content.as_bytes())));
    Ok(match &target.existing {
        None if path.is_symlink() => {
            format!("Created {}, the target of the link {name}: {size}.", target.path().display())
        }
        None => format!("Created {name}: {size}."),
        Some(old) => format!("Replaced {name}: {size} (it had {} bytes).", old.len()),
    })
}
