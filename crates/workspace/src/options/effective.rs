//! What is in effect for one conversation: its options, and what its file says of tools.

use std::rc::Rc;

use crate::trust::FrontmatterCode;
use flemma_chat::{Diagnostic, Severity};
use flemma_config::{Config, FileOptions};
use flemma_tools::{FileTools, Policy, approval::BufferPolicy};

/// What is in effect for one conversation.
pub(crate) struct Effective {
    /// The options, the file's included.
    pub(crate) config: Rc<Config>,
    /// The tools on offer, where the file says.
    pub(crate) tools: Option<FileTools>,
    /// What the file says of approval.
    pub(crate) policy: Option<BufferPolicy>,
    /// What the file has set, to show it.
    pub(crate) file: FileOptions,
    /// Why the file has no effect.
    pub(crate) fault: Option<Fault>,
}

/// Why a file's frontmatter has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// As it is shown in the buffer.
    pub(crate) diagnostic: Diagnostic,
    /// Whether all that it lacks is the user's trust.
    pub(crate) lacks_trust: bool,
}

impl Effective {
    /// The file's list of what runs without asking, if it has one.
    pub(crate) fn list(&self) -> Option<&Policy> {
        match &self.policy {
            Some(BufferPolicy::List(list)) => Some(list),
            Some(BufferPolicy::Function(_)) | None => None,
        }
    }
}

impl Fault {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        let diagnostic = Diagnostic { line, severity: Severity::Error, message: message.into() };
        Self { diagnostic, lacks_trust: false }
    }

    pub(crate) fn untrusted(what: &str) -> Self {
        let message = format!(
            "you did not write the {what} in this file in this session, and have not trusted this file yet; press Ctrl-] to decide"
        );
        Self { lacks_trust: true, ..Self::new(0, message) }
    }
}

/// What an evaluation depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) source: Option<FrontmatterCode>,
    pub(crate) is_trusted: bool,
    pub(crate) generation: u64,
}
