//! `:Flemma tool:approve always`: approvals that are written into the file.
//!
//! What is approved is written into the frontmatter, so that the user sees it and can take it back. An entry that has no
//! effect is taken out again: the calls have to be approved by it.

use crate::{Conversation, trust::gatekeeper::Gatekeeper, writer::Writer};
use flemma_agent::{Choice, Level, UndoStep, Verdict};
use flemma_chat as chat;
use flemma_chat::{OpenCall, Severity};
use flemma_model::{CallId, UserError};

/// The answer to what has to wait.
pub(crate) const BUSY: &str = "a reply or a tool is still running; Ctrl-C stops it";

impl Gatekeeper {
    /// Approves calls, and all like them from now on. The file is trusted, and no other process holds it.
    pub(crate) fn always_approve(&self, conversation: &Conversation, calls: Vec<CallId>) {
        if conversation.is_busy() {
            self.shared.host.notify(Level::Info, BUSY);
            return;
        }
        let decide = |step| self.resolutions.decide(conversation, calls.clone(), &Choice::Approve, step);
        let is_at_fault = || conversation.page.diagnostics().iter().any(|found| found.severity == Severity::Error);
        if self.frontmatter.of(conversation).fault.is_some() || is_at_fault() {
            // Says what is wrong with the file.
            return decide(UndoStep::Own);
        }
        match self.write_approvals(conversation, &calls) {
            Ok(entries) if entries.is_empty() => decide(UndoStep::Own),
            Ok(entries) => {
                self.shared
                    .host
                    .notify(Level::Info, &format!("runs without asking from now on: {}", entries.join(", ")));
                // One undo takes back the rule and the approval.
                decide(UndoStep::Joined);
            }
            Err(problem) => self.shared.host.notify(Level::Warn, &format!("not approved: {problem}")),
        }
    }

    /// Writes what approves these calls into the frontmatter, and gives it.
    fn write_approvals(&self, conversation: &Conversation, calls: &[CallId]) -> Result<Vec<String>, UserError> {
        let page = &conversation.page;
        let mut chosen: Vec<OpenCall> = page.with_document(|document, text| document.calls().open(text));
        chosen.retain(|call| calls.contains(&call.id) && self.approval.verdict(conversation, call) == Verdict::Ask);
        let mut entries: Vec<String> = Vec::new();
        for call in &chosen {
            let missing = self.approval.entries_for(conversation, call)?;
            entries.extend(missing.into_iter().filter(|entry| !entries.contains(entry)).collect::<Vec<_>>());
        }
        if entries.is_empty() {
            return Ok(entries);
        }
        let before = page.frontmatter();
        let edits = page.with_document(|document, text| chat::approve_always(document, text, &entries))?;
        let writer = Writer::new(&self.shared, conversation);
        page.undo_step();
        writer.apply(&edits);
        // It says what the user has just asked for.
        self.trust.adopt_frontmatter(conversation);
        let fault = self.frontmatter.of(conversation).fault.as_ref().map(|fault| fault.diagnostic.message.clone());
        let still_asks = |call: &&OpenCall| self.approval.verdict(conversation, call) != Verdict::Run;
        let problem = fault.or_else(|| {
            let call = chosen.iter().find(still_asks)?;
            Some(format!(
                "another resolver decides about `{}`; require(\"flemma.tools.approval\").resolve shows which one",
                call.name
            ))
        });
        let Some(problem) = problem else { return Ok(entries) };
        let edits = page.with_document(|document, text| {
            let lines = document.frontmatter().map_or(0, |matter| matter.lines);
            chat::restore_frontmatter(text, lines, before.as_ref().map(|source| source.code.as_str()))
        });
        writer.apply(&edits);
        Err(UserError::new(problem))
    }
}
