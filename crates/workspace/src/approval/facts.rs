//! What rules may ask about a call.

use std::path::PathBuf;

use serde_json::Value;

use crate::{options::effective::Effective, ports::Place};
use flemma_model::CallId;
use flemma_tools::{
    DeclaredApproval, Definition, Disk,
    approval::ApprovalCall,
    rules::{CommandShell, PathBase, ReadTarget, Target},
};

/// What rules may ask about a call. This is the only place that finds it out. It does not read the disk.
#[derive(Clone)]
pub(crate) struct ApprovalFacts {
    pub(crate) path_base: PathBase,
    pub(crate) target: Target,
    read: Option<Target>,
    leaves_out_denied: bool,
    declared: Option<DeclaredApproval>,
}

impl ApprovalFacts {
    /// The facts about a call of a tool that is not known, in a conversation at `place`.
    pub(crate) fn unknown(place: &Place) -> Self {
        let path_base = path_base(place);
        Self { path_base, target: Target::Other, read: None, leaves_out_denied: false, declared: None }
    }

    /// The facts about a call of a tool in a conversation at `place`. Relative paths in it start at `folder`. A command of it runs in
    /// `working_directory`, with the shell that the user has named.
    pub(crate) fn new(
        place: &Place,
        definition: &Definition,
        folder: PathBuf,
        (working_directory, shell): (PathBuf, Option<&str>),
        input: &Value,
    ) -> Self {
        let mut path_base = path_base(place);
        let start = PathBase { folder, ..path_base.clone() };
        let target = Target::of(definition, input, &start);
        if matches!(target, Target::Command(_)) {
            path_base.folder = working_directory;
            path_base.shell = CommandShell::Asked(shell.map(str::to_owned));
        }
        Self {
            target,
            read: Target::of_reading(definition, input, &start),
            leaves_out_denied: definition.leaves_out_denied,
            declared: definition.approval,
            path_base,
        }
    }

    /// The same, judged by what this disk says.
    pub(crate) fn on(mut self, disk: &Disk) -> Self {
        self.path_base.disk = disk.clone();
        self
    }

    /// The call as resolvers see it. `file` is what the conversation's own file says.
    pub(crate) fn call<'a>(
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
pub(crate) fn path_base(place: &Place) -> PathBase {
    PathBase::of_process(place.folder())
}
