//! Capturing references: what `@diff` or `@./a.rs#L10-L20` in the user's message means is found out when the message is sent, and
//! written below the reference ([`flemma_chat::write_captures`]).
//!
//! The session asks for it before a request (`capture`). The host is asked what the editor shows ([`HostEffect::Look`]); its
//! answer comes back by [`References::looked`](crate::components::References::looked). Files and git are read on threads that may wait, and there every name is
//! judged by what the user denies reading and the agents permit. Then the session goes on, or nothing is sent.
//!
//! References that came with the file are asked about by the trust gate, as files are. What slips past it, because the
//! conversation went on by itself, is not captured.

pub(crate) mod attached_files;
pub(crate) mod captured_diff;
pub(crate) mod captured_text;
pub(crate) mod captures;
pub(crate) mod file_hints;
pub(crate) mod from_code;

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use crate::{
    Conversation, HostEffect,
    components::References,
    references::captured_text::{CapturedText, EditorView, Found, LookedUp, Outcome},
};
use flemma_agent::{Input, Level, RequestId};
use flemma_chat::{CaptureTarget, EditorReference, EditorSubject, LineRange, Uncaptured};
use flemma_model::UserError;
use flemma_provider::{ErrorKind, ProviderError};
use flemma_runtime::{FileLines, SkippedFile, git_diff, is_there};
use flemma_tools::{
    builtin::{Readable, Unread},
    paths,
};

impl References {
    /// Finds out what the references in the user's message mean.
    pub(crate) fn capture(&self, conversation: &Conversation) {
        if let Some((line, written)) = conversation.unvetted_references().into_iter().next() {
            self.shared.host.perform(HostEffect::Unfold { buffer: conversation.buffer, line });
            let problem = format!(
                "Not sent: line {}: `{written}` was in the file before you opened it, and you have not allowed it to be sent.",
                line + 1
            );
            let problem = UserError::new(problem).with_advice("Press Ctrl-] to be asked.");
            let number = conversation.captures.begin(Vec::new());
            return self.captured(conversation, number, Err(problem));
        }
        let wanted = conversation.page.uncaptured();
        let folder = self.shared.place(conversation).folder();
        let looked_up: Vec<LookedUp> = wanted
            .iter()
            .filter_map(|reference| match &reference.target {
                CaptureTarget::Editor(EditorReference { subject, path }) => {
                    Some((*subject, path.as_ref().map(|path| paths::plain(&paths::resolve(&folder, path)))))
                }
                CaptureTarget::Lines { .. } | CaptureTarget::Misspelt { .. } => None,
            })
            .collect();
        let number = conversation.captures.begin(wanted);
        if looked_up.is_empty() {
            self.looked_at(conversation, number, Vec::new());
        } else if self.shared.host.is_editor() {
            let buffer = conversation.buffer;
            self.shared.host.perform(HostEffect::Look { buffer, number, references: &looked_up });
        } else {
            let problem = || Err(UserError::new("this reference needs an editor, and there is none here"));
            self.looked_at(conversation, number, looked_up.iter().map(|_| problem()).collect());
        }
    }

    /// The host has looked up the references to the editor ([`HostEffect::Look`]), in their order.
    pub fn looked(&self, buffer: i32, number: u64, views: Vec<Found>) {
        if let Some(conversation) = self.shared.conversation(buffer) {
            self.looked_at(&conversation, number, views);
        }
    }

    fn looked_at(&self, conversation: &Conversation, number: u64, views: Vec<Found>) {
        let Some(wanted) = conversation.captures.wanted(number) else { return };
        let readable = self.permissions.readable(conversation);
        let is_diff = |reference: &Uncaptured| {
            matches!(&reference.target, CaptureTarget::Editor(EditorReference { subject: EditorSubject::Diff, .. }))
        };
        let mut unsaved = if wanted.iter().any(is_diff) { self.shared.host.unsaved_files() } else { Vec::new() };
        if !unsaved.is_empty() {
            // Nobody's differences are about what they are asking.
            let conversations = self.shared.host.open_conversations();
            unsaved.retain(|file| !conversations.contains(file));
        }
        let (mailbox, id) = (self.background.mailbox.clone(), conversation.id);
        let judged = self.permissions.judged_files(conversation);
        let task = async move {
            let judge = readable.clone();
            let refused = spawn(move || refused(judged, &judge)).await.unwrap_or_default();
            if !refused.is_empty() {
                return mailbox.job_for(id, move |this: &Self, conversation| {
                    this.were_refused(conversation, number, refused);
                });
            }
            let mut views = views.into_iter();
            let mut outcomes = Vec::new();
            for Uncaptured { target, .. } in wanted {
                let view = match &target {
                    CaptureTarget::Editor(_) => views.next(),
                    CaptureTarget::Lines { .. } | CaptureTarget::Misspelt { .. } => None,
                };
                outcomes.push(match target {
                    CaptureTarget::Editor(EditorReference { subject: EditorSubject::Diff, path }) => {
                        diff(path, view, &readable, &unsaved).await.map(Some)
                    }
                    target => outcome(target, view, &readable).await,
                });
            }
            mailbox.job_for(id, move |this: &Self, conversation| {
                this.were_captured(conversation, number, outcomes);
            });
        };
        if let Err(error) = self.background.worker.spawn(task) {
            let problem = format!("Not sent: the references in the message could not be read ({error})");
            self.captured(conversation, number, Err(UserError::new(problem)));
        }
    }

