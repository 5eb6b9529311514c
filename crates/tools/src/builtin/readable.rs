//! Which files a message may show: those that the user's text refers to, and those that results show.
//!
//! A reference is resolved when the message is sent. What the user denies reading and what the agents do not permit is not shown
//! then, whoever wrote the reference, and under whatever name: a file is judged by the path as it is written, by the path where
//! it was really opened, and, where it has several names (hard links), by the others. A reference that came with the file has been
//! looked up before; it must still lead where it led then.

use std::{
    collections::HashSet,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    files,
    guard::{Unopened, by_own_path, open_exactly},
};
use crate::{
    Access, Permitted,
    linked::Linked,
    paths::{self, is_shared, plain, real},
    rules::{DeniedPaths, Names, is_url},
};
use flemma_model::UserError;
use flemma_text::escape_controls;

/// What the user can do about a reference that is refused.
const FIX: &str = "Remove the reference, or change the rule";

/// Files that references name which the user has not typed.
#[derive(Clone, Debug, Default)]
pub struct ForeignFiles {
    /// The files, as the document names them.
    pub named: HashSet<PathBuf>,
    /// Where those may lead outside the conversation's folder, with links resolved.
    pub allowed: HashSet<PathBuf>,
}

/// Judges and opens the files that a message refers to.
#[derive(Clone, Debug, Default)]
pub struct Readable {
    folder: PathBuf,
    denied: Arc<DeniedPaths>,
    permitted: Arc<Permitted>,
    /// References that the user has not typed.
    pub foreign: ForeignFiles,
    /// A folder in which files are Flemma's own: images that tools have made.
    pub own: Option<PathBuf>,
    /// Files that have changes in the editor which are not saved.
    pub unsaved: Arc<[PathBuf]>,
}

/// Why a file that a message refers to was not opened.
pub type Unread = Unopened<UserError>;

impl Readable {
    /// What may be shown in a conversation whose relative paths start at `folder`: not what is `denied`, and only what is
    /// `permitted`.
    pub fn new(folder: impl Into<PathBuf>, denied: Arc<DeniedPaths>, permitted: Arc<Permitted>) -> Self {
        Self { folder: folder.into(), denied, permitted, ..Self::default() }
    }

    /// Whether the editor has changes of a file that are not saved. `named` is as the document names it. It blocks on the disk.
    pub fn is_unsaved(&self, named: &Path) -> bool {
        !self.unsaved.is_empty()
            && paths::find_same(&self.unsaved, &real(&paths::resolve(&self.folder, named))).is_some()
    }

    /// Where relative paths start.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a file could be refused.
    pub fn judges(&self, named: &Path) -> bool {
        !self.judges_nothing() || self.foreign.named.contains(named)
    }

    /// Opens a file for reading, without waiting if it is a pipe. `named` is as the document names it. This blocks on the disk.
    ///
    /// # Errors
    /// If it may not be shown, or cannot be opened.
    pub fn open(&self, named: &Path) -> Result<File, Unread> {
        let path = paths::resolve(&self.folder, named);
        let is_foreign = self.foreign.named.contains(named);
        if !self.judges(named) {
            return Ok(files::open(&path)?);
        }
        let (file, real) = self.open_judged(&path, named)?;
        if is_foreign && !is_shared(&real, &paths::real(&self.folder)) && !self.foreign.allowed.contains(&real) {
            return Err(Unread::Refused(UserError::new(format!(
                "it was named in the file before you opened it, and leads to {} now, which you have not allowed to be sent. \
                 Send again to be asked, or write the reference yourself",
                shown(&real)
            ))));
        }
        Ok(file)
    }

    /// Opens the file at an absolute path, and says where it is that was opened, with links resolved. `named` is for messages.
    ///
    /// # Errors
    /// If it may not be shown, or cannot be opened.
    pub(crate) fn open_judged(&self, path: &Path, named: &Path) -> Result<(File, PathBuf), Unread> {
        // Also where there is nothing: an error must not tell what is there.
        self.judge(path, &real(path), named)?;
        let (file, real) = by_own_path(path, open_exactly)?;
        self.judge(path, &real, named)?;
        self.judge_links(Linked::of(&file.metadata()?), &real)?;
        Ok((file, real))
    }

    /// Why a model may not be told about something that has this name in the editor: the path of a file, or the name of a buffer.
    /// The message is the end of a sentence. An empty name belongs to no file. This blocks on the disk.
    pub fn problem(&self, name: &Path) -> Option<UserError> {
        if self.judges_nothing() || name.as_os_str().is_empty() {
            return None;
        }
        if is_url(name) {
            let words = format!("where `{}` leads is not known, and there are rules about reading", shown(name));
            return Some(UserError::new(words));
        }
        let path = paths::resolve(&self.folder, name);
        let real = real(&path);
        let judged = self.judge(&path, &real, name).and_then(|()| self.judge_links(Linked::at(&real), &real));
        match judged {
            Err(Unread::Refused(problem)) => Some(problem),
            Ok(()) | Err(Unread::Failed(_)) => None,
        }
    }

    /// Whether nothing is denied and everything is permitted.
    fn judges_nothing(&self) -> bool {
        self.denied.is_empty() && self.permitted.is_everything()
    }

    fn judge(&self, path: &Path, real: &Path, named: &Path) -> Result<(), Unread> {
        if self.own.as_ref().is_some_and(|own| real != own && real.starts_with(paths::real(own))) {
            return Ok(());
        }
        let elsewhere = || if plain(path) == real { String::new() } else { format!(", which is {}", shown(real)) };
        let refused = |why: String| Unread::Refused(UserError::new(why));
        if let Some(rule) = self.denied.rule_about(path).or_else(|| self.denied.rule_about(real)) {
            return Err(refused(format!("the rule `{rule}` denies reading it{}. {FIX}", elsewhere())));
        }
        self.permitted.check_real(Access::Read, real, &*named.to_string_lossy()).map_err(|problem| {
            let problem = problem.to_string().replacen("The agent", "the agent", 1);
            refused(format!("{problem} {FIX}"))
        })
    }

    /// Judges the other names of a file.
    fn judge_links(&self, file: Option<Linked>, real: &Path) -> Result<(), Unread> {
        let why = match self.denied.judge_names(file) {
            Names::Allowed => return Ok(()),
            Names::Denied { rule, name } if name == real => format!("the rule `{rule}` denies reading it. {FIX}"),
            Names::Denied { rule, name } => {
                format!("the rule `{rule}` denies reading it, because it is the same file as {}. {FIX}", shown(&name))
            }
            Names::Unknown { rule } => format!(
                "it has several names (hard links), and whether the rule `{rule}` denies one of them could not be found \
                 out among so many files. Name a smaller folder in the rule, or refer to a copy of the file"
            ),
        };
        Err(Unread::Refused(UserError::new(why)))
    }
}

fn shown(path: &Path) -> String {
    escape_controls(&path.to_string_lossy()).into_owned()
}
