//! Where the places lead from which programs start that the user has: `~/.config/nvim`, `~/.bashrc`, `~/.ssh/config` and the like.
//!
//! Many users keep these files in a project of their own, and link to it. What such a link leads to is protected under every name, and
//! so is another name (hard link) of a file that is there.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    env, fs,
    os::unix::fs::DirEntryExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    linked::{Linked, MOST},
    paths::real,
    sensitive::{may_lead_to_start_up, places},
};

/// How deep a place is looked through: programs that have more there keep data.
const DEPTH: usize = 3;
/// The same of `~/.config`, wherever it is. The user links to single files in it as well.
const CONFIG_DEPTH: usize = 6;
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

/// What was found last, of which home folder, and when.
static FOUND: Mutex<Option<(PathBuf, Instant, Arc<WellKnown>)>> = Mutex::new(None);

/// The names that a file has in the places of a home folder: by a link to it or to a folder above it, or because it has several names.
/// `found` has no links. `None` if there are too many files to say. This reads the disk.
pub(super) fn names(found: &Path, linked: Option<Linked>, home: &Path) -> Option<Vec<PathBuf>> {
    let known = well_known(home);
    let by_link = known.links.iter().filter_map(|(target, link)| Some(link.join(found.strip_prefix(target).ok()?)));
    let mut names: Vec<PathBuf> = by_link.collect();
    let Some(linked) = linked else { return Some(names) };
    let others = known.files.get(&linked.inode()).into_iter().flatten();
    names.extend(others.filter(|other| *other != found && Linked::at(other) == Some(linked)).cloned());
    (!names.is_empty() || !known.is_partial).then_some(names)
}

fn well_known(home: &Path) -> Arc<WellKnown> {
    let lock = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, at, known)) = &*lock()
        && of == home
        && at.elapsed() < FRESH
    {
        return Arc::clone(known);
    }
    let known = Arc::new(WellKnown::find(home));
    *lock() = Some((home.to_owned(), Instant::now(), Arc::clone(&known)));
    known
}

impl WellKnown {
    /// Looks through the places, those near the top first.
    fn find(home: &Path) -> Self {
        let (mut known, mut seen, mut left) = (Self::default(), HashSet::new(), MOST);
        let mut folders = VecDeque::from([(home.to_owned(), 0)]);
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let depth_of = |place: &PathBuf| if Some(place) == config.as_ref() { CONFIG_DEPTH } else { 1 };
        let named = places().into_iter().filter(|place| !is_wide(place, home));
        folders.extend(named.map(|place| (place.clone(), depth_of(&place))));
        while let Some((folder, depth)) = folders.pop_front() {
            let is_home = folder == home;
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if is_home && !may_lead_to_start_up(&entry.file_name()) {
                    continue;
                }
                left -= 1;
                if left == 0 {
                    known.is_partial = true;
                    return known;
                }
                let depth = match depth {
                    0 if !is_home => None,
                    0 if entry.file_name() == ".config" => Some(CONFIG_DEPTH),
                    0 => Some(DEPTH),
                    depth => Some(depth - 1),
                };
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if kind.is_symlink() {
                    let target = real(&path);
                    if is_wide(&target, home) {
                        continue;
                    }
                    if target.is_dir() && seen.insert(target.clone()) {
                        folders.extend(depth.map(|depth| (path.clone(), depth)));
                    }
                    known.links.push((target, path));
                } else if kind.is_dir() {
                    folders.extend(depth.map(|depth| (path, depth)));
                } else if kind.is_file() {
                    known.files.entry(entry.ino()).or_default().push(path);
                }
            }
        }
        known
    }
}

/// Whether so much is below a folder that a link to it does not say what is there.
fn is_wide(folder: &Path, home: &Path) -> bool {
    home.starts_with(folder) || folder.components().count() <= 2
}
