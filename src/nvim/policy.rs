//! What the options say about providers, tools and files.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    conversation::Conversation,
    editor::Editor,
    frontmatter::{self, Effective},
    shell::folder_of,
};
use crate::{
    agent::Verdict,
    chat::OpenCall,
    config::Config,
    model::ToolInput,
    provider::{HostedTool, auth::Environment},
    runtime::{Recipient, http::Timeouts},
    tools::{
        Definition, Policy,
        approval::{ApprovalCall, BufferPolicy, Decision},
        hosted::{self, Offer},
        paths::{self, real},
        rules::{self, DeniedPaths, PathBase, ReadTarget, Target},
    },
};

/// The provider that the options name, and the key that it needs.
pub(super) fn recipient(config: &Config) -> Recipient {
    Recipient::of(config.parameters_for(config.provider), Environment::of_process())
}

/// How long a provider may be silent.
pub(super) fn timeouts(config: &Config) -> Timeouts {
    Timeouts::of(&config.parameters_for(config.provider))
}

/// The tools that the provider of a conversation runs itself. `alone`: no tool that runs here is on offer.
pub(super) fn hosted(editor: &Editor, file: &Effective, alone: bool) -> Offer {
    let config = &file.config;
    let registry = editor.registry.borrow();
    let chosen = registry.hosted(file.tools.as_ref());
    hosted::offer(chosen, &config.tools.search, config.provider, config.model(), alone)
}

/// The hosted tools that a conversation has chosen and its provider does not get, each with the reason.
pub(super) fn left_out(editor: &Editor, file: &Effective) -> Vec<(HostedTool, String)> {
    let alone = {
        let registry = editor.registry.borrow();
        file.tools.as_ref().map_or_else(|| registry.specs(), |chosen| registry.specs_of(chosen)).is_empty()
    };
    hosted(editor, file, alone).left_out
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
    let path_base = path_base(editor, conversation.buffer);
    let about = about(editor, conversation.buffer, &definition, input);
    let call = ApprovalCall {
        declared: definition.approval,
        subject: about.target.subject(),
        reading: about.reading(),
        path_base: &path_base,
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

/// What paths in rules stand on, in a buffer: where the tools' own paths start.
pub(super) fn path_base(editor: &Editor, buffer: i32) -> PathBase {
    let (file, cwd) = editor.host.place(buffer);
    let folder = Path::new(&file).parent().filter(|folder| !folder.as_os_str().is_empty());
    let exported = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    PathBase { folder: folder.unwrap_or(Path::new(&cwd)).to_owned(), home: std::env::home_dir(), exported }
}

/// What a call is about, and what it reads.
#[derive(Default)]
pub(super) struct About {
    pub(super) target: Target,
    read: Option<Target>,
    leaves_out_denied: bool,
}

impl About {
    pub(super) fn reading(&self) -> Option<ReadTarget<'_>> {
        let subject = self.read.as_ref()?.subject();
        Some(ReadTarget { subject, leaves_out_denied: self.leaves_out_denied })
    }
}

/// What a call is about: the paths in it start where the tool will start them.
pub(super) fn about(editor: &Editor, buffer: i32, definition: &Definition, input: &serde_json::Value) -> About {
    let options = editor.config().tools.options_of(&definition.name);
    let text = |name: &str| options.get(name).and_then(serde_json::Value::as_str);
    let mut path_base = path_base(editor, buffer);
    // A conversation without a file has no folder, so that the tool's own one counts.
    if let Some(own) = text("cwd")
        && folder_of(&editor.host.place(buffer).0).is_none()
    {
        path_base.folder = paths::resolve(&path_base.folder, Path::new(own));
    }
    About {
        target: Target::of(definition, input, &path_base, text("shell")),
        read: Target::of_reading(definition, input, &path_base),
        leaves_out_denied: definition.leaves_out_denied,
    }
}

/// The paths that the user denies reading, in the configuration and in the file.
pub(super) fn denied(editor: &Editor, conversation: &Conversation) -> DeniedPaths {
    let file = frontmatter::effective(editor, conversation);
    let config = editor.policy.borrow();
    let list = match &file.policy {
        Some(BufferPolicy::List(list)) => Some(list),
        Some(BufferPolicy::Function(_)) | None => None,
    };
    Policy::denied([&*config].into_iter().chain(list), &path_base(editor, conversation.buffer))
}

/// The entries of `auto_approve` that would let this call, and those like it, run without asking.
///
/// # Errors
/// When no entry can, or its tool is not there; for the user.
pub(super) fn standing_entries(editor: &Editor, buffer: i32, call: &OpenCall) -> Result<Vec<String>, String> {
    let Some(definition) = editor.registry.borrow().get(&call.name).cloned() else {
        return Err(format!("there is no tool `{}`", call.name));
    };
    let ToolInput::Json(input) = &call.input else { return Err("the call's input is no JSON".to_owned()) };
    let path_base = path_base(editor, buffer);
    let target = about(editor, buffer, &definition, input).target;
    if !Target::exists_for(&definition) {
        return Ok(vec![call.name.clone()]);
    }
    rules::suggest(&call.name, &target.subject(), &path_base)
        .ok_or_else(|| format!("no rule can stand for this call of `{}`; it can only be approved by hand", call.name))
}

/// Why no tool writes to a file, if so: it is a conversation that is open here, or says what the user trusts, by whatever
/// name. It looks at the disk.
pub(super) fn protected(path: &Path, open: &[PathBuf], trust_store: &Path) -> Option<String> {
    let found = real(path);
    // A hard link is another name of the same file.
    let same = |other: &Path| real(other) == found || identity(&found).is_some_and(|own| identity(other) == Some(own));
    if same(trust_store) {
        return Some(format!("{} says what the user trusts; tools do not write to it", found.display()));
    }
    let chat = open.iter().find(|chat| same(chat))?;
    Some(if real(chat) == found {
        format!("{} is a conversation that is open in the editor; tools do not write to it", found.display())
    } else {
        let (found, chat) = (found.display(), chat.display());
        format!(
            "{found} is the same file as {chat}, a conversation that is open in the editor; tools do not write to it"
        )
    })
}

/// What a file is, whatever it is called; `None` if there is none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
