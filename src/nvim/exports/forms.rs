//! What calls ask the user, and what the editor's tools may tell a model.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use mlua::{BString, Function, Lua, LuaString, Table, Value};

use super::table::Exports;
use crate::{
    model::CallId,
    nvim::convert,
    tools::form::{FormField, Given},
    workspace::AskedForm,
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // form(buffer, call) -> a table as in `flemma.Form`, or nil if the call does not wait for an answer
    exports.add("form", |lua, binding, (buffer, call): (i32, String)| {
        let conversation = binding.workspace.conversation(buffer);
        let asked = conversation.and_then(|conversation| binding.workspace.form(&conversation, &call));
        asked.map(|asked| form(lua, &asked)).transpose()
    })?;
    // form_answer(buffer, call, given) -> true, the answer as JSON; or false, what is wrong, the field (from 1); or nil if the call
    // does not wait for an answer. `given` has for each field that was asked the number of the entry (from 1), the text, or
    // vim.NIL.
    exports.add("form_answer", |lua, binding, (buffer, call, list): (i32, String, Vec<Value>)| {
        let conversation = binding.workspace.conversation(buffer);
        let asked = conversation.and_then(|conversation| binding.workspace.form(&conversation, &call));
        let Some(AskedForm { form, .. }) = asked else { return Ok((None, Value::Nil, None)) };
        Ok(match form.answer(&list.iter().map(given).collect::<Vec<_>>()) {
            // As text: a Lua table has no order of keys.
            Ok(answer) => (Some(true), Value::String(lua.create_string(answer.to_string())?), None),
            Err(mistake) => {
                let message = lua.create_string(&mistake.message)?;
                (Some(false), Value::String(message), mistake.field.map(|field| field + 1))
            }
        })
    })?;
    // form_ended(buffer, call) -> why an answer of its form is not taken
    exports.add("form_ended", |_, binding, (buffer, call): (i32, String)| {
        Ok(binding.workspace.why_not_answerable(buffer, &CallId(call)))
    })?;
    // may_read(buffer, names) -> for each file or buffer whether a model may be told about it, whether nothing is denied
    exports.add("may_read", |_, binding, (buffer, names): (i32, Vec<BString>)| {
        let names: Vec<_> = names.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
        let conversation = binding.workspace.conversation(buffer);
        let judged = conversation.map(|conversation| binding.workspace.may_read(&conversation, &names));
        Ok(judged.unwrap_or_else(|| (vec![false; names.len()], false)))
    })?;
    // missing_file(buffer, path, name) -> that it does not exist, with similar names; or nil if it may not be told of
    exports.add("missing_file", |_, binding, (buffer, path, name): (i32, LuaString, LuaString)| {
        let path = PathBuf::from(OsStr::from_bytes(&path.as_bytes()));
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation
            .and_then(|conversation| binding.workspace.missing_file(&conversation, &path, &name.to_string_lossy())))
    })?;
    // files_to_pick(buffer, folder or nil, callback) -> whether it was begun. Calls back with the paths, how many more
    // there are, how many were left out because reading them is denied, and whether time was too short; or with nil and why
    exports.add("files_to_pick", |_, binding, (buffer, folder, callback): (i32, Option<String>, Function)| {
        let Some(conversation) = binding.workspace.conversation(buffer) else { return Ok(false) };
        binding.workspace.files_to_pick(&conversation, folder, binding.functions.keep(callback));
        Ok(true)
    })
}

fn form(lua: &Lua, asked: &AskedForm) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("tool", asked.tool.as_str())?;
    table.set("question", asked.form.question.as_str())?;
    table.set("fields", convert::list(lua, asked.form.fields.iter().map(|each| field(lua, each)))?)?;
    Ok(table)
}

fn field(lua: &Lua, field: &FormField) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("label", field.label.as_str())?;
    let labels = field.labels();
    table.set("choices", (!labels.is_empty()).then_some(labels))?;
    table.set("other", field.other().map(|entry| entry + 1))?;
    table.set("default", field.text_default())?;
    table.set("required", field.is_required)?;
    Ok(table)
}

/// What the user did with a field.
fn given(value: &Value) -> Given {
    match value {
        Value::Integer(entry) => Given::Chosen(usize::try_from(*entry).unwrap_or(0).wrapping_sub(1)),
        Value::Number(entry) => Given::Chosen((*entry as usize).wrapping_sub(1)),
        Value::String(text) => Given::Typed(text.to_string_lossy()),
        _ => Given::Nothing,
    }
}
