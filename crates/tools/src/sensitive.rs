//! Files that cause something else to run later, or that hold secrets, by their names.
//!
//! Writing such a file is more than changing a project: a shell, an editor, git or a server runs its contents without
//! asking again. Start-up files of programs ask every time ([`is_start_up`]). Of the others ([`is_sensitive`]), the preset
//! `$default` approves none. The tables list what has a usual name; in a project, everything hidden counts that is not known to be
//! harmless, because programs load such files by themselves. [`super::file_class`] and [`super::project`] handle folders that are
//! recognised by their contents. The tables cannot list the files that the project's own programs run (`Makefile`, `package.json`,
//! `build.rs`), because writing those is the purpose of an agent. The targets of `core.hooksPath` and of a program's own options
//! cannot be known here.
//!
//! Names are compared without case, and without the characters that some file systems ignore.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::paths::real;

/// Files that a shell, an editor, git or another program reads when it starts, in whatever folder they are.
#[rustfmt::skip]
const START_UP: &[&str] = &[
    // Shells, logins, and what they start.
    ".bashrc", ".bashrc.d/**", ".bash_*", ".profile", ".profile.d/**", ".zshrc", ".zshrc.d/**", ".zshenv", ".zprofile", ".zlogin",
    ".zlogout", ".zsh/**", ".oh-my-zsh/**", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".aliases", "config.fish",
    ".pam_environment", ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".inputrc", ".tmux.conf", ".tmux/**", ".screenrc",
    ".direnvrc",
    // Interactive programs.
    ".psqlrc", ".sqliterc", ".mailrc", ".muttrc", ".mailcap", ".forward", ".procmailrc", ".gdbinit", ".lldbinit", ".pdbrc",
    ".pdbrc.py", ".pythonrc", ".pythonrc.py", ".ipython/**", ".jupyter/**", ".irbrc", ".pryrc", ".rprofile", ".renviron", ".ghci",
    ".octaverc", ".ocamlinit", ".utop/**", ".iex.exs", ".erlang", ".mongorc.js", ".mongoshrc.js", ".guile", ".sbclrc", ".clisprc*",
    ".tclshrc", ".wishrc", ".perldb*", ".rdbgrc*", ".byebugrc", ".lessfilter", ".nanorc",
    // Editors.
    ".nvim.lua", ".nvimrc", ".nvim/**", ".exrc", "_exrc", ".vimrc", "_vimrc", ".gvimrc", "_gvimrc", ".vim/**", "vimfiles/**",
    ".lvimrc", ".local.vimrc", ".vimrc.local", ".lazy.lua", ".emacs", ".emacs.el", ".emacs.d/**",
    // Version control.
    ".git/**", ".gitconfig*", ".jj/**", ".hg/**", ".hgrc", ".svn/**", ".subversion/**", ".bzr/**",
];

/// The same, if they are in the user's home folder: what programs of the user load from there.
#[rustfmt::skip]
const HOME: &[&str] = &[
    "bin/**", ".*rc", ".*rc.*", ".*profile", ".*env", ".envrc*", ".config/**", ".local/bin/**", ".local/lib/**", ".local/state/**",
    ".local/share/nvim/**", ".local/share/fish/**", ".local/share/bash-completion/**", ".local/share/applications/**",
    ".local/share/dbus-1/**", ".local/share/systemd/**", ".direnv/**", ".mise/**", ".asdf/**", ".tool-versions", ".cargo/**",
    ".rustup/**", ".npm/**", ".yarn/**", ".bundle/**", ".gem/**", ".m2/**", ".gradle/**", ".sbt/**", ".ivy2/**", ".pip/**",
    ".conda/**", ".pydistutils.cfg", ".ssh/**", ".gnupg/**", ".password-store/**", ".aws/**", ".azure/**", ".gcloud/**", ".kube/**",
    ".docker/**", ".terraform.d/**", ".git-credentials", ".git-templates/**", ".githooks/**", ".vscode*/**", ".idea/**", ".zed/**",
    ".helix/**", ".theia/**", ".cursor/**", ".claude/**", ".claude.json", ".gemini/**", ".codex/**", ".roo/**", ".kiro/**",
    ".windsurf/**", ".continue/**", ".amazonq/**", ".opencode/**", ".junie/**", ".trae/**", ".qwen/**", ".kilocode/**",
    ".factory/**", ".goose/**", ".copilot/**", ".openhands/**", ".crush.json", ".aider*", ".ctags.d/**", "library/launchagents/**",
    "library/launchdaemons/**", "library/preferences/**", "library/application support/**",
];

/// What Neovim and its plugins run by themselves in a folder of 'runtimepath'. What else is there (`doc`, `tests`, `src`) is not.
#[rustfmt::skip]
const RUNTIME: &[&str] = &[
    "plugin/**", "ftplugin/**", "ftdetect/**", "indent/**", "syntax/**", "colors/**", "compiler/**", "autoload/**", "keymap/**",
    "lang/**", "lua/**", "lsp/**", "parser/**", "queries/**", "rplugin/**", "python3/**", "pythonx/**", "after/**", "spell/**",
    "pack/**", "init.lua", "init.vim", "filetype.*", "scripts.*", "menu.vim",
    // The native libraries of plugins. Flemma's own is there.
    "build/**",
];

