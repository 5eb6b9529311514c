//! Which of the names that the user has written are files, as far as that is known. What was found is used for a while.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::PathBuf,
    time::{Duration, Instant},
};

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
        !std::mem::replace(&mut self.0.borrow_mut().is_looking, true)
    }

    /// It is done. Says whether anything else is known now.
    pub(crate) fn end(&self, found: Vec<(PathBuf, bool)>) -> bool {
        let mut state = self.0.borrow_mut();
        state.is_looking = false;
        if state.known.len() >= KEPT {
            state.known.clear();
        }
        let now = Instant::now();
        let mut is_news = false;
        for (path, is_file) in found {
            let before = state.known.insert(path, (is_file, now));
            is_news |= before.is_some_and(|(was_file, _)| was_file) != is_file;
        }
        is_news
    }
}
