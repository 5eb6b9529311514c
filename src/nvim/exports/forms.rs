//! What calls ask the user.

use mlua::{IntoLuaMulti, Lua, Table, Value};

use super::table::Exports;
use crate::nvim::convert::{self, table};
use flemma_tools::form::{FormField, Given};
use flemma_workspace::AskedForm;

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // form(buffer, call, given or nil) -> a table as in `flemma.Form`; or for what was given: true, the answer as JSON; or false, what is
    // wrong, the field (from 1). nil if the call does not wait for an answer. `given` has for each field that was asked the number of the
    // entry (from 1), the text, or vim.NIL.
    exports.add("form", |lua, binding, (buffer, call, given): (i32, String, Option<Vec<Value>>)| {
        let conversation = binding.workspace.conversation(buffer);
        let asked = conversation.and_then(|conversation| binding.workspace.calls.form(&conversation, &call));
        let Some(asked) = asked else { return ().into_lua_multi(lua) };
        let Some(given) = given else { return form(lua, &asked)?.into_lua_multi(lua) };
        match asked.form.answer(&given.iter().map(read).collect::<Vec<_>>()) {
            // As text: a Lua table has no order of keys.
            Ok(answer) => (true, answer.to_string()).into_lua_multi(lua),
            Err(mistake) => (false, mistake.message, mistake.field.map(|field| field + 1)).into_lua_multi(lua),
        }
    })
}

fn form(lua: &Lua, asked: &AskedForm) -> mlua::Result<Table> {
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
fn read(value: &Value) -> Given {
    match value {
        Value::Integer(entry) => Given::Chosen(usize::try_from(*entry).unwrap_or(0).wrapping_sub(1)),
        Value::Number(entry) => Given::Chosen((*entry as usize).wrapping_sub(1)),
        Value::String(text) => Given::Typed(text.to_string_lossy()),
        _ => Given::Nothing,
    }
}
