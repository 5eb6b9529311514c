//! The configuration of the command line: `$XDG_CONFIG_HOME/flemma/config.toml`. That of conversations is Neovim's.

use std::{env, fs, io, path::PathBuf};

use serde::Deserialize;

use super::report::{Failure, words};

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
