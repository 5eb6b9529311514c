//! What plugins and users add to Flemma: tools, their sources, groups of tools, and resolvers of the approval chain.

use mlua::{Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};
use nvim_oxi::api;
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::{
    binding::Binding,
    convert::{self, table},
    lua_tools::{self, Fields},
    policies,
};
use flemma_model::{CallId, UserError};
use flemma_tools::approval::Resolver;
use flemma_workspace::HypotheticalCall;

/// What can be added.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Tool,
    /// One name for several tools.
    Group,
    /// { resolve, priority, description or nil }
    Resolver,
}

/// What is asked of them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Registered {
    // The definition of a tool.
    Tool { name: String },
    // The definitions of the enabled ones, or of all.
    Tools { disabled_too: bool },
    Groups,
    // { name, priority, description? }, in the order in which they are asked
    Resolvers,
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // register(kind, name or nil, definition, origin or nil) -> true, or false, problem. Only a tool may have its name in the definition.
    // The origin is for messages: it says whose the tool is if it is not the user's
    exports.add("register", |lua, binding, args: (String, Option<String>, Table, Option<String>)| {
        let (kind, name, definition, origin) = args;
        let added = match (convert::variant(lua, &kind, None)?, name) {
            (Kind::Tool, name) => add_tool(lua, binding, (name.as_deref(), origin.as_deref()), &definition),
            (_, None) => return Err(mlua::Error::runtime("the name is missing")),
            (Kind::Group, Some(name)) => add_group(lua, binding, &name, definition),
            (Kind::Resolver, Some(name)) => {
                let (priority, description) = (definition.get("priority")?, definition.get("description")?);
                let resolve = policies::resolver(&binding.shim, definition.get::<Function>("resolve")?);
                binding.workspace.shared.toolbox.register_resolver(Resolver { name, description, priority, resolve });
                Ok(())
            }
        };
        Ok((added.is_ok(), added.err().map(|problem| problem.to_string())))
    })?;
    // unregister(kind, name) -> whether there was one
    exports.add("unregister", |lua, binding, (kind, name): (String, String)| {
        Ok(match convert::variant(lua, &kind, None)? {
            Kind::Tool => binding.workspace.tools.unregister_tool(&name),
            Kind::Group => binding.workspace.shared.toolbox.unregister_group(&name),
            Kind::Resolver => binding.workspace.shared.toolbox.unregister_resolver(&name),
        })
    })?;
    // registered(what, fields or nil) -> what `Registered` says of it
    exports.add("registered", |lua, binding, (what, fields): (String, Option<Table>)| {
        list(lua, binding, convert::variant(lua, &what, fields)?)
    })?;
    // approval_resolve(name or nil, tool, input, context) -> decision or nil, the resolver that made it
    exports.add("approval_resolve", |lua, binding, args: (Option<String>, String, Value, Option<Table>)| {
        let (only, tool, input, context) = args;
        let call = hypothetical(lua, tool, input, context)?;
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
    })?;
    // begin_source(label) -> its number, for the event "source_ended"
    exports.add("begin_source", |_, binding, label: LuaString| {
        Ok(binding.workspace.shared.toolbox.begin_source(label.to_string_lossy()).0)
    })
}

/// `named` has the name, and whose the tool is if it is not the user's.
fn add_tool(
    lua: &Lua,
    binding: &Binding,
    named: (Option<&str>, Option<&str>),
    definition: &Table,
) -> Result<(), UserError> {
    let functions = &binding.functions;
    let Fields { entries, kept } = lua_tools::fields(lua, functions, named.0, definition)?;
    let tools = &binding.workspace.tools;
    let added = match named {
        (Some(name), Some(origin)) => tools.register_foreign(name, entries, origin),
        (name, _) => tools.register_tool(name, entries),
    };
    added.map_err(|problem| {
        kept.into_iter().for_each(|function| functions.release(function));
        UserError::new(problem.to_string())
    })
}

fn add_group(lua: &Lua, binding: &Binding, name: &str, group: Table) -> Result<(), UserError> {
    let fields = convert::to_json(lua, Value::Table(group)).map_err(|error| UserError::new(convert::words(&error)))?;
    let fields = fields.as_object().cloned().unwrap_or_default();
    binding.workspace.tools.register_group(name, &fields)
}

fn list(lua: &Lua, binding: &Binding, what: Registered) -> mlua::Result<MultiValue> {
    let (workspace, functions) = (&binding.workspace, &binding.functions);
    match what {
        Registered::Tool { name } => {
            let definition = workspace.shared.toolbox.get(&name);
            let described = definition.map(|definition| lua_tools::describe(lua, functions, &definition));
            described.transpose()?.into_lua_multi(lua)
        }
        Registered::Tools { disabled_too } => {
            let tools =
                workspace.shared.toolbox.all().into_iter().filter(|(_, is_enabled)| disabled_too || *is_enabled);
            let described = tools.map(|(definition, _)| lua_tools::describe(lua, functions, &definition));
            convert::list(lua, described)?.into_lua_multi(lua)
        }
        Registered::Groups => {
            let groups = workspace.shared.toolbox.groups();
            let described = groups.iter().map(|group| convert::from_json(lua, &group.describe()));
            convert::list(lua, described)?.into_lua_multi(lua)
        }
        Registered::Resolvers => {
            let entry = |Resolver { name, priority, description, .. }: Resolver| {
                Ok(table!(lua, name: name, priority: priority, description: description))
            };
            let chain = workspace.shared.toolbox.chain();
            convert::list(lua, chain.all().cloned().map(entry))?.into_lua_multi(lua)
        }
    }
}

/// A call that an approval is asked about.
fn hypothetical(lua: &Lua, tool: String, input: Value, context: Option<Table>) -> mlua::Result<HypotheticalCall> {
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
