//! Files that cause something else to run later, or that hold secrets.
//!
//! Writing such a file is more than changing a project: a shell, an editor, git or a server runs its contents without
//! asking again. So `$default` does not approve it, wherever it is. The tables list files that are recognised by name;
//! [`super::project`] handles folders that are recognised by their contents. The tables cannot list the files that the
//! project's own programs run (`Makefile`, `package.json`, `build.rs`), because writing those is the purpose of an agent.
//! The targets of `core.hooksPath` and of a program's own options cannot be known here.
//!
//! Names are compared without case, and without the characters that some file systems ignore.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Files that a shell, a login or another interactive program reads when it starts.
const START_UP: &[&str] = &[
    ".bashrc",
    ".bashrc.d/**",
    ".bash_*",
    ".profile",
    ".profile.d/**",
    ".zshrc",
    ".zshrc.d/**",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".zsh/**",
    ".oh-my-zsh/**",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".aliases",
    ".pam_environment",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".inputrc",
    ".tmux.conf",
    ".tmux/**",
    ".screenrc",
    ".psqlrc",
    ".sqliterc",
    ".mailrc",
    ".muttrc",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".pdbrc.py",
    ".pythonrc",
    ".pythonrc.py",
    ".ipython/**",
    ".jupyter/**",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".irbrc",
    ".pryrc",
    ".rprofile",
    ".renviron",
    ".ghci",
    ".octaverc",
    ".ocamlinit",
    ".utop/**",
    ".iex.exs",
    ".erlang",
    "config.fish",
    ".mongorc.js",
    ".mongoshrc.js",
    ".mailcap",
    ".forward",
    ".procmailrc",
    ".ctags",
    ".ctags.d/**",
    ".guile",
    ".sbclrc",
    ".clisprc*",
    ".tclshrc",
    ".wishrc",
    ".perldb*",
    ".rdbgrc*",
    ".byebugrc",
    ".latexmkrc",
    "latexmkrc",
    ".lessfilter",
    ".nanorc",
];

/// Editors: their own configuration, and the files that they read in a project.
const EDITORS: &[&str] = &[
    ".nvim.lua",
    ".nvimrc",
    ".nvim/**",
    ".exrc",
    "_exrc",
    ".vimrc",
    "_vimrc",
    ".gvimrc",
    "_gvimrc",
    ".vim/**",
    "vimfiles/**",
    ".lvimrc",
    ".local.vimrc",
    ".vimrc.local",
    ".lazy.lua",
    ".vimspector.json",
    ".ycm_extra_conf.py",
    ".luarc.json",
    ".luarc.jsonc",
    ".emacs",
    ".emacs.el",
    ".emacs.d/**",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".vscode/**",
    ".vscode-server/**",
    ".devcontainer/**",
    ".devcontainer.json",
    ".idea/**",
    ".fleet/**",
    ".zed/**",
    ".helix/**",
    ".cursor/**",
    ".mcp.json",
    ".vs/**",
    "*.code-workspace",
    "*.sublime-project",
    "*.sublime-workspace",
    ".neoconf.json",
    ".projections.json",
    ".claude/**",
    ".claude.json",
    ".gemini/**",
    ".codex/**",
    ".roo/**",
    ".kiro/**",
    ".windsurf/**",
    ".continue/**",
    ".amazonq/**",
    ".opencode/**",
    "opencode.json",
    "opencode.jsonc",
    ".crush.json",
    ".junie/**",
    ".trae/**",
    ".aider*",
];

/// Version control: the inside of repositories, their configuration, and what runs before a commit. A bare repository can
/// be anywhere, and is not a repository without its `HEAD`.
const REPOSITORIES: &[&str] = &[
    "*.git/**",
    "head",
    ".gitconfig*",
    ".gitmodules",
    ".git-credentials",
    "*githooks/**",
    "*git-hooks/**",
    "*git_hooks/**",
    "*git-hooks.*",
    ".hooks/**",
    "hooks/applypatch-msg",
    "hooks/pre-applypatch",
    "hooks/post-applypatch",
    "hooks/pre-commit",
    "hooks/pre-merge-commit",
    "hooks/prepare-commit-msg",
    "hooks/commit-msg",
    "hooks/post-commit",
    "hooks/pre-rebase",
    "hooks/post-checkout",
    "hooks/post-merge",
    "hooks/pre-push",
    "hooks/pre-receive",
    "hooks/update",
    "hooks/proc-receive",
    "hooks/post-receive",
    "hooks/post-update",
    "hooks/reference-transaction",
    "hooks/push-to-checkout",
    "hooks/pre-auto-gc",
    "hooks/post-rewrite",
    "hooks/sendemail-validate",
    "hooks/fsmonitor-watchman",
    "hooks/post-index-change",
    "hooks/p4-*",
    ".husky/**",
    ".huskyrc*",
    ".jj/**",
    ".hg/**",
    ".hgrc",
    ".svn/**",
    ".subversion/**",
    ".bzr/**",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".pre-commit-hooks.yaml",
    "lefthook*.yml",
    "lefthook*.yaml",
    "lefthook*.toml",
    "lefthook*.json",
    ".lefthook*",
    ".lefthook*/**",
    "captainhook*.json",
    ".lintstagedrc*",
    ".overcommit.yml",
];

