//! What we ask of the Lua shim: the other side of `lua/flemma/host.lua`, name by name.

use std::time::Duration;

use mlua::{Function, IntoLuaMulti, Lua, LuaString, Table, Value};

use super::convert;
use crate::{
    agent::{CursorReason, CursorTarget, Level},
    chat::{Diagnostic, Severity, TextEdit},
};

/// The functions of `host.lua`.
pub(super) struct Host {
    lua: Lua,
    table: Table,
}

/// The names that `host.lua` has to define.
pub(super) const NAMES: [&str; 29] = [
    "announce",
    "ask_files",
    "ask_holder",
    "ask_trust",
    "checktime",
    "context",
    "current_buffer",
    "cursor",
    "diagnose",
    "estimate",
    "execute",
    "follow",
    "guard",
    "languages",
    "lock",
    "notify",
    "open_chats",
    "parse",
    "place",
    "preview",
    "refresh",
    "run_frontmatter",
    "saved",
    "show",
    "turn_over",
    "usage",
    "wake",
    "wake_after",
    "write",
];

impl Host {
    /// Takes the shim's table.
    ///
    /// # Errors
    /// When it lacks one of [`NAMES`]: then the shim and the library are not of one version.
    pub(super) fn new(lua: &Lua, table: Table) -> mlua::Result<Self> {
        for name in NAMES {
            table.get::<Function>(name)?;
        }
        Ok(Self { lua: lua.clone(), table })
    }

    /// The function that wakes the main thread.
    pub(super) fn waker(&self) -> mlua::Result<Function> {
        self.table.get("wake")
    }

    /// Wakes the main thread after a pause, once; a pause that is not over begins anew.
    pub(super) fn wake_after(&self, pause: Duration) {
        self.tell("wake_after", u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
    }

    /// Calls a function for its effect. Its error is shown and goes no further: a shim that cannot draw must not
    /// stop a conversation.
    fn tell(&self, name: &str, args: impl IntoLuaMulti) {
        let called = self.table.get::<Function>(name).and_then(|function| function.call::<()>(args));
        if let Err(error) = called {
            let words = format!("{name}: {}", convert::words(&error));
            // Neovim's own way to print an error may wait for Enter.
            let notify = self.table.get::<Function>("notify").and_then(|notify| notify.call::<()>(("error", words)));
            if let Err(error) = notify {
                nvim_oxi::api::err_writeln(&format!("Flemma: notify: {}", convert::words(&error)));
            }
        }
    }

    /// Writes to a buffer.
    ///
    /// # Errors
    /// When Neovim refuses: the buffer is gone, or is not what we took it for.
    pub(super) fn write(&self, buffer: i32, edit: &TextEdit, join: bool) -> mlua::Result<()> {
        let lines = self.lua.create_sequence_from(edit.lines.iter().map(String::as_str))?;
        self.table.get::<Function>("write")?.call((
            buffer,
            edit.start.line,
            edit.start.column,
            edit.end.line,
            edit.end.column,
            lines,
            join,
        ))
    }

    /// Locks or unlocks a buffer.
    pub(super) fn lock(&self, buffer: i32, locked: bool) {
        self.tell("lock", (buffer, locked));
    }

    /// Moves the cursor of the windows that follow the conversation.
    pub(super) fn cursor(&self, buffer: i32, target: CursorTarget) {
        let reason = match target.reason {
            CursorReason::Pending => "pending",
            CursorReason::Result => "result",
            CursorReason::Prompt => "prompt",
        };
        self.tell("cursor", (buffer, target.line, reason));
    }

    /// Puts the cursor at the end in those windows.
    pub(super) fn follow(&self, buffer: i32) {
        self.tell("follow", buffer);
    }

    /// Tells the user something.
    pub(super) fn notify(&self, level: Level, message: &str) {
        let level = match level {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.tell("notify", (level, message));
    }

    /// The buffer's file and Neovim's working directory.
    pub(super) fn place(&self, buffer: i32) -> (String, String) {
        self.table.get::<Function>("place").and_then(|place| place.call(buffer)).unwrap_or_default()
    }

    /// The context that a tool written in Lua is given.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn context(
        &self,
        buffer: i32,
        tool: &str,
        timeout: Duration,
        progress: Option<Function>,
    ) -> mlua::Result<Table> {
        self.table.get::<Function>("context")?.call((buffer, tool, timeout.as_secs_f64(), progress))
    }

    /// Calls a tool's function: whether it returned, and its first two values or what it threw, as text.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn execute(
        &self,
        function: &Function,
        input: Value,
        context: Table,
        callback: Function,
    ) -> mlua::Result<(bool, Value, Value)> {
        self.table.get::<Function>("execute")?.call((function, input, context, callback))
    }

    /// The conversations that are open.
    pub(super) fn open_chats(&self) -> Vec<String> {
        self.table.get::<Function>("open_chats").and_then(|paths| paths.call(())).unwrap_or_default()
    }

    /// The buffer that the user is in.
    pub(super) fn current_buffer(&self) -> i32 {
        self.table.get::<Function>("current_buffer").and_then(|buffer| buffer.call(())).unwrap_or_default()
    }

    /// Asks the user whether a conversation may show files outside its folder, the first of which it names in `line`. The
    /// answer comes as a call of `trust_files`.
    pub(super) fn ask_files(&self, buffer: i32, files: Vec<String>, line: usize) {
        self.tell("ask_files", (buffer, files, line));
    }

