//! What the options say about providers, tools and files.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use mlua::{Function, Value};

use super::{convert, editor::Editor};
use crate::{
    agent::Verdict,
    chat::OpenCall,
    config::{Config, ProviderName},
    provider::{
        Provider, ProviderError, ToolInput,
        anthropic::{self, Anthropic},
        auth::Environment,
        rehearsal::Rehearsal,
    },
    tools::{
        Policy, Preset, Presets, Registry,
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

/// The built-in resolvers, as the options want them, and what is odd about those options.
pub(super) fn chain(config: &Config, registry: &Registry) -> (Chain, Vec<String>) {
    let mut warnings = Vec::new();
    let mut presets = Presets::builtin();
    for (name, preset) in &config.tools.presets {
        let preset = Preset { approve: preset.approve.clone(), deny: preset.deny.clone() };
        if let Err(problem) = presets.define(name, preset) {
            warnings.push(problem);
        }
    }
    let known: Vec<&str> = registry.all().map(|tool| tool.name.as_str()).collect();
    let (policy, problems) = Policy::new(&config.tools.auto_approve, &[], &presets, known.iter().copied());
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
/// (ask), `"deny"`, or `nil` (no opinion). One that throws means that the user is asked.
pub(super) fn use_function(editor: &Editor, function: Function) {
    let lua = editor.lua.clone();
    let resolve = move |call: &ApprovalCall<'_>| {
        let decide = || -> mlua::Result<Value> {
            let context = lua.create_table()?;
            context.set("bufnr", call.buffer)?;
            context.set("tool_id", call.id.0.as_str())?;
            function.call((call.tool, convert::to_lua(&lua, call.input)?, context))
        };
        Ok(match decide() {
            Ok(Value::Nil) => None,
            Ok(Value::Boolean(true)) => Some(Decision::Approve),
            Ok(Value::String(word)) if word == "deny" => Some(Decision::Deny),
            Ok(Value::Boolean(false)) | Err(_) => Some(Decision::RequireApproval),
            Ok(other) => return Err(format!("it returned {}", other.to_string().unwrap_or_default())),
        })
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
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = real(path);
    open.iter()
        .any(|chat| real(chat) == path)
        .then(|| format!("{} is a conversation that is open in the editor; tools do not write to it", path.display()))
}
