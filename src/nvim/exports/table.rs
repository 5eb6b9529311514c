//! The table of functions while it is filled, and what is left of their panics for the user and for us.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Table};

use crate::nvim::binding::Binding;

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
                .unwrap_or_else(|_| Err(mlua::Error::runtime(last_panic().unwrap_or_default())))
        };
        self.table.set(name, self.lua.create_function(guarded)?)
    }
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps a panic's words from being printed over the screen, where Rust would put them.
pub(super) fn keep_panics_off_the_screen() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("a panic");
        LAST_PANIC.with_borrow_mut(|last| *last = Some(format!("{words}{place}")));
    }));
}

/// What the last panic on this thread said, and where it was.
fn last_panic() -> Option<String> {
    LAST_PANIC.take()
}
