//! Neovim as the workspace's host. Its texts are asked for by way of its Lua: nvim-oxi, which cannot tell whose a text is, never
//! frees one.

use std::{collections::HashMap, env, os::unix::ffi::OsStrExt, path::PathBuf, rc::Rc};

use jiff::Timestamp;
use mlua::{BString, FromLua, FromLuaMulti, Function, IntoLuaMulti, Table};
use nvim_oxi::api;

use super::{
    buffer::BufferText,
    convert::{self, table},
    shim::Shim,
};
use flemma_agent::LifecycleEvent;
use flemma_chat::{Text, TextEdit};
use flemma_model::UserError;
use flemma_provider::usage::Record;
use flemma_tools::Written;
use flemma_workspace::{
    Host, HostEffect, LookedUp,
    ports::{Place, Saved},
};

/// What `lua/flemma/host.lua` is told of an effect.
impl Shim {
    /// Has an effect performed. Its kind has the name of the variant.
    fn hand_over(&self, effect: HostEffect<'_>) -> mlua::Result<()> {
        match effect {
            HostEffect::Lock { buffer, is_locked } => self.tell("lock", (buffer, is_locked)),
            HostEffect::Observe { buffer, is_observed } => self.tell("observe", (buffer, is_observed)),
            HostEffect::Show { buffer, is_busy, is_other } => self.tell("show", (buffer, is_busy, is_other)),
            HostEffect::Refresh { buffer } => self.tell("refresh", buffer),
            HostEffect::Redraw { buffer } => self.tell("redraw", buffer),
            HostEffect::Unsettled { buffer } => self.tell("unsettled", buffer),
            HostEffect::Diagnose { buffer, diagnostics } => {
                self.tell("diagnose", (buffer, convert::to_lua(&self.lua, &diagnostics)?))
            }
            HostEffect::Cursor { buffer, target } => {
                self.tell("cursor", (buffer, target.line, convert::to_lua(&self.lua, &target.reason)?))
            }
            HostEffect::Follow { buffer } => self.tell("follow", buffer),
            HostEffect::Unfold { buffer, line } => self.tell("unfold", (buffer, line)),
            HostEffect::NoteReviews { buffer } => self.tell("note_reviews", buffer),
            HostEffect::ProposalsChanged { buffer } => self.tell("proposals_changed", buffer),
            HostEffect::TurnOver { buffer } => self.tell("turn_over", buffer),
            HostEffect::Saved { buffer, saved } => self.tell("saved", (buffer, self.end_of_write(&saved)?)),
            HostEffect::Driven { buffer } => self.tell("driven", buffer),
            HostEffect::CheckFiles { written } => self.tell("check_files", names(written)),
            HostEffect::Notify { level, message } => {
                self.tell("notify", (convert::to_lua(&self.lua, &level)?, message))
            }
            HostEffect::RefuseLate { buffer, tool, call, text } => {
                self.tell("refuse_late", (buffer, tool, call, self.lua.create_string(text)?))
            }
            HostEffect::Announce { buffer, moment, usage } => {
                self.tell("announce", self.announcement(buffer, moment, usage)?)
            }
            HostEffect::Ask { buffer, number, question } => {
                self.tell("ask", (buffer, number, convert::to_lua(&self.lua, &question)?))
            }
            HostEffect::OpenForm { buffer, call } => self.tell("open_form", (buffer, call.0.as_str())),
            HostEffect::Look { buffer, number, references } => {
                self.tell("look", (buffer, number, self.references(references)?))
            }
            HostEffect::Wake => {
                self.waker.wake();
                Ok(())
            }
            HostEffect::WakeAfter { pause } => {
                self.tell("wake_after", u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))
            }
        }
    }

    fn announcement(
        &self,
        buffer: i32,
        moment: LifecycleEvent<'_>,
        usage: Option<Record>,
    ) -> mlua::Result<(&'static str, Table)> {
        let lua = &self.lua;
        Ok(match moment {
            LifecycleEvent::RequestSending => ("FlemmaRequestSending", table!(lua, buf: buffer)),
            LifecycleEvent::RequestFinished { complete } => {
                let usage = usage.map(|record| convert::to_lua(lua, &record)).transpose()?;
                ("FlemmaRequestFinished", table!(lua, buf: buffer, complete: complete, usage: usage))
            }
            LifecycleEvent::ToolExecuting(call) => {
                let (tool, id) = (call.name.as_str(), call.id.0.as_str());
                ("FlemmaToolExecuting", table!(lua, buf: buffer, tool: tool, id: id))
            }
            LifecycleEvent::ToolFinished(id) => ("FlemmaToolFinished", table!(lua, buf: buffer, id: id.0.as_str())),
            LifecycleEvent::ToolPending(id, kind) => {
                ("FlemmaToolPending", table!(lua, buf: buffer, id: id.0.as_str(), kind: kind.as_str()))
            }
        })
    }

    fn end_of_write(&self, saved: &Saved) -> mlua::Result<Table> {
        let Saved { tick, problem, is_current, is_replying } = saved;
        let problem = problem.as_ref().map(ToString::to_string);
        Ok(table!(self.lua, tick: *tick, problem: problem, is_current: *is_current, is_replying: *is_replying))
    }

    fn references(&self, references: &[LookedUp]) -> mlua::Result<Table> {
        let wanted = references.iter().map(|(subject, path)| {
            let path = path.as_ref().map(|path| self.lua.create_string(path.as_os_str().as_bytes())).transpose()?;
            Ok(table!(self.lua, subject: subject.as_str(), path: path))
        });
        convert::list(&self.lua, wanted)
    }
}

