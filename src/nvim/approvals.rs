//! The approval chain of this editor: the built-in resolvers as the options want them, and those that Lua registers.
//!
//! Two kinds of Lua functions decide. A *policy* is the user's own word (`tools.auto_approve` of the configuration or of
//! a file, and the modules it names): it says `true`, `false`, `"deny"` or nothing, and if it fails the user is asked. A
//! *resolver* is a plugin's: it says `"approve"`, `"require_approval"`, `"deny"` or nothing, and if it fails it is passed
//! over.

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
};

use mlua::{Function, Lua, Table, Value};

use super::{convert, editor::Editor, exports::Exports, frontmatter, host::Host, policy};
use crate::{
    agent::Level,
    config::{Config, WriteOutside},
    model::CallId,
    tools::{
        Policy, Preset, Presets,
        approval::{self, ApprovalCall, CONFIG_PRIORITY, Decision, Resolve, Resolver},
        presets,
        rules::Rule,
    },
};

/// The presets that a list may name, and what is wrong with the user's.
pub(super) fn presets(config: &Config) -> (Presets, Vec<String>) {
    let mut presets = match config.tools.write_outside {
        WriteOutside::Ask => Presets::builtin(),
        WriteOutside::Auto => Presets::builtin().unbounded(),
    };
    let problems = config.tools.presets.iter().filter_map(|(name, preset)| {
        presets.define(name, Preset { approve: preset.approve.clone(), deny: preset.deny.clone() }).err()
    });
    let problems = problems.collect();
    (presets, problems)
}

/// The rules in the configuration that cannot be read, one message each.
pub(super) fn broken_rules(config: &Config) -> Vec<String> {
    let tools = &config.tools;
    let listed = tools.auto_approve.iter().map(|entry| ("tools.auto_approve".to_owned(), entry));
    let in_presets = tools.presets.iter().flat_map(|(name, preset)| {
        let entries = preset.approve.iter().chain(&preset.deny);
        entries.map(move |entry| (format!("tools.presets.{name}"), entry))
    });
    let rules = listed.chain(in_presets).filter(|(_, entry)| Rule::is_rule(entry));
    rules.filter_map(|(place, entry)| Some(format!("{place}: {}", Rule::parse(entry).err()?))).collect()
}

/// Puts the built-in resolvers into the chain, in the place of those before; what others have registered stays.
/// `function` is `tools.auto_approve` where that is one.
///
/// Gives what is odd about the options without being wrong.
pub(super) fn install(editor: &Editor, config: &Config, function: Option<Function>) -> Vec<String> {
    let (presets, mut warnings) = presets(config);
    let (modules, entries): (Vec<String>, Vec<String>) =
        config.tools.auto_approve.iter().cloned().partition(|entry| presets::is_module(entry));
    warnings.extend(entries.iter().filter_map(|entry| presets::check(entry, &presets, None).err()));
    let policy = match function {
        None => Policy::new(&config.tools.auto_approve, &[], &presets),
        Some(_) => Policy::default(),
    };

    let mut chain = editor.approvals.borrow().clone();
    for module in editor.modules.borrow().iter() {
        chain.unregister(module);
    }
    chain.unregister(approval::CATCH_ALL);
    chain.register(match function {
        None => approval::config(policy.clone()),
        Some(function) => {
            let label = "the function tools.auto_approve".to_owned();
            let decide = own_word(&editor.lua, &editor.host, label, Asking::Plain, move |_| Ok(function.clone()));
            Resolver { resolve: approval::overridable(decide), ..approval::config(Policy::default()) }
        }
    });
    for module in &modules {
        chain.register(from_module(editor, module));
    }
    chain.register(approval::frontmatter());
    chain.register(approval::declared(policy.clone()));
    if !config.tools.require_approval {
        chain.register(approval::catch_all());
    }
    *editor.approvals.borrow_mut() = chain;
    *editor.policy.borrow_mut() = policy;
    *editor.modules.borrow_mut() = modules;
    warnings
}

