//! What is said behind a line in which the user has written the name of a file as if it were that of a tool: how to attach it.
//!
//! Only lines on the screen are looked at, and files are looked for away from the main thread.

use std::{
    cell::RefCell,
    collections::HashMap,
    ops::Range,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{Conversation, HostEffect, components::Completions};
use flemma_chat::EditorSubject;
use flemma_text::suggest::nearest;
use flemma_tools::Access;

/// How long it is believed that there is a file, or none.
const FRESH: Duration = Duration::from_secs(5);

/// The number of paths that are kept.
const KEPT: usize = 512;

/// Which of the names on the screen are files.
#[derive(Debug, Default)]
pub(crate) struct BareNames(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    known: HashMap<PathBuf, (bool, Instant)>,
    /// Whether files are being looked for.
    is_looking: bool,
    /// Whether there are others to look for since then.
    is_late: bool,
}

impl BareNames {
    /// Whether there is this file, as far as that is known, and whether to look again.
    pub(crate) fn get(&self, path: &PathBuf) -> (bool, bool) {
        match self.0.borrow().known.get(path) {
            Some((is_file, since)) => (*is_file, since.elapsed() > FRESH),
            None => (false, true),
        }
    }

    /// Somebody wants to look for files. `false` if that is being done.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.0.borrow_mut();
        state.is_late = std::mem::replace(&mut state.is_looking, true);
        !state.is_late
    }

    /// It is done. Says whether anything else is known now, or wanted.
    pub(crate) fn end(&self, found: Vec<(PathBuf, bool)>) -> bool {
        let mut state = self.0.borrow_mut();
        state.is_looking = false;
        if state.known.len() >= KEPT {
            state.known.clear();
        }
        let now = Instant::now();
        let mut is_news = std::mem::take(&mut state.is_late);
        for (path, is_file) in found {
            let before = state.known.insert(path, (is_file, now));
            is_news |= before.is_some_and(|(was_file, _)| was_file) != is_file;
        }
        is_news
    }
}

impl Completions {
    /// What is said behind lines on the screen about files that the user has named and not attached: the line of each, and the
    /// words. The host is asked to draw again when more is known.
    pub fn file_hints(&self, conversation: &Conversation, lines: Range<usize>) -> Vec<(usize, String)> {
        let names = conversation.page.bare_names(lines);
        if names.is_empty() {
            return Vec::new();
        }
        let folder = self.shared.place(conversation).folder();
        let is_tool = |name: &str| {
            let is_group = || self.shared.toolbox.groups().iter().any(|group| group.name == name);
            self.shared.toolbox.get(name).is_some() || is_group()
        };
        let (mut hints, mut unknown) = (Vec::<(usize, String)>::new(), Vec::new());
        for name in names.into_iter().filter(|name| !name.path.to_str().is_some_and(is_tool)) {
            let path = folder.join(&name.path);
            let (is_file, is_due) = conversation.bare_names.get(&path);
            if is_due {
                unknown.push(path);
            }
            let subjects = EditorSubject::ALL.into_iter().map(EditorSubject::as_str);
            let word = name.path.to_str().filter(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()));
            let subject = || word.and_then(|word| nearest(word, subjects));
            let hint = match is_file {
                true => Some(format!("`{}` attaches this file", name.reference)),
                false => subject().map(|near| format!("this attaches nothing; did you mean `@{near}`?")),
            };
            // One for each line is enough.
            if hints.last().is_none_or(|(line, _)| *line != name.line) {
                hints.extend(hint.map(|hint| (name.line, hint)));
            }
        }
        if !unknown.is_empty() && conversation.bare_names.begin() {
            self.look_for(conversation, folder, unknown);
        }
        hints
    }

    /// Looks which of these paths are files that may be read.
    fn look_for(&self, conversation: &Conversation, folder: PathBuf, paths: Vec<PathBuf>) {
        let (denied, agents) = (self.permissions.denied(conversation), self.permissions.agents_of(conversation));
        let look = move || {
            let permitted = agents.permitted();
            let is_file =
                |path: &PathBuf| path.is_file() && denied.allows(&folder, path) && permitted.allows(Access::Read, path);
            paths.into_iter().map(|path| (is_file(&path), path)).map(|(is_file, path)| (path, is_file)).collect()
        };
        let then = |this: &Self, conversation: &Conversation, found: Vec<(PathBuf, bool)>| {
            if conversation.bare_names.end(found) {
                this.shared.host.perform(HostEffect::Redraw { buffer: conversation.buffer });
            }
        };
        self.background.run_for(conversation.id, look, then);
    }
}

#[cfg(test)]
mod tests {
    use super::BareNames;

    #[test]
    fn a_name_that_comes_meanwhile_is_asked_for_again() {
        let names = BareNames::default();
        assert!(names.begin() && !names.begin());
        assert!(names.end(vec![("READ".into(), false)]), "the other name was not looked for");
        assert!(names.begin());
        assert!(!names.end(vec![("README".into(), false)]), "nothing new is known or wanted");
    }
}
