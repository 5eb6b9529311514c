//! Files with several names (hard links). A file does not say which other names it has, so they are looked for.

use std::{
    collections::HashMap,
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;
use rustix::fs::{FileType, Stat};

/// How many files are looked at.
const MOST: usize = 50_000;

/// A regular file with several names: what it is under each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linked {
    device: u64,
    /// The number that it has in its file system.
    pub(super) inode: u64,
}

impl Linked {
    /// The file that this is about, if it has several names.
    pub fn of(file: &Metadata) -> Option<Self> {
        (file.is_file() && file.nlink() > 1).then(|| Self { device: file.dev(), inode: file.ino() })
    }

    /// The same, as the system says it.
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    pub(super) fn of_stat(stat: &Stat) -> Option<Self> {
        let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
        (is_file && stat.st_nlink as u64 > 1).then_some(Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 })
    }

    /// The file at a path, if it has several names. A link at the path is not followed.
    pub fn at(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().as_ref().and_then(Self::of)
    }
}

/// The regular files in several folders, by their inodes, each with the place of its folder.
#[derive(Clone, Debug, Default)]
pub(super) struct FilesBelow {
    files: HashMap<u64, Vec<(usize, PathBuf)>>,
    /// The place of a folder of which not all files could be looked at.
    pub(super) partial: Option<usize>,
}

impl FilesBelow {
    /// Looks at the files at these places and below them, without following links. Folders that cannot be read have none.
    pub(super) fn find<'a>(places: impl Iterator<Item = &'a Path>) -> Self {
        let (mut found, mut left) = (Self::default(), MOST);
        for (at, place) in places.enumerate() {
            for entry in WalkBuilder::new(place).standard_filters(false).build().flatten() {
                if left == 0 {
                    found.partial = Some(at);
                    return found;
                }
                left -= 1;
                if let Some(inode) = entry.ino().filter(|_| entry.file_type().is_some_and(|kind| kind.is_file())) {
                    found.files.entry(inode).or_default().push((at, entry.into_path()));
                }
            }
        }
        found
    }

    /// The names that a file has there.
    pub(super) fn names_of(&self, file: Linked) -> impl Iterator<Item = (usize, &Path)> {
        let names = self.files.get(&file.inode).into_iter().flatten().map(|(at, path)| (*at, path.as_path()));
        names.filter(move |(_, path)| Linked::at(path) == Some(file))
    }
}
