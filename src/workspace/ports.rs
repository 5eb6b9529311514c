//! What the workspace needs of the world: a [`Host`] that shows and writes, and [`Scripts`] that run Lua.
//!
//! In the editor both are Neovim (`src/nvim`); in the tests they are plain lists. Buffers are named by their numbers,
//! which the host gives.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use super::{
    editor_view::LookedUp,
    latest_output::LatestOutput,
    lua_outcome::LuaOutcome,
    reviewed::{DrawnHunks, Reviewed},
    tasks::StopTool,
    tool_answer::ToolAnswer,
};
use crate::{
    agent::{CursorTarget, Level},
    chat::{AwaitKind, Diagnostic, OpenCall, Text, TextEdit},
    config::{FileOptions, buffer::BufferOptions},
    journal::Actor,
    model::{CallId, ModelError, UserError},
    tools::{
        DeclaredApproval, Definition, LuaError, LuaRef, LuaSandbox, Written, approval::Resolve, builtin::FilesToPick,
        command::CommandResult,
    },
    usage::Record,
};

/// Where a conversation is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The absolute path of its file; empty if it has none.
    pub file: String,
    /// The working directory of the editor.
    pub cwd: PathBuf,
    /// The root of the project, if the file is among the conversations of a project. A host leaves it to the workspace.
    pub project: Option<PathBuf>,
}

impl Place {
    /// The folder of the file, or the root of the project whose conversation it is; `None` while the conversation has no
    /// file.
    #[must_use]
    pub fn chat_dir(&self) -> Option<PathBuf> {
        self.project.clone().or_else(|| folder_of(&self.file))
    }

    /// Where relative paths of the conversation start.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.chat_dir().unwrap_or_else(|| self.cwd.clone())
    }
}

/// The folder of a file; `None` where the path is empty.
pub(super) fn folder_of(file: &str) -> Option<PathBuf> {
    Path::new(file).parent().filter(|parent| !parent.as_os_str().is_empty()).map(Path::to_owned)
}

/// A question for the user, which is answered with yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether they trust the code or the policy in the file's frontmatter.
    Frontmatter {
        /// The language, as the fence names it.
        language: String,
    },
    /// Whether the conversation may show files outside its folder, and what the editor shows.
    Files {
        /// Where they really are.
        files: Vec<String>,
        /// The references to what the editor shows, as they are written.
        references: Vec<String>,
        /// The line, from 0, that names the first of them.
        line: usize,
    },
}

/// What other plugins are told.
#[derive(Clone, Debug, PartialEq)]
pub enum Announcement<'a> {
    /// A request goes out.
    RequestSending,
    /// A request is over.
    RequestFinished {
        /// Whether its reply is complete.
        complete: bool,
        /// What it has used; `None` where the provider counted nothing.
        usage: Option<Record>,
    },
    /// A tool starts.
    ToolExecuting {
        /// The tool's name.
        tool: &'a str,
        /// The call's id.
        call: &'a str,
    },
    /// A call has its result.
    ToolFinished {
        /// The call's id.
        call: &'a str,
    },
    /// A call waits.
    ToolPending {
        /// The call's id.
        call: &'a str,
        /// What it waits for.
        kind: AwaitKind,
    },
}

/// How a write of a file has ended.
#[derive(Debug)]
pub struct Saved {
    /// What came with the text.
    pub tick: i64,
    /// What went wrong.
    pub problem: Option<UserError>,
    /// Whether nothing else has changed the file since.
    pub is_current: bool,
    /// Whether a reply is arriving, so that the text ends with an incomplete one.
    pub is_replying: bool,
}

/// Why a buffer was not changed, in the host's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct HostError(String);

impl HostError {
    /// An error with the host's words.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

/// Shows, writes and asks. Only writing can fail: a host that cannot draw reports that itself and goes on. A host need not
/// draw anything, so what is drawn has an empty default.
pub trait Host {
    /// The text of a buffer, for as long as the conversation lives. A buffer that is gone has no lines.
    fn text(&self, buffer: i32) -> Rc<dyn Text>;

    /// Changes the text. `joins` puts the change into the step of undo before it.
    ///
    /// # Errors
    /// When the buffer is gone or cannot be changed.
    fn write(&self, buffer: i32, edit: &TextEdit, joins: bool) -> Result<(), HostError>;

