//! The files that a conversation names: which of them the user put there, and what became of them.
//!
//! What was named in the file when it was opened may be a stranger's. Those files are *unvetted* until it is known that
//! they may be sent: before the first send it is looked up where they lead, and the user is asked about those outside the
//! conversation's folder ([`crate::trust`]). What the user types here is theirs, and saving keeps it so.

use std::{
    collections::HashSet,
    ops::Range,
    path::{Path, PathBuf},
};

use flemma_chat::{Diagnostic, Document, NamedFile, Provenance, Reattribution, Severity, Text};
use flemma_model::AttachmentContent;
use flemma_provider::Request;
use flemma_runtime::SkippedFile;
use flemma_tools::builtin::ForeignFiles;

/// What is known of a conversation's files.
#[derive(Debug, Default)]
pub(crate) struct AttachedFiles {
    /// Those that were named when the file was opened or read anew, until it is known that they may be sent.
    found: HashSet<PathBuf>,
    /// Of those, the ones that may be sent: as long as relative paths start in `folder`, for elsewhere they are other files.
    vetted: HashSet<PathBuf>,
    folder: PathBuf,
    /// Where files outside the conversation's folder really are that the user has allowed to be sent.
    allowed: HashSet<PathBuf>,
    /// Those that were named since.
    typed: HashSet<PathBuf>,
    /// Of those, what the user's latest step of undo has added.
    fresh: (Option<u64>, Vec<PathBuf>),
    /// The references to what the editor shows that the user has allowed, although others may have written them.
    pub(crate) allowed_references: HashSet<String>,
    /// What the last request left out.
    pub(crate) left_out: Vec<SkippedFile>,
}

impl AttachedFiles {
    /// The text was read anew.
    pub(crate) fn forget(&mut self) {
        self.found.clear();
        self.vetted.clear();
        self.typed.clear();
        self.allowed.clear();
        self.allowed_references.clear();
    }

    /// Lines of a file that is being opened.
    pub(crate) fn find(&mut self, document: &Document, lines: Range<usize>, text: &dyn Text) {
        self.found.extend(flemma_chat::files(document, lines, text).into_iter().map(|file| file.path));
    }

    /// The lines `changed` were written just now, and all of `lines` may mean something else: a fence that was taken away
    /// makes references of what stood in it.
    pub(crate) fn follow(
        &mut self,
        document: &Document,
        provenance: &Provenance,
        changed: &Range<usize>,
        lines: &Range<usize>,
        text: &dyn Text,
    ) {
        let step = provenance.step();
        if self.fresh.0 != step {
            self.fresh = (step, Vec::new());
        }
        let all = lines.start.min(changed.start)..lines.end.max(changed.end);
        for NamedFile { line, path, .. } in flemma_chat::files(document, all, text) {
            if changed.contains(&line) && provenance.is_by_user(line..line + 1) {
                if self.typed.insert(path.clone()) {
                    self.fresh.1.push(path);
                }
            } else if !self.typed.contains(&path) && !self.vetted.contains(&path) {
                self.found.insert(path);
            }
        }
    }

    /// Flemma has written to these lines: the files in them are what its tools have read. A file that a stranger has named
    /// stays that: a reply is put behind the text that stands in its first line.
    pub(crate) fn written(&mut self, document: &Document, lines: Range<usize>, text: &dyn Text) {
        let named = flemma_chat::files(document, lines, text).into_iter().map(|file| file.path);
        let own = named.filter(|path| !self.found.contains(path) && !self.vetted.contains(path));
        self.typed.extend(own);
    }

    /// Lines were not typed after all: they came back by undo, or were read in.
    pub(crate) fn undone(
        &mut self,
        document: &Document,
        provenance: &Provenance,
        doubt: Reattribution,
        text: &dyn Text,
    ) {
        if doubt.touched.is_empty() {
            return;
        }
        let (_, fresh) = std::mem::take(&mut self.fresh);
        // Where the user has put no file there in this step, no other line can name one that has lost its author.
        let lines = if fresh.is_empty() { doubt.lost } else { doubt.touched };
        for path in fresh {
            self.typed.remove(&path);
        }
        for lines in lines {
            self.follow(document, provenance, &(0..0), &lines, text);
        }
    }

