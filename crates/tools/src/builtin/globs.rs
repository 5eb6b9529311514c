//! Globs as models write them: `*.rs`, `src/**/*.{ts,tsx}`, `Makefile`.
//!
//! A glob without a slash matches the name of a file in any folder. A glob with a slash matches the path relative to the
//! searched folder. `*` and `?` do not match a slash, `**` does. Case matters.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use flemma_model::ModelError;
use flemma_text::bounds;

/// A parsed glob.
pub(super) struct Glob {
    matcher: GlobMatcher,
    /// Whether it matches the whole path.
    whole_path: bool,
    /// Whether it includes names that begin with a dot.
    hidden: bool,
}

impl Glob {
    /// Parses `glob`, which is `field` in the input.
    ///
    /// # Errors
    /// A message for the model if it is not a valid glob, or cannot match anything.
    pub(super) fn new(glob: &str, field: &str) -> Result<Self, ModelError> {
        let relative = glob.strip_prefix("./").unwrap_or(glob);
        if relative.is_empty() {
            return Err(ModelError::new(format!(
                "`{field}` is empty. Give a glob like `*.rs`; `*` matches every name."
            )));
        }
        if relative.starts_with('/') || relative.split('/').any(|part| part == "..") {
            return Err(ModelError::new(format!(
                "`{field}` matches paths below the searched folder, so `{glob}` cannot match anything: put the folder \
                 in `path` instead."
            )));
        }
        bounds::glob(relative)
            .map_err(|excess| ModelError::new(format!("`{field}` is not a glob that can be matched: {excess}.")))?;
        let matcher = GlobBuilder::new(relative)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| ModelError::new(format!("`{field}` is not a valid glob: {} in `{glob}`.", error.kind())))?
            .compile_matcher();
        let hidden = relative.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        Ok(Self { matcher, whole_path: relative.contains('/'), hidden })
    }

    /// Whether it matches a path, relative to the searched folder.
    pub(super) fn matches(&self, path: &Path) -> bool {
        if self.whole_path {
            return self.matcher.is_match(path);
        }
        path.file_name().is_some_and(|name| self.matcher.is_match(Path::new(name)))
    }

    /// Whether it contains a name that begins with a dot, so that hidden files are included.
    pub(super) fn asks_for_hidden(&self) -> bool {
        self.hidden
    }
}
