//! What a call would write: each file with its content before and after; and what the user has approved of it.
//!
//! A tool that writes files proposes them first ([`NativeTool::propose`](super::NativeTool::propose)). What the user is shown
//! is made of the proposal, and its [`Revision`] names it: an approval is for one revision, and only that is written
//! ([`Approved`]).

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::Bounds;
use flemma_journal::{Binding, BoundFile, Take};
use flemma_model::{Digest, ModelError};
use flemma_text::escape_controls;

/// The largest content that is kept in memory, in bytes. Of a larger one only the digest is known.
const MAX_IN_MEMORY: u64 = 256 * 1024 * 1024;

/// How much of such a file is read at a time.
const CHUNK: usize = 64 * 1024;

/// What a call would write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The files, in the order in which they are written.
    pub files: Vec<FileChange>,
    /// What the model is told when all of it is written: a sentence.
    pub summary: String,
    /// What differs, for the model; empty where the call itself says it.
    pub diff: String,
}

/// A file that a call would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file, with links resolved; absolute.
    pub path: PathBuf,
    /// Its name in the call.
    pub name: String,
    /// What it has; `None` if there is no such file.
    pub old: Option<Content>,
    /// What it gets; `None` to delete it.
    pub new: Option<Content>,
    /// The file that it becomes, and its name, if it is moved.
    pub moved_to: Option<(PathBuf, String)>,
    /// Where it must be, and what it is moved to.
    pub bounds: Bounds,
    /// Whether its permissions let nobody write it. It can be replaced all the same by a user who may do everything.
    pub is_read_only: bool,
    /// Whether writing it asks every time.
    pub is_start_up: bool,
    /// The name of the buffer that has changes of it which are not saved.
    pub unsaved: Option<PathBuf>,
}

/// What the user has to know about a change before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// The end of a sentence.
    pub words: String,
    /// The buffer that has to be saved, after which there is no concern any more.
    pub unsaved: Option<PathBuf>,
}

impl FileChange {
    /// What the user has to know about it.
    pub fn concern(&self) -> Option<Concern> {
        let name = &self.name;
        if let Some(unsaved) = &self.unsaved {
            let words = format!(
                "save {name} to go on, or approve the call to change the file on the disk: the buffer keeps its own text"
            );
            return Some(Concern { words, unsaved: Some(unsaved.clone()) });
        }
        let (old, new) = (self.old.as_ref()?, self.new.as_ref()?);
        let is_utf8 = |content: &Content| content.bytes.as_ref().is_some_and(|bytes| str::from_utf8(bytes).is_ok());
        let words = || format!("{name} is not valid UTF-8, and the call writes text that is");
        let is_mixed = !is_utf8(old) && (is_utf8(new) || adds_characters(old, new));
        is_mixed.then(|| Concern { words: words(), unsaved: None })
    }
}

/// Whether what differs in the new content has characters of UTF-8 beyond ASCII, which nearly all encodings have in common.
fn adds_characters(old: &Content, new: &Content) -> bool {
    let (Some(old), Some(new)) = (&old.bytes, &new.bytes) else { return false };
    let mut start = old.iter().zip(&**new).take_while(|(old, new)| old == new).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
    let mut end = new.len() - rest.take_while(|(old, new)| old == new).count();
    // Whole characters.
    let is_inside = |at: usize| new.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    while start > 0 && is_inside(start) {
        start -= 1;
    }
    while is_inside(end) {
        end += 1;
    }
    new[start..end].utf8_chunks().any(|chunk| !chunk.valid().is_ascii())
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub len: u64,
    /// The bytes; `None` if there are too many to keep them.
    pub bytes: Option<Arc<Vec<u8>>>,
}

impl Content {
    /// The digest of a content that there may be.
    pub(super) fn digest_of(content: &Option<Self>) -> Option<&Digest> {
        content.as_ref().map(|content| &content.digest)
    }

    /// The bytes of a content, which are none where there is none; `None` if they are not kept.
    pub(super) fn bytes_of(content: &Option<Self>) -> Option<Arc<Vec<u8>>> {
        content.as_ref().map_or_else(|| Some(Arc::default()), |content| content.bytes.clone())
    }