/// The files that were written, and the old and the new name of those that have another one now.
fn names(written: &Written) -> (Vec<String>, Vec<Vec<String>>) {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let moved = written.moved.iter().map(|(from, to)| vec![text(from), text(to)]);
    (written.files.iter().map(text).collect(), moved.collect())
}

impl Host for Shim {
    /// `:help nvim_buf_get_lines()`.
    fn text(&self, buffer: i32) -> Rc<dyn Text> {
        Rc::new(BufferText(buffer))
    }

    /// `:help nvim_buf_set_text()`, with `:help undojoin`.
    fn write(&self, buffer: i32, edit: &TextEdit, joins: bool) -> Result<(), UserError> {
        let (start, end) = (edit.start, edit.end);
        let lines = self.lua.create_sequence_from(edit.lines.iter().map(String::as_str));
        let written: mlua::Result<()> = lines.and_then(|lines| {
            self.ask("write", (buffer, start.line, start.column, end.line, end.column, lines, joins))
        });
        written.map_err(|error| UserError::new(convert::words(&error)))
    }

    fn perform(&self, effect: HostEffect<'_>) {
        if let Err(error) = self.hand_over(effect) {
            self.report(&error);
        }
    }

    /// `:help 'modified'`.
    fn has_changes(&self, buffer: i32) -> bool {
        api::Buffer::from(buffer).is_loaded() && self.option(buffer, "modified")
    }

    /// `:help :checktime`.
    fn read_again(&self, buffer: i32) -> bool {
        self.ask("read_again", buffer).unwrap_or_default()
    }

    /// The working directory is the window's that shows the buffer, since the windows of other buffers may have folders of their
    /// own: `:help getcwd()`.
    fn place(&self, buffer: i32) -> Place {
        let window = || -> mlua::Result<(i64, i64)> {
            let windows: Vec<i64> = self.vim("fn", "win_findbuf", buffer)?;
            let place: [i64; 2] = self.vim("fn", "win_id2tabwin", windows.first().copied().unwrap_or_default())?;
            Ok((place[0], place[1]))
        };
        let folder_of = match window() {
            Ok((tab, window)) if window > 0 => (window, tab),
            _ => (-1, -1),
        };
        let folder: BString = self.vim("fn", "getcwd", folder_of).unwrap_or_default();
        let file = String::from_utf8(self.name(buffer).into()).unwrap_or_default();
        Place { file, cwd: convert::path(folder), project: None }
    }

