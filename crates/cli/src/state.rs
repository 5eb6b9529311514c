//! Where this user's state is: the same folder that the editor uses.

use std::{
    env,
    path::{Component, Path, PathBuf},
};

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
