//! The subject of a call for the rules.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{PathBase, Subject, call_pattern::SHELL_TOOL};
use crate::{
    notes::PageName,
    tools::{Definition, PathKind, paths},
};

/// Shells whose grammar is used for rules. In another shell, the same words may have a different meaning.
const SHELLS: [&str; 3] = ["bash", "sh", "dash"];

/// An owned [`Subject`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// See [`Subject::Command`].
    Command(String),
    /// See [`Subject::Path`].
    Path(PathBuf),
    /// See [`Subject::Other`].
    #[default]
    Other,
}

impl Target {
    /// The subject of a call of this tool with this input.
    ///
    /// A tool's path is the parameter that it declares (`write_path_param`, or else `read_path_param`), relative to the
    /// path base; if the input has none, it is the path base itself. For a tool for notes, the path base starts at their folder. `shell` is the program that runs commands, if the
    /// user has chosen one.
    pub fn of(definition: &Definition, input: &Value, path_base: &PathBase, shell: Option<&str>) -> Self {
        if definition.name == SHELL_TOOL {
            let shell = shell.and_then(|shell| Path::new(shell).file_name()).and_then(|name| name.to_str());
            let known = shell.is_none_or(|shell| SHELLS.contains(&shell));
            let command = input.get("command").and_then(Value::as_str).filter(|_| known);
            return command.map_or(Self::Other, |command| Self::Command(command.to_owned()));
        }
        let parameter = definition.write_path_param.as_ref().or(definition.read_path_param.as_ref());
        parameter.map_or(Self::Other, |parameter| Self::named(definition.path_kind, parameter, input, path_base))
    }

    /// The path that a call of this tool with this input reads; `None` if its definition names no such parameter.
    pub fn of_reading(definition: &Definition, input: &Value, path_base: &PathBase) -> Option<Self> {
        let kind = definition.path_kind;
        definition.read_path_param.as_ref().map(|parameter| Self::named(kind, parameter, input, path_base))
    }

    /// The path in a parameter.
    fn named(kind: PathKind, parameter: &str, input: &Value, path_base: &PathBase) -> Self {
        let folder = &path_base.folder;
        match input.get(parameter) {
            // The tool refuses a name that leads out of the folder.
            Some(Value::String(path)) if kind == PathKind::PageFolder => Self::Path(folder.join(path)),
            Some(Value::String(page)) if kind == PathKind::Page => {
                Self::Path(PageName::parse(page).map_or_else(|_| folder.join(page), |page| folder.join(page.file())))
            }
            Some(Value::String(path)) => Self::Path(paths::resolve(folder, Path::new(path))),
            None | Some(Value::Null) => Self::Path(folder.clone()),
            Some(_) => Self::Other,
        }
    }

    /// The same, borrowed.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Command(command) => Subject::Command(command),
            Self::Path(path) => Subject::Path(path),
            Self::Other => Subject::Other,
        }
    }

    /// Whether a rule with a pattern can match calls of this tool.
    pub fn exists_for(definition: &Definition) -> bool {
        definition.name == SHELL_TOOL || definition.write_path_param.is_some() || definition.read_path_param.is_some()
    }
}