    /// Keeps the user from changing the buffer, or lets them again.
    fn lock(&self, _buffer: i32, _is_locked: bool) {}

    /// Makes a buffer read-only whose file is held elsewhere, or lets the user change it again. Says whether it has changes
    /// that its file lacks.
    fn observe(&self, _buffer: i32, _is_observed: bool) -> bool {
        false
    }

    /// Compares a buffer's file with what was read of it, and reads it again if it has changed since. A buffer with changes of its
    /// own keeps them, and is not written any more by itself. Says whether that is so.
    fn read_again(&self, _buffer: i32) -> bool {
        false
    }

    /// Where the conversation is.
    fn place(&self, buffer: i32) -> Place;

    /// The files of all conversations that are open.
    fn open_conversations(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The folders from which the editor runs files by itself; absolute.
    fn runtime_folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Shows whether the conversation is busy, and whether it does something else now than before.
    fn show(&self, _buffer: i32, _is_busy: bool, _is_other: bool) {}

    /// The status blocks have changed, which has to be noticed ([`super::Workspace::noticed`]).
    fn refresh(&self, _buffer: i32) {}

    /// What is drawn over the text of a buffer has changed.
    fn redraw(&self, _buffer: i32) {}

    /// The user's edit has to be settled when it is complete: before the next key, which may be undo
    /// ([`Conversation::settle`](super::Conversation::settle)), and at the latest when nothing else is to be done
    /// ([`super::Workspace::noticed`]).
    fn unsettled(&self, _buffer: i32) {}

    /// Shows diagnostics in place of those before.
    fn diagnose(&self, _buffer: i32, _diagnostics: &[Diagnostic]) {}

    /// Moves the cursor of the windows that follow the conversation.
    fn cursor(&self, _buffer: i32, _target: CursorTarget) {}

    /// Puts the cursor at the end in those windows.
    fn follow(&self, _buffer: i32) {}

    /// The user has to look at a line: opens the folds that it is in, in all windows.
    fn unfold(&self, _buffer: i32, _line: usize) {}

    /// Calls of a buffer are about to be approved: what the user has made of their changes in reviews that are open has to be known
    /// ([`super::Workspace::keep_made`]).
    fn note_reviews(&self, _buffer: i32) {}

    /// A buffer has lines that are so long that an editor takes its time for each change of them.
    fn long_lines(&self, _buffer: i32) {}

    /// A turn is over.
    fn turn_over(&self, _buffer: i32) {}

    /// Tells the user something.
    fn notify(&self, level: Level, message: &str);

    /// The time.
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// A moment as the user reads it, to the minute.
    fn local_time(&self, at: Timestamp) -> String {
        at.strftime("%Y-%m-%d %H:%M UTC").to_string()
    }

    /// Whether a user interface is attached, so that tools can run in it.
    fn has_ui(&self) -> bool {
        true
    }

    /// Whether the user sees a buffer: a window of the current tab page shows it, and the editor has the focus.
    fn is_in_sight(&self, _buffer: i32) -> bool {
        true
    }

    /// Whether the user is typing in this buffer (Insert mode and the like).
    fn is_typing(&self, _buffer: i32) -> bool {
        false
    }

    /// The address at which the user's other programs reach this process; `None` if there is none.
    fn server(&self) -> Option<String> {
        None
    }

    /// Whether conversations go on here. Where they do not, decisions and answers are recorded and written, and neither does
    /// a tool run nor is a request sent.
    fn carries_on(&self) -> bool {
        true
    }

    /// Looks up what the editor shows, for references in a conversation. The answers, in the same order, come back by
    /// [`super::Workspace::looked`] with this number. `false` if there is no editor.
    fn look(&self, _buffer: i32, _number: u64, _references: &[LookedUp]) -> bool {
        false
    }

    /// Opens the form of a call that asks the user a question. The answer comes back as a resolution of the call.
    fn open_form(&self, _buffer: i32, _call: &CallId) {}

    /// Tells other plugins what happened.
    fn announce(&self, _buffer: i32, _what: Announcement<'_>) {}

    /// A tool may have changed files that are open. These were written for certain; their links are resolved.
    fn check_files(&self, _written: &Written) {}

    /// The files that are open with changes which are not saved.
    fn unsaved_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What calls in a buffer would write may be something else now.
    fn proposals_changed(&self, _buffer: i32) {}

    /// A write of a buffer's file has ended.
    fn saved(&self, _buffer: i32, _saved: Saved) {}

    /// Writes the file of a buffer that has changes, and waits for the disk: for conversations that no user looks at. Gives
    /// why it was not written.
    fn write_now(&self, _buffer: i32) -> Option<UserError> {
        None
    }

    /// A drive has ended ([`super::Workspace::drive_result`]).
    fn driven(&self, _buffer: i32) {}

    /// Asks the user. The answer comes back as [`super::Command::Answer`] with this number; the answer to an earlier question
    /// has no effect any more.
    fn ask(&self, buffer: i32, number: u64, question: Question);

    /// Comes back to [`super::Workspace::drain`] soon.
    fn wake(&self);

    /// Comes back to [`super::Workspace::drain`] after a pause, once; a pause that is not over begins anew.
    fn wake_after(&self, pause: Duration);
}

/// One call of a tool that is written in Lua.
pub struct ToolRun<'a> {
    /// The conversation's buffer.
    pub buffer: i32,
    /// The tool.
    pub definition: &'a Definition,
    /// The call.
    pub call: &'a OpenCall,
    /// Its input.
    pub input: &'a Value,
    /// The number of this run among all of the conversation.
    pub run: u64,
    /// Its function.
    pub function: LuaRef,
    /// How long it may take.
    pub timeout: Duration,
    /// Who let it run.
    pub resolved_by: Actor,
    /// Whether that was this process.
    pub is_resolved_here: bool,
    /// Where the lines go that it shows of its progress.
    pub latest: LatestOutput,
    /// Where its answer goes.
    pub answer: ToolAnswer,
}

/// The call that a function of a definition is asked about.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// The conversation's buffer.
    pub buffer: i32,
    /// The call's id; empty where nobody has made the call.
    pub call: &'a CallId,
}

/// What the code of a file's frontmatter came to.
pub struct FrontmatterRun {
    /// The options that it has set.
    pub file: FileOptions,
    /// `tools.auto_approve`, where that is a function. It runs within the limits of such code.
    pub policy: Option<Resolve>,
}

/// What is wrong in the code of a file's frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The line of the file, from 0.
    pub line: usize,
    /// What is wrong, in words for the user.
    pub message: String,
}

