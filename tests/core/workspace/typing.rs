//! What the user types, and how the file is written and read.

use std::{ops::Range, path::PathBuf};

use super::harness::Harness;
use crate::notation::screen;

impl Harness {
    #[track_caller]
    fn change(&self, changes: impl IntoIterator<Item = (Range<usize>, Vec<String>)>) {
        assert!(!self.buffer().is_locked.get(), "the buffer is locked");
        assert!(!self.buffer().is_observed.get(), "the buffer is read-only");
        self.host.edit(self.current(), changes);
        self.settle();
    }

    /// Inserts lines above `line`, in one step of undo.
    #[track_caller]
    pub fn type_at(&self, line: usize, text: &str) {
        self.change([(line..line, screen(text))]);
    }

    /// Adds lines at the end.
    #[track_caller]
    pub fn type_below(&self, text: &str) {
        self.type_at(self.buffer().lines().len(), text);
    }

    /// Deletes lines.
    #[track_caller]
    pub fn delete(&self, lines: Range<usize>) {
        self.change([(lines, Vec::new())]);
    }

    /// `:move`: deletes lines, and puts them above `line` of the rest, in one step of undo.
    #[track_caller]
    pub fn move_lines(&self, lines: Range<usize>, line: usize) {
        let moved = self.buffer().lines()[lines.clone()].to_vec();
        self.change([(lines, Vec::new()), (line..line, moved)]);
    }

    /// `:substitute`: replaces the one place where `old` stands. Each line is a change of its own.
    #[track_caller]
    pub fn replace(&self, old: &str, new: &str) {
        let lines = self.buffer().lines();
        let found: Vec<_> = (0..lines.len()).filter(|line| lines[*line].contains(old)).collect();
        let [line] = found[..] else { panic!("`{old}` stands in the lines {found:?} of\n{}", lines.join("\n")) };
        self.replace_line(line, &lines[line].replace(old, new));
    }

    /// Puts other words into a line, as `cc` does.
    #[track_caller]
    pub fn replace_line(&self, line: usize, words: &str) {
        self.change([(line..line + 1, vec![words.to_owned()])]);
    }

    /// `:read`: lines of another file come in above `line`.
    #[track_caller]
    pub fn read_in(&self, line: usize, text: &str) {
        assert!(!self.buffer().is_locked.get(), "the buffer is locked");
        self.host.read_in(self.current(), line, screen(text));
        self.settle();
    }

    #[track_caller]
    pub fn undo(&self) {
        assert!(self.host.undo(self.current()), "there is a step to undo");
        self.settle();
    }

    #[track_caller]
    pub fn redo(&self) {
        assert!(self.host.redo(self.current()), "there is a step to redo");
        self.settle();
    }

    /// `:checktime`: the file has this text now, and is read anew.
    pub fn reload(&self, text: &str) {
        self.buffer().load(screen(text));
        while self.workspace.reloaded(self.current()) {}
        self.settle();
    }

    /// `:write`, under this name. Another name than the buffer's makes a copy.
    pub fn write_to(&self, name: &str) {
        self.put(name, self.buffer().lines().join("\n") + "\n");
        let path = self.work(name);
        self.workspace.saving.saved(self.current(), path.to_str().unwrap().to_owned());
        if *self.buffer().file.borrow() == path.to_str().unwrap() {
            self.buffer().is_modified.set(false);
            self.workspace.saving.on_disk(self.current(), &path);
        }
    }

    /// `:write`.
    pub fn write(&self) {
        let path = PathBuf::from(&*self.buffer().file.borrow());
        self.write_to(path.strip_prefix(self.root().join("work")).unwrap().to_str().unwrap());
    }

    /// `:saveas`.
    pub fn save_as(&self, name: &str) {
        *self.buffer().file.borrow_mut() = self.work(name).to_str().unwrap().to_owned();
        self.write_to(name);
    }
}
