//! What a resolver sees of a call, and what happens to the call then.

use std::path::PathBuf;

use serde_json::Value;

use super::{Conversation, Workspace, effective::Effective, ports::Place, standing::Standing};
use crate::{
    agent::Verdict,
    chat::OpenCall,
    model::{CallId, ToolInput, UserError},
    tools::{
        DeclaredApproval, Definition, Disk, NamedBy, TurnTools,
        approval::{self, ApprovalCall, BufferPolicy, Decision},
        rules::{self, DeniedPaths, PathBase, ReadTarget, Subject, Target},
    },
};

/// What rules may ask about a call. This is the only place that finds it out.
pub(super) struct CallFacts {
    path_base: PathBase,
    target: Target,
    read: Option<Target>,
    leaves_out_denied: bool,
    declared: Option<DeclaredApproval>,
}

impl CallFacts {
    /// The facts about a call in a conversation at `place`: the paths in it start where the tool will start them. A tool
    /// that is not known (`definition` is `None`) has none.
    ///
    /// `file` is what is in effect for the conversation, as far as that is known.
    pub(super) fn new(
        workspace: &Workspace,
        place: &Place,
        file: Option<&Effective>,
        definition: Option<&Definition>,
        input: &Value,
    ) -> Self {
        let path_base = path_base(place);
        let Some(definition) = definition else {
            return Self { path_base, target: Target::Other, read: None, leaves_out_denied: false, declared: None };
        };
        let options = workspace.config().tools.options_of(&definition.name);
        let shell = options.get("shell").and_then(Value::as_str);
        let start = PathBase { folder: workspace.start_folder(place, file, definition), ..path_base.clone() };
        Self {
            target: Target::of(definition, input, &start, shell),
            read: Target::of_reading(definition, input, &start),
            leaves_out_denied: definition.leaves_out_denied,
            declared: definition.approval,
            path_base,
        }
    }

    /// The call as resolvers see it. `file` is what the conversation's own file says.
    pub(super) fn call<'a>(
        &'a self,
        tool: &'a str,
        input: &'a Value,
        id: &'a CallId,
        buffer: i64,
        file: Option<&'a Effective>,
    ) -> ApprovalCall<'a> {
        let reading = self
            .read
            .as_ref()
            .map(|read| ReadTarget { subject: read.subject(), leaves_out_denied: self.leaves_out_denied });
        ApprovalCall {
            declared: self.declared,
            subject: self.target.subject(),
            reading,
            path_base: &self.path_base,
            frontmatter: file.and_then(|file| file.policy.as_ref()),
            ..ApprovalCall::new(tool, input, id, buffer)
        }
    }
}

/// What paths in rules stand on: where the tools' own paths start.
fn path_base(place: &Place) -> PathBase {
    let exported = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    PathBase { folder: place.folder(), home: std::env::home_dir(), exported, disk: Disk::itself() }
}

impl Workspace {
    /// What happens to a call: whether it can run at all, and then what the approval chain decides.
    pub(super) fn verdict(&self, conversation: &Conversation, call: &OpenCall) -> Verdict {
        self.verdict_as(conversation, call, self.standing(conversation, call))
    }

    /// The same for a call of which this is known from before.
    pub(super) fn verdict_as(&self, conversation: &Conversation, call: &OpenCall, standing: Standing) -> Verdict {
        let file = self.frontmatter(conversation);
        let turn = self.turn_tools_of(conversation, &file, call);
        let chosen = self.toolbox().chosen(&file, &turn);
        let definition = match self.toolbox().offered(&call.name, chosen.as_ref()) {
            Ok(definition) => definition,
            Err(problem) => return Verdict::Invalid(problem),
        };
        if let Err(problem) = definition.check_input(&call.input) {
            return Verdict::Invalid(problem);
        }
        let input = match &call.input {
            ToolInput::Json(value) => value,
            ToolInput::Malformed(_) => &Value::Null,
        };
        if let Err(problem) = self.check_permitted(conversation, &definition, input) {
            self.log_not_permitted(&call.name, &problem);
            return Verdict::Invalid(problem);
        }
        let facts = CallFacts::new(self, &self.place(conversation), Some(&*file), Some(&definition), input);
        let buffer = i64::from(conversation.buffer());
        let verdict = self.toolbox().chain().decide(&facts.call(&call.name, input, &call.id, buffer, Some(&file)));
        self.log_failures(&verdict);
        let decision = match verdict.decision {
            // Only the user's own decision about this call counts.
            Decision::Approve if definition.always_asks => Decision::RequireApproval,
            Decision::Approve
                if definition.write_path_param.is_some() && self.overwrites_unread(conversation, &facts) =>
            {
                Decision::RequireApproval
            }
            // Whoever wrote the file may have named the tool, and must not choose what runs without asking. The user trusts
            // what the file itself approves.
            Decision::Approve
                if verdict.resolver.as_deref() != Some(approval::FRONTMATTER)
                    && !self.is_offered_by_user(&file, &turn, &call.name) =>
            {
                Decision::RequireApproval
            }
            decision => decision,
        };
        match (decision, standing) {
            (Decision::Deny, _) => Verdict::Deny,
            // The tool says of itself that it may run. What it writes is the user's decision, or their policy's.
            (Decision::Approve, Standing::Proposed) if verdict.resolver.as_deref() == Some(approval::DECLARED) => {
                Verdict::Ask
            }
            // Nobody knows whether it happened. It may only happen again if that does no harm.
            (_, Standing::Interrupted) => {
                if definition.idempotent {
                    Verdict::Run
                } else {
                    Verdict::Ask
                }
            }
            (Decision::Approve, _) | (_, Standing::Approved(_)) => Verdict::Run,
            (Decision::RequireApproval, _) => Verdict::Ask,
        }
    }