/// The resolver of a module that `tools.auto_approve` names. It is loaded when it is first asked.
fn from_module(editor: &Editor, module: &str) -> Resolver {
    let loaded = OnceCell::new();
    let (name, label) = (module.to_owned(), format!("the module `{module}` in tools.auto_approve"));
    let find = move |lua: &Lua| {
        let load = || -> Result<Function, String> {
            let require: Function = lua.globals().get("require").map_err(|error| convert::words(&error))?;
            match require.call::<Value>(name.as_str()).map_err(|error| convert::words(&error))? {
                Value::Function(function) => Ok(function),
                Value::Table(table) => {
                    table.get::<Function>("resolve").map_err(|_| "it has no function `resolve`".to_owned())
                }
                other => Err(format!("it is a {}, not a function or a table with `resolve`", other.type_name())),
            }
        };
        loaded.get_or_init(load).clone().map_err(mlua::Error::runtime)
    };
    let decide = own_word(&editor.lua, &editor.host, label, Asking::Plain, find);
    Resolver {
        name: module.to_owned(),
        description: Some("a module of tools.auto_approve".into()),
        priority: CONFIG_PRIORITY,
        resolve: approval::overridable(decide),
    }
}

/// How a function of the user's is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// As it is.
    Plain,
    /// Within the limits that a file's code has.
    Guarded,
}

/// A way to decide that asks a function of the user's: the tool's name, the input, and a table with `bufnr` and
/// `tool_id`. One that throws, or returns anything else than a policy may, means that the user is asked; they hear of
/// that once. `label` names the function; `find` finds it.
pub(super) fn own_word(
    lua: &Lua,
    host: &Rc<Host>,
    label: String,
    asking: Asking,
    find: impl Fn(&Lua) -> mlua::Result<Function> + 'static,
) -> Resolve {
    let (lua, host, told) = (lua.clone(), Rc::clone(host), Cell::new(false));
    Rc::new(move |call| {
        let answer = find(&lua).and_then(|function| ask(&lua, &host, &function, call, asking));
        let odd = match answer {
            Ok(Value::Boolean(true)) => return Ok(Some(Decision::Approve)),
            Ok(Value::Boolean(false)) => return Ok(Some(Decision::RequireApproval)),
            Ok(value) => match decision(&value) {
                Ok(decision) => return Ok(decision),
                Err(odd) => odd,
            },
            Err(error) => format!("failed: {}", convert::words(&error)),
        };
        // Nobody knows what it meant, so the user decides.
        if !told.replace(true) {
            let mend = "It may return true, false, \"deny\" or nil; now you are asked";
            host.notify(Level::Warn, &format!("{label} {odd}. {mend}"));
        }
        Ok(Some(Decision::RequireApproval))
    })
}

/// Registers a plugin's resolver; one of the same name is replaced.
pub(super) fn register(editor: &Editor, name: String, function: Function, priority: i64, description: Option<String>) {
    let (lua, host) = (editor.lua.clone(), Rc::clone(&editor.host));
    let resolve: Resolve = Rc::new(move |call| {
        let answer = ask(&lua, &host, &function, call, Asking::Plain).map_err(|error| convert::words(&error))?;
        decision(&answer)
    });
    editor.approvals.borrow_mut().register(Resolver { name, description, priority, resolve });
}

/// What a word means; nothing for nil.
fn decision(value: &Value) -> Result<Option<Decision>, String> {
    let word = match value {
        Value::Nil => return Ok(None),
        Value::String(word) => word.to_string_lossy(),
        other => {
            let shown = other.to_string().unwrap_or_default();
            return Err(format!("returned {shown}, a {}", other.type_name()));
        }
    };
    WORDS
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, decision)| Some(*decision))
        .ok_or_else(|| format!("returned \"{word}\""))
}

const WORDS: [(&str, Decision); 3] =
    [("approve", Decision::Approve), ("require_approval", Decision::RequireApproval), ("deny", Decision::Deny)];

/// A decision as Lua says it.
fn word(decision: Decision) -> &'static str {
    WORDS.iter().find(|(_, known)| *known == decision).map_or("", |(word, _)| word)
}