/// Files that a server runs after a push.
const SERVERS: &[&str] = &[
    ".github/workflows/**",
    ".github/actions/**",
    ".gitea/workflows/**",
    ".forgejo/workflows/**",
    ".gitlab-ci*.yml",
    ".gitlab-ci*/**",
    ".gitlab/ci/**",
    ".circleci/**",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker/**",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    ".buildkite/**",
    ".cirrus.yml",
    ".builds/**",
    ".build.yml",
    "*azure-pipelines*.yml",
    "*azure-pipelines*.yaml",
    ".azure-pipelines/**",
    "appveyor.yml",
    ".appveyor.yml",
    ".tekton/**",
    ".semaphore/**",
    ".teamcity/**",
    ".harness/**",
    "buildspec*.yml",
    "buildspec*.yaml",
    "cloudbuild*.yaml",
    "cloudbuild*.yml",
    "cloudbuild*.json",
    "codefresh.yml",
    "wercker.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile*",
    ".ci/**",
];

/// Files that change the environment or that a package manager runs, in a folder or for a user.
const ENVIRONMENTS: &[&str] = &[
    ".direnv/**",
    ".venv*/**",
    "venv/bin/**",
    "venv/scripts/**",
    ".virtualenv*/**",
    "pyvenv.cfg",
    "bin/activate*",
    "scripts/activate*",
    ".conda/**",
    ".tox/**",
    ".nox/**",
    ".mise.toml",
    ".mise.*.toml",
    "mise.toml",
    "mise.*.toml",
    ".mise/**",
    ".rtx.toml",
    ".tool-versions",
    ".asdfrc",
    ".autoenv*",
    ".cargo/**",
    ".rustup/**",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".npmrc",
    ".npm/**",
    "node_modules/.bin/**",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/**",
    ".pnpmfile.*",
    ".pnp.*",
    ".pnpmrc",
    "bunfig.toml",
    ".bunfig.toml",
    ".gemrc",
    ".gem/**",
    ".bundle/**",
    ".condarc",
    "pip.conf",
    ".pip/**",
    ".pydistutils.cfg",
    ".m2/**",
    ".mvn/**",
    "*.bazelrc",
    ".gradle/**",
    ".sbt/**",
    ".ivy2/**",
    ".wgetrc",
    ".curlrc",
];

/// Files that a system or a desktop starts automatically, and programs on the search path.
const SYSTEM: &[&str] = &[
    ".config/**",
    ".local/bin/**",
    ".local/lib/**",
    ".local/share/**",
    ".local/state/**",
    "~/bin/**",
    "library/launchagents/**",
    "library/launchdaemons/**",
    "library/preferences/**",
    "library/application support/**",
    "systemd/user/**",
    "systemd/system/**",
    "autostart/**",
    "crontab",
    "crontabs/**",
    "cron.*/**",
    "init.d/**",
    "profile.d/**",
    "sudoers",
    "sudoers.d/**",
    "ld.so.preload",
];

/// Secrets: keys, passwords and other credentials.
const SECRETS: &[&str] = &[
    ".ssh/**",
    ".gnupg/**",
    ".password-store/**",
    ".aws/**",
    ".azure/**",
    ".gcloud/**",
    ".oci/**",
    ".kube/**",
    ".docker/**",
    ".terraform.d/**",
    ".terraformrc",
    ".netrc",
    "_netrc",
    ".authinfo*",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".pypirc",
    ".htpasswd",
    ".vault-token",
    ".env*",
    "*.env",
    "*.env.*",
    "*.env~",
    ".flaskenv",
    "library/keychains/**",
    "authorized_keys*",
    "known_hosts",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "application_default_credentials.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
];

const TABLES: [&[&str]; 7] = [START_UP, EDITORS, REPOSITORIES, SERVERS, ENVIRONMENTS, SYSTEM, SECRETS];

/// Variables that name a folder or a file that programs read when they start.
const VARIABLES: [&str; 24] = [
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
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Whether a file is one of these, by its name and the names of the folders above it. `path` is absolute. Links are not
/// followed, so a caller must check both the path as written and its target.
pub(super) fn is_sensitive(path: &Path, home: Option<&Path>) -> bool {
    let below_home = home.and_then(|home| path.strip_prefix(home).ok()).map(folded);
    let names = folded(path);
    let is_named = |pattern: &str| match pattern.strip_prefix("~/") {
        Some(pattern) => below_home.as_ref().is_some_and(|names| starts(pattern, names)),
        None => matches(pattern, &names),
    };
    TABLES.iter().any(|table| table.iter().any(|pattern| is_named(pattern))) || is_in_environment(path, home)
}

/// Whether an environment variable names the file, or a folder that contains it.
fn is_in_environment(path: &Path, home: Option<&Path>) -> bool {
    let variables = VARIABLES.iter().filter_map(env::var_os);
    let named: Vec<PathBuf> = variables.flat_map(|value| env::split_paths(&value).collect::<Vec<_>>()).collect();
    // A folder above the home folder would match everything.
    let is_wide = |folder: &Path| !folder.is_absolute() || home.is_some_and(|home| home.starts_with(folder));
    if named.iter().any(|folder| !is_wide(folder) && path.starts_with(folder)) {
        return true;
    }
    // A program must be directly in a folder of the search path.
    let search = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&search).any(|folder| folder.is_absolute() && path.parent() == Some(&folder))
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

/// Whether the first components of a path match a pattern that ends in `/**`.
fn starts(pattern: &str, names: &[String]) -> bool {
    let parts: Vec<&str> = pattern.trim_end_matches("/**").split('/').collect();
    names.get(..parts.len()).is_some_and(|names| are_like(&parts, names))
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