/// Files that something else runs later, or that say what it runs.
#[rustfmt::skip]
const RUN_LATER: &[&str] = &[
    // Interpreters, linters and editors load them by their names.
    "sitecustomize.py", "usercustomize.py", "*.pth", "latexmkrc", "session.vim", "eslint.config.*", "*.code-workspace",
    "*.sublime-project", "*.sublime-workspace", "opencode.json", "opencode.jsonc", "mcp.json",
    // Repositories and their hooks. A bare repository is none without its `HEAD`.
    "head", "*.git/**", "*githooks/**", "*git-hooks/**", "*git_hooks/**", "*git-hooks.*", "hooks/applypatch-msg", "hooks/pre-applypatch",
    "hooks/post-applypatch", "hooks/pre-commit", "hooks/pre-merge-commit", "hooks/prepare-commit-msg", "hooks/commit-msg",
    "hooks/post-commit", "hooks/pre-rebase", "hooks/post-checkout", "hooks/post-merge", "hooks/pre-push", "hooks/pre-receive",
    "hooks/update", "hooks/proc-receive", "hooks/post-receive", "hooks/post-update", "hooks/reference-transaction",
    "hooks/push-to-checkout", "hooks/pre-auto-gc", "hooks/post-rewrite", "hooks/sendemail-validate", "hooks/fsmonitor-watchman",
    "hooks/post-index-change", "hooks/p4-*", "lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json",
    "captainhook*.json",
    // Servers run them after a push.
    "*azure-pipelines*.yml", "*azure-pipelines*.yaml", "appveyor.yml", "buildspec*.yml", "buildspec*.yaml", "cloudbuild*.yaml",
    "cloudbuild*.yml", "cloudbuild*.json", "codefresh.yml", "wercker.yml", "bitbucket-pipelines.yml", "jenkinsfile*",
    "netlify.toml",
    // They change the environment, or a package manager runs them.
    "venv/bin/**", "venv/scripts/**", "pyvenv.cfg", "bin/activate*", "scripts/activate*", "mise.toml", "mise.*.toml",
    "rust-toolchain", "rust-toolchain.toml", "node_modules/.bin/**", "bunfig.toml", "pip.conf", "*.bazelrc",
    // Systems and desktops start them.
    ".config/**", ".local/bin/**", ".local/lib/**", ".local/share/**", ".local/state/**", "library/launchagents/**",
    "library/launchdaemons/**", "library/preferences/**", "library/application support/**", "systemd/user/**", "systemd/system/**",
    "autostart/**", "crontab", "crontabs/**", "cron.*/**", "init.d/**", "profile.d/**", "sudoers", "sudoers.d/**", "ld.so.preload",
];

/// Secrets: keys, passwords and other credentials.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    ".ssh/**", ".gnupg/**", ".password-store/**", ".aws/**", ".azure/**", ".gcloud/**", ".oci/**", ".kube/**", ".docker/**",
    "_netrc", ".netrc", ".env*", ".flaskenv", "*.env", "*.env.*", "*.env~", "library/keychains/**", "authorized_keys*", "known_hosts", "id_rsa*", "id_dsa*",
    "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "credentials",
    "credentials.json", "credentials.toml", "application_default_credentials.json", "secrets.json", "secrets.toml", "secrets.yaml",
    "secrets.yml",
];

/// What is hidden in a project and neither runs anything nor holds secrets.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    ".*ignore", ".gitattributes", ".gitkeep", ".keep", ".mailmap", ".git-blame-ignore-revs", ".editorconfig", ".nojekyll", ".well-known/**", ".changeset/**", ".github/readme.md",
    ".github/contributing.md", ".github/security.md", ".github/issue_template/**", ".github/pull_request_template*",
];

