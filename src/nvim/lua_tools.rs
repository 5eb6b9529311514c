//! Tools written in Lua: from the table that was registered to the answer in the document.
//!
//! A Lua tool runs on the main thread. It answers by what it returns, or, if it is `async`, by its callback, which
//! may come from anywhere, libuv's callbacks included: an answer only goes into the queue. The first answer counts;
//! one that comes twice, after a cancel or after the time is up is dropped.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use mlua::{Function, Lua, Table, Value};
use tokio::runtime::Handle;

use super::{convert, editor::Editor, tasks::Latest};
use crate::{
    agent::{Input, Level},
    chat::OpenCall,
    provider::CallId,
    runtime::{ConversationId, Notice, Queue, Report},
    tools::{
        Definition, Handler, Outcome, Output, Registered, Rendered,
        declare::{self, Field},
        overflow,
        truncate::{self, Limit, Limits, MAX_BYTES, MAX_LINES, Truncation},
    },
};

/// Registers a definition that Lua wrote.
///
/// Gives what to tell the user beside: that the tool can be called but not run.
///
/// # Errors
/// What is wrong with it, for the user. Then nothing changed.
pub(super) fn register(
    editor: &Editor,
    lua: &Lua,
    name: Option<&str>,
    table: &Table,
) -> Result<Option<String>, String> {
    let mut fields = Vec::new();
    let mut functions = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| convert::words(&error))?;
        let Value::String(key) = key else {
            let tool = name.unwrap_or("(unnamed)");
            return Err(format!(
                "tool `{tool}`: a definition is a table of named fields, and this one has a list in it"
            ));
        };
        let field = match value {
            Value::Function(function) => {
                let kept = editor.functions.keep(function);
                functions.push(kept);
                Field::Function(kept)
            }
            value @ (Value::Boolean(_) | Value::Integer(_) | Value::Number(_) | Value::String(_) | Value::Table(_)) => {
                let kind = value.type_name();
                convert::to_json(lua, value)
                    .map_or_else(|error| Field::Other(format!("a {kind}: {}", convert::words(&error))), Field::Value)
            }
            value => Field::Other(format!("a {}", value.type_name())),
        };
        fields.push((key.to_string_lossy(), field));
    }
    let registered = declare::declare(name, fields).and_then(|definition| {
        let tool = definition.name.clone();
        let incomplete = definition.lacks_handler();
        let registered = editor.registry.borrow_mut().register(definition)?;
        Ok((tool, incomplete, registered))
    });
    match registered {
        Ok((tool, incomplete, registered)) => {
            editor.touch();
            if let Registered::Replaced(old) = registered {
                editor.functions.release_all(&old);
                editor.log(Level::Info, &format!("tool `{tool}`: registered again, in place of the one before"));
            }
            Ok(incomplete.then(|| format!("tool `{tool}` has no `execute`: its calls get an error until it has one")))
        }
        Err(problem) => {
            for function in functions {
                editor.functions.release(function);
            }
            Err(problem.to_string())
        }
    }
}

/// A definition as Lua is given it: a copy, with its own functions where it is written in Lua.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn describe(editor: &Editor, lua: &Lua, definition: &Definition) -> mlua::Result<Value> {
    let described = convert::from_json(lua, &declare::describe(definition))?;
    if let Value::Table(table) = &described {
        if let Handler::Lua(function) = definition.handler {
            table.set("execute", editor.functions.get(function))?;
        }
        table.set("format_preview", definition.format_preview.and_then(|function| editor.functions.get(function)))?;
    }
    Ok(described)
}

/// A truncation as Lua is given it.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn truncation(lua: &Lua, cut: &Truncation<'_>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("content", cut.content)?;
    table.set("truncated", cut.truncated)?;
    table.set(
        "truncated_by",
        cut.truncated_by.map(|limit| match limit {
            Limit::Lines => "lines",
            Limit::Bytes => "bytes",
        }),
    )?;
    table.set("total_lines", cut.total_lines)?;
    table.set("total_bytes", cut.total_bytes)?;
    table.set("output_lines", cut.output_lines)?;
    table.set("output_bytes", cut.output_bytes)?;
    table.set("last_line_partial", cut.last_line_partial)?;
    table.set("first_line_exceeds_limit", cut.first_line_exceeds_limit)?;
    Ok(table)
}

/// Where the answer of one run goes. The first one counts.
#[derive(Clone)]
pub(super) struct Answering {
    conversation: ConversationId,
    call: CallId,
    tool: String,
    answered: Arc<AtomicBool>,
    queue: Arc<Queue>,
}

impl Answering {
    pub(super) fn new(conversation: ConversationId, call: &OpenCall, queue: &Arc<Queue>) -> Self {
        Self {
            conversation,
            call: call.id.clone(),
            tool: call.name.clone(),
            answered: Arc::default(),
            queue: Arc::clone(queue),
        }
    }

    /// Takes the right to answer; `false` if somebody had it before.
    pub(super) fn claim(&self) -> bool {
        !self.answered.swap(true, Ordering::SeqCst)
    }

    fn push(&self, outcome: &Outcome) {
        let input = Input::ToolFinished { call: self.call.clone(), answer: outcome.render().into() };
        self.queue.push(Notice { conversation: self.conversation, report: Report::Input(input) });
    }
}

