//! Runs Lua for the workspace: see [`Scripts`].

use std::{convert::Infallible, ffi::OsString, fs, os::unix::ffi::OsStringExt, rc::Rc};

use mlua::{IntoLuaMulti, Lua, LuaString, Table, Value};
use nvim_oxi::api;

use super::{
    convert::{self, table},
    functions::Functions,
    lua_tools, opt,
    policies::{self, Limits},
    review_table,
    shim::Shim,
};
use flemma_config::buffer::BufferOptions;
use flemma_model::{ModelError, UserError};
use flemma_tools::{
    DeclaredApproval, Definition, LuaError, LuaRef, LuaSandbox, approval::Resolve, builtin::FilesToPick,
    command::CommandResult,
};
use flemma_workspace::{
    DrawnHunks, LuaOutcome, Reviewed, Scripts, StopTool,
    ports::{CallContext, FrontmatterRun, ScriptError, ToolRun},
};

/// The Lua of this Neovim.
pub(super) struct LuaScripts {
    shim: Rc<Shim>,
    functions: Rc<Functions>,
}

impl LuaScripts {
    pub(super) fn new(shim: &Rc<Shim>, functions: &Rc<Functions>) -> Self {
        Self { shim: Rc::clone(shim), functions: Rc::clone(functions) }
    }

    /// Calls a function of a definition, which cannot change the buffer. One that was released says nothing.
    fn ask_tool<A: IntoLuaMulti>(
        &self,
        buffer: i32,
        function: LuaRef,
        arguments: impl FnOnce() -> mlua::Result<A>,
    ) -> Result<Value, LuaError> {
        let Some(function) = self.functions.get(function) else { return Ok(Value::Nil) };
        let asked = arguments().and_then(|arguments| self.shim.guarded("ask_tool", (buffer, function, arguments)));
        asked.map_err(|error| convert::lua_error(&error))
    }

    /// Calls a function that waits for something, for the first and the last time: with what it waits for, or with nil and why
    /// there is none.
    fn call_back(&self, callback: LuaRef, answer: Result<mlua::Result<impl IntoLuaMulti>, impl ToString>) {
        let Some(function) = self.functions.get(callback) else { return };
        self.functions.release(callback);
        let called: mlua::Result<()> = match answer {
            Ok(values) => values.and_then(|values| function.call(values)),
            Err(problem) => function.call((Value::Nil, problem.to_string())),
        };
        if let Err(error) = called {
            self.shim.report(&error);
        }
    }
}

impl Scripts for LuaScripts {
    fn start(&self, run: ToolRun<'_>) -> Option<StopTool> {
        let Some(execute) = self.functions.get(run.function) else {
            run.answer.finish(LuaOutcome::failure(format!(
                "The tool `{}` was unregistered before this call could run.",
                run.answer.tool()
            )));
            return None;
        };
        lua_tools::start(&self.shim, &execute, run)
    }

    fn preview(&self, asked: CallContext<'_>, width: usize) -> Result<Option<String>, LuaError> {
        let arguments = || Ok((convert::from_json(&self.shim.lua, asked.input)?, width, about(&self.shim.lua, asked)?));
        Ok(match self.ask_tool(asked.buffer, asked.function, arguments)? {
            Value::String(body) => Some(body.to_string_lossy()),
            _ => None,
        })
    }

    fn rejection(&self, asked: CallContext<'_>, reason: Option<&str>) -> Result<Option<String>, LuaError> {
        let arguments = || {
            let about = about(&self.shim.lua, asked)?;
            about.set("reason", reason)?;
            Ok((convert::from_json(&self.shim.lua, asked.input)?, about))
        };
        let answer = self.ask_tool(asked.buffer, asked.function, arguments);
        text(&answer.map_err(failed)?)
    }

    fn declared_approval(&self, asked: CallContext<'_>) -> Result<Option<DeclaredApproval>, LuaError> {
        let arguments = || Ok((convert::from_json(&self.shim.lua, asked.input)?, about(&self.shim.lua, asked)?));
        let answer = self.ask_tool(asked.buffer, asked.function, arguments);
        policies::meaning(&answer.map_err(failed)?, &DeclaredApproval::WORDS)
    }

    fn is_enabled(&self, function: LuaRef, buffer: i32, is_named: bool) -> Result<bool, LuaError> {
        let arguments = || Ok(table!(self.shim.lua, bufnr: buffer, named: is_named));
        let asked = self.ask_tool(buffer, function, arguments);
        switch(&asked.map_err(failed)?)
    }

    fn policy_module(&self, module: &str) -> Resolve {
        policies::module(&self.shim, module)
    }

    fn parse(
        &self,
        buffer: i32,
        language: &str,
        code: &str,
    ) -> Result<Result<serde_json::Value, LuaError>, Vec<String>> {
        let parsed = self.shim.parse(buffer, language, code)?;
        let parsed = parsed.and_then(|value| convert::to_json(&self.shim.lua, value));
        Ok(parsed.map_err(|error| convert::lua_error(&error)))
    }

