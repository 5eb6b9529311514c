//! What tools that are written in Lua ask of the notes. Each request is judged as a call of the tools for notes is.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{carry_out::carry_out, files, replace::WriteTarget},
    eval_lua, rename_note,
    space::Space,
};
use crate::{Bounds, Context, Outcome, paths};
use flemma_model::ModelError;
use flemma_notes::{PageName, frontmatter};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PageRequest {
    /// The content of a page.
    Read {
        /// Its name.
        page: String,
    },
    /// Whether there is a page.
    Exists {
        /// Its name.
        page: String,
    },
    /// What is known of a page without reading it.
    Meta {
        /// Its name.
        page: String,
    },
    /// What is known of all pages.
    List,
    /// Write a page.
    Write {
        /// Its name.
        page: String,
        /// The content that it gets.
        content: String,
    },
    /// Delete a page.
    Delete {
        /// Its name.
        page: String,
    },
    /// Give a page another name, and change the links to it.
    Rename {
        /// Its name.
        page: String,
        /// The name that it gets.
        new_page: String,
    },
    /// A file in the folder of notes that is shown with a result.
    File {
        /// Its path, from the folder of notes.
        path: String,
    },
    /// The tool has read a file in the editor.
    Saw {
        /// The file; absolute.
        path: PathBuf,
        /// What the file would have if the editor wrote it.
        content: String,
    },
    /// Evaluate an expression, as `eval_lua` does.
    Evaluate {
        /// The expression.
        expression: String,
        /// The values of names in it.
        #[serde(default)]
        names: Map<String, Value>,
    },
}

/// Answers a request. It blocks on the disk.
///
/// # Errors
/// If there is no such page, the user denies it, or it cannot be read or written.
pub fn answer_page_request(request: &PageRequest, context: &Context) -> Result<Value, ModelError> {
    let space = Space::open(context)?;
    match request {
        PageRequest::Read { page } => {
            let page = PageName::parse(page)?;
            let content = space.read(&page).inspect_err(|_| {
                if space.file(&page).is_ok_and(|file| !file.exists()) {
                    space.note_read(&page, None);
                }
            })?;
            space.note_read(&page, Some(&content));
            String::from_utf8(content).map(Value::from).map_err(|_| {
                ModelError::new(format!("`{page}` is not valid UTF-8, so that a tool in Lua cannot read it."))
            })
        }
        PageRequest::Saw { path, content } => {
            context.seen.note(&paths::real(path), Some(content.as_bytes()));
            Ok(true.into())
        }
        PageRequest::File { path } => Ok(space.below(Path::new(path), path)?.to_string_lossy().into()),
        PageRequest::Exists { page } => {
            let page = PageName::parse(page)?;
            let exists = space.exists(&page)?;
            if !exists {
                space.note_read(&page, None);
            }
            Ok(exists.into())
        }
        PageRequest::Meta { page } => space.meta(&PageName::parse(page)?),
        PageRequest::List => space.metas(),
        PageRequest::Write { page, content } => {
            let page = PageName::parse(page)?;
            let target = target(&space, &page)?;
            if target.existing.is_none() {
                page.check_new()?;
            }
            context.seen.check(target.path(), page.as_str(), target.content(page.as_str())?.as_ref())?;
            target.put(content.as_bytes(), None).map_err(|error| problem(&page, &error))?;
            context.seen.note(target.path(), Some(content.as_bytes()));
            drop(target);
            space.meta(&page)
        }
        PageRequest::Delete { page } => {
            let page = PageName::parse(page)?;
            let target = target(&space, &page)?;
            if target.existing.is_none() {
                return Err(space.missing(&page));
            }
            context.seen.check(target.path(), page.as_str(), target.content(page.as_str())?.as_ref())?;
            target.remove(&[]).map_err(|error| problem(&page, &error))?;
            context.seen.note(target.path(), None);
            Ok(true.into())
        }
        PageRequest::Rename { page, new_page } => {
            target(&space, &PageName::parse(page)?)?;
            let input = json!({ "page": page, "new_page": new_page });
            match carry_out(context, || rename_note::rename(&input, &space)) {
                Outcome::Failure { error, .. } => Err(error),
                _ => {
                    for page in [page, new_page] {
                        context.seen.forget(&space.real(&PageName::parse(page)?)?);
                    }
                    Ok(true.into())
                }
            }
        }
        PageRequest::Evaluate { expression, names } => eval_lua::evaluate(expression, names, context),
    }
}

/// The content of a page in whose frontmatter keys get these values, or are removed where there is none.
///
/// # Errors
/// As [`frontmatter::update`]. A key that is to be removed and is not there is no error.
pub fn patch_frontmatter(content: &[u8], keys: Vec<(String, Option<Value>)>) -> Result<Vec<u8>, ModelError> {
    let known = frontmatter::values(content)?;
    let mut update = frontmatter::Update::default();
    for (key, value) in keys {
        match value {
            Some(value) => drop(update.set.insert(key, value)),
            None if known.contains_key(&key) => update.delete.push(key),
            None => {}
        }
    }
    if update == frontmatter::Update::default() {
        Ok(content.to_owned())
    } else {
        frontmatter::update(content, &update)
    }
}

/// The file of a page that a call wants to write, and where it must be.
///
/// # Errors
/// If no page can have this name, or the user denies it.
pub(in super::super) fn file_of_page(context: &Context, page: &str) -> Result<(PathBuf, Bounds), ModelError> {
    let page = PageName::parse(page)?;
    let space = Space::open(context)?;
    let file = space.file(&page)?;
    if file.symlink_metadata().is_err() {
        page.check_new()?;
    }
    Ok((file, space.bounds()))
}

/// The file of a page that is about to be changed.
fn target(space: &Space<'_>, page: &PageName) -> Result<WriteTarget, ModelError> {
    WriteTarget::new(&space.file(page)?, page.as_str(), space.context, &space.bounds())
}

fn problem(page: &PageName, error: &std::io::Error) -> ModelError {
    ModelError::new(format!("{page}: {}.", files::reason(error)))
}
