//! What is read from a page.

use std::{
    collections::HashSet,
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{
    page::{MOST_REFERENCES, Page, answered},
    trust::FrontmatterCode,
};
use flemma_chat::{BareName, Diagnostic, NamedFile, OpenCall, Speaker, Uncaptured};
use flemma_journal::CallKey;
use flemma_model::CallId;

impl Page {
    /// Whether the status in a call's block was written in this session, by the user or after a decision.
    pub(crate) fn is_authorised(&self, call: &OpenCall) -> bool {
        call.placeholder.as_ref().is_some_and(|placeholder| self.provenance.borrow().is_authorised(placeholder.fence))
    }

    /// The frontmatter, if there is any that is complete.
    pub(crate) fn frontmatter(&self) -> Option<FrontmatterCode> {
        self.with_document(|document, text| FrontmatterCode::of(document, text))
    }

    /// Every file that the text names, in order.
    pub(crate) fn named_files(&self) -> Vec<NamedFile> {
        self.with_document(|document, text| flemma_chat::files(document, 0..text.line_count(), text))
    }

    /// The references in what the user wrote last that are not captured yet.
    pub(crate) fn uncaptured(&self) -> Vec<Uncaptured> {
        self.with_document(|document, text| flemma_chat::uncaptured(document, text))
    }

    /// The files that the text names and that may not be the user's to show. Relative paths start in `folder`.
    pub(crate) fn unvetted(&self, folder: &Path) -> Vec<PathBuf> {
        self.files.borrow_mut().start_in(folder);
        if self.files.borrow().is_vetted() {
            return Vec::new();
        }
        let named = self.named_files();
        self.files.borrow_mut().unvetted(&named)
    }

    /// What is wrong with the text, and with the files that it names.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.with_document(|document, text| {
            let mut found = flemma_chat::diagnostics(document, text);
            found.extend(flemma_chat::unsent(document.messages(), text));
            found.extend(self.files.borrow().diagnostics(document, text));
            found.sort_by_key(|diagnostic| diagnostic.line);
            found
        })
    }

    /// The open calls whose blocks these lines touch, in their order.
    pub(crate) fn calls_in(&self, lines: Range<usize>) -> Vec<CallId> {
        self.with_document(|document, text| {
            let lines = lines.start..lines.end.min(text.line_count());
            let touched: HashSet<CallId> =
                flemma_chat::cards(document, lines).into_iter().map(|card| card.id).collect();
            let open = document.calls().states().into_iter();
            open.filter(|(id, _)| touched.contains(id)).map(|(id, _)| id.clone()).collect()
        })
    }

    /// The call whose use or result this line belongs to.
    pub fn call_at(&self, line: usize) -> Option<CallId> {
        self.with_document(|document, _| document.calls().at(line).cloned())
    }

    /// The ids of all calls, with or without a result.
    pub(crate) fn call_ids(&self) -> HashSet<CallId> {
        self.with_document(|document, _| document.calls().uses().map(|call| call.id.clone()).collect())
    }

    /// How many calls with this key have a result here.
    pub(crate) fn answered(&self, key: &CallKey) -> usize {
        self.with_document(|document, text| answered(document, text, key))
    }

    /// The open calls, in their order.
    pub(crate) fn open_calls(&self) -> Vec<OpenCall> {
        self.with_document(|document, text| document.calls().open(text))
    }

    /// The last open call with this id.
    pub(crate) fn open_call(&self, id: &CallId) -> Option<OpenCall> {
        self.with_document(|document, text| document.calls().find(id, text))
    }

    /// The ids of the open calls, in their order.
    pub fn open_ids(&self) -> Vec<CallId> {
        self.with_document(|document, _| document.calls().states().into_iter().map(|(id, _)| id.clone()).collect())
    }

    /// The line of the next or the previous message's marker.
    pub fn message_from(&self, line: usize, is_forward: bool) -> Option<usize> {
        self.with_document(|document, _| {
            let mut starts = document.messages().iter().map(|message| message.start);
            if is_forward {
                starts.find(|start| *start > line)
            } else {
                starts.take_while(|start| *start < line).last()
            }
        })
    }

    /// The line of the last marker of a speaker.
    pub(crate) fn last_marker(&self, role: Speaker) -> Option<usize> {
        let document = self.document.borrow();
        document.messages().iter().rev().find(|message| message.role == role).map(|message| message.start)
    }

    /// The references in these lines, as far as they are parsed: the line of each, and its range in the line in bytes.
    pub fn references(&self, lines: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let document = self.document.borrow();
        let known = document.line_count();
        let lines = lines.start.min(known)..lines.end.min(known);
        let mut found = flemma_chat::editor_references(&document, &lines, self.text());
        let files = flemma_chat::files(&document, lines, self.text());
        found.extend(files.into_iter().filter_map(|file| Some((file.line, file.columns?))));
        found.truncate(MOST_REFERENCES);
        found
    }

    /// The words in these lines that may be files which the user wants to attach, as far as they are parsed.
    pub(crate) fn bare_names(&self, lines: Range<usize>) -> Vec<BareName> {
        let document = self.document.borrow();
        let known = document.line_count();
        flemma_chat::bare_names(&document, &(lines.start.min(known)..lines.end.min(known)), self.text())
    }

    /// The number of lines that are parsed.
    pub fn parsed(&self) -> usize {
        self.document.borrow().line_count()
    }

    /// For each line, whether the user wrote it in this session: for tests.
    pub fn own_lines(&self) -> Vec<bool> {
        let count = self.with_document(|_, text| text.line_count());
        (0..count).map(|line| self.is_by_user(line..line + 1)).collect()
    }
}
