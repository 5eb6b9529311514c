//! What `git diff` says of a working tree, without the files that must not be read.
//!
//! Git is asked for the names of the files that differ, and then for the differences of those that may be read, by their names. A
//! file that changes in between cannot slip in. Nothing that the repository configures is run: no external diff, no
//! conversion, no monitor of the file system.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use flemma_model::UserError;
use flemma_process::{
    CommandEnd,
    output::{CommandOutput, output_up_to},
};
use flemma_text::{escape_controls, one_line};
use flemma_tools::command::environment;

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
/// absolute path whether it may be read; it may block.
///
/// # Errors
/// When git is missing, has an error, takes too long, or does not know the file at `path`.
pub async fn git_diff(
    folder: PathBuf,
    path: Option<PathBuf>,
    may_read: impl Fn(&Path) -> bool + Send + 'static,
) -> Result<GitDiff, UserError> {
    let root = run(&folder, words(["rev-parse", "--show-toplevel"])).await?;
    let root = PathBuf::from(OsString::from_vec(root.trim_ascii_end().to_vec()));
    let of_path = |first: Vec<OsString>| -> Vec<OsString> {
        first.into_iter().chain(words(["--"])).chain(path.clone().map(PathBuf::into_os_string)).collect()
    };
    let numbers = run(&root, of_path(words(DIFF).into_iter().chain(words(["--numstat", "-z"])).collect())).await?;
    if is_cut(&numbers) {
        return Err(UserError::new("too many files differ. Name a folder, as in `@diff:./src`"));
    }
    let found = changed_files(&numbers);
    if let Some(path) = &path
        && found.is_empty()
        && !path.is_dir()
    {
        check_known(path, &run(&root, of_path(words(["ls-files", "-z"]))).await?)?;
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
    let diff = run(&root, arguments).await?;
    Ok(GitDiff { root, files, parts: parts(&diff), denied })
}

/// Checks that git knows a file in which it sees no differences.
fn check_known(path: &Path, known: &[u8]) -> Result<(), UserError> {
    match path.symlink_metadata() {
        Err(_) => Err(UserError::new("there is no such file or folder, and git knows none that was deleted")),
        Ok(_) if known.is_empty() => Err(UserError::new(
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

/// Runs git once, and gives what it prints, or the beginning of that.
async fn run(folder: &Path, arguments: Vec<OsString>) -> Result<Vec<u8>, UserError> {
    let mut command = Command::new("git");
    command.args(SAFE).args(arguments).current_dir(folder);
    for (name, value) in environment(&[]) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_LITERAL_PATHSPECS", "1")]);
    // These would change the form of the diff, or run something.
    command.env_remove("GIT_EXTERNAL_DIFF").env_remove("GIT_DIFF_OPTS");
    let answer = output_up_to(command, TIMEOUT, MAX_READ as u64).await.map_err(|error| {
        UserError::new(match error.kind() {
            std::io::ErrorKind::NotFound if folder.is_dir() => "`git` was not found".to_owned(),
            _ => format!("`git` could not be started in {}: {error}", folder.display()),
        })
    })?;
    let Some(CommandOutput { end, stdout, stderr }) = answer else {
        return Err(UserError::new(format!("`git diff` took longer than {} seconds", TIMEOUT.as_secs())));
    };
    if end != CommandEnd::Exited(0) && !is_cut(&stdout) {
        let said = one_line(&String::from_utf8_lossy(&stderr), MAX_ERROR);
        let folder = folder.to_string_lossy();
        return Err(UserError::new(format!("`git diff` failed in {}: {said}", escape_controls(&folder))));
    }
    Ok(stdout)
}

/// Whether git had more to say, which ended it.
fn is_cut(output: &[u8]) -> bool {
    output.len() >= MAX_READ
}