    fn were_captured(&self, conversation: &Conversation, number: u64, outcomes: Vec<Outcome>) {
        let Some(finished) = conversation.captures.finish(number, outcomes) else { return };
        let finished = finished.map_err(|failed| {
            let (reference, problem) = *failed;
            self.shared.host.perform(HostEffect::Unfold { buffer: conversation.buffer, line: reference.line });
            UserError::new(format!("Not sent: line {}: {}: {problem}", reference.line + 1, reference.written))
        });
        for (line, words) in finished.iter().flatten() {
            let words = format!("line {}: {words}", line + 1);
            self.shared.host.notify(Level::Warn, &self.shared.with_name(conversation, &words));
        }
        self.captured(conversation, number, finished.map(|_| ()));
    }

    /// Nothing is sent, because the user's text refers to these files, which may not be shown.
    fn were_refused(&self, conversation: &Conversation, number: u64, files: Vec<SkippedFile>) {
        if conversation.captures.wanted(number).is_some() {
            let problem = UserError::new(refusal(conversation, &files));
            conversation.page.files().leave_out(files);
            self.captured(conversation, number, Err(problem));
        }
    }

    /// The same of a request that was on its way: something has changed since the files were judged.
    pub(crate) fn files_were_refused(&self, conversation: &Conversation, request: RequestId, files: &[SkippedFile]) {
        let error = ProviderError::new(ErrorKind::InvalidRequest, refusal(conversation, files));
        self.background.post_for(conversation.id, move |this, conversation| {
            this.shared.feed(conversation, [Input::Failed { request, error, jitter: 0.0 }]);
        });
    }

    /// Tells the session, unless it has been asked for something else since.
    fn captured(&self, conversation: &Conversation, number: u64, outcome: Result<(), UserError>) {
        self.background.post_for(conversation.id, move |this, conversation| {
            if conversation.captures.wanted(number).is_some() {
                this.shared.feed(conversation, [Input::Captured(outcome)]);
            }
        });
    }
}

/// The files of these that may not be shown. It blocks on the disk.
fn refused(files: Vec<PathBuf>, readable: &Readable) -> Vec<SkippedFile> {
    let why = |path: &Path| match readable.open(path) {
        Err(Unread::Refused(problem)) => Some(problem.to_string()),
        Ok(_) | Err(Unread::Failed(_)) => None,
    };
    files.into_iter().filter_map(|path| why(&path).map(|why| SkippedFile { path, why })).collect()
}

/// What the user is told when these files are refused: the first reference to one of them, and why.
fn refusal(conversation: &Conversation, files: &[SkippedFile]) -> String {
    let page = &conversation.page;
    let refused = |path: &Path| files.iter().find(|file| file.path == path);
    let found = page.named_files().into_iter().filter(|named| !named.has_lines).find_map(|named| {
        let why = &refused(&named.path)?.why;
        let line = page.text().line(named.line);
        let written = named.columns.clone().and_then(|columns| line.get(columns));
        let written = written.map_or_else(|| named.path.to_string_lossy(), Cow::Borrowed);
        Some(format!("Not sent: line {}: {written}: {why}", named.line + 1))
    });
    found.unwrap_or_else(|| "Not sent: a file may not be shown".to_owned())
}

/// What one reference means, other than to differences; `None` for a file that is attached.
async fn outcome(target: CaptureTarget, view: Option<Found>, readable: &Readable) -> Outcome {
    let readable = readable.clone();
    let find = move || match target {
        CaptureTarget::Lines { path, lines, literal } => {
            let found = FileLines::read(&readable, &path, lines, &literal)?;
            Ok(Some(captured_text::of_lines(&found, readable.is_unsaved(&found.path))))
        }
        CaptureTarget::Misspelt { literal, part } => {
            if is_there(&readable, &literal) {
                return Ok(None);
            }
            let right = LineRange::respelt(&part);
            Err(UserError::new(format!("there is no such file, and `{part}` names no lines. Write `{right}`")))
        }
        CaptureTarget::Editor(EditorReference { subject, .. }) => {
            let view = view.unwrap_or_else(|| Err(UserError::new("the editor did not resolve this reference")))?;
            captured_text::of_view(subject, &view, &readable)
        }
    };
    spawn(find).await?
}

/// What a reference to differences means: in the working tree of `path`, of the file that the user came from, or of the conversation.
async fn diff(
    path: Option<PathBuf>,
    view: Option<Found>,
    readable: &Readable,
    unsaved: &[PathBuf],
) -> Result<CapturedText, UserError> {
    let view = view.unwrap_or_else(|| Ok(EditorView::default()))?;
    let (judge, home, named) = (readable.clone(), readable.folder().to_owned(), path);
    let path = named.as_ref().map(|path| paths::resolve(&home, path));
    let place = move || {
        if let (Some(named), Some(path)) = (named, &path)
            && !path.is_dir()
            && let Some(problem) = judge.problem(&named)
        {
            return Err(problem);
        }
        let folder = match &path {
            Some(path) => path.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned),
            None => view.name.parent().filter(|folder| folder.is_absolute() && folder.is_dir()).map(Path::to_owned),
        };
        Ok((folder.unwrap_or(home), path))
    };
    let (folder, path) = spawn(place).await??;
    let judge = readable.clone();
    let found = git_diff(folder, path.clone(), move |file| judge.problem(file).is_none()).await?;
    let (judge, unsaved) = (readable.clone(), unsaved.to_vec());
    spawn(move || {
        let (root, path) = (paths::real(&found.root), path.map(|path| paths::real(&path)));
        // Those that the diff would be about.
        let is_concerned = |file: &PathBuf| file.starts_with(path.as_ref().unwrap_or(&root)) && file.starts_with(&root);
        let unsaved = unsaved.iter().filter(|file| judge.problem(file).is_none()).map(|file| paths::real(file));
        captured_diff::of_diff(&found, &unsaved.filter(is_concerned).collect::<Vec<_>>())
    })
    .await
}

/// Does something that may wait for the disk.
async fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, UserError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| UserError::new("it could not be read"))
}
