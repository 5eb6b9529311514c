//! `agents`: what tools may read and write in a conversation, by a name that a user or a file chooses.

use serde_json::Value;

use super::declare::{options, or};
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

options! {
    /// One of `agents`.
    #[derive(Eq)]
    pub struct AgentOptions {
        /// What tools may read; `None` for everything.
        pub allowed_read_paths: Option<Vec<String>> = paths("allowedReadPaths");
        /// What tools may write, if they may read it too; `None` for everything.
        pub allowed_write_paths: Option<Vec<String>> = paths("allowedWritePaths");
        /// Tools that may run although they do not declare which paths they use.
        pub unchecked_tools: Vec<String> = or(Vec::new(), &NAMES);
    }
}

impl AgentOptions {
    /// Whether it restricts anything.
    pub fn is_restricting(&self) -> bool {
        self.allowed_read_paths.is_some() || self.allowed_write_paths.is_some()
    }
}

/// A list of paths, which has another name as well.
fn paths(other: &str) -> impl FnOnce(&mut Table<'_>, &str) -> Option<Vec<String>> {
    move |table, name| {
        let paths = table.some(name, &PATHS);
        if table.has(name)
            && let Some(value) = table.raw(other)
        {
            table.wrong(other, format!("omitted: it is another name of `{name}`"), value);
            return paths;
        }
        paths.or_else(|| table.some(other, &PATHS))
    }
}
