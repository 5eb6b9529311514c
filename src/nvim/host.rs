//! Neovim as the workspace's host, by way of the Lua shim: the other side of `lua/flemma/host.lua`, name by name.

use std::{env, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf, rc::Rc, time::Duration};

use jiff::Timestamp;
use mlua::{BString, Function, IntoLuaMulti, Lua, LuaString, Table, Value};

use super::{buffer::BufferText, convert, usage_table, waker::Waker};
use crate::{
    agent::{CursorReason, CursorTarget, Level},
    chat::{Diagnostic, Severity, Text, TextEdit},
    model::{CallId, UserError},
    tools::Written,
    workspace::{
        Host, LookedUp,
        ports::{Announcement, HostError, Place, Question, Saved},
    },
};

/// The functions of `host.lua`.
pub(super) struct Shim {
    lua: Lua,
    table: Table,
}

/// The names that `host.lua` has to define.
pub(super) const NAMES: &[&str] = &[
    "announce",
    "ask_files",
    "ask_tool",
    "ask_trust",
    "checktime",
    "client_tool",
    "context",
    "current_buffer",
    "cursor",
    "diagnose",
    "driven",
    "execute",
    "follow",
    "guard",
    "has_ui",
    "is_in_sight",
    "is_typing",
    "languages",
    "local_time",
    "lock",
    "long_lines",
    "look",
    "notify",
    "observe",
    "open_chats",
    "open_form",
    "parse",
    "note_reviews",
    "place",
    "proposals_changed",
    "read_again",
    "redraw",
    "refresh",
    "refuse_late",
    "run_frontmatter",
    "saved",
    "server",
    "show",
    "turn_over",
    "unfold",
    "unsaved",
    "unsettled",
    "wake",
    "wake_after",
    "when_drawn",
    "write",
    "write_now",
];

/// What the context of one run is made of.
pub(super) struct ToolDetails<'a> {
    /// The tool's name.
    pub(super) tool: &'a str,
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
    /// When it lacks one of [`NAMES`]: then the shim and the library are not of one version.
    pub(super) fn new(lua: &Lua, table: Table) -> mlua::Result<Self> {
        for &name in NAMES {
            table.get::<Function>(name)?;
        }
        Ok(Self { lua: lua.clone(), table })
    }

    /// The function that wakes the main thread.
    pub(super) fn waker(&self) -> mlua::Result<Function> {
        self.table.get("wake")
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

    /// Calls a function for a value; the default where the shim throws.
    fn ask<R: mlua::FromLuaMulti + Default>(&self, name: &str, args: impl IntoLuaMulti) -> R {
        self.table.get::<Function>(name).and_then(|function| function.call(args)).unwrap_or_default()
    }

    /// Shows an error.
    pub(super) fn report(&self, error: &mlua::Error) {
        self.tell("notify", ("error", convert::words(error)));
    }

    /// The buffer that the user is in: `:help nvim_get_current_buf()`.
    pub(super) fn current_buffer(&self) -> i32 {
        self.ask("current_buffer", ())
    }

    /// The context that a tool written in Lua is given.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn context(&self, buffer: i32, details: ToolDetails<'_>) -> mlua::Result<Table> {
        let ToolDetails { tool, timeout, progress, about } = details;
        self.table.get::<Function>("context")?.call((buffer, tool, timeout.as_secs_f64(), progress, about))
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
    pub(super) fn execute(
        &self,
        function: &Function,
        input: Value,
        context: Table,
        callback: Function,
    ) -> mlua::Result<(bool, Value, Value)> {
        self.table.get::<Function>("execute")?.call((function, input, context, callback))
    }

    /// Calls a function when what has been written is on the screen.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn when_drawn(&self, run: Function) -> mlua::Result<()> {
        self.table.get::<Function>("when_drawn")?.call(run)
    }

    /// Tells the user that an answer came when its call had ended, and keeps what they typed.
    ///
    /// # Errors
    /// What the shim threw.
    pub(super) fn refuse_late(&self, buffer: i32, tool: &str, call: &str, text: &LuaString) -> mlua::Result<()> {
        self.table.get::<Function>("refuse_late")?.call((buffer, tool, call, text))
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
        let mut arguments = arguments.into_lua_multi(&self.lua)?;
        arguments.push_front(Value::Function(function.clone()));
        arguments.push_front(Value::Integer(buffer.into()));
        let (ok, value): (bool, Value) = self.table.get::<Function>("ask_tool")?.call(arguments)?;
        if ok { Ok(value) } else { Err(mlua::Error::runtime(value.to_string().unwrap_or_default())) }
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
        self.ask("languages", ())
    }
}