/// Runs Lua.
pub trait Scripts {
    /// Starts a call, here and now; its answer goes to [`ToolRun::answer`]. Gives the function that stops it, if the tool
    /// has one.
    fn start(&self, run: ToolRun<'_>) -> Option<StopTool>;

    /// What a tool's own `format_preview` says in about `width` cells; `None` where it gives no text.
    ///
    /// # Errors
    /// What it threw.
    fn preview(
        &self,
        function: LuaRef,
        input: &Value,
        width: usize,
        context: CallContext<'_>,
    ) -> Result<Option<String>, LuaError>;

    /// What a tool's own `format_rejection` says of a call that the user rejects, for this reason; `None` where it gives no
    /// text.
    ///
    /// # Errors
    /// What it threw, or what it returned instead; goes on after the name of the field.
    fn rejection(
        &self,
        function: LuaRef,
        input: &Value,
        context: CallContext<'_>,
        reason: Option<&str>,
    ) -> Result<Option<String>, LuaError>;

    /// What the function `approval` of a tool says of a call; `None` where it leaves that to others. It never gives
    /// [`DeclaredApproval::Function`].
    ///
    /// # Errors
    /// What it threw, or what it returned instead; goes on after the name of the field.
    fn declared_approval(
        &self,
        function: LuaRef,
        input: &Value,
        context: CallContext<'_>,
    ) -> Result<Option<DeclaredApproval>, LuaError>;

    /// Whether the function `enabled` of a tool offers it to the conversation in a buffer. `is_named` says that the user asks
    /// for the tool by its name.
    ///
    /// # Errors
    /// What it threw, or what it returned instead; goes on after the name of the field.
    fn is_enabled(&self, function: LuaRef, buffer: i32, is_named: bool) -> Result<bool, LuaError>;

    /// The policy in a module that `tools.auto_approve` names. The module is loaded when the policy is first asked.
    fn policy_module(&self, module: &str) -> Resolve;

    /// What a parser that was registered for this language reads; `None` where there is none.
    fn parse(&self, buffer: i32, language: &str, code: &str) -> Option<Result<Value, LuaError>>;

    /// The languages that parsers were registered for.
    fn languages(&self) -> Vec<String>;

    /// Runs the Lua of a file's frontmatter, which sets `options`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    fn run_frontmatter(&self, code: &str, options: BufferOptions) -> Result<FrontmatterRun, ScriptError>;

    /// Releases the functions of a definition that has left the registry.
    fn release(&self, definition: &Definition);

    /// Calls a function that asked for files to pick: with them, or with why there are none.
    fn files_to_pick(&self, _callback: LuaRef, _files: Result<FilesToPick, ModelError>) {}

    /// Calls a function that waits for the end of a command.
    fn command_ended(&self, _callback: LuaRef, _result: CommandResult) {}

    /// Calls a function that waits for the end of a resolution: with `true`, or with `nil` and why it failed.
    fn resolved(&self, callback: LuaRef, outcome: Result<(), UserError>);

    /// What evaluates the Lua of models; `None` where there is none.
    fn sandbox(&self) -> Option<LuaSandbox> {
        None
    }

    /// Calls a function that asked for something: with the answer, or with `nil` and why there is none.
    fn answered(&self, _callback: LuaRef, _answer: Result<Value, UserError>) {}

    /// Nobody calls this function any more.
    fn forget(&self, _callback: LuaRef) {}

    /// Calls a function that asked what a call would write.
    fn reviewed(&self, _callback: LuaRef, _reviewed: Result<Reviewed, UserError>) {}

    /// Calls a function that asked how hunks are drawn.
    fn drawn(&self, _callback: LuaRef, _drawn: &DrawnHunks) {}

    /// Calls a function that waits for the end of something: with nothing, or with why it failed.
    fn ended(&self, _callback: LuaRef, _problem: Option<UserError>) {}

    /// Calls a function that asked for models: with their names, or with why there are none.
    fn models(&self, callback: LuaRef, models: Result<Vec<String>, UserError>);
}

/// Scripts of a host without Lua: no tool, policy or frontmatter in Lua can run.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScripts;

/// Why nothing runs.
const NO_LUA: &str = "there is no Lua here";

impl Scripts for NoScripts {
    fn start(&self, run: ToolRun<'_>) -> Option<StopTool> {
        run.answer.finish(LuaOutcome::failure(format!("The tool `{}` cannot run: {NO_LUA}.", run.answer.tool())));
        None
    }

