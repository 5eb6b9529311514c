//! What the options say about providers, tools and files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{conversation::Conversation, editor::Editor, frontmatter};
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
        approval::{ApprovalCall, Decision},
        paths::real,
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

/// What happens to a call: whether it can run at all, and then what the chain says.
pub(super) fn verdict(editor: &Editor, conversation: &Conversation, call: &OpenCall) -> Verdict {
    let file = frontmatter::effective(editor, conversation);
    let definition = editor.registry.borrow().offered(&call.name, file.tools.as_ref()).cloned();
    let Some(definition) = definition else {
        return Verdict::Invalid(editor.registry.borrow().unknown(&call.name, file.tools.as_ref()));
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
        declared: definition.approval,
        frontmatter: file.policy.as_ref(),
        ..ApprovalCall::new(&call.name, input, &call.id, i64::from(conversation.buffer))
    };
    let verdict = chain.decide(&call);
    editor.log_failures(&verdict);
    match verdict.decision {
        Decision::Approve => Verdict::Run,
        Decision::RequireApproval => Verdict::Ask,
        Decision::Deny => Verdict::Deny,
    }
}

/// The entries of `auto_approve` that would let this call, and those like it, run without asking.
///
/// # Errors
/// When no entry can, or its tool is not there; for the user.
pub(super) fn standing_entries(
    editor: &Editor,
    _conversation: &Conversation,
    call: &OpenCall,
) -> Result<Vec<String>, String> {
    match editor.registry.borrow().get(&call.name) {
        Some(_) => Ok(vec![call.name.clone()]),
        None => Err(format!("there is no tool `{}`", call.name)),
    }
}

/// Why no tool writes to a file, if so: it is a conversation that is open here, or says what the user trusts.
pub(super) fn protected(path: &Path, open: &[PathBuf], trust_store: &Path) -> Option<String> {
    let path = real(path);
    if path == real(trust_store) {
        return Some(format!("{} says what the user trusts; tools do not write to it", path.display()));
    }
    open.iter()
        .any(|chat| real(chat) == path)
        .then(|| format!("{} is a conversation that is open in the editor; tools do not write to it", path.display()))
}
