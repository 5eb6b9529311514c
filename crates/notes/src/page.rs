//! Names of pages.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use flemma_model::ModelError;
use flemma_text::escape_controls;

/// The extension of a page's file, with its dot.
const EXTENSION: &str = ".md";

/// The name of a page: its path below the folder of notes, with `/` between its parts and without `.md`. It cannot lead out
/// of the folder by itself; links on the disk still can.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageName(String);

impl PageName {
    /// The page that a model names. `.md` at the end is left out.
    ///
    /// # Errors
    /// If no page can have this name, with the reason.
    pub fn parse(written: &str) -> Result<Self, ModelError> {
        let refuse = |problem: &str| {
            let shown = escape_controls(written);
            Err(ModelError::new(format!("`{shown}` is not the name of a page: {problem}.")))
        };
        let name = written.strip_suffix(EXTENSION).unwrap_or(written);
        ModelError::when(name.is_empty(), "The name of the page is empty: give its path without `.md`.")?;
        if name.contains('\0') {
            return refuse("it contains a NUL character, which a file name cannot contain");
        }
        if name.chars().any(char::is_control) {
            return refuse("it contains a control character");
        }
        if name.starts_with('/') || name.starts_with('~') {
            return refuse("write its path below the folder of notes, as in `Projects/Plan`");
        }
        if let Some(part) = name.split('/').find(|part| part.is_empty() || part.starts_with('.')) {
            return refuse(match part {
                "" => "a part of it is empty",
                ".." => "`..` is not allowed; write its path below the folder of notes",
                _ => "a part of it begins with a dot, and hidden files are not pages",
            });
        }
        Ok(Self(name.to_owned()))
    }

    /// The page in a file, whose path starts at the folder of notes; `None` if it is not one.
    pub fn of_file(path: &Path) -> Option<Self> {
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        Self::parse(path.to_str()?.strip_suffix(EXTENSION)?).ok().filter(|page| page.file() == path)
    }

    /// Checks that a page can be given this name: links can contain it.
    ///
    /// # Errors
    /// The character that links cannot contain, or a space at an end.
    pub fn check_new(&self) -> Result<(), ModelError> {
        if let Some(sign) = self.0.chars().find(|sign| "[]|#^\\<>`".contains(*sign)) {
            return Err(ModelError::new(format!(
                "`{self}` cannot be the name of a new page: no link could contain its `{sign}`. Choose another name."
            )));
        }
        if self.0.split('/').any(|part| part.trim() != part) {
            return Err(ModelError::new(format!(
                "`{self}` cannot be the name of a new page: a part of it begins or ends with a space."
            )));
        }
        Ok(())
    }

    /// The path of its file, from the folder of notes.
    pub fn file(&self) -> PathBuf {
        PathBuf::from(format!("{}{EXTENSION}", self.0))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder that it is in; empty for the folder of notes itself.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The last part of the name.
    pub fn base(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, base)| base)
    }
}

impl fmt::Display for PageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
