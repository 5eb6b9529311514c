//! Capturing references: what `@diff` or `@./a.rs#L10-L20` in the user's message means is found out when the message is sent, and
//! written below the reference ([`crate::chat::write_captures`]).
//!
//! The session asks for it before a request (`capture`). The host is asked what the editor shows ([`super::Host::look`]); its
//! answer comes back by [`Workspace::looked`]. Files and git are read on threads that may wait, and there every name is
//! judged by what the user denies reading and the agents permit. Then the session goes on, or nothing is sent.
//!
//! References that came with the file are asked about by the trust gate, as files are. What slips past it, because the
//! conversation went on by itself, is not captured.

use std::{path::PathBuf, sync::Arc};

use super::{
    Conversation, Workspace,
    captured_text::{self, Readable},
    editor_view::{EditorView, LookedUp},
};
use crate::{
    agent::Input,
    chat::{CaptureTarget, Diagnostic, EditorReference, EditorSubject, Severity, Uncaptured},
    model::UserError,
    runtime::{FileLines, git_diff},
    tools::paths,
};

impl Workspace {
    /// The references to the editor that the next request would capture and that may not be the user's, as they are written, with
    /// the line of the first.
    pub(super) fn unvetted_references(&self, conversation: &Conversation) -> Vec<(usize, String)> {
        let page = conversation.page();
        let is_unvetted = |reference: &Uncaptured| {
            matches!(reference.target, CaptureTarget::Editor(_))
                && !page.is_by_user(reference.line..reference.line + 1)
                && !page.files().allows_reference(&reference.written)
        };
        page.uncaptured().into_iter().filter(is_unvetted).map(|reference| (reference.line, reference.written)).collect()
    }

    /// Finds out what the references in the user's message mean.
    pub(super) fn capture(&self, conversation: &Conversation) {
        if let Some((line, written)) = self.unvetted_references(conversation).into_iter().next() {
            let problem = format!(
                "Not sent: line {}: `{written}` was in the file before you opened it, and you have not allowed it to be sent.",
                line + 1
            );
            let problem = UserError::new(problem).with_advice("Press Ctrl-] to be asked.");
            return self.captured(conversation, Err(problem));
        }
        let wanted = conversation.page().uncaptured();
        let folder = self.place(conversation).folder();
        let looked_up: Vec<LookedUp> = wanted
            .iter()
            .filter_map(|reference| match &reference.target {
                CaptureTarget::Editor(EditorReference { subject, path }) => {
                    Some((*subject, path.as_ref().map(|path| paths::plain(&paths::resolve(&folder, path)))))
                }
                CaptureTarget::Lines { .. } => None,
            })
            .collect();
        let number = conversation.captures().begin(wanted);
        if looked_up.is_empty() {
            self.looked_at(conversation, number, Vec::new());
        } else if !self.host().look(conversation.buffer(), number, &looked_up) {
            let problem = || Err(UserError::new("only an editor can say what this means, and there is none here"));
            self.looked_at(conversation, number, looked_up.iter().map(|_| problem()).collect());
        }
    }

    /// The host has looked up the references to the editor ([`super::Host::look`]), in their order.
    pub fn looked(&self, buffer: i32, number: u64, views: Vec<Result<EditorView, UserError>>) {
        if let Some(conversation) = self.conversation(buffer) {
            self.looked_at(&conversation, number, views);
        }
    }

    fn looked_at(&self, conversation: &Conversation, number: u64, views: Vec<Result<EditorView, UserError>>) {
        let Some(wanted) = conversation.captures().wanted(number) else { return };
        let readable = Readable {
            folder: self.place(conversation).folder(),
            denied: Arc::new(self.denied(conversation)),
            permitted: Arc::new(self.permitted(conversation)),
        };
        let (mailbox, id) = (self.background().mailbox().clone(), conversation.id());
        let outputs = self.outputs().to_owned();
        let task = async move {
            let mut views = views.into_iter();
            let mut outcomes = Vec::new();
            for Uncaptured { target, .. } in wanted {
                let view = match &target {
                    CaptureTarget::Editor(_) => views.next(),
                    CaptureTarget::Lines { .. } => None,
                };
                outcomes.push(outcome(target, view, &readable, outputs.clone()).await);
            }
            mailbox.job_for(id, move |workspace: &Self, conversation| {
                workspace.were_captured(conversation, number, outcomes);
            });
        };
        if let Err(error) = self.background().worker().spawn(task) {
            let problem = format!("Not sent: what the message refers to could not be read ({error})");
            self.captured(conversation, Err(UserError::new(problem)));
        }
    }

    fn were_captured(&self, conversation: &Conversation, number: u64, outcomes: Vec<Result<String, UserError>>) {
        let Some(finished) = conversation.captures().finish(number, outcomes) else { return };
        let finished = finished.map_err(|failed| {
            let (reference, problem) = *failed;
            UserError::new(format!("Not sent: line {}: {}: {problem}", reference.line + 1, reference.written))
        });
        self.captured(conversation, finished);
    }

    fn captured(&self, conversation: &Conversation, outcome: Result<(), UserError>) {
        self.post_for(conversation.id(), move |workspace, conversation| {
            workspace.feed(conversation, [Input::Captured(outcome)]);
        });
    }
}

/// What one reference means.
async fn outcome(
    target: CaptureTarget,
    view: Option<Result<EditorView, UserError>>,
    readable: &Readable,
    outputs: PathBuf,
) -> Result<String, UserError> {
    let lost = |_| UserError::new("it could not be read");
    match target {
        CaptureTarget::Lines { path, lines, literal } => {
            let folder = readable.folder.clone();
            let read = move || FileLines::read(&folder, &path, lines, &literal);
            let found = tokio::task::spawn_blocking(read).await.map_err(lost)??;
            Ok(captured_text::of_lines(&found))
        }
        CaptureTarget::Editor(EditorReference { subject: EditorSubject::Diff, path }) => {
            let view = view.unwrap_or_else(|| Ok(EditorView::default()))?;
            let path = path.map(|path| paths::resolve(&readable.folder, &path));
            let folder = match (&path, view.name) {
                (Some(path), _) if path.is_dir() => path.clone(),
                (Some(path), _) => path.parent().map_or_else(|| readable.folder.clone(), ToOwned::to_owned),
                (None, name) => match name.parent() {
                    Some(parent) if name.is_absolute() && parent.is_dir() => parent.to_owned(),
                    _ => readable.folder.clone(),
                },
            };
            let judge = readable.clone();
            let found = git_diff(folder, path, move |file| judge.allows(file), outputs).await?;
            Ok(captured_text::of_diff(&found))
        }
        CaptureTarget::Editor(EditorReference { subject, .. }) => {
            let view = view.unwrap_or_else(|| Err(UserError::new("the editor did not say what this means")))?;
            let readable = readable.clone();
            let write = move || captured_text::of_view(subject, &view, &readable);
            tokio::task::spawn_blocking(write).await.map_err(lost)?
        }
    }
}

impl Conversation {
    /// What is wrong with the text, with the files that it names, and with its references.
    pub(super) fn text_diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = self.page().diagnostics();
        if self.captures().has_problems() {
            found.extend(self.page().uncaptured().into_iter().filter_map(|reference| {
                let problem = self.captures().problem(&reference.written)?;
                let message = format!("{}: {problem}.", reference.written);
                Some(Diagnostic { line: reference.line, severity: Severity::Warning, message })
            }));
            found.sort_by_key(|diagnostic| diagnostic.line);
        }
        found
    }
}
