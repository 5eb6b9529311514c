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
use serde::Serialize;
use serde_json::Value;

use crate::{
    execution::{
        lua_outcome::{LuaOutcome, ToolAnswer},
        tasks::{LatestOutput, StopTool},
    },
    references::captured_text::LookedUp,
    reviews::reviewed::{DrawnHunks, Reviewed},
};
use flemma_agent::{CursorTarget, Level, LifecycleEvent};
use flemma_chat::{Diagnostic, OpenCall, Text, TextEdit};
use flemma_config::{FileOptions, buffer::BufferOptions};
use flemma_journal::Actor;
use flemma_model::{CallId, ModelError, UserError};
use flemma_provider::usage::Record;
use flemma_tools::{
    DeclaredApproval, Definition, LuaError, LuaRef, LuaSandbox, Written, approval::Resolve, builtin::FilesToPick,
    command::CommandResult,
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
    pub fn chat_dir(&self) -> Option<PathBuf> {
        self.project.clone().or_else(|| folder_of(&self.file))
    }

    /// Where relative paths of the conversation start.
    pub fn folder(&self) -> PathBuf {
        self.chat_dir().unwrap_or_else(|| self.cwd.clone())
    }
}

/// The folder of a file; `None` where the path is empty.
pub(crate) fn folder_of(file: &str) -> Option<PathBuf> {
    Path::new(file).parent().filter(|parent| !parent.as_os_str().is_empty()).map(Path::to_owned)
}

/// Shows, writes and asks. Only writing can fail: a host that cannot draw reports that itself and goes on.
pub trait Host {
    /// The text of a buffer, for as long as the conversation lives. A buffer that is gone has no lines.
    fn text(&self, buffer: i32) -> Rc<dyn Text>;

    /// Changes the text. `joins` puts the change into the step of undo before it.
    ///
    /// # Errors
    /// When the buffer is gone or cannot be changed, in the host's words.
    fn write(&self, buffer: i32, edit: &TextEdit, joins: bool) -> Result<(), UserError>;

