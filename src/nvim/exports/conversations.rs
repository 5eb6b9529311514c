//! The conversations of projects: the Rust side of `lua/flemma/conversations.lua`.

use std::path::PathBuf;

use mlua::Function;

use super::table::Exports;
use crate::workspace::Workspace;

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // conversation_project(path) -> the root of the project that the conversation at this path belongs to, or nil
    exports.add("conversation_project", |_, binding, path: PathBuf| Ok(binding.workspace.project_of(&path)))?;
    // last_conversation(root) -> the path of the project's conversation that was used last, or nil
    exports.add("last_conversation", |_, binding, root: PathBuf| {
        let found = binding.workspace.last_used_conversation(&root);
        Ok(found)
    })?;
    // new_conversation(root, title, date, time) -> the path for a new conversation; or nil and what went wrong
    exports.add("new_conversation", |_, binding, (root, title, date, time): (PathBuf, String, String, String)| {
        Ok(match binding.workspace.new_conversation(&root, &title, &date, &time) {
            Ok(path) => (Some(path), None),
            Err(error) => (None, Some(error.to_string())),
        })
    })?;
    // list_conversations(root, callback). Calls back later with a list, the newest first, of { path, name, title, modified or
    // nil, model, state }; or with nil and what went wrong
    exports.add("list_conversations", |_, binding, (root, callback): (PathBuf, Function)| {
        let callback = binding.functions.keep(callback);
        binding.workspace.list_conversations(&root, move |workspace: &Workspace, rows| {
            workspace.give_answer(callback, rows.map(|rows| serde_json::to_value(rows).unwrap_or_default()));
        });
        Ok(())
    })?;
    // conversation_used(path, entered): the user looks at it; or, if `entered` is false, it was written
    exports.add("conversation_used", |_, binding, (path, is_entered): (PathBuf, bool)| {
        binding.workspace.conversation_used(&path, is_entered);
        Ok(())
    })
}