    /// A content with these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes), len: bytes.len() as u64, bytes: Some(Arc::new(bytes)) }
    }

    /// The content of a file; `None` if there is none. It blocks on the disk.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Self::of_opened(&mut file?).map(Some),
        }
    }

    /// The content of a file that was opened. It blocks on the disk.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_opened(file: &mut File) -> io::Result<Self> {
        if file.metadata()?.len() <= MAX_IN_MEMORY {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(Self::new(bytes));
        }
        let (mut hash, mut chunk, mut len) = (Sha256::new(), vec![0; CHUNK], 0);
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(Self { digest: Digest::finish(hash), len, bytes: None }),
                Ok(count) => {
                    hash.update(&chunk[..count]);
                    len += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The name of a proposal: which files have which content before and after.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(String);

impl Revision {
    /// A revision by its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The revision of a call that can propose nothing, for this reason. No proposal has it.
    pub fn of_problem(problem: &ModelError) -> Self {
        Self(format!("problem-{}", Digest::of(problem.to_string().as_bytes())))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Proposal {
    /// That no file is changed twice, under whatever names.
    ///
    /// # Errors
    /// Which one is.
    pub fn check_distinct(&self) -> Result<(), ModelError> {
        let mut seen = HashSet::new();
        let paths =
            |change: &FileChange| [Some(change.path.clone()), change.moved_to.as_ref().map(|(path, _)| path.clone())];
        let twice = self.files.iter().find(|change| !paths(change).into_iter().flatten().all(|path| seen.insert(path)));
        let words = |name: &str| format!("`{name}` is the same file as another one that would be changed.");
        twice.map_or(Ok(()), |change| Err(ModelError::new(words(&change.name))))
    }

    /// Its name.
    pub fn revision(&self) -> Revision {
        let mut hash = Sha256::new();
        let mut put = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        for FileChange { path, old, new, moved_to, .. } in &self.files {
            put(path.as_os_str().as_encoded_bytes());
            for content in [old, new] {
                put(content.as_ref().map_or("", |content| content.digest.as_str()).as_bytes());
            }
            put(moved_to.as_ref().map_or(&[], |(path, _)| path.as_os_str().as_encoded_bytes()));
        }
        Revision(Digest::finish(hash).as_str().to_owned())
    }

    /// Where the path of its only file leads now, in words, if that is elsewhere than when this was approved.
    pub fn leads_to(&self, approved: &Binding) -> Option<String> {
        let ([bound], [change]) = (&*approved.files, &*self.files) else { return None };
        let place = change.path.to_string_lossy();
        (bound.path != place).then(|| format!("leads to {} now", escape_controls(&place)))
    }

    /// The same without the bytes, if all of them together are more than `max`.
    pub fn without_bytes_above(mut self, max: u64) -> Self {
        let contents = || self.files.iter().flat_map(|file| [&file.old, &file.new]).flatten();
        if contents().map(|content| content.len).sum::<u64>() > max {
            for file in &mut self.files {
                [&mut file.old, &mut file.new].into_iter().flatten().for_each(|content| content.bytes = None);
            }
        }
        self
    }
}

/// Gives a content that the user has made, by its digest; `None` if it is not kept any more. It blocks on the disk.
pub type KeptContent = Arc<dyn Fn(&Digest) -> Option<Vec<u8>> + Send + Sync>;

/// What the user has approved.
#[derive(Clone)]
pub struct Approved {
    /// What they were shown, and what they take of it.
    pub binding: Binding,
    /// The contents that they have made of it.
    pub contents: KeptContent,
    /// What files had when their change was first shown, if somebody has changed them since.
    pub first: BTreeMap<PathBuf, Content>,
}

impl Approved {
    /// Whether this is what a call would write now: the same files, from the contents that were shown to the contents that were
    /// shown. The same lines in a file that has become another one may stand in another place, so they do not count.
    pub fn covers(&self, proposal: &Proposal) -> bool {
        let files = &self.binding.files;
        if files.len() != proposal.files.len() {
            return false;
        }
        if self.binding.revision == proposal.revision().as_str() {
            return true;
        }
        let is_whole = files.iter().all(|file| file.take == Take::Proposed);
        is_whole && !files.is_empty() && files.iter().zip(&proposal.files).all(|(bound, change)| is_same(bound, change))
    }
}

/// Whether a file gets the change that was shown.
fn is_same(bound: &BoundFile, change: &FileChange) -> bool {
    let is = |content, digest: &Option<String>| Content::digest_of(content).map(Digest::as_str) == digest.as_deref();
    change.moved_to.is_none()
        && bound.path == change.path.to_string_lossy()
        && is(&change.old, &bound.old)
        && is(&change.new, &bound.new)
}
