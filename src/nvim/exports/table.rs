//! The table of functions while it is filled.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Table};

use crate::nvim::{binding::Binding, panics};

/// The table of functions while it is filled.
pub(super) struct Exports<'a> {
    lua: &'a Lua,
    table: &'a Table,
    binding: &'a Rc<Binding>,
}

impl<'a> Exports<'a> {
    pub(super) fn new(lua: &'a Lua, table: &'a Table, binding: &'a Rc<Binding>) -> Self {
        Self { lua, table, binding }
    }

    /// Adds a function. What it panics with becomes a Lua error.
    pub(super) fn add<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        name: &str,
        function: impl Fn(&Lua, &Binding, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()> {
        let binding = Rc::clone(self.binding);
        let guarded = move |lua: &Lua, args: A| {
            // mlua would catch a panic as well, but with a backtrace for a message.
            catch_unwind(AssertUnwindSafe(|| function(lua, &binding, args)))
                .unwrap_or_else(|_| Err(mlua::Error::runtime(panics::last().unwrap_or_default())))
        };
        self.table.set(name, self.lua.create_function(guarded)?)
    }
}