/// The editor, for the workspace.
pub(super) struct NvimHost {
    shim: Rc<Shim>,
    waker: Waker,
}

impl NvimHost {
    pub(super) fn new(shim: &Rc<Shim>, waker: Waker) -> Self {
        Self { shim: Rc::clone(shim), waker }
    }

    fn announcement(&self, buffer: i32, what: Announcement<'_>) -> mlua::Result<(&'static str, Table)> {
        let data = self.shim.lua.create_table()?;
        data.set("buf", buffer)?;
        let event = match what {
            Announcement::RequestSending => "FlemmaRequestSending",
            Announcement::RequestFinished { complete, usage } => {
                data.set("complete", complete)?;
                let usage = usage.map(|record| usage_table::record(&self.shim.lua, &record)).transpose()?;
                data.set("usage", usage)?;
                "FlemmaRequestFinished"
            }
            Announcement::ToolExecuting { tool, call } => {
                data.set("tool", tool)?;
                data.set("id", call)?;
                "FlemmaToolExecuting"
            }
            Announcement::ToolFinished { call } => {
                data.set("id", call)?;
                "FlemmaToolFinished"
            }
            Announcement::ToolPending { call, kind } => {
                data.set("id", call)?;
                data.set("kind", kind.as_str())?;
                "FlemmaToolPending"
            }
        };
        Ok((event, data))
    }

    fn diagnostics(&self, diagnostics: &[Diagnostic]) -> mlua::Result<Table> {
        let item = |diagnostic: &Diagnostic| {
            let item = self.shim.lua.create_table()?;
            item.set("line", diagnostic.line)?;
            item.set("severity", if diagnostic.severity == Severity::Error { "error" } else { "warning" })?;
            item.set("message", diagnostic.message.as_str())?;
            Ok(item)
        };
        convert::list(&self.shim.lua, diagnostics.iter().map(item))
    }
}

/// Each function names what the shim calls with it.
impl Host for NvimHost {
    /// `:help nvim_buf_get_lines()`.
    fn text(&self, buffer: i32) -> Rc<dyn Text> {
        Rc::new(BufferText(buffer))
    }

    /// `:help nvim_buf_set_text()`, with `:help undojoin`.
    fn write(&self, buffer: i32, edit: &TextEdit, joins: bool) -> Result<(), HostError> {
        let write = || -> mlua::Result<()> {
            let lines = self.shim.lua.create_sequence_from(edit.lines.iter().map(String::as_str))?;
            let (start, end) = (edit.start, edit.end);
            let place = (start.line, start.column, end.line, end.column);
            let (first, first_column, last, last_column) = place;
            let write: Function = self.shim.table.get("write")?;
            write.call((buffer, first, first_column, last, last_column, lines, joins))
        };
        write().map_err(|error| HostError::new(convert::words(&error)))
    }

    /// `:help 'modifiable'`.
    fn lock(&self, buffer: i32, is_locked: bool) {
        self.shim.tell("lock", (buffer, is_locked));
    }

    /// `:help 'modifiable'` and `:help 'readonly'`.
    fn observe(&self, buffer: i32, is_observed: bool) -> bool {
        self.shim.ask("observe", (buffer, is_observed))
    }

