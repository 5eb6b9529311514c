//! The conversations of projects: the Rust side of `lua/flemma/conversations/init.lua`.

use std::path::PathBuf;

use mlua::{Function, IntoLua};

use super::table::Exports;
use crate::{model::UserError, nvim::convert, workspace::Workspace};

/// A result for Lua: the value, or nil and what went wrong.
fn or_problem<T>(result: Result<T, UserError>) -> (Option<T>, Option<String>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(problem) => (None, Some(problem.to_string())),
    }
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // conversation_project(path) -> the root of the project that the conversation at this path belongs to, or nil
    exports.add("conversation_project", |_, binding, path: PathBuf| Ok(binding.workspace.project_of(&path)))?;
    // working_directory(buffer, tool) -> the folder in which the tool works
    exports.add("working_directory", |_, binding, (buffer, tool): (i32, String)| {
        Ok(binding.workspace.working_directory_of(buffer, &tool))
    })?;
    // last_conversation(start, otherwise) -> the path of the conversation that was used last of the project whose root is above `start`,
    // or else is `otherwise`; or nil and what went wrong, if anything. This and the next three wait for the disk for a moment
    exports.add("last_conversation", |_, binding, (start, otherwise): (PathBuf, PathBuf)| {
        let root = binding.workspace.project_root(&start, &otherwise);
        let (found, problem) = or_problem(root.and_then(|root| binding.workspace.last_used_conversation(&root)));
        Ok((found.flatten(), problem))
    })?;
    // new_conversation(start, otherwise, title) -> the path for a new conversation; or nil and what went wrong
    exports.add("new_conversation", |_, binding, (start, otherwise, title): (PathBuf, PathBuf, String)| {
        let root = binding.workspace.project_root(&start, &otherwise);
        Ok(or_problem(root.and_then(|root| binding.workspace.new_conversation(&root, &title))))
    })?;
    // found_file(path) -> its path with links resolved, or nil if there is nothing; whether it is a regular file; and what went
    // wrong
    exports.add("found_file", |_, binding, path: PathBuf| {
        let (found, problem) = or_problem(binding.workspace.found_file(&path));
        let (real, is_file) = found.flatten().map(|found| (found.real, found.is_file)).unzip();
        Ok((real, is_file.unwrap_or(false), problem))
    })?;
    // real_paths(paths) -> the paths with their links resolved, and false where there is nothing; or nil and what went wrong
    exports.add("real_paths", |lua, binding, paths: Vec<PathBuf>| {
        let (found, problem) = or_problem(binding.workspace.real_paths(paths));
        let or_false = |path: Option<PathBuf>| path.map_or_else(|| false.into_lua(lua), |path| path.into_lua(lua));
        let found = found.map(|found| convert::list(lua, found.into_iter().map(or_false))).transpose()?;
        Ok((found, problem))
    })?;
    // list_conversations(start, otherwise, callback). Calls back later with a list, the newest first, of { path, name, title, given
    // or nil, modified or nil, model, state }; or with nil and what went wrong
    exports.add("list_conversations", |_, binding, (start, otherwise, callback): (PathBuf, PathBuf, Function)| {
        let callback = binding.functions.keep(callback);
        binding.workspace.look_for_project_root(&start, &otherwise, move |workspace: &Workspace, root| {
            workspace.list_conversations(&root, move |workspace: &Workspace, rows| {
                workspace.give_answer(callback, rows.map(|rows| serde_json::to_value(rows).unwrap_or_default()));
            });
        });
        Ok(())
    })?;
    // conversation_used(buffer, path, entered) -> its title. The user looks at it; or, if `entered` is false, it was written
    exports.add("conversation_used", |_, binding, (buffer, path, is_entered): (i32, PathBuf, bool)| {
        if path.is_absolute() {
            binding.workspace.conversation_used(&path, is_entered);
        }
        Ok(binding.workspace.conversation(buffer).map(|conversation| binding.workspace.title(&conversation)))
    })
}
