//! File rules: `read(src/**)`.
//!
//! The leading part of a pattern without a wildcard is a folder, or the file itself. It is resolved in the same way as the
//! call's path, so that real paths are compared; only the rest is a glob.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::{PathBase, pattern::Likeness};
use crate::{Disk, paths::plain};
use flemma_model::UserError;
use flemma_text::bounds;

/// A pattern for paths.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    /// The part without wildcards.
    base: PathBuf,
    /// The glob below it; `None` if the pattern is a path.
    below: Option<Below>,
}

#[derive(Clone, Debug)]
struct Below {
    /// The number of its components; `None` with `**`, which matches any number.
    parts: Option<usize>,
    /// Whether it also matches the folder itself.
    with_base: bool,
    approving: GlobMatcher,
    denying: GlobMatcher,
}

impl PathPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// What is wrong with it and the fix, as the end of a message that begins with the rule.
    pub(super) fn parse(text: &str) -> Result<Self, UserError> {
        if text.is_empty() {
            return Err(UserError::new("it names no path. Write one, like `src/**`"));
        }
        let parts: Vec<&str> = text.split('/').collect();
        let is_wild = |part: &&str| part.contains(['*', '?', '[', '{', '\\']);
        let literal = parts.iter().position(is_wild).unwrap_or(parts.len());
        let base = match parts[..literal].join("/") {
            base if base.is_empty() && literal > 0 => "/".into(),
            base => base,
        };
        let rest = &parts[literal..];
        if rest.contains(&"..") {
            return Err(UserError::new("it has `..` after a wildcard. Write the path of the folder without `..`"));
        }
        let below = if rest.is_empty() { None } else { Some(Below::new(rest)?) };
        Ok(Self { base: base.into(), below })
    }

    /// Whether an approving rule matches this path. If a part of a relative pattern is a link that leads out of the folder, it matches
    /// nothing: whoever changes the folder could decide otherwise what the rule means.
    pub(super) fn matches(&self, path: &Path, path_base: &PathBase) -> bool {
        let Some(base) = path_base.resolve(&self.base) else { return false };
        let is_relative = self.base.is_relative() && !self.base.starts_with("~");
        path_base.disk.surely(|disk| {
            let (real, folder) = (disk.real(&base), disk.real(&path_base.folder));
            if is_relative && !real.starts_with(&folder) && real != plain(&folder.join(&self.base)) {
                return false;
            }
            disk.real(path).strip_prefix(real).is_ok_and(|rest| match &self.below {
                None => rest.as_os_str().is_empty(),
                Some(below) if rest.as_os_str().is_empty() => below.with_base,
                Some(below) => below.approving.is_match(rest),
            })
        })
    }

    /// Whether a denying rule matches this path, or something below it that a tool might reach.
    ///
    /// Both the path as written and the real path are compared: one match is enough.
    pub(super) fn is_like(&self, path: &Path, path_base: &PathBase) -> Likeness {
        let Some(base) = path_base.resolve(&self.base) else { return Likeness::Maybe };
        let disk = &path_base.disk;
        let (paths, bases) = ([plain(path), disk.real(path)], [plain(&base), disk.real(&base)]);
        let compared = paths.iter().flat_map(|path| bases.iter().map(|base| self.compare(path, base, disk)));
        compared.max().unwrap_or(Likeness::Maybe)
    }

    /// The folder that the pattern is relative to; `None` if it is not known.
    pub(super) fn base(&self, path_base: &PathBase) -> Option<PathBuf> {
        path_base.resolve(&self.base)
    }

    /// Compares a path with the pattern below `base`, lexically. The disk says whether there is a folder at the path.
    pub(super) fn compare(&self, path: &Path, base: &Path, disk: &Disk) -> Likeness {
        let Ok(rest) = path.strip_prefix(base) else {
            // A tool with a folder may descend to where the rule applies.
            return if base.starts_with(path) { Likeness::Maybe } else { Likeness::No };
        };
        let depth = rest.components().count();
        match &self.below {
            None if depth == 0 => Likeness::Yes,
            None => Likeness::No,
            Some(below) if depth == 0 && below.with_base => Likeness::Yes,
            Some(below) if depth > 0 && below.denying.is_match(rest) => Likeness::Yes,
            Some(below) if below.parts.is_none_or(|parts| parts > depth) && disk.is_folder(path) => Likeness::Maybe,
            Some(_) => Likeness::No,
        }
    }
}

impl Below {
    fn new(rest: &[&str]) -> Result<Self, UserError> {
        let text = rest.join("/");
        bounds::glob(&text).map_err(|excess| UserError::new(format!("its glob is too much: {excess}")))?;
        let glob = |any_case: bool| {
            GlobBuilder::new(&text)
                .literal_separator(true)
                .backslash_escape(true)
                .case_insensitive(any_case)
                .build()
                .map(|glob| glob.compile_matcher())
                .map_err(|error| UserError::new(format!("`{text}` is not a valid glob: {}", error.kind())))
        };
        // On a case-insensitive file system, a denial must not depend on case.
        let (approving, any_case) = (glob(false)?, cfg!(any(windows, target_os = "macos")));
        Ok(Self {
            // An alternative may contain a slash.
            parts: (!rest.iter().any(|part| part.contains("**") || part.contains('{'))).then_some(rest.len()),
            with_base: rest == ["**"],
            denying: if any_case { glob(true)? } else { approving.clone() },
            approving,
        })
    }
}

impl PathBase {
    /// The path in a rule, which may start at the home folder; `None` if that is not known.
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let mut parts = path.components();
        match parts.next() {
            Some(Component::Normal(first)) if first == "~" => Some(self.home.as_ref()?.join(parts.as_path())),
            _ => Some(self.folder.join(path)),
        }
    }
}
