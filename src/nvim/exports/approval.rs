//! The approval chain.

use mlua::{Lua, Table, Value};
use nvim_oxi::api;

use super::table::Exports;
use crate::nvim::{binding::Binding, convert, policies};
use flemma_model::CallId;
use flemma_workspace::HypotheticalCall;

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // approval_resolve(name or nil, tool, input, context) -> decision or nil, the resolver that made it
    exports.add("approval_resolve", |lua, binding, args: (Option<String>, String, Value, Option<Table>)| {
        let (only, tool, input, context) = args;
        let call = call(lua, binding, tool, input, context)?;
        Ok(match only {
            Some(resolver) => {
                let decision =
                    binding.workspace.approval.resolve_with(&resolver, &call).map_err(mlua::Error::runtime)?;
                (decision.map(policies::word), None)
            }
            None => {
                let (decision, resolver) = binding.workspace.approval.resolve(&call);
                (Some(policies::word(decision)), resolver)
            }
        })
    })
}

fn call(
    lua: &Lua,
    binding: &Binding,
    tool: String,
    input: Value,
    context: Option<Table>,
) -> mlua::Result<HypotheticalCall> {
    let field = |name: &str| context.as_ref().and_then(|context| context.get::<Value>(name).ok());
    let buffer = match field("bufnr") {
        // 0 is the current one, as everywhere.
        Some(Value::Integer(buffer)) if buffer != 0 => buffer,
        Some(Value::Number(buffer)) => buffer as i64,
        _ => i64::from(api::get_current_buf().handle()),
    };
    let id = CallId(field("tool_id").and_then(|id| id.to_string().ok()).unwrap_or_default());
    let input = if input.is_nil() { serde_json::json!({}) } else { convert::to_json(lua, input)? };
    Ok(HypotheticalCall { tool, input, id, buffer })
}
