//! Calls that wait: resolving them, listing them, and what they ask the user.

use mlua::{Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::convert::{self, table};
use flemma_journal::Role;
use flemma_model::{CallId, UserError};
use flemma_tools::form::{FormField, Given};
use flemma_workspace::{AskedForm, PendingCall, Resolution, ResolveError};

/// Which calls are meant. Lines are counted from 0, and `last` is behind the last of them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Which {
    // The one whose use or result a line belongs to: its id.
    At { line: usize },
    // Those that have no result yet: the id of each.
    Open,
    // Those in these lines that a key could run or resolve: the id and the tool of each, whether it has a status block, and its line.
    Waiting { first: usize, last: usize },
    // Those that wait, as in `flemma.PendingCall`; of all conversations if none is named.
    Pending,
}

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
                let resolved = binding.workspace.resolutions.resolve_now(buffer, &call, resolution, role);
                resolved.map_err(|error| words(&error, role))
            });
            return resolved.map(|()| true).map_err(|problem| problem.to_string()).into_lua_multi(lua);
        };
        let callback = binding.functions.keep(callback);
        match resolution {
            Ok(resolution) => {
                binding.workspace.resolve_later(buffer, &call, resolution, role, move |workspace, resolved| {
                    let outcome = resolved.map(|()| true.into()).map_err(|error| words(&error, role));
                    workspace.shared.scripts.answered(callback, outcome);
                });
            }
            Err(problem) => binding.workspace.shared.scripts.answered(callback, Err(problem)),
        }
        Ok(MultiValue::new())
    })?;
    // calls(buffer or nil, which, fields or nil) -> a list of the calls that `Which` means
    exports.add("calls", |lua, binding, (buffer, which, fields): (Option<i32>, String, Option<Table>)| {
        let which = convert::variant(lua, &which, fields)?;
        if let Which::Pending = which {
            let calls = binding.workspace.calls.pending_calls(buffer);
            return convert::list(lua, calls.into_iter().map(|call| describe(lua, call)));
        }
        let Some(conversation) = buffer.and_then(|buffer| binding.workspace.conversation(buffer)) else {
            return lua.create_table();
        };
        let named = |id: CallId| lua.create_table_from([("id", id.0)]);
        match which {
            Which::At { line } => convert::list(lua, conversation.page.call_at(line).map(named)),
            Which::Waiting { first, last } => {
                let waiting = conversation.waiting_in(&(first..last)).into_iter();
                let entry = |(id, tool, has_block, line): (String, String, bool, usize)| {
                    Ok(table!(lua, id: id, tool: tool, has_block: has_block, line: line))
                };
                convert::list(lua, waiting.map(entry))
            }
            Which::Open | Which::Pending => convert::list(lua, conversation.page.open_ids().into_iter().map(named)),
        }
    })?;
    // form(buffer, call, given or nil) -> a table as in `flemma.Form`; or for what was given: true, the answer as JSON; or false, what is
    // wrong, the field (from 1). nil if the call does not wait for an answer. `given` has for each field that was asked the number of the
    // entry (from 1), the text, or vim.NIL.
    exports.add("form", |lua, binding, (buffer, call, given): (i32, String, Option<Vec<Value>>)| {
        let conversation = binding.workspace.conversation(buffer);
        let asked = conversation.and_then(|conversation| binding.workspace.calls.form(&conversation, &call));
        let Some(asked) = asked else { return ().into_lua_multi(lua) };
        let Some(given) = given else { return describe_form(lua, &asked)?.into_lua_multi(lua) };
        match asked.form.answer(&given.iter().map(given_to).collect::<Vec<_>>()) {
            // As text: a Lua table has no order of keys.
            Ok(answer) => (true, answer.to_string()).into_lua_multi(lua),
            Err(mistake) => (false, mistake.message, mistake.field.map(|field| field + 1)).into_lua_multi(lua),
        }
    })
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

/// A call that waits, for Lua. Times are seconds since 1970.
fn describe(lua: &Lua, call: PendingCall) -> mlua::Result<Table> {
    Ok(table!(
        lua,
        buf: call.buffer,
        file: Some(call.file).filter(|file| !file.is_empty()),
        id: call.id.0,
        tool: call.tool,
        kind: call.kind.as_str(),
        executor: call.executor,
        expires: call.expires.map(|expires| expires.as_duration().as_secs_f64()),
        question: call.question,
        input: call.input.map(|input| convert::from_json(lua, &input)).transpose()?,
        line: call.line,
    ))
}

fn describe_form(lua: &Lua, asked: &AskedForm) -> mlua::Result<Table> {
    let fields = convert::list(lua, asked.form.fields.iter().map(|each| field(lua, each)))?;
    Ok(table!(lua, tool: asked.tool.as_str(), question: asked.form.question.as_str(), fields: fields))
}

fn field(lua: &Lua, field: &FormField) -> mlua::Result<Table> {
    let labels = field.labels();
    Ok(table!(
        lua,
        label: field.label.as_str(),
        choices: (!labels.is_empty()).then_some(labels),
        other: field.other().map(|entry| entry + 1),
        default: field.text_default(),
        required: field.is_required,
    ))
}

/// What the user did with a field.
fn given_to(value: &Value) -> Given {
    match value {
        Value::Integer(entry) => Given::Chosen(usize::try_from(*entry).unwrap_or(0).wrapping_sub(1)),
        Value::Number(entry) => Given::Chosen((*entry as usize).wrapping_sub(1)),
        Value::String(text) => Given::Typed(text.to_string_lossy()),
        _ => Given::Nothing,
    }
}
