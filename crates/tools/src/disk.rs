//! What judging a path has to know of the disk.
//!
//! Whoever may wait asks the disk itself. The main thread may not: a lost network share would hold up the editor. So a worker goes
//! through the same judgement with [`Disk::recording`], which keeps all answers ([`Facts`]), and the main thread judges with them
//! ([`Disk::known`]). Where an answer is missing, the judgement is made as if the strictest one had been given, and
//! [`Disk::lacks`] says that it cannot be relied on.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    file_class::{FileClass, Owner},
    linked::Linked,
    lock,
    paths::{plain, real},
    project,
};
use flemma_process::{Grammar, Shell};

/// Who has not answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silent {
    /// The file system of this path.
    Disk(PathBuf),
    /// The shell of this name, which was asked what it is.
    Shell(String),
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(path) => write!(f, "the file system of {} does not answer", path.display()),
            Self::Shell(shell) => write!(f, "the shell `{shell}` has not said yet what it is"),
        }
    }
}

/// A question about the disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lookup {
    path: PathBuf,
    what: What,
}

/// What is asked about a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Where it leads: see [`real`].
    Real,
    /// Whether there is a folder.
    IsFolder,
    /// Whether there is anything.
    IsThere,
    /// Whether there is a link.
    IsLink,
    /// Whether the file that it leads to has several names.
    IsLinked,
    /// Whether it is an ordinary file of the project that is looked for from this folder; and the user's home folder.
    IsOrdinary(PathBuf, Option<PathBuf>),
    /// Whether it is a file, and whose, of which writing asks every time.
    IsStartUp(Owner),
    /// How the shell reads commands that the user has named, or else the one that is there. The path says nothing then.
    Grammar(Option<String>),
}

/// What the disk says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Where a path leads.
    Path(PathBuf),
    /// How a shell reads commands.
    Grammar(Grammar),
    /// For all other questions.
    Is(bool),
}

/// What is known of the disk; `None` for what it has not said in time.
pub type Facts = BTreeMap<Lookup, Option<Answer>>;

/// Who is asked while the answers are recorded: `None` if the disk does not answer.
pub type Ask = dyn Fn(Lookup) -> Option<Answer> + Send + Sync;

/// The disk, or what is known of it. The default is the disk itself.
#[derive(Clone, Default)]
pub struct Disk(Option<Arc<Source>>);

struct Source {
    facts: Arc<Mutex<Facts>>,
    ask: Option<Arc<Ask>>,
    /// The first of whom something is missing that the judgement needs.
    lacking: Mutex<Option<Silent>>,
    /// Whether something is missing that nobody was asked.
    has_unasked: Arc<AtomicBool>,
}

impl Disk {
    /// The disk through `ask`. The answers are kept in [`Disk::facts`].
    pub fn recording(ask: Arc<Ask>) -> Self {
        Self::source(Arc::default(), Some(ask), Arc::default())
    }

    /// What is known of the disk, and nothing else. It is never waited for.
    pub fn known(facts: Facts) -> Self {
        Self::source(Arc::new(Mutex::new(facts)), None, Arc::default())
    }

    fn source(facts: Arc<Mutex<Facts>>, ask: Option<Arc<Ask>>, has_unasked: Arc<AtomicBool>) -> Self {
        Self(Some(Arc::new(Source { facts, ask, lacking: Mutex::default(), has_unasked })))
    }

    /// The answers so far; none for the disk itself.
    pub fn facts(&self) -> Facts {
        self.0.as_ref().map(|source| lock(&source.facts).clone()).unwrap_or_default()
    }

    /// Who has not said something that a judgement needed. The judgement cannot be relied on then.
    pub fn lacks(&self) -> Option<Silent> {
        lock(&self.0.as_ref()?.lacking).clone()
    }

    /// Whether something is missing because nobody has asked for it, and not because the disk does not answer.
    pub fn has_unasked(&self) -> bool {
        self.0.as_ref().is_some_and(|source| source.has_unasked.load(Ordering::Relaxed))
    }

    /// Notes that something about this path is missing which a judgement needs.
    pub(super) fn note_lacking(&self, path: &Path) {
        self.note_silent(|| Silent::Disk(path.to_owned()));
    }

    fn note_silent(&self, who: impl FnOnce() -> Silent) {
        if let Some(source) = &self.0 {
            lock(&source.lacking).get_or_insert_with(who);
        }
    }

    /// Whether a condition certainly holds, for what only permits something: it does not where an answer is missing, and the rest of the
    /// judgement can be relied on all the same.
    pub(super) fn surely(&self, condition: impl FnOnce(&Self) -> bool) -> bool {
        let Some(source) = &self.0 else { return condition(self) };
        let aside = Self::source(Arc::clone(&source.facts), source.ask.clone(), Arc::clone(&source.has_unasked));
        condition(&aside) && aside.lacks().is_none()
    }

