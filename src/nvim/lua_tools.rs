//! Tools written in Lua: from the table that was registered to the value that a call returned.
//!
//! A Lua tool runs on the main thread. It answers by what it returns, or, if it is `async`, by its callback, which
//! may come from anywhere, libuv's callbacks included: an answer only goes into a queue.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use mlua::{Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};
use nvim_oxi::api;

use super::{
    convert::{self, Room, table},
    functions::Functions,
    shim::Shim,
};
use flemma_model::UserError;
use flemma_tools::{
    DeclaredApproval, Definition, Executor, LuaRef, arranged,
    declare::{self, Field},
};
use flemma_workspace::{
    Host as _, HostEffect, LuaFile, LuaOutcome, LuaValue, MAX_TEXT, MAX_VALUES, StopTool, ToolAnswer, ports::ToolRun,
};

/// The fields of a definition that Lua wrote.
pub(super) struct Fields {
    /// Their names and values.
    pub(super) entries: Vec<(String, Field)>,
    /// The functions among them, which were kept.
    pub(super) kept: Vec<LuaRef>,
}

/// Reads the fields of a definition that Lua wrote, and keeps the functions among them.
///
/// # Errors
/// What is wrong with the table, for the user. Then no function was kept.
pub(super) fn fields(lua: &Lua, functions: &Functions, name: Option<&str>, table: &Table) -> Result<Fields, UserError> {
    let mut entries = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| UserError::new(convert::words(&error)))?;
        let Value::String(key) = key else {
            let tool = name.unwrap_or("(unnamed)");
            return Err(UserError::new(format!(
                "tool `{tool}`: a definition is a table of named fields, and this one has a list in it"
            )));
        };
        entries.push((key.to_string_lossy(), value));
    }
    let mut kept = Vec::new();
    let mut field = |value| match value {
        Value::Function(function) => {
            let function = functions.keep(function);
            kept.push(function);
            Field::Function(function)
        }
        Value::Number(number) if !number.is_finite() => Field::Other(format!("{number}, which is not a finite number")),
        value @ (Value::Boolean(_) | Value::Integer(_) | Value::Number(_) | Value::String(_) | Value::Table(_)) => {
            convert::to_json(lua, value).map_or_else(|error| Field::Unreadable(convert::words(&error)), Field::Value)
        }
        value => Field::Other(format!("a {}", convert::kind(&value))),
    };
    let entries = entries.into_iter().map(|(key, value)| (key, field(value))).collect();
    Ok(Fields { entries, kept })
}

/// A definition as Lua is given it: a copy, with its own functions where it is written in Lua.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn describe(lua: &Lua, functions: &Functions, definition: &Definition) -> mlua::Result<Value> {
    let described = convert::from_json(lua, &declare::describe(definition))?;
    if let Value::Table(table) = &described {
        let get = |function: Option<LuaRef>| function.and_then(|function| functions.get(function));
        table.set("execute", get(definition.executor.function()))?;
        table.set("format_preview", get(definition.format_preview))?;
        table.set("format_rejection", get(definition.format_rejection))?;
        if definition.enabled_by.is_some() {
            table.set("enabled", get(definition.enabled_by))?;
        }
        if let Some(DeclaredApproval::Function(function)) = definition.approval {
            table.set("approval", get(Some(function)))?;
        }
    }
    Ok(described)
}

/// Starts a call of the function `execute`. Gives the function that stops it, if it returned one.
pub(super) fn start(shim: &Rc<Shim>, execute: &Function, run: ToolRun<'_>) -> Option<StopTool> {
    let ToolRun { buffer, definition, call, input, timeout, resolved_by, is_resolved_here, latest, answer, .. } = run;
    let (number, lua) = (run.run, &shim.lua);
    let is_client = matches!(definition.executor, Executor::Client(_));
    let answers = Answers {
        answer,
        schema: definition.result_schema.clone(),
        late: is_client.then(|| Late { shim: Rc::clone(shim), buffer, call: call.id.0.clone() }),
        is_first: Rc::new(Cell::new(true)),
    };
    let taken = answers.clone();
    let arguments = || -> mlua::Result<MultiValue> {
        let callback =
            lua.create_function(move |lua, (value, problem): (Value, Value)| taken.take(lua, value, problem))?;
        let progress = definition.streaming.then(|| {
            lua.create_function(move |_, text: LuaString| {
                latest.put(&text.to_string_lossy());
                Ok(())
            })
        });
        let (role, host) = (resolved_by.role.as_str(), resolved_by.host.as_str());
        let by = table!(lua, role: role, process: resolved_by.process, host: host, here: is_resolved_here);
        let about = table!(lua, call_id: call.id.0.as_str(), run: number, resolved_by: by);
        let context = (buffer, call.name.as_str(), timeout.as_secs_f64(), progress.transpose()?, about);
        (execute, convert::from_json(lua, input)?, callback, context).into_lua_multi(lua)
    };
    match arguments() {
        Ok(arguments) => {
            let run = Run { arguments, is_async: definition.is_async, answers };
            if is_client { run.when_drawn(shim) } else { run.now(shim) }
        }
        Err(error) => {
            answers.fail(&convert::words(&error));
            None
        }
    }
}

