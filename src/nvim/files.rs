//! The files that a conversation names: which of them the user put there, and what became of them.
//!
//! What was named in the file when it was opened may be a stranger's doing. Before the first send it is looked where those
//! files lead ([`crate::runtime::external_paths()`], away from the main thread); the user is asked about those outside the
//! conversation's folder that they have not let it show before, and the key that they pressed waits for the answer. What
//! they typed here is theirs, and saving keeps it so.

use std::{cell::RefCell, collections::HashSet, ops::Range, path::PathBuf, rc::Rc, sync::Arc};

use super::{conversation::Conversation, editor::Editor, shell::folder_of, trust::Answer};
use crate::{
    agent::{Input, Level},
    chat::{Diagnostic, Document, NamedFile, Provenance, Reattribution, Severity, Text},
    model::AttachmentContent,
    provider::Request,
    runtime::{ConversationId, ExternalFile, ExternalPaths, LeftOut, Notice, Purpose, Report, external_paths, trust},
};

/// What is known of a conversation's files.
#[derive(Default)]
pub(super) struct Files {
    /// Those that were named when the file was opened or read anew, until it is known that they may be sent.
    found: RefCell<HashSet<PathBuf>>,
    /// Those that were named since.
    typed: RefCell<HashSet<PathBuf>>,
    /// Of those, what the user's latest step of undo has added.
    fresh: RefCell<(Option<u64>, Vec<PathBuf>)>,
    /// What the user wants once it is known where the found ones lead, and which of them are looked at.
    wanted: RefCell<Option<(Input, Vec<PathBuf>)>>,
    /// Those that the user is asked about.
    asked: RefCell<Vec<ExternalFile>>,
    /// What the last request left out.
    left_out: RefCell<Vec<LeftOut>>,
}

impl Files {
    /// The buffer was read anew.
    pub(super) fn forget(&self) {
        self.found.borrow_mut().clear();
        self.typed.borrow_mut().clear();
    }

    /// Lines of a file that is being opened.
    pub(super) fn find(&self, document: &Document, lines: Range<usize>, text: &dyn Text) {
        self.found.borrow_mut().extend(document.files(lines, text).into_iter().map(|file| file.path));
    }

    /// The lines `changed` were written just now, and all of `lines` may mean something else: a fence that was taken away
    /// makes references of what stood in it.
    pub(super) fn follow(
        &self,
        document: &Document,
        provenance: &Provenance,
        changed: &Range<usize>,
        lines: &Range<usize>,
        text: &dyn Text,
    ) {
        let step = provenance.step();
        let mut fresh = self.fresh.borrow_mut();
        if fresh.0 != step {
            *fresh = (step, Vec::new());
        }
        let all = lines.start.min(changed.start)..lines.end.max(changed.end);
        for NamedFile { line, path, .. } in document.files(all, text) {
            if changed.contains(&line) && provenance.is_by_user(line..line + 1) {
                if self.typed.borrow_mut().insert(path.clone()) {
                    fresh.1.push(path);
                }
            } else if !self.typed.borrow().contains(&path) {
                self.found.borrow_mut().insert(path);
            }
        }
    }

    /// Flemma has written these lines: the files in them are what its tools have read.
    pub(super) fn written(&self, document: &Document, lines: Range<usize>, text: &dyn Text) {
        self.typed.borrow_mut().extend(document.files(lines, text).into_iter().map(|file| file.path));
    }

    /// Lines were not typed after all: they came back by undo, or were read in.
    pub(super) fn undone(&self, document: &Document, provenance: &Provenance, doubt: Reattribution, text: &dyn Text) {
        if doubt.touched.is_empty() {
            return;
        }
        let fresh = self.fresh.take().1;
        // Where the user has put no file there in this step, no other line can name one that has lost its author.
        let lines = if fresh.is_empty() { doubt.lost } else { doubt.touched };
        for path in fresh {
            self.typed.borrow_mut().remove(&path);
        }
        for lines in lines {
            self.follow(document, provenance, &(0..0), &lines, text);
        }
    }

    /// The latest changes are over, and were neither undo nor read in.
    pub(super) fn settle(&self) {
        self.fresh.take();
    }

    /// Whether [`Files::settle`] has anything to do.
    pub(super) fn is_unsettled(&self) -> bool {
        !self.fresh.borrow().1.is_empty()
    }

    /// Takes out of a request what nobody has let it send. The user is asked before it comes to that; this is the second
    /// lock on the same door.
    pub(super) fn withhold(&self, request: &mut Request) {
        let found = self.found.borrow();
        if found.is_empty() {
            return;
        }
        for (_, attachment) in request.attachments_mut().filter(|(_, attachment)| found.contains(&attachment.path)) {
            let why = "it was named in the file before you opened it, and you have not said that it may be sent";
            attachment.content = AttachmentContent::LeftOut(why.to_owned());
        }
    }

    /// A request goes out: what the last one left out is no longer of interest.
    pub(super) fn begin(&self) {
        self.left_out.borrow_mut().clear();
    }

    /// What the last request left out, line by line.
    pub(super) fn diagnostics(&self, document: &Document, text: &dyn Text) -> Vec<Diagnostic> {
        let left_out = self.left_out.borrow();
        if left_out.is_empty() {
            return Vec::new();
        }
        let tell = |file: NamedFile| {
            let LeftOut { path, why } = left_out.iter().find(|left_out| left_out.path == file.path)?;
            let message = format!("{} is not shown to the model: {why}.", path.display());
            Some(Diagnostic { line: file.line, severity: Severity::Warning, message })
        };
        document.files(0..text.line_count(), text).into_iter().filter_map(tell).collect()
    }
}