    fn run_frontmatter(&self, code: &str, options: BufferOptions) -> Result<FrontmatterRun, ScriptError> {
        let internal = |error: mlua::Error| {
            let message = format!("the Lua frontmatter: {}", convert::words(&error));
            ScriptError { line: 0, message }
        };
        let evaluation = opt::Evaluation::new(options);
        let table = evaluation.table(&self.shim.lua).map_err(internal)?;
        // One line above it, for the fence: so that the code's lines have the file's numbers.
        let ran = self.shim.ask("run_frontmatter", (format!("\n{code}"), table)).map_err(internal)?;
        let (ok, problem, line): (bool, Option<LuaString>, Option<usize>) = ran;
        let (options, function) = evaluation.finish();
        match options {
            Some(options) if ok => {
                let policy = function.map(|function| policies::policy(&self.shim, function, Limits::OfFiles));
                Ok(FrontmatterRun { file: options.finish(), policy })
            }
            _ => {
                let message = problem.map(|problem| problem.to_string_lossy()).unwrap_or_default();
                Err(ScriptError { line: line.unwrap_or(1).saturating_sub(1), message })
            }
        }
    }

    fn release(&self, definition: &Definition) {
        definition.functions().for_each(|function| self.functions.release(function));
    }

    fn sandbox(&self) -> Option<LuaSandbox> {
        let script = api::get_runtime_file("lua/flemma/tools/evaluation.lua", false).ok()?.next()?;
        Some(LuaSandbox { nvim: own_program()?, script })
    }

    fn files_to_pick(&self, callback: LuaRef, files: Result<FilesToPick, ModelError>) {
        let values = |files: FilesToPick| Ok((files.paths, files.more, files.denied, files.is_partial));
        self.call_back(callback, files.map(values));
    }

    fn command_ended(&self, callback: LuaRef, result: CommandResult) {
        let CommandResult { code, signal, stdout, stderr, is_stopped, problem } = result;
        let problem = problem.map(|problem| problem.to_string());
        let table = || {
            Ok(table!(
                self.shim.lua,
                code: code,
                signal: signal,
                stdout: stdout,
                stderr: stderr,
                stopped: is_stopped,
                problem: problem,
            ))
        };
        self.call_back(callback, Ok::<_, Infallible>(table()));
    }

    fn answered(&self, callback: LuaRef, answer: Result<serde_json::Value, UserError>) {
        self.call_back(callback, answer.map(|answer| convert::from_json(&self.shim.lua, &answer)));
    }

    fn reviewed(&self, callback: LuaRef, reviewed: Result<Reviewed, UserError>) {
        self.call_back(callback, reviewed.map(|reviewed| review_table::review(&self.shim.lua, &reviewed)));
    }

    fn drawn(&self, callback: LuaRef, drawn: &DrawnHunks) {
        self.call_back(callback, Ok::<_, Infallible>(review_table::drawn(&self.shim.lua, drawn)));
    }

    fn forget(&self, callback: LuaRef) {
        self.functions.release(callback);
    }
}

/// The table that says which call a function is asked about.
fn about(lua: &Lua, context: CallContext<'_>) -> mlua::Result<Table> {
    Ok(table!(lua, bufnr: context.buffer, call_id: context.call.0.as_str()))
}

/// A function has thrown this.
fn failed(thrown: LuaError) -> LuaError {
    LuaError::new(format!("failed: {thrown}"))
}

/// A text, or nothing for nil. `Err` goes on after the name of the field, as those below.
fn text(answer: &Value) -> Result<Option<String>, LuaError> {
    match answer {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.to_string_lossy())),
        other => Err(LuaError::new(format!("returned a {}, not a string", other.type_name()))),
    }
}

/// `true` or `false`; nil is `false`, as everywhere in Lua.
fn switch(answer: &Value) -> Result<bool, LuaError> {
    match answer {
        Value::Nil => Ok(false),
        Value::Boolean(switch) => Ok(*switch),
        other => Err(LuaError::new(format!("returned a {}, not true or false", other.type_name()))),
    }
}

/// What starts this Neovim again. If a loader has started it, `v:progpath` is the loader, and Neovim is one of its arguments.
fn own_program() -> Option<Vec<OsString>> {
    let program: String = api::get_vvar("progpath").ok()?;
    let arguments: Vec<String> = api::get_vvar("argv").ok()?;
    let all = fs::read("/proc/self/cmdline").unwrap_or_default();
    let mut all: Vec<_> = all.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_owned())).collect();
    let own = all.iter().position(|part| arguments.first().is_some_and(|own| part == own.as_str()));
    all.truncate(own.unwrap_or_default() + 1);
    all[0] = program.into();
    Some(all)
}
