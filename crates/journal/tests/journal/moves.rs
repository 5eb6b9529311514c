//! Which files get another name when changes are taken back.

use std::path::PathBuf;

use flemma_journal::changes::{Act, Cause, Change, ChangeId, FileState, History, Line, Wanted};
use flemma_model::{CallId, Digest};
use jiff::Timestamp;

/// A file with this content; none for an empty text.
fn file(content: &str) -> FileState {
    match content {
        "" => FileState::Absent,
        content => FileState::File { digest: Digest::of(content.as_bytes()), mode: 0o644 },
    }
}

/// The log of a conversation.
#[derive(Default)]
struct Log(Vec<Change>);

impl Log {
    fn add(&mut self, cause: Cause, path: &str, old: &FileState, new: &FileState) -> &mut Self {
        let id = ChangeId(format!("{}", self.0.len()));
        let at = Timestamp::from_second(self.0.len() as i64).unwrap();
        let (path, old, new) = (PathBuf::from(path), old.clone(), new.clone());
        self.0.push(Change { id, at, conversation: String::new(), cause, path, old, new, folders: Vec::new() });
        self
    }

    /// A change of a call, which ran in its own run.
    fn call(&mut self, call: &str, path: &str, old: &str, new: &str) -> &mut Self {
        self.run(call, call, path, old, new)
    }

    fn run(&mut self, call: &str, run: &str, path: &str, old: &str, new: &str) -> &mut Self {
        let cause =
            Cause::Call { id: CallId::from(call), tool: "rename_note".into(), input: call.into(), run: run.into() };
        self.add(cause, path, &file(old), &file(new))
    }

    fn history(&self) -> History {
        let lines = self
            .0
            .iter()
            .flat_map(|change| [Line::Change(Box::new(change.clone())), Line::Made { id: change.id.clone() }]);
        History::of(lines)
    }

    /// The files that taking these changes back gives another name.
    fn moves(&self, wanted: &Wanted) -> Vec<(String, String)> {
        let history = self.history();
        let steps = history.steps(wanted).unwrap();
        let text = |path: PathBuf| path.display().to_string();
        history.moves(&steps).into_iter().map(|(from, to)| (text(from), text(to))).collect()
    }

    /// The user takes changes back, or makes them again.
    fn back(&mut self, wanted: &Wanted) -> &mut Self {
        let steps = self.history().steps(wanted).unwrap();
        let step = format!("step {}", self.0.len());
        for taken in steps {
            let cause = Cause::User { act: taken.act, step: step.clone(), reverts: taken.reverts.clone() };
            self.add(cause, taken.path.to_str().unwrap(), &taken.expected, &taken.target);
        }
        self
    }
}

fn moved(from: &str, to: &str) -> Vec<(String, String)> {
    vec![(from.to_owned(), to.to_owned())]
}

#[test]
fn a_move_is_taken_back_and_made_again_as_a_move() {
    let mut log = Log::default();
    log.call("c1", "/new", "", "text").call("c1", "/old", "text", "");
    assert_eq!(log.moves(&Wanted::Last), moved("/new", "/old"));
    log.back(&Wanted::Last);
    assert_eq!(log.0.last().map(|change| matches!(change.cause, Cause::User { act: Act::Undo, .. })), Some(true));
    assert_eq!(log.moves(&Wanted::Redo), moved("/old", "/new"));
    log.back(&Wanted::Redo);
    assert_eq!(log.moves(&Wanted::Last), moved("/new", "/old"));
}

#[test]
fn a_page_that_was_moved_and_changed_is_moved_back() {
    let mut log = Log::default();
    log.call("c1", "/new", "", "text").call("c1", "/old", "text", "").call("c1", "/new", "text", "other");
    log.call("c1", "/index", "see old", "see new");
    assert_eq!(log.moves(&Wanted::Last), moved("/new", "/old"));
    // A later call has changed it under its new name.
    log.call("c2", "/new", "other", "more");
    assert_eq!(log.moves(&Wanted::Last), []);
    assert_eq!(log.moves(&Wanted::Call(CallId::from("c1"))), moved("/new", "/old"));
}

#[test]
fn each_of_several_moves_has_its_own_origin() {
    let mut log = Log::default();
    log.call("c1", "/a2", "", "same").call("c1", "/a", "same", "");
    log.call("c2", "/b2", "", "same").call("c2", "/b", "same", "");
    assert_eq!(log.moves(&Wanted::Last), moved("/b2", "/b"));
    let mut both = log.moves(&Wanted::After { before: Vec::new(), after: Vec::new() });
    both.sort();
    assert_eq!(both, [moved("/a2", "/a"), moved("/b2", "/b")].concat());
}

#[test]
fn what_only_looks_like_a_move_is_none() {
    // By another run, with another content, in the other order, over a file that was there.
    for (run, content, there, is_first) in
        [("r2", "text", "", true), ("r1", "other", "", true), ("r1", "text", "", false), ("r1", "text", "was", true)]
    {
        let mut log = Log::default();
        if is_first {
            log.run("c1", "r1", "/new", there, content).run("c1", run, "/old", "text", "");
        } else {
            log.run("c1", "r1", "/old", "text", "").run("c1", run, "/new", there, content);
        }
        let wanted = Wanted::Call(CallId::from("c1"));
        assert_eq!(log.moves(&wanted), [], "{run} {content} {there} {is_first}");
    }
}
