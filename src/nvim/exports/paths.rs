//! Where files are: those of conversations, of notes, and the links to others; and what the user's policies allow a tool.

use std::path::PathBuf;

use mlua::{BString, IntoLua, IntoLuaMulti, Lua, MultiValue, Table};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::{binding::Binding, convert};
use flemma_model::CallId;
use flemma_tools::Access;

/// What is looked for. `File`, `Files`, `Last`, `New` and `Prompts` wait for the disk for a moment.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Sought {
    // A file with links resolved; nothing if there is none. Also says whether it is a regular file.
    File { path: BString },
    // The same of many, as a list: false where there is nothing.
    Files { paths: Vec<BString> },
    // The root of the project that the conversation at this path belongs to.
    Project { path: BString },
    // The conversation that was used last of the project whose root is above `start`, or else is `otherwise`.
    Last { start: BString, otherwise: BString },
    // The same for a new one.
    New { start: BString, otherwise: BString, title: String },
    // The folder in which a tool works.
    WorkingDirectory { buffer: i32, tool: String },
    // The file of a page of notes.
    Page { buffer: i32, page: BString },
    // The names of the prompts of a conversation, as a list.
    Prompts { buffer: i32 },
    Log,
}

/// What is asked for.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Wanted {
    // The tool of a call wants to use a file. -> why it may not
    Call { call: CallId, access: Access, path: BString },
    // A model is to be told about files or buffers. -> for each whether it may, and whether nothing is denied
    Read { names: Vec<BString> },
    // A file does not exist. -> that, with similar names; or nil if the model may not be told of it
    Missing { path: BString, name: BString },
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // path(what, fields or nil) -> the path of a `Sought`, or nil; and what went wrong
    exports.add("path", |lua, binding, (what, fields): (String, Option<Table>)| {
        find(lua, binding, convert::variant(lua, &what, fields)?)
    })?;
    // access(buffer, what, fields) -> what `Wanted` says of it
    exports.add("access", |lua, binding, (buffer, what, fields): (i32, String, Table)| {
        let workspace = &binding.workspace;
        let conversation = workspace.conversation(buffer);
        match (convert::variant(lua, &what, Some(fields))?, conversation) {
            (Wanted::Call { call, access, path }, Some(conversation)) => {
                let problem = workspace.permissions.path_problem(&conversation, &call, access, &convert::path(path));
                problem.map(|problem| problem.to_string()).into_lua_multi(lua)
            }
            (Wanted::Call { .. }, None) => "The conversation of this call is closed.".into_lua_multi(lua),
            (Wanted::Read { names }, conversation) => {
                let count = names.len();
                let names: Vec<_> = names.into_iter().map(convert::path).collect();
                let judged = conversation.map(|conversation| workspace.permissions.may_read(&conversation, &names));
                judged.unwrap_or_else(|| (vec![false; count], false)).into_lua_multi(lua)
            }
            (Wanted::Missing { path, name }, conversation) => {
                let (path, name) = (convert::path(path), name.to_string());
                conversation
                    .and_then(|conversation| workspace.permissions.missing_file(&conversation, &path, &name))
                    .into_lua_multi(lua)
            }
        }
    })
}

fn find(lua: &Lua, binding: &Binding, sought: Sought) -> mlua::Result<MultiValue> {
    let workspace = &binding.workspace;
    let root = |start, otherwise| workspace.projects.project_root(&convert::path(start), &convert::path(otherwise));
    match sought {
        Sought::File { path } => {
            let (found, problem) = or_problem(workspace.permissions.found_file(&convert::path(path)));
            let (real, is_file) = found.flatten().unzip();
            (real, problem, is_file.unwrap_or(false)).into_lua_multi(lua)
        }
        Sought::Files { paths } => {
            let (found, problem) =
                or_problem(workspace.permissions.real_paths(paths.into_iter().map(convert::path).collect()));
            let or_false = |path: Option<PathBuf>| path.map_or_else(|| false.into_lua(lua), |path| path.into_lua(lua));
            let found = found.map(|found| convert::list(lua, found.into_iter().map(or_false))).transpose()?;
            (found, problem).into_lua_multi(lua)
        }
        Sought::Project { path } => workspace.shared.project_of(&convert::path(path)).into_lua_multi(lua),
        Sought::Last { start, otherwise } => {
            let found = root(start, otherwise).and_then(|root| workspace.projects.last_used_conversation(&root));
            let (found, problem) = or_problem(found);
            (found.flatten(), problem).into_lua_multi(lua)
        }
        Sought::New { start, otherwise, title } => {
            let found = root(start, otherwise).and_then(|root| workspace.projects.new_conversation(&root, &title));
            or_problem(found).into_lua_multi(lua)
        }
        Sought::WorkingDirectory { buffer, tool } => {
            workspace.permissions.working_directory_of(buffer, &tool).into_lua_multi(lua)
        }
        Sought::Page { buffer, page } => {
            let Some(conversation) = workspace.conversation(buffer) else { return Ok(MultiValue::new()) };
            or_problem(workspace.frontmatter.page_file(&conversation, &page.to_string())).into_lua_multi(lua)
        }
        Sought::Prompts { buffer } => or_problem(workspace.instructions.prompt_names(buffer)).into_lua_multi(lua),
        Sought::Log => workspace.shared.log_path().into_lua_multi(lua),
    }
}

/// A result for Lua: the value, or nil and what went wrong.
fn or_problem<T>(result: Result<T, impl ToString>) -> (Option<T>, Option<String>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(problem) => (None, Some(problem.to_string())),
    }
}