    /// Where a path leads: see [`real`]. If that is not known, the path as it is written.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.real_if_known(path).unwrap_or_else(|| {
            self.note_lacking(path);
            plain(path)
        })
    }

    /// The same; `None` if it is not known.
    pub(super) fn real_if_known(&self, path: &Path) -> Option<PathBuf> {
        let Answer::Path(path) = self.answer(path, What::Real)? else { return None };
        Some(path)
    }

    /// How a shell reads commands. Nobody waits for one that was asked before.
    pub fn grammar(&self, shell: Option<&str>) -> Grammar {
        if let Some(known) = Shell::known(shell) {
            return known.grammar;
        }
        match self.answer(Path::new(""), What::Grammar(shell.map(str::to_owned))) {
            Some(Answer::Grammar(grammar)) => grammar,
            _ => {
                self.note_silent(|| Silent::Shell(shell.unwrap_or("bash").to_owned()));
                Grammar::Unknown
            }
        }
    }

    /// Whether there is a folder at a path; also if that is not known.
    pub(super) fn is_folder(&self, path: &Path) -> bool {
        self.may_be(path, What::IsFolder)
    }

    /// Whether there is anything at a path; also if that is not known.
    pub fn is_there(&self, path: &Path) -> bool {
        self.may_be(path, What::IsThere)
    }

    /// Whether there is a link at a path; also if that is not known.
    pub(super) fn is_link(&self, path: &Path) -> bool {
        self.may_be(path, What::IsLink)
    }

    /// Whether the file that a path leads to has several names (hard links); also if that is not known.
    pub fn is_linked(&self, path: &Path) -> bool {
        self.may_be_there(path, &What::IsLinked)
    }

    /// Whether writing a file asks every time; also if that is not known.
    pub fn is_start_up(&self, path: &Path, owner: &Owner) -> bool {
        self.may_be_there(path, &What::IsStartUp(owner.clone()))
    }

    /// Whether a file is an ordinary one of the project that is found from `folder` ([`project`]). It is not where that is not known.
    pub(super) fn is_ordinary(&self, path: &Path, folder: &Path, home: Option<&Path>) -> bool {
        let what = What::IsOrdinary(folder.to_owned(), home.map(Path::to_owned));
        let is = |path: &Path| self.answer(path, what.clone()) == Some(Answer::Is(true));
        is(path) && self.real_if_known(path).is_some_and(|real| is(&real))
    }

    /// Whether the answer to a question is *yes*, or not known, for a path as it is written or for where it leads. Each question follows
    /// the links of a path anew, and somebody may exchange them in between: what may be used is where it leads ([`Disk::real`]).
    fn may_be_there(&self, path: &Path, what: &What) -> bool {
        self.may_be(path, what.clone()) || self.may_be(&self.real(path), what.clone())
    }

    /// Whether the answer to a question is *yes*, or not known.
    fn may_be(&self, path: &Path, what: What) -> bool {
        let answer = self.answer(path, what);
        if answer.is_none() {
            self.note_lacking(path);
        }
        answer.is_none_or(|answer| answer == Answer::Is(true))
    }

    fn answer(&self, path: &Path, what: What) -> Option<Answer> {
        let lookup = Lookup { path: path.to_owned(), what };
        let Some(source) = &self.0 else { return Some(lookup.answer()) };
        if let Some(answer) = lock(&source.facts).get(&lookup) {
            return answer.clone();
        }
        let Some(ask) = &source.ask else {
            source.has_unasked.store(true, Ordering::Relaxed);
            return None;
        };
        let answer = ask(lookup.clone());
        lock(&source.facts).insert(lookup, answer.clone());
        answer
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "what is known of the disk" } else { "the disk" })
    }
}

impl Lookup {
    /// Whether the same disk, or the same shell, answers both.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_shell = |lookup: &Self| matches!(lookup.what, What::Grammar(_));
        if is_shell(self) || is_shell(other) { self == other } else { self.path == other.path }
    }

    /// What the disk itself says. It blocks.
    pub fn answer(&self) -> Answer {
        let path = &self.path;
        Answer::Is(match &self.what {
            What::Real => return Answer::Path(real(path)),
            What::Grammar(shell) => {
                let shell = Shell::find(shell.as_deref());
                return Answer::Grammar(shell.map_or(Grammar::Unknown, |shell| shell.grammar));
            }
            What::IsFolder => path.is_dir(),
            What::IsThere => path.symlink_metadata().is_ok(),
            What::IsLink => path.is_symlink(),
            What::IsLinked => Linked::at(&real(path)).is_some(),
            What::IsStartUp(owner) => owner.class_of(path) == FileClass::StartUp,
            What::IsOrdinary(folder, home) => project::is_ordinary(path, folder, home.as_deref()),
        })
    }
}