/// Runs a call. `context` is the third part of the contract, made by the shim.
pub(super) fn run(
    editor: &Editor,
    definition: &Definition,
    execute: &Function,
    input: &serde_json::Value,
    context: Table,
    answering: &Answering,
) -> Option<Function> {
    let outputs = editor.outputs.clone();
    let finish = {
        let (answering, threads) = (answering.clone(), editor.worker.handle().ok());
        move |outcome: Outcome| {
            if answering.claim() {
                answer_in_size(threads.as_ref(), &outputs, answering.clone(), outcome);
            }
        }
    };
    let callback = {
        let (finish, tool) = (finish.clone(), answering.tool.clone());
        editor.lua.create_function(move |lua, (value, problem): (Value, Value)| {
            finish(outcome(lua, &tool, value, problem));
            Ok(())
        })
    };
    let returned = callback.and_then(|callback| {
        let input = convert::from_json(&editor.lua, input)?;
        editor.host.execute(execute, input, context, callback)
    });
    match returned {
        Err(error) => {
            finish(Outcome::failure(format!("The tool `{}` failed: {}", answering.tool, convert::words(&error))));
            None
        }
        Ok((false, thrown, _)) => {
            let thrown = thrown.to_string().unwrap_or_default();
            finish(Outcome::failure(format!("The tool `{}` failed: {thrown}", answering.tool)));
            None
        }
        Ok((true, Value::Function(stop), _)) if definition.is_async => Some(stop),
        Ok((true, Value::Nil, Value::Nil)) if definition.is_async => None,
        Ok((true, value, problem)) => {
            finish(outcome(&editor.lua, &answering.tool, value, problem));
            None
        }
    }
}

/// The function behind `ctx.progress`, for a tool that is `streaming`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn progress(lua: &Lua, definition: &Definition, latest: Latest) -> mlua::Result<Option<Function>> {
    let put = move |_: &Lua, text: mlua::LuaString| {
        latest.put(&text.to_string_lossy());
        Ok(())
    };
    definition.streaming.then(|| lua.create_function(put)).transpose()
}

/// What a tool's value means. `problem` is what came behind it: Lua's own functions return `nil` and a reason.
fn outcome(lua: &Lua, tool: &str, value: Value, problem: Value) -> Outcome {
    match value {
        Value::Nil if matches!(problem, Value::String(_)) => Outcome::failure(problem.to_string().unwrap_or_default()),
        Value::String(text) => Outcome::text(text.to_string_lossy()),
        value @ (Value::Integer(_) | Value::Number(_) | Value::Boolean(_)) => {
            Outcome::text(value.to_string().unwrap_or_default())
        }
        Value::Table(table) => table_outcome(lua, tool, &table),
        Value::Nil => Outcome::failure(format!(
            "The tool `{tool}` returned nothing. (For its author: return a string or a table; a tool that answers later \
             sets `async = true` and calls its callback.)"
        )),
        other => Outcome::failure(format!(
            "The tool `{tool}` returned a {}. (For its author: return a string or a table. A tool that answers later \
             sets `async = true`; only then may it return a function, which stops it.)",
            other.type_name()
        )),
    }
}

/// `{ success = true, output = … }`, `{ success = false, error = …, output = … }`, a table with a boolean `ok`, or
/// any other table.
fn table_outcome(lua: &Lua, tool: &str, table: &Table) -> Outcome {
    let json = |value: Value| {
        convert::to_json(lua, value).map_err(|error| {
            Outcome::failure(format!(
                "The tool `{tool}` returned a table that cannot be written as JSON: {}.",
                convert::words(&error)
            ))
        })
    };
    let field = |name: &str| table.get::<Value>(name).unwrap_or(Value::Nil);
    let text = |value: Value| match value {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.to_string_lossy())),
        Value::Table(table) => json(Value::Table(table)).map(|value| Some(value.to_string())),
        other => Ok(other.to_string().ok()),
    };
    let read = || -> Result<Outcome, Outcome> {
        match (field("success"), field("ok")) {
            (Value::Boolean(true), _) => Ok(match field("output") {
                Value::Table(table) => Outcome::Success(Output::Json(json(Value::Table(table))?)),
                other => Outcome::text(text(other)?.unwrap_or_default()),
            }),
            (Value::Boolean(false), _) => Ok(Outcome::Failure {
                error: text(field("error"))?.unwrap_or_else(|| format!("The tool `{tool}` failed and gave no reason.")),
                output: text(field("output"))?,
            }),
            (_, Value::Boolean(ok)) => Ok(Outcome::Structured { ok, value: json(Value::Table(table.clone()))? }),
            _ => Ok(Outcome::Success(Output::Json(json(Value::Table(table.clone()))?))),
        }
    };
    read().unwrap_or_else(|failure| failure)
}

/// Hands an answer on; one that is too long is cut and its whole saved, off the main thread.
fn answer_in_size(threads: Option<&Handle>, outputs: &Path, answering: Answering, outcome: Outcome) {
    let Rendered { text, is_error, .. } = outcome.render();
    if text.len() <= MAX_BYTES && truncate::count_lines(text.as_bytes()) <= MAX_LINES {
        answering.push(&outcome);
        return;
    }
    let outputs = outputs.to_owned();
    let cut = move || {
        let cut = truncate::truncate_head(&text, Limits::default());
        let shown = if cut.first_line_exceeds_limit { truncate::prefix(&text, MAX_BYTES) } else { cut.content };
        let range = if cut.first_line_exceeds_limit {
            format!("the first {} of line 1", truncate::format_size(shown.len() as u64))
        } else {
            format!("lines 1-{}", cut.output_lines)
        };
        let size = truncate::format_size(text.len() as u64);
        let place = match overflow::save(&outputs, &answering.tool, text.as_bytes()) {
            Ok(path) => format!("The whole output ({size}) is in {}", path.display()),
            Err(error) => format!("The whole output ({size}) could not be saved: {error}"),
        };
        let text = format!("{shown}\n\n[Showing {range} of {}. {place}]", cut.total_lines);
        answering.push(&if is_error { Outcome::failure(text) } else { Outcome::text(text) });
    };
    match threads {
        Some(threads) => drop(threads.spawn_blocking(cut)),
        None => cut(),
    }
}
