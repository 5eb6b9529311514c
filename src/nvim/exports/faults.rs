//! For tests: panics on demand, and what nothing else tells. The function is there only with `FLEMMA_FAULTS` in the
//! environment.

use mlua::IntoLuaMulti;
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert;

/// What a test wants.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    Export,
    Drain,
    /// Whether the user wrote each line in this session.
    OwnLines,
}

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    if std::env::var_os("FLEMMA_FAULTS").is_none() {
        return Ok(());
    }
    // fault(what, buffer or nil): a `Fault`
    exports.add("fault", |lua, binding, (what, buffer): (String, Option<i32>)| {
        match convert::variant(lua, &what, None)? {
            Fault::Export => panic!("a fault on demand, in an export"),
            Fault::Drain => {
                binding.workspace.post(Box::new(|_| panic!("a fault on demand, in the drain")));
                ().into_lua_multi(lua)
            }
            Fault::OwnLines => {
                let conversation = buffer.and_then(|buffer| binding.workspace.conversation(buffer));
                conversation.map(|conversation| conversation.page.own_lines()).unwrap_or_default().into_lua_multi(lua)
            }
        }
    })
}
