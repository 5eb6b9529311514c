//! What is in effect for one conversation: its options, and what its file says of tools.

use std::{cell::RefCell, rc::Rc};

use flemma_chat::{Diagnostic, Document, Severity, Text};
use flemma_config::{Config, FileOptions};
use flemma_tools::{FileTools, Policy, approval::BufferPolicy};

/// What is in effect for one conversation.
pub(super) struct Effective {
    /// The options, the file's included.
    pub(super) config: Rc<Config>,
    /// The tools on offer, where the file says.
    pub(super) tools: Option<FileTools>,
    /// What the file says of approval.
    pub(super) policy: Option<BufferPolicy>,
    /// What the file has set, to show it.
    pub(super) file: FileOptions,
    /// Whether the file decides on approval with a function.
    pub(super) is_policy_function: bool,
    /// Why the file has no effect.
    pub(super) fault: Option<Fault>,
}

/// Why a file's frontmatter has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, from 0.
    line: usize,
    message: String,
    /// Whether all that it lacks is the user's trust.
    pub(super) lacks_trust: bool,
}

impl Effective {
    /// The file's list of what runs without asking, if it has one.
    pub(super) fn list(&self) -> Option<&Policy> {
        match &self.policy {
            Some(BufferPolicy::List(list)) => Some(list),
            Some(BufferPolicy::Function(_)) | None => None,
        }
    }
}

impl Fault {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), lacks_trust: false }
    }

    pub(super) fn untrusted(what: &str) -> Self {
        let message = format!(
            "you did not write the {what} in this file in this session, and have not trusted this file yet; press Ctrl-] to decide"
        );
        Self { lacks_trust: true, ..Self::new(0, message) }
    }

    /// The fault as it is shown in the buffer.
    pub(super) fn diagnostic(&self) -> Diagnostic {
        Diagnostic { line: self.line, severity: Severity::Error, message: self.message.clone() }
    }
}

/// Frontmatter as it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The language, as the fence names it.
    pub(super) language: String,
    /// What stands between the fences.
    pub(super) code: String,
}

impl Source {
    /// The frontmatter of a document, if it has any that is complete.
    pub(super) fn of(document: &Document, text: &dyn Text) -> Option<Self> {
        let matter = document.frontmatter().filter(|matter| matter.closed)?;
        let mut code = String::new();
        text.read(1..matter.lines - 1, &mut |line: &str| {
            code.push_str(line);
            code.push('\n');
        });
        Some(Self { language: matter.language.clone(), code })
    }

    /// The lines between the fences.
    pub(super) fn lines(&self) -> std::ops::Range<usize> {
        1..1 + self.code.lines().count()
    }
}

/// What an evaluation depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) source: Option<Source>,
    pub(super) is_trusted: bool,
    pub(super) generation: u64,
}

/// The last evaluation of a conversation's frontmatter.
#[derive(Default)]
pub(super) struct Evaluated(RefCell<Option<(Basis, Rc<Effective>)>>);

impl Evaluated {
    /// The options as they were when they were last needed.
    pub(super) fn config(&self) -> Option<Rc<Config>> {
        self.0.borrow().as_ref().map(|(_, effective)| Rc::clone(&effective.config))
    }

    /// The last evaluation, if it is still about the same.
    pub(super) fn get(&self, basis: &Basis) -> Option<Rc<Effective>> {
        self.0.borrow().as_ref().filter(|(known, _)| known == basis).map(|(_, effective)| Rc::clone(effective))
    }

    /// Keeps an evaluation.
    pub(super) fn keep(&self, basis: Basis, effective: &Rc<Effective>) {
        *self.0.borrow_mut() = Some((basis, Rc::clone(effective)));
    }

    /// The next need evaluates anew.
    pub(super) fn forget(&self) {
        self.0.take();
    }
}
