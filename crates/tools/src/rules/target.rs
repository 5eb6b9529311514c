//! The part of a call that a rule can match.

use std::path::PathBuf;

use serde_json::Value;

use super::{PathBase, rule::SHELL_TOOL};
use crate::{Definition, PathParams, named_paths};

/// The part of a call that a rule can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command line for bash.
    Command(&'a str),
    /// The files and folders that are passed to the tool; absolute, as the tool would open them. A denial of one applies to the
    /// call, and an approval has to cover each.
    Paths(&'a [PathBuf]),
    /// Neither: only rules about the whole tool apply.
    Other,
}

/// An owned [`Subject`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// See [`Subject::Command`].
    Command(String),
    /// See [`Subject::Paths`].
    Paths(Vec<PathBuf>),
    /// See [`Subject::Other`].
    #[default]
    Other,
}

impl Target {
    /// The subject of a call of this tool with this input.
    ///
    /// A tool's paths are the properties that it declares (`write_path_param`, or else `read_path_param`), relative to the
    /// path base; if the input has none, it is the path base itself. For a tool for notes, the path base starts at their
    /// folder.
    pub fn of(definition: &Definition, input: &Value, path_base: &PathBase) -> Self {
        if definition.name == SHELL_TOOL {
            let command = input.get("command").and_then(Value::as_str);
            return command.map_or(Self::Other, |command| Self::Command(command.to_owned()));
        }
        Self::named(definition, Self::params(definition), input, path_base).unwrap_or_default()
    }

    /// The paths that a call of this tool with this input reads; `None` if its definition names no such property.
    pub fn of_reading(definition: &Definition, input: &Value, path_base: &PathBase) -> Option<Self> {
        Self::named(definition, definition.read_path_param.as_ref(), input, path_base)
    }

    /// The properties that rules about a tool apply to.
    fn params(definition: &Definition) -> Option<&PathParams> {
        let params = [definition.write_path_param.as_ref(), definition.read_path_param.as_ref()];
        params.into_iter().flatten().find(|params| !params.is_empty())
    }

    /// The paths in these properties; `None` for no properties.
    fn named(
        definition: &Definition,
        params: Option<&PathParams>,
        input: &Value,
        path_base: &PathBase,
    ) -> Option<Self> {
        let params = params.filter(|params| !params.is_empty())?;
        let Ok(named) = named_paths(definition.path_kind, params, input, &path_base.folder) else {
            return Some(Self::Other);
        };
        Some(Self::Paths(named.into_iter().map(|named| named.path).collect()))
    }

    /// The same, borrowed.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Command(command) => Subject::Command(command),
            Self::Paths(paths) => Subject::Paths(paths),
            Self::Other => Subject::Other,
        }
    }

    /// Whether a rule with a pattern can match calls of this tool.
    pub fn exists_for(definition: &Definition) -> bool {
        definition.name == SHELL_TOOL || Self::params(definition).is_some()
    }
}
