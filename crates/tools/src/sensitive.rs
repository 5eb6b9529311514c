//! Files that cause something else to run later, or that hold secrets, by their names.
//!
//! Writing such a file is more than changing a project: a shell, an editor, git or a server runs its contents without
//! asking again. Start-up files of programs ask every time ([`is_start_up`]). Of the others ([`is_sensitive`]), the preset
//! `$default` approves none. The tables, in `sensitive.json`, list what has a usual name; in a project, everything hidden counts that is not known to be
//! harmless, because programs load such files by themselves. [`super::file_class`] and [`super::project`] handle folders that are
//! recognised by their contents. The tables cannot list the files that the project's own programs run (`Makefile`, `package.json`,
//! `build.rs`), because writing those is the purpose of an agent. The targets of `core.hooksPath` and of a program's own options
//! cannot be known here.
//!
//! Names are compared without case, and without the characters that some file systems ignore.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::Deserialize;

use super::{paths::real, wildcard::Wildcard};

/// The tables. Each has lists by what programs do with such files. The patterns are in lower case; one that ends in `/**` is for what is
/// in a folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    /// Files that a shell, an editor, git or another program reads when it starts, in whatever folder they are.
    start_up: Table,
    /// The same, if they are in the user's home folder: what programs of the user load from there.
    home: Table,
    /// What Neovim and its plugins run by themselves in a folder of 'runtimepath'. What else is there (`doc`, `tests`, `src`) is not.
    runtime: Table,
    /// Files that something else runs later, or that say what it runs.
    run_later: Table,
    /// Secrets: keys, passwords and other credentials.
    secrets: Table,
    /// What is hidden in a project and neither runs anything nor holds secrets.
    harmless: Table,
    /// Variables that name a folder or a file that programs read when they start.
    variables: Vec<String>,
}

/// One of them.
#[derive(Deserialize)]
#[serde(from = "BTreeMap<String, Vec<String>>")]
struct Table(Vec<Pattern>);

/// A pattern for paths.
struct Pattern {
    parts: Vec<Wildcard>,
    is_folder: bool,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    // Without it nothing could be judged, so a mistake in it, which the tests would find, ends the judgement.
    let tables = serde_json::from_str(include_str!("sensitive.json"));
    tables.unwrap_or_else(|error| panic!("the tables of sensitive files are not valid: {error}"))
});

/// Whether a file is one that a program reads when it starts, by its name and the names of the folders above it, or because an
/// environment variable names it. `path` is absolute. Links are not followed, so a caller must check both the path as written and its
/// target.
pub(super) fn is_start_up(path: &Path, home: Option<&Path>) -> bool {
    let is_wide = |folder: &Path| !folder.is_absolute() || home.is_some_and(|home| home.starts_with(folder));
    let below_home = home.and_then(|home| path.strip_prefix(home).ok()).map(folded).unwrap_or_default();
    TABLES.start_up.matches(&folded(path))
        || [&TABLES.start_up, &TABLES.home].iter().any(|table| table.begins(&below_home))
        // A folder above the home folder would match everything.
        || places().iter().any(|place| !is_wide(place) && path.starts_with(place))
}

/// Whether something in a folder of 'runtimepath', of which this is the path there, is run by Neovim or its plugins.
pub(super) fn is_of_runtime(below: &Path) -> bool {
    TABLES.runtime.begins(&folded(below))
}

/// Whether an entry of the home folder leads to such files, or is one.
pub(super) fn may_lead_to_start_up(entry: &OsStr) -> bool {
    let name = fold(entry);
    let mut patterns = TABLES.start_up.0.iter().chain(&TABLES.home.0);
    patterns.any(|pattern| pattern.parts[0].matches(&name))
}

/// What environment variables name, as they do and with links resolved.
pub(super) fn places() -> Vec<PathBuf> {
    let named =
        TABLES.variables.iter().filter_map(env::var_os).flat_map(|value| env::split_paths(&value).collect::<Vec<_>>());
    // Other things may be there that no program runs.
    let data = env::var_os("XDG_DATA_HOME").map(|folder| Path::new(&folder).join("nvim"));
    named.chain(data).filter(|path| path.is_absolute()).flat_map(|path| [real(&path), path]).collect()
}

/// Whether a file is another one that something runs later, or that holds secrets, in a project with this root folder. `path` is
/// absolute, and its links are resolved. This reads the disk.
pub(super) fn is_sensitive(path: &Path, root: &Path) -> bool {
    let names = folded(path);
    let below = path.strip_prefix(root).map(folded).unwrap_or_default();
    let is_hidden = below.iter().any(|name| name.starts_with('.')) && !TABLES.harmless.matches(&below);
    // A program must be directly in a folder of the search path.
    let search = env::var_os("PATH").unwrap_or_default();
    let is_here = |folder: &PathBuf| path.parent() == Some(folder) || path.parent() == Some(&real(folder));
    let is_program = env::split_paths(&search).any(|folder| folder.is_absolute() && is_here(&folder));
    let tables = [&TABLES.start_up, &TABLES.run_later, &TABLES.secrets];
    is_hidden || is_program || tables.iter().any(|table| table.matches(&names))
}

/// The components of a path in the form for comparison.
fn folded(path: &Path) -> Vec<String> {
    path.iter().map(fold).collect()
}

/// A name without case, and without the characters that HFS+ ignores in names.
fn fold(name: &OsStr) -> String {
    let is_passed_over = |character: char| matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = name.to_string_lossy();
    // Through upper case, since some letters are only reached as the lower-case form of another letter's upper case.
    name.chars()
        .filter(|&character| !is_passed_over(character))
        .flat_map(char::to_uppercase)
        .collect::<String>()
        .to_lowercase()
}

impl From<BTreeMap<String, Vec<String>>> for Table {
    fn from(lists: BTreeMap<String, Vec<String>>) -> Self {
        let pattern = |text: String| {
            let (parts, is_folder) = (text.trim_end_matches("/**"), text.ends_with("/**"));
            Pattern { parts: parts.split('/').map(Wildcard::new).collect(), is_folder }
        };
        Self(lists.into_values().flatten().map(pattern).collect())
    }
}

impl Table {
    /// Whether a pattern matches a path: its last components, or with `/**` components anywhere in it.
    fn matches(&self, names: &[String]) -> bool {
        self.0.iter().any(|pattern| {
            let mut places = names.windows(pattern.parts.len());
            let is_like = |names: &[String]| pattern.is_like(names);
            if pattern.is_folder { places.any(is_like) } else { places.next_back().is_some_and(is_like) }
        })
    }

    /// Whether the first components of a path match a pattern: all of them, unless it ends in `/**`.
    fn begins(&self, names: &[String]) -> bool {
        self.0.iter().any(|pattern| {
            let length = pattern.parts.len();
            let is_long_enough = names.len() == length || (pattern.is_folder && names.len() > length);
            is_long_enough && pattern.is_like(names)
        })
    }
}

impl Pattern {
    fn is_like(&self, names: &[String]) -> bool {
        self.parts.iter().zip(names).all(|(part, name)| part.matches(name))
    }
}

#[cfg(test)]
#[path = "sensitive_tests.rs"]
mod tests;
