//! The approval chain.

use mlua::{Function, Lua, Table, Value};

use super::table::Exports;
use crate::{
    model::CallId,
    nvim::{binding::Binding, convert, policies},
    tools::approval::Resolver,
    workspace::HypotheticalCall,
};

/// What `approval_register` takes.
type Registering = (String, Function, i64, Option<String>);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // approval_register(name, resolve, priority, description or nil)
    exports.add("approval_register", |lua, binding, (name, function, priority, description): Registering| {
        let resolve = policies::resolver(lua, &binding.shim, function);
        binding.workspace.register_resolver(Resolver { name, description, priority, resolve });
        Ok(())
    })?;
    exports.add("approval_unregister", |_, binding, name: String| Ok(binding.workspace.unregister_resolver(&name)))?;
    // approval_all() -> { name, priority, description? }, in the order in which they are asked
    exports.add("approval_all", |lua, binding, ()| {
        let entry = |resolver: Resolver| {
            let entry = lua.create_table()?;
            entry.set("name", resolver.name)?;
            entry.set("priority", resolver.priority)?;
            entry.set("description", resolver.description)?;
            Ok(entry)
        };
        convert::list(lua, binding.workspace.resolvers().into_iter().map(entry))
    })?;
    // approval_resolve(name or nil, tool, input, context) -> decision or nil, the resolver that made it
    exports.add("approval_resolve", |lua, binding, args: (Option<String>, String, Value, Option<Table>)| {
        let (only, tool, input, context) = args;
        let call = call(lua, binding, tool, input, context)?;
        Ok(match only {
            Some(resolver) => {
                let decision = binding.workspace.resolve_with(&resolver, &call).map_err(mlua::Error::runtime)?;
                (decision.map(policies::word), None)
            }
            None => {
                let (decision, resolver) = binding.workspace.resolve(&call);
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
        _ => i64::from(binding.shim.current_buffer()),
    };
    let id = CallId(field("tool_id").and_then(|id| id.to_string().ok()).unwrap_or_default());
    let input = if input.is_nil() { serde_json::json!({}) } else { convert::to_json(lua, input)? };
    Ok(HypotheticalCall { tool, input, id, buffer })
}
