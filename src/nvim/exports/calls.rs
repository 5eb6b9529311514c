//! Calls that wait: resolving them, and listing them.

use mlua::{Function, Lua, LuaString, Table, Value};
use serde_json::json;

use super::table::Exports;
use crate::{
    journal::Role,
    model::{CallId, UserError},
    nvim::convert,
    workspace::{PendingCall, Resolution, ResolveError, WaitingList, WaitingPlace},
};

/// What `resolve_call` takes.
type Resolving = (i32, LuaString, Value, String, Option<Function>);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // resolve_call(buffer, call, result, "user", "script" or "command-line", callback or nil) -> true, or nil and why not. It waits for the disk,
    // unless there is a callback, which gets these values once the conversation is read and the resolution is recorded.
    exports.add("resolve_call", |lua, binding, (buffer, call, result, role, callback): Resolving| {
        let call = CallId(call.to_string_lossy());
        let role = match role.as_str() {
            "user" => Role::User,
            "command-line" => Role::CommandLine,
            _ => Role::Script,
        };
        let resolution = resolution(lua, result);
        let Some(callback) = callback else {
            let resolved = resolution.and_then(|resolution| {
                binding.workspace.resolve_now(buffer, &call, resolution, role).map_err(|error| words(&error, role))
            });
            return Ok(match resolved {
                Ok(()) => (Some(true), None),
                Err(problem) => (None, Some(problem.to_string())),
            });
        };
        let callback = binding.functions.keep(callback);
        match resolution {
            Ok(resolution) => {
                binding.workspace.resolve_later(buffer, &call, resolution, role, move |workspace, resolved| {
                    workspace.call_back(callback, resolved.map_err(|error| words(&error, role)));
                });
            }
            Err(problem) => binding.workspace.call_back(callback, Err(problem)),
        }
        Ok((None, None))
    })?;
    // pending_calls(buffer or nil) -> the calls that wait
    exports.add("pending_calls", |lua, binding, buffer: Option<i32>| {
        let calls = binding.workspace.pending_calls(buffer);
        convert::list(lua, calls.into_iter().map(|call| describe(lua, call)))
    })?;
    // list_waiting(folder, whether the journal's conversations belong to it, callback) -> calls back with { calls = { { buf or
    // file, line, call, text } }, problems, is_cut_short }
    exports.add("list_waiting", |_, binding, (folder, is_all, callback): (String, bool, Function)| {
        let callback = binding.functions.keep(callback);
        binding.workspace.list_waiting(folder.into(), is_all, move |workspace, list| {
            workspace.give_answer(callback, Ok(waiting(list)));
        });
        Ok(())
    })?;
    // call_at(buffer, line) -> the id of the call whose use or result the line belongs to
    exports.add("call_at", |_, binding, (buffer, line): (i32, usize)| {
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation.and_then(|conversation| conversation.call_at(line)).map(|id| id.0))
    })?;
    // is_settled(buffer) -> whether its calls can be resolved: its text and its journal are read
    exports.add("is_settled", |_, binding, buffer: i32| Ok(binding.workspace.is_settled(buffer)))?;
    // is_at_rest(buffer) -> whether nothing is under way in it
    exports.add("is_at_rest", |_, binding, buffer: i32| Ok(binding.workspace.is_at_rest(buffer)))
}

/// The command line says the reason; for everybody else it is one word.
fn words(error: &ResolveError, role: Role) -> UserError {
    UserError::new(if role == Role::CommandLine { error.explained() } else { error.to_string() })
}

/// What a value means: `{ approved = true }`, the same with `again = true`, `{ approved = false, message = … }`, `{ answer = … }`, `{ error = … }`, or an
/// answer as it is.
fn resolution(lua: &Lua, value: Value) -> Result<Resolution, UserError> {
    let json = |value: Value| convert::to_json(lua, value).map_err(|error| UserError::new(convert::words(&error)));
    let Value::Table(table) = &value else {
        return match value {
            Value::Nil => Err(UserError::new(
                "resolve: give a result: { approved = true }, { approved = false, message = … }, { answer = … } or \
                 { error = … }",
            )),
            value => json(value).map(Resolution::Answer),
        };
    };
    let field = |name: &str| table.get::<Value>(name).unwrap_or(Value::Nil);
    let text = |name: &str| match field(name) {
        Value::Nil => Ok(None),
        Value::String(text) => Ok(Some(text.to_string_lossy())),
        other => Err(UserError::new(format!("resolve: `{name}` must be a string, not a {}", other.type_name()))),
    };
    if let Some(answer) = text("answer_json")? {
        // From the form.
        let answer = serde_json::from_str(&answer).map_err(|error| UserError::new(error.to_string()))?;
        return Ok(Resolution::Answer(answer));
    }
    match (field("approved"), field("answer"), field("error")) {
        (Value::Boolean(true), ..) if field("again") == Value::Boolean(true) => Ok(Resolution::ApproveAgain),
        (Value::Boolean(true), ..) => Ok(Resolution::Approve),
        (Value::Boolean(false), ..) => Ok(Resolution::Reject(text("message")?)),
        (Value::Nil, Value::Nil, Value::Nil) => json(value).map(Resolution::Answer),
        (Value::Nil, Value::Nil, _) => Ok(Resolution::Fail(text("error")?.unwrap_or_default())),
        (Value::Nil, answer, _) => json(answer).map(Resolution::Answer),
        (other, ..) => {
            Err(UserError::new(format!("resolve: `approved` must be true or false, not a {}", other.type_name())))
        }
    }
}

/// A list of calls that wait, for Lua.
fn waiting(list: WaitingList) -> serde_json::Value {
    let calls = list.calls.into_iter().map(|call| {
        let (key, place) = match call.place {
            WaitingPlace::Buffer(buffer) => ("buf", json!(buffer)),
            WaitingPlace::File(file) => ("file", json!(file.to_string_lossy())),
        };
        json!({ key: place, "line": call.line, "call": call.id.0, "text": call.text })
    });
    json!({
        "calls": calls.collect::<Vec<_>>(),
        "problems": list.problems,
        "is_cut_short": list.is_cut_short,
    })
}

/// A call that waits, for Lua. Times are seconds since 1970.
fn describe(lua: &Lua, call: PendingCall) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("buf", call.buffer)?;
    table.set("file", Some(call.file).filter(|file| !file.is_empty()))?;
    table.set("id", call.id.0)?;
    table.set("tool", call.tool)?;
    table.set("kind", call.kind.as_str())?;
    table.set("executor", call.executor)?;
    table.set("expires", call.expires.map(|expires| expires.as_duration().as_secs_f64()))?;
    table.set("question", call.question)?;
    table.set("input", call.input.map(|input| convert::from_json(lua, &input)).transpose()?)?;
    table.set("line", call.line)?;
    Ok(table)
}
