//! The shell that runs commands: which program it is, what it is, and the locale in which it reads UTF-8.
//!
//! Rules are read with the grammar of bash 5. So a shell is asked once what it is, by what it does and never by its name, and
//! the one that was asked is the one that runs. A shell that does not read UTF-8 may take a byte of a character for a
//! backslash, so the first locale is found in which it does.

use std::{
    collections::HashMap,
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
};

use rustix::fs::{Access, access};

/// The variables that say which locale a program has, where shells are found, and whether bash reads as an older one.
const ASKED_WITH: [&str; 5] = ["PATH", "LC_ALL", "LC_CTYPE", "LANG", "BASH_COMPAT"];

/// The locales that are tried after the environment's own.
const LOCALES: [&str; 3] = ["C.UTF-8", "en_US.UTF-8", "UTF-8"];

/// Prints whether it splits an unquoted variable, the number of characters in `€`, and the version of bash, or 0 if bash
/// reads as an older one.
const QUESTION: &str = r#"v='a b'; set -- $v; e=$(printf '\342\202\254'); printf '%s %s %s' "$#" "${#e}" "${BASH_COMPAT:+0.}${BASH_VERSION-}""#;

/// How a shell reads a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grammar {
    /// As bash 5 does, in UTF-8.
    #[default]
    Bash,
    /// As a POSIX shell does: an older bash, `dash`, `busybox`.
    Posix,
    /// Nobody knows how.
    Unknown,
}

/// A shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// The program.
    pub program: PathBuf,
    /// How it reads a command line.
    pub grammar: Grammar,
    /// The value that `LC_ALL` must have for it to read UTF-8, if the environment's own locale does not do.
    pub locale: Option<&'static str>,
}

/// What is asked: the shell that the user has named, and the environment that it is asked in.
type Key = (Option<String>, [Option<OsString>; ASKED_WITH.len()]);

static KNOWN: LazyLock<Mutex<HashMap<Key, Shell>>> = LazyLock::new(Mutex::default);

impl Shell {
    /// The shell that runs commands: the program that the user has named, or else the first bash on `PATH` that is bash 5, or
    /// any bash, or `sh`. The first time, this starts shells and waits for them.
    ///
    /// # Errors
    /// When there is none, or it cannot be started.
    pub fn find(named: Option<&str>) -> io::Result<Self> {
        if let Some(known) = Self::known(named) {
            return Ok(known);
        }
        let programs: Vec<PathBuf> = match named {
            Some(name) => on_path(name).take(1).collect(),
            None => on_path("bash").chain(on_path("sh").take(1)).collect(),
        };
        let mut found: Option<Self> = None;
        for program in programs {
            let shell = Self::ask(program)?;
            if shell.grammar == Grammar::Bash {
                found = Some(shell);
                break;
            }
            found.get_or_insert(shell);
        }
        let shell = found.ok_or(io::ErrorKind::NotFound)?;
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key(named), shell.clone());
        Ok(shell)
    }

    /// The same, if it was asked before. This waits for nothing.
    pub fn known(named: Option<&str>) -> Option<Self> {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key(named)).cloned()
    }

    /// Asks a program what it is.
    fn ask(program: PathBuf) -> io::Result<Self> {
        let mut grammar = Grammar::Unknown;
        for locale in [None].into_iter().chain(LOCALES.map(Some)) {
            let answer = answer(&program, locale)?;
            grammar = match answer.splitn(3, ' ').collect::<Vec<_>>()[..] {
                ["2", "1", version] if is_bash_5(version) => {
                    return Ok(Self { program, grammar: Grammar::Bash, locale });
                }
                ["2", ..] => Grammar::Posix,
                _ => Grammar::Unknown,
            };
            if grammar == Grammar::Unknown {
                break;
            }
        }
        Ok(Self { program, grammar, locale: None })
    }
}

fn key(named: Option<&str>) -> Key {
    (named.map(str::to_owned), ASKED_WITH.map(env::var_os))
}

fn is_bash_5(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 5)
}

/// What a shell prints when it is asked.
fn answer(program: &Path, locale: Option<&str>) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(["-c", QUESTION]).stdin(Stdio::null()).stderr(Stdio::null());
    // It would run such a file first.
    command.env_remove("BASH_ENV").env_remove("ENV").envs(locale.map(|locale| ("LC_ALL", locale)));
    Ok(String::from_utf8_lossy(&command.output()?.stdout).into_owned())
}

/// The programs of this name on `PATH`, or the one at this path. A folder of `PATH` that is not absolute has none: what it
/// has depends on where the command runs.
fn on_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // A path that is absolute replaces what it is joined to.
    let folders = if name.contains('/') { vec![PathBuf::new()] } else { env::split_paths(&path).collect() };
    folders.into_iter().map(move |folder| folder.join(name)).filter(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.is_absolute() && path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
