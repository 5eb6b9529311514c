//! Where this user's state is: the same folder that the editor uses. And the configuration of the command line,
//! `$XDG_CONFIG_HOME/flemma/config.toml`: that of conversations is Neovim's.

use std::{
    env, fs, io,
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;

use super::{
    names,
    report::{Failure, words},
};

/// The folder of `stdpath("state")` in Neovim, and in it that of Flemma.
///
/// # Errors
/// When the environment names no home.
pub(super) fn folder() -> Result<PathBuf, Failure> {
    let app = env::var_os("NVIM_APPNAME").filter(|name| !name.is_empty()).unwrap_or_else(|| "nvim".into());
    // Neovim refuses any other as well.
    if !Path::new(&app).components().all(|part| matches!(part, Component::Normal(_))) {
        let app = app.display();
        return Err(Failure::Failed(format!(
            "NVIM_APPNAME is {app}; it must be a name, or a relative path without `..`"
        )));
    }
    Ok(base()?.join(app).join("flemma"))
}

fn base() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    let folder = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    // A relative one would be another folder for each working directory.
    folder.filter(|folder| folder.is_absolute()).ok_or_else(|| {
        Failure::Failed("there is no state folder: set HOME or XDG_STATE_HOME to an absolute path".into())
    })
}

/// The path of a conversation as the editor has it: absolute, with links left alone.
///
/// # Errors
/// When it is no path of a file.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::Usage(format!("{}: {}", names::path(path), words(&error))))
}

/// The folder of the locks of this user's conversations.
///
/// # Errors
/// When the environment names no home.
pub(super) fn locks() -> Result<PathBuf, Failure> {
    Ok(folder()?.join("locks"))
}

/// The options.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Configuration {
    /// Whether `flemma resolve` carries the conversation on.
    #[serde(rename = "continue")]
    pub(super) is_continued: bool,
    /// The Neovim that carries conversations on: a path, or a name in `$PATH`.
    pub(super) nvim: Option<PathBuf>,
}

impl Configuration {
    /// Reads the file. Without one, every option has its default.
    ///
    /// # Errors
    /// When it cannot be read, or has an option that does not exist.
    pub(super) fn read() -> Result<Self, Failure> {
        let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let Some(folder) = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config"))) else {
            return Ok(Self::default());
        };
        let path = folder.join("flemma").join("config.toml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(Failure::Failed(format!("{} cannot be read: {}", path.display(), words(&error))));
            }
        };
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            Failure::Failed(format!("{}:{line}: {}", path.display(), error.message().trim()))
        })
    }
}
