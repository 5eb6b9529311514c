//! What the user's policies allow a tool.

use mlua::{BString, IntoLuaMulti, Table};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;
use flemma_model::CallId;
use flemma_tools::Access;

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

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
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
