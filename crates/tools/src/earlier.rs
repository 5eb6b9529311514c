//! What the calls above one call would write.
//!
//! A model often makes calls in one reply that build on each other: it creates a file, and then edits it. While all of them wait,
//! what a later one would write is found out as if those above it had been made. Tools that propose look here before they look at
//! the disk. A tool that runs has nothing here: it only finds what is really there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::{Content, Proposal, lock};
use flemma_model::{CallId, Digest};

/// The files that calls would write, as they would leave them.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    files: Arc<BTreeMap<PathBuf, EarlierFile>>,
    unclear: Arc<Vec<Unclear>>,
    asked: Arc<Mutex<Asked>>,
}

/// A call of which it is not known yet what it would write.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unclear {
    /// The files that it may write; `None` if it may be any.
    targets: Option<Vec<PathBuf>>,
    call: CallId,
}

/// A file that a call would write.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EarlierFile {
    /// What is on the disk; `None` if there is no file.
    on_disk: Option<Digest>,
    /// What it would have; `None` if it would be deleted or moved.
    now: Option<Content>,
    /// The call that would write it last.
    by: CallId,
}

/// What a call has asked for.
#[derive(Debug, Default)]
struct Asked {
    base: Base,
    lacks_bytes: bool,
    is_stale: bool,
    waits_for: Option<CallId>,
}

impl Asked {
    fn wait_for(&mut self, call: Option<&CallId>) {
        self.waits_for = call.cloned().or(self.waits_for.take());
    }
}

/// What a proposal has been made from, of what the calls above would write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The files that were asked for; `None` for those that no call above would write.
    files: BTreeMap<PathBuf, Option<Option<Digest>>>,
    /// All of them, if they were listed.
    listed: Option<Vec<PathBuf>>,
}

/// The files below a folder that calls would create and take away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierEntries {
    /// Those that would be there.
    pub present: Vec<PathBuf>,
    /// Those that would be gone.
    pub gone: Vec<PathBuf>,
}

impl Earlier {
    /// The same for another call, which has asked for nothing yet.
    pub fn for_next_call(&self) -> Self {
        Self { files: Arc::clone(&self.files), unclear: Arc::clone(&self.unclear), asked: Arc::default() }
    }

    /// Adds a call of which it is not known yet what it would write. `targets` are the files that it may write; `None` if it may be
    /// any.
    pub fn add_unclear(&mut self, call: &CallId, targets: Option<Vec<PathBuf>>) {
        Arc::make_mut(&mut self.unclear).push(Unclear { targets, call: call.clone() });
    }

    /// The call that may write a file and of which it is not known yet what.
    pub fn unclear_writer(&self, path: &Path) -> Option<&CallId> {
        self.unclear(|target| target == path)
    }

    /// The last call that may write such a file and of which it is not known yet what.
    fn unclear(&self, is_meant: impl Fn(&Path) -> bool) -> Option<&CallId> {
        let may_write = |targets: &Option<Vec<PathBuf>>| {
            targets.as_ref().is_none_or(|targets| targets.iter().any(|target| is_meant(target)))
        };
        self.unclear.iter().rfind(|unclear| may_write(&unclear.targets)).map(|unclear| &unclear.call)
    }

    /// Adds what the next call would write.
    pub fn add(&mut self, by: &CallId, proposal: &Proposal) {
        let files = Arc::make_mut(&mut self.files);
        let mut put = |path: &Path, old: Option<&Content>, now: Option<Content>| {
            let before = files.get(path).map(|file| file.on_disk.clone());
            let on_disk = before.unwrap_or_else(|| old.map(|old| old.digest.clone()));
            files.insert(path.to_owned(), EarlierFile { on_disk, now, by: by.clone() });
        };
        for change in &proposal.files {
            match &change.moved_to {
                None => put(&change.path, change.old.as_ref(), change.new.clone()),
                Some((other, _)) => {
                    put(&change.path, change.old.as_ref(), None);
                    put(other, None, change.new.clone());
                }
            }
        }
    }

    /// What a file would have, whose path has no links; `None` within if it would be gone. `None` if no call would write it.
    pub fn content(&self, path: &Path) -> Option<Option<Content>> {
        let found = self.files.get(path).map(|file| file.now.clone());
        let digest = found.as_ref().map(|content| Content::digest_of(content).cloned());
        let mut asked = lock(&self.asked);
        asked.base.files.insert(path.to_owned(), digest);
        asked.lacks_bytes |= found.iter().flatten().any(|content| content.bytes.is_none());
        asked.wait_for(self.unclear_writer(path));
        found
    }

    /// Whether a call would write a file, whose path has no links, and leave it there.
    pub fn creates(&self, path: &Path) -> bool {
        matches!(self.content(path), Some(Some(_)))
    }

    /// The files below a folder, whose path has no links, that would come and go.
    pub fn below(&self, folder: &Path) -> EarlierEntries {
        let mut asked = lock(&self.asked);
        asked.base.listed = Some(self.files.keys().cloned().collect());
        asked.wait_for(self.unclear(|target| target.starts_with(folder)));
        let paths = |is_there: bool| {
            let below = self.files.iter().filter(|(path, _)| path.starts_with(folder));
            below.filter(|(_, file)| file.now.is_some() == is_there).map(|(path, _)| path.clone()).collect()
        };
        EarlierEntries { present: paths(true), gone: paths(false) }
    }

