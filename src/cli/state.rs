//! Where this user's state is: the same folder that the editor uses.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::report::Failure;

/// The folder of `stdpath("state")` in Neovim, and in it that of Flemma.
///
/// # Errors
/// When the environment names no home.
pub(super) fn folder() -> Result<PathBuf, Failure> {
    let app = env::var_os("NVIM_APPNAME").filter(|name| !name.is_empty()).unwrap_or_else(|| "nvim".into());
    Ok(base()?.join(app).join("flemma"))
}

fn base() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state"))).ok_or_else(|| {
        Failure::Failed("there is no state folder: set HOME or XDG_STATE_HOME to an absolute path".into())
    })
}

/// The path of a conversation as the editor has it: absolute, with links left alone.
///
/// # Errors
/// When it is no path of a file.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}