    /// Asks the user whether to go on with a conversation that another process has open as well. The answer comes as a
    /// call of `share`.
    pub(super) fn ask_holder(&self, buffer: i32, holder: Option<u32>) {
        self.tell("ask_holder", (buffer, holder));
    }

    /// Asks the user whether they trust a file's frontmatter. The answer comes as a call of `trust`.
    pub(super) fn ask_trust(&self, buffer: i32, language: &str) {
        self.tell("ask_trust", (buffer, language));
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
        let (ok, problem, line): (bool, Option<LuaString>, Option<usize>) =
            self.table.get::<Function>("run_frontmatter")?.call((code, session))?;
        Ok((ok, problem.map(|problem| problem.to_string_lossy()), line))
    }

    /// Calls a function that came from a file, within the limits of such code.
    ///
    /// # Errors
    /// What it threw, or that it took too long.
    pub(super) fn guard(&self, function: &Function, arguments: impl IntoLuaMulti) -> mlua::Result<Value> {
        let mut arguments = arguments.into_lua_multi(&self.lua)?;
        arguments.push_front(Value::Function(function.clone()));
        let (ok, value): (bool, Value) = self.table.get::<Function>("guard")?.call(arguments)?;
        if ok { Ok(value) } else { Err(mlua::Error::runtime(value.to_string().unwrap_or_default())) }
    }

    /// What a tool's own `format_preview` says; `Err` is what it threw. It cannot change the buffer.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn preview(
        &self,
        buffer: i32,
        format: &Function,
        input: Value,
        room: usize,
    ) -> mlua::Result<Result<Value, String>> {
        let (ok, value): (bool, Value) = self.table.get::<Function>("preview")?.call((buffer, format, input, room))?;
        Ok(if ok { Ok(value) } else { Err(value.to_string().unwrap_or_default()) })
    }

    /// What a parser that was registered for this language reads; `None` where there is none.
    pub(super) fn parse(&self, buffer: i32, language: &str, code: &str) -> Option<mlua::Result<Value>> {
        let parsed = self
            .table
            .get::<Function>("parse")
            .and_then(|parse| parse.call::<(Option<bool>, Value)>((buffer, language, code)));
        match parsed {
            Ok((None, _)) => None,
            Ok((Some(true), value)) => Some(Ok(value)),
            Ok((Some(false), thrown)) => Some(Err(mlua::Error::runtime(thrown.to_string().unwrap_or_default()))),
            Err(error) => Some(Err(error)),
        }
    }

    /// The languages that parsers were registered for.
    pub(super) fn languages(&self) -> Vec<String> {
        self.table.get::<Function>("languages").and_then(|languages| languages.call(())).unwrap_or_default()
    }

    /// Shows diagnostics in place of those before.
    pub(super) fn diagnose(&self, buffer: i32, diagnostics: &[Diagnostic]) {
        let items = diagnostics.iter().map(|diagnostic| {
            let item = self.lua.create_table()?;
            item.set("line", diagnostic.line)?;
            item.set("severity", if diagnostic.severity == Severity::Error { "error" } else { "warning" })?;
            item.set("message", diagnostic.message.as_str())?;
            Ok(item)
        });
        match items.collect::<mlua::Result<Vec<_>>>() {
            Ok(items) => self.tell("diagnose", (buffer, items)),
            Err(error) => self.notify(Level::Error, &convert::words(&error)),
        }
    }

    /// Something goes on in a buffer, or no longer does.
    pub(super) fn show(&self, buffer: i32, busy: bool) {
        self.tell("show", (buffer, busy));
    }

    /// Shows what a reply has used, for a while, where its conversation is on the screen.
    pub(super) fn usage(&self, buffer: i32, lines: &[String], timeout: Duration) {
        self.tell("usage", (buffer, lines, timeout.as_secs_f64()));
    }

    /// Shows what a request would use, and what to warn of.
    pub(super) fn estimate(&self, lines: &[String], warning: Option<&str>) {
        self.tell("estimate", (lines, warning));
    }

    /// The status blocks changed.
    pub(super) fn refresh(&self, buffer: i32) {
        self.tell("refresh", buffer);
    }

    /// Fires a `User` autocommand with the buffer and some names in its data.
    pub(super) fn announce(&self, event: &str, buffer: i32, data: &[(&str, mlua::Value)]) {
        let table = self.lua.create_table().and_then(|table| {
            table.set("buf", buffer)?;
            for (key, value) in data {
                table.set(*key, value)?;
            }
            Ok(table)
        });
        if let Ok(table) = table {
            self.tell("announce", (event, table));
        }
    }

    /// A string for [`Host::announce`].
    pub(super) fn string(&self, text: &str) -> mlua::Value {
        self.lua.create_string(text).map_or(mlua::Value::Nil, mlua::Value::String)
    }

    /// A tool may have changed files that are open.
    pub(super) fn checktime(&self) {
        self.tell("checktime", ());
    }

    /// A write of a buffer's file has ended. `tick` is the buffer's count of changes when its text was taken.
    pub(super) fn saved(&self, buffer: i32, tick: i64, problem: Option<String>) {
        self.tell("saved", (buffer, tick, problem));
    }

    /// A turn is over.
    pub(super) fn turn_over(&self, buffer: i32) {
        self.tell("turn_over", buffer);
    }
}