    /// What the call has asked for so far.
    pub fn base(&self) -> Base {
        lock(&self.asked).base.clone()
    }

    /// Whether the call has asked for a content whose bytes are not kept.
    pub fn lacks_bytes(&self) -> bool {
        lock(&self.asked).lacks_bytes
    }

    /// The call above that may write what this call has asked for, if it is not known yet what that would be.
    pub fn waits_for(&self) -> Option<CallId> {
        lock(&self.asked).waits_for.clone()
    }

    /// The call has made its change before, from other contents than the files have now, or would have.
    pub fn note_stale(&self) {
        lock(&self.asked).is_stale = true;
    }

    /// Whether that was noted.
    pub fn is_stale(&self) -> bool {
        lock(&self.asked).is_stale
    }

    /// Whether a proposal that was made from this would be made from the same now.
    pub fn is_still(&self, base: &Base) -> bool {
        let now = |path: &PathBuf| self.files.get(path).map(|file| Content::digest_of(&file.now).cloned());
        base.files.iter().all(|(path, digest)| now(path) == *digest && self.unclear_writer(path).is_none())
            && base.listed.as_ref().is_none_or(|listed| self.files.keys().eq(listed) && self.unclear.is_empty())
    }

    /// What is on the disk in place of what a file would have; `None` if no call would write it, or that is the same.
    pub fn on_disk(&self, path: &Path) -> Option<Option<Digest>> {
        let file = self.files.get(path)?;
        let is_same = file.on_disk.as_ref() == Content::digest_of(&file.now);
        (!is_same).then(|| file.on_disk.clone())
    }

    /// The call that would write a file last.
    pub fn writer(&self, path: &Path) -> Option<&CallId> {
        Some(&self.files.get(path)?.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, FileChange};

    fn change(path: &str, old: Option<&str>, new: &str, moved_to: Option<&str>) -> Proposal {
        let content = |text: &str| Content::new(text.as_bytes().to_vec());
        let file = FileChange {
            path: path.into(),
            name: path.into(),
            old: old.map(content),
            new: Some(content(new)),
            moved_to: moved_to.map(|path| (path.into(), path.into())),
            bounds: Bounds::Writable,
            is_read_only: false,
            is_start_up: false,
            unsaved: None,
        };
        Proposal { files: vec![file], ..Proposal::default() }
    }

    fn digest(text: &str) -> Option<Digest> {
        Some(Digest::of(text.as_bytes()))
    }

    #[test]
    fn a_file_has_what_the_last_call_leaves() {
        let mut earlier = Earlier::default();
        assert_eq!(earlier.content(Path::new("/a")), None);
        let empty = earlier.base();
        earlier.add(&CallId("1".into()), &change("/a", Some("one"), "two", None));
        earlier.add(&CallId("2".into()), &change("/a", Some("two"), "three", None));
        let found = earlier.for_next_call().content(Path::new("/a")).flatten().unwrap();
        assert_eq!(found.bytes.as_deref().map(Vec::as_slice), Some(&b"three"[..]));
        assert_eq!(earlier.on_disk(Path::new("/a")), Some(digest("one")));
        assert_eq!(earlier.writer(Path::new("/a")), Some(&CallId("2".into())));
        assert!(!earlier.is_still(&empty));
        // Back to the beginning: nothing is different from the disk.
        earlier.add(&CallId("3".into()), &change("/a", Some("three"), "one", None));
        assert_eq!(earlier.on_disk(Path::new("/a")), None);
    }

    #[test]
    fn a_moved_file_is_gone_and_there_under_its_new_name() {
        let mut earlier = Earlier::default();
        earlier.add(&CallId("1".into()), &change("/d/a", Some("one"), "one", Some("/d/b")));
        assert_eq!(earlier.content(Path::new("/d/a")), Some(None));
        assert!(earlier.creates(Path::new("/d/b")));
        assert_eq!(earlier.on_disk(Path::new("/d/b")), Some(None));
        let entries = EarlierEntries { present: vec!["/d/b".into()], gone: vec!["/d/a".into()] };
        assert_eq!(earlier.below(Path::new("/d")), entries);
        let base = earlier.base();
        assert!(earlier.is_still(&base));
        earlier.add(&CallId("2".into()), &change("/d/c", None, "new", None));
        assert!(!earlier.is_still(&base), "the list is another one");
    }

    #[test]
    fn what_an_unclear_call_may_write_is_waited_for() {
        let (first, second) = (CallId("1".into()), CallId("2".into()));
        let mut earlier = Earlier::default();
        let _ = earlier.content(Path::new("/d/a"));
        let base = earlier.base();
        earlier.add_unclear(&first, Some(vec!["/d/b".into()]));
        assert!(earlier.is_still(&base), "another file");
        let asked = earlier.for_next_call();
        let _ = asked.content(Path::new("/d/a"));
        let _ = asked.below(Path::new("/e"));
        assert_eq!(asked.waits_for(), None);
        let _ = asked.below(Path::new("/d"));
        assert_eq!(asked.waits_for(), Some(first.clone()));
        let asked = earlier.for_next_call();
        let _ = asked.content(Path::new("/d/b"));
        assert_eq!(asked.waits_for(), Some(first));
        earlier.add_unclear(&second, None);
        assert!(!earlier.is_still(&base), "it may be any file");
        assert_eq!(earlier.unclear_writer(Path::new("/d/b")), Some(&second));
    }
}