impl Conversation {
    /// The user wants something of this conversation, whose frontmatter is trusted. If it names files that may not be
    /// theirs to show, they are asked first.
    pub(super) fn want_with_files(self: &Rc<Self>, editor: &Editor, input: Input) {
        if self.session.is_busy() || self.files.found.borrow().is_empty() {
            return self.feed(editor, [input]);
        }
        if editor.trusted.borrow().is_none() {
            // Comes back when it was read.
            editor.read_trusted();
            *self.wanted.borrow_mut() = Some(input);
            return;
        }
        let named = self.named_in(&self.files.found.borrow());
        if named.is_empty() {
            self.files.found.borrow_mut().clear();
            return self.feed(editor, [input]);
        }
        *self.files.wanted.borrow_mut() = Some((input, named.clone()));
        self.look_where(editor, Purpose::Sending, named);
    }

    /// The files among `these` that the document names now.
    fn named_in(&self, these: &HashSet<PathBuf>) -> Vec<PathBuf> {
        let named = self.with_document(|document, text| document.files(0..text.line_count(), text));
        named.into_iter().map(|file| file.path).filter(|path| these.contains(path)).collect()
    }

    /// Looks where files lead, away from the main thread.
    fn look_where(&self, editor: &Editor, purpose: Purpose, named: Vec<PathBuf>) {
        let (file, cwd) = editor.host.place(self.buffer);
        let file = if let Purpose::Saved(path) = &purpose { path.clone() } else { file };
        let folder = folder_of(&file).unwrap_or_else(|| PathBuf::from(cwd));
        let (queue, conversation): (_, ConversationId) = (Arc::clone(editor.worker.queue()), self.id);
        let look = move || {
            queue.push(Notice { conversation, report: Report::ExternalPaths(external_paths(purpose, named, &folder)) })
        };
        match editor.worker.handle() {
            Ok(threads) => drop(threads.spawn_blocking(look)),
            Err(error) => editor.log(Level::Warn, &format!("nobody could look where files lead: {error}")),
        }
    }

    /// It is known where files lead.
    pub(super) fn files_were_looked_at(self: &Rc<Self>, editor: &Editor, outside: ExternalPaths) {
        let ExternalPaths { purpose, files } = outside;
        if let Purpose::Saved(path) = purpose {
            return files.into_iter().for_each(|file| editor.keep_trusted_file(&path, file.real));
        }
        let Some((input, named)) = self.files.wanted.take() else { return };
        let path = editor.host.place(self.buffer).0;
        let is_trusted = |file: &ExternalFile| {
            editor.trusted.borrow().as_ref().is_some_and(|trusted| trusted.contains_file(&path, &file.real))
        };
        let unknown: Vec<_> = files.into_iter().filter(|file| !is_trusted(file)).collect();
        if unknown.is_empty() {
            self.files.found.borrow_mut().retain(|file| !named.contains(file));
            return self.feed(editor, [input]);
        }
        let places = self.with_document(|document, text| document.files(0..text.line_count(), text));
        let first = places.iter().find(|place| unknown.iter().any(|file| file.named == place.path));
        let line = first.map_or(0, |place| place.line);
        let mut shown: Vec<_> = unknown.iter().map(|file| file.real.to_string_lossy().into_owned()).collect();
        shown.dedup();
        *self.files.wanted.borrow_mut() = Some((input, named));
        *self.files.asked.borrow_mut() = unknown;
        editor.host.ask_files(self.buffer, shown, line);
    }

    /// The user has answered.
    pub(super) fn answer_files(self: &Rc<Self>, editor: &Editor, answer: Answer) {
        let (wanted, asked) = (self.files.wanted.take(), self.files.asked.take());
        let Some((input, named)) = wanted.filter(|_| answer == Answer::Trust) else { return };
        let path = editor.host.place(self.buffer).0;
        asked.into_iter().for_each(|file| editor.keep_trusted_file(&path, file.real));
        self.files.found.borrow_mut().retain(|file| !named.contains(file));
        self.feed(editor, [input]);
    }

    /// The conversation was saved under this path: the files that the user has put into it are theirs from now on.
    pub(super) fn keep_files(&self, editor: &Editor, path: String) {
        let mine: HashSet<_> = self.files.typed.borrow().difference(&self.files.found.borrow()).cloned().collect();
        if path.is_empty() || mine.is_empty() {
            return;
        }
        let named = self.named_in(&mine);
        if !named.is_empty() {
            self.look_where(editor, Purpose::Saved(path), named);
        }
    }

    /// The files of the request that is on its way were read.
    pub(super) fn files_were_read(&self, editor: &Editor, left_out: Vec<LeftOut>) {
        let before = self.files.left_out.replace(left_out);
        if before != *self.files.left_out.borrow() {
            self.diagnose(editor);
        }
    }
}

impl Editor {
    /// Lets a conversation show a file from now on, in later sessions too.
    fn keep_trusted_file(&self, path: &str, file: PathBuf) {
        let is_news = self.trusted.borrow_mut().as_mut().is_none_or(|trusted| trusted.insert_file(path, &file));
        if path.is_empty() || !is_news {
            return;
        }
        let (store, log, path) = (self.trust_store.clone(), self.log_handle(), path.to_owned());
        let keep = move || {
            if let Err(error) = trust::append_file(&store, &path, &file) {
                log.warn(&format!("{} could not be written: {error}", store.display()));
            }
        };
        match self.worker.handle() {
            Ok(threads) => drop(threads.spawn_blocking(keep)),
            Err(error) => self.log(Level::Warn, &format!("what you trust could not be kept: {error}")),
        }
    }
}
