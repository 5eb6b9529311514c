//! The environment of a command that a tool runs.
//!
//! It is the editor's, with some changes. `TERM=dumb` and the pagers set to `cat` keep programs from drawing and from waiting
//! for a key. The editors are set to a command that fails: otherwise a program's editor would read commands from the input
//! that nobody approved. The variables that Neovim sets for its own child processes are removed: `NVIM` would let a command
//! control the editor without any approval, and `VIMRUNTIME` breaks any other Neovim that it starts. The keys of all
//! providers are removed as well ([`secret_variables`]), except for those in `tools.bash.keep_env`.

use std::ffi::OsString;

use flemma_provider::secret_variables;

/// The variables that are set in the command's environment.
const SET: [(&str, &str); 9] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", NO_EDITOR),
    ("VISUAL", NO_EDITOR),
    ("GIT_EDITOR", NO_EDITOR),
    ("GIT_SEQUENCE_EDITOR", NO_EDITOR),
];

/// The editor for commands, which fails at once. A real one would wait for keys, or read commands from the input. Programs
/// pass it to a shell followed by a file name. It also fails for programs that run it without a shell.
const NO_EDITOR: &str =
    "sh -c 'echo \"No editor is available here. Give the text in the command, as in git commit -m.\" >&2; exit 1'";

/// The variables that are removed. The editors of individual programs would take precedence over `EDITOR`.
#[rustfmt::skip]
const REMOVED: [&str; 13] = [
    "NVIM", "NVIM_LISTEN_ADDRESS", "NVIM_LOG_FILE", "VIM", "VIMRUNTIME", "MYVIMRC", "CVSEDITOR", "FCEDIT", "GH_EDITOR",
    "HGEDITOR", "KUBE_EDITOR", "SUDO_EDITOR", "SVN_EDITOR",
];

/// The changes of the editor's environment: a value to set, or `None` for a variable that is removed. The provider keys in
/// `kept` are not.
pub fn environment(kept: &[String]) -> Vec<(OsString, Option<OsString>)> {
    let set = SET.map(|(name, value)| (OsString::from(name), Some(OsString::from(value))));
    let secret = secret_variables().filter(|name| !kept.iter().any(|kept| kept == name));
    let removed = REMOVED.into_iter().chain(secret).map(|name| (OsString::from(name), None));
    set.into_iter().chain(removed).collect()
}
