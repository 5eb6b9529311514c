//! The contents of files, each in a file that is named by its digest.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest as _, Sha256};

use crate::disk::{if_there, is_missing, make_folder, open_unfollowed, sync_folder};
use flemma_journal::changes::FileState;
use flemma_model::Digest;

/// How the name of a content begins that is not complete.
pub(super) const TEMPORARY: &str = ".new-";

/// The bits of a file's permissions.
const ALL_BITS: u32 = 0o7777;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// The folder of the contents.
#[derive(Clone, Debug)]
pub(super) struct Contents(pub(super) PathBuf);

/// A content in the folder.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) path: PathBuf,
    /// `None` for what is left of one that was never completed.
    pub(super) digest: Option<Digest>,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

impl Contents {
    fn path_of(&self, digest: &Digest) -> PathBuf {
        let (first, rest) = digest.as_str().split_at(2);
        self.0.join(first).join(rest)
    }

    /// Keeps the present content of a file, unless it is larger than `max` bytes: then only its digest is found out. Gives what
    /// the file is, and how many bytes were added.
    pub(super) fn keep(&self, path: &Path, max: u64) -> io::Result<(FileState, u64)> {
        let Some((mut file, metadata)) = open(path)? else { return Ok((FileState::Absent, 0)) };
        let mode = metadata.mode() & ALL_BITS;
        if metadata.len() > max {
            let digest = read_through(&mut file, |_| Ok(()))?;
            return Ok((FileState::File { digest, mode }, 0));
        }
        let mut bytes = 0;
        let digest = self.add(|new| {
            read_through(&mut file, |chunk| {
                bytes += chunk.len() as u64;
                new.write_all(chunk)
            })
        })?;
        Ok((FileState::File { digest, mode }, bytes))
    }

    /// Keeps a content.
    pub(super) fn put(&self, content: &[u8]) -> io::Result<()> {
        self.add(|new| new.write_all(content).map(|()| Digest::of(content))).map(drop)
    }

    /// Adds what `write` writes, under the digest that it gives.
    fn add(&self, write: impl FnOnce(&mut File) -> io::Result<Digest>) -> io::Result<Digest> {
        make_folder(&self.0.join("x"))?;
        let mut new = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.0)?;
        let digest = write(new.as_file_mut())?;
        new.as_file().sync_all()?;
        let place = self.path_of(&digest);
        make_folder(&place)?;
        // One that is there already may be damaged.
        new.persist(&place).map_err(|error| error.error)?;
        sync_folder(&place)?;
        Ok(digest)
    }

    /// A content is needed: its time of modification says so.
    pub(super) fn note_use(&self, digest: &Digest) {
        let file = OpenOptions::new().append(true).open(self.path_of(digest));
        // If it fails, the content only is not kept longer.
        let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// A content; `None` if it is not kept (any more).
    ///
    /// # Errors
    /// When it cannot be read, or is not the one that its name says.
    pub(super) fn read(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        let Some(content) = if_there(fs::read(self.path_of(digest)))? else { return Ok(None) };
        if Digest::of(&content) != *digest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the copy that was kept is damaged"));
        }
        Ok(Some(content))
    }

    /// All contents.
    pub(super) fn all(&self) -> io::Result<Vec<Kept>> {
        let mut all = Vec::new();
        for entry in if_there(fs::read_dir(&self.0))?.into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
            if name.starts_with(TEMPORARY) {
                all.extend(kept(&path, None));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                for content in fs::read_dir(&path)?.flatten() {
                    let rest = content.file_name().to_string_lossy().into_owned();
                    let digest = Digest::parse(&format!("{name}{rest}"));
                    // Nothing else is ever deleted.
                    all.extend(digest.and_then(|digest| kept(&content.path(), Some(digest))));
                }
            }
        }
        Ok(all)
    }
}

fn kept(path: &Path, digest: Option<Digest>) -> Option<Kept> {
    let metadata = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    Some(Kept { path: path.to_owned(), digest, bytes: metadata.len(), modified })
}

/// What a file is. A link is not followed: it is an error, as everything is that is not a regular file.
pub(super) fn state_of(path: &Path) -> io::Result<FileState> {
    let Some((mut file, metadata)) = open(path)? else { return Ok(FileState::Absent) };
    let digest = read_through(&mut file, |_| Ok(()))?;
    Ok(FileState::File { digest, mode: metadata.mode() & ALL_BITS })
}

/// A regular file and its content; `None` if there is none.
pub(super) fn content_of(path: &Path) -> io::Result<Option<(FileState, Vec<u8>)>> {
    let Some((mut file, metadata)) = open(path)? else { return Ok(None) };
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(Some((FileState::File { digest: Digest::of(&content), mode: metadata.mode() & ALL_BITS }, content)))
}

fn open(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    let file = match open_unfollowed(path) {
        Err(error) if is_missing(&error) => return Ok(None),
        Err(_) if path.is_symlink() => return Err(io::Error::other("it is a link now")),
        file => file?,
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(Some((file, metadata)))
}

fn read_through(file: &mut File, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Digest> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Digest::finish(hash)),
            Ok(count) => {
                hash.update(&buffer[..count]);
                each(&buffer[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