    /// `:help :checktime`.
    fn read_again(&self, buffer: i32) -> bool {
        self.shim.ask("read_again", buffer)
    }

    /// `:help nvim_buf_get_name()` and `:help getcwd()`.
    fn place(&self, buffer: i32) -> Place {
        let (file, cwd): (String, String) = self.shim.ask("place", buffer);
        Place { file, cwd: PathBuf::from(cwd), project: None }
    }

    /// `:help nvim_list_bufs()`.
    fn open_conversations(&self) -> Vec<PathBuf> {
        let paths: Vec<String> = self.shim.ask("open_chats", ());
        paths.into_iter().map(PathBuf::from).collect()
    }

    /// `:help nvim_list_runtime_paths()`. It gives those of 'packpath' as well, and leaves relative ones as they are.
    fn runtime_folders(&self) -> Vec<PathBuf> {
        // The binding would not free what it gets.
        let folders = self.shim.lua.load("vim.api.nvim_list_runtime_paths()").eval::<Vec<BString>>();
        let here = env::current_dir().unwrap_or_default();
        folders.unwrap_or_default().iter().map(|folder| here.join(OsStr::from_bytes(folder))).collect()
    }

    /// `:help extmarks`.
    fn show(&self, buffer: i32, is_busy: bool, is_other: bool) {
        self.shim.tell("show", (buffer, is_busy, is_other));
    }

    /// `:help strftime()`.
    fn local_time(&self, at: Timestamp) -> String {
        self.shim.ask("local_time", at.as_second())
    }

    /// `:help nvim_list_uis()`.
    fn has_ui(&self) -> bool {
        self.shim.ask("has_ui", ())
    }

    fn server(&self) -> Option<String> {
        Some(self.shim.ask("server", ())).filter(|address: &String| !address.is_empty())
    }

    /// `:help nvim_tabpage_list_wins()`, `:help FocusLost`.
    fn is_in_sight(&self, buffer: i32) -> bool {
        self.shim.ask("is_in_sight", buffer)
    }

    /// `:help nvim_get_mode()`.
    fn is_typing(&self, buffer: i32) -> bool {
        self.shim.ask("is_typing", buffer)
    }

    /// `:help nvim_win_get_buf()` and the like.
    fn look(&self, buffer: i32, number: u64, references: &[LookedUp]) -> bool {
        let wanted = references.iter().map(|(subject, path)| {
            let wanted = self.shim.lua.create_table()?;
            wanted.set("subject", subject.as_str())?;
            let path = path.as_ref().map(|path| self.shim.lua.create_string(path.as_os_str().as_bytes()));
            wanted.set("path", path.transpose()?)?;
            Ok(wanted)
        });
        match convert::list(&self.shim.lua, wanted) {
            Ok(wanted) => self.shim.tell("look", (buffer, number, wanted)),
            Err(error) => {
                self.shim.report(&error);
                return false;
            }
        }
        true
    }

    /// `:help vim.ui.input()`.
    fn open_form(&self, buffer: i32, call: &CallId) {
        self.shim.tell("open_form", (buffer, call.0.as_str()));
    }

    /// `:help nvim__redraw()` is not needed: the shim schedules its own drawing.
    fn refresh(&self, buffer: i32) {
        self.shim.tell("refresh", buffer);
    }

    /// `:help nvim__redraw()`.
    fn redraw(&self, buffer: i32) {
        self.shim.tell("redraw", buffer);
    }

    /// `:help vim.on_key()`.
    fn unsettled(&self, buffer: i32) {
        self.shim.tell("unsettled", buffer);
    }

    /// `:help vim.diagnostic.set()`.
    fn diagnose(&self, buffer: i32, diagnostics: &[Diagnostic]) {
        match self.diagnostics(diagnostics) {
            Ok(items) => self.shim.tell("diagnose", (buffer, items)),
            Err(error) => self.shim.report(&error),
        }
    }

