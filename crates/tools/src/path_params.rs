//! Which properties of a tool's input name paths, and the paths that a call names in them.

use std::{
    path::{Path, PathBuf},
    slice,
};

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::paths;
use flemma_chat::{BEGINNINGS, LineRange};
use flemma_model::ModelError;
use flemma_notes::PageName;
use flemma_text::{escape_controls, one_line};

/// The longest path in bytes that systems take (`PATH_MAX`).
const MAX_PATH: usize = 4096;

/// How much of a value that is no path a message shows, in characters.
const MAX_SHOWN: usize = 60;

/// What the paths in a tool's input are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Files and folders. Relative ones start at the conversation's folder.
    #[default]
    File,
    /// Pages, without `.md`, from the folder of notes.
    Page,
    /// Folders, from the folder of notes.
    PageFolder,
}

impl PathKind {
    /// The words for it in a definition.
    pub const WORDS: [(&str, Self); 3] =
        [("file", Self::File), ("page", Self::Page), ("page_folder", Self::PageFolder)];

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("file", |(word, _)| word)
    }
}

/// The properties of a tool's input that name paths. None at all says that the tool uses no files, or judges each path
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathParams(Vec<String>);

impl PathParams {
    /// The names of the properties.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there is no such property.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that no path in these properties is too long to be one. Looking where it leads would take long as well.
    ///
    /// # Errors
    /// The first that is.
    pub(super) fn check_lengths(&self, input: &Value) -> Result<(), ModelError> {
        let texts = |param| values(input, param).iter().filter_map(Value::as_str);
        self.iter().try_for_each(|param| texts(param).try_for_each(|path| check_length(param, path)))
    }

    /// As a definition writes it: a name, or a list of names.
    pub fn to_json(&self) -> Value {
        match self.0.as_slice() {
            [name] => name.clone().into(),
            names => names.into(),
        }
    }
}

impl From<&str> for PathParams {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl From<Vec<String>> for PathParams {
    fn from(names: Vec<String>) -> Self {
        Self(names)
    }
}

/// The values of a property: the elements of a list, or the one that it has. A missing one and an empty list are null.
fn values<'a>(input: &'a Value, param: &str) -> &'a [Value] {
    match input.get(param).unwrap_or(&Value::Null) {
        Value::Array(list) if list.is_empty() => &[Value::Null],
        Value::Array(list) => list,
        value => slice::from_ref(value),
    }
}

fn check_length(param: &str, path: &str) -> Result<(), ModelError> {
    match path.len() {
        0..=MAX_PATH => Ok(()),
        len => bail!("`{param}` has {len} bytes, and a path has at most {MAX_PATH}."),
    }
}

/// A path that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// As the model wrote it; `None` if it wrote none, which means the folder in which paths start.
    pub written: Option<String>,
    /// Where the tool would look; absolute.
    pub path: PathBuf,
    /// Why no tool can use it, if that is known.
    pub problem: Option<ModelError>,
}

/// What a path means that is written as something else is: as a reference in a message, as a URL, in quotes, or with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeantPath {
    /// The path itself.
    pub path: String,
    /// Whether nobody would call a file so. Else it depends on whether the path itself is there.
    pub is_certain: bool,
}

impl MeantPath {
    /// What a model means by `written`; `None` for a path.
    pub fn of(written: &str) -> Option<Self> {
        let (mut path, mut is_certain) = (written.to_owned(), false);
        let unquoted = |path: &str| {
            let inner = ['"', '\'', '`'].into_iter().find_map(|mark| path.strip_prefix(mark)?.strip_suffix(mark));
            inner.map(str::to_owned)
        };
        let no_url = |path: &str| {
            let rest = path.strip_prefix("file://")?;
            let url =
                Url::parse(path).ok().and_then(|url| url.to_file_path().ok()?.into_os_string().into_string().ok());
            Some(url.unwrap_or_else(|| rest.to_owned()))
        };
        while let Some(inner) = unquoted(&path).or_else(|| no_url(&path)) {
            (path, is_certain) = (inner, true);
        }
        if let Some(rest) = path.strip_prefix('@') {
            is_certain |= BEGINNINGS.iter().any(|beginning| rest.starts_with(beginning));
            path = rest.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(rest).to_owned();
        }
        let end = LineRange::split(&path).map(|(file, _)| file).unwrap_or_else(|| without_line(&path)).len();
        path.truncate(end);
        (path != written && !path.is_empty()).then_some(Self { path, is_certain })
    }

    /// The message for a model that wrote it.
    pub fn problem(&self, written: &str) -> ModelError {
        let (written, path) = (escape_controls(written), escape_controls(&self.path));
        ModelError::new(format!("`{written}` is not a path: there is no such file. Write the path as it is: `{path}`."))
    }
}

/// A path without the line and the column behind it, as compilers write them.
fn without_line(path: &str) -> &str {
    let mut rest = path;
    for _ in 0..2 {
        match rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').strip_suffix(':') {
            Some(file) if !file.is_empty() && !rest.ends_with(':') => rest = file,
            _ => break,
        }
    }
    rest
}

/// The paths that a call names in these properties. A list counts as each of its elements. A property that is missing or
/// null, and an empty list, count as `folder`, in which relative paths start.
///
/// # Errors
/// If a value is neither a path nor a list of paths, or too long for one.
pub fn named_paths(
    kind: PathKind,
    params: &PathParams,
    input: &Value,
    folder: &Path,
) -> Result<Vec<NamedPath>, ModelError> {
    let named = |param| values(input, param).iter().map(move |value| named(kind, param, value, folder));
    params.iter().flat_map(named).collect()
}

fn named(kind: PathKind, param: &str, value: &Value, folder: &Path) -> Result<NamedPath, ModelError> {
    if let Value::String(path) = value {
        check_length(param, path)?;
    }
    let at = |written: &str, path: PathBuf| NamedPath { written: Some(written.to_owned()), path, problem: None };
    let named = match value {
        Value::Null => return Ok(NamedPath { written: None, path: folder.to_owned(), problem: None }),
        Value::String(path) if kind == PathKind::File => at(path, paths::resolve(folder, Path::new(path))),
        // The tool refuses a name that leads out of the folder.
        Value::String(path) if kind == PathKind::PageFolder => at(path, folder.join(path)),
        // With a slash at its end, it is a folder of pages.
        Value::String(page) => match PageName::parse(page.trim_end_matches('/')) {
            Ok(name) if page.ends_with('/') => at(page, folder.join(name.as_str())),
            Ok(name) => at(page, folder.join(name.file())),
            Err(problem) => NamedPath { problem: Some(problem), ..at(page, folder.join(page)) },
        },
        other => {
            let shown = one_line(&other.to_string(), MAX_SHOWN);
            bail!("`{param}` must be a path or a list of paths, not {shown}.");
        }
    };
    let written = named.written.as_deref().filter(|written| written.contains('\0'));
    let nul = written
        .map(escape_controls)
        .map(|shown| ModelError::new(format!("`{shown}` contains a NUL character, which a file name cannot contain.")));
    Ok(NamedPath { problem: nul.or(named.problem), ..named })
}
