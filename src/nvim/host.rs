//! Neovim as the workspace's host.

use std::{env, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf, rc::Rc};

use jiff::Timestamp;
use mlua::{BString, Table};

use super::{
    buffer::BufferText,
    convert::{self, table},
    shim::Shim,
};
use flemma_agent::{CursorReason, Level, LifecycleEvent};
use flemma_chat::{Diagnostic, Severity, Text, TextEdit};
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
                self.tell("diagnose", (buffer, self.diagnostics(diagnostics)?))
            }
            HostEffect::Cursor { buffer, target } => {
                let reason = match target.reason {
                    CursorReason::Pending => "pending",
                    CursorReason::Awaited => "awaited",
                    CursorReason::Result => "result",
                    CursorReason::Prompt => "prompt",
                };
                self.tell("cursor", (buffer, target.line, reason))
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
                let level = match level {
                    Level::Info => "info",
                    Level::Warn => "warn",
                    Level::Error => "error",
                };
                self.tell("notify", (level, message))
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

    fn diagnostics(&self, diagnostics: &[Diagnostic]) -> mlua::Result<Table> {
        let item = |diagnostic: &Diagnostic| {
            let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
            Ok(table!(self.lua, line: diagnostic.line, severity: severity, message: diagnostic.message.as_str()))
        };
        convert::list(&self.lua, diagnostics.iter().map(item))
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
        let written = lines
            .and_then(|lines| self.write_lines((buffer, start.line, start.column, end.line, end.column, lines, joins)));
        written.map_err(|error| UserError::new(convert::words(&error)))
    }

    fn perform(&self, effect: HostEffect<'_>) {
        if let Err(error) = self.hand_over(effect) {
            self.report(&error);
        }
    }

    fn has_changes(&self, buffer: i32) -> bool {
        self.editor.is_modified(buffer)
    }

    /// `:help :checktime`.
    fn read_again(&self, buffer: i32) -> bool {
        self.ask("read_again", buffer)
    }

    fn place(&self, buffer: i32) -> Place {
        let (file, cwd) = self.editor.place(buffer);
        Place { file, cwd, project: None }
    }

    fn open_conversations(&self) -> Vec<PathBuf> {
        self.editor.files_of_type("chat")
    }

    fn runtime_folders(&self) -> Vec<PathBuf> {
        self.editor.runtime_folders(&env::current_dir().unwrap_or_default())
    }

    fn local_time(&self, at: Timestamp) -> String {
        self.editor.local_time(at)
    }

    fn has_ui(&self) -> bool {
        self.editor.has_ui()
    }

    fn server(&self) -> Option<String> {
        self.editor.server()
    }

    fn is_editor(&self) -> bool {
        true
    }

    /// `:help nvim_tabpage_list_wins()`, `:help FocusLost`.
    fn is_in_sight(&self, buffer: i32) -> bool {
        self.ask("is_in_sight", buffer)
    }

    fn is_typing(&self, buffer: i32) -> bool {
        self.editor.is_typing(buffer)
    }

    /// `:help 'modified'`.
    fn unsaved_files(&self) -> Vec<PathBuf> {
        let names: Vec<BString> = self.ask("unsaved", ());
        names.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
    }

    fn write_now(&self, buffer: i32) -> Option<UserError> {
        // Without an answer, the shim has failed, and the file may not be written.
        let problem: Option<String> = self.ask("write_now", buffer);
        let problem = problem.unwrap_or_else(|| "the file could not be written".to_owned());
        (!problem.is_empty()).then(|| UserError::new(problem))
    }
}
