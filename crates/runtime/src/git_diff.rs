//! What `git diff` says of a working tree, without the files that must not be read.
//!
//! Git is asked for the names of the files that differ, and then for the differences of those that may be read, by their names. A
//! file that changes in between cannot slip in. Nothing that the repository configures is run: no external diff, no
//! conversion, no monitor of the file system.

use std::{
    ffi::OsString,
    fs,
    io::Read,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use flemma_model::UserError;
use flemma_process as process;
use flemma_process::{Captured, CommandEnd, CommandSpec, Finished, SavedOutput, StopCause, Streams};
use flemma_text::{escape_controls, one_line};
use flemma_tools::{command::environment, overflow};

/// How long one call of git may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The most files whose differences are asked for.
const MAX_FILES: usize = 500;

/// How much of the differences is read, in bytes. The room is shared by the files, so it is more than is shown.
const MAX_READ: usize = 8 << 20;

/// The longest error of git that is shown, in characters.
const MAX_ERROR: usize = 200;

/// Options that come first. The repository may configure programs to be run.
const SAFE: [&str; 5] = ["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotepath=false"];

/// The kind of diff. A file that has another name is shown as deleted and as new, so that each part has one name.
const DIFF: [&str; 7] =
    ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--src-prefix=a/"];

/// What differs in a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitDiff {
    /// The top folder of the working tree.
    pub root: PathBuf,
    /// The files that differ and may be read, in the order of git.
    pub files: Vec<ChangedFile>,
    /// The differences, one text for each file, as far as they were read.
    pub parts: Vec<Vec<u8>>,
    /// How many files are left out because they must not be read.
    pub denied: usize,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path below the top folder.
    pub path: PathBuf,
    /// The number of lines that were added and deleted; `None` if it is not text.
    pub lines: Option<(usize, usize)>,
}

/// Runs `git diff` in the working tree of `folder`, of all files or of what is at `path`, which is absolute. `may_read` says for an
/// absolute path whether it may be read; it may block. An output that is too long for memory passes through a file in
/// `overflow_dir`, which is deleted.
///
/// # Errors
/// When git is missing, has an error, takes too long, or does not know the file at `path`.
pub async fn git_diff(
    folder: PathBuf,
    path: Option<PathBuf>,
    may_read: impl Fn(&Path) -> bool + Send + 'static,
    overflow_dir: PathBuf,
) -> Result<GitDiff, UserError> {
    let git = |folder: &Path, arguments: Vec<OsString>| run(folder.to_owned(), arguments, overflow_dir.clone());
    let root = git(&folder, words(["rev-parse", "--show-toplevel"])).await?;
    let root = PathBuf::from(OsString::from_vec(root.text.trim_ascii_end().to_vec()));
    let of_path = |first: Vec<OsString>| -> Vec<OsString> {
        first.into_iter().chain(words(["--"])).chain(path.clone().map(PathBuf::into_os_string)).collect()
    };
    let numbers = git(&root, of_path(words(DIFF).into_iter().chain(words(["--numstat", "-z"])).collect())).await?;
    if numbers.is_cut {
        return Err(UserError::new("too many files differ. Name a folder, as in `@diff:./src`"));
    }
    let found = changed_files(&numbers.text);
    if let Some(path) = &path
        && found.is_empty()
        && !path.is_dir()
    {
        check_known(path, &git(&root, of_path(words(["ls-files", "-z"]))).await?)?;
    }
    let top = root.clone();
    let judged = tokio::task::spawn_blocking(move || {
        let count = found.len();
        let files: Vec<_> = found.into_iter().filter(|file| may_read(&top.join(&file.path))).collect();
        (count - files.len(), files)
    });
    let Ok((denied, files)) = judged.await else {
        return Err(UserError::new("it could not be found out which files may be read"));
    };
    if files.is_empty() {
        return Ok(GitDiff { root, denied, ..GitDiff::default() });
    }
    let mut arguments = words(DIFF);
    arguments.push("--".into());
    arguments.extend(files.iter().take(MAX_FILES).map(|file| file.path.clone().into_os_string()));
    let diff = git(&root, arguments).await?;
    Ok(GitDiff { root, files, parts: parts(&diff.text), denied })
}