    /// Shows, tells or asks something; what a host has no means for, it leaves. Effects come up to 200 times a second while a reply arrives.
    fn perform(&self, effect: HostEffect<'_>);

    /// Whether a buffer has changes that its file lacks.
    fn has_changes(&self, _buffer: i32) -> bool {
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

    /// Whether it is an editor, which can look up what it shows ([`HostEffect::Look`]).
    fn is_editor(&self) -> bool {
        false
    }

    /// Whether conversations go on here. Where they do not, decisions and answers are recorded and written, and neither does
    /// a tool run nor is a request sent.
    fn carries_on(&self) -> bool {
        true
    }

    /// The files that are open with changes which are not saved.
    fn unsaved_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Writes the file of a buffer that has changes, and waits for the disk: for conversations that no user looks at. Gives
    /// why it was not written.
    fn write_now(&self, _buffer: i32) -> Option<UserError> {
        None
    }
}

impl dyn Host + '_ {
    /// Tells the user something.
    pub fn notify(&self, level: Level, message: &str) {
        self.perform(HostEffect::Notify { level, message });
    }
}

/// Something to show, to tell or to ask ([`crate::Host::perform`]).
#[expect(missing_docs, reason = "what is said of an effect says what its fields are")]
#[derive(Debug)]
pub enum HostEffect<'a> {
    /// Keeps the user from changing the buffer, or lets them again.
    Lock { buffer: i32, is_locked: bool },
    /// Makes a buffer read-only whose file is held elsewhere, or lets the user change it again.
    Observe { buffer: i32, is_observed: bool },
    /// Shows whether the conversation is busy, and whether it does something else now than before.
    Show { buffer: i32, is_busy: bool, is_other: bool },
    /// The status blocks have changed, which has to be noticed ([`crate::Workspace::noticed`]).
    Refresh { buffer: i32 },
    /// What is drawn over the text of a buffer has changed.
    Redraw { buffer: i32 },
    /// The user's edit has to be settled when it is complete: before the next key, which may be undo
    /// (`conversation.page.settle()`), and at the latest when nothing else is to be done
    /// ([`crate::Workspace::noticed`]).
    Unsettled { buffer: i32 },
    /// Shows diagnostics in place of those before.
    Diagnose { buffer: i32, diagnostics: &'a [Diagnostic] },
    /// Moves the cursor of the windows that follow the conversation.
    Cursor { buffer: i32, target: CursorTarget },
    /// Puts the cursor at the end in those windows.
    Follow { buffer: i32 },
    /// The user has to look at a line: opens the folds that it is in, in all windows.
    Unfold { buffer: i32, line: usize },
    /// Calls of a buffer are about to be approved: what the user has made of their changes in reviews that are open has to be known
    /// ([`Reviews::keep_made`](crate::components::Reviews::keep_made)).
    NoteReviews { buffer: i32 },
    /// What calls in a buffer would write may be something else now.
    ProposalsChanged { buffer: i32 },
    /// A turn is over.
    TurnOver { buffer: i32 },
    /// A write of a buffer's file has ended.
    Saved { buffer: i32, saved: Saved },
    /// A drive has ended ([`Drives::drive_result`](crate::components::Drives::drive_result)).
    Driven { buffer: i32 },
    /// A tool may have changed files that are open. These were written for certain; their links are resolved.
    CheckFiles { written: &'a Written },
    /// Tells the user something.
    Notify { level: Level, message: &'a str },
    /// The user's answer came when its call had ended: tells them, and keeps the text that they typed.
    RefuseLate { buffer: i32, tool: &'a str, call: &'a str, text: &'a [u8] },
    /// Tells other plugins what happened; when a request is over, also what it has used, if the provider has counted that.
    Announce { buffer: i32, moment: LifecycleEvent<'a>, usage: Option<Record> },
    /// Asks the user. The answer comes back as [`crate::Command::Answer`] with this number; the answer to an earlier question
    /// has no effect any more.
    Ask { buffer: i32, number: u64, question: Question },
    /// Opens the form of a call that asks the user a question. The answer comes back as a resolution of the call.
    OpenForm { buffer: i32, call: &'a CallId },
    /// Looks up what the editor shows, for references in a conversation. The answers, in the same order, come back by
    /// [`References::looked`](crate::components::References::looked) with this number.
    Look { buffer: i32, number: u64, references: &'a [LookedUp] },
    /// Comes back to [`crate::Workspace::drain`] soon.
    Wake,
    /// Comes back to [`crate::Workspace::drain`] after a pause, once; a pause that is not over begins anew.
    WakeAfter { pause: Duration },
}

/// A question for the user, which is answered with yes or no.
#[expect(missing_docs, reason = "what is said of a question says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Question {
    /// Whether they trust the code or the policy in the file's frontmatter, whose fence names this language.
    Frontmatter { language: String },
    /// Whether the conversation may show files outside its folder, by where they really are, and what the editor shows, by the
    /// references as they are written. The line, from 0, names the first of them.
    Files { files: Vec<String>, references: Vec<String>, line: usize },
    /// Whether what these files of the project say to agents is sent: rules and skills.
    Instructions { instructions: Vec<AskedFile> },
}

/// A file with instructions that the user is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name in the project.
    pub name: String,
    /// A file with the text that the user has trusted there before; `None` where they never did.
    pub before: Option<PathBuf>,
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

/// A function of a definition, and the call that it is asked about.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// The function.
    pub function: LuaRef,
    /// The call's input.
    pub input: &'a Value,
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

/// Why nothing runs.
const NO_LUA: &str = "there is no Lua here";

/// Runs Lua. What is said here is the answer where there is none.
pub trait Scripts {
    /// Starts a call, here and now; its answer goes to [`ToolRun::answer`]. Gives the function that stops it, if the tool
    /// has one.
    fn start(&self, run: ToolRun<'_>) -> Option<StopTool> {
        run.answer.finish(LuaOutcome::failure(format!("The tool `{}` cannot run: {NO_LUA}.", run.answer.tool())));
        None
    }

    /// What a tool's own `format_preview` says in about `width` cells; `None` where it gives no text.
    ///
    /// # Errors
    /// What it threw.
    fn preview(&self, _asked: CallContext<'_>, _width: usize) -> Result<Option<String>, LuaError> {
        Ok(None)
    }

    /// What a tool's own `format_rejection` says of a call that the user rejects, for this reason; `None` where it gives no
    /// text.
    ///
    /// # Errors
    /// What it threw, or what it returned instead; goes on after the name of the field.
    fn rejection(&self, _asked: CallContext<'_>, _reason: Option<&str>) -> Result<Option<String>, LuaError> {
        Ok(None)
    }

    /// What the function `approval` of a tool says of a call; `None` where it leaves that to others. It never gives
    /// [`DeclaredApproval::Function`].
    ///
    /// # Errors
    /// What it threw, or what it returned instead; goes on after the name of the field.
    fn declared_approval(&self, _asked: CallContext<'_>) -> Result<Option<DeclaredApproval>, LuaError> {
        Err(LuaError::new(format!("failed: {NO_LUA}")))
    }

    /// Whether the function `enabled` of a tool offers it to the conversation in a buffer. `is_named` says that the user asks
    /// for the tool by its name.
    ///
    /// # Errors
    /// What it threw, or what it returned instead; goes on after the name of the field.
    fn is_enabled(&self, _function: LuaRef, _buffer: i32, _is_named: bool) -> Result<bool, LuaError> {
        Err(LuaError::new(format!("failed: {NO_LUA}")))
    }

    /// The policy in a module that `tools.auto_approve` names. The module is loaded when the policy is first asked.
    fn policy_module(&self, _module: &str) -> Resolve {
        Rc::new(|_| Err(LuaError::new(format!("failed: {NO_LUA}"))))
    }

    /// What a parser that was registered for this language reads.
    ///
    /// # Errors
    /// The languages that parsers were registered for, where this is none of them.
    fn parse(&self, _buffer: i32, _language: &str, _code: &str) -> Result<Result<Value, LuaError>, Vec<String>> {
        Err(Vec::new())
    }

    /// Runs the Lua of a file's frontmatter, which sets `options`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    fn run_frontmatter(&self, _code: &str, _options: BufferOptions) -> Result<FrontmatterRun, ScriptError> {
        Err(ScriptError { line: 0, message: format!("the Lua frontmatter cannot run: {NO_LUA}") })
    }

    /// Releases the functions of a definition that has left the registry.
    fn release(&self, _definition: &Definition) {}

    /// Calls a function that asked for files to pick: with them, or with why there are none.
    fn files_to_pick(&self, _callback: LuaRef, _files: Result<FilesToPick, ModelError>) {}

    /// Calls a function that waits for the end of a command.
    fn command_ended(&self, _callback: LuaRef, _result: CommandResult) {}

    /// What evaluates the Lua of models; `None` where there is none.
    fn sandbox(&self) -> Option<LuaSandbox> {
        None
    }

    /// Calls a function that waits for something: with the answer, or with `nil` and why there is none.
    fn answered(&self, _callback: LuaRef, _answer: Result<Value, UserError>) {}

    /// Nobody calls this function any more.
    fn forget(&self, _callback: LuaRef) {}

    /// Calls a function that asked what a call would write.
    fn reviewed(&self, _callback: LuaRef, _reviewed: Result<Reviewed, UserError>) {}

    /// Calls a function that asked how hunks are drawn.
    fn drawn(&self, _callback: LuaRef, _drawn: &DrawnHunks) {}
}

/// Scripts of a host without Lua: no tool, policy or frontmatter in Lua can run.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScripts;

impl Scripts for NoScripts {}
