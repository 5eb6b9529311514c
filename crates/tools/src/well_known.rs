//! Where the places lead from which programs start that the user has: `~/.config/nvim`, `~/.bashrc`, `~/.ssh/config` and the like, and
//! what Neovim runs from the folders of 'runtimepath'.
//!
//! Many users keep these files in a project of their own, and link to it. What such a link leads to is protected under every name, and
//! so is another name (hard link) of a file that is there.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    env,
    fs::{self, DirEntry},
    os::unix::fs::DirEntryExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    linked::Linked,
    lock,
    paths::real,
    sensitive::{is_of_runtime, may_lead_to_start_up, places},
};

/// How deep a place is looked through: programs that have more there keep data.
const DEPTH: usize = 3;
/// The same of `~/.config`, wherever it is. The user links to single files in it as well.
const CONFIG_DEPTH: usize = 6;
/// How many entries are looked at below one entry of the home folder or of `~/.config`. Caches of other programs do not hide what is
/// in the folder of an editor.
const MOST_EACH: usize = 5_000;
/// How long is relied on what was found. Several calls of one reply ask.
const FRESH: Duration = Duration::from_secs(1);

/// What was found.
#[derive(Debug, Default)]
struct WellKnown {
    /// Where links lead, each with the link.
    links: Vec<(PathBuf, PathBuf)>,
    /// The files by their inodes.
    files: HashMap<u64, Vec<PathBuf>>,
    /// Whether there were too many to look at.
    is_partial: bool,
}

/// The home folder, and those of 'runtimepath'.
type Folders = (PathBuf, Vec<PathBuf>);

/// Of which folders it was found, when, and how often it had been forgotten before.
type Found = (Folders, Instant, u64, Arc<WellKnown>);

/// What was found last.
static FOUND: Mutex<Option<Found>> = Mutex::new(None);

/// How often what was found was forgotten.
static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

/// A call is over that may have made links: what was found before it ended does not count any more.
pub fn forget_well_known() {
    FORGOTTEN.fetch_add(1, Ordering::SeqCst);
}

/// The names that a file has in the places of a home folder and in what is run in the folders of 'runtimepath': by a link to it or to a
/// folder above it, or because it has several names. `found` has no links. `None` if there are too many files to say. This reads the
/// disk.
pub(super) fn names(found: &Path, linked: Option<Linked>, home: PathBuf, runtime: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let known = well_known((home, runtime.to_owned()));
    let by_link = known.links.iter().filter_map(|(target, link)| Some(link.join(found.strip_prefix(target).ok()?)));
    let mut names: Vec<PathBuf> = by_link.collect();
    let Some(linked) = linked else { return Some(names) };
    let others = known.files.get(&linked.inode).into_iter().flatten();
    names.extend(others.filter(|other| *other != found && Linked::at(other) == Some(linked)).cloned());
    (!names.is_empty() || !known.is_partial).then_some(names)
}

fn well_known(folders: Folders) -> Arc<WellKnown> {
    // Others who ask meanwhile wait for what is found.
    let mut found = lock(&FOUND);
    let forgotten = FORGOTTEN.load(Ordering::SeqCst);
    if let Some((of, since, before, known)) = &*found
        && (of, *before) == (&folders, forgotten)
        && since.elapsed() < FRESH
    {
        return Arc::clone(known);
    }
    let since = Instant::now();
    let known = Arc::new(WellKnown::find(&folders));
    *found = Some((folders, since, forgotten, Arc::clone(&known)));
    known
}

impl WellKnown {
    /// Looks through the places.
    fn find((home, runtime): &Folders) -> Self {
        let (mut known, mut seen) = (Self::default(), HashSet::new());
        let at_home = entries(home).filter(|entry| may_lead_to_start_up(&entry.file_name()));
        let depth_of = |entry: &DirEntry| if entry.file_name() == ".config" { CONFIG_DEPTH } else { DEPTH };
        let mut tops: Vec<Folder> =
            at_home.filter_map(|entry| known.note(&entry, Some(depth_of(&entry)), home, &mut seen)).collect();
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let named = places().into_iter().filter(|place| !is_wide(place, home));
        tops.extend(named.map(|path| if Some(&path) == config.as_ref() { (path, CONFIG_DEPTH) } else { (path, 1) }));
        let (configs, mut tops): (Vec<_>, Vec<_>) = tops.into_iter().partition(|(_, depth)| *depth == CONFIG_DEPTH);
        for entry in configs.iter().flat_map(|(config, _)| entries(config)) {
            tops.extend(known.note(&entry, Some(CONFIG_DEPTH - 1), home, &mut seen));
        }
        let is_run = |entry: &DirEntry| is_of_runtime(Path::new(&entry.file_name()));
        for entry in runtime.iter().flat_map(|folder| entries(folder)).filter(is_run) {
            tops.extend(known.note(&entry, Some(CONFIG_DEPTH - 1), home, &mut seen));
        }
        for top in tops {
            known.look_into(top, home, &mut seen);
        }
        known
    }

    /// Looks through a folder, what is near its top first.
    fn look_into(&mut self, top: Folder, home: &Path, seen: &mut HashSet<PathBuf>) {
        let (mut folders, mut left) = (VecDeque::from([top]), MOST_EACH);
        while let Some((folder, depth)) = folders.pop_front() {
            for entry in entries(&folder) {
                if left == 0 {
                    self.is_partial = true;
                    return;
                }
                left -= 1;
                folders.extend(self.note(&entry, depth.checked_sub(1), home, seen));
            }
        }
    }

    /// Remembers an entry, and gives the folder that it is, if it is to be looked into so deep.
    fn note(
        &mut self,
        entry: &DirEntry,
        depth: Option<usize>,
        home: &Path,
        seen: &mut HashSet<PathBuf>,
    ) -> Option<Folder> {
        let (path, kind) = (entry.path(), entry.file_type().ok()?);
        if kind.is_file() {
            self.files.entry(entry.ino()).or_default().push(path);
            return None;
        }
        if kind.is_symlink() {
            let target = real(&path);
            if home.starts_with(&target) {
                return None;
            }
            let is_new_folder = target.is_dir() && seen.insert(target.clone());
            self.links.push((target, path.clone()));
            return depth.filter(|_| is_new_folder).map(|depth| (path, depth));
        }
        depth.filter(|_| kind.is_dir()).map(|depth| (path, depth))
    }
}

/// A folder, and how deep it is looked through.
type Folder = (PathBuf, usize);

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Whether so much is below a folder that a link to it does not say what is there.
fn is_wide(folder: &Path, home: &Path) -> bool {
    home.starts_with(folder) || folder.components().count() <= 2
}
