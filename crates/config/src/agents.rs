//! `agents`: what tools may read and write in a conversation, by a name that a user or a file chooses.

use serde::Serialize;
use serde_json::Value;

use flemma_model::options::{Kind, Table, kinds::NAMES};

/// A path, or a list of paths. A wildcard would silently match nothing.
const PATHS: Kind<Vec<String>> = Kind {
    expected: "a list of paths without wildcards, as in { \"Journal\", \"~/notes\" }",
    read: |value| {
        let paths = match value {
            Value::String(path) if !path.is_empty() => Some(vec![path.clone()]),
            value => (NAMES.read)(value),
        };
        paths.filter(|paths| !paths.iter().any(|path| path.contains(['*', '\0'])))
    },
};

/// One of `agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentOptions {
    /// What tools may read; `None` for everything.
    pub allowed_read_paths: Option<Vec<String>>,
    /// What tools may write, if they may read it too; `None` for everything.
    pub allowed_write_paths: Option<Vec<String>>,
    /// Tools that may run although they do not declare which paths they use.
    pub unchecked_tools: Vec<String>,
}

impl AgentOptions {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            allowed_read_paths: paths(table, "allowed_read_paths", "allowedReadPaths"),
            allowed_write_paths: paths(table, "allowed_write_paths", "allowedWritePaths"),
            unchecked_tools: table.get("unchecked_tools", Vec::new(), &NAMES),
        }
    }

    /// Whether it restricts anything.
    #[must_use]
    pub fn is_restricting(&self) -> bool {
        self.allowed_read_paths.is_some() || self.allowed_write_paths.is_some()
    }
}

/// Reads a list of paths, which has another name as well.
fn paths(table: &mut Table<'_>, name: &str, other: &str) -> Option<Vec<String>> {
    let paths = table.some(name, &PATHS);
    if table.has(name)
        && let Some(value) = table.raw(other)
    {
        table.wrong(other, format!("omitted: it is another name of `{name}`"), value);
        return paths;
    }
    paths.or_else(|| table.some(other, &PATHS))
}
