//! `:Flemma tool:approve always`: approvals that stand in the file.
//!
//! What is approved is written into the frontmatter, so that the user sees it and can take it back. Nothing is left there
//! that does not do what it says: the calls have to be approved by it, else it is taken out again.

use std::rc::Rc;

use super::{conversation::Conversation, editor::Editor, frontmatter, policy, shell::At};
use crate::{
    agent::{Choice, Input, Level, Shell, UndoStep, Verdict},
    chat::{self, OpenCall, Severity},
    model::CallId,
};

/// The answer to what has to wait.
pub(super) const BUSY: &str = "a reply or a tool is still at work here; Ctrl-C stops it";

/// Approves calls, and all like them from now on.
pub(super) fn approve(editor: &Editor, conversation: &Rc<Conversation>, calls: Vec<CallId>) {
    if conversation.session.is_busy() {
        editor.host.notify(Level::Info, BUSY);
        return;
    }
    let decide = |step| Input::Decide(calls.clone(), Choice::Approve, step);
    let is_at_fault = || conversation.diagnostics().iter().any(|found| found.severity == Severity::Error);
    if frontmatter::effective(editor, conversation).fault.is_some() || is_at_fault() {
        // Says what is wrong with the file, or asks whether its frontmatter is trusted.
        return conversation.want_alone(editor, decide(UndoStep::Own));
    }
    match write(editor, conversation, &calls) {
        Ok(entries) if entries.is_empty() => conversation.want_alone(editor, decide(UndoStep::Own)),
        Ok(entries) => {
            editor.host.notify(Level::Info, &format!("from now on without asking: {}", entries.join(", ")));
            // One undo takes back the rule and the approval.
            conversation.want_alone(editor, decide(UndoStep::Joined));
        }
        Err(problem) => editor.host.notify(Level::Warn, &format!("not approved for good: {problem}")),
    }
}

/// Writes what approves these calls into the frontmatter, and gives it.
fn write(editor: &Editor, conversation: &Conversation, calls: &[CallId]) -> Result<Vec<String>, String> {
    let mut chosen: Vec<OpenCall> = conversation.with_document(|document, text| document.open_calls(text));
    chosen.retain(|call| calls.contains(&call.id) && policy::verdict(editor, conversation, call) == Verdict::Ask);
    let mut entries: Vec<String> = Vec::new();
    for call in &chosen {
        let missing = policy::standing_entries(editor, conversation.buffer, call)?;
        entries.extend(missing.into_iter().filter(|entry| !entries.contains(entry)).collect::<Vec<_>>());
    }
    if entries.is_empty() {
        return Ok(entries);
    }
    let before = frontmatter::source(conversation);
    let edits = conversation.with_document(|document, text| chat::approve_always(document, text, &entries))?;
    let shell = At { editor, conversation };
    shell.undo_step();
    shell.apply(&edits);
    // It says what the user has just asked for.
    if let Some(source) = frontmatter::source(conversation) {
        conversation.adopt(&source);
    }
    let fault = frontmatter::effective(editor, conversation).fault.as_ref().map(|fault| fault.diagnostic().message);
    let still_asks = |call: &&OpenCall| policy::verdict(editor, conversation, call) != Verdict::Run;
    let problem = fault.or_else(|| {
        let call = chosen.iter().find(still_asks)?;
        Some(format!(
            "something else decides about `{}`; require(\"flemma.tools.approval\").resolve says what",
            call.name
        ))
    });
    let Some(problem) = problem else { return Ok(entries) };
    let edits = conversation.with_document(|document, text| {
        let lines = document.frontmatter().map_or(0, |matter| matter.lines);
        chat::restore_frontmatter(text, lines, before.as_ref().map(|source| source.code.as_str()))
    });
    shell.apply(&edits);
    Err(problem)
}
