//! The table of functions that Lua calls, a file for each subject.
//!
//! Small values cross: numbers, names, a line and a text for each thing on the screen. Text itself is read
//! and written where it is needed, never passed through here. Where a function answers several questions, their names are the
//! variants of an enum, which [`super::convert::variant`] reads with its fields. `tests/core/exports.rs` compares the names
//! with those that the Lua code calls.

mod actions;
mod calls;
mod capturing;
mod compat;
mod drawing;
mod events;
mod faults;
mod folds;
mod listing;
mod options;
mod paths;
mod registering;
mod review;
mod state;
mod table;
mod text;
mod tools;

use std::{path::Path, rc::Rc};

use mlua::{Function, Lua, Table};

use self::table::Exports;
use super::binding::Binding;

/// Builds the table and leaves it in `package.loaded.flemma_native`. Only `init` and `version` are in it
/// until the shim has called `init`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn open(lua: &Lua) -> mlua::Result<()> {
    table::keep_panics_off_the_screen();
    let exports = lua.create_table()?;
    exports.set("version", crate::VERSION)?;
    let table = exports.clone();
    exports.set(
        "init",
        lua.create_function(move |lua, state_dir: String| {
            let shim: Table = lua.globals().get::<Function>("require")?.call("flemma.host")?;
            let binding = Rc::new(Binding::new(lua, shim, Path::new(&state_dir))?);
            fill(&Exports::new(lua, &table, &binding))
        })?,
    )?;
    let loaded: Table = lua.globals().get::<Table>("package")?.get("loaded")?;
    loaded.set("flemma_native", exports)
}

fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    events::fill(exports)?;
    actions::fill(exports)?;
    calls::fill(exports)?;
    capturing::fill(exports)?;
    drawing::fill(exports)?;
    folds::fill(exports)?;
    listing::fill(exports)?;
    options::fill(exports)?;
    tools::fill(exports)?;
    compat::fill(exports)?;
    paths::fill(exports)?;
    registering::fill(exports)?;
    review::fill(exports)?;
    state::fill(exports)?;
    text::fill(exports)?;
    faults::fill(exports)
}