    /// Whether a call may write over a file that the user denies reading. Its result does not show what was there, so the user has to
    /// look at it first, unless they want to be asked about nothing.
    fn overwrites_unread(&self, conversation: &Conversation, facts: &CallFacts) -> bool {
        let paths = match facts.target.subject() {
            Subject::Path(path) => vec![path.to_owned()],
            Subject::Paths(paths) => paths.to_vec(),
            Subject::Command(_) | Subject::Other => Vec::new(),
        };
        self.overwrites_any_unread(conversation, &paths)
    }

    /// The same for files. The paths are absolute.
    pub(super) fn overwrites_any_unread(&self, conversation: &Conversation, paths: &[PathBuf]) -> bool {
        if !self.config().tools.require_approval || paths.is_empty() {
            return false;
        }
        let denied = self.denied(conversation);
        paths.iter().any(|path| denied.covers_existing(path))
    }

    /// Whether a tool would be offered without the names in text that may be anybody's.
    fn is_offered_by_user(&self, file: &Effective, turn: &TurnTools, tool: &str) -> bool {
        if turn.named.get(tool) != Some(&NamedBy::File) {
            return true;
        }
        let chosen = self.toolbox().chosen(file, &turn.by_user());
        self.toolbox().offered(tool, chosen.as_ref()).is_ok()
    }

    /// Logs the resolvers that failed.
    pub(super) fn log_failures(&self, verdict: &approval::Resolution) {
        for failure in &verdict.failures {
            let line =
                format!("the approval resolver `{}` failed and was skipped: {}", failure.resolver, failure.error);
            self.log(crate::agent::Level::Warn, &line);
        }
    }

    /// The entries of `auto_approve` that would let this call, and those like it, run without asking.
    ///
    /// # Errors
    /// When no entry can, or its tool is not there; for the user.
    pub(super) fn entries_for(&self, conversation: &Conversation, call: &OpenCall) -> Result<Vec<String>, UserError> {
        let Some(definition) = self.toolbox().get(&call.name) else {
            return Err(UserError::new(format!("there is no tool `{}`", call.name)));
        };
        if definition.always_asks {
            return Err(UserError::new(format!(
                "`{}` asks for approval every time; approve it without `always`",
                call.name
            )));
        }
        let ToolInput::Json(input) = &call.input else {
            return Err(UserError::new(format!("the input of the call of `{}` is not valid JSON", call.name)));
        };
        if !Target::exists_for(&definition) {
            return Ok(vec![call.name.clone()]);
        }
        let file = self.frontmatter(conversation);
        let facts = CallFacts::new(self, &self.place(conversation), Some(&*file), Some(&definition), input);
        rules::suggest(&call.name, &facts.target.subject(), &facts.path_base).ok_or_else(|| {
            UserError::new(format!("no rule can cover this call of `{}`; approve it without `always`", call.name))
        })
    }

    /// The paths that the user denies reading, in the configuration and in the file.
    pub(super) fn denied(&self, conversation: &Conversation) -> DeniedPaths {
        let file = self.frontmatter(conversation);
        let list = match &file.policy {
            Some(BufferPolicy::List(list)) => Some(list),
            Some(BufferPolicy::Function(_)) | None => None,
        };
        self.toolbox().denied(list, &path_base(&self.place(conversation)))
    }
}