fn ask(lua: &Lua, host: &Host, function: &Function, call: &ApprovalCall<'_>, asking: Asking) -> mlua::Result<Value> {
    let context = lua.create_table()?;
    context.set("bufnr", call.buffer)?;
    context.set("tool_id", call.id.0.as_str())?;
    let arguments = (call.tool, convert::from_json(lua, call.input)?, context);
    match asking {
        Asking::Plain => function.call(arguments),
        Asking::Guarded => host.guard(function, arguments),
    }
}

/// What the chain, or only the resolver of one name, says to a call that nobody has made: for `resolve` in Lua.
///
/// # Errors
/// When the input is no JSON.
pub(super) fn resolve(
    editor: &Editor,
    only: Option<&str>,
    (tool, input, context): (String, Value, Option<Table>),
) -> mlua::Result<(Option<&'static str>, Option<String>)> {
    let field = |name: &str| context.as_ref().and_then(|context| context.get::<Value>(name).ok());
    let buffer = match field("bufnr") {
        // 0 is the current one, as everywhere.
        Some(Value::Integer(buffer)) if buffer != 0 => buffer,
        Some(Value::Number(buffer)) => buffer as i64,
        _ => i64::from(editor.host.current_buffer()),
    };
    let id = CallId(field("tool_id").and_then(|id| id.to_string().ok()).unwrap_or_default());
    let input = if input.is_nil() { serde_json::json!({}) } else { convert::to_json(&editor.lua, input)? };
    let file = i32::try_from(buffer)
        .ok()
        .and_then(|buffer| editor.conversation(buffer))
        .map(|conversation| frontmatter::effective(editor, &conversation));
    let definition = editor.registry.borrow().get(&tool).cloned();
    let number = i32::try_from(buffer).unwrap_or_default();
    let path_base = policy::path_base(editor, number);
    let about = definition.as_ref().map(|definition| policy::about(editor, number, definition, &input));
    let about = about.unwrap_or_default();
    let call = ApprovalCall {
        declared: definition.as_ref().and_then(|definition| definition.approval),
        subject: about.target.subject(),
        reading: about.reading(),
        path_base: &path_base,
        frontmatter: file.as_ref().and_then(|file| file.policy.as_ref()),
        ..ApprovalCall::new(&tool, &input, &id, buffer)
    };
    // A clone: a resolver may change the chain while it decides.
    let chain = editor.approvals.borrow().clone();
    let Some(only) = only else {
        let verdict = chain.decide(&call);
        editor.log_failures(&verdict);
        return Ok((Some(word(verdict.decision)), verdict.resolver));
    };
    let Some(resolver) = chain.get(only) else { return Ok((None, None)) };
    let decision = (resolver.resolve)(&call).map_err(mlua::Error::runtime)?;
    Ok((decision.map(word), None))
}

/// An entry of the chain, as Lua is given it: a copy. Its `resolve` asks it, whoever wrote it.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn describe(lua: &Lua, resolver: &Resolver) -> mlua::Result<Table> {
    let entry = lua.create_table()?;
    entry.set("name", resolver.name.as_str())?;
    entry.set("priority", resolver.priority)?;
    entry.set("description", resolver.description.as_deref())?;
    Ok(entry)
}

/// The functions that Lua calls about the chain.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // approval_register(name, resolve, priority, description or nil)
    exports.add("approval_register", |_, editor, (name, resolve, priority, description): Registering| {
        register(editor, name, resolve, priority, description);
        Ok(())
    })?;
    exports.add("approval_unregister", |_, editor, name: String| {
        Ok(editor.approvals.borrow_mut().unregister(&name).is_some())
    })?;
    // approval_all() -> { name, priority, description? }, in the order in which they are asked
    exports.add("approval_all", |lua, editor, ()| {
        let chain = editor.approvals.borrow().clone();
        chain.all().map(|resolver| describe(lua, resolver)).collect::<mlua::Result<Vec<_>>>()
    })?;
    // approval_resolve(name or nil, tool, input, context) -> decision or nil, the resolver that made it
    exports.add("approval_resolve", |_, editor, args: (Option<String>, String, Value, Option<Table>)| {
        let (only, tool, input, context) = args;
        resolve(editor, only.as_deref(), (tool, input, context))
    })
}

/// What `approval_register` takes.
type Registering = (String, Function, i64, Option<String>);
