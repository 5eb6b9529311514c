//! The Lua shim: the other side of `lua/flemma/host.lua`, name by name.

use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, Table, Value};

use super::{convert, waker::Waker};

/// The functions of `host.lua`.
pub(super) struct Shim {
    pub(super) lua: Lua,
    pub(super) waker: Waker,
    table: Table,
    /// The one of them that is called all the time.
    perform: Function,
}

/// The names that `host.lua` has to define.
pub(super) const NAMES: &[&str] = &[
    "ask_tool",
    "client_tool",
    "guard",
    "is_in_sight",
    "parse",
    "perform",
    "read_again",
    "run_frontmatter",
    "run_tool",
    "unsaved",
    "write",
    "write_now",
];

impl Shim {
    /// Takes the shim's table.
    ///
    /// # Errors
    /// When it lacks one of [`NAMES`]: then the shim and the library are not of one version. Or when Neovim's loop takes no handle.
    pub(super) fn new(lua: &Lua, table: Table) -> mlua::Result<Self> {
        for &name in NAMES {
            table.get::<Function>(name)?;
        }
        let perform: Function = table.get("perform")?;
        let waker = Waker::new(perform.clone()).map_err(mlua::Error::external)?;
        Ok(Self { lua: lua.clone(), waker, table, perform })
    }

    /// Has an effect of this kind performed.
    ///
    /// # Errors
    /// What the shim threw, with the kind.
    pub(super) fn tell(&self, kind: &str, args: impl IntoLuaMulti) -> mlua::Result<()> {
        let told = self.perform.call::<()>((kind, args));
        told.map_err(|error| mlua::Error::runtime(format!("{kind}: {}", convert::words(&error))))
    }

    /// Calls a function of `host.lua`.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn ask<R: FromLuaMulti>(&self, name: &str, args: impl IntoLuaMulti) -> mlua::Result<R> {
        self.table.get::<Function>(name)?.call(args)
    }

    /// Calls a function that calls one of the user's, so that its error is a value too, and gives what that one returned.
    ///
    /// # Errors
    /// What it threw.
    pub(super) fn guarded(&self, name: &str, args: impl IntoLuaMulti) -> mlua::Result<Value> {
        returned(self.ask(name, args)?)
    }

    /// Shows an error. It goes no further: a shim that cannot draw must not stop a conversation.
    pub(super) fn report(&self, error: &mlua::Error) {
        // Neovim's own way to print an error may wait for Enter.
        if let Err(error) = self.tell("notify", ("error", convert::words(error))) {
            nvim_oxi::api::err_writeln(&format!("Flemma: {}", convert::words(&error)));
        }
    }

    /// What a parser that was registered for this language reads.
    ///
    /// # Errors
    /// The languages that parsers were registered for, where this is none of them.
    pub(super) fn parse(&self, buffer: i32, language: &str, code: &str) -> Result<mlua::Result<Value>, Vec<String>> {
        let parsed: mlua::Result<(Option<bool>, Value)> = self.ask("parse", (buffer, language, code));
        match parsed {
            Ok((Some(ok), value)) => Ok(returned((ok, value))),
            Ok((None, languages)) => Err(self.lua.unpack(languages).unwrap_or_default()),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// What a function returned that was called so that its error is a value too.
fn returned((ok, value): (bool, Value)) -> mlua::Result<Value> {
    if ok { Ok(value) } else { Err(mlua::Error::runtime(value.to_string().unwrap_or_default())) }
}
