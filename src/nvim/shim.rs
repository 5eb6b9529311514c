//! The Lua shim: the other side of `lua/flemma/host.lua`, name by name.

use std::time::Duration;

use mlua::{Function, IntoLuaMulti, Lua, Table, Value};

use super::{convert, editor::Editor, waker::Waker};

/// The functions of `host.lua`.
pub(super) struct Shim {
    pub(super) lua: Lua,
    pub(super) editor: Editor,
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

/// What the context of one run is made of.
pub(super) struct ToolDetails {
    /// The conversation's buffer.
    pub(super) buffer: i32,
    /// The tool's name.
    pub(super) tool: String,
    /// How long it may take.
    pub(super) timeout: Duration,
    /// Shows progress; `None` for a tool that is not streaming.
    pub(super) progress: Option<Function>,
    /// More fields: the call's id and who resolved it.
    pub(super) about: Table,
}

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
        Ok(Self { lua: lua.clone(), editor: Editor::new(lua)?, waker, table, perform })
    }

    /// Has an effect of this kind performed.
    ///
    /// # Errors
    /// What the shim threw, with the kind.
    pub(super) fn tell(&self, kind: &str, args: impl IntoLuaMulti) -> mlua::Result<()> {
        let told = self.perform.call::<()>((kind, args));
        told.map_err(|error| mlua::Error::runtime(format!("{kind}: {}", convert::words(&error))))
    }

    /// Calls a function for a value; the default where the shim throws.
    pub(super) fn ask<R: mlua::FromLuaMulti + Default>(&self, name: &str, args: impl IntoLuaMulti) -> R {
        self.table.get::<Function>(name).and_then(|function| function.call(args)).unwrap_or_default()
    }

    /// Shows an error. It goes no further: a shim that cannot draw must not stop a conversation.
    pub(super) fn report(&self, error: &mlua::Error) {
        // Neovim's own way to print an error may wait for Enter.
        if let Err(error) = self.tell("notify", ("error", convert::words(error))) {
            nvim_oxi::api::err_writeln(&format!("Flemma: {}", convert::words(&error)));
        }
    }

    /// The buffer that the user is in.
    pub(super) fn current_buffer(&self) -> i32 {
        Editor::current_buffer()
    }

    /// Changes the text of a buffer.
    ///
    /// # Errors
    /// When the buffer is gone or cannot be changed.
    pub(super) fn write_lines(&self, args: impl IntoLuaMulti) -> mlua::Result<()> {
        self.table.get::<Function>("write")?.call(args)
    }

    /// The function that answers the calls of a built-in tool of this name.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn client_tool(&self, tool: &str) -> mlua::Result<Function> {
        self.table.get::<Function>("client_tool")?.call(tool)
    }

    /// Calls a tool's function: whether it returned, and its first two values or what it threw, as text.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn run_tool(
        &self,
        function: &Function,
        input: Value,
        callback: Function,
        details: ToolDetails,
    ) -> mlua::Result<(bool, Value, Value)> {
        let ToolDetails { buffer, tool, timeout, progress, about } = details;
        let context = (buffer, tool, timeout.as_secs_f64(), progress, about);
        self.table.get::<Function>("run_tool")?.call((function, input, callback, context))
    }

    /// Runs the Lua of a file's frontmatter: whether it ran to its end, else what is wrong and in which line (from 1).
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn run_frontmatter(
        &self,
        code: &str,
        session: Table,
    ) -> mlua::Result<(bool, Option<String>, Option<usize>)> {
        let (ok, problem, line): (bool, Option<mlua::LuaString>, Option<usize>) =
            self.table.get::<Function>("run_frontmatter")?.call((code, session))?;
        Ok((ok, problem.map(|problem| problem.to_string_lossy()), line))
    }

    /// Calls a function that came from a file, within the limits of such code.
    ///
    /// # Errors
    /// What it threw, or that it took too long.
    pub(super) fn guard(&self, function: &Function, arguments: impl IntoLuaMulti) -> mlua::Result<Value> {
        returned(self.table.get::<Function>("guard")?.call((function, arguments))?)
    }

    /// Calls a function of a definition, which cannot change the buffer.
    ///
    /// # Errors
    /// What it threw.
    pub(super) fn ask_tool(
        &self,
        buffer: i32,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> mlua::Result<Value> {
        returned(self.table.get::<Function>("ask_tool")?.call((buffer, function, arguments))?)
    }

    /// What a parser that was registered for this language reads.
    ///
    /// # Errors
    /// The languages that parsers were registered for, where this is none of them.
    pub(super) fn parse(&self, buffer: i32, language: &str, code: &str) -> Result<mlua::Result<Value>, Vec<String>> {
        let parse = || self.table.get::<Function>("parse")?.call::<(Option<bool>, Value)>((buffer, language, code));
        match parse() {
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