/// Variables that name a folder or a file that programs read when they start.
const VARIABLES: [&str; 23] = [
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BASH_ENV",
    "CARGO_HOME",
    "DOCKER_CONFIG",
    "ENV",
    "GIT_CONFIG_GLOBAL",
    "GIT_DIR",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "INPUTRC",
    "KUBECONFIG",
    "MYVIMRC",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PIP_CONFIG_FILE",
    "PYTHONSTARTUP",
    "RIPGREP_CONFIG_PATH",
    "RUSTUP_HOME",
    "VIMRUNTIME",
    "WGETRC",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// Whether a file is one that a program reads when it starts, by its name and the names of the folders above it, or because an
/// environment variable names it. `path` is absolute. Links are not followed, so a caller must check both the path as written and its
/// target.
pub(super) fn is_start_up(path: &Path, home: Option<&Path>) -> bool {
    let names = folded(path);
    let is_wide = |folder: &Path| !folder.is_absolute() || home.is_some_and(|home| home.starts_with(folder));
    START_UP.iter().any(|pattern| matches(pattern, &names))
        || home.and_then(|home| path.strip_prefix(home).ok()).is_some_and(|below| is_of_home(&folded(below)))
        // A folder above the home folder would match everything.
        || places().iter().any(|place| !is_wide(place) && path.starts_with(place))
}

/// Whether something in a folder of 'runtimepath', of which this is the path there, is run by Neovim or its plugins.
pub(super) fn is_of_runtime(below: &Path) -> bool {
    let names = folded(below);
    RUNTIME.iter().any(|pattern| starts(pattern, &names))
}

/// Whether something in the home folder, of which this is the path there, is one of [`START_UP`] or [`HOME`].
fn is_of_home(names: &[String]) -> bool {
    [START_UP, HOME].iter().any(|table| table.iter().any(|pattern| starts(pattern, names)))
}

/// Whether an entry of the home folder leads to such files, or is one.
pub(super) fn may_lead_to_start_up(entry: &OsStr) -> bool {
    let name = fold(entry);
    let first = |pattern: &&str| is_like(pattern.split('/').next().unwrap_or(pattern), &name);
    [START_UP, HOME].iter().any(|table| table.iter().any(&first))
}

/// What environment variables name, as they do and with links resolved.
pub(super) fn places() -> Vec<PathBuf> {
    let named = VARIABLES.iter().filter_map(env::var_os).flat_map(|value| env::split_paths(&value).collect::<Vec<_>>());
    // Other things may be there that no program runs.
    let data = env::var_os("XDG_DATA_HOME").map(|folder| Path::new(&folder).join("nvim"));
    named.chain(data).filter(|path| path.is_absolute()).flat_map(|path| [real(&path), path]).collect()
}

/// Whether a file is another one that something runs later, or that holds secrets, in a project with this root folder. `path` is
/// absolute, and its links are resolved. This reads the disk.
pub(super) fn is_sensitive(path: &Path, root: &Path) -> bool {
    let names = folded(path);
    let is_in = |tables: &[&[&str]], names: &[String]| {
        tables.iter().any(|table| table.iter().any(|pattern| matches(pattern, names)))
    };
    let below = path.strip_prefix(root).map(folded).unwrap_or_default();
    let is_hidden = below.iter().any(|name| name.starts_with('.')) && !is_in(&[HARMLESS], &below);
    // A program must be directly in a folder of the search path.
    let search = env::var_os("PATH").unwrap_or_default();
    let is_here = |folder: &PathBuf| path.parent() == Some(folder) || path.parent() == Some(&real(folder));
    let is_program = env::split_paths(&search).any(|folder| folder.is_absolute() && is_here(&folder));
    is_hidden || is_program || is_in(&[START_UP, RUN_LATER, SECRETS], &names)
}

/// The components of a path in the form for comparison.
fn folded(path: &Path) -> Vec<String> {
    path.iter().map(fold).collect()
}

/// A name without case, and without the characters that HFS+ ignores in names.
fn fold(name: &OsStr) -> String {
    let is_passed_over = |character: char| matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = name.to_string_lossy();
    // Through upper case, since some letters are only reached as the lower-case form of another letter's upper case.
    name.chars()
        .filter(|&character| !is_passed_over(character))
        .flat_map(char::to_uppercase)
        .collect::<String>()
        .to_lowercase()
}

/// Whether a pattern matches a path: its last components, or with `/**` components anywhere in it.
fn matches(pattern: &str, names: &[String]) -> bool {
    match pattern.strip_suffix("/**") {
        Some(folder) => {
            let parts: Vec<&str> = folder.split('/').collect();
            names.windows(parts.len()).any(|names| are_like(&parts, names))
        }
        None => {
            let parts: Vec<&str> = pattern.split('/').collect();
            names.len().checked_sub(parts.len()).is_some_and(|from| are_like(&parts, &names[from..]))
        }
    }
}

/// Whether the first components of a path match a pattern: all of them, unless it ends in `/**`.
fn starts(pattern: &str, names: &[String]) -> bool {
    let (folder, is_folder) = (pattern.trim_end_matches("/**"), pattern.ends_with("/**"));
    let parts: Vec<&str> = folder.split('/').collect();
    (is_folder || names.len() == parts.len()) && names.get(..parts.len()).is_some_and(|names| are_like(&parts, names))
}

fn are_like(parts: &[&str], names: &[String]) -> bool {
    parts.iter().zip(names).all(|(part, name)| is_like(part, name))
}

/// Whether a name matches a part of a pattern, in which each `*` matches any characters.
fn is_like(part: &str, name: &str) -> bool {
    let Some((first, rest)) = part.split_once('*') else { return part == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return name.ends_with(piece);
        }
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
#[path = "sensitive_tests.rs"]
mod tests;