    fn preview(&self, _: LuaRef, _: &Value, _: usize, _: CallContext<'_>) -> Result<Option<String>, LuaError> {
        Ok(None)
    }

    fn rejection(&self, _: LuaRef, _: &Value, _: CallContext<'_>, _: Option<&str>) -> Result<Option<String>, LuaError> {
        Ok(None)
    }

    fn declared_approval(
        &self,
        _: LuaRef,
        _: &Value,
        _: CallContext<'_>,
    ) -> Result<Option<DeclaredApproval>, LuaError> {
        Err(LuaError::new(format!("failed: {NO_LUA}")))
    }

    fn is_enabled(&self, _: LuaRef, _: i32, _: bool) -> Result<bool, LuaError> {
        Err(LuaError::new(format!("failed: {NO_LUA}")))
    }

    fn policy_module(&self, _: &str) -> Resolve {
        Rc::new(|_| Err(LuaError::new(format!("failed: {NO_LUA}"))))
    }

    fn parse(&self, _: i32, _: &str, _: &str) -> Option<Result<Value, LuaError>> {
        None
    }

    fn languages(&self) -> Vec<String> {
        Vec::new()
    }

    fn run_frontmatter(&self, _: &str, _: BufferOptions) -> Result<FrontmatterRun, ScriptError> {
        Err(ScriptError { line: 0, message: format!("the Lua frontmatter cannot run: {NO_LUA}") })
    }

    fn release(&self, _: &Definition) {}

    fn resolved(&self, _: LuaRef, _: Result<(), UserError>) {}

    fn models(&self, _: LuaRef, _: Result<Vec<String>, UserError>) {}
}