/// Where the answers of one run go. The first one counts.
#[derive(Clone)]
struct Answers {
    answer: ToolAnswer,
    schema: Option<Arc<serde_json::Value>>,
    /// Hears of an answer that comes when the call has ended; `None` for a tool that asks the user nothing.
    late: Option<Late>,
    /// Whether no answer of the run has been taken or refused yet.
    is_first: Rc<Cell<bool>>,
}

/// The call of a client tool: the user may have typed its answer.
#[derive(Clone)]
struct Late {
    shim: Rc<Shim>,
    buffer: i32,
    call: String,
}

impl Answers {
    /// The tool has failed, and this is why.
    fn fail(&self, what: &str) {
        self.answer.finish(LuaOutcome::failure(format!("The tool `{}` failed: {what}", self.answer.tool())));
    }

    /// Takes a value that the tool has returned or passed to its callback.
    fn take(&self, lua: &Lua, value: Value, problem: Value) -> mlua::Result<()> {
        let outcome = outcome(lua, self.answer.tool(), self.schema.as_deref(), value, problem);
        let Some(refused) = self.answer.finish(outcome) else {
            self.is_first.set(false);
            return Ok(());
        };
        let late = self.late.as_ref().filter(|_| self.is_first.get());
        if let Some((late, text)) = late.zip(refused.worth_keeping()) {
            self.is_first.set(false);
            let (buffer, call) = (late.buffer, late.call.as_str());
            late.shim.perform(HostEffect::RefuseLate { buffer, tool: self.answer.tool(), call, text: &text });
        }
        Ok(())
    }
}

/// A call that is ready to run.
struct Run {
    /// What `run_tool` of the shim takes.
    arguments: MultiValue,
    is_async: bool,
    answers: Answers,
}

