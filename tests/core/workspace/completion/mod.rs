//! Completion: what is offered at the cursor of a conversation.
//!
//! In a text, `¦` is the cursor.

mod files;
mod json;
mod lua;
mod words;

use std::sync::{Arc, Mutex};

use flemma_workspace::{Completion, Item};

use super::harness::{Harness, Setup};
use crate::notation::screen;

/// What was offered.
#[derive(Debug)]
pub struct Offer {
    /// The line that the cursor is in.
    line: String,
    column: usize,
    found: Option<Completion>,
}

impl Offer {
    /// The words that are put into the line, in order.
    fn words(&self) -> Vec<&str> {
        self.items().iter().map(|item| item.word.as_str()).collect()
    }

    fn items(&self) -> &[Item] {
        self.found.as_ref().map(|found| &found.items[..]).unwrap_or_default()
    }

    /// The item with this word.
    #[track_caller]
    fn item(&self, word: &str) -> &Item {
        let found = self.items().iter().find(|item| item.word == word);
        found.unwrap_or_else(|| panic!("no {word:?} in {:?}", self.words()))
    }

    /// What is replaced before the cursor, and what belongs to the word behind it.
    fn replaces(&self) -> (&str, &str) {
        let range = self.found.as_ref().map_or(self.column..self.column, |found| found.range.clone());
        (&self.line[range.start..self.column], &self.line[self.column..range.end])
    }

    /// The line when this word was taken.
    #[track_caller]
    fn taken(&self, word: &str) -> String {
        let word = &self.item(word).word;
        let start = self.found.as_ref().unwrap().range.start;
        format!("{}{word}{}", &self.line[..start], &self.line[self.column..])
    }

    /// The words that begin with what was typed.
    fn fitting(&self) -> Vec<&str> {
        let (typed, _) = self.replaces();
        self.words().into_iter().filter(|word| word.starts_with(typed)).collect()
    }
}

/// Asks at a place of the current buffer.
fn ask(chat: &Harness, line: usize, column: usize) -> Option<Completion> {
    let answer: Arc<Mutex<Option<Option<Completion>>>> = Arc::default();
    let kept = Arc::clone(&answer);
    chat.workspace.completions.complete(&chat.conversation(), None, line, column, move |_, found| {
        let before = kept.lock().unwrap().replace(found);
        assert!(before.is_none(), "it is answered once");
    });
    chat.drain_until("what is offered", |_| answer.lock().unwrap().is_some());
    answer.lock().unwrap().take().unwrap()
}

/// Asks at the cursor in a text, which becomes a conversation without a file.
fn offer(chat: &Harness, text: &str) -> Offer {
    let marked = screen(text);
    let at = marked.iter().position(|line| line.contains('¦')).expect("a cursor");
    let column = marked[at].find('¦').unwrap();
    let lines: Vec<String> = marked.iter().map(|line| line.replace('¦', "")).collect();
    let buffer = chat.unnamed(&lines.iter().map(|line| format!("|{line}\n")).collect::<String>());
    let found = ask(chat, at, column);
    chat.wipe(buffer);
    Offer { line: lines[at].clone(), column, found }
}

/// An editor with these files in its working directory.
fn with_files(files: &[(&str, &str)]) -> Harness {
    Harness::start(Setup { files, ..Setup::default() }, [])
}