    /// `:help nvim_win_set_cursor()`.
    fn cursor(&self, buffer: i32, target: CursorTarget) {
        let reason = match target.reason {
            CursorReason::Pending => "pending",
            CursorReason::Awaited => "awaited",
            CursorReason::Result => "result",
            CursorReason::Prompt => "prompt",
        };
        self.shim.tell("cursor", (buffer, target.line, reason));
    }

    /// `:help nvim_win_set_cursor()`.
    fn follow(&self, buffer: i32) {
        self.shim.tell("follow", buffer);
    }

    /// `:help :foldopen`.
    fn note_reviews(&self, buffer: i32) {
        self.shim.tell("note_reviews", buffer);
    }

    fn long_lines(&self, buffer: i32) {
        self.shim.tell("long_lines", buffer);
    }

    /// `:help foldopen`.
    fn unfold(&self, buffer: i32, line: usize) {
        self.shim.tell("unfold", (buffer, line));
    }

    fn turn_over(&self, buffer: i32) {
        self.shim.tell("turn_over", buffer);
    }

    /// `:help vim.notify()`.
    fn notify(&self, level: Level, message: &str) {
        let level = match level {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.shim.tell("notify", (level, message));
    }

    /// `:help nvim_exec_autocmds()`.
    fn announce(&self, buffer: i32, what: Announcement<'_>) {
        match self.announcement(buffer, what) {
            Ok(announcement) => self.shim.tell("announce", announcement),
            Err(error) => self.shim.report(&error),
        }
    }

    /// `:help :checktime`.
    fn check_files(&self, written: &Written) {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let files: Vec<_> = written.files.iter().map(text).collect();
        let moved: Vec<_> = written.moved.iter().map(|(from, to)| vec![text(from), text(to)]).collect();
        self.shim.tell("checktime", (files, moved));
    }

    /// `:help 'modified'`.
    fn unsaved_files(&self) -> Vec<PathBuf> {
        let names: Vec<BString> = self.shim.ask("unsaved", ());
        names.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
    }

    fn proposals_changed(&self, buffer: i32) {
        self.shim.tell("proposals_changed", buffer);
    }

    fn saved(&self, buffer: i32, saved: Saved) {
        let told = || -> mlua::Result<Table> {
            let told = self.shim.lua.create_table()?;
            told.set("tick", saved.tick)?;
            told.set("problem", saved.problem.as_ref().map(ToString::to_string))?;
            told.set("is_current", saved.is_current)?;
            told.set("is_replying", saved.is_replying)?;
            Ok(told)
        };
        match told() {
            Ok(told) => self.shim.tell("saved", (buffer, told)),
            Err(error) => self.shim.report(&error),
        }
    }

    fn write_now(&self, buffer: i32) -> Option<UserError> {
        // Without an answer, the shim has failed, and the file may not be written.
        let problem: Option<String> = self.shim.ask("write_now", buffer);
        let problem = problem.unwrap_or_else(|| "the file could not be written".to_owned());
        (!problem.is_empty()).then(|| UserError::new(problem))
    }

    /// `:help rpcnotify()`.
    fn driven(&self, buffer: i32) {
        self.shim.tell("driven", buffer);
    }

    /// `:help vim.ui.select()`.
    fn ask(&self, buffer: i32, number: u64, question: Question) {
        match question {
            Question::Frontmatter { language } => self.shim.tell("ask_trust", (buffer, number, language)),
            Question::Files { files, references, line } => {
                self.shim.tell("ask_files", (buffer, number, files, references, line));
            }
        }
    }

    fn wake(&self) {
        self.waker.wake();
    }

    /// `:help uv_timer_start()`.
    fn wake_after(&self, pause: Duration) {
        self.shim.tell("wake_after", u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
    }
}
