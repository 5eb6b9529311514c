//! What the options say about providers, tools and files.

use std::{
    cell::Cell,
    path::{Component, Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use mlua::{Function, Value};

use super::{convert, editor::Editor};
use crate::{
    agent::{Level, Verdict},
    chat::OpenCall,
    config::{Config, ProviderName},
    provider::{
        Provider, ProviderError, ToolInput,
        anthropic::{self, Anthropic},
        auth::Environment,
        rehearsal::Rehearsal,
    },
    tools::{
        Policy, Preset, Presets,
        approval::{self, ApprovalCall, Chain, Decision, Resolver},
    },
};

/// The provider that the options name.
///
/// # Errors
/// When its own data is broken.
pub(super) fn provider(config: &Config) -> Result<Arc<dyn Provider>, ProviderError> {
    let options = config.parameters_for(config.provider);
    Ok(match config.provider {
        ProviderName::Rehearsal => Arc::new(Rehearsal::embedded(options.pace)?),
        ProviderName::Anthropic => {
            let base_url = options.base_url.as_deref().unwrap_or(anthropic::DEFAULT_BASE_URL);
            Arc::new(Anthropic::new(base_url, Environment::of_process()))
        }
    })
}

/// The built-in resolvers, as the options want them, and what is odd about those options. `known` are the tools, where
/// all of them are known already.
pub(super) fn chain(config: &Config, known: Option<&[&str]>) -> (Chain, Vec<String>) {
    let mut warnings = Vec::new();
    let mut presets = Presets::builtin();
    for (name, preset) in &config.tools.presets {
        let preset = Preset { approve: preset.approve.clone(), deny: preset.deny.clone() };
        if let Err(problem) = presets.define(name, preset) {
            warnings.push(problem);
        }
    }
    let (policy, problems) = Policy::new(&config.tools.auto_approve, &[], &presets, known);
    warnings.extend(problems);
    let mut chain = Chain::new();
    chain.register(approval::config(policy));
    chain.register(approval::declared());
    if !config.tools.require_approval {
        chain.register(approval::catch_all());
    }
    (chain, warnings)
}

/// Puts a function of the user's in the place of the list `tools.auto_approve`.
///
/// It is given the tool's name, the input and a table with `bufnr` and `tool_id`, and returns `true` (run), `false`
/// (ask), `"deny"`, or `nil` (no opinion). One that throws, or returns anything else, means that the user is asked.
pub(super) fn use_function(editor: &Editor, function: Function) {
    let (lua, host, told) = (editor.lua.clone(), Rc::clone(&editor.host), Cell::new(false));
    let resolve = move |call: &ApprovalCall<'_>| {
        let decide = || -> mlua::Result<Value> {
            let context = lua.create_table()?;
            context.set("bufnr", call.buffer)?;
            context.set("tool_id", call.id.0.as_str())?;
            function.call((call.tool, convert::from_json(&lua, call.input)?, context))
        };
        let word = |value: &Value, word: &str| matches!(value, Value::String(text) if text == word);
        let odd = match decide() {
            Ok(Value::Nil) => return Ok(None),
            Ok(Value::Boolean(true)) => return Ok(Some(Decision::Approve)),
            Ok(Value::Boolean(false)) => return Ok(Some(Decision::RequireApproval)),
            Ok(value) if word(&value, "approve") => return Ok(Some(Decision::Approve)),
            Ok(value) if word(&value, "require_approval") => return Ok(Some(Decision::RequireApproval)),
            Ok(value) if word(&value, "deny") => return Ok(Some(Decision::Deny)),
            Ok(value) => format!("returned {}", value.to_string().unwrap_or_else(|_| value.type_name().to_owned())),
            Err(error) => format!("threw: {}", convert::words(&error)),
        };
        // Nobody knows what it meant, so the user decides. They hear of it once.
        if !told.replace(true) {
            host.notify(
                Level::Warn,
                &format!("the function tools.auto_approve {odd}. It may return true, false, \"deny\" or nil; now you are asked"),
            );
        }
        Ok(Some(Decision::RequireApproval))
    };
    editor.approvals.borrow_mut().register(Resolver {
        name: approval::CONFIG.into(),
        description: Some("tools.auto_approve of the configuration".into()),
        priority: 100,
        resolve: Rc::new(resolve),
    });
}

/// What happens to a call: whether it can run at all, and then what the chain says.
pub(super) fn verdict(editor: &Editor, buffer: i32, call: &OpenCall) -> Verdict {
    let definition = {
        let registry = editor.registry.borrow();
        registry.get(&call.name).filter(|tool| registry.is_enabled(tool)).cloned()
    };
    let Some(definition) = definition else {
        return Verdict::Invalid(editor.registry.borrow().unknown(&call.name));
    };
    if let Err(problem) = definition.check_input(&call.input) {
        return Verdict::Invalid(problem);
    }
    let none = serde_json::Value::Null;
    let input = match &call.input {
        ToolInput::Json(value) => value,
        ToolInput::Malformed(_) => &none,
    };
    // A clone: a resolver may change the chain while it decides.
    let chain = editor.approvals.borrow().clone();
    let call = ApprovalCall {
        tool: &call.name,
        input,
        id: &call.id,
        buffer: i64::from(buffer),
        declared: definition.approval,
    };
    match chain.decide(&call).decision {
        Decision::Approve => Verdict::Run,
        Decision::RequireApproval => Verdict::Ask,
        Decision::Deny => Verdict::Deny,
    }
}

/// Why no tool writes to a file, if so: it is a conversation that is open here.
pub(super) fn protected(path: &Path, open: &[PathBuf]) -> Option<String> {
    let path = real(path);
    open.iter()
        .any(|chat| real(chat) == path)
        .then(|| format!("{} is a conversation that is open in the editor; tools do not write to it", path.display()))
}

/// The path that a file would have: links are followed as far as there is something, the rest is taken by its words.
fn real(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            component => {
                real.push(component);
                if let Ok(found) = real.canonicalize() {
                    real = found;
                }
            }
        }
    }
    real
}
