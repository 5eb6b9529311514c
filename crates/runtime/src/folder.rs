//! The entries of one folder, for completion. This reads the disk.
//!
//! A folder may have more entries than anybody looks at, so only the first that fit what was typed are looked at closely.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::disk::lock;
use flemma_tools::{
    Agents,
    ignore_files::{GitRules, IgnoreFiles},
    paths::real,
    rules::DeniedPaths,
};

/// What is wanted of a folder.
#[derive(Clone, Debug)]
pub struct FolderQuery {
    /// The folder.
    pub folder: PathBuf,
    /// What the names begin with; the case of letters does not matter. Names that begin with a dot are only found if this does.
    pub prefix: String,
    /// The paths that are left out.
    pub denied: Arc<DeniedPaths>,
    /// The agents that have to permit reading the rest, or something below it.
    pub agents: Agents,
    /// How many entries are wanted.
    pub most: usize,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder, or a link to one.
    pub is_folder: bool,
    /// Whether an ignore file of the project names it.
    pub is_ignored: bool,
    /// Its size in bytes, if it is a file.
    pub size: Option<u64>,
}

/// The entries that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderEntries {
    /// The entries: folders and files by their names, and then those that are ignored.
    pub entries: Vec<FolderEntry>,
    /// Whether there are more.
    pub has_more: bool,
}

/// A name in a folder.
#[derive(Debug)]
struct Name {
    text: String,
    is_folder: bool,
    is_ignored: bool,
}

/// Gets the answer to a request.
type Then = Box<dyn FnOnce(io::Result<FolderEntries>) + Send>;

/// The requests that have not been answered.
#[derive(Default)]
struct Requests {
    /// Whether one is being worked on.
    is_working: bool,
    /// The one after it. A later one takes its place.
    next: Option<(FolderQuery, Then)>,
}

/// Lists folders, one at a time: a folder that does not answer keeps a single thread. A clone is the same list.
#[derive(Clone, Default)]
pub struct Folders {
    requests: Arc<Mutex<Requests>>,
}

impl Folders {
    /// Wants entries of a folder. `then` gets them, or, when a later request comes first, nothing but that there may be some.
    /// If this says so, the caller has [`Folders::work`] to do, on a thread that may wait for the disk.
    pub fn ask(&self, query: FolderQuery, then: impl FnOnce(io::Result<FolderEntries>) + Send + 'static) -> bool {
        let (replaced, is_idle) = {
            let mut requests = lock(&self.requests);
            let replaced = requests.next.replace((query, Box::new(then)));
            (replaced, !std::mem::replace(&mut requests.is_working, true))
        };
        if let Some((_, then)) = replaced {
            then(Ok(FolderEntries { entries: Vec::new(), has_more: true }));
        }
        is_idle
    }

    /// Answers requests until there is none.
    pub fn work(&self) {
        loop {
            let mut requests = lock(&self.requests);
            let Some((query, then)) = requests.next.take() else {
                requests.is_working = false;
                return;
            };
            drop(requests);
            let answer = || then(read(&query.folder).map(|names| select(&names, &query)));
            // Should this panic, the next request is answered all the same.
            let _ = catch_unwind(AssertUnwindSafe(answer));
        }
    }

    /// Nobody can do the work: the request is answered with nothing.
    pub fn give_up(&self) {
        let next = {
            let mut requests = lock(&self.requests);
            requests.is_working = false;
            requests.next.take()
        };
        if let Some((_, then)) = next {
            then(Ok(FolderEntries::default()));
        }
    }
}

/// Reads the names in a folder, in order.
fn read(folder: &Path) -> io::Result<Vec<Name>> {
    let own = real(folder);
    let ignored = IgnoreFiles::new(&own, GitRules::Everywhere);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        // Other names cannot be written.
        let Some(text) = name.to_str().filter(|text| !text.contains(char::is_control)) else { continue };
        let is_plain_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()).is_ok_and(|target| target.is_dir()),
            Ok(kind) => kind.is_dir(),
            Err(_) => continue,
        };
        let is_ignored = text == ".git" || ignored.ignores(&own.join(&name), is_plain_folder) == Some(true);
        names.push(Name { text: text.to_owned(), is_folder, is_ignored });
    }
    names.sort_unstable_by(|one, other| {
        (one.is_ignored, !one.is_folder, &one.text).cmp(&(other.is_ignored, !other.is_folder, &other.text))
    });
    Ok(names)
}

/// The names that are wanted.
fn select(names: &[Name], query: &FolderQuery) -> FolderEntries {
    let prefix = query.prefix.to_lowercase();
    let is_wanted = |name: &&Name| {
        let is_hidden = name.text.starts_with('.');
        // What is ignored is left out until something is typed.
        is_hidden == prefix.starts_with('.')
            && !(prefix.is_empty() && name.is_ignored)
            && name.text.to_lowercase().starts_with(&prefix)
    };
    let mut found = FolderEntries::default();
    let permitted = query.agents.permitted();
    let own = if permitted.is_everything() { query.folder.clone() } else { real(&query.folder) };
    for name in names.iter().filter(is_wanted) {
        let path = query.folder.join(&name.text);
        if !query.denied.allows(&query.folder, &path) {
            continue;
        }
        let entry = own.join(&name.text);
        let may_show = permitted.shows(&entry) || name.is_folder && permitted.leads_on(&real(&entry));
        if !may_show {
            continue;
        }
        if found.entries.len() == query.most {
            found.has_more = true;
            break;
        }
        let size = || fs::metadata(&path).ok().map(|file| file.len());
        found.entries.push(FolderEntry {
            name: name.text.clone(),
            is_folder: name.is_folder,
            is_ignored: name.is_ignored,
            size: if name.is_folder { None } else { size() },
        });
    }
    found
}
