//! Tools written in Lua: from the table that was registered to the answer in the document.
//!
//! A Lua tool runs on the main thread. It answers by what it returns, or, if it is `async`, by its callback, which
//! may come from anywhere, libuv's callbacks included: an answer only goes into the queue. The first answer counts;
//! one that comes twice, after a cancel or after the time is up is dropped.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mlua::{Function, Lua, Table, Value};

use super::{convert, editor::Editor, lua_answers::Said, tasks::Latest};
use crate::{
    agent::{Input, Level},
    chat::OpenCall,
    model::CallId,
    runtime::{ConversationId, Notice, Queue, Report},
    text::truncate::{Limit, Truncation},
    tools::{
        Definition, Executor, Registered, Rendered,
        declare::{self, Field},
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
            Value::Number(number) if !number.is_finite() => Field::Other(format!("{number}, which is no number")),
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
        let incomplete = matches!(definition.executor, Executor::Missing);
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
        if let Executor::Lua(function) = definition.executor {
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
    table.set("content", &*cut.content)?;
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
    pub(super) tool: String,
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

    /// Sends the answer on its way.
    pub(super) fn push(&self, rendered: Rendered) {
        let input = Input::ToolFinished { call: self.call.clone(), answer: rendered.into() };
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
        move |said: Said| {
            if answering.claim() {
                said.hand_on(threads.as_ref(), outputs.clone(), answering.clone());
            }
        }
    };
    let callback = {
        let (finish, tool) = (finish.clone(), answering.tool.clone());
        editor.lua.create_function(move |lua, (value, problem): (Value, Value)| {
            finish(Said::read(lua, &tool, value, problem));
            Ok(())
        })
    };
    let returned = callback.and_then(|callback| {
        let input = convert::from_json(&editor.lua, input)?;
        editor.host.execute(execute, input, context, callback)
    });
    match returned {
        Err(error) => {
            finish(Said::failure(format!("The tool `{}` failed: {}", answering.tool, convert::words(&error))));
            None
        }
        Ok((false, thrown, _)) => {
            let thrown = thrown.to_string().unwrap_or_default();
            finish(Said::failure(format!("The tool `{}` failed: {thrown}", answering.tool)));
            None
        }
        Ok((true, Value::Function(stop), _)) if definition.is_async => Some(stop),
        Ok((true, Value::Nil, Value::Nil)) if definition.is_async => None,
        Ok((true, value, problem)) => {
            finish(Said::read(&editor.lua, &answering.tool, value, problem));
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