/// Checks that git knows a file in which it sees no differences.
fn check_known(path: &Path, known: &Output) -> Result<(), UserError> {
    match path.symlink_metadata() {
        Err(_) => Err(UserError::new("there is no such file or folder, and git knows none that was deleted")),
        Ok(_) if known.text.is_empty() => Err(UserError::new(
            "git does not know the file: it is new, or ignored. Refer to the file itself, as in `@./path`",
        )),
        Ok(_) => Ok(()),
    }
}

/// The files in the output of `git diff --numstat -z`.
fn changed_files(numbers: &[u8]) -> Vec<ChangedFile> {
    let mut files: Vec<ChangedFile> = Vec::new();
    for entry in numbers.split(|byte| *byte == 0) {
        let mut fields = entry.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(deleted), Some(name)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
        let file =
            ChangedFile { path: OsString::from_vec(name.to_vec()).into(), lines: number(added).zip(number(deleted)) };
        // A file with a conflict is there more than once.
        if files.last().is_none_or(|last| last.path != file.path) {
            files.push(file);
        }
    }
    files
}

/// The differences, file by file. In the text of a file, no line begins like this.
fn parts(diff: &[u8]) -> Vec<Vec<u8>> {
    let begins = |line: &[u8]| {
        [&b"diff --git "[..], b"diff --cc ", b"* Unmerged path "].iter().any(|head| line.starts_with(head))
    };
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        match parts.last_mut() {
            Some(part) if !begins(line) => part.extend(line),
            _ => parts.push(line.to_vec()),
        }
    }
    parts
}

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// The beginning of an output.
struct Output {
    text: Vec<u8>,
    is_cut: bool,
}

/// Runs git once.
async fn run(folder: PathBuf, arguments: Vec<OsString>, overflow_dir: PathBuf) -> Result<Output, UserError> {
    let mut env = environment(&[]);
    let set = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_LITERAL_PATHSPECS", "1")];
    env.extend(set.map(|(name, value)| (name.into(), Some(value.into()))));
    // These would change the form of the diff, or run something.
    env.extend(["GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"].map(|name| (name.into(), None)));
    let spec = CommandSpec {
        program: "git".into(),
        args: words(SAFE).into_iter().chain(arguments).collect(),
        cwd: folder.clone(),
        env,
        timeout: TIMEOUT,
        cancel: CancellationToken::new(),
        progress: Arc::new(drop),
        make_file: Arc::new(move || overflow::create(&overflow_dir, "diff")),
        streams: Streams::Apart,
    };
    let Finished { end, stopped, output, errors, .. } = process::run(spec).await.map_err(|error| {
        UserError::new(match error.kind() {
            std::io::ErrorKind::NotFound if folder.is_dir() => "`git` was not found".to_owned(),
            _ => format!("`git` could not be started in {}: {error}", folder.display()),
        })
    })?;
    if stopped == Some(StopCause::TimedOut) {
        return Err(UserError::new(format!("`git diff` took longer than {} seconds", TIMEOUT.as_secs())));
    }
    if end != CommandEnd::Exited(0) {
        let said = errors.map(|errors| String::from_utf8_lossy(&errors.tail).into_owned()).unwrap_or_default();
        let said = one_line(&said, MAX_ERROR);
        let folder = folder.to_string_lossy();
        return Err(UserError::new(format!("`git diff` failed in {}: {said}", escape_controls(&folder))));
    }
    let read = tokio::task::spawn_blocking(move || beginning(output));
    read.await.map_err(|_| UserError::new("the output of `git diff` could not be read"))
}

/// The beginning of what was captured.
fn beginning(output: Captured) -> Output {
    let text = match output.saved {
        SavedOutput::InMemory => output.tail,
        SavedOutput::Lost(_) => Vec::new(),
        SavedOutput::InFile(path) | SavedOutput::Beginning(path, _) => {
            let mut text = Vec::new();
            let _ = fs::File::open(&path).and_then(|file| file.take(MAX_READ as u64).read_to_end(&mut text));
            // A file that stays is deleted with the other old outputs.
            let _ = fs::remove_file(&path);
            text
        }
    };
    Output { is_cut: (text.len() as u64) < output.bytes, text }
}