impl Run {
    /// Runs it here and now.
    fn now(self, shim: &Shim) -> Option<StopTool> {
        let Self { arguments, is_async, answers } = self;
        let returned: mlua::Result<(bool, Value, Value)> = shim.ask("run_tool", arguments);
        let taken = match returned {
            Ok((true, Value::Function(stop), _)) if is_async => {
                return Some(Box::new(move || stop.call::<()>(()).map_err(|error| convert::lua_error(&error))));
            }
            Ok((true, Value::Nil, Value::Nil)) if is_async => Ok(()),
            Ok((true, value, problem)) => answers.take(&shim.lua, value, problem),
            Ok((false, thrown, _)) => {
                answers.fail(&thrown.to_string().unwrap_or_default());
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            answers.fail(&convert::words(&error));
        }
        None
    }

    /// Runs it when the reply that calls the tool is on the screen: it may ask the user something.
    fn when_drawn(self, shim: &Rc<Shim>) -> Option<StopTool> {
        let state = Rc::new(RefCell::new(Later::Waits(Box::new(self))));
        let (begun, its_shim) = (Rc::clone(&state), Rc::clone(shim));
        let begin = shim.lua.create_function(move |_, ()| {
            // A prompt may wait, and then nothing is drawn. What other plugins draw may fail.
            let _ = api::command("redraw");
            if let Later::Waits(run) = begun.replace(Later::Runs(None)) {
                let stop = run.now(&its_shim);
                if let Later::Runs(own) = &mut *begun.borrow_mut() {
                    *own = stop;
                }
            }
            Ok(())
        });
        if let Err(error) = begin.and_then(|begin| shim.schedule(begin)) {
            if let Later::Waits(run) = state.replace(Later::Runs(None)) {
                run.answers.fail(&convert::words(&error));
            }
            return None;
        }
        Some(Box::new(move || match state.replace(Later::Runs(None)) {
            Later::Runs(Some(stop)) => stop(),
            Later::Runs(None) | Later::Waits(_) => Ok(()),
        }))
    }
}

/// A run that begins when the screen is drawn.
enum Later {
    Waits(Box<Run>),
    /// With the function that stops it, once it has returned one.
    Runs(Option<StopTool>),
}

/// What a tool's value means. `problem` is what came behind it: Lua's own functions return `nil` and a reason.
fn outcome(lua: &Lua, tool: &str, schema: Option<&serde_json::Value>, value: Value, problem: Value) -> LuaOutcome {
    match value {
        Value::Nil if let Value::String(problem) = problem => {
            LuaOutcome::new(LuaValue::Failure { error: problem.as_bytes().to_vec(), output: None }, false)
        }
        value if let Some(plain) = convert::plain(&value) => LuaOutcome::new(LuaValue::Text(plain), false),
        Value::Table(table) => outcome_of_table(lua, tool, schema, &table),
        Value::Nil => LuaOutcome::failure(format!(
            "The tool `{tool}` returned nothing. (For its author: return a string or a table; a tool that answers \
             later sets `async = true` and calls its callback.)"
        )),
        // `vim.NIL`.
        other if matches!(convert::to_json(lua, other.clone()), Ok(serde_json::Value::Null)) => {
            LuaOutcome::new(LuaValue::Table(serde_json::Value::Null), false)
        }
        other => LuaOutcome::failure(format!(
            "The tool `{tool}` returned a {}. (For its author: return a string or a table. A tool that answers \
             later sets `async = true`; only then may it return a function, which stops it.)",
            convert::kind(&other)
        )),
    }
}

/// `{ success = true, output = … }`, `{ success = false, error = …, output = … }`, a table with a boolean `ok`, or
/// any other table. Its keys have the order of the tool's `result_schema`.
fn outcome_of_table(lua: &Lua, tool: &str, schema: Option<&serde_json::Value>, table: &Table) -> LuaOutcome {
    let mut room = Room::new(MAX_VALUES, MAX_TEXT);
    let mut json = |value: Value| {
        let json = convert::to_json_within(lua, value, &mut room).map_err(|error| {
            format!("The tool `{tool}` returned a table that cannot be written as JSON: {}.", convert::words(&error))
        });
        json.map(|json| match schema {
            Some(schema) => arranged(json, schema),
            None => json,
        })
    };
    let field = |name: &str| table.get::<Value>(name).unwrap_or(Value::Nil);
    let files = match (field("success"), field("attachments")) {
        (Value::Boolean(true), attachments) => match files(attachments) {
            Some(files) => files,
            None => {
                return LuaOutcome::failure(format!(
                    "The tool `{tool}` returned `attachments` that cannot be read. (For its author: it is a list of \
                     paths, or of tables with the bytes of an image in `data`.)"
                ));
            }
        },
        _ => Vec::new(),
    };
    let mut read = || -> Result<LuaValue, String> {
        let mut text = |value: Value| match value {
            Value::Nil => Ok(None),
            value if let Some(plain) = convert::plain(&value) => Ok(Some(plain)),
            value @ Value::Boolean(_) => Ok(value.to_string().ok().map(String::into_bytes)),
            value => json(value).map(|value| Some(value.to_string().into_bytes())),
        };
        Ok(match (field("success"), field("ok")) {
            (Value::Boolean(true), _) => match field("output") {
                value @ Value::Table(_) => LuaValue::Table(json(value)?),
                other => LuaValue::Text(text(other)?.unwrap_or_default()),
            },
            (Value::Boolean(false), _) => {
                let silence = || format!("The tool `{tool}` failed without an error message.").into_bytes();
                let error = text(field("error"))?.unwrap_or_else(silence);
                LuaValue::Failure { error, output: text(field("output"))? }
            }
            (_, Value::Boolean(ok)) => LuaValue::Structured { ok, value: json(Value::Table(table.clone()))? },
            _ => LuaValue::Table(json(Value::Table(table.clone()))?),
        })
    };
    match read() {
        Ok(value) => LuaOutcome::new(value, room.is_over()).showing(files),
        Err(problem) => LuaOutcome::failure(problem),
    }
}

/// The files that a success shows; `None` if they are given in another way.
fn files(attachments: Value) -> Option<Vec<LuaFile>> {
    let one = |value: Value| match value {
        Value::String(path) if !path.as_bytes().is_empty() => Some(LuaFile::Path(path.as_bytes().to_vec())),
        Value::Table(file) => match file.get::<Value>("data") {
            Ok(Value::String(data)) => Some(LuaFile::Data(data.as_bytes().to_vec())),
            _ => None,
        },
        _ => None,
    };
    match attachments {
        Value::Nil => Some(Vec::new()),
        Value::Table(list) if list.raw_len() > 0 || list.is_empty() => {
            list.sequence_values::<Value>().map(|value| one(value.ok()?)).collect()
        }
        _ => None,
    }
}