    /// `:help nvim_list_bufs()`.
    fn open_conversations(&self) -> Vec<PathBuf> {
        let loaded = api::list_bufs().filter(api::Buffer::is_loaded).map(|buffer| buffer.handle());
        let wanted = loaded.filter(|buffer| self.option::<String>(*buffer, "filetype") == "chat");
        wanted.map(|buffer| convert::path(self.name(buffer))).filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// `:help nvim_list_runtime_paths()`. It gives those of 'packpath' as well, and leaves relative ones as they are.
    fn runtime_folders(&self) -> Vec<PathBuf> {
        let here = env::current_dir().unwrap_or_default();
        let folders: Vec<BString> = self.vim("api", "nvim_list_runtime_paths", ()).unwrap_or_default();
        folders.into_iter().map(|folder| here.join(convert::path(folder))).collect()
    }

    /// `:help strftime()`: in the time zone of the system or of $TZ.
    fn local_time(&self, at: Timestamp) -> String {
        self.vim("fn", "strftime", ("%Y-%m-%d %H:%M", at.as_second())).unwrap_or_default()
    }

    /// `:help nvim_list_uis()`.
    fn has_ui(&self) -> bool {
        self.vim::<Table>("api", "nvim_list_uis", ()).is_ok_and(|all| !all.is_empty())
    }

    /// `:help v:servername`.
    fn server(&self) -> Option<String> {
        let address = self.field::<Table>("v").and_then(|variables| variables.get::<String>("servername"));
        address.ok().filter(|address| !address.is_empty())
    }

    fn is_editor(&self) -> bool {
        true
    }

    /// `:help nvim_tabpage_list_wins()`, `:help FocusLost`.
    fn is_in_sight(&self, buffer: i32) -> bool {
        self.ask("is_in_sight", buffer).unwrap_or_default()
    }

    /// Insert, Replace or Select mode: `:help mode()`.
    fn is_typing(&self, buffer: i32) -> bool {
        let mode = || self.vim::<Table>("api", "nvim_get_mode", ())?.get::<String>("mode");
        let is_here = api::get_current_buf().handle() == buffer;
        let mode = if is_here { mode().unwrap_or_default() } else { String::new() };
        // For one command, as after Ctrl-O.
        mode.strip_prefix('n').unwrap_or(&mode).starts_with(['i', 'R', 's', 'S', '\u{13}'])
    }

    /// `:help 'modified'`.
    fn unsaved_files(&self) -> Vec<PathBuf> {
        let names: Vec<BString> = self.ask("unsaved", ()).unwrap_or_default();
        names.into_iter().map(convert::path).collect()
    }

    fn write_now(&self, buffer: i32) -> Option<UserError> {
        // Without an answer, the shim has failed, and the file may not be written.
        let problem: Option<String> = self.ask("write_now", buffer).unwrap_or_default();
        let problem = problem.unwrap_or_else(|| "the file could not be written".to_owned());
        (!problem.is_empty()).then(|| UserError::new(problem))
    }
}

/// What is asked of Neovim by its Lua.
impl Shim {
    /// A field of `vim`.
    fn field<R: FromLua>(&self, name: &str) -> mlua::Result<R> {
        self.lua.globals().get::<Table>("vim")?.get(name)
    }

    /// Calls a function of `vim.api` or `vim.fn`.
    fn vim<R: FromLuaMulti>(&self, module: &str, name: &str, args: impl IntoLuaMulti) -> mlua::Result<R> {
        self.field::<Table>(module)?.get::<Function>(name)?.call(args)
    }

    /// Calls a function when no function of the library is on the stack: `:help vim.schedule()`.
    ///
    /// # Errors
    /// When Lua is out of memory.
    pub(super) fn schedule(&self, function: Function) -> mlua::Result<()> {
        self.field::<Function>("schedule")?.call(function)
    }

    /// The full name of a buffer; empty for one that has none or is gone: `:help nvim_buf_get_name()`.
    fn name(&self, buffer: i32) -> BString {
        self.vim("api", "nvim_buf_get_name", buffer).unwrap_or_default()
    }

    /// An option of a buffer: `:help nvim_get_option_value()`.
    fn option<R: FromLuaMulti + Default>(&self, buffer: i32, name: &str) -> R {
        self.vim("api", "nvim_get_option_value", (name, HashMap::from([("buf", buffer)]))).unwrap_or_default()
    }
}