    /// The latest changes are over, and were neither undo nor read in.
    pub(crate) fn settle(&mut self) {
        self.fresh = (None, Vec::new());
    }

    /// Whether [`AttachedFiles::settle`] has anything to do.
    pub(crate) fn is_unsettled(&self) -> bool {
        !self.fresh.1.is_empty()
    }

    /// Whether no file is unvetted.
    pub(crate) fn is_vetted(&self) -> bool {
        self.found.is_empty()
    }

    /// The unvetted files among those that the document names now. Those that it no longer names are forgotten if there
    /// is none.
    pub(crate) fn unvetted(&mut self, named: &[NamedFile]) -> Vec<PathBuf> {
        let unvetted: Vec<_> =
            named.iter().filter(|file| self.found.contains(&file.path)).map(|file| file.path.clone()).collect();
        if unvetted.is_empty() {
            self.found.clear();
        }
        unvetted
    }

    /// These files may be sent, where relative paths start in `folder`.
    pub(crate) fn vet(&mut self, files: &[PathBuf], folder: &Path) {
        self.start_in(folder);
        self.vetted.extend(self.found.extract_if(|file| files.contains(file)));
    }

    /// These files outside the conversation's folder may be sent. Their links are resolved.
    pub(crate) fn allow(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.allowed.extend(files);
    }

    /// The files that the user has not named, and where those may lead.
    pub(crate) fn foreign(&self) -> ForeignFiles {
        let vetted = self.vetted.iter().filter(|file| !self.typed.contains(*file));
        ForeignFiles { named: self.found.iter().chain(vetted).cloned().collect(), allowed: self.allowed.clone() }
    }

    /// Relative paths start in this folder now. Those that were vetted from another one have to be vetted again.
    pub(crate) fn start_in(&mut self, folder: &Path) {
        if self.folder != folder {
            folder.clone_into(&mut self.folder);
            self.found.extend(self.vetted.extract_if(|file| file.is_relative()));
        }
    }

    /// The files that the user has put there, among those that the document names now.
    pub(crate) fn own(&self, named: &[NamedFile]) -> Vec<PathBuf> {
        let is_own = |path: &PathBuf| self.typed.contains(path) && !self.found.contains(path);
        named.iter().map(|file| file.path.clone()).filter(is_own).collect()
    }

    /// Whether the user has put any file there.
    pub(crate) fn has_own(&self) -> bool {
        self.typed.difference(&self.found).next().is_some()
    }

    /// Whether a file is unvetted, so that a request leaves it out, where relative paths start in `folder`.
    pub(crate) fn is_withheld(&mut self, file: &Path, folder: &Path) -> bool {
        self.start_in(folder);
        self.found.contains(file)
    }

    /// Takes unvetted files out of a request, whose relative paths start in `folder`. The user is asked before it comes to
    /// that; this is a second check.
    pub(crate) fn withhold(&mut self, request: &mut Request, folder: &Path) {
        self.start_in(folder);
        if self.found.is_empty() {
            return;
        }
        for (_, attachment) in request.attachments_mut().filter(|(_, attachment)| self.found.contains(&attachment.path))
        {
            let why = "it was named in the file before you opened it, and you have not allowed it to be sent";
            attachment.content = AttachmentContent::LeftOut(why.to_owned());
        }
    }

    /// Keeps what a request left out; says whether that has changed.
    pub(crate) fn leave_out(&mut self, left_out: Vec<SkippedFile>) -> bool {
        let has_changed = self.left_out != left_out;
        self.left_out = left_out;
        has_changed
    }

    /// What the last request left out, line by line.
    pub(crate) fn diagnostics(&self, document: &Document, text: &dyn Text) -> Vec<Diagnostic> {
        if self.left_out.is_empty() {
            return Vec::new();
        }
        let tell = |file: NamedFile| {
            let SkippedFile { path, why } = self.left_out.iter().find(|left_out| left_out.path == file.path)?;
            let message = format!("{} is not shown to the model: {why}.", path.display());
            Some(Diagnostic { line: file.line, severity: Severity::Warning, message })
        };
        // Lines of a file are captured, and not read for each request.
        let files = flemma_chat::files(document, 0..text.line_count(), text).into_iter();
        files.filter(|file| !file.has_lines).filter_map(tell).collect()
    }
}
